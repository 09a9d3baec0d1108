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

/* NULL: unknown. */
static char *
age_text(gint64 seconds)
{
	return seconds >= 0 ? gbe_duration_to_text((guint64)seconds) : NULL;
}

static const char *
or_unknown(const char *text)
{
	return text != NULL ? text : "unknown";
}

/* A terminal shows the version. */
static char *
name_of(const GbeStatus *status, const char *id)
{
	GBE_EACH(const GbeDeploymentName *, name, status->deployments)
		if (g_strcmp0(name->id, id) == 0 && name->place != NULL &&
		    !g_str_equal(name->place, "booted"))
			return g_strdup_printf("%s (%s)", id, name->place);
	return g_strdup(or_unknown(id));
}

static const GbeProtection *
protection_of(const GbeStatus *status)
{
	static const GbeProtection unknown = {.state = GBE_NOT_PROTECTED,
					      .reason = (char *)"unknown"};

	return status->protection != NULL ? status->protection : &unknown;
}

static bool
is_protected(const GbeStatus *status)
{
	return protection_of(status)->state == GBE_PROTECTED;
}

/* Does the first line say this already? */
static bool
is_told(const GbeStatus *status, const char *text)
{
	const char *reason = protection_of(status)->reason;

	return text != NULL && reason != NULL &&
	       (strstr(text, reason) != NULL || strstr(reason, text) != NULL);
}

static bool
is_held(const GbeStatus *status)
{
	const char *reason = protection_of(status)->reason;

	return reason != NULL && g_str_has_prefix(reason, "etcd is held back");
}

/* The first line, the sentence why, and the way out. */
static void
print_protection(const GbeStatus *status)
{
	const GbeProtection *protection = protection_of(status);
	const char *reason = or_unknown(protection->reason);
	bool needs_you = protection->state == GBE_NEEDS_YOU;
	guint n_steps = protection->steps != NULL ? protection->steps->len : 0;

	gbe_print_colour(is_protected(status) ? GBE_GREEN : needs_you ? GBE_RED : GBE_YELLOW);
	if (is_protected(status))
		gbe_print("Protected\n");
	else if (protection->covered != NULL)
		gbe_print("Partly protected: %s. Not protected: %s\n", protection->covered, reason);
	else
		gbe_print("%s: %s\n", needs_you ? "Needs you" : "Not protected",
			  needs_you && n_steps == 0 ? or_unknown(protection->hint) : reason);
	gbe_print_colour(GBE_PLAIN);
	gbe_print("\n");
	if (is_protected(status))
		return;
	if (protection->safe != NULL)
		gbe_print("  %s\n", protection->safe);
	for (guint i = 0; i < n_steps; i++)
		gbe_print("  %u. %s\n", i + 1, (const char *)protection->steps->pdata[i]);
	if (!needs_you && n_steps == 0)
		gbe_print("  To do: %s\n", or_unknown(protection->hint));
	if (!needs_you || n_steps > 0 || protection->safe != NULL)
		gbe_print("\n");
}

/* The facts of the decision, for people who know the rules. */
static void
print_details(const GbeStatus *status)
{
	g_autofree char *owner = name_of(status, status->owner.deployment);

	gbe_print_entry("Run", "%s, verdict %s, etcd %s, on trial: %s", or_unknown(status->run),
			status->verdict != NULL ? status->verdict : "none",
			status->health != NULL ? status->health : "not-asked",
			gbe_tri_to_string(status->trial));
	gbe_print_entry(
	    "Owner", "%s, run %s",
	    g_strcmp0(status->owner.deployment, status->booted) == 0 ? "this deployment" : owner,
	    g_strcmp0(status->owner.run, status->run) == 0 ? "this run"
							   : or_unknown(status->owner.run));
	if (status->last_operation != NULL && status->last_operation->rule != NULL)
		gbe_print_entry("Last rule", "%s", status->last_operation->rule);
	if (status->next.rule != NULL)
		gbe_print_entry("Next rule", "%s: %s", status->next.rule,
				or_unknown(status->next.reason));
}

static const char *
verdict_text(const GbeStatus *status)
{
	const char *verdict = status->verdict != NULL ? status->verdict : "none";

	if (g_str_equal(verdict, "green"))
		return "good boot";
	if (g_str_equal(verdict, "red"))
		return "failed boot";
	if (status->judged == GBE_NO)
		return "boots are not judged";
	return status->trial == GBE_YES ? "waiting for the first good boot" : "not judged yet";
}

