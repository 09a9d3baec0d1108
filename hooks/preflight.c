/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When an update of the system was staged: would it go well? Changes nothing. */
#include "app/hook.h"
#include "app/supervise.h"
#include "app/use-cases.h"

#define LIMIT_SECONDS 60
#define EXIT_USAGE 2
#define EXIT_CANNOT_TELL 7

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	return gbe_preflight_run(app, NULL);
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
			    NULL, &argc, &argv, EXIT_USAGE, &status))
		return status;
	return gbe_supervise_bounded("preflight", hook.root, work, &hook, LIMIT_SECONDS,
				     EXIT_CANNOT_TELL);
}
