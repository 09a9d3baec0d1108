/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that this run has used etcd's data for longer than a trial lasts. */
#include "app/boot/boot.h"
#include "app/boot/supervise.h"

GBE_HOOK(.program = "used",
	 .summary = "Records once that this run has used etcd's data for longer than "
		    "[restore] trial-limit.\nEnds with 0, or with 1 when that failed.",
	 .on_usage = GBE_EXIT_USAGE, .work = gbe_used_run, .seconds = 60,
	 .on_failure = GBE_EXIT_FAILED)
