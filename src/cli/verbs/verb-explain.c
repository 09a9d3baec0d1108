/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/health/look.h"
#include "app/report/status.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/deployment.h"
#include "core/json/parse.h"

static char *arg_booted, *arg_verdict, *arg_return;
static gboolean arg_full;

const GbeOption gbe_options_explain[] = {
    {"booted", 0, &arg_booted, "Assume that this deployment boots: ID, rollback, staged, INDEX",
     "WHICH", "rollback,staged"},
    {"verdict", 0, &arg_verdict, "Assume this verdict for the run that owns the data", "VERDICT",
     "green,red,none"},
    {"return", 0, &arg_return, "Assume a deliberate or an accidental return", "HOW",
     "deliberate,accidental"},
    {"full", 0, &arg_full, "Print whole names and long lines, also on a terminal"},
    {NULL},
};

/* "@1 (good, 21 Nov 18:02, revision 12)" */
static char *
backup_text(const GbeFacts *facts, const char *name)
{
	const GbeManifest *backup = gbe_facts_backup(facts, name);
	g_autofree char *when = gbe_text_when(backup != NULL ? backup->created : 0);

	if (backup == NULL)
		return g_strdup(name);
	if (backup->revision < 0)
		return g_strdup_printf("%s (%s, %s)", name, gbe_grade_to_string(backup->grade),
				       when);
	return g_strdup_printf("%s (%s, %s, revision %" G_GINT64_FORMAT ")", name,
			       gbe_grade_to_string(backup->grade), when, backup->revision);
}

/* One step in words. NULL: the step changes nothing that a person sees. */
static char *
step_text(const GbeFacts *facts, const GbeAction *action)
{
	const char *reason = action->reason != NULL ? action->reason : "?";
	g_autofree char *backup = action->name != NULL ? backup_text(facts, action->name) : NULL;
	g_autofree char *why =
	    action->manifest != NULL ? gbe_manifest_why(action->manifest, NULL) : NULL;

	switch (action->kind) {
	case GBE_ACTION_RESTORE:
		return g_strdup_printf("restore  %s", backup);
	case GBE_ACTION_DISPLACE:
		return g_strdup_printf("keep     the present data as backup %s%s%s", action->name,
				       why != NULL ? ": " : "", why != NULL ? why : "");
	case GBE_ACTION_BACKUP:
		return g_strdup_printf("back up  the data as %s: %s", action->name, reason);
	case GBE_ACTION_KEEP:
		return g_strdup_printf("keep     the data: %s", reason);
	case GBE_ACTION_HOLD:
		return g_strdup_printf("hold     etcd back: %s", reason);
	case GBE_ACTION_FRESH:
		return g_strdup_printf("start    etcd without data: %s", reason);
	case GBE_ACTION_GRADE:
	case GBE_ACTION_DELETE:
		return g_strdup_printf("%s   %s: %s",
				       action->kind == GBE_ACTION_DELETE ? "delete" : "grade ",
				       backup, reason);
	case GBE_ACTION_TAKE_OVER:
	default:
		return NULL;
	}
}

/* @verbose: with the command for each, and the steps that only the ledger sees. */
static void
print_steps(const GbeFacts *facts, const GPtrArray *actions, bool verbose)
{
	guint number = 0;

	for (guint i = 0; i < actions->len; i++) {
		const GbeAction *action = actions->pdata[i];
		g_autofree char *text = step_text(facts, action);
		g_autofree char *command = verbose ? gbe_action_command(action) : NULL;

		if (text == NULL && verbose)
			text = g_strdup_printf("record   the take-over: %s",
					       action->reason != NULL ? action->reason : "?");
		if (text == NULL)
			continue;
		gbe_print("  %u. %s\n", ++number, text);
		if (command != NULL)
			gbe_print("     by hand: %s\n", command);
	}
}

