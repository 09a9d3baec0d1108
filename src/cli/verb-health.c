/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* health and preflight: questions whose answer is in the exit status, too. */
#include "app/configuration.h"
#include "app/preflight.h"
#include "app/status.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/record.h"

#define POLL_USEC (G_USEC_PER_SEC / 5)
#define PREFLIGHT_PROBE_MS 5000

static char *arg_wait;

const GOptionEntry gbe_options_health[] = {
    {"wait", 0, 0, G_OPTION_ARG_FILENAME, &arg_wait,
     "Ask until it is healthy, for DURATION at most (10s, 5min)", "DURATION"},
    {NULL},
};

static void
probe_until(GbeCli *cli, guint64 seconds, GbeProbe *probe)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)MIN(seconds, 86400) * G_USEC_PER_SEC;
	guint timeout_ms = (guint)cli->app->config->health.request_timeout * 1000;

	for (;;) {
		gint64 left;

		gbe_status_probe(cli->app, timeout_ms, probe);
		left = deadline - g_get_monotonic_time();
		if (probe->health == GBE_HEALTH_HEALTHY || left <= 0)
			return;
		gbe_probe_clear(probe);
		g_usleep((gulong)MIN(left, POLL_USEC));
	}
}

static void
add_step(JsonArray *steps, const char *step, const char *result, const char *detail)
{
	JsonObject *object = json_object_new();

	gbe_json_set_string(object, "step", step);
	gbe_json_set_string(object, "result", result);
	gbe_json_set_string(object, "detail", detail);
	json_array_add_object_element(steps, object);
}

static JsonObject *
health_json(const GbeApp *app, const GbeProbe *probe)
{
	JsonObject *object = gbe_status_etcd(probe);
	JsonArray *steps = json_array_new();
	gboolean reached = probe->reached == GBE_YES;
	const char *health = gbe_health_to_string(probe->health);

	add_step(steps, "reached", gbe_tri_to_string(probe->reached), app->config->etcd.endpoint);
	add_step(steps, "health", reached ? health : "not-asked", reached ? probe->reason : NULL);
	add_step(steps, "version", probe->version != NULL ? "answered" : "not-asked",
		 probe->version);
	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	gbe_json_set_string(object, "health", health);
	json_object_set_array_member(object, "steps", steps);
	return object;
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
	g_autoptr(JsonObject) object = NULL;
	GbeProbe probe = {0};
	guint64 seconds = 0;

	if (arg_wait != NULL && !gbe_duration_parse(arg_wait, &seconds, error)) {
		if (error != NULL)
			(*error)->code = GBE_ERROR_USAGE;
		return gbe_prefix(error, "--wait");
	}
	probe_until(cli, seconds, &probe);
	object = health_json(cli->app, &probe);
	if (cli->json)
		gbe_print_object(object);
	else if (!cli->quiet)
		gbe_print("%s%s%s: %s\n", gbe_health_to_string(probe.health),
			  probe.version != NULL ? ", etcd " : "",
			  probe.version != NULL ? probe.version : "", probe.reason);
	cli->status = health_status(probe.health);
	gbe_probe_clear(&probe);
	return true;
}

static JsonObject *
preflight_json(const GPtrArray *findings)
{
	JsonObject *object = json_object_new();
	JsonArray *array = json_array_new();
	int status = gbe_preflight_status(findings);

	for (guint i = 0; i < findings->len; i++) {
		const GbePreflightFinding *finding = findings->pdata[i];
		JsonObject *element = json_object_new();

		gbe_json_set_string(element, "check", finding->check);
		gbe_json_set_string(element, "result",
				    gbe_preflight_level_to_string(finding->level));
		gbe_json_set_string(element, "text", finding->text);
		json_array_add_object_element(array, element);
	}
	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	gbe_json_set_string(object, "result",
			    status == 0	  ? "ready"
			    : status == 5 ? "not-ready"
					  : "cannot-tell");
	json_object_set_array_member(object, "findings", array);
	return object;
}

bool
gbe_verb_preflight(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GPtrArray) findings = NULL;
	GbeProbe probe = {0};
	gboolean configured = gbe_configuration_load(cli->app, FALSE, NULL);

	if (configured)
		gbe_status_probe(cli->app, PREFLIGHT_PROBE_MS, &probe);
	findings = gbe_preflight_check(cli->app, configured ? &probe : NULL);
	if (configured)
		gbe_probe_clear(&probe);
	if (cli->json) {
		g_autoptr(JsonObject) object = preflight_json(findings);

		gbe_print_object(object);
	}
	for (guint i = 0; i < findings->len && !cli->json && !cli->quiet; i++) {
		const GbePreflightFinding *finding = findings->pdata[i];

		gbe_print("%-8s %-14s %s\n", gbe_preflight_level_to_string(finding->level),
			  finding->check, finding->text);
	}
	cli->status = (GbeExitStatus)gbe_preflight_status(findings);
	return true;
}
