/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * etcd's API as far as it is asked here: gRPC, or the JSON of etcd's gateway where libcurl has no HTTP/2.
 * One connection, opened by the first call and kept for the next. Every call has a deadline, which
 * holds against a server that accepts and never answers, and tells it to the server as well.
 * Memory does not grow with the answer.
 */
#pragma once

#include "etcd/call.h"
#include "etcd/messages.h"

typedef struct GbeClient GbeClient;

/* False: @ret_failure says why. What @endpoint points to has to outlive it. */
bool gbe_client_open(const GbeEndpoint *endpoint, GbeClient **ret_client,
		     GbeCallFailure *ret_failure) GBE_CHECKED;
void gbe_client_close(GbeClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeClient, gbe_client_close)

/*
 * @deadline: monotonic microseconds. False: *ret_failure says why, and nothing else is set. What is set is
 * to be given to gbe_message_clear().
 */

/* What this member knows of itself, without asking another or its disk. */
bool gbe_client_status(GbeClient *client, gint64 deadline, GbeEtcdStatus *ret_status,
		       GbeCallFailure *ret_failure) GBE_CHECKED;
/* The alarms, by way of a raft proposal, which is written to the log, committed and applied: the proof
 * that etcd can write, without writing a key (reference etcd.md, section 1). A learner denies it; without a
 * leader it is denied at once. */
bool gbe_client_alarms(GbeClient *client, gint64 deadline, GbeEtcdAlarms *ret_alarms,
		       GbeCallFailure *ret_failure) GBE_CHECKED;
/* As this member knows them. */
bool gbe_client_members(GbeClient *client, gint64 deadline, GbeEtcdMembers *ret_members,
			GbeCallFailure *ret_failure) GBE_CHECKED;
/* Counts the keys of that name: a linearizable read. */
bool gbe_client_count(GbeClient *client, const char *key, gint64 deadline, GbeEtcdRange *ret_range,
		      GbeCallFailure *ret_failure) GBE_CHECKED;
/* A hash over all keys and revisions up to @revision (0: the present one); reads all of them. Gateways know it
 * from 3.5.10 on. */
bool gbe_client_hash_kv(GbeClient *client, gint64 revision, gint64 deadline,
			GbeEtcdHashKv *ret_hash, GbeCallFailure *ret_failure) GBE_CHECKED;
/* etcd answers nobody meanwhile. */
bool gbe_client_defragment(GbeClient *client, gint64 deadline,
			   GbeCallFailure *ret_failure) GBE_CHECKED;
/* Forgets what was before @revision; returns when the space is free. */
bool gbe_client_compact(GbeClient *client, gint64 revision, gint64 deadline,
			GbeCallFailure *ret_failure) GBE_CHECKED;
/* The whole way of a write, the backend's lock that a defragmentation holds included, and no key, revision or
 * event comes of it: deletes a key if there is none of that name. Unlike the alarms, which never get as far
 * as the database. */
bool gbe_client_write_nothing(GbeClient *client, gint64 deadline,
			      GbeCallFailure *ret_failure) GBE_CHECKED;
/* Takes back one member's alarm; what remains is not told. */
bool gbe_client_disarm(GbeClient *client, const GbeEtcdAlarm *alarm, gint64 deadline,
		       GbeCallFailure *ret_failure) GBE_CHECKED;

/* @remaining: bytes that are still to come. False: no more, please. */
typedef bool (*GbeSnapshotTake)(const guint8 *bytes, gsize size, guint64 remaining, gpointer data);
/* The database as etcd's `snapshot save` has it, in pieces; the last one is its SHA-256 (etcd.md, section
 * 8). @deadline 0: as long as bytes come, with @idle_seconds between two at most. GBE_REACH_LOCAL when @take
 * ended it. gRPC only (GBE_REACH_LOCAL): in JSON it would have to be taken from base64, a third longer. */
bool gbe_client_snapshot(GbeClient *client, gint64 deadline, guint idle_seconds,
			 GbeSnapshotTake take, gpointer data,
			 GbeCallFailure *ret_failure) GBE_CHECKED;
