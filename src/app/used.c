/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A run that has used the data for longer than [restore] trial-limit says so once, while it lasts: a power cut leaves
 * no closing record, and the trial of a system that nobody judges ends all the same.
 */
#include <time.h>

#include "app/state.h"
#include "app/use-cases.h"
#include "app/verdict.h"

#define LOCK_WAIT_MS 10000

/* On the clock that counts suspended time, too: the take-over names its time on that one. */
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

	if (!gbe_verdict_note_tree(app, error) || !gbe_verdict_look(app, booted, &facts, error))
		return false;
	own = gbe_verdict_own(facts, &why);
	if (own == NULL) {
		gbe_note("the use of the data is not recorded: %s", why);
		return true;
	}
	/* A restore in the middle of the run began the time anew: the timer comes again. */
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
