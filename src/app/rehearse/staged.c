/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/rehearse/rehearse.h"

#include "app/backup/observe.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "sys/systemd/events.h"

#define WAIT_USEC (5 * G_USEC_PER_SEC)

/* Is the staged deployment one that has no answer yet? Also unlocks: ostree keeps the lock of an earlier one. */
static gboolean
is_due(GbeApp *app, const GbeFacts *facts)
{
	g_autoptr(JsonObject) object = NULL;
	g_auto(GbeRehearsal) last = {{0}};
	g_autofree char *today = gbe_rehearse_today(facts);

	if (!gbe_state_read(app, GBE_STATE_REHEARSAL, FALSE, &object, NULL))
		return TRUE;
	gbe_rehearsal_read(object, &last);
	for (guint i = 0; facts->listed != NULL && i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (listed->staged)
			return !gbe_rehearsal_answers(&last, &listed->ref, today);
	}
	return FALSE;
}

void
gbe_rehearse_staged(GbeApp *app, guint patience)
{
	const GbeObserveOptions look = {.tolerant = TRUE};
	const GbeRehearse options = {.timeout = GBE_REHEARSE_SECONDS};
	gint64 until = g_get_monotonic_time() + (gint64)patience * G_USEC_PER_SEC;
	g_autoptr(GbeObserved) observed = NULL;
	g_autofree char *complaint = NULL;
	g_autoptr(GError) error = NULL;

	gbe_configuration_choose(app, NULL, &complaint);
	if (app->config->preflight.rehearse == GBE_REHEARSE_NO || gbe_config_is_off(app->config) ||
	    !gbe_observe(app, &look, &observed, &error) || !is_due(app, observed->facts)) {
		if (error != NULL)
			gbe_note("%s", error->message);
		return;
	}
	g_clear_pointer(&observed, gbe_observed_free);
	for (;;) {
		g_auto(GbeRehearsal) rehearsal = {{0}};

		g_clear_error(&error);
		if (gbe_rehearse(app, &options, &rehearsal, &error))
			return;
		if (!g_error_matches(error, GBE_ERROR, GBE_ERROR_BUSY) ||
		    g_get_monotonic_time() + WAIT_USEC > until)
			break;
		gbe_note("the rehearsal waits: %s", error->message);
		g_usleep(WAIT_USEC);
	}
	gbe_complain("the update is not rehearsed: %s", error->message);
}
