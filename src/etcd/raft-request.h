/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an entry of etcd's log asks for (etcd's api/etcdserverpb/raft_internal.proto), as far as somebody
 * asks who turns data into a snapshot: does it change what a snapshot holds, or a key of the v2 API, or
 * neither, as a new leader's entry or a member's name? Only the beginning need be there.
 */
#pragma once

#include <glib.h>

typedef enum {
	GBE_REQUEST_NOTHING, /* that a snapshot keeps: members are made anew by a restore */
	GBE_REQUEST_V3,	     /* keys, leases, alarms, users, compaction; or what is not known */
	GBE_REQUEST_V2_KEY,
} GbeRequestKind;

/* @have of the data's bytes are at @at. */
GbeRequestKind gbe_raft_request_kind(const guint8 *at, gsize have);
