/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One connection to etcd's client port over libcurl: TLS with a client certificate where one is configured,
 * plain, or a unix socket; HTTP/2 where libcurl can. No proxy, no redirection, no prompt for a passphrase.
 * Stays open between two exchanges. The only file that knows libcurl.
 */
#pragma once

#include "etcd/call.h"

typedef struct GbeConnection GbeConnection;

/* One POST and its answer; without a body one GET. */
typedef struct {
	const char *path;	    /* begins with '/' */
	const char *const *headers; /* "Name: value", NULL-terminated */
	const void *body;
	gsize size;
	gint64 deadline;    /* monotonic microseconds, over everything; 0: none */
	guint idle_seconds; /* without a byte in either direction; 0: no limit */
	/* A piece of the answer. False: enough of it. */
	bool (*take)(const guint8 *bytes, gsize size, gpointer data);
	/* A line of its headers or trailers, without a NUL at its end. May be NULL. */
	void (*header)(const char *line, gsize size, gpointer data);
	gpointer data;
} GbeExchange;

/* False: @ret_failure says why. What @endpoint points to has to outlive it. Nothing is sent. */
bool gbe_connection_open(const GbeEndpoint *endpoint, GbeConnection **ret_connection,
			 GbeCallFailure *ret_failure);
void gbe_connection_close(GbeConnection *connection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeConnection, gbe_connection_close)

/* Is gRPC to be spoken, which needs HTTP/2; or JSON? */
bool gbe_connection_is_grpc(const GbeConnection *connection);
/* True when there is a HTTP status, whichever, and all of the answer, or as much as take() wanted
 * (*ret_cut). */
bool gbe_connection_ask(GbeConnection *connection, const GbeExchange *exchange, long *ret_status,
			bool *ret_cut, GbeCallFailure *ret_failure);
