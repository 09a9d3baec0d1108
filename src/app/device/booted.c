/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/device/booted.h"

#include <fcntl.h>

#include "fs/open.h"
#include "fs/probe.h"
#include "sys/deployment/booted.h"

static bool
open_sysroot(GbeApp *app, int *ret_fd, GError **error)
{
	const char *sysroot =
	    gbe_is_in_root(app->root_fd, "/sysroot/ostree") == GBE_YES ? "/sysroot" : "/";

	return gbe_open_in_root(app->root_fd, sysroot, O_RDONLY | O_DIRECTORY, ret_fd, error);
}

bool
gbe_booted_from_cmdline(GbeApp *app, GbeDeployment *ret_booted, GError **error)
{
	g_auto(GbeDeployDir) dir = {NULL};
	g_autofree char *path = NULL;
	gbe_autofd int sysroot_fd = -1;
	gbe_autofd int deployment_fd = -1;

	if (app->cmdline.ostree == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "there is no ostree= on the kernel command line");
	if (!open_sysroot(app, &sysroot_fd, error) ||
	    !gbe_booted_resolve(sysroot_fd, app->cmdline.ostree, &dir, error))
		return false;
	path = gbe_deploy_dir_path(&dir);
	if (!gbe_open_in_root(sysroot_fd, path, O_RDONLY | O_DIRECTORY, &deployment_fd, error))
		return false;
	ret_booted->id = gbe_deployment_id_format(dir.stateroot, dir.checksum, dir.serial);
	ret_booted->handle = gbe_tree_identity(deployment_fd);
	return true;
}
