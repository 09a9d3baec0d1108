/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Putting a backup in the data's place (decisions.md, "How a restore is done").
 *
 *   1  <parent>/.restore-<sequence>     a clone of the backup with its final stamp
 *   2  store/.pending-<displaced>/manifest.json
 *   3  state: intent (STAGED)
 *   4  syncfs, unless the order is kept a cut before: the old tree; the staging tree is removed
 *   5  renameat2(EXCHANGE)
 *   6  sync of the parent               a cut before: the old or the new tree, whole
 *   7  .restore-<sequence> -> store/.pending-<displaced>/data, -> store/<displaced>
 *   8  sync of the store                a cut before: recover.h names the displaced tree
 *   9  state: last operation, intent removed
 *
 * Where data, store and state are on one btrfs or XFS and nothing was copied, changes come to the disk in the
 * order in which they were made (fs/sync.h): the flush of 9 is the only one, and a cut before leaves what a cut
 * after any of the others does.
 *
 * With ->keep_existing there is no 2, and 7 and 8 are one rename to that path, and a sync of its parent; until
 * then a cut leaves what it leaves without, and the next one under the lock does the rename, or, where that
 * path cannot be had any more, makes the displaced tree a backup.
 *
 * Where the data directory is itself a mount point, 5 is one rename or exchange for each entry, `member`
 * last, covered by the intent (ENTRIES), and the staging tree lies in its .greenboot-etcd/.
 */
#pragma once

#include "app/observe.h"
#include "app/timing.h"
#include "core/intent.h"

typedef struct {
	const char *rule;     /* for the intent and the records */
	gboolean keep_source; /* the backup itself must stay, also where that means no restore */
	gboolean force;	      /* a backup that does not validate is restored all the same */
	const char *keep_existing; /* where the displaced tree goes in place of the store; NULL */
} GbeRestoreOptions;

/* @stamp: what the new tree carries; its sequence names the staging tree. @displaced: the manifest that
 * the present data gets, NULL where there is none. GBE_ERROR_VERIFY_FAILED: @name does not validate and
 * nothing was changed; _CANNOT_TELL: nobody could look, and nothing was. */
bool gbe_restore_run(GbeApp *app, GbeObserved *observed, const char *name, const GbeStamp *stamp,
		     GbeManifest *displaced, const GbeRestoreOptions *options,
		     GbeTiming *ret_timing, GError **error) GBE_CHECKED;
/* Is the backup what its manifest says (names, types, sizes; digests where they are recorded and bytes
 * were copied), and are etcd's files in it sound? GBE_ERROR_VERIFY_FAILED: they are not, it is gone, or the
 * disk does not give it; _CANNOT_TELL: this process could not look. @ret_look_usec as of gbe_inside_backup(). */
bool gbe_restore_validate(GbeApp *app, GbeStore *store, const GbeManifest *manifest,
			  gint64 *ret_look_usec, GError **error) GBE_CHECKED;
