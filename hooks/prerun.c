/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Before etcd starts: back up, restore, take over. Ends with 0, or with 5 when etcd must not start. */
#include "app/hook.h"
#include "app/state.h"
#include "app/supervise.h"
#include "app/use-cases.h"
#include "base/fault.h"

#define EXIT_HELD 5
#define IDLE_SECONDS 60

static int
work(GbeApp *app, gpointer data)
{
	g_autoptr(GError) error = NULL;
	guint unfinished;
	int status;

	gbe_hook_apply(data, app);
	unfinished = gbe_state_begin_start(app);
	if (GBE_FAULT("prerun-started", &error))
		return 1;
	status = gbe_prerun_run(app, unfinished);
	/* Every answer is an end; what crashed or hung does not come here. */
	gbe_state_end_start(app);
	return status;
}

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	int status;

	if (!gbe_hook_parse(&hook, "prerun",
			    "Brings etcd's data in step with the booted deployment, before etcd "
			    "starts.\nEnds with 0, or with 5 when etcd is held back.",
			    NULL, &argc, &argv, EXIT_HELD, &status))
		return status;
	return gbe_supervise_prerun(hook.root, work, &hook, IDLE_SECONDS);
}
