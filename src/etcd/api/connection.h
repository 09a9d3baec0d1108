/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An endpoint of etcd, why a call to it has no answer, and the connection.
 *
 * One connection to etcd's client port over libcurl: TLS with a client certificate where one is configured, plain,
 * or a unix socket. No proxy, no redirection, no prompt for a passphrase. Stays open between two exchanges. With
 * gbe_connection_set_bulk(), one to an object store. Only connection.c uses libcurl.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/words.h"

typedef struct {
	const char *endpoint;		 /* http://, https:// or unix:// URL */
	const char *cacert, *cert, *key; /* paths as this process sees them; NULL or "" for none */
	const char *shown;		 /* ->endpoint for people, without a password */
	const char *refused;		 /* why it must not be asked; NULL */
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

typedef struct GbeConnection GbeConnection;

/* One POST and its answer; without a body, one GET. */
typedef struct {
	const char *path;	    /* begins with '/' */
	const char *const *headers; /* "Name: value", NULL-terminated */
	const char *method;	    /* another one; NULL: POST or GET */
	const void *body;
	gsize size;
	/* In place of ->body: PUTs ->size bytes of the open file from ->offset, in constant memory. ->sent (may be
	 * NULL) is called for each piece; false ends the exchange. */
	bool from_file;
	int fd;
	guint64 offset;
	bool (*sent)(gsize size, gpointer data);
	gint64 deadline;    /* monotonic microseconds, for the whole exchange; 0: none */
	guint idle_seconds; /* without a byte in either direction; 0: no limit */
	/* A piece of the answer. Returns false when it is enough. */
	bool (*take)(const guint8 *bytes, gsize size, gpointer data);
	/* A line of the answer's headers or trailers, without a NUL at its end. May be NULL. */
	void (*header)(const char *line, gsize size, gpointer data);
	gpointer data;
} GbeExchange;

/* etcd speaks gRPC over HTTP/2, and serves /metrics over HTTP/1.1 where there is no TLS. */
typedef enum { GBE_HTTP_1, GBE_HTTP_2 } GbeHttp;

/* False: @ret_failure says why. The strings of @endpoint have to outlive the connection. Sends nothing. */
bool gbe_connection_open(const GbeEndpoint *endpoint, GbeHttp http, GbeConnection **ret_connection,
			 GbeCallFailure *ret_failure);
void gbe_connection_close(GbeConnection *connection);
bool gbe_connection_is_tls(const GbeConnection *connection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeConnection, gbe_connection_close)

/* True when there is any HTTP status, and the whole answer or as much as take() wanted (*ret_cut). */
bool gbe_connection_ask(GbeConnection *connection, const GbeExchange *exchange, long *ret_status,
			bool *ret_cut, GbeCallFailure *ret_failure);

/* For an object store: large buffers, as sent. @proxy: a URL; NULL: none. @rate: bytes per second in each direction; 0:
 * no limit. The strings have to outlive the connection. */
bool gbe_connection_set_bulk(GbeConnection *connection, const char *proxy, guint64 rate,
			     GbeCallFailure *ret_failure);
