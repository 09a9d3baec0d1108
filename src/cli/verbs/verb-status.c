/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/health/certificates.h"
#include "app/report/status.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"
#include "core/space.h"

#include <string.h>

#define PROBE_MS 300

static gboolean arg_check, arg_full;

const GOptionEntry gbe_options_status[] = {
    {"check", 0, 0, G_OPTION_ARG_NONE, &arg_check,
     "Exit with 0 where all is well, 6 where something is wrong, 7 where that cannot be told",
     NULL},
    {"full", 0, 0, G_OPTION_ARG_NONE, &arg_full, "Whole names and long lines, on a terminal too",
     NULL},
    {NULL},
};

static char *
short_id(const char *id)
{
	return id != NULL ? gbe_deployment_id_short(id) : g_strdup("unknown");
}

static void
print_owner(JsonObject *status)
{
	JsonObject *owner = gbe_json_object(status, "owner");
	const char *deployment = gbe_json_string(owner, "deployment", NULL);
	const char *run = gbe_json_string(owner, "run", NULL);
	bool here = g_strcmp0(deployment, gbe_json_string(status, "booted", NULL)) == 0;
	bool now = g_strcmp0(run, gbe_json_string(status, "run", NULL)) == 0;
	g_autofree char *text = short_id(deployment);

	if (deployment == NULL && run == NULL)
		gbe_print_field("Owner", "nobody yet");
	else
		gbe_print_field("Owner", "%s, %s run%s%s", here ? "this deployment" : text,
				now ? "this" : "in another", now ? "" : " ", now ? "" : run);
}

static void
print_etcd(JsonObject *status)
{
	JsonObject *etcd = gbe_json_object(status, "etcd");
	JsonArray *warnings = gbe_json_array(etcd, "warnings");
	const char *version = gbe_json_string(etcd, "version", NULL);
	const char *reason = gbe_json_string(etcd, "reason", NULL);
	const char *healthy = gbe_text_tri(etcd, "healthy");
	const char *word = g_str_equal(healthy, "yes")	? "healthy"
			   : g_str_equal(healthy, "no") ? "not healthy"
							: "cannot tell";

	/* A reason that begins with the word has the version, too. */
	if (reason != NULL && g_str_has_prefix(reason, word))
		gbe_print_field("etcd", "%s", reason);
	else
		gbe_print_field("etcd", "%s%s%s%s%s", word, version != NULL ? ", version " : "",
				version != NULL ? version : "", reason != NULL ? ": " : "",
				reason != NULL ? reason : "");
	for (guint i = 0; warnings != NULL && i < json_array_get_length(warnings); i++)
		gbe_print_field("", "%s", json_array_get_string_element(warnings, i));
}

static void
print_data(JsonObject *status)
{
	JsonObject *data = gbe_json_object(status, "data");
	JsonObject *good = gbe_json_object(status, "last_good");
	gint64 size = gbe_json_known(data, "size");
	g_autofree char *size_text = size >= 0 ? gbe_size_to_text((guint64)size) : NULL;
	gint64 age = good != NULL ? gbe_json_known(good, "age") : -1;
	g_autofree char *age_text = age >= 0 ? gbe_duration_to_text((guint64)age) : NULL;

	gbe_print_field("Data", "%s, %s", gbe_json_string(data, "path", "?"),
			size_text != NULL ? size_text : "not there, or not readable");
	if (good == NULL)
		gbe_print_field("Backups", "%" G_GINT64_FORMAT ", none of them good",
				gbe_json_int(status, "backups", 0));
	else
		gbe_print_field("Backups", "%" G_GINT64_FORMAT "; last good %s%s%s%s",
				gbe_json_int(status, "backups", 0),
				gbe_json_string(good, "name", "?"), age_text != NULL ? ", " : "",
				age_text != NULL ? age_text : "", age_text != NULL ? " old" : "");
}

