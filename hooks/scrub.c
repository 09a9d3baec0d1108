/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs once the run is green, and from time to time: has a backup rotted on the disk? */
#include "app/boot/supervise.h"
#include "app/upkeep/timers.h"
#include "base/sha256.h"

static int
read_backups(GbeApp *app)
{
	gbe_sha256_use(&gbe_sha256_libcrypto);
	return gbe_scrub_run(app);
}

/* The limit allows for large backups on slow disks, which also serve more important work. */
GBE_HOOK(.program = "scrub",
	 .summary = "Reads the backups again, records digests of new ones, and grades bad "
		    "what has rotted.\nDoes nothing before the run is green. Ends with 0, or "
		    "with 1 where one could not be read.",
	 .on_usage = GBE_EXIT_USAGE, .work = read_backups, .seconds = 6 * 3600,
	 .on_failure = GBE_EXIT_FAILED)
