/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One call of S3: how it is addressed, signed, tried again, and how its failure is said. Implemented in call.c. */
#pragma once

#include "store/bucket/answer.h"
#include "store/bucket/bucket.h"

#include "etcd/api/connection.h"

typedef struct {
	const char *method;
	const char *path;  /* below the prefix; NULL: the bucket itself */
	const char *query; /* sorted, encoded, with '=' after each name; NULL: none */
	const char *range; /* the value of "Range", or NULL */
	const char *match; /* the value of "If-Match", or NULL */
	const char *body;  /* a small one; or NULL */
	bool from_file;	   /* instead of it: */
	int fd;
	guint64 offset;
	guint64 size; /* of the body that is sent; or of an object that is read, at most: 0: any */
	gint64 deadline; /* of all calls that belong together, monotonic microseconds; 0: none */
	/* Of an answer with status 200 or 206: an XML document with that root, or pieces of an object. At most one of
	 * them. */
	const char *root;
	GbeAnswerElement element;
	GbeBucketTake take;
	gpointer data;
} GbeBucketCall;

typedef struct {
	long status;
	char *etag;	/* NULL: none, or one that is too long */
	bool has_etag;	/* also one that is too long */
	bool is_page;	/* by its "Content-Type", it is a web page */
	guint64 length; /* "Content-Length"; G_MAXUINT64: none, or not a number */
	gint64 date;	/* seconds since the epoch; 0: none */
	char *region;	/* "x-amz-bucket-region" */
	char *location;
} GbeBucketReply;

void gbe_bucket_reply_clear(GbeBucketReply *reply);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeBucketReply, gbe_bucket_reply_clear)

/* @ret_reply may be NULL; on failure it has the received part of the last answer. */
bool gbe_bucket_call(GbeBucket *bucket, const GbeBucketCall *call, GbeBucketReply *ret_reply,
		     GError **error) GBE_CHECKED;
/* The prefix, without slashes at its ends; "": none. */
const char *gbe_bucket_prefix(const GbeBucket *bucket);
/* Everything but unreserved characters as %XX. Newly allocated. */
char *gbe_bucket_escape(const char *text);
