/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows etcd's health while the device is in use. Changes no verdict. */
#include "app/monitor/monitor.h"
#include "app/boot/supervise.h"
#include "app/device/hook.h"

#include <stdio.h>

#define LIMIT_SECONDS 120

static int
work(GbeApp *app, gpointer data)
{
	g_autoptr(GError) error = NULL;

	gbe_hook_apply(data, app);
	if (gbe_monitor_run(app, &error))
		return 0;
	(void)fprintf(stderr, "greenboot-etcd-monitor: %s\n", error->message);
	return GBE_EXIT_FAILED;
}

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	int status;

	if (!gbe_hook_parse(
		&hook, "monitor",
		"Looks at etcd's health and shows it in status.json, the MOTD and the "
		"metrics.\nChanges no verdict. Ends with 0, or with 1 where it could not "
		"be shown.",
		NULL, &argc, &argv, GBE_EXIT_FAILED, &status))
		return status;
	return gbe_supervise_bounded("monitor", hook.root, work, &hook, LIMIT_SECONDS,
				     GBE_EXIT_FAILED);
}
