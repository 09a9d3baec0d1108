/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/health/certificates.h"
#include "app/report/status.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/space.h"

#include <string.h>

static gboolean arg_check, arg_full;

const GbeOption gbe_options_status[] = {
    {"check", 0, &arg_check, "Set the exit status: 0 protected, 6 not protected, 7 unknown"},
    {"full", 0, &arg_full, "Print whole names and long lines, also on a terminal"},
    {NULL},
};

static char *
short_id(const char *id)
{
	return id != NULL ? gbe_deployment_id_short(id) : g_strdup("unknown");
}

static const char *
or_unknown(const char *text)
{
	return text != NULL ? text : "?";
}

/* NULL where @seconds is not known. */
static char *
duration(gint64 seconds)
{
	return seconds >= 0 ? gbe_duration_to_text((guint64)seconds) : NULL;
}

static void
print_deployment(const GbeStatus *status)
{
	g_autofree char *booted = short_id(status->booted);

	if (status->ostree == GBE_NO) {
		gbe_print_field("Deployment", "none: this is no ostree system");
		return;
	}
	gbe_print_field("Deployment", "%s", booted);
	if (status->unlocked != NULL)
		gbe_print_field("", "unlocked (%s)", status->unlocked);
	if (status->other_stateroot != NULL)
		gbe_print_field("", "the stateroot %s has data of its own",
				status->other_stateroot);
}

static void
print_run(const GbeStatus *status)
{
	const GbeStatusOwner *owner = &status->owner;
	bool here = g_strcmp0(owner->deployment, status->booted) == 0;
	bool now = g_strcmp0(owner->run, status->run) == 0;
	g_autofree char *deployment = short_id(owner->deployment);
	/* etcd's health when its run was judged. The health of now has a line of its own. */
	bool asked = status->health != NULL && !g_str_equal(status->health, "not-asked");

	gbe_print_field("Run", "%s, verdict %s%s%s, on trial: %s",
			status->run != NULL ? status->run : "unknown",
			status->verdict != NULL ? status->verdict : "none", asked ? ", etcd " : "",
			asked ? status->health : "", gbe_tri_to_string(status->trial));
	if (owner->deployment == NULL && owner->run == NULL)
		gbe_print_field("Owner", "nobody yet");
	else
		gbe_print_field("Owner", "%s, %s run%s%s", here ? "this deployment" : deployment,
				now ? "this" : "in another", now ? "" : " ",
				now || owner->run == NULL ? "" : owner->run);
}

static void
print_etcd(const GbeStatusEtcd *etcd)
{
	const char *word = etcd->healthy == GBE_YES  ? "healthy"
			   : etcd->healthy == GBE_NO ? "not healthy"
						     : "cannot tell";

	/* A reason that begins with the word has the version, too. */
	if (etcd->reason != NULL && g_str_has_prefix(etcd->reason, word))
		gbe_print_field("etcd", "%s", etcd->reason);
	else
		gbe_print_field(
		    "etcd", "%s%s%s%s%s", word, etcd->version != NULL ? ", version " : "",
		    etcd->version != NULL ? etcd->version : "", etcd->reason != NULL ? ": " : "",
		    etcd->reason != NULL ? etcd->reason : "");
	for (guint i = 0; i < etcd->warnings->len; i++)
		gbe_print_field("", "%s", (const char *)etcd->warnings->pdata[i]);
}

static void
print_data(const GbeStatus *status)
{
	const GbeStatusGood *good = status->last_good;
	g_autofree char *size =
	    status->data.size >= 0 ? gbe_size_to_text((guint64)status->data.size) : NULL;
	g_autofree char *age = good != NULL ? duration(good->age) : NULL;

	gbe_print_field("Data", "%s, %s", or_unknown(status->data.path),
			size != NULL ? size : "not there, or not readable");
	if (good == NULL)
		gbe_print_field("Backups", "%u, none of them good", status->backups);
	else
		gbe_print_field("Backups", "%u; last good %s%s%s%s", status->backups,
				or_unknown(good->name), age != NULL ? ", " : "",
				age != NULL ? age : "", age != NULL ? " old" : "");
}

