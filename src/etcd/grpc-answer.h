/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a server sends in answer to a gRPC call, taken apart as it comes, in pieces of any size
 * (github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md): messages, each with five bytes before it, and in the
 * headers or trailers how it ended. Keeps one message of at most @limit bytes, and no more.
 */
#pragma once

#include "base/auto.h"

/* One message, whole; the memory is not the callee's. False: no more, please. */
typedef bool (*GbeGrpcTake)(const guint8 *message, gsize size, gpointer data);

typedef struct {
	gsize limit; /* of one message */
	GbeGrpcTake take;
	gpointer data;
	/* As far as it came; zero at first. */
	guint8 head[5];
	gsize head_size;
	gsize want; /* of the present message, once its head is there */
	GByteArray *message;
	guint messages;
	const char *bad;      /* what is wrong with it */
	gboolean stopped;     /* take() said so */
	gboolean is_grpc;     /* by its content type */
	gint status;	      /* grpc-status, or -1: none came */
	char *status_message; /* grpc-message, decoded */
} GbeGrpcAnswer;

void gbe_grpc_answer_init(GbeGrpcAnswer *answer, gsize limit, GbeGrpcTake take, gpointer data);
void gbe_grpc_answer_clear(GbeGrpcAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeGrpcAnswer, gbe_grpc_answer_clear)

/* False: ->bad says why, or ->stopped. */
bool gbe_grpc_answer_push(GbeGrpcAnswer *answer, const guint8 *bytes, gsize size);
/* One line of a header or a trailer ("Name: value\r\n"), in any order. What is not understood is not
 * looked at. */
void gbe_grpc_answer_header(GbeGrpcAnswer *answer, const char *line, gsize size);
/* Does it end where a message does? */
bool gbe_grpc_answer_is_complete(const GbeGrpcAnswer *answer);
