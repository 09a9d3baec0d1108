/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finishes or undoes what an interrupted program began: the open intent, staging trees, the unfinished entries of
 * the store. The caller holds the lock. Idempotent. A leftover that cannot be removed
 * is noted, and stays.
 */
#pragma once

#include "app/backups/data.h"
#include "app/backups/store.h"
#include "core/record/intent.h"

typedef struct {
	bool recovered;	    /* something was finished or undone */
	bool left_alone;    /* an intent of a newer program, with no exchange open */
	bool exchange_open; /* half done and could not be finished: etcd must not start */
	char *what;	    /* for people; NULL */
} GbeRecovery;

void gbe_recovery_clear(GbeRecovery *recovery);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeRecovery, gbe_recovery_clear)

/*
 * The tree that lies at the data directory alone says whether the exchange happened. If it is the intent's new tree,
 * the restore is finished and the intent's take-over is recorded, whichever program began it. If it is the old tree,
 * the restore is undone. If it is another tree, nothing is removed and the waiting tree is kept as adopted data. At a
 * mount point, an exchange that was begun is finished.
 *
 * .staging-<n> is removed without a look into it. .restore-<n> without an intent was never exchanged if the ledger
 * is whole, and is removed; otherwise it is kept as adopted data.
 */
bool gbe_recover(GbeApp *app, GbeData *data, GbeStore *store, GbeRecovery *ret_recovery,
		 GError **error) GBE_CHECKED;
/* The same, on the data and the store of the configuration. @ret_recovery (may be NULL) is to be cleared. */
bool gbe_recover_here(GbeApp *app, GbeRecovery *ret_recovery, GError **error) GBE_CHECKED;
/* Does the rest after the exchange. Gives the displaced tree in @stage_fd its name in the store, or the place that the
 * person wanted. Marks a consumed backup, and records the intent's take-over. After a cut between two of these steps,
 * gbe_recover() does the rest. @flushes (may be NULL) counts the flushes. */
bool gbe_recover_finish(GbeApp *app, GbeStore *store, int stage_fd, const GbeIntent *intent,
			guint *flushes, GError **error) GBE_CHECKED;

/*
 * Restores into a data directory that is a mount point. The directory itself cannot be exchanged, so its entries
 * are: one rename or exchange each, the entry that holds member/ last. Entries that the new tree lacks are moved out
 * before that. After a cut between two entries the directory is mixed until the next holder of the lock runs the
 * list again. A plain etcd directory has one entry next to the nonce and is never mixed.
 */

/* Lists all entries at the top of the new tree except gbe_data_exclude; @last comes last. The intent stores the list
 * ("<inode>:<name>"), so that the exchange can be resumed. An entry is done when the listed inode is not in the staging
 * tree any more. */
bool gbe_entries_plan(int staged_fd, const char *last, char ***ret_entries,
		      GError **error) GBE_CHECKED;
/* Idempotent; syncs both directories at the end. */
bool gbe_entries_exchange(int live_fd, int staged_fd, char *const *entries,
			  GError **error) GBE_CHECKED;
