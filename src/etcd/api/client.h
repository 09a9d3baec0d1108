/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The part of etcd's gRPC API that is used here, over one connection. The first call opens it, and the next calls reuse
 * it. Every call has a deadline, also against a server that accepts and never answers. The server gets the deadline
 * also. Memory does not grow with the answer. If etcd refuses a call to a client without a user, the call is repeated
 * with a token of the endpoint's user. The token is renewed when etcd has forgotten it.
 */
#pragma once

#include "core/health/health.h"
#include "core/tri.h"
#include "etcd/api/connection.h"
#include "etcd/api/messages.h"

typedef struct GbeClient GbeClient;

/* False: @ret_failure says why. The strings of @endpoint have to outlive the client. */
bool gbe_client_open(const GbeEndpoint *endpoint, GbeClient **ret_client,
		     GbeCallFailure *ret_failure) GBE_CHECKED;
void gbe_client_close(GbeClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeClient, gbe_client_close)

/* 1 while etcd is being defragmented. */
#define GBE_GAUGE_DEFRAG "etcd_disk_defrag_inflight"
/* Bytes: the size of its database from which on etcd takes no more writes. */
#define GBE_GAUGE_QUOTA "etcd_server_quota_backend_bytes"

/* Is this line of a metrics text the figure @name, without labels, with a number of 0 or more? */
bool gbe_gauge_line(const char *name, const char *line, gsize size, double *ret_value);
/* Does etcd defragment at the moment? */
GbeTri gbe_gauge_defragments(const GbeEndpoint *endpoint, gint64 deadline);

/*
 * Asks etcd about its health: this member's state, the members, a raft proposal as the proof that etcd can write,
 * and a linearizable read. /health, /readyz and reads can all succeed while every write hangs (reference etcd.md,
 * section 1). Fills etcd's part of @facts. Every question ends at @deadline (monotonic microseconds). *client is
 * NULL at first, then the open connection for the next time. The strings of @endpoint have to outlive it.
 */
void gbe_health_inquire(const GbeEndpoint *endpoint, gint64 deadline, GbeClient **client,
			GbeHealthFacts *facts);

/*
 * @deadline: monotonic microseconds. False: *ret_failure says why, and nothing else is set. Clear a result with
 * gbe_message_clear().
 */

/* This member's own state, without asking another member or its disk. */
bool gbe_client_status(GbeClient *client, gint64 deadline, GbeEtcdStatus *ret_status,
		       GbeCallFailure *ret_failure) GBE_CHECKED;
/* The alarms, by a raft proposal, which etcd writes to the log, commits and applies. This proves that etcd can write,
 * without writing a key (reference etcd.md, section 1). A learner denies it. Without a leader it is denied at once. */
bool gbe_client_alarms(GbeClient *client, gint64 deadline, GbeEtcdAlarms *ret_alarms,
		       GbeCallFailure *ret_failure) GBE_CHECKED;
/* The members as this member knows them. */
bool gbe_client_members(GbeClient *client, gint64 deadline, GbeEtcdMembers *ret_members,
			GbeCallFailure *ret_failure) GBE_CHECKED;
/* Counts the keys of that name with a linearizable read. */
bool gbe_client_count(GbeClient *client, const char *key, gint64 deadline, GbeEtcdRange *ret_range,
		      GbeCallFailure *ret_failure) GBE_CHECKED;
/* A hash over all keys and revisions up to @revision (0: the present one). etcd reads all of them. */
bool gbe_client_hash_kv(GbeClient *client, gint64 revision, gint64 deadline,
			GbeEtcdHashKv *ret_hash, GbeCallFailure *ret_failure) GBE_CHECKED;
/* May this client do what only root may? Asks for a hash of the future: etcd looks at the user, and then refuses. */
bool gbe_client_is_root(GbeClient *client, gint64 deadline,
			GbeCallFailure *ret_failure) GBE_CHECKED;