static void
print_last(JsonObject *status)
{
	JsonObject *last = gbe_json_object(status, "last_operation");
	g_autofree char *when = NULL;
	const char *backup, *reason, *rule;

	if (last == NULL) {
		gbe_print_field("Last", "nothing was done yet");
		return;
	}
	when = gbe_text_time(gbe_json_known(last, "started"));
	backup = gbe_json_string(last, "backup", NULL);
	reason = gbe_json_string(last, "reason", NULL);
	rule = gbe_json_string(last, "rule", NULL);
	gbe_print_field("Last", "%s%s%s, %s, %s%s%s%s%s%s", gbe_json_string(last, "operation", "?"),
			backup != NULL ? " " : "", backup != NULL ? backup : "", when,
			gbe_json_string(last, "result", "?"), rule != NULL ? " (" : "",
			rule != NULL && g_ascii_isdigit(rule[0]) ? "rule " : "",
			rule != NULL ? rule : "", rule != NULL ? ")" : "", "");
	if (reason != NULL)
		gbe_print_field("", "%s", reason);
}

static char *
ago(gint64 seconds)
{
	return seconds >= 0 ? gbe_duration_to_text((guint64)seconds) : NULL;
}

/* First what is known to work, then what waits, then what the last push cost. */
static void
print_offsite(JsonObject *status)
{
	JsonObject *offsite = gbe_json_object(status, "offsite");
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	gint64 waiting, pushed_at, sent;
	const char *failed;
	g_autofree char *proved = NULL, *pushed = NULL, *bytes = NULL;

	if (offsite == NULL)
		return;
	proved = ago(gbe_json_known(offsite, "proved_age"));
	gbe_print_field("Offsite", "%s%s%s%s",
			gbe_json_string(offsite, "proved", "none proved yet"),
			proved != NULL ? ", proved " : "", proved != NULL ? proved : "",
			proved != NULL ? " ago" : "");
	waiting = gbe_json_int(offsite, "waiting", 0);
	failed = gbe_json_string(offsite, "failed", NULL);
	if (waiting > 0 || failed != NULL)
		gbe_print_field("", "%" G_GINT64_FORMAT " %s to be sent%s%s", waiting,
				waiting == 1 ? "waits" : "wait", failed != NULL ? ": " : "",
				failed != NULL ? failed : "");
	pushed_at = gbe_json_known(offsite, "pushed_at");
	if (pushed_at < 0)
		return;
	pushed = ago(MAX(now - pushed_at, 0));
	sent = gbe_json_known(offsite, "sent");
	bytes = gbe_size_to_text((guint64)MAX(sent, 0));
	gbe_print_field("", "pushed %s ago: %s in %" G_GINT64_FORMAT " requests, %.1f s", pushed,
			bytes, gbe_json_int(offsite, "requests", 0),
			(double)gbe_json_int(offsite, "duration_ms", 0) / 1000);
}

static void
print_periodic(JsonObject *status)
{
	JsonObject *periodic = gbe_json_object(status, "periodic");
	g_autofree char *age_text = NULL;
	const char *result, *reason;
	gint64 age;

	if (periodic == NULL)
		return;
	age = gbe_json_known(periodic, "age");
	result = gbe_json_string(periodic, "result", NULL);
	reason = gbe_json_string(periodic, "reason", NULL);
	age_text = age >= 0 ? gbe_duration_to_text((guint64)age) : NULL;
	gbe_print_field("Periodic", "%s; %s%s%s%s", gbe_json_string(periodic, "schedule", "?"),
			age_text != NULL ? "last success " : "none yet",
			age_text != NULL ? age_text : "", age_text != NULL ? " ago" : "",
			gbe_json_bool(periodic, "overdue", false) ? ", OVERDUE" : "");
	if (result != NULL)
		gbe_print_field("", "%s: %s", result,
				reason != NULL ? reason : gbe_json_string(periodic, "backup", "?"));
}

