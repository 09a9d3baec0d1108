/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A backup from its first byte to its last: taken or made otherwise, removed by retention, graded bad.
 *
 * A backup is a copy of the data as it is. The caller holds this program's lock and, except for a live backup, etcd's
 * lock.
 */
#pragma once

#include "app/backup/observe.h"
#include "core/decide/retention.h"
#include "core/space.h"
#include "etcd/directory/directory.h"

typedef struct {
	bool cow_only; /* GBE_ERROR_UNSUPPORTED rather than copy bytes */
	bool live;     /* etcd is running: snapshot, or clones in the order .snap, db, WAL */
	bool digests;  /* record the digest of each file in the manifest: reads all data */
} GbeBackupOptions;

/* @manifest comes from gbe_decide_manifest(); this fills in method, files, size and left_out. Short of space, the
 * backups that retention would drop anyway are removed first; then GBE_ERROR_NO_SPACE says how much is missing.
 * A power cut leaves:
 *
 *   1  store/.partial-<name>/data   cloned or copied        a cut here: swept
 *   2  store/.partial-<name>/manifest.json                  swept
 *   3  syncfs, unless the order is kept                     swept
 *   4  compared with the source (manifest->verified)        swept
 *   5  rename .partial-<name> -> <name>                     swept, or the backup
 *   6  sync of the store's directory                        the backup
 *
 * On btrfs and XFS, when nothing was copied, changes reach the disk in the order in which they were made (fs/sync.h).
 * If the name of 5 is on the disk, so are 1 and 2. */
bool gbe_backup_take(GbeApp *app, GbeObserved *observed, GbeManifest *manifest,
		     const GbeBackupOptions *options, GbeTiming *ret_timing,
		     GError **error) GBE_CHECKED;

/* Measures the room for it: needed, free, and what retention would free first. */
bool gbe_backup_measure(const GbeObserved *observed, GbeSpace *ret_space,
			GError **error) GBE_CHECKED;
/* Would gbe_backup_take() come to the copy? False: @error is its error, as far as names, types, places and sizes tell now.
 * Changes nothing. An unknown fact is no error. */
bool gbe_backup_foresee(GbeObserved *observed, GError **error) GBE_CHECKED;

/*
 * Makes a backup whose data is not a copy of the present data: it was imported, or written again from another backup.
 * The data is made in the entry and proved there; then the entry gets a manifest and its final name.
 */

typedef struct {
	const GbeStore *store; /* borrowed */
	char *name;	       /* the final name */
	char *partial;	       /* the present name */
	int fd;		       /* the entry, empty at first */
} GbePartial;

/* Removes an entry that is not a backup yet. */
void gbe_partial_clear(GbePartial *partial);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbePartial, gbe_partial_clear)

/* Makes the entry. The caller holds this program's lock. GBE_ERROR_REFUSED: there is no store; _FAILED: the store
 * has a backup of this name.
 *
 * A power cut leaves:
 *
 *   1  store/.partial-<name>/...                     a cut up to 4: swept
 *   2  store/.partial-<name>/manifest.json
 *   3  syncfs
 *   4  rename .partial-<name> -> <name>
 *   5  sync of the store's directory                 the backup */
bool gbe_partial_make(const GbeObserved *observed, const char *name, GbePartial *ret_partial,
		      GError **error) GBE_CHECKED;
/* A manifest for data that no deployment owns, so no rollback takes it automatically. The backup counts as made by hand,
 * and is unproven. The manifest has the findings of a reading of every row. */
GbeManifest *gbe_partial_manifest(const GbePartial *partial, const GbeObserved *observed,
				  const GbeDirectory *directory, const char *description);
/* Records the files in @data_fd, in which member/ lies at @member_path, and writes the manifest, not durable. */
bool gbe_partial_describe(const GbeApp *app, const GbePartial *partial, int data_fd,
			  const char *member_path, GbeManifest *manifest,
			  GError **error) GBE_CHECKED;
/* Makes the entry durable and gives it its final name. */
bool gbe_partial_publish(GbePartial *partial, GError **error) GBE_CHECKED;

/*
 * Carries out what core/decide/retention.h names: each backup leaves the store, the facts, and is named in the
 * journal and the ledger. After a power cut a backup is whole, or swept by the next program that has the lock.
 */

typedef enum {
	GBE_RETENTION_REMOVE,
	GBE_RETENTION_LEAVE, /* not this one */
	GBE_RETENTION_END,   /* no more */
} GbeRetentionAnswer;

/* Asked before each removal. False with @error ends the run. */
typedef bool (*GbeRetentionAsk)(gpointer data, const GbeRemoval *next,
				GbeRetentionAnswer *ret_answer, GError **error);

/* Runs retention now. @ask NULL: each. @error NULL: a backup that cannot be removed is noted, and the others go. */
bool gbe_retention_run(GbeApp *app, GbeObserved *observed, GbeRetentionAsk ask, gpointer data,
		       GError **error);
/* Removes one backup, whatever retention says. @backup is freed where it is removed. @patience as in fs/tree.h. */
bool gbe_retention_remove(GbeApp *app, GbeObserved *observed, const GbeManifest *backup,
			  const char *reason, gint64 *patience, GError **error) GBE_CHECKED;

/*
 * A backup that was found damaged is graded bad at once, in its manifest and in the ledger, with the finding as the
 * reason. The manifest is read again first, so that a pin or a description that was added meanwhile stays. A backup
 * that cannot be read now (EIO, no descriptors, no memory) is not damaged. A power cut leaves the old manifest or
 * the new one.
 */

/* Reads the manifest of a backup again, under the lock. *ret_now NULL: the backup is gone, another backup has its
 * name, or it has no data. GBE_ERROR_BUSY: an interrupted operation must be finished first; a tree that this
 * operation moved is not damaged. */
bool gbe_damage_read_again(GbeApp *app, GbeObserved *observed, const GbeManifest *was,
			   GbeManifest **ret_now, GError **error) GBE_CHECKED;
/* Grades the backup bad, in @observed first: that grade stays even if the manifest cannot be written. Without the
 * lock (a dry run) only @observed changes. */
bool gbe_damage_grade(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		      GError **error) GBE_CHECKED;
/* Like gbe_damage_grade(), for a caller without the lock: takes the lock meanwhile. Writes to the journal, and to
 * the MOTD when the backup is the last good one. @operation: "verify", "scrub". */
bool gbe_damage_record(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		       const char *operation, GError **error) GBE_CHECKED;
/* For a backup that the disk cannot deliver now: no grade changes. The MOTD says so when the backup is the last
 * good one. */
bool gbe_damage_unreadable(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
			   const char *operation, GError **error) GBE_CHECKED;
