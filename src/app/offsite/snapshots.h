/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A store of snapshots in the layout of etcd-manager (core/snapshot/name.h, core/snapshot/meta.h), so that snapshots
 * travel between tools: a directory, perhaps a share or a removable disk. The store may belong to others as well: an
 * entry that does not look like a snapshot is shown and never touched, links are not followed, and a missing store
 * is not made. Implemented in snapshots.c, newest.c, push.c, pull.c, prune.c.
 */
#pragma once

#include "app/device/context.h"
#include "app/snapshot/snapshot.h"
#include "core/snapshot/meta.h"
#include "core/snapshot/name.h"
#include "fs/copy/archive.h"

typedef enum {
	GBE_STORED_COMPLETE,   /* as far as names and the meta file show */
	GBE_STORED_UNFINISHED, /* no meta file: still being written, or interrupted */
	GBE_STORED_UNREADABLE,
	GBE_STORED_FOREIGN, /* not a snapshot of this layout */
} GbeStoredState;

typedef struct {
	char *name;
	GbeStoredState state;
	char *why;	      /* why it is unreadable; else NULL */
	GbeSnapshotName when; /* of all but foreign ones */
	GbeSnapshotMeta meta; /* of a complete one */
	char *meta_sha256;    /* of the file that ->meta was read from */
	char *hmac;	      /* its keyed digest, not checked, or NULL */
	guint64 size;	      /* bytes in the store, of a complete one */
	bool encrypted;	      /* by age, according to its name */
	bool begun_here;      /* it has an unfinished file of a kind that only this program
				   * leaves */
	bool holds_something; /* other files than those of a snapshot */
} GbeStored;

typedef struct {
	char *path;	  /* as it was given */
	char *identifier; /* absolute, and UTF-8 */
	int fd;
	GbeApp *app;
	const char *identity; /* the file that decrypts: [store] identity, or another one; NULL */
	GPtrArray *stored;    /* of GbeStored: foreign ones, then the others, the oldest first */
} GbeSnapshotStore;

/* @directory NULL: [store] directory. GBE_ERROR_USAGE: none is given; _NOT_FOUND: the store is not there. */
bool gbe_snapshot_store_open(GbeApp *app, const char *directory, GbeSnapshotStore **ret_store,
			     GError **error) GBE_CHECKED;
/* Like gbe_snapshot_store_open(), without reading the entries. */
bool gbe_snapshot_store_find(GbeApp *app, const char *directory, GbeSnapshotStore **ret_store,
			     GError **error) GBE_CHECKED;
void gbe_snapshot_store_free(GbeSnapshotStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeSnapshotStore, gbe_snapshot_store_free)

const char *gbe_stored_state_to_string(GbeStoredState state);
/* The newest complete one; NULL. */
const GbeStored *gbe_snapshot_store_newest(const GbeSnapshotStore *store);
/* With [store] key: the newest snapshot that this device has pushed to the store or pulled from it; NULL: not known. */
bool gbe_snapshot_store_known(const GbeSnapshotStore *store, char **ret_name,
			      GError **error) GBE_CHECKED;
/* True: the store has no snapshot as new as @known, which may be NULL. */
bool gbe_snapshot_store_is_behind(const GbeSnapshotStore *store, const char *known);
/* With [store] key: records that @name was pushed, or proved. Durable; a failure is reported. */
void gbe_snapshot_store_remember(const GbeSnapshotStore *store, const char *name);
/* Removes unfinished entries of this program whose writer is gone. */
bool gbe_snapshot_store_sweep(GbeSnapshotStore *store, GError **error) GBE_CHECKED;
/* Unpacks @fd from its present offset; @put may be NULL. *ret_sha256 (may be NULL): of the database, hex.
 * GBE_ERROR_VERIFY_FAILED: the file is truncated or damaged, or the checksum behind the database does not match. */
bool gbe_snapshot_unpack(int fd, const char *what, GbeArchivePut put, gpointer data,
			 char **ret_sha256, GError **error) GBE_CHECKED;
/* Unpacks a snapshot in the store, like gbe_snapshot_unpack(). */
bool gbe_snapshot_store_read(const GbeSnapshotStore *store, const char *name, GbeArchivePut put,
			     gpointer data, char **ret_sha256, GError **error) GBE_CHECKED;
/* Was the database with this SHA-256 pushed under this name by a holder of one of our keys? True without a
 * configured key. GBE_ERROR_REFUSED: the snapshot has no keyed digest; _VERIFY_FAILED: it has a wrong one. */
bool gbe_snapshot_store_prove(GbeApp *app, const GbeSnapshotStore *store, const GbeStored *stored,
			      const char *sha256, GError **error) GBE_CHECKED;

typedef bool (*GbeStoreProgress)(guint64 done, guint64 total,
				 gpointer data); /* as in gbe_snapshot_save() */

typedef struct {
	const char *store;  /* NULL: the configured one */
	const char *source; /* a backup; with a '/' a snapshot file; NULL: the running etcd */
	guint64 timeout;    /* seconds, for etcd */
	GbeStoreProgress progress;
	gpointer progress_data;
} GbeStorePush;

typedef struct {
	char *name;
	GbeSnapshotMeta meta;
	guint64 size;		       /* bytes in the store */
	GbeVerification *verification; /* of the stored snapshot, with its name */
} GbeStorePushed;

void gbe_store_pushed_clear(GbeStorePushed *pushed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeStorePushed, gbe_store_pushed_clear)

/* Pushes a snapshot. On failure, nothing that looks valid is left. A power cut leaves after step n:
 *
 *   1  mkdir <name>, sync of the store                     nothing: an empty directory
 *   2  <name>/etcd.backup.gz.part, synced, read back       nothing: swept by the next push or prune
 *   3  <name>/_etcd_backup.meta.part                       the same; with [store] key before it
 *      _etcd_backup.hmac, the keyed digest of name, meta file and database
 *   4  rename of 2 to etcd.backup.gz, sync                 the same: other tools look for the meta file
 *   5  sync of 3, rename to _etcd_backup.meta, sync        the snapshot */
bool gbe_store_push(GbeApp *app, const GbeStorePush *options, GbeStorePushed *ret_pushed,
		    GError **error) GBE_CHECKED;

typedef struct {
	const char *store;
	const char *name;     /* or GBE_SNAPSHOT_LATEST */
	const char *path;     /* must not exist */
	const char *identity; /* absolute, without --root; NULL: [store] identity */
	GbeStoreProgress progress;
	gpointer progress_data;
} GbeStorePull;

/* The file appears at ->path after all of it was proved; *ret_verification is that of the file.
 * GBE_ERROR_REFUSED: the latest snapshot is older than one that is known. */
bool gbe_store_pull(GbeApp *app, const GbeStorePull *options, char **ret_name,
		    GbeVerification **ret_verification, GError **error) GBE_CHECKED;

/* Retention: [store] hourly and daily, by core/decide/retention-periods.h. Before any removal, one of the
 * remaining snapshots is read to its end: GBE_ERROR_VERIFY_FAILED when none is sound, and nothing is removed.
 * *ret_removed: array of GbeByHandRemoval. A removal takes the steps of a push backwards: 5 back to 3, sync, and
 * the rest is swept. */
bool gbe_store_prune(GbeApp *app, const char *store, bool dry_run, GPtrArray **ret_removed,
		     GError **error) GBE_CHECKED;
