/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps etcd's database small while the device is in use. */
#include "app/upkeep/defrag.h"
#include "app/boot/supervise.h"

/* The limit covers the wait until etcd is healthy, the defragmentation, and the wait until etcd is healthy again. */
GBE_HOOK(.program = "defrag",
	 .summary = "Defragments etcd's database where [defrag] says that it is due.\nEnds "
		    "with 0, also where that has to wait, or with 1 where it failed.",
	 .on_usage = GBE_EXIT_USAGE, .work = gbe_defrag_run, .seconds = 1200,
	 .on_failure = GBE_EXIT_FAILED)
