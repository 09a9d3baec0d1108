/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A store of snapshots in the layout of etcd-manager (core/snapshot-name.h, core/snapshot-meta.h), so that they
 * travel between tools: a directory, perhaps a share or a disk that goes away. It is somebody else's as
 * much as ours: what does not look like a snapshot is shown and never touched, links in it are not followed,
 * and a store that is not there is not made.
 *
 * A push leaves, when the power goes after step n:
 *   1  mkdir <name>, sync of the store                     nothing: an empty directory
 *   2  <name>/etcd.backup.gz.part, synced, read back       nothing: swept by the next push or prune
 *   3  <name>/_etcd_backup.meta.part                       the same; with [store] key before it
 *      _etcd_backup.hmac, the keyed digest of name, meta file and database
 *   4  rename of 2 to etcd.backup.gz, sync                 the same: other tools look for the meta file
 *   5  sync of 3, rename to _etcd_backup.meta, sync        the snapshot
 * Prune goes the other way: 5 back to 3, sync, and what is left is swept.
 */
#pragma once

#include "app/context.h"
#include "app/snapshot.h"
#include "core/snapshot-meta.h"
#include "core/snapshot-name.h"
#include "fs/archive.h"

typedef enum {
	GBE_STORED_COMPLETE,   /* as far as names and the meta file tell */
	GBE_STORED_UNFINISHED, /* no meta file: somebody writes it, or did not get further */
	GBE_STORED_UNREADABLE,
	GBE_STORED_FOREIGN, /* no snapshot of this layout */
} GbeStoredState;

typedef struct {
	char *name;
	GbeStoredState state;
	char *why;		  /* it is unreadable; else NULL */
	GbeSnapshotName when;	  /* not of a foreign one */
	GbeSnapshotMeta meta;	  /* of a complete one */
	char *meta_sha256;	  /* of the file that ->meta was read from */
	char *hmac;		  /* its keyed digest, as it is there, or NULL */
	guint64 size;		  /* bytes in the store, of a complete one */
	gboolean encrypted;	  /* by age; its name says it */
	gboolean begun_here;	  /* a file is in it as only this program leaves it unfinished */
	gboolean holds_something; /* besides the files of a snapshot */
} GbeStored;

typedef struct {
	char *path; /* as it was given */
	int fd;
	GbeApp *app;
	const char *identity; /* what decrypts: [store] identity, or another one; NULL */
	GPtrArray *stored;    /* of GbeStored: foreign ones, then the others, the oldest first */
} GbeSnapshotStore;

/* @directory NULL: [store] directory. GBE_ERROR_USAGE: neither; _NOT_FOUND: it is not there. */
bool gbe_snapshot_store_open(GbeApp *app, const char *directory, GbeSnapshotStore **ret_store,
			     GError **error) GBE_CHECKED;
/* The same without looking what is in it. */
bool gbe_snapshot_store_find(GbeApp *app, const char *directory, GbeSnapshotStore **ret_store,
			     GError **error) GBE_CHECKED;
void gbe_snapshot_store_free(GbeSnapshotStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeSnapshotStore, gbe_snapshot_store_free)

const char *gbe_stored_state_to_string(GbeStoredState state);
/* The newest complete one; NULL. */
const GbeStored *gbe_snapshot_store_newest(const GbeSnapshotStore *store);
/* Removes what was begun here and whose writer is gone. */
bool gbe_snapshot_store_sweep(GbeSnapshotStore *store, GError **error) GBE_CHECKED;
/* Unpacks what is in @fd from where it stands; @put may be NULL. *ret_sha256 (may be NULL): of the database,
 * hex. GBE_ERROR_VERIFY_FAILED: it is cut off or damaged, or the checksum behind it is of something else. */
bool gbe_snapshot_unpack(int fd, const char *what, GbeArchivePut put, gpointer data,
			 char **ret_sha256, GError **error) GBE_CHECKED;
/* The same of one in the store. */
bool gbe_snapshot_store_read(const GbeSnapshotStore *store, const char *name, GbeArchivePut put,
			     gpointer data, char **ret_sha256, GError **error) GBE_CHECKED;
/* Was the database with that SHA-256 pushed under this name by somebody who has a key of ours? Where there is
 * none, everything will do. GBE_ERROR_REFUSED: it has no keyed digest; _VERIFY_FAILED: a wrong one. */
bool gbe_snapshot_store_prove(GbeApp *app, const GbeSnapshotStore *store, const GbeStored *stored,
			      const char *sha256, GError **error) GBE_CHECKED;

typedef bool (*GbeStoreProgress)(guint64 done, guint64 total, gpointer data); /* as for a save */

typedef struct {
	const char *store;  /* NULL: as configured */
	const char *source; /* a backup; with a '/' a snapshot file; NULL: etcd as it is now */
	guint64 timeout;    /* seconds, of etcd */
	GbeStoreProgress progress;
	gpointer progress_data;
} GbeStorePush;

typedef struct {
	char *name;
	GbeSnapshotMeta meta;
	guint64 size;		       /* bytes in the store */
	GbeVerification *verification; /* of what is in the store, and named so */
} GbeStorePushed;

void gbe_store_pushed_clear(GbeStorePushed *pushed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeStorePushed, gbe_store_pushed_clear)

/* Nothing half valid is left where it fails. */
bool gbe_store_push(GbeApp *app, const GbeStorePush *options, GbeStorePushed *ret_pushed,
		    GError **error) GBE_CHECKED;

typedef struct {
	const char *store;
	const char *name;     /* or GBE_SNAPSHOT_LATEST */
	const char *path;     /* not there */
	const char *identity; /* absolute, without --root; NULL: [store] identity */
	GbeStoreProgress progress;
	gpointer progress_data;
} GbeStorePull;

/* *ret_verification: of the file, which appears when all of it was proved. */
bool gbe_store_pull(GbeApp *app, const GbeStorePull *options, char **ret_name,
		    GbeVerification **ret_verification, GError **error) GBE_CHECKED;

/* Retention: [store] hourly and daily, by core/retention-periods.h. One of those that stay is read through
 * before any goes: GBE_ERROR_VERIFY_FAILED, and nothing is removed, where none is sound. *ret_removed: array of
 * GbeByHandRemoval. */
bool gbe_store_prune(GbeApp *app, const char *store, gboolean dry_run, GPtrArray **ret_removed,
		     GError **error) GBE_CHECKED;
