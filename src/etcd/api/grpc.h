/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One gRPC call over a connection: sends one message and receives any number. */
#pragma once

#include "etcd/api/connection.h"
#include "etcd/api/grpc-answer.h"

typedef struct {
	const char *path; /* "/etcdserverpb.Maintenance/Status" */
	const GByteArray *request;
	const char *token;  /* of etcd's Authenticate; NULL: none */
	bool needs_leader;  /* without a leader: denied at once and not after seconds */
	gint64 deadline;    /* monotonic microseconds; 0: none */
	guint idle_seconds; /* 0: no limit */
	gsize limit;	    /* bytes of one message */
	GbeGrpcTake take;
	gpointer data;
} GbeGrpcCall;

/* True: etcd answered OK, and all messages were taken. GBE_REACH_LOCAL "taken no further" where take() stopped it. */
bool gbe_grpc_call(GbeConnection *connection, const GbeGrpcCall *call,
		   GbeCallFailure *ret_failure) GBE_CHECKED;
