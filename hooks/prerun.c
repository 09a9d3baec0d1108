/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs before etcd starts: backs up, restores, takes over. Ends with 0, or with 5 when etcd must not start. */
#include "app/boot/boot.h"
#include "app/boot/supervise.h"

GBE_HOOK(.program = "prerun",
	 .summary = "Brings etcd's data in step with the booted deployment, before etcd "
		    "starts.\nEnds with 0, or with 5 when etcd is held back.",
	 .on_usage = GBE_EXIT_HELD, .run = gbe_prerun_start)
