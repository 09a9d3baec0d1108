/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log next to its database, for turning data into a snapshot: what the log has and a snapshot would lack. All
 * is for a log that gbe_wal_read() found complete. Memory does not grow with the log. */
#pragma once

#include "etcd/wal/read.h"

/* Entries that were not applied, and requests of the v2 API, which the database never has. */
typedef struct {
	guint64 entries;     /* after @database, of any kind */
	guint64 requests;    /* those of them that change what a snapshot holds */
	guint64 changes;     /* those of them that change the members */
	guint64 v2_requests; /* for keys of the v2 API, after @snapshot */
} GbeWalRest;

/* @database: the last entry that the database has. @snapshot: the entry of the .snap file that etcd begins with; 0:
 * none. @path: the log's name in messages. */
bool gbe_wal_rest_count(int wal_fd, const char *path, guint64 database, guint64 snapshot,
			GbeWalRest *ret_rest, GError **error) GBE_CHECKED;

typedef enum {
	GBE_RAFT_NOTHING, /* nothing that a snapshot keeps: a restore makes the members again */
	GBE_RAFT_V3,	  /* keys, leases, alarms, users, compaction; or an unknown entry */
	GBE_RAFT_V2_KEY,
} GbeRaftKind;

/* Classifies an entry of etcd's log (etcd's api/etcdserverpb/raft_internal.proto). Does it change the content of a
 * snapshot, or a key of the v2 API? A new leader's entry and a member's name change none of these. Needs only the
 * beginning of the entry: @have of the data's bytes are at @at. */
GbeRaftKind gbe_raft_request_kind(const guint8 *at, gsize have);

/*
 * Counts keys of the v2 API. They are in .snap files and never in the database, so that no snapshot has them
 * (etcd.md section 7). They are nodes of a JSON text, and each node begins with its path. In that text a quotation
 * mark within a value follows a backslash, so that only a node has "Path":"/1/….
 *
 * *ret_count: the nodes below /1 in a .snap file that was found sound. Memory is bounded.
 */
bool gbe_v2_keys_count(int fd, const char *what, guint64 *ret_count, GError **error) GBE_CHECKED;

/*
 * Appends one record to a copy of a log: all its entries are agreed upon. A member learns that later than the leader
 * that acknowledged a write. If only the member's log is left, an acknowledged write may be in an entry that is not
 * recorded as agreed upon. etcd's --force-new-cluster would drop this entry. @state: the log's last one, with the new
 * ->commit. Not synced: the log is a copy.
 */
bool gbe_wal_commit(int wal_fd, const char *path, const GbeHardState *state,
		    GError **error) GBE_CHECKED;
