/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries out the kernel command line's request to the initramfs, for its unit. */
#include "initramfs/boot.h"
#include "app/boot/boot.h"
#include "cli/verb.h"
#include "sys/systemd/events.h"

bool
gbe_verb_boot(GbeCli *cli, char **arguments, GError **error)
{
	if (!gbe_prerun_requested(cli->app))
		gbe_note("the kernel command line asks for nothing");
	return true;
}
