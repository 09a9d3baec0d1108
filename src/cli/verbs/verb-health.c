/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* health and preflight: the exit status also answers the question. */
#include "app/boot/boot.h"
#include "app/health/certificates.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/members.h"
#include "core/json/parse.h"

#define POLL_USEC (G_USEC_PER_SEC / 5)
#define PREFLIGHT_LOOK_MS 5000

static char *arg_wait;

const GbeOption gbe_options_health[] = {
    {"wait", 0, &arg_wait, "Ask for DURATION at most until etcd is healthy (10s, 5min)",
     "DURATION"},
    {NULL},
};

static void
look_until(GbeHealthLook *look, guint64 seconds)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)MIN(seconds, 86400) * G_USEC_PER_SEC;
	guint timeout_ms = (guint)look->app->config->health.request_timeout * 1000;

	gbe_certs_add_to_health(look->app, look->facts);
	for (;;) {
		gint64 left;

		gbe_health_look_now(look, timeout_ms);
		left = deadline - g_get_monotonic_time();
		if (look->report->patience == GBE_PATIENCE_NONE || left <= 0)
			return;
		g_usleep((gulong)MIN(left, POLL_USEC));
	}
}

static JsonArray *
steps_json(const GbeHealthReport *report)
{
	JsonArray *steps = json_array_new();

	for (guint i = 0; i < GBE_N_CHECKS; i++) {
		const GbeCheck *step = &report->steps[i];
		JsonObject *object = json_object_new();

		gbe_json_set_string(object, "step", gbe_check_to_string((GbeCheckKind)i));
		gbe_json_set_string(object, "result", gbe_check_result_to_string(step->result));
		gbe_json_set_string(object, "detail", step->detail);
		gbe_json_set_known(object, "figure", step->figure);
		gbe_json_set_known(object, "limit", step->limit);
		json_array_add_object_element(steps, object);
	}
	return steps;
}

JsonObject *
gbe_cli_health_json(const GbeHealthLook *look)
{
	GbeStatusEtcd etcd;
	JsonObject *object;

	gbe_status_etcd(look, &etcd);
	object = gbe_fields_answer(gbe_status_etcd_fields, &etcd);
	gbe_fields_clear(gbe_status_etcd_fields, &etcd);
	gbe_json_set_string(object, "health", gbe_health_to_string(look->report->health));
	gbe_json_set_string(object, "cause", look->report->cause);
	json_object_set_array_member(object, "steps", steps_json(look->report));
	return object;
}

static void
print_health(const GbeCli *cli, const GbeHealthReport *report)
{
	bool healthy = report->health == GBE_HEALTH_HEALTHY;

	/* A reason like "healthy, 3.5.16, ..." begins with the word already. */
	gbe_print("%s%s%s\n", healthy ? "" : gbe_health_to_string(report->health),
		  healthy ? "" : ": ", report->reason);
	for (guint i = 0; i < GBE_N_CHECKS; i++) {
		const GbeCheck *step = &report->steps[i];

		if (cli->verbose || step->result == GBE_CHECK_WARNING ||
		    step->result == GBE_CHECK_FAILED)
			gbe_print("  %-14s %-13s %s\n", gbe_check_result_to_string(step->result),
				  gbe_check_to_string((GbeCheckKind)i),
				  step->detail != NULL ? step->detail : "");
	}
}

static GbeExitStatus
health_status(GbeHealth health)
{
	switch (health) {
	case GBE_HEALTH_HEALTHY:
		return GBE_EXIT_DONE;
	case GBE_HEALTH_UNHEALTHY:
		return GBE_EXIT_UNHEALTHY;
	case GBE_HEALTH_NOT_ASKED:
	case GBE_HEALTH_CANNOT_TELL:
	default:
		return GBE_EXIT_CANNOT_TELL;
	}
}

bool
gbe_verb_health(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbeHealthLook) look = NULL;
	guint64 seconds = 0;

	if (!gbe_verb_duration("--wait", arg_wait, G_MAXUINT, &seconds, error))
		return false;
	look = gbe_health_look_new(cli->app);
	gbe_health_look_expect_own(look);
	look_until(look, seconds);
	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_cli_health_json(look);

		gbe_print_object(object);
	} else if (!cli->quiet) {
		print_health(cli, look->report);
	}
	cli->status = health_status(look->report->health);
	return true;
}

typedef struct {
	const char *result;
	const GPtrArray *findings;
} PreflightAnswer;

static const GbeField finding_fields[] = {
    GBE_FIELD_SET(GbeNotice, check, "check", TEXT),
    GBE_FIELD_OF(GbeNotice, level, "result", SAID, gbe_level_to_string, 0),
    GBE_FIELD_SET(GbeNotice, line, "text", TEXT),
    {0},
};
static const GbeFieldItems finding_items = {finding_fields, sizeof(GbeNotice)};

const GbeField gbe_preflight_fields[] = {
    GBE_FIELD_SET(PreflightAnswer, result, "result", TEXT),
    GBE_FIELD_OF(PreflightAnswer, findings, "findings", LIST, &finding_items, 0),
    {0},
};

JsonObject *
gbe_cli_preflight_json(const GPtrArray *findings)
{
	int status = gbe_preflight_status(findings);
	const PreflightAnswer answer = {status == 0   ? "ready"
					: status == 5 ? "not-ready"
						      : "cannot-tell",
					findings};

	return gbe_fields_answer(gbe_preflight_fields, &answer);
}

bool
gbe_verb_preflight(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GPtrArray) findings = NULL;
	g_autoptr(GbeHealthLook) look = NULL;

	if (gbe_configuration_load(cli->app, NULL)) {
		look = gbe_health_look_new(cli->app);
		gbe_health_look_now(look, PREFLIGHT_LOOK_MS);
	}
	findings = gbe_preflight_check(cli->app, look);
	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_cli_preflight_json(findings);

		gbe_print_object(object);
	}
	gbe_cli_fit(cli, NULL);
	for (guint i = 0; i < findings->len && !cli->json && !cli->quiet; i++) {
		const GbeNotice *finding = findings->pdata[i];

		gbe_print("%-8s %-14s %s\n", gbe_level_to_string(finding->level), finding->check,
			  finding->line);
	}
	cli->status = (GbeExitStatus)gbe_preflight_status(findings);
	return true;
}
