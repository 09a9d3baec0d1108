/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One gRPC call over a connection: one message out, any number in. */
#pragma once

#include "etcd/connection.h"
#include "etcd/grpc-answer.h"

typedef struct {
	const char *path; /* "/etcdserverpb.Maintenance/Status" */
	const GByteArray *request;
	gboolean needs_leader; /* denied at once where there is none, instead of after seconds */
	gint64 deadline;       /* monotonic microseconds; 0: none */
	guint idle_seconds;    /* 0: no limit */
	gsize limit;	       /* bytes of one message */
	GbeGrpcTake take;
	gpointer data;
} GbeGrpcCall;

/* True: etcd's own OK, and all messages were taken. GBE_REACH_LOCAL "taken no further" where take() ended it. */
bool gbe_grpc_call(GbeConnection *connection, const GbeGrpcCall *call,
		   GbeCallFailure *ret_failure) GBE_CHECKED;
