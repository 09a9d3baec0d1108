/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* greenboot judged this run green. */
#include "app/hook.h"
#include "app/supervise.h"
#include "app/use-cases.h"

#define LIMIT_SECONDS 60

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	return gbe_green_run(app);
}

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	int status;

	if (!gbe_hook_parse(&hook, "green",
			    "Records that greenboot judged this run green.\nEnds with 0, or with "
			    "1 when that failed.",
			    NULL, &argc, &argv, 1, &status))
		return status;
	return gbe_supervise_bounded("green", hook.root, work, &hook, LIMIT_SECONDS, 1);
}
