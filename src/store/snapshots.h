/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A store of snapshots in the layout of etcd-manager (core/snapshot/name.h, store/core/meta.h), so that snapshots
 * travel between tools. The store is a bucket or a directory, which may be a share or a removable disk. Other programs
 * may also use it. An entry that does not look like a snapshot is shown and never touched, links are not followed, and
 * a missing store is not made. Implemented in snapshots.c, prune.c, age.c.
 */
#pragma once

#include "app/snapshot/snapshot.h"
#include "core/snapshot/name.h"
#include "fs/copy/archive.h"
#include "store/core/meta.h"
#include "store/depot.h"

typedef enum {
	GBE_STORED_COMPLETE,   /* as far as names and the meta file show */
	GBE_STORED_UNFINISHED, /* no meta file: still being written, or interrupted */
	GBE_STORED_UNREADABLE,
	GBE_STORED_FOREIGN, /* not a snapshot of this layout */
	GBE_STORED_WAITING, /* in the queue of this device */
} GbeStoredState;

typedef struct {
	char *name;
	GbeStoredState state;
	char *why;	      /* why it is unreadable; else NULL */
	GbeSnapshotName when; /* of all but foreign ones */
	bool looked;	      /* ->meta to ->hmac are known: gbe_snapshot_store_look() */
	GbeSnapshotMeta meta; /* of a complete one */
	char *meta_sha256;    /* of the file that ->meta was read from */
	char *hmac;	      /* its keyed digest, not checked, or NULL */
	bool encrypted;	      /* by age, according to its name */
	bool begun_here;      /* it has an unfinished file of a kind that only this program
			       * leaves */
	bool holds_something; /* other files than those of a snapshot */
	bool has_meta, has_hmac, has_device, has_data, has_age;
	guint64 size, age_size; /* bytes in the store; ->size in the end of the one that counts */
} GbeStored;

typedef struct {
	GbeDepot *depot;
	GbeApp *app;
	const char *identity; /* the file that decrypts: [store] identity, or another one; NULL */
	const char *
	    device; /* another device, whose signed snapshots are also accepted; GBE_DEVICE_UNKNOWN; or NULL */
	GPtrArray *stored; /* of GbeStored: foreign ones, then the others, the oldest first */
	guint
	    foreign_more; /* foreign ones that are not in ->stored: too many, or their names too long */
} GbeSnapshotStore;

/* Lists the store; what the meta files say is not read yet. @directory NULL: the configured store.
 * GBE_ERROR_USAGE: none is given; _NOT_FOUND: the directory is not there; _REFUSED or _CANNOT_TELL: of a bucket. */
bool gbe_snapshot_store_open(GbeApp *app, const char *directory, GbeSnapshotStore **ret_store,
			     GError **error) GBE_CHECKED;
/* Like gbe_snapshot_store_open(), without listing. */
bool gbe_snapshot_store_find(GbeApp *app, const char *directory, GbeSnapshotStore **ret_store,
			     GError **error) GBE_CHECKED;
void gbe_snapshot_store_free(GbeSnapshotStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeSnapshotStore, gbe_snapshot_store_free)

/* Reads the meta files of all that look complete; a bad one makes it unreadable. An error: the store cannot be asked. */
bool gbe_snapshot_store_look(const GbeSnapshotStore *store, GError **error) GBE_CHECKED;
const char *gbe_stored_state_to_string(GbeStoredState state);
/* With [store] key: the newest snapshot that this device has pushed or proved there; NULL. Newly allocated. */
bool gbe_snapshot_store_known(const GbeSnapshotStore *store, char **ret_name,
			      GError **error) GBE_CHECKED;
/* The newest complete snapshot, looked at; NULL: the store has no complete one. */
bool gbe_snapshot_store_newest(const GbeSnapshotStore *store, const GbeStored **ret_newest,
			       GError **error) GBE_CHECKED;
/* The one of that name, or GBE_SNAPSHOT_LATEST, looked at. GBE_ERROR_NOT_FOUND; _REFUSED: it is foreign or unfinished,
 * or the latest is older than one that is known (app/state/history.h); _VERIFY_FAILED: it is unreadable. */
bool gbe_snapshot_store_pick(const GbeSnapshotStore *store, const char *name,
			     const GbeStored **ret_stored, GError **error) GBE_CHECKED;
