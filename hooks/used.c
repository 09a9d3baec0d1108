/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* This run has used etcd's data for longer than a trial lasts. */
#include "app/hook.h"
#include "app/supervise.h"
#include "app/use-cases.h"

#define LIMIT_SECONDS 60
#define EXIT_USAGE 2
#define EXIT_FAILED 1

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	return gbe_used_run(app);
}

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	int status;

	if (!gbe_hook_parse(&hook, "used",
			    "Records once that this run has used etcd's data for longer than "
			    "[restore] trial-limit.\nEnds with 0, or with 1 when that failed.",
			    NULL, &argc, &argv, EXIT_USAGE, &status))
		return status;
	return gbe_supervise_bounded("used", hook.root, work, &hook, LIMIT_SECONDS, EXIT_FAILED);
}
