/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One gRPC call over a connection, and the parser of its answer. */
#pragma once

#include "etcd/api/connection.h"

/*
 * Parses a server's answer to a gRPC call as it comes, in pieces of any size (github.com/grpc/grpc,
 * doc/PROTOCOL-HTTP2.md). The answer has messages with five bytes before each, and the final status in headers or
 * trailers. Keeps at most one message of @limit bytes.
 */

/* A whole message; the memory is only borrowed. Returns false to stop. */
typedef bool (*GbeGrpcTake)(const guint8 *message, gsize size, gpointer data);

typedef struct {
	gsize limit; /* of one message */
	GbeGrpcTake take;
	gpointer data;
	/* The state of the parser; zero at first. */
	guint8 head[5];
	gsize head_size;
	gsize want; /* of the present message, once its head is complete */
	GByteArray *message;
	const char *bad;      /* why the answer is invalid */
	bool stopped;	      /* take() stopped it */
	bool is_grpc;	      /* by its content type */
	gint status;	      /* grpc-status, or -1: none came */
	char *status_message; /* grpc-message, decoded */
} GbeGrpcAnswer;

void gbe_grpc_answer_init(GbeGrpcAnswer *answer, gsize limit, GbeGrpcTake take, gpointer data);
static inline void
gbe_grpc_answer_clear(GbeGrpcAnswer *answer)
{
	g_clear_pointer(&answer->message, g_byte_array_unref);
	g_clear_pointer(&answer->status_message, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeGrpcAnswer, gbe_grpc_answer_clear)

/* Both get the GbeGrpcAnswer as the data of a GbeExchange. False: ->bad says why the answer is invalid, or ->stopped is
 * set. */
bool gbe_grpc_answer_push(const guint8 *bytes, gsize size, gpointer answer);
/* One line of a header or a trailer ("Name: value\r\n"), in any order. Unknown lines are ignored. */
void gbe_grpc_answer_header(const char *line, gsize size, gpointer answer);
/* Does the answer end at the end of a message? */
bool gbe_grpc_answer_is_complete(const GbeGrpcAnswer *answer);

/* Sends one message and receives any number. */
typedef struct {
	const char *path;	   /* "/etcdserverpb.Maintenance/Status" */
	const GByteArray *request; /* NULL: an empty message */
	const char *token;	   /* of etcd's Authenticate; NULL: none */
	bool needs_leader;	   /* without a leader: denied at once and not after seconds */
	gint64 deadline;	   /* monotonic microseconds; 0: none */
	guint idle_seconds;	   /* 0: no limit */
	gsize limit;		   /* bytes of one message */
	GbeGrpcTake take;
	gpointer data;
} GbeGrpcCall;

/* True: etcd answered OK, and all messages were taken. GBE_REACH_LOCAL "taken no further" where take() stopped it. */
bool gbe_grpc_call(GbeConnection *connection, const GbeGrpcCall *call,
		   GbeCallFailure *ret_failure) GBE_CHECKED;