/* False: a running push or the sender has its data open. */
bool gbe_stored_is_free(int entry_fd);
/* Removes unfinished entries of this program whose writer is gone; in a bucket, abandoned uploads. */
bool gbe_snapshot_store_sweep(GbeSnapshotStore *store, GError **error) GBE_CHECKED;
/* Unpacks @fd from its present offset; @put may be NULL. *ret_sha256 (may be NULL): of the database, hex.
 * GBE_ERROR_VERIFY_FAILED: the file is truncated or damaged, or the checksum at its end does not match. */
bool gbe_snapshot_unpack(int fd, const char *what, GbeArchivePut put, gpointer data,
			 char **ret_sha256, GError **error) GBE_CHECKED;
/* Unpacks a snapshot in the store, like gbe_snapshot_unpack(). */
bool gbe_snapshot_store_read(const GbeSnapshotStore *store, const GbeStored *stored,
			     GbeArchivePut put, gpointer data, char **ret_sha256,
			     GError **error) GBE_CHECKED;
/* Was the database with this SHA-256 pushed under this name by a holder of one of our keys? True without a
 * configured key. GBE_ERROR_REFUSED: the snapshot has no keyed digest, or another device pushed it; _VERIFY_FAILED: it
 * has a wrong one. */
bool gbe_snapshot_store_prove(GbeApp *app, const GbeSnapshotStore *store, const GbeStored *stored,
			      const char *sha256, GError **error) GBE_CHECKED;

typedef bool (*GbeStoreProgress)(guint64 done, guint64 total,
				 gpointer data); /* as in gbe_snapshot_save() */

/* Retention: [store] hourly and daily, by core/decide/retention.h. Before any removal, one of the
 * remaining snapshots is read to its end: GBE_ERROR_VERIFY_FAILED when none is sound, and nothing is removed.
 * *ret_removed: array of GbeByHandRemoval. A removal takes the steps of a push backwards: 5 back to 3, sync, and
 * the rest is swept. */
bool gbe_store_prune(GbeApp *app, const char *store, bool dry_run, GPtrArray **ret_removed,
		     GError **error) GBE_CHECKED;

/* ---- which device pushed a snapshot ---- */

/* A line of GBE_SNAPSHOT_DEVICE has two words: the name and the digest. */
#define GBE_DEVICE_LENGTH 32
#define GBE_DEVICE_MAX 256
/* Instead of a device's name: accept a snapshot that does not name its device. */
#define GBE_DEVICE_UNKNOWN "unknown"
/* A longer file is not a digest and the end of its line. */
#define GBE_SEAL_MAX 256

/* *ret_id: of this device, newly allocated; NULL without @make if the device has no id yet. The caller of @make holds the
 * lock "store". A power cut leaves the file or none: nothing was signed with a name that is lost. */
bool gbe_device_id(GbeApp *app, bool make, char **ret_id, GError **error) GBE_CHECKED;
/* The content of GBE_SNAPSHOT_DEVICE. @stored: the text of gbe_keyed_stored_text(). Newly allocated. */
char *gbe_device_sign(const GbeKeys *keys, const char *stored, const char *id);

/* ---- encryption ---- */

/* Encryption by age (age-encryption.org): a child process that a stream goes through, in constant memory both ways.
 * Each 64 KiB are authenticated, and a truncated end is detected. CMS, as OpenSSL writes it, is read as a whole
 * before the first byte comes out. The holder of the identity decrypts with the stock tool: `age -d -i FILE`.
 */
/* Compresses @in_fd with gzip (fs/copy/archive.h), encrypts it to the recipients in the file at @recipients, and
 * writes to @out_fd. @watch sees each compressed piece before it is encrypted, and may end it with an error.
 * GBE_ERROR_REFUSED: age is not installed. */
bool gbe_age_encrypt_gzip(GbeApp *app, const char *recipients, int in_fd, const char *what,
			  int out_fd, GbeArchivePut watch, gpointer data,
			  GError **error) GBE_CHECKED;

/* Decrypts @in_fd from its present offset with an identity in the file at @identity; calls @read with a
 * descriptor that delivers the plain bytes; waits for the end. GBE_ERROR_VERIFY_FAILED: the data is not for that
 * identity, is truncated or was changed; then all that @read received is untrustworthy. */
typedef bool (*GbeAgeRead)(int fd, gpointer data, GError **error);
bool gbe_age_decrypt(GbeApp *app, const char *identity, int in_fd, const char *what,
		     GbeAgeRead read, gpointer data, GError **error) GBE_CHECKED;
