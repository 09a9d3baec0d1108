/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far a question to etcd came. What that means for its health is core/health.h's. */
#pragma once

typedef enum {
	GBE_REACH_ANSWERED,
	GBE_REACH_DENIED,  /* etcd's own no, with a gRPC status */
	GBE_REACH_LATE,	   /* somebody is there, and did not answer in time */
	GBE_REACH_DOWN,	   /* nobody listens */
	GBE_REACH_DROPPED, /* somebody answered, and broke off */
	GBE_REACH_TLS,	   /* certificates, on either side */
	GBE_REACH_FOREIGN, /* somebody answers who is not etcd's client port */
	GBE_REACH_LOCAL,   /* an endpoint or a file that cannot be used, a name that is not known */
	GBE_REACH_NOT_ASKED,
} GbeReach;
