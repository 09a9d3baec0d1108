/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Once the run is green, and now and then: have the backups rotted? */
#include "app/hook.h"
#include "app/supervise.h"
#include "app/use-cases.h"

/* Of large backups on slow disks, beside what is more important. */
#define LIMIT_SECONDS (6U * 3600U)
#define EXIT_USAGE 2
#define EXIT_FAILED 1

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	return gbe_scrub_run(app);
}

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	int status;

	if (!gbe_hook_parse(
		&hook, "scrub",
		"Reads the backups again, records digests of new ones, and grades bad "
		"what has rotted.\nDoes nothing before the run is green. Ends with 0, or "
		"with 1 where one could not be read.",
		NULL, &argc, &argv, EXIT_USAGE, &status))
		return status;
	return gbe_supervise_bounded("scrub", hook.root, work, &hook, LIMIT_SECONDS, EXIT_FAILED);
}
