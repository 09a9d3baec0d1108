/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs once the run is green, and from time to time: has a backup rotted on the disk? */
#include "app/boot/supervise.h"
#include "app/device/hook.h"
#include "app/upkeep/timers.h"
#include "base/sha256.h"

/* For large backups on slow disks, which also serve more important work. */
#define LIMIT_SECONDS (6U * 3600U)

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	gbe_sha256_use(&gbe_sha256_libcrypto);
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
		NULL, &argc, &argv, GBE_EXIT_USAGE, &status))
		return status;
	return gbe_supervise_bounded("scrub", hook.root, work, &hook, LIMIT_SECONDS,
				     GBE_EXIT_FAILED);
}