static void
print_greenboot(JsonObject *status)
{
	JsonObject *greenboot = gbe_json_object(status, "greenboot");
	const char *flavour = gbe_json_string(greenboot, "flavour", "none");
	const char *judged = gbe_text_tri(status, "judged");
	const char *uncounted = gbe_json_string(greenboot, "reason", NULL);
	gint64 counter = gbe_json_known(greenboot, "boot_counter");
	g_autofree char *counting =
	    counter >= 0 ? g_strdup_printf(", boot counter %" G_GINT64_FORMAT, counter) : NULL;

	gbe_print_field("greenboot", "%s, %s%s%s",
			g_str_equal(flavour, "none") ? "not installed" : flavour,
			g_str_equal(judged, "yes")  ? "boots are judged"
			: g_str_equal(judged, "no") ? "nobody judges boots here"
						    : "whether boots are judged cannot be told",
			counting != NULL ? counting : "",
			g_str_equal(gbe_text_tri(greenboot, "rollback_imminent"), "yes")
			    ? ", a rollback is imminent"
			    : "");
	if (uncounted != NULL)
		gbe_print_field("", "and NOT COUNTED: %s", uncounted);
}

static void
print_next(JsonObject *status)
{
	JsonObject *next = gbe_json_object(status, "next");
	const char *action = gbe_json_string(next, "action", NULL);
	const char *reason = gbe_json_string(next, "reason", NULL);
	const char *backup = gbe_json_string(next, "backup", NULL);
	gint64 age = gbe_json_known(next, "age");
	gint64 revision = gbe_json_known(next, "revision");
	g_autofree char *deployment = short_id(gbe_json_string(next, "deployment", NULL));
	g_autofree char *age_text = age >= 0 ? gbe_duration_to_text((guint64)age) : NULL;
	g_autofree char *revision_text =
	    revision >= 0 ? g_strdup_printf(" to revision %" G_GINT64_FORMAT, revision) : NULL;

	if (g_strcmp0(action, "restore") == 0)
		gbe_print_field("Next boot", "%s: REWINDS etcd%s%s%s, to backup %s", deployment,
				revision_text != NULL ? revision_text : "",
				age_text != NULL ? " by " : "", age_text != NULL ? age_text : "",
				backup);
	else if (g_strcmp0(action, "hold") == 0)
		gbe_print_field("Next boot", "%s: HOLDS etcd BACK", deployment);
	else if (g_strcmp0(action, "fresh") == 0)
		gbe_print_field("Next boot", "%s: etcd starts without data", deployment);
	else if (action != NULL)
		gbe_print_field("Next boot", "%s: goes on with the data%s", deployment,
				g_strcmp0(action, "backup") == 0 ? ", after a backup of it" : "");
	else
		gbe_print_field("Next boot", "nothing is decided: %s",
				reason != NULL ? reason : "unknown");
	if (action != NULL && reason != NULL)
		gbe_print_field("", "rule %s: %s", gbe_json_string(next, "rule", "?"), reason);
}

static void
print_rehearsal(JsonObject *status)
{
	JsonObject *rehearsal = gbe_json_object(status, "rehearsal");
	const char *reason, *back;
	g_autofree char *deployment = NULL;

	if (rehearsal == NULL)
		return;
	deployment = short_id(gbe_json_string(rehearsal, "deployment", NULL));
	reason = gbe_json_string(rehearsal, "reason", NULL);
	back = gbe_json_string(rehearsal, "goes_back_reason", NULL);
	gbe_print_field("Rehearsal", "%s: %s, etcd %s to %s", deployment,
			gbe_json_string(rehearsal, "result", "?"),
			gbe_json_string(rehearsal, "from", "?"),
			gbe_json_string(rehearsal, "to", "?"));
	if (reason != NULL)
		gbe_print_field("", "%s", reason);
	if (back != NULL)
		gbe_print_field("", "%s", back);
}

static void
print_deployment(JsonObject *status)
{
	g_autofree char *booted = short_id(gbe_json_string(status, "booted", NULL));
	const char *unlocked = gbe_json_string(status, "unlocked", NULL);
	const char *neighbour = gbe_json_string(status, "other_stateroot", NULL);

	if (g_str_equal(gbe_text_tri(status, "ostree"), "no")) {
		gbe_print_field("Deployment", "none: this is no ostree system");
		return;
	}
	gbe_print_field("Deployment", "%s", booted);
	if (unlocked != NULL)
		gbe_print_field("", "unlocked (%s)", unlocked);
	if (neighbour != NULL)
		gbe_print_field("", "the stateroot %s has data of its own", neighbour);
}

