/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* greenboot's required check. Ends with 1 for what an OS rollback could mend, else with 0. */
#include "app/boot/boot.h"
#include "app/boot/supervise.h"
#include "app/device/hook.h"

/* Until the worker knows its deadline and sets it. */
#define LIMIT_SECONDS 60

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	return gbe_health_run(app);
}

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	int status;

	if (!gbe_hook_parse(
		&hook, "health",
		"Waits until etcd is healthy, as greenboot's required check.\nEnds with "
		"1 for what an OS rollback could mend, else with 0.",
		NULL, &argc, &argv, GBE_EXIT_FAILED, &status))
		return status;
	/* A check that cannot be made is no reason for a rollback. */
	return gbe_supervise_bounded("health", hook.root, work, &hook, LIMIT_SECONDS, 0);
}
