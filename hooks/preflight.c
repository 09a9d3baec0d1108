/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when a system update was staged: would the update go well? Changes nothing. */
#include "app/boot/preflight.h"
#include "app/boot/supervise.h"
#include "app/device/hook.h"
#include "app/rehearse/rehearse.h"

#define LIMIT_SECONDS 60
#define REHEARSE_SECONDS 900
#define PATIENCE_SECONDS 300

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	return gbe_preflight_run(app, NULL);
}

static int
rehearse(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	gbe_rehearse_staged(app, PATIENCE_SECONDS);
	return GBE_EXIT_DONE;
}

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	int status;

	if (!gbe_hook_parse(&hook, "preflight",
			    "Would the backup before the next update succeed, and can the update "
			    "be taken back?\nEnds with 0, with 5 where not, or with 7 where that "
			    "cannot be told.",
			    NULL, &argc, &argv, GBE_EXIT_USAGE, &status))
		return status;
	/* A rehearsal that hangs or crashes is none, and says nothing of the update. */
	(void)gbe_supervise_bounded("preflight", hook.root, rehearse, &hook, REHEARSE_SECONDS,
				    GBE_EXIT_CANNOT_TELL);
	return gbe_supervise_bounded("preflight", hook.root, work, &hook, LIMIT_SECONDS,
				     GBE_EXIT_CANNOT_TELL);
}
