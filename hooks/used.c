/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that this run has used etcd's data for longer than a trial lasts. */
#include "app/boot/boot.h"
#include "app/boot/supervise.h"
#include "app/device/hook.h"

#define LIMIT_SECONDS 60

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
			    NULL, &argc, &argv, GBE_EXIT_USAGE, &status))
		return status;
	return gbe_supervise_bounded("used", hook.root, work, &hook, LIMIT_SECONDS,
				     GBE_EXIT_FAILED);
}
