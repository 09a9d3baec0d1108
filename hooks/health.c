/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* greenboot's required check. Ends with 1 for what an OS rollback could mend, else with 0. */
#include "app/boot/boot.h"
#include "app/boot/supervise.h"

/* The limit counts until the worker knows its deadline and sets it. A check that cannot be made is no reason for a
 * rollback. */
GBE_HOOK(.program = "health",
	 .summary = "Waits until etcd is healthy, as greenboot's required check.\nEnds with "
		    "1 for what an OS rollback could mend, else with 0.",
	 .on_usage = GBE_EXIT_FAILED, .work = gbe_health_run, .seconds = 60, .on_failure = 0)
