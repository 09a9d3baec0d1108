/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/boot/generate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <glib/gstdio.h>

#include "app/device/booted.h"
#include "app/report/prerun-unit.h"
#include "app/state/configuration.h"
#include "core/config/keys.h"
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
	const char *dir; /* systemd's, for drop-ins */
	bool more;	 /* the files are there, and get what they lack */
} Output;

/* The settings of @text that @written lacks, in their sections. */
static char *
lacking(const char *written, const char *text)
{
	g_auto(GStrv) have = g_strsplit(written, "\n", -1), lines = g_strsplit(text, "\n", -1);
	GString *more = g_string_new(NULL);
	const char *section = NULL;

	for (char **line = lines; *line != NULL; line++) {
		if (**line == '[') {
			section = *line;
		} else if (**line != '#' && !g_strv_contains((const char *const *)have, *line)) {
			if (section != NULL)
				g_string_append_printf(more, "%s\n", section);
			section = NULL;
			g_string_append_printf(more, "%s\n", *line);
		}
	}
	return g_string_free(more, false);
}

/* The files are in memory and made anew at each boot, so nothing is flushed. */
static bool
write_dropin(const Output *output, const char *unit, const char *text, GError **error)
{
	g_autofree char *dir = g_strconcat(output->dir, "/", unit, ".d", NULL);
	g_autofree char *path = g_build_filename(dir, DROPIN_NAME, NULL);
	g_autofree char *written = NULL, *more = NULL, *whole = NULL;

	if (g_mkdir_with_parents(dir, 0755) < 0)
		return gbe_throw_errno(error, errno, "make %s", dir);
	if (output->more && g_file_get_contents(path, &written, NULL, NULL)) {
		more = lacking(written, text);
		if (*more == '\0')
			return true;
		text = whole = g_strconcat(written, more, NULL);
	}
	return g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0644, error) ||
	       gbe_convert(error, GBE_ERROR_FAILED);
}

static bool
write_paths(GbeApp *app, const Output *output, GError **error)
{
	static const char *const units[] = {
	    GBE_PRERUN_UNIT,
	    "greenboot-etcd-preflight.service",
	    "greenboot-etcd-used.service",
	};
	g_autofree char *paths = gbe_dropin_paths(app->config, NULL);
	/* systemd stops a unit after the units that it is started before. */
	g_autofree char *closing = gbe_dropin_paths(app->config, app->config->etcd.service);
	g_autofree char *green = gbe_dropin_green(app->config);
	g_autofree char *scrub = gbe_dropin_scrub(app->config);

	for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
		if (!write_dropin(output, units[i], paths, error))
			return false;
	return write_dropin(output, "greenboot-etcd-green.service", green, error) &&
	       write_dropin(output, "greenboot-etcd-scrub.service", scrub, error) &&
	       write_dropin(output, "greenboot-etcd-finalize.service", closing, error);
}

static bool
write_scope(GbeApp *app, const Output *output, GError **error)
{
	const char *scope = gbe_dropin_scope_of(app->config->etcd.service);
	g_autofree char *order = gbe_dropin_scope();
	g_autofree char *start = gbe_dropin_start(app->config);

	return scope == NULL || (write_dropin(output, scope, order, error) &&
				 write_dropin(output, "greenboot-etcd-start.target", start, error));
}

static bool
write_used(GbeApp *app, const Output *output, GError **error)
{
	g_autofree char *timer = gbe_dropin_used_timer(app->config);

	return write_dropin(output, "greenboot-etcd-used.timer", timer, error);
}

static bool
write_monitor(GbeApp *app, const Output *output, GError **error)
{
	g_autofree char *service = gbe_dropin_monitor(app->config);
	g_autofree char *timer = gbe_dropin_monitor_timer(app->config);

	return app->config->health.monitor == 0 ||
	       (write_dropin(output, "greenboot-etcd-monitor.service", service, error) &&
		write_dropin(output, "greenboot-etcd-monitor.timer", timer, error));
}

static bool
write_defrag(GbeApp *app, const Output *output, GError **error)
{
	g_autofree char *service = gbe_dropin_defrag(app->config);
	g_autofree char *timer = gbe_dropin_defrag_timer(app->config);

	return !app->config->defrag.enabled ||
	       (write_dropin(output, "greenboot-etcd-defrag.service", service, error) &&
		write_dropin(output, "greenboot-etcd-defrag.timer", timer, error));
}

static bool
write_backup(GbeApp *app, const Output *output, GError **error)
{
	g_autofree char *service = NULL;
	g_autofree char *timer = NULL;

	if (app->config->backup.schedule == NULL)
		return true;
	service = gbe_dropin_backup(app->config);
	timer = gbe_dropin_backup_timer(app->config);
	return write_dropin(output, "greenboot-etcd-backup.service", service, error) &&
	       write_dropin(output, "greenboot-etcd-backup.timer", timer, error);
}