static void
print_periodic(const GbePeriodicStatus *periodic)
{
	g_autofree char *age = NULL;

	if (periodic == NULL)
		return;
	age = duration(periodic->age);
	gbe_print_field("Periodic", "%s; %s%s%s%s", or_unknown(periodic->schedule),
			age != NULL ? "last success " : "none yet", age != NULL ? age : "",
			age != NULL ? " ago" : "", periodic->overdue ? ", OVERDUE" : "");
	if (periodic->result != NULL)
		gbe_print_field("", "%s: %s", periodic->result,
				periodic->record.reason != NULL
				    ? periodic->record.reason
				    : or_unknown(periodic->record.backup));
}

/* First what is known to work, then what waits, then what the last push cost. */
static void
print_offsite(const GbeOffsiteStatus *offsite)
{
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	g_autofree char *proved = NULL, *pushed = NULL, *bytes = NULL;

	if (offsite == NULL)
		return;
	proved = duration(offsite->proved_age);
	gbe_print_field("Offsite", "%s%s%s%s",
			offsite->record.proved != NULL ? offsite->record.proved : "none proved yet",
			proved != NULL ? ", proved " : "", proved != NULL ? proved : "",
			proved != NULL ? " ago" : "");
	if (offsite->waiting > 0 || offsite->record.failed_why != NULL)
		gbe_print_field("", "%u %s to be sent%s%s", offsite->waiting,
				offsite->waiting == 1 ? "waits" : "wait",
				offsite->record.failed_why != NULL ? ": " : "",
				offsite->record.failed_why != NULL ? offsite->record.failed_why
								   : "");
	if (offsite->record.pushed_at < 0)
		return;
	pushed = duration(MAX(now - offsite->record.pushed_at, 0));
	bytes = gbe_size_to_text((guint64)MAX(offsite->record.sent, 0));
	gbe_print_field("", "pushed %s ago: %s in %" G_GINT64_FORMAT " requests, %.1f s", pushed,
			bytes, MAX(offsite->record.requests, 0),
			(double)MAX(offsite->duration_ms, 0) / 1000);
}

static void
print_last(const GbeLastOperation *last)
{
	g_autofree char *when = NULL;
	const char *rule;

	if (last == NULL) {
		gbe_print_field("Last", "nothing was done yet");
		return;
	}
	when = gbe_text_time(last->started);
	rule = last->rule;
	gbe_print_field("Last", "%s%s%s, %s, %s%s%s%s%s", or_unknown(last->operation),
			last->backup != NULL ? " " : "", last->backup != NULL ? last->backup : "",
			when, or_unknown(last->result), rule != NULL ? " (" : "",
			rule != NULL && g_ascii_isdigit(rule[0]) ? "rule " : "",
			rule != NULL ? rule : "", rule != NULL ? ")" : "");
	if (last->reason != NULL)
		gbe_print_field("", "%s", last->reason);
}

static void
print_greenboot(const GbeStatus *status)
{
	const GbeStatusGreenboot *greenboot = &status->greenboot;
	const char *flavour = greenboot->flavour != NULL ? greenboot->flavour : "none";
	g_autofree char *counting =
	    greenboot->boot_counter >= 0
		? g_strdup_printf(", boot counter %" G_GINT64_FORMAT, greenboot->boot_counter)
		: NULL;

	gbe_print_field("greenboot", "%s, %s%s%s",
			g_str_equal(flavour, "none") ? "not installed" : flavour,
			status->judged == GBE_YES  ? "boots are judged"
			: status->judged == GBE_NO ? "nobody judges boots here"
						   : "whether boots are judged cannot be told",
			counting != NULL ? counting : "",
			greenboot->rollback_imminent == GBE_YES ? ", a rollback is imminent" : "");
	if (greenboot->reason != NULL)
		gbe_print_field("", "and NOT COUNTED: %s", greenboot->reason);
}

