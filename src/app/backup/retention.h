/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Carries out what core/decide/retention.h names: each backup leaves the store, the facts, and is named in the
 * journal and the ledger. After a power cut a backup is whole, or swept by the next program that has the lock.
 */
#pragma once

#include "app/backup/observe.h"
#include "core/decide/retention.h"

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
