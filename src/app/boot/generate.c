/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/boot/generate.h"

#include <errno.h>
#include <fcntl.h>

#include <glib/gstdio.h>

#include "app/device/booted.h"
#include "app/report/prerun-unit.h"
#include "app/state/configuration.h"
#include "core/units/dropin.h"
#include "fs/open.h"
#include "sys/enabled.h"

#define DROPIN_NAME "50-greenboot-etcd.conf"

/* Finds the state's record of the last configuration that worked. /var may not be mounted yet: on an ostree
 * system it is then a directory of the stateroot. */
static void
open_state(GbeApp *app, const char *deployment)
{
	g_autofree char *stateroot = NULL;
	g_autofree char *path = NULL;

	if (gbe_app_open_state(app, false, NULL) || deployment == NULL ||
	    !gbe_deployment_id_parse(deployment, &stateroot, NULL, NULL))
		return;
	path = g_strconcat("/sysroot/ostree/deploy/", stateroot, GBE_STATE_DIR, NULL);
	(void)!gbe_open_in_root(app->root_fd, path, O_RDONLY | O_DIRECTORY, &app->state_fd, NULL);
}

static void
configure(GbeApp *app, char **ret_complaint)
{
	GbeDeployment booted = {0};

	(void)!gbe_booted_from_cmdline(app, &booted, NULL);
	open_state(app, booted.id);
	gbe_configuration_choose(app, booted.id, ret_complaint);
	gbe_deployment_clear(&booted);
}

static bool
is_wanted(GbeApp *app)
{
	const char *service = app->config->etcd.service;

	return service != NULL && gbe_prerun_unit(app) == GBE_UNIT_PRESENT &&
	       (gbe_unit_file(app->root_fd, service) == GBE_UNIT_PRESENT ||
		gbe_unit_is_generated(app->root_fd, service));
}

typedef struct {
	const GbeApp *app;
	const char *dir; /* systemd's, for drop-ins */
} Output;

/* The files are in memory and made anew at each boot, so nothing is flushed. */
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
follow(gpointer data, const char *path)
{
	const Output *output = data;

	return gbe_path_resolve(output->app->root_fd, path);
}

bool
gbe_generate(GbeApp *app, const char *output, char **ret_complaint, GError **error)
{
	g_autofree char *complaint = NULL;
	Output to = {app, output};

	configure(app, &complaint);
	/* First without a look at the paths, any of which may hang until systemd ends this program. */
	if (is_wanted(app) && (!gbe_dropins(app->config, NULL, write_dropin, &to, error) ||
			       !gbe_dropins(app->config, follow, write_dropin, &to, error)))
		return false;
	*ret_complaint = g_steal_pointer(&complaint);
	return true;
}