static void
print_fact(JsonObject *facts, const char *key)
{
	JsonNode *node = json_object_get_member(facts, key);
	g_autofree char *why_key = g_strconcat(key, "_why", NULL);
	g_autofree char *label = g_strdelimit(g_strdup(key), "_", ' ');
	const char *why = gbe_json_string(facts, why_key, NULL);
	g_autofree char *text = NULL;

	if (g_str_has_suffix(key, "_why"))
		return;
	text = gbe_print_value(node);
	gbe_print("  %-24s %s%s%s\n", label, text, why != NULL ? ": " : "", why != NULL ? why : "");
}

/* First the answer in one sentence, then the steps, and what else may follow. */
static void
print_text(const GbeCli *cli, const GbeObserved *observed, const GbeExplained *explained)
{
	const GbeExplainDecision *first = &explained->decision;
	const GbeDeployment ref = {.id = explained->deployment};
	const char *place = gbe_deployments_presence(observed->deployments, &ref);
	g_autofree char *answer = gbe_plan_words(first->plan);
	g_autoptr(GList) keys = json_object_get_members(explained->facts);
	g_autoptr(GString) rules = g_string_new(first->rule);

	if (explained->deployment == NULL)
		gbe_print("At the next start: %s.\n\n", answer);
	else
		gbe_print("If %s%s%s%s boots next: %s.\n\n", explained->deployment,
			  place != NULL ? " (" : "", place != NULL ? place : "",
			  place != NULL ? ")" : "", answer);
	print_steps(observed->facts, first->actions, cli->verbose);
	if (first->actions->len == 0 && first->reason != NULL)
		gbe_print("  %s\n", first->reason);
	if (explained->steps->len > 0)
		gbe_print("\nThe way back from there:\n\n");
	for (guint i = 0; i < explained->steps->len; i++)
		gbe_print("  %u. %s\n", i + 1, (const char *)explained->steps->pdata[i]);
	for (guint i = 0; i < explained->branches->len; i++) {
		const GbeExplainDecision *branch = explained->branches->pdata[i];
		g_autofree char *instead = gbe_plan_words(branch->plan);

		gbe_print("\nIf %s turns out to be damaged%s: %s.\n", branch->backup,
			  i > 0 ? " as well" : "", instead);
		if (cli->verbose) {
			gbe_print("Rule %s: %s\n", branch->rule,
				  branch->reason != NULL ? branch->reason : "?");
			print_steps(observed->facts, branch->actions, true);
		}
	}
	if (!cli->verbose)
		return;
	for (guint i = 0; i < first->also->len; i++)
		g_string_append_printf(rules, ", then %s", (const char *)first->also->pdata[i]);
	gbe_print("\nRule %s: %s\n\nFacts\n", rules->str,
		  first->reason != NULL ? first->reason : "?");
	for (GList *l = keys; l != NULL; l = l->next)
		print_fact(explained->facts, l->data);
}

bool
gbe_verb_explain(GbeCli *cli, char **arguments, GError **error)
{
	GbeExplainOptions options = {.booted = arg_booted, .verdict = arg_verdict};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GbeHealthLook) look = NULL;
	g_autoptr(GbeExplained) explained = NULL;

	if (arg_return != NULL) {
		if (!g_str_equal(arg_return, "deliberate") &&
		    !g_str_equal(arg_return, "accidental"))
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "--return is deliberate or accidental");
		options.deliberate = gbe_tri(g_str_equal(arg_return, "deliberate"));
	}
	if (!gbe_cli_observe_as_root(cli, true, &observed, error))
		return false;
	if (observed->facts->data_open == GBE_YES) {
		look = gbe_health_look_new(cli->app);
		gbe_health_look_briefly(look);
		options.live = look->facts;
	}
	if (!gbe_explain(cli->app, observed, &options, &explained, error))
		return false;
	if (!arg_full)
		gbe_cli_fit(cli, observed);
	if (cli->json)
		gbe_print_answer(gbe_explain_fields, explained);
	else
		print_text(cli, observed, explained);
	return true;
}
