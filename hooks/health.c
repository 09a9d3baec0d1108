/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* greenboot's required check. Ends with 1 for what an OS rollback could mend, else with 0. */
#include "app/health-gate.h"
#include "app/hook.h"
#include "app/supervise.h"
#include "app/use-cases.h"

#include <stdio.h>

/* Until the worker knows its deadline and says so. */
#define LIMIT_SECONDS 60
#define ASK_LIMIT_SECONDS 20

static GbeHook hook;
static int ask_seconds;

static int
check(GbeApp *app, gpointer data)
{
	gbe_hook_apply(&hook, app);
	return gbe_health_run(app);
}

static int
ask(GbeApp *app, gpointer data)
{
	g_autofree char *answer = NULL;

	gbe_hook_apply(&hook, app);
	answer = gbe_health_ask(app, (guint)MAX(ask_seconds, 1));
	return fputs(answer, stdout) == EOF || fflush(stdout) == EOF ? 1 : 0;
}

int
main(int argc, char **argv)
{
	GOptionEntry more[] = {{"ask", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_INT, &ask_seconds,
				"Only ask etcd, for green", "SECONDS"},
			       {NULL}};
	int status;

	if (gbe_hook_parse(&hook, "health",
			   "Waits until etcd is healthy, as greenboot's required check.\nEnds with "
			   "1 for what an OS rollback could mend, else with 0.",
			   more, &argc, &argv, 1, &status)) {
		/* A check that cannot be made is no reason for a rollback. */
		if (ask_seconds > 0)
			status = gbe_supervise_bounded("health", hook.root, ask, NULL,
						       ASK_LIMIT_SECONDS, 1);
		else
			status = gbe_supervise_bounded("health", hook.root, check, NULL,
						       LIMIT_SECONDS, 0);
	}
	gbe_hook_clear(&hook);
	return status;
}
