/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps etcd's database small while the device is in use. */
#include "app/hook.h"
#include "app/supervise.h"
#include "app/use-cases.h"

/* Until etcd is healthy, its work, and until it is healthy again. */
#define LIMIT_SECONDS 1200
#define EXIT_USAGE 2
#define EXIT_FAILED 1

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
			    NULL, &argc, &argv, EXIT_USAGE, &status))
		return status;
	return gbe_supervise_bounded("defrag", hook.root, work, &hook, LIMIT_SECONDS, EXIT_FAILED);
}
