/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* At an orderly shutdown, once nobody has the data open: what the next start will want to know. */
#include "app/hook.h"
#include "app/supervise.h"
#include "app/use-cases.h"

#define IDLE_SECONDS 60
/* systemd reboots by force after 30 minutes, and ostree has to come after this. */
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
			    NULL, &argc, &argv, 1, &status))
		return status;
	return gbe_supervise_finalize(hook.root, work, &hook, IDLE_SECONDS, TOTAL_SECONDS);
}
