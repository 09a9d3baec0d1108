/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs before etcd starts: backs up, restores, takes over. Ends with 0, or with 5 when etcd must not start. */
#include "app/device/hook.h"

#include "app/boot/boot.h"

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	int status;

	if (!gbe_hook_parse(&hook, "prerun",
			    "Brings etcd's data in step with the booted deployment, before etcd "
			    "starts.\nEnds with 0, or with 5 when etcd is held back.",
			    NULL, &argc, &argv, GBE_EXIT_HELD, &status))
		return status;
	return gbe_prerun_start(hook.root, hook.config);
}
