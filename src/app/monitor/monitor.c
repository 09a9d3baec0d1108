/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks at etcd's health while the device is in use, and shows it. Records nothing: no verdict changes. */
#include "app/monitor/monitor.h"
#include "app/health/certificates.h"
#include "app/health/look.h"
#include "app/health/verdict.h"
#include "app/monitor/metrics.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "fs/open.h"
#include "fs/write.h"

#include <string.h>

/* node_exporter may read the file at any time: it gets the old file or the new one, never half of one. */
static bool
write_textfile(GbeApp *app, const char *text, GError **error)
{
	const char *path = app->config->metrics.textfile;
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;

	if (path == NULL || *path == '\0')
		return true;
	return (gbe_open_parent_in_root(app->root_fd, path, &dir_fd, &name, error) &&
		gbe_write_file_at(dir_fd, name, text, strlen(text), 0644, GBE_WRITE_LATER,
				  error)) ||
	       gbe_prefix(error, "[metrics] textfile=%s", path);
}

/* The result that the last look has shown; NULL: there was no look. */
static JsonObject *
shown(GbeApp *app)
{
	g_autoptr(JsonObject) whole = NULL;
	g_autofree char *bytes = NULL;
	JsonObject *status;
	JsonObject *etcd;
	gsize size;

	if (!gbe_read_in_root(app->root_fd, GBE_STATUS_FILE, GBE_JSON_MAX_SIZE, &bytes, &size,
			      NULL) ||
	    !gbe_json_parse_object(bytes, size, GBE_STATUS_FILE, &whole, NULL))
		return NULL;
	status = gbe_json_object(whole, "status");
	etcd = status != NULL ? gbe_json_object(status, "etcd") : NULL;
	return etcd != NULL ? json_object_ref(etcd) : NULL;
}

/* Only changes go to the journal: a new problem, and its end. */
static void
say(GbeApp *app, const GbeHealthReport *report)
{
	GbeEventFields fields = {0};
	g_autoptr(JsonObject) before = shown(app);
	const char *reason =
	    before != NULL ? gbe_json_string(before, "reason", NULL) : GBE_STATUS_NOT_ASKED;
	bool known = g_strcmp0(reason, GBE_STATUS_NOT_ASKED) != 0;

	if (report->health == GBE_HEALTH_HEALTHY ? known && !gbe_json_bool(before, "healthy", false)
						 : g_strcmp0(reason, report->reason) != 0)
		gbe_verdict_say_health(report, &fields);
}

/* Loads the configuration like the programs of the boot, but does not remember it: the monitor writes nothing
 * into the state. */
static bool
configure(GbeApp *app, GbeDeployment *booted)
{
	g_autoptr(GbeDeployments) deployments =
	    gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	g_autofree char *complaint = NULL;

	gbe_deployment_copy(booted, &deployments->booted);
	(void)!gbe_app_open_state(app, false, NULL);
	gbe_configuration_choose(app, booted->id, &complaint);
	return !gbe_config_is_off(app->config) && app->config->health.monitor > 0;
}

static void
look_now(GbeApp *app, const GbeDeployment *booted, GbeHealthLook *look)
{
	g_autoptr(GbeFacts) facts = NULL;

	if (app->state_fd >= 0 && gbe_verdict_look(app, booted, &facts, NULL))
		gbe_health_look_expect(look, facts);
	gbe_certs_add_to_health(app, look->facts);
	gbe_health_look_now(look, (guint)app->config->health.request_timeout * 1000);
}

/* Writes each of the three by itself: a failure of one does not stop the others. */
static bool
show(GbeApp *app, const GbeHealthLook *look, GError **error)
{
	GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;
	g_autofree char *text = NULL;
	bool seen = gbe_observe(app, &options, &observed, error);
	bool written;

	text = gbe_metrics_text(look, observed);
	written = write_textfile(app, text, seen ? error : NULL);
	if (seen)
		gbe_status_write(app, observed, look);
	return seen && written;
}

bool
gbe_monitor_run(GbeApp *app, GError **error)
{
	GbeDeployment booted = {0};
	g_autoptr(GbeHealthLook) look = NULL;
	bool ok = true;

	if (configure(app, &booted)) {
		look = gbe_health_look_new(app);
		look_now(app, &booted, look);
		say(app, look->report);
		ok = show(app, look, error);
	}
	gbe_deployment_clear(&booted);
	return ok;
}
