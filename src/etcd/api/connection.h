/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One connection to etcd's client port over libcurl: TLS with a client certificate where one is configured, plain,
 * or a unix socket. No proxy, no redirection, no prompt for a passphrase. Stays open between two exchanges. With
 * gbe_connection_set_bulk(), one to an object store. Only connection.c uses libcurl.
 */
#pragma once

#include "etcd/api/call.h"

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

/* For an object store: large buffers, as sent, through @proxy (a URL; NULL: none), with at most @rate bytes per second in
 * each direction (0: no limit). The strings have to outlive the connection. */
bool gbe_connection_set_bulk(GbeConnection *connection, const char *proxy, guint64 rate,
			     GbeCallFailure *ret_failure);
