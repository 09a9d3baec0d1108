/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps etcd's database small while the device is in use. */
#include "app/upkeep/defrag.h"
#include "app/boot/supervise.h"
#include "app/device/hook.h"

/* Covers the wait until etcd is healthy, the defragmentation, and the wait until etcd is healthy again. */
#define LIMIT_SECONDS 1200

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	return gbe_defrag_run(app);
}

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	int status;

	if (!gbe_hook_parse(&hook, "defrag",
			    "Defragments etcd's database where [defrag] says that it is due.\nEnds "
			    "with 0, also where that has to wait, or with 1 where it failed.",
			    NULL, &argc, &argv, GBE_EXIT_USAGE, &status))
		return status;
	return gbe_supervise_bounded("defrag", hook.root, work, &hook, LIMIT_SECONDS,
				     GBE_EXIT_FAILED);
}