static void
print_system(const GbeStatus *status)
{
	const GbeStatusGreenboot *greenboot = &status->greenboot;
	const char *flavour = greenboot->flavour != NULL ? greenboot->flavour : "none";
	bool installed = !g_str_equal(flavour, "none");
	g_autofree char *booted = name_of(status, status->booted);
	g_autofree char *counting =
	    greenboot->boot_counter >= 0
		? g_strdup_printf(", boot counter %" G_GINT64_FORMAT, greenboot->boot_counter)
		: NULL;

	if (status->ostree == GBE_NO) {
		gbe_print_entry("System", "not an ostree system");
		return;
	}
	gbe_print_entry("System", "%s, %s (%s)%s%s", booted, verdict_text(status),
			installed ? "greenboot" : "greenboot is not installed",
			counting != NULL ? counting : "",
			greenboot->rollback_imminent == GBE_YES ? ", a rollback is imminent" : "");
	if (status->unlocked != NULL)
		gbe_print_entry("", "unlocked (%s)", status->unlocked);
	if (status->other_stateroot != NULL)
		gbe_print_entry("", "the stateroot %s has data of its own",
				status->other_stateroot);
	if (greenboot->reason != NULL && !is_told(status, greenboot->reason))
		gbe_print_entry("", "boots are not counted: %s", greenboot->reason);
}

static void
print_etcd(const GbeStatus *status)
{
	const GbeStatusEtcd *etcd = &status->etcd;
	const char *reason = etcd->reason;

	if (etcd->healthy == GBE_YES)
		gbe_print_entry("etcd", "%s", reason != NULL ? reason : "healthy");
	else if (is_held(status))
		gbe_print_entry("etcd", "stopped");
	else if (etcd->healthy == GBE_NO && is_told(status, reason))
		gbe_print_entry("etcd", "not healthy");
	else if (etcd->healthy == GBE_NO)
		gbe_print_entry("etcd", "not healthy: %s", or_unknown(reason));
	else
		gbe_print_entry("etcd", "unknown%s%s", is_told(status, reason) ? "" : " because ",
				is_told(status, reason) ? "" : or_unknown(reason));
	for (guint i = 0; i < etcd->warnings->len; i++)
		gbe_print_entry("", "%s", (const char *)etcd->warnings->pdata[i]);
}

static void
print_data(const GbeStatus *status)
{
	const GbeStatusGood *good = status->last_good;
	g_autofree char *size =
	    status->data.size >= 0 ? gbe_size_to_text((guint64)status->data.size) : NULL;
	g_autofree char *age = good != NULL ? age_text(good->age) : NULL;

	gbe_print_entry("Data", "%s, %s", or_unknown(status->data.path),
			size != NULL			      ? size
			: status->data.present == GBE_NO      ? "missing"
			: status->data.present == GBE_UNKNOWN ? "not readable"
							      : "of unknown size");
	if (good == NULL)
		gbe_print_entry("Backups", "%u, no good one", status->backups);
	else
		gbe_print_entry("Backups", "%u, the last good one is %s%sold (%s)", status->backups,
				age != NULL ? age : "", age != NULL ? " " : "",
				or_unknown(good->name));
}

static void
print_schedule(const GbePeriodicStatus *periodic)
{
	g_autofree char *age = NULL;

	if (periodic == NULL)
		return;
	age = age_text(periodic->age);
	gbe_print_entry("Schedule", "%s; %s%s%s%s", or_unknown(periodic->schedule),
			age != NULL ? "last success " : "no success yet", age != NULL ? age : "",
			age != NULL ? " ago" : "", periodic->overdue ? ", OVERDUE" : "");
	/* The trouble names the reason. */
	if (!periodic->overdue && periodic->result != NULL && periodic->record.reason != NULL)
		gbe_print_entry("", "%s: %s", periodic->result, periodic->record.reason);
}

static void
print_offsite(const GbeOffsiteStatus *offsite)
{
	g_autofree char *proved = NULL;
	const char *why;

	if (offsite == NULL)
		return;
	/* The trouble names the reason, and is a warning. */
	why =
	    offsite->trouble && offsite->record.damaged == NULL ? NULL : offsite->record.failed_why;
	proved = age_text(offsite->proved_age);
	gbe_print_entry("Off device", "%s%s%s%s",
			offsite->record.proved != NULL ? offsite->record.proved
						       : "no proved snapshot yet",
			proved != NULL ? ", proved " : "", proved != NULL ? proved : "",
			proved != NULL ? " ago" : "");
	if (offsite->waiting > 0)
		gbe_print_entry("", "%u waiting to be sent%s%s", offsite->waiting,
				why != NULL ? ": " : "", why != NULL ? why : "");
	else if (why != NULL)
		gbe_print_entry("", "a push failed: %s", why);
}

