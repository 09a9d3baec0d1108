/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An endpoint of etcd, and why a call to it has no answer. */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/health/reach.h"

typedef struct {
	const char *endpoint;		 /* http://, https:// or unix:// URL */
	const char *cacert, *cert, *key; /* paths as this process sees them; NULL or "" for none */
	const char *shown;		 /* ->endpoint for people, without a password */
	/* Needed where etcd has users and the certificate names none; NULL. ->no_password: why it cannot be read. */
	const char *user, *password, *no_password;
} GbeEndpoint;

/* The gRPC status codes that callers branch on. */
enum {
	GBE_GRPC_OK = 0,
	GBE_GRPC_DEADLINE_EXCEEDED = 4,
	GBE_GRPC_PERMISSION_DENIED = 7,
	GBE_GRPC_OUT_OF_RANGE = 11,
	GBE_GRPC_UNIMPLEMENTED = 12,
	GBE_GRPC_UNAVAILABLE = 14,
	GBE_GRPC_UNAUTHENTICATED = 16,
};

typedef struct {
	GbeReach reach;
	guint status; /* gRPC's, with GBE_REACH_DENIED */
	char *why;    /* one line without control characters */
} GbeCallFailure;

void gbe_call_failure_clear(GbeCallFailure *failure);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeCallFailure, gbe_call_failure_clear)
/* Sets @failure, whatever it held. Always returns false, so that a caller can return it. */
bool gbe_call_fail(GbeCallFailure *failure, GbeReach reach, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* The code of the error that reports @failure: GBE_ERROR_NO_USER if etcd asks for a user, else @otherwise. */
GbeErrorCode gbe_call_code(const GbeCallFailure *failure, GbeErrorCode otherwise);
/* Has etcd refused, so that nothing has changed? */
bool gbe_call_is_denied(const GbeCallFailure *failure);
