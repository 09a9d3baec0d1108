/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"

#include "app/report/records.h"
#include "core/decide/decide.h"
#include "core/decide/retention.h"
#include "core/decide/situation.h"
#include "core/json/members.h"
#include "core/json/parse.h"

#include <string.h>

static void
set_tri(JsonObject *object, const char *key, GbeTri value, const char *why)
{
	if (value != GBE_UNKNOWN) {
		json_object_set_boolean_member(object, key, value == GBE_YES);
		return;
	}
	json_object_set_null_member(object, key);
	if (why != NULL) {
		g_autofree char *why_key = g_strconcat(key, "_why", NULL);

		json_object_set_string_member(object, why_key, why);
	}
}

static void
set_text(JsonObject *object, const char *key, const char *value, const char *why)
{
	g_autofree char *why_key = g_strconcat(key, "_why", NULL);

	gbe_json_set_string(object, key, value);
	if (value == NULL && why != NULL)
		json_object_set_string_member(object, why_key, why);
}

static void
set_version(JsonObject *object, const char *key, GbeVersion version)
{
	g_autofree char *text =
	    version.known ? g_strdup_printf("%u.%u", version.major, version.minor) : NULL;

	gbe_json_set_string(object, key, text);
}

static void
set_system(JsonObject *object, const GbeFacts *facts)
{
	set_tri(object, "ostree", facts->ostree, NULL);
	set_text(object, "booted", facts->booted.id, facts->booted_why);
	set_tri(object, "booted_is_default", facts->booted_is_default, NULL);
	gbe_json_set_known(object, "deployments",
			   facts->listed != NULL ? (gint64)facts->listed->len : -1);
	set_tri(object, "judged_here", facts->judges, NULL);
	set_tri(object, "can_roll_back", facts->can_roll_back, NULL);
	set_tri(object, "boots_counted", facts->counted, NULL);
	json_object_set_boolean_member(object, "skip", facts->skip);
}

static const char *
closing_text(GbeClosingIs closing)
{
	switch (closing) {
	case GBE_CLOSING_EQUAL:
		return "unchanged";
	case GBE_CLOSING_DIFFERS:
		return "changed since";
	case GBE_CLOSING_NONE:
	default:
		return NULL;
	}
}

static void
set_data(JsonObject *object, const GbeFacts *facts, const GbeSituation *s)
{
	gbe_json_set_string(object, "data_dir", facts->data_dir);
	set_tri(object, "data", facts->data, facts->data_why);
	set_tri(object, "log", facts->log, NULL);
	json_object_set_boolean_member(object, "log_lost", s->log_lost);
	set_tri(object, "data_open", facts->data_open, facts->data_open_why);
	set_tri(object, "sound", facts->sound,
		facts->sound_why != NULL ? facts->sound_why : "not looked into yet");
	set_tri(object, "mount_point", facts->mount_point, NULL);
	json_object_set_boolean_member(object, "mount_lost", s->mount_lost);
	gbe_json_set_string(object, "interrupted", facts->leaving);
	json_object_set_boolean_member(object, "member", facts->member);
	set_text(object, "closing_record", closing_text(s->closing), NULL);
	set_tri(object, "usable_by_booted", s->usable, NULL);
	set_version(object, "etcd_version", facts->etcd_version);
	set_version(object, "data_etcd_version", facts->cluster_version);
	set_version(object, "data_storage_version", facts->storage_version);
	set_version(object, "data_version", facts->data_version);
	json_object_set_boolean_member(object, "one_voter", s->one_voter);
}