static bool
write_renew(GbeApp *app, const Output *output, GError **error)
{
	g_autofree char *service = gbe_dropin_renew(app->config);
	g_autofree char *timer = gbe_dropin_renew_timer();

	return (service == NULL ||
		write_dropin(output, "greenboot-etcd-renew.service", service, error)) &&
	       (app->config->certs.renew_command == NULL ||
		write_dropin(output, "greenboot-etcd-renew.timer", timer, error));
}

static bool
write_cluster(GbeApp *app, const Output *output, GError **error)
{
	g_autofree char *lock = gbe_dropin_lock(app->config);
	g_autofree char *rejoin = gbe_dropin_rejoin(app->config);

	return (!app->config->cluster.rejoin ||
		write_dropin(output, "greenboot-etcd-rejoin.service", rejoin, error)) &&
	       (!app->config->cluster.update_lock ||
		write_dropin(output, "greenboot-etcd-lock.service", lock, error));
}

static bool
write_requests(GbeApp *app, const Output *output, GError **error)
{
	g_autofree char *service = NULL;
	g_autofree char *path = NULL;

	if (!gbe_dropin_wants_requests(app->config))
		return true;
	service = gbe_dropin_requests(app->config);
	if (!write_dropin(output, "greenboot-etcd-requests.service", service, error))
		return false;
	if (!gbe_dropin_watches_requests(app->config))
		return true;
	path = gbe_dropin_requests_path(app->config);
	return write_dropin(output, "greenboot-etcd-requests.path", path, error);
}

static bool
write_offsite(GbeApp *app, const Output *output, GError **error)
{
	const GbeConfig *config = app->config;
	g_autofree char *push = gbe_dropin_offsite(config, true);
	g_autofree char *send = gbe_dropin_offsite(config, false);
	g_autofree char *prove = gbe_dropin_prove(config);
	g_autofree char *push_timer = NULL, *prove_timer = NULL;

	if (gbe_dropin_wants_push(config)) {
		push_timer = gbe_dropin_push_timer(config);
		if (!write_dropin(output, "greenboot-etcd-push.service", push, error) ||
		    !write_dropin(output, "greenboot-etcd-push.timer", push_timer, error))
			return false;
	}
	if (gbe_dropin_wants_prove(config)) {
		prove_timer = gbe_dropin_prove_timer(config);
		if (!write_dropin(output, "greenboot-etcd-prove.service", prove, error) ||
		    !write_dropin(output, "greenboot-etcd-prove.timer", prove_timer, error))
			return false;
	}
	return !gbe_dropin_wants_send(config) ||
	       write_dropin(output, "greenboot-etcd-send.service", send, error);
}

static bool
write_all(GbeApp *app, const Output *output, GError **error)
{
	g_autofree char *service = gbe_dropin_service(app->config);
	g_autofree char *check = gbe_dropin_health_check();

	/* The service's drop-in is last: without the units that it requires, the service would not start. */
	return write_paths(app, output, error) && write_scope(app, output, error) &&
	       write_used(app, output, error) &&
	       write_dropin(output, "greenboot-healthcheck.service", check, error) &&
	       write_monitor(app, output, error) && write_defrag(app, output, error) &&
	       write_backup(app, output, error) && write_requests(app, output, error) &&
	       write_offsite(app, output, error) && write_renew(app, output, error) &&
	       write_cluster(app, output, error) &&
	       write_dropin(output, app->config->etcd.service, service, error);
}

/* Puts the paths that the configured ones lead to in their place. Not in [store]: the way there may lead over a share
 * whose server is away, and systemd waits for this program. */
static void
follow_symlinks(GbeApp *app)
{
	for (const GbeConfigKey *key = gbe_config_keys; key->group != NULL; key++) {
		char **path = (char **)(gpointer)((char *)app->config + key->offset);

		if (key->type == GBE_KEY_PATH && *path != NULL &&
		    !g_str_equal(key->group, "store")) {
			char *resolved = gbe_path_resolve(app->root_fd, *path);

			g_free(*path);
			*path = resolved;
		}
	}
}

bool
gbe_generate(GbeApp *app, const char *output, char **ret_complaint, GError **error)
{
	g_autofree char *complaint = NULL;

	configure(app, &complaint);
	if (is_wanted(app)) {
		if (!write_all(app, &(Output){output, false}, error))
			return false;
		/* A unit's sandbox and its mounts are of the directories that a symlink leads to. */
		follow_symlinks(app);
		if (!write_all(app, &(Output){output, true}, error))
			return false;
	}
	*ret_complaint = g_steal_pointer(&complaint);
	return true;
}
