/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes the backup that [backup] schedule asks for. */
#include "app/boot/supervise.h"
#include "app/upkeep/timers.h"
#include "base/sha256.h"

static int patience = 300;

static int
take_scheduled_backup(GbeApp *app)
{
	gbe_sha256_use(&gbe_sha256_libcrypto);
	return gbe_periodic_run(app, (guint)MAX(patience, 0));
}

static const GOptionEntry options[] = {{"patience", 0, 0, G_OPTION_ARG_INT, &patience,
					"Wait that long for what stands in the way (default: 300)",
					"SECONDS"},
				       {NULL}};

/* The limit allows for a large database on a slow disk, which also serves more important work. */
GBE_HOOK(.program = "backup",
	 .summary = "Takes the backup that [backup] schedule asks for, unless nothing has "
		    "changed.\nEnds with 0, also where that has to wait for the next time, or "
		    "with 1 where it failed.",
	 .on_usage = GBE_EXIT_USAGE, .work = take_scheduled_backup, .seconds = 2 * 3600,
	 .on_failure = GBE_EXIT_FAILED, .options = options)
