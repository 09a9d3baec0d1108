/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes the backup that [backup] schedule asks for. */
#include "app/boot/supervise.h"
#include "app/device/hook.h"
#include "app/upkeep/timers.h"
#include "base/sha256.h"

/* For a large database on a slow disk, which also serves more important work. */
#define LIMIT_SECONDS (2U * 3600U)
#define PATIENCE_SECONDS 300

static GbeHook hook;
static int patience = PATIENCE_SECONDS;

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(&hook, app);
	gbe_sha256_use(&gbe_sha256_libcrypto);
	return gbe_periodic_run(app, (guint)MAX(patience, 0));
}

int
main(int argc, char **argv)
{
	GOptionEntry more[] = {{"patience", 0, 0, G_OPTION_ARG_INT, &patience,
				"Wait that long for what stands in the way (default: 300)",
				"SECONDS"},
			       {NULL}};
	int status;

	if (gbe_hook_parse(
		&hook, "backup",
		"Takes the backup that [backup] schedule asks for, unless nothing has "
		"changed.\nEnds with 0, also where that has to wait for the next time, or "
		"with 1 where it failed.",
		more, &argc, &argv, GBE_EXIT_USAGE, &status))
		status = gbe_supervise_bounded("backup", hook.root, work, NULL, LIMIT_SECONDS,
					       GBE_EXIT_FAILED);
	gbe_hook_clear(&hook);
	return status;
}
