/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finishing or undoing what somebody else began: the open intent, staging trees, the ladder of the store.
 * The caller holds the lock. Idempotent; after it nothing is left over.
 *
 * Which tree lies at the data directory says whether the exchange was, and nothing else is asked: the new one
 * of the intent: the restore is finished, and the intent's take-over recorded, whoever began it; the old one:
 * it is undone; neither: nothing is removed, what waits is kept as adopted data. Where the data directory
 * is a mount point, an exchange that was begun is finished.
 *
 * .staging-<n> is removed without a look into it. .restore-<n> without an intent was never exchanged, where
 * the ledger is whole; else it is kept as adopted data.
 */
#pragma once

#include "app/data.h"
#include "app/store.h"
#include "core/intent.h"

typedef struct {
	gboolean recovered;	/* something was finished or undone */
	gboolean left_alone;	/* an intent of a newer program, with no exchange open */
	gboolean exchange_open; /* half done and could not be finished: etcd must not start */
	char *what;		/* for people; NULL */
} GbeRecovery;

void gbe_recovery_clear(GbeRecovery *recovery);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeRecovery, gbe_recovery_clear)

bool gbe_recover(GbeApp *app, GbeData *data, GbeStore *store, GbeRecovery *ret_recovery,
		 GError **error) GBE_CHECKED;
/* After the exchange: the displaced tree in @stage_fd gets its name in the store (or the place that the person
 * wanted), a consumed backup is marked as one, and the intent's take-over is recorded. A cut between two
 * of them: gbe_recover() does the rest. Flushes are counted in @flushes (may be NULL). */
bool gbe_recover_finish(GbeApp *app, GbeStore *store, int stage_fd, const GbeIntent *intent,
			guint *flushes, GError **error) GBE_CHECKED;
