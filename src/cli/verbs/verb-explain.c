/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/health/look.h"
#include "app/report/status.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/deployment.h"
#include "core/json/parse.h"

/* As long as status waits for etcd. */
#define PROBE_MS 300

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

/* Text says "take over" for the word "stamp" of format 1. */
static void
print_actions(const GPtrArray *actions)
{
	for (guint i = 0; i < actions->len; i++) {
		const GbeAction *action = actions->pdata[i];
		g_autofree char *command = gbe_action_command(action);

		gbe_print("  %u. %s%s%s%s%s\n", i + 1,
			  action->kind == GBE_ACTION_TAKE_OVER ? "take over"
							       : gbe_action_to_string(action->kind),
			  action->name != NULL ? " " : "", action->name != NULL ? action->name : "",
			  action->reason != NULL ? ": " : "",
			  action->reason != NULL ? action->reason : "");
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
	if (json_node_is_null(node))
		text = g_strdup("-");
	else if (json_node_get_value_type(node) == G_TYPE_BOOLEAN)
		text = g_strdup(json_node_get_boolean(node) ? "yes" : "no");
	else if (json_node_get_value_type(node) == G_TYPE_STRING)
		text = arg_full ? g_strdup(json_node_get_string(node))
				: gbe_deployment_id_short(json_node_get_string(node));
	else
		text = g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(node));
	gbe_print("  %-24s %s%s%s\n", label, text, why != NULL ? ": " : "", why != NULL ? why : "");
}

static void
print_text(const GbeExplained *explained)
{
	const GbeExplainDecision *first = &explained->decision;
	g_autofree char *deployment = gbe_deployment_id_short(
	    explained->deployment != NULL ? explained->deployment : "(no deployment)");
	g_autoptr(GList) keys = json_object_get_members(explained->facts);
	g_autoptr(GString) rules = g_string_new(first->rule);

	for (guint i = 0; i < first->also->len; i++)
		g_string_append_printf(rules, ", then %s", (const char *)first->also->pdata[i]);
	gbe_print("The next start of %s\n\nRule %s: %s\n", deployment, rules->str,
		  first->reason != NULL ? first->reason : "?");
	print_actions(first->actions);
	for (guint i = 0; i < explained->branches->len; i++) {
		const GbeExplainDecision *branch = explained->branches->pdata[i];

		gbe_print("\nIf %s: rule %s, %s\n", branch->condition, branch->rule,
			  branch->reason != NULL ? branch->reason : "?");
		print_actions(branch->actions);
	}
	gbe_print("\nFacts\n");
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
		gbe_health_look_now(look, PROBE_MS);
		options.live = look->facts;
	}
	if (!gbe_explain(cli->app, observed, &options, &explained, error))
		return false;
	if (!arg_full)
		gbe_cli_fit(cli, observed);
	if (cli->json)
		gbe_print_answer(gbe_explain_fields, explained);
	else
		print_text(explained);
	return true;
}