/* The operation in words; newly allocated. */
static char *
last_words(const GbeLastOperation *last)
{
	static const struct {
		const char *operation, *done;
	} words[] = {
	    {"backup", "backed up as"}, {"restore", "restored from"}, {"undo", "undo restored"},
	    {"mark", "graded"},		{"delete", "deleted"},	      {"import", "imported"},
	    {"pin", "pinned"},		{"unpin", "unpinned"},
	};
	const char *operation = or_unknown(last->operation), *result = or_unknown(last->result);

	if (g_str_equal(result, "held"))
		return g_strdup("etcd was held back");
	if (g_str_equal(result, "done") && g_str_equal(operation, "fresh"))
		return g_strdup("etcd started without data");
	for (guint i = 0; i < G_N_ELEMENTS(words) && last->backup != NULL; i++)
		if (g_str_equal(result, "done") && g_str_equal(operation, words[i].operation))
			return g_strdup_printf("%s %s", words[i].done, last->backup);
	return g_strdup_printf("%s%s%s%s%s", operation, last->backup != NULL ? " of " : "",
			       last->backup != NULL ? last->backup : "",
			       g_str_equal(result, "done") ? "" : " ",
			       g_str_equal(result, "done") ? "" : result);
}

static void
print_last(const GbeStatus *status)
{
	const GbeLastOperation *last = status->last_operation;
	g_autofree char *when = last != NULL ? gbe_text_when(last->started) : NULL;
	g_autofree char *text = last != NULL ? last_words(last) : NULL;
	bool told;

	if (last == NULL) {
		gbe_print_entry("Last", "no operation yet");
		return;
	}
	told = last->reason == NULL || is_told(status, last->reason) ||
	       (g_strcmp0(last->result, "held") == 0 && is_held(status));
	gbe_print_entry("Last", "%s: %s%s%s", when, text, told ? "" : ": ",
			told ? "" : last->reason);
	if (last->set_aside != NULL)
		gbe_print_entry("", "the data that was there is kept as %s", last->set_aside);
}

static void
print_next(const GbeStatus *status)
{
	const GbeStatusNext *next = &status->next;
	const char *action = next->action;
	g_autofree char *name = name_of(status, next->deployment);
	g_autofree char *age = age_text(next->age);
	g_autofree char *revision =
	    next->revision >= 0 ? g_strdup_printf(" to revision %" G_GINT64_FORMAT, next->revision)
				: NULL;
	bool told = next->reason == NULL || is_told(status, next->reason);

	if (action == NULL) {
		gbe_print_entry("Next boot", "unknown%s%s", told ? "" : " because ",
				told ? "" : next->reason);
	} else if (g_str_equal(action, "restore")) {
		gbe_print_entry("Next boot", "%s: REWINDS etcd%s%s%s, to backup %s", name,
				revision != NULL ? revision : "", age != NULL ? " by " : "",
				age != NULL ? age : "", or_unknown(next->backup));
		if (!told)
			gbe_print_entry("", "%s", next->reason);
	} else if (g_str_equal(action, "hold")) {
		told = told || is_held(status);
		gbe_print_entry("Next boot", "%s: HOLDS etcd BACK%s%s", name, told ? "" : ": ",
				told ? "" : next->reason);
	} else if (g_str_equal(action, "fresh")) {
		gbe_print_entry("Next boot", "%s: etcd starts without data", name);
	} else {
		gbe_print_entry("Next boot", "%s: keeps the data%s", name,
				g_str_equal(action, "backup") ? ", after a backup" : "");
	}
}

static void
print_rehearsal(const GbeStatus *status)
{
	const GbeRehearsal *rehearsal = status->rehearsal;
	g_autofree char *name = NULL;

	if (rehearsal == NULL)
		return;
	name = name_of(status, rehearsal->deployment.id);
	gbe_print_entry("Rehearsal", "%s: %s, etcd %s to %s", name,
			or_unknown(gbe_rehearsal_result_to_string(rehearsal->result)),
			or_unknown(rehearsal->from), or_unknown(rehearsal->to));
	if (rehearsal->reason != NULL)
		gbe_print_entry("", "%s", rehearsal->reason);
	if (rehearsal->going_back != NULL)
		gbe_print_entry("", "%s", rehearsal->going_back);
}

static void
print_text(const GbeCli *cli, const GbeStatus *status)
{
	print_protection(status);
	if (cli->app->below_root)
		gbe_print_entry("Root", "%s; all paths are below it", cli->app->root_path);
	print_system(status);
	print_etcd(status);
	print_data(status);
	print_schedule(status->periodic);
	print_offsite(status->offsite);
	print_last(status);
	print_next(status);
	print_rehearsal(status);
	for (guint i = 0; i < status->warnings->len; i++)
		if (!is_told(status, status->warnings->pdata[i]))
			gbe_print_entry("Warning", "%s", (const char *)status->warnings->pdata[i]);
	if (cli->verbose)
		print_details(status);
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
