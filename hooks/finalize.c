/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs at an orderly shutdown, once the data is closed: records what the next start needs to know. */
#include "app/boot/boot.h"
#include "app/boot/supervise.h"
#include "app/device/hook.h"

#define IDLE_SECONDS 60
/* systemd reboots by force after 30 minutes, and ostree must run after this program. */
#define TOTAL_SECONDS (15 * 60)

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	return gbe_finalize_run(app);
}

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	int status;

	if (!gbe_hook_parse(&hook, "finalize",
			    "Closes etcd's data at the end of a run: closing record and "
			    "backup.\nEnds with 0, or with 1 when something failed.",
			    NULL, &argc, &argv, GBE_EXIT_FAILED, &status))
		return status;
	return gbe_supervise_finalize(hook.root, work, &hook, IDLE_SECONDS, TOTAL_SECONDS);
}
