/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Classifies an entry of etcd's log (etcd's api/etcdserverpb/raft_internal.proto) for turning data into a snapshot:
 * does it change what a snapshot holds, or a key of the v2 API, or neither, like a new leader's entry or a member's
 * name? Needs only the beginning of the entry.
 */
#pragma once

#include <glib.h>

typedef enum {
	GBE_RAFT_NOTHING, /* nothing that a snapshot keeps: a restore makes the members anew */
	GBE_RAFT_V3,	  /* keys, leases, alarms, users, compaction; or an unknown entry */
	GBE_RAFT_V2_KEY,
} GbeRaftKind;

/* @have of the data's bytes are at @at. */
GbeRaftKind gbe_raft_request_kind(const guint8 *at, gsize have);
