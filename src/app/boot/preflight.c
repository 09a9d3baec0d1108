/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/boot/boot.h"

#include "app/report/status.h"
#include "app/state/configuration.h"
#include "base/error.h"
#include "core/json/parse.h"
#include "fs/open.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <string.h>

static bool
check_configuration(GbeApp *app, GPtrArray *findings)
{
	g_autoptr(GError) error = NULL;

	if (gbe_configuration_load(app, true, &error) && gbe_schedule_check(app, &error)) {
		gbe_preflight_add(findings, "configuration", GBE_PREFLIGHT_OK, "no errors");
		return true;
	}
	gbe_preflight_add(findings, "configuration", GBE_PREFLIGHT_BAD, "%s", error->message);
	g_clear_error(&error);
	return gbe_configuration_load(app, false, &error);
}

GPtrArray *
gbe_preflight_check(GbeApp *app, const GbeHealthLook *look)
{
	GPtrArray *findings =
	    g_ptr_array_new_with_free_func((GDestroyNotify)gbe_preflight_finding_free);
	GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GError) error = NULL;

	if (!check_configuration(app, findings))
		return findings;
	if (app->state_fd < 0 && !gbe_app_open_state(app, false, &error) &&
	    !g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		gbe_preflight_add(findings, "state", GBE_PREFLIGHT_UNKNOWN, "%s", error->message);
		return findings;
	}
	g_clear_error(&error);
	if (!gbe_observe(app, &options, &observed, &error)) {
		gbe_preflight_add(findings, "data",
				  g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSAFE_SOURCE)
				      ? GBE_PREFLIGHT_BAD
				      : GBE_PREFLIGHT_UNKNOWN,
				  "%s", error->message);
		return findings;
	}
	gbe_preflight_check_system(observed, findings);
	gbe_preflight_check_greenboot(observed, findings);
	gbe_preflight_check_prerun(app, look, findings);
	gbe_preflight_check_microshift(app, findings);
	gbe_preflight_check_rehearsal(app, observed, findings);
	if (gbe_preflight_check_data(observed, findings)) {
		if (gbe_preflight_check_store(observed, findings) &&
		    gbe_preflight_check_file_system(app, observed, findings))
			gbe_preflight_check_space(observed, findings);
		gbe_preflight_check_exchange(observed, findings);
		gbe_preflight_check_etcd(app, observed, look, findings);
		gbe_preflight_check_key(app, findings);
	} else if (look != NULL && gbe_health_is_elsewhere(look->facts)) {
		/* An etcd runs, and its data is not where this program looks. */
		gbe_preflight_check_etcd(app, observed, look, findings);
	}
	return findings;
}

int
gbe_preflight_status(const GPtrArray *findings)
{
	int status = 0;

	for (guint i = 0; i < findings->len; i++) {
		const GbePreflightFinding *finding = findings->pdata[i];

		if (finding->level == GBE_PREFLIGHT_BAD)
			return GBE_EXIT_REFUSED;
		if (finding->level == GBE_PREFLIGHT_UNKNOWN)
			status = GBE_EXIT_CANNOT_TELL;
	}
	return status;
}

int
gbe_preflight_run(GbeApp *app)
{
	g_autoptr(GPtrArray) findings = gbe_preflight_check(app, NULL);
	GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(JsonObject) object = json_object_new();
	JsonArray *problems = json_array_new();
	g_autofree char *name = g_path_get_basename(GBE_PREFLIGHT_FILE);
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	gbe_autofd int run_fd = -1;

	for (guint i = 0; i < findings->len; i++) {
		const GbePreflightFinding *finding = findings->pdata[i];
		GbeEventFields fields = {.action = finding->check, .reason = finding->text};

		if (finding->level == GBE_PREFLIGHT_BAD)
			gbe_event_preflight(&fields);
		else
			gbe_note("%s: %s", finding->check, finding->text);
		/* A failed rehearsal has a line of its own. */
		if (finding->level == GBE_PREFLIGHT_BAD &&
		    !g_str_equal(finding->check, GBE_PREFLIGHT_REHEARSAL))
			json_array_add_string_element(problems, finding->text);
	}
	json_object_set_array_member(object, "problems", problems);
	/* For the MOTD, which status writes. */
	text = gbe_json_print_object(object);
	if (!gbe_make_dirs(app->root_fd, GBE_RUN_DIR, 0755, &run_fd, &error) ||
	    !gbe_write_file_at(run_fd, name, text, strlen(text), 0644, GBE_WRITE_LATER, &error))
		gbe_note("%s", error->message);
	if (gbe_observe(app, &options, &observed, NULL))
		gbe_status_write(app, observed, NULL);
	return gbe_preflight_status(findings);
}
