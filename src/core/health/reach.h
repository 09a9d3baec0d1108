/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far a question to etcd came. core/health/health.h decides what that means for etcd's health. */
#pragma once

typedef enum {
	GBE_REACH_ANSWERED,
	GBE_REACH_DENIED,  /* etcd refused, with a gRPC status */
	GBE_REACH_NO_USER, /* refused: etcd has users, and asks for one who may do this */
	GBE_REACH_LATE,	   /* a server is there and did not answer in time */
	GBE_REACH_DOWN,	   /* nobody listens */
	GBE_REACH_DROPPED, /* a server answered, and broke off */
	GBE_REACH_TLS,	   /* certificates, on either side */
	GBE_REACH_FOREIGN, /* the server is not etcd's client port */
	GBE_REACH_LOCAL,   /* an unusable endpoint or file, or an unknown host name */
	GBE_REACH_NOT_ASKED,
} GbeReach;
