/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Takes a backup of the data as it is. The caller holds this program's lock and, except for a live backup, etcd's
 * lock.
 */
#pragma once

#include "app/backup/observe.h"

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
 * On btrfs and XFS, when nothing was copied, changes reach the disk in the order in which they were made
 * (fs/sync.h): if the name of 5 is on the disk, 1 and 2 are too. */
bool gbe_backup_take(GbeApp *app, GbeObserved *observed, GbeManifest *manifest,
		     const GbeBackupOptions *options, GbeTiming *ret_timing,
		     GError **error) GBE_CHECKED;
