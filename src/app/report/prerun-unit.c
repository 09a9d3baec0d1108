/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/prerun-unit.h"

/* Masked by the command line: systemd makes these links while the generators run. */
static bool
masked_for_this_boot(const GbeCmdline *cmdline)
{
	for (guint i = 0; cmdline->masked != NULL && i < cmdline->masked->len; i++) {
		const char *unit = cmdline->masked->pdata[i];

		if (g_str_equal(unit, GBE_PRERUN_UNIT) ||
		    g_str_equal(unit, "greenboot-etcd-prerun"))
			return true;
	}
	return false;
}

GbeUnitFile
gbe_prerun_unit(const GbeApp *app)
{
	return masked_for_this_boot(&app->cmdline) ? GBE_UNIT_MASKED
						   : gbe_unit_file(app->root_fd, GBE_PRERUN_UNIT);
}
