/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs at an orderly shutdown, once the data is closed: records what the next start needs to know. */
#include "app/boot/boot.h"
#include "app/boot/supervise.h"

/* systemd reboots by force after 30 minutes, and ostree must run after this program. */
GBE_HOOK(.program = "finalize",
	 .summary = "Closes etcd's data at the end of a run: closing record and "
		    "backup.\nEnds with 0, or with 1 when something failed.",
	 .on_usage = GBE_EXIT_FAILED, .work = gbe_finalize_run, .seconds = 15 * 60,
	 .idle_seconds = 60)
