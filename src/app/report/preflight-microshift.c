/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MicroShift's own backups, and what makes it restore one: after prerun, and without asking greenboot-etcd. */
#include "app/report/preflight-checks.h"

#include <fcntl.h>

#include "core/config/systems.h"
#include "fs/list.h"
#include "fs/open.h"

#define BACKUPS "/var/lib/microshift-backups"
#define MARKER BACKUPS "/restore"

static bool
exists(const GbeApp *app, const char *path)
{
	gbe_autofd int fd = -1;

	return gbe_open_in_root(app->root_fd, path, O_PATH | O_NOFOLLOW, &fd, NULL);
}

static void
check_backups(const GbeApp *app, GPtrArray *findings)
{
	g_autoptr(GPtrArray) names = NULL;
	gbe_autofd int fd = -1;
	guint count = 0;

	if (!gbe_open_in_root(app->root_fd, BACKUPS, O_RDONLY | O_DIRECTORY, &fd, NULL) ||
	    !gbe_list_at(fd, BACKUPS, &names, NULL))
		return;
	for (guint i = 0; i < names->len; i++) {
		gbe_autofd int backup = -1;

		count += gbe_open_dir_at(fd, names->pdata[i], &backup, NULL);
	}
	gbe_preflight_add(findings, "microshift", GBE_PREFLIGHT_NOTE,
			  "MicroShift's own pre-run keeps backups in " BACKUPS
			  " (%u now); without room for one more it does not start",
			  count);
}

void
gbe_preflight_check_microshift(const GbeApp *app, GPtrArray *findings)
{
	static const char *const hooks[] = {
	    "/etc/greenboot/red.d/40_microshift_pre_rollback.sh",
	    "/usr/lib/greenboot/red.d/40_microshift_pre_rollback.sh",
	};

	if (g_strcmp0(app->config->etcd.service, GBE_MICROSHIFT_SERVICE) != 0)
		return;
	check_backups(app, findings);
	for (gsize i = 0; i < G_N_ELEMENTS(hooks); i++)
		if (exists(app, hooks[i]))
			gbe_preflight_add(
			    findings, "microshift", GBE_PREFLIGHT_NOTE,
			    "%s leaves the marker " MARKER
			    " when boot_counter is 0: docs/microshift.md says whether "
			    "to remove the hook",
			    hooks[i]);
	if (exists(app, MARKER))
		gbe_preflight_add(findings, "microshift", GBE_PREFLIGHT_NOTE,
				  "the marker " MARKER
				  " is there: where the next deployment goes on with another's "
				  "data, MicroShift restores its own backup; remove the marker");
}