static void
set_owner(JsonObject *object, const GbeFacts *facts, const GbeView *view, const GbeSituation *s)
{
	const GbeBackupRef *base =
	    view->take_over != NULL ? gbe_take_over_base(view->take_over) : NULL;

	set_text(object, "owner", view->owner_known ? view->owner->id : NULL, facts->owner_why);
	gbe_json_set_string(object, "owner_run", view->owner_known ? view->run : NULL);
	json_object_set_boolean_member(object, "owner_is_booted", s->owner == GBE_OWNER_SAME);
	gbe_json_set_string(object, "verdict", gbe_verdict_to_public(view->verdict));
	gbe_json_set_string(object, "health", gbe_health_to_string(view->health));
	json_object_set_boolean_member(object, "judged", view->judged);
	set_tri(object, "trial", view->trial.on, NULL);
	gbe_json_set_known(object, "used", view->used);
	set_tri(object, "used_within_trial_limit", s->used_within, NULL);
	gbe_json_set_string(object, "previous", base != NULL ? base->name : NULL);
	json_object_set_boolean_member(object, "previous_usable", s->base != GBE_BASE_NONE);
	json_object_set_boolean_member(object, "booted_is_base", s->in_chain);
}

static void
set_return(JsonObject *object, const GbeFacts *facts, const GbeSituation *s)
{
	const GbeManifest *candidate = gbe_situation_candidate(facts, false);

	set_tri(object, "booted_ran_before", s->ran, NULL);
	set_tri(object, "booted_on_trial", s->own_trial, NULL);
	gbe_json_set_string(object, "candidate", candidate != NULL ? candidate->name : NULL);
	set_tri(object, "data_contains_candidate", s->contains, NULL);
	set_tri(object, "return_deliberate", s->deliberate, NULL);
	json_object_set_boolean_member(object, "same_commit", s->same_commit);
}

static void
set_store(JsonObject *object, const GbeFacts *facts, const GbeSituation *s)
{
	static const char *const requests[] = {
	    [GBE_REQUEST_IS_NONE] = NULL,
	    [GBE_REQUEST_IS_READY] = "due",
	    [GBE_REQUEST_IS_IMPOSSIBLE] = "impossible",
	};

	gbe_json_set_string(object, "store", facts->store_path);
	set_tri(object, "store_present", facts->store, NULL);
	set_tri(object, "clones", facts->clones, NULL);
	set_tri(object, "short_of_room", facts->cramped, NULL);
	json_object_set_int_member(object, "backups", facts->backups->len);
	set_text(object, "request", requests[s->request], facts->request_why);
}

/* Of the deployment that the decision is about: what a rollback from it will find. */
static void
set_rehearsal(JsonObject *object, GbeApp *app, const GbeObserved *observed)
{
	g_auto(GbeRehearsal) rehearsal = {{0}};
	bool known = gbe_rehearsal_load(app, observed->deployments, &rehearsal) &&
		     gbe_deployment_same(&rehearsal.deployment, &observed->facts->booted);

	set_text(object, "rehearsal",
		 known ? gbe_rehearsal_result_to_string(rehearsal.result) : NULL, NULL);
	if (known && rehearsal.reason != NULL)
		gbe_json_set_string(object, "rehearsal_why", rehearsal.reason);
	set_tri(object, "goes_back", known ? rehearsal.goes_back : GBE_UNKNOWN, NULL);
	if (known && rehearsal.going_back != NULL)
		gbe_json_set_string(object, "goes_back_why", rehearsal.going_back);
}

/* The facts in the order in which a person asks. An unknown fact is null, with its reason in "<key>_why" when there is
 * a reason. */
static JsonObject *
facts_json(GbeApp *app, const GbeObserved *observed)
{
	const GbeFacts *facts = observed->facts;
	JsonObject *object = json_object_new();
	GbeSituation situation;
	GbeView view;

	gbe_view_live(facts, &view);
	gbe_situation_derive(facts, &view, false, &situation);
	set_system(object, facts);
	set_data(object, facts, &situation);
	set_owner(object, facts, &view, &situation);
	set_return(object, facts, &situation);
	set_store(object, facts, &situation);
	set_rehearsal(object, app, observed);
	return object;
}

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
	json_object_set_object_member(object, "facts", facts_json(app, observed));
	json_object_set_boolean_member(object, "hold", plan->hold);
	actions = gbe_plan_actions_to_json(plan);
	json_object_set_array_member(object, "branches", branches_json(facts, plan));
	add_removals(actions, facts, plan);
	json_object_set_array_member(object, "actions", actions);
	*ret_object = object;
	return true;
}
