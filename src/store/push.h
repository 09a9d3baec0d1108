/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A push makes a snapshot, proves it, and stores it. A directory gets the snapshot at once. A snapshot for a bucket,
 * or for a push by the timer, first goes into the queue (store/queue.h), and is sent from there.
 */
#pragma once

#include "store/snapshots.h"

typedef struct {
	const char *store;  /* NULL: the configured one */
	const char *source; /* a backup; with a '/' a snapshot file; NULL: the running etcd */
	guint64 timeout;    /* seconds, for etcd */
	bool queue;	    /* put it into the queue if anything has changed, and send nothing */
	bool
	    sent_later; /* success if the snapshot waits in the queue while another process sends */
	GbeStoreProgress progress;
	gpointer progress_data;
} GbeStorePush;

typedef struct {
	char *name; /* NULL: nothing has changed since the last push */
	GbeSnapshotMeta meta;
	guint64 size;	     /* bytes in the store */
	char *sha256;	     /* of the database */
	char *stored_sha256; /* of the file in the store, where it is encrypted; else NULL */
	bool bound;	     /* the snapshot names the device that pushed it */
	GbeVerification *verification; /* of the stored snapshot, with its name */
} GbeStorePushed;

void gbe_store_pushed_clear(GbeStorePushed *pushed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeStorePushed, gbe_store_pushed_clear)

/* On failure, nothing that looks valid is left in the store; a snapshot that could not be sent waits in the queue. */
bool gbe_store_push(GbeApp *app, const GbeStorePush *options, GbeStorePushed *ret_pushed,
		    GError **error) GBE_CHECKED;

/* Writes an entry to @store, which is a directory; its name is newer than those there and than @known, which may be
 * NULL. The caller holds the lock "store". A power cut leaves after step n:
 *
 *   1  mkdir <name>, sync of the store                     nothing: an empty directory, which stays, because
 *                                                          another device may have made it just now
 *   2  <name>/etcd.backup.gz.part, synced, read back       nothing: swept by the next push or prune
 *   3  <name>/_etcd_backup.meta.part                       the same; with [store] key before it
 *      _etcd_backup.hmac, the keyed digest of name, meta file and database, and
 *      _etcd_backup.device, the name of this device; with @note, the record of a waiting one before
 *      all of them (store/queue.h)
 *   4  rename of 2 to etcd.backup.gz, sync                 the same: other tools look for the meta file
 *   5  sync of 3, rename to _etcd_backup.meta, sync        the snapshot */
typedef bool (*GbeStoreNote)(int entry_fd, const GbeStorePushed *pushed, GError **error);
bool gbe_store_write_entry(GbeApp *app, GbeSnapshotStore *store, const GbeStorePush *options,
			   const char *known, GbeStoreNote note, GbeStorePushed *ret_pushed,
			   GError **error) GBE_CHECKED;
