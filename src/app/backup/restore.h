/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Puts a backup, or nothing, in the place of the data (decisions.md, "How a restore is done"). */
#pragma once

#include "app/backup/observe.h"
#include "core/record/intent.h"

typedef struct {
	const char *rule;	   /* for the intent and the records */
	bool validated;		   /* gbe_restore_validate() passed under the same lock */
	bool force;		   /* restore the backup even if it does not validate */
	const char *keep_existing; /* path for the displaced tree, instead of the store; NULL */
	bool *ret_half; /* set where the exchange is half done, and etcd must not start; NULL */
} GbeRestoreOptions;

/* @name: the backup; NULL: an empty directory. @take_over: recorded when the restore is done; NULL: the data is handed
 * back. @sequence names the staging tree. @displaced: the manifest for the present data; NULL: no data is there.
 * GBE_ERROR_VERIFY_FAILED: @name does not validate, and nothing was changed. _CANNOT_TELL: validation could not look,
 * and nothing was changed. _PARTIAL: the exchange is done, and the next start does the rest. A power cut leaves:
 *
 *   1  <parent>/.staging-<n>      a clone of the backup, with the nonce of its take-over
 *   2  store/.pending-<displaced>/manifest.json
 *   3  .staging-<n> -> .restore-<n>  a cut until here: removed again
 *   4  ledger: intent, durable       a cut: the old tree, the staging tree is removed
 *   5  renameat2(EXCHANGE)
 *   6  sync of the parent            a cut before: the old or the new tree, whole
 *   7  .restore-<n> -> store/.pending-<displaced>/data, -> store/<displaced>
 *   8  ledger: take-over, durable    a cut before: recover.h does the rest
 *
 * The displaced tree is not read before 7: its owner may have left anything in it.
 *
 * If data, store and state are on one btrfs or XFS and nothing was copied, only 4 and 8 flush. Changes then reach the
 * disk in the order in which they were made (fs/sync.h).
 *
 * With ->keep_existing, 2 is left out and 7 is one rename to that path. If the path is no longer available, the
 * displaced tree becomes a backup.
 *
 * A full disk ends no restore as long as room can be made from the reserves, backups that retention removes anyway, and
 * bad backups. Then the backup's own tree is exchanged in, unless it is a base of the take-over. 4 comes first, and a
 * cut puts the tree back. At last a displaced tree that would be a bad backup is removed instead of 7.
 *
 * When the data directory is itself a mount point, 5 is one rename or exchange for each entry, `member` last, covered
 * by the intent. The staging tree then lies in the data directory's .greenboot-etcd/. */
bool gbe_restore_run(GbeApp *app, GbeObserved *observed, const char *name,
		     const GbeTakeOver *take_over, guint64 sequence, GbeManifest *displaced,
		     const GbeRestoreOptions *options, GbeTiming *ret_timing,
		     GError **error) GBE_CHECKED;
/* Does the backup match its manifest, and are etcd's files in it sound? Checks every row, each digest and the recorded
 * HashKV, as far as [restore] verify-budget= allows; after that, what a starting etcd reads first.
 * GBE_ERROR_VERIFY_FAILED: no, or the backup is gone; _CANNOT_TELL: the disk cannot deliver it now, or this
 * process could not look. @ret_look_usec: how long the look into etcd's files took; may be NULL. */
bool gbe_restore_validate(GbeApp *app, GbeStore *store, const GbeManifest *manifest,
			  gint64 *ret_look_usec, GError **error) GBE_CHECKED;
