/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows etcd's health while the device is in use. Changes no verdict. */
#include "app/monitor/monitor.h"
#include "app/boot/supervise.h"

#include <stdio.h>

static int
show_health(GbeApp *app)
{
	g_autoptr(GError) error = NULL;

	if (gbe_monitor_run(app, &error))
		return 0;
	(void)fprintf(stderr, "greenboot-etcd-monitor: %s\n", error->message);
	return GBE_EXIT_FAILED;
}

GBE_HOOK(.program = "monitor",
	 .summary = "Looks at etcd's health and shows it in status.json, the MOTD and the "
		    "metrics.\nChanges no verdict. Ends with 0, or with 1 where it could not "
		    "be shown.",
	 .on_usage = GBE_EXIT_FAILED, .work = show_health, .seconds = 120,
	 .on_failure = GBE_EXIT_FAILED)