/* etcd's health when its run was judged. The health of now has a line of its own. */
static void
print_run(JsonObject *status)
{
	const char *health = gbe_json_string(status, "health", "not-asked");
	bool asked = !g_str_equal(health, "not-asked");

	gbe_print_field("Run", "%s, verdict %s%s%s, on trial: %s",
			gbe_json_string(status, "run", "unknown"),
			gbe_json_string(status, "verdict", "none"), asked ? ", etcd " : "",
			asked ? health : "", gbe_text_tri(status, "trial"));
}

static bool
is_protected(JsonObject *protection)
{
	return g_strcmp0(gbe_json_string(protection, "state", NULL), "protected") == 0;
}

/* Prints the first line, with its reason and its hint below. */
static void
print_protection(JsonObject *protection)
{
	const char *reason = gbe_json_string(protection, "reason", "unknown");
	const char *hint = gbe_json_string(protection, "hint", "unknown");
	const char *covered = gbe_json_string(protection, "covered", NULL);
	bool needs_you = g_strcmp0(gbe_json_string(protection, "state", NULL), "needs-you") == 0;

	gbe_print_colour(is_protected(protection) ? GBE_GREEN : needs_you ? GBE_RED : GBE_YELLOW);
	if (is_protected(protection))
		gbe_print("Protected\n");
	else if (covered != NULL)
		gbe_print("Partly protected: %s. Not protected: %s\n", covered, reason);
	else
		gbe_print("%s: %s\n", needs_you ? "Needs you" : "Not protected",
			  needs_you ? hint : reason);
	gbe_print_colour(GBE_PLAIN);
	if (needs_you && strstr(hint, reason) == NULL)
		gbe_print_field("Because", "%s", reason);
	else if (!needs_you && !is_protected(protection))
		gbe_print_field("To do", "%s", hint);
}

static void
print_text(const GbeCli *cli, JsonObject *status)
{
	JsonArray *warnings = gbe_json_array(status, "warnings");

	print_protection(gbe_json_object(status, "protection"));
	if (cli->app->below_root)
		gbe_print_field("Root", "%s; all paths are below it", cli->app->root_path);
	print_deployment(status);
	print_run(status);
	print_owner(status);
	print_etcd(status);
	print_data(status);
	print_periodic(status);
	print_offsite(status);
	print_last(status);
	print_greenboot(status);
	print_next(status);
	print_rehearsal(status);
	for (guint i = 0; warnings != NULL && i < json_array_get_length(warnings); i++)
		gbe_print_field("Warning", "%s", json_array_get_string_element(warnings, i));
}

/* status --check: the first line as an exit status. */
static GbeExitStatus
check(JsonObject *status)
{
	JsonObject *protection = gbe_json_object(status, "protection");

	if (is_protected(protection))
		return GBE_EXIT_DONE;
	return gbe_json_bool(protection, "certain", false) ? GBE_EXIT_UNHEALTHY
							   : GBE_EXIT_CANNOT_TELL;
}

bool
gbe_verb_status(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(JsonObject) status = NULL;
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GbeHealthLook) look = NULL;

	if (!gbe_cli_observe(cli, &observed, error))
		return false;
	look = gbe_health_look_new(cli->app);
	gbe_certs_add_to_health(cli->app, look->facts);
	gbe_health_look_now(look, PROBE_MS);
	if (observed != NULL)
		status = gbe_status_collect(cli->app, observed, look);
	else if (!gbe_cli_read_status(cli, look, &status, error))
		return false;
	if (!arg_full)
		gbe_cli_fit_observed(cli, observed);
	if (cli->json)
		gbe_print_object(status);
	else
		print_text(cli, status);
	if (arg_check)
		cli->status = check(status);
	return true;
}