/* Asks for a change that needs an id alone, or nothing (@id 0), and waits for its end:
 * GBE_MESSAGE_DEFRAGMENT: nothing. etcd answers no request meanwhile.
 * GBE_MESSAGE_LEASE_REVOKE: a lease.
 * GBE_MESSAGE_MEMBER_REMOVE, _MEMBER_PROMOTE: a member. etcd does not promote a learner that lags too far.
 * GBE_MESSAGE_MOVE_LEADER: the member that becomes the leader. Only the leader takes this request. */
bool gbe_client_change(GbeClient *client, GbeMessage change, guint64 id, gint64 deadline,
		       GbeCallFailure *ret_failure) GBE_CHECKED;
/* Compacts the history before @revision. Returns when the space is free. */
bool gbe_client_compact(GbeClient *client, gint64 revision, gint64 deadline,
			GbeCallFailure *ret_failure) GBE_CHECKED;
/* Deletes a key if no key of that name exists. Takes the whole way of a write, including the backend's lock that a
 * defragmentation holds, and leaves no key, revision or event. The alarms' proposal never gets as far as the
 * database. */
bool gbe_client_write_nothing(GbeClient *client, gint64 deadline,
			      GbeCallFailure *ret_failure) GBE_CHECKED;
/* Sets a key; @value NULL: deletes it. */
bool gbe_client_write(GbeClient *client, const char *key, const char *value, gint64 deadline,
		      GbeCallFailure *ret_failure) GBE_CHECKED;
/* Reads a key with a linearizable read: ->list has it, or is NULL. */
bool gbe_client_get(GbeClient *client, const char *key, gint64 deadline, GbeEtcdKeys *ret_keys,
		    GbeCallFailure *ret_failure) GBE_CHECKED;
/* As gbe_client_write(), in one transaction, where the key is still as it was at @mod_revision (0: not there). Else
 * *ret_swapped is false, and nothing has changed. */
bool gbe_client_swap(GbeClient *client, const char *key, gint64 mod_revision, const char *value,
		     gint64 deadline, bool *ret_swapped, GbeCallFailure *ret_failure) GBE_CHECKED;
/* Makes the lease of that id last @seconds from now: grants it where it is not there (any more). */
bool gbe_client_lease_keep(GbeClient *client, guint64 lease, guint64 seconds, gint64 deadline,
			   GbeCallFailure *ret_failure) GBE_CHECKED;
bool gbe_client_lease_look(GbeClient *client, guint64 lease, gint64 deadline, bool *ret_alive,
			   GbeCallFailure *ret_failure) GBE_CHECKED;
/* Disarms one member's alarm. The remaining alarms are not returned. */
bool gbe_client_disarm(GbeClient *client, const GbeEtcdAlarm *alarm, gint64 deadline,
		       GbeCallFailure *ret_failure) GBE_CHECKED;

/* Membership, also with gbe_client_change(). Each is a raft proposal: nothing has changed if it fails with a gRPC
 * status, and the result is unknown if no answer came. *ret_members: ->added is the new one; clear it as
 * GBE_MESSAGE_MEMBER_ADD. */
bool gbe_client_member_add(GbeClient *client, char *const *peer_urls, bool learner, gint64 deadline,
			   GbeEtcdMembers *ret_members, GbeCallFailure *ret_failure) GBE_CHECKED;
bool gbe_client_member_update(GbeClient *client, guint64 id, char *const *peer_urls,
			      gint64 deadline, GbeCallFailure *ret_failure) GBE_CHECKED;

/* @remaining: bytes still to come. Returns false to stop. */
typedef bool (*GbeSnapshotTake)(const guint8 *bytes, gsize size, guint64 remaining, gpointer data);
/* Receives the database as etcd's `snapshot save` does, in pieces; the last piece is its SHA-256 (etcd.md, section
 * 8). With @deadline 0 it takes as long as bytes come, with at most @idle_seconds between two. GBE_REACH_LOCAL when
 * @take stopped it. */
bool gbe_client_snapshot(GbeClient *client, gint64 deadline, guint idle_seconds,
			 GbeSnapshotTake take, gpointer data,
			 GbeCallFailure *ret_failure) GBE_CHECKED;
