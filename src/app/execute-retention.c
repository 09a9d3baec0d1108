/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/execute.h"

#include "app/state.h"
#include "core/retention.h"
#include "sys/events.h"

void
gbe_execute_retention(GbeApp *app, GbeObserved *observed)
{
	g_autoptr(GArray) removals = gbe_retention_apply(observed->facts);

	for (guint i = 0; i < removals->len; i++) {
		const GbeRemoval *removal = &g_array_index(removals, GbeRemoval, i);
		GbeEventFields fields = {.action = "delete",
					 .backup = removal->backup->name,
					 .deployment = removal->backup->deployment.id,
					 .reason = removal->reason};
		g_autoptr(GError) error = NULL;

		if (!gbe_store_remove(observed->store, removal->backup->name, app->patience,
				      &error)) {
			gbe_note("retention: %s", error->message);
			continue;
		}
		gbe_event_deleted(&fields);
		gbe_state_note_entry(app, GBE_LEDGER_REMOVED, removal->backup, removal->reason);
	}
}
