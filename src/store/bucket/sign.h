/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signatures of requests to an object store: AWS Signature Version 4, as
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html describes it. libcurl can also sign, but only
 * 7.87 and newer sign x-amz-content-sha256, and libcurl always signs with the device's clock.
 */
#pragma once

#include <glib.h>

typedef struct {
	const char *region;
	const char *id, *secret; /* of the access key */
	const char *token;	 /* of a temporary access key, or NULL */
} GbeSigningKey;

typedef struct {
	const char *method;
	const char *host;   /* with ":PORT" if the URL has one */
	const char *path;   /* absolute, each segment percent-encoded once */
	const char *query;  /* sorted, encoded, with '=' after each name; NULL: none */
	const char *sha256; /* of the body, in hex */
	gint64 time;	    /* by the server's clock, in seconds since the epoch */
} GbeSignedRequest;

/* The headers that make @request a signed one: "Name: value", NULL-terminated. "Host" and the sum of the body are among
 * them. Newly allocated. */
char **gbe_sign(const GbeSigningKey *key, const GbeSignedRequest *request);
