/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that greenboot judged this run red. */
#include "app/boot/boot.h"
#include "app/boot/supervise.h"

GBE_HOOK(.program = "red",
	 .summary = "Records that greenboot judged this run red.\nEnds with 0, or with 1 "
		    "when that failed.",
	 .on_usage = GBE_EXIT_FAILED, .work = gbe_red_run, .seconds = 30,
	 .on_failure = GBE_EXIT_FAILED)
