/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records once, during a run, that the run has used the data for longer than [restore] trial-limit. After a power
 * cut there is no closing record, but this record still ends the trial of a system that nobody judges.
 */
#include <time.h>

#include "app/boot/used.h"
#include "app/health/verdict.h"
#include "app/state/state.h"
#include "core/decide/situation.h"

#define LOCK_WAIT_MS 10000

/* Uses the clock that counts suspended time, as the take-over does. */
static bool
is_beyond_limit(const GbeApp *app, const GbeTakeOver *own)
{
	struct timespec uptime;

	return own->uptime >= 0 && clock_gettime(CLOCK_BOOTTIME, &uptime) == 0 &&
	       uptime.tv_sec - own->uptime >= (gint64)app->config->restore.trial_limit;
}

static bool
note_used(GbeApp *app, const GbeDeployment *booted, GError **error)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autofree char *why = NULL;
	const GbeTakeOver *own;

	gbe_verdict_finish_restore(app);
	if (!gbe_verdict_note_use(app, error) || !gbe_verdict_look(app, booted, &facts, error))
		return false;
	own = gbe_situation_own(facts, &why);
	if (own == NULL) {
		gbe_note("the use of the data is not recorded: %s", why);
		return true;
	}
	/* A restore during the run restarts the time: the timer comes again. */
	return own->used_beyond || !is_beyond_limit(app, own) ||
	       gbe_state_note_used(app, own->sequence, error);
}

int
gbe_used_run(GbeApp *app)
{
	GbeDeployment booted = {0};
	g_autoptr(GError) error = NULL;
	bool ok = true;

	if (gbe_verdict_configure(app, &booted)) {
		ok = gbe_app_lock(app, "used", LOCK_WAIT_MS, &error) &&
		     note_used(app, &booted, &error);
		gbe_app_unlock(app);
	}
	if (!ok)
		gbe_complain("the use of the data is not recorded: %s", error->message);
	gbe_deployment_clear(&booted);
	return ok ? 0 : 1;
}
