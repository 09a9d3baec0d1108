/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/retention.h"

#include "app/state/state.h"
#include "fs/probe.h"
#include "sys/systemd/events.h"

bool
gbe_retention_remove(GbeApp *app, GbeObserved *observed, const GbeManifest *backup,
		     const char *reason, gint64 *patience, GError **error)
{
	GbeEventFields fields = {.action = "delete",
				 .backup = backup->name,
				 .deployment = backup->deployment.id,
				 .reason = reason};
	g_autoptr(GError) local = NULL;
	bool ok = gbe_store_remove(observed->store, backup->name, patience, &local);

	/* Partly removed, it is no backup any more. */
	if (!ok && !g_error_matches(local, GBE_ERROR, GBE_ERROR_PARTIAL))
		return gbe_pass(error, &local);
	gbe_event_deleted(&fields);
	gbe_state_note_entry(app, GBE_LEDGER_REMOVED, backup, reason);
	g_ptr_array_remove(observed->facts->backups, (gpointer)backup);
	return ok || gbe_pass(error, &local);
}

bool
gbe_retention_run(GbeApp *app, GbeObserved *observed, GbeRetentionAsk ask, gpointer data,
		  GError **error)
{
	g_autoptr(GArray) removals = gbe_retention_apply(observed->facts);
	int data_fd = observed->data->fd >= 0 ? observed->data->fd : observed->data->parent_fd;
	/* The caller needs the space now. */
	gint64 *patience = ask != NULL ? NULL : app->patience;

	for (guint i = 0; i < removals->len; i++) {
		const GbeRemoval *removal = &g_array_index(removals, GbeRemoval, i);
		GbeRetentionAnswer answer = GBE_RETENTION_REMOVE;
		g_autoptr(GError) failure = NULL;

		/* A backup that etcd's room depends on goes only if that makes room: it lies with the data, and etcd
		 * still lacks room. */
		if (removal->for_room &&
		    (!gbe_same_filesystem(gbe_store_at(observed->store, removal->backup->name)->fd,
					  data_fd) ||
		     (ask == NULL && gbe_observe_cramped(observed) != GBE_YES)))
			continue;
		if (ask != NULL && !ask(data, removal, &answer, error))
			return false;
		if (answer == GBE_RETENTION_END)
			return true;
		if (answer == GBE_RETENTION_LEAVE ||
		    gbe_retention_remove(app, observed, removal->backup, removal->reason, patience,
					 &failure))
			continue;
		if (error != NULL)
			return gbe_pass(error, &failure);
		gbe_note("retention: %s", failure->message);
	}
	return true;
}
