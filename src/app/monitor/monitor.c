/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/monitor/monitor.h"

#include "app/backup/observe.h"
#include "app/health/certificates.h"
#include "app/health/look.h"
#include "app/health/verdict.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "core/json/parse.h"
#include "fs/open.h"
#include "fs/write.h"

/* Only changes go to the journal: a new problem, and its end. */
static void
say_change(GbeApp *app, const GbeHealthReport *report)
{
	GbeEventFields fields = {0};
	/* The result that the last look has shown. */
	g_autoptr(JsonObject) whole = gbe_status_read_file(app, GBE_STATUS_FILE);
	JsonObject *status = whole != NULL ? gbe_json_object(whole, "status") : NULL;
	JsonObject *before = status != NULL ? gbe_json_object(status, "etcd") : NULL;
	const char *reason =
	    before != NULL ? gbe_json_string(before, "reason", NULL) : GBE_STATUS_NOT_ASKED;
	bool known;

	known = g_strcmp0(reason, GBE_STATUS_NOT_ASKED) != 0;
	if (report->health == GBE_HEALTH_HEALTHY ? known && !gbe_json_bool(before, "healthy", false)
						 : g_strcmp0(reason, report->reason) != 0)
		gbe_verdict_say_health(report, &fields);
}

/* Writes each of the three on its own: a failure of one does not stop the others. */
static bool
show(GbeApp *app, const GbeHealthLook *look, GError **error)
{
	GbeObserveOptions options = {0};
	const char *path = app->config->metrics.textfile;
	g_autoptr(GbeObserved) observed = NULL;
	bool seen = gbe_observe(app, &options, &observed, error);
	GError **first = seen ? error : NULL;
	g_autoptr(GString) text = gbe_metrics_new(look, observed);
	g_autoptr(GbeStatus) status = NULL;
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	bool written = true;

	if (seen)
		gbe_status_write(app, observed, look, &status);
	if (status != NULL)
		gbe_metrics_add_status(text, status);
	/* node_exporter may read the file at any time: it gets the old file or the new one, never half of one. */
	if (path != NULL && *path != '\0')
		written = (gbe_open_parent_in_root(app->root_fd, path, &dir_fd, &name, first) &&
			   gbe_write_file_at(dir_fd, name, text->str, text->len, 0644,
					     GBE_WRITE_LATER, first)) ||
			  gbe_prefix(first, "[metrics] textfile=%s", path);
	return seen && written;
}

bool
gbe_monitor_run(GbeApp *app, GError **error)
{
	g_autoptr(GbeDeployments) deployments =
	    gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	g_autofree char *complaint = NULL;
	g_autoptr(GbeHealthLook) look = NULL;
	g_autoptr(GbeFacts) facts = NULL;

	/* Loads the configuration like the programs of the boot, but does not remember it: the monitor writes nothing
	 * into the state. */
	(void)!gbe_app_open_state(app, false, NULL);
	gbe_configuration_choose(app, deployments->booted.id, &complaint);
	if (gbe_config_is_off(app->config) || app->config->health.monitor == 0)
		return true;
	look = gbe_health_look_new(app);
	if (app->state_fd >= 0 && gbe_verdict_look(app, &deployments->booted, &facts, NULL))
		gbe_health_look_expect(look, facts);
	g_clear_pointer(&facts, gbe_facts_free);
	g_clear_pointer(&deployments, gbe_deployments_free);
	gbe_certs_add_to_health(app, look->facts);
	gbe_health_look_now(look, (guint)app->config->health.request_timeout * 1000);
	say_change(app, look->report);
	return show(app, look, error);
}
