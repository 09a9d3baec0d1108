/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/boot/boot.h"

#include <errno.h>
#include <fcntl.h>

#include <glib/gstdio.h>

#include "app/state/configuration.h"
#include "core/units/dropin.h"
#include "fs/open.h"
#include "sys/enabled.h"

#define DROPIN_NAME "50-greenboot-etcd.conf"

typedef struct {
	const GbeApp *app;
	const char *dir; /* systemd's, for drop-ins */
} Output;

/* The files are in memory and made again at each boot, so nothing is flushed. */
static bool
write_dropin(gpointer data, const char *unit, const char *text, GError **error)
{
	const Output *output = data;
	g_autofree char *dir = g_strconcat(output->dir, "/", unit, ".d", NULL);
	g_autofree char *path = g_build_filename(dir, DROPIN_NAME, NULL);

	if (g_mkdir_with_parents(dir, 0755) < 0)
		return gbe_throw_errno(error, errno, "make %s", dir);
	return g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0644, error) ||
	       gbe_convert(error, GBE_ERROR_FAILED);
}

static char *
follow_path(gpointer data, const char *path)
{
	const Output *output = data;

	return gbe_path_resolve(output->app->root_fd, path);
}

bool
gbe_generate(GbeApp *app, const char *output, char **ret_complaint, GError **error)
{
	GbeDeployment booted = {0};
	g_autofree char *stateroot = NULL;
	g_autofree char *complaint = NULL;
	Output to = {app, output};
	const char *service;

	(void)!gbe_booted_from_cmdline(app, &booted, NULL);
	/* Finds the state's record of the last configuration that worked. /var may not be mounted yet: on an ostree
	 * system it is then a directory of the stateroot. */
	if (!gbe_app_open_state(app, false, NULL) && booted.id != NULL &&
	    gbe_deployment_id_parse(booted.id, &stateroot, NULL, NULL)) {
		g_autofree char *path =
		    g_strconcat("/sysroot/ostree/deploy/", stateroot, GBE_STATE_DIR, NULL);

		(void)!gbe_open_in_root(app->root_fd, path, O_RDONLY | O_DIRECTORY, &app->state_fd,
					NULL);
	}
	gbe_configuration_choose(app, booted.id, &complaint);
	gbe_deployment_clear(&booted);
	service = app->config->etcd.service;
	if (service != NULL && gbe_prerun_unit(app) == GBE_UNIT_PRESENT &&
	    (gbe_unit_file(app->root_fd, service) == GBE_UNIT_PRESENT ||
	     gbe_unit_is_generated(app->root_fd, service))) {
		/* First without a look at the paths, any of which may hang until systemd ends this program. */
		if (!gbe_dropins(app->config, NULL, write_dropin, &to, error))
			return false;
		if (!gbe_dropins(app->config, follow_path, write_dropin, &to, error))
			return false;
	}
	*ret_complaint = g_steal_pointer(&complaint);
	return true;
}
