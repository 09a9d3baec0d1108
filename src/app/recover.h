/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finishing or undoing what somebody else began: the intent, staging trees, the ladder of the store. The
 * caller holds the lock. Idempotent; after it nothing is left over.
 *
 * A staging tree .restore-<N> whose stamp has sequence N was never exchanged and is removed; any other
 * *is* the displaced tree and gets its name. So even a lost intent loses nothing.
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
/* The staging tree becomes the backup that @manifest describes, no earlier on disk than the exchange that
 * put it there, and no later than what is changed in the state next: that flush makes it durable. Flushes of
 * its own are counted in @flushes (may be NULL). */
bool gbe_recover_name_displaced(GbeApp *app, GbeStore *store, int staging_parent,
				const char *staging, const GbeManifest *manifest, guint *flushes,
				GError **error) GBE_CHECKED;
/* The same, and it becomes @path (absolute without --root), which must not be there. Says nothing in the store. */
bool gbe_recover_keep_existing(GbeApp *app, const char *path, int staging_parent,
			       const char *staging, guint *flushes, GError **error) GBE_CHECKED;
