/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Taking a backup of the data as it is. The caller holds our lock and, but for a live one, etcd's.
 *
 *   1  store/.partial-<name>/data   cloned or copied        a cut here: swept
 *   2  store/.partial-<name>/manifest.json                  swept
 *   3  syncfs, unless the order is kept                     swept
 *   4  compared with the source (manifest->verified)        swept
 *   5  rename .partial-<name> -> <name>                     swept, or the backup
 *   6  sync of the store's directory                        the backup
 *
 * On btrfs and XFS, where nothing was copied, changes come to the disk in the order in which they were made
 * (fs/sync.h): whoever finds the name of 5 finds 1 and 2.
 */
#pragma once

#include "app/observe.h"
#include "app/timing.h"

typedef struct {
	gboolean cow_only; /* GBE_ERROR_UNSUPPORTED rather than copy bytes */
	gboolean live;	   /* etcd is running: snapshot, or clones in the order .snap, db, WAL */
	gboolean digests;  /* of each file into the manifest: reads all of it */
} GbeBackupOptions;

/* @manifest: as gbe_decide_manifest() made it; method, files, size and left_out are filled in. Short of
 * space, what retention would drop anyway goes first; then GBE_ERROR_NO_SPACE says how much is missing. */
bool gbe_backup_take(GbeApp *app, GbeObserved *observed, GbeManifest *manifest,
		     const GbeBackupOptions *options, GbeTiming *ret_timing,
		     GError **error) GBE_CHECKED;
