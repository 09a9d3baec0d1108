/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that greenboot judged this run green. */
#include "app/boot/boot.h"
#include "app/boot/supervise.h"
#include "app/device/hook.h"

/* Beyond the wait for the lock (judge.c). */
#define LIMIT_SECONDS 150

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
			    NULL, &argc, &argv, GBE_EXIT_FAILED, &status))
		return status;
	return gbe_supervise_bounded("green", hook.root, work, &hook, LIMIT_SECONDS,
				     GBE_EXIT_FAILED);
}