static void
print_next(const GbeStatusNext *next)
{
	const char *action = next->action;
	g_autofree char *deployment = short_id(next->deployment);
	g_autofree char *age = duration(next->age);
	g_autofree char *revision =
	    next->revision >= 0 ? g_strdup_printf(" to revision %" G_GINT64_FORMAT, next->revision)
				: NULL;

	if (g_strcmp0(action, "restore") == 0)
		gbe_print_field("Next boot", "%s: REWINDS etcd%s%s%s, to backup %s", deployment,
				revision != NULL ? revision : "", age != NULL ? " by " : "",
				age != NULL ? age : "", or_unknown(next->backup));
	else if (g_strcmp0(action, "hold") == 0)
		gbe_print_field("Next boot", "%s: HOLDS etcd BACK", deployment);
	else if (g_strcmp0(action, "fresh") == 0)
		gbe_print_field("Next boot", "%s: etcd starts without data", deployment);
	else if (action != NULL)
		gbe_print_field("Next boot", "%s: goes on with the data%s", deployment,
				g_str_equal(action, "backup") ? ", after a backup of it" : "");
	else
		gbe_print_field("Next boot", "nothing is decided: %s",
				next->reason != NULL ? next->reason : "unknown");
	if (action != NULL && next->reason != NULL)
		gbe_print_field("", "rule %s: %s", or_unknown(next->rule), next->reason);
}

static void
print_rehearsal(const GbeRehearsal *rehearsal)
{
	g_autofree char *deployment = NULL;

	if (rehearsal == NULL)
		return;
	deployment = short_id(rehearsal->deployment.id);
	gbe_print_field("Rehearsal", "%s: %s, etcd %s to %s", deployment,
			or_unknown(gbe_rehearsal_result_to_string(rehearsal->result)),
			or_unknown(rehearsal->from), or_unknown(rehearsal->to));
	if (rehearsal->reason != NULL)
		gbe_print_field("", "%s", rehearsal->reason);
	if (rehearsal->going_back != NULL)
		gbe_print_field("", "%s", rehearsal->going_back);
}

static bool
is_protected(const GbeStatus *status)
{
	return status->protection != NULL && status->protection->state == GBE_PROTECTED;
}

/* Prints the first line, with its reason and its hint below. */
static void
print_protection(const GbeStatus *status)
{
	static const GbeProtection unknown = {.state = GBE_NOT_PROTECTED};
	const GbeProtection *protection =
	    status->protection != NULL ? status->protection : &unknown;
	const char *reason = protection->reason != NULL ? protection->reason : "unknown";
	const char *hint = protection->hint != NULL ? protection->hint : "unknown";
	bool needs_you = protection->state == GBE_NEEDS_YOU;

	gbe_print_colour(is_protected(status) ? GBE_GREEN : needs_you ? GBE_RED : GBE_YELLOW);
	if (is_protected(status))
		gbe_print("Protected\n");
	else if (protection->covered != NULL)
		gbe_print("Partly protected: %s. Not protected: %s\n", protection->covered, reason);
	else
		gbe_print("%s: %s\n", needs_you ? "Needs you" : "Not protected",
			  needs_you ? hint : reason);
	gbe_print_colour(GBE_PLAIN);
	if (needs_you && strstr(hint, reason) == NULL)
		gbe_print_field("Because", "%s", reason);
	else if (!needs_you && !is_protected(status))
		gbe_print_field("To do", "%s", hint);
}

static void
print_text(const GbeCli *cli, const GbeStatus *status)
{
	print_protection(status);
	if (cli->app->below_root)
		gbe_print_field("Root", "%s; all paths are below it", cli->app->root_path);
	print_deployment(status);
	print_run(status);
	print_etcd(&status->etcd);
	print_data(status);
	print_periodic(status->periodic);
	print_offsite(status->offsite);
	print_last(status->last_operation);
	print_greenboot(status);
	print_next(&status->next);
	print_rehearsal(status->rehearsal);
	for (guint i = 0; i < status->warnings->len; i++)
		gbe_print_field("Warning", "%s", (const char *)status->warnings->pdata[i]);
}

bool
gbe_verb_status(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbeStatus) status = NULL;
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GbeHealthLook) look = NULL;

	if (!gbe_cli_observe(cli, &observed, error))
		return false;
	look = gbe_health_look_new(cli->app);
	gbe_certs_add_to_health(cli->app, look->facts);
	gbe_health_look_briefly(look);
	if (observed != NULL)
		status = gbe_status_collect(cli->app, observed, look, NULL);
	else if (!gbe_cli_read_status(cli, look, &status, error))
		return false;
	if (!arg_full)
		gbe_cli_fit(cli, observed);
	if (cli->json)
		gbe_print_answer(gbe_status_fields, status);
	else
		print_text(cli, status);
	if (arg_check && !is_protected(status))
		cli->status = status->protection != NULL && status->protection->certain
				  ? GBE_EXIT_UNHEALTHY
				  : GBE_EXIT_CANNOT_TELL;
	return true;
}
