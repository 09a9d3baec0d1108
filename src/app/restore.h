/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Putting a backup in the data's place (decisions.md, "How a restore is done").
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
 * Nothing of what is displaced is read before 7: its owner may have left anything in there.
 *
 * Where data, store and state are on one btrfs or XFS and nothing was copied, changes come to the disk in the
 * order in which they were made (fs/sync.h): the flushes of 4 and 8 are the only ones.
 *
 * With ->keep_existing there is no 2, and 7 is one rename to that path; where that path cannot be had any
 * more, the displaced tree becomes a backup.
 *
 * Without room for a clone, and with ->keep_source unset, the backup's own tree is exchanged in: then 4 comes
 * first, and a cut puts the tree back.
 *
 * Where the data directory is itself a mount point, 5 is one rename or exchange for each entry, `member`
 * last, covered by the intent, and the staging tree lies in its .greenboot-etcd/.
 */
#pragma once

#include "app/observe.h"
#include "app/timing.h"
#include "core/intent.h"

typedef struct {
	const char *rule;     /* for the intent and the records */
	gboolean keep_source; /* the backup itself must stay, also where that means no restore */
	gboolean validated;   /* by gbe_restore_validate(), under the same lock */
	gboolean force;	      /* a backup is restored as it is, whether it validates or not */
	const char *keep_existing; /* where the displaced tree goes in place of the store; NULL */
} GbeRestoreOptions;

/* @take_over: what is recorded when it is done; NULL: the data is handed back. @sequence names the staging
 * tree. @displaced: the manifest that the present data gets, NULL where there is none. GBE_ERROR_VERIFY_FAILED:
 * @name does not validate and nothing was changed; _CANNOT_TELL: nobody could look, and nothing was; _PARTIAL: the
 * exchange was, the rest is the next start's. */
bool gbe_restore_run(GbeApp *app, GbeObserved *observed, const char *name,
		     const GbeTakeOver *take_over, guint64 sequence, GbeManifest *displaced,
		     const GbeRestoreOptions *options, GbeTiming *ret_timing,
		     GError **error) GBE_CHECKED;
/* Is the backup what its manifest says, and are etcd's files in it sound, as gbe_inside_backup() looks?
 * GBE_ERROR_VERIFY_FAILED: they are not, or it is gone; _CANNOT_TELL: the disk does not give it now, or this process
 * could not look. @ret_look_usec as of gbe_inside_backup(). */
bool gbe_restore_validate(GbeApp *app, GbeStore *store, const GbeManifest *manifest,
			  gint64 *ret_look_usec, GError **error) GBE_CHECKED;
