/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that greenboot judged this run red. */
#include "app/boot/boot.h"
#include "app/boot/supervise.h"
#include "app/device/hook.h"

#define LIMIT_SECONDS 30

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	return gbe_red_run(app);
}

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	int status;

	if (!gbe_hook_parse(&hook, "red",
			    "Records that greenboot judged this run red.\nEnds with 0, or with 1 "
			    "when that failed.",
			    NULL, &argc, &argv, GBE_EXIT_FAILED, &status))
		return status;
	return gbe_supervise_bounded("red", hook.root, work, &hook, LIMIT_SECONDS, GBE_EXIT_FAILED);
}
