/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/explain.h"

#include "app/report/explain-facts.h"
#include "core/decide/decide.h"
#include "core/decide/retention.h"
#include "core/json/parse.h"

#include <string.h>

/* The number of candidates that one start tries. */
#define MAX_BRANCHES 3

static JsonArray *
also_json(const GbePlan *plan)
{
	JsonArray *also = json_array_new();

	for (guint i = 0; i < plan->also->len; i++)
		json_array_add_string_element(
		    also, gbe_rule_to_string(g_array_index(plan->also, GbeRule, i)));
	return also;
}

static void
add_action(JsonArray *actions, const char *action, const char *name, const char *reason,
	   const char *command)
{
	JsonObject *object = json_object_new();

	gbe_json_set_string(object, "action", action);
	gbe_json_set_string(object, "name", name);
	gbe_json_set_string(object, "reason", reason);
	gbe_json_set_string(object, "command", command);
	json_array_add_object_element(actions, object);
}

static void
add_removals(JsonArray *actions, GbeFacts *facts, const GbePlan *plan)
{
	g_autoptr(GArray) removals = NULL;

	/* A plan that holds etcd back, or that is not final, does not prune yet. */
	if (plan->hold || plan->again || plan->unfinished)
		return;
	gbe_decide_after(facts, plan);
	removals = gbe_retention_apply(facts);
	for (guint i = 0; i < removals->len; i++) {
		const GbeRemoval *removal = &g_array_index(removals, GbeRemoval, i);
		g_autofree char *command =
		    g_strdup_printf("greenboot-etcd delete %s", removal->backup->name);

		add_action(actions, "delete", removal->backup->name, removal->reason, command);
	}
}

static JsonObject *
branch_json(const char *rejected, const GbePlan *plan)
{
	JsonObject *branch = json_object_new();
	g_autofree char *condition = g_strdup_printf("%s does not validate", rejected);

	gbe_json_set_string(branch, "if", condition);
	gbe_json_set_string(branch, "rule", gbe_rule_to_string(plan->rule));
	gbe_json_set_string(branch, "reason", plan->reason);
	json_object_set_array_member(branch, "actions", gbe_plan_actions_to_json(plan));
	return branch;
}

/* If the backup to restore turns out not to be sound, the next decision follows, and so on. */
static JsonArray *
branches_json(GbeFacts *facts, const GbePlan *plan)
{
	JsonArray *branches = json_array_new();
	const GbeAction *restore = gbe_plan_find(plan, GBE_ACTION_RESTORE);
	g_autofree char *name = restore != NULL ? g_strdup(restore->name) : NULL;
	GHashTable *before = facts->rejected;

	facts->rejected = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < MAX_BRANCHES && name != NULL; i++) {
		g_autoptr(GbePlan) next = NULL;
		g_autofree char *rejected = g_steal_pointer(&name);

		g_hash_table_add(facts->rejected, g_strdup(rejected));
		next = gbe_decide(facts);
		json_array_add_object_element(branches, branch_json(rejected, next));
		restore = gbe_plan_find(next, GBE_ACTION_RESTORE);
		if (restore != NULL && !g_hash_table_contains(facts->rejected, restore->name))
			name = g_strdup(restore->name);
	}
	g_hash_table_unref(facts->rejected);
	facts->rejected = before;
	return branches;
}

static bool
check_options(const GbeExplainOptions *options, GError **error)
{
	static const char *const verdicts[] = {"green", "red", "none", NULL};

	if (options->verdict != NULL && !g_strv_contains(verdicts, options->verdict))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--verdict=%s: a verdict is green, red or none", options->verdict);
	return true;
}

bool
gbe_explain(GbeApp *app, GbeObserved *observed, const GbeExplainOptions *options,
	    JsonObject **ret_object, GError **error)
{
	GbeFacts *facts = observed->facts;
	g_autoptr(GbePlan) plan = NULL;
	JsonObject *object;
	JsonArray *actions;

	gbe_observe_live(observed, options->live);
	if (!check_options(options, error) ||
	    !gbe_observe_next_boot(observed, options->booted, options->verdict, options->deliberate,
				   error))
		return false;
	plan = gbe_decide(facts);
	object = gbe_json_answer();
	gbe_json_set_string(object, "deployment", facts->booted.id);
	gbe_json_set_string(object, "rule", gbe_rule_to_string(plan->rule));
	json_object_set_array_member(object, "also", also_json(plan));
	gbe_json_set_string(object, "reason", plan->reason);
	json_object_set_object_member(object, "facts", gbe_explain_facts(app, observed));
	json_object_set_boolean_member(object, "hold", plan->hold);
	actions = gbe_plan_actions_to_json(plan);
	json_object_set_array_member(object, "branches", branches_json(facts, plan));
	add_removals(actions, facts, plan);
	json_object_set_array_member(object, "actions", actions);
	*ret_object = object;
	return true;
}
