/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that greenboot judged this run green. */
#include "app/boot/boot.h"
#include "app/boot/supervise.h"

/* The limit is beyond the wait for the lock (judge.c). */
GBE_HOOK(.program = "green",
	 .summary = "Records that greenboot judged this run green.\nEnds with 0, or with "
		    "1 when that failed.",
	 .on_usage = GBE_EXIT_FAILED, .work = gbe_green_run, .seconds = 150,
	 .on_failure = GBE_EXIT_FAILED)
