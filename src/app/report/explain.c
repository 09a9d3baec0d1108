/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"

#include "app/report/records.h"
#include "core/decide/decide.h"
#include "core/decide/retention.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"

#include <string.h>

/* ---- the facts ---- */

/* The facts that are shown: copies that borrow all texts, and conclusions from them. */
typedef struct {
	GbeFacts facts;
	GbeSituation situation;
	GbeView view;
	gint64 deployments; /* -1: not known */
	guint backups;
	const char *closing, *owner, *verdict, *health, *previous, *candidate, *request, *rehearsal;
	char *versions[4]; /* owned */
	bool owner_is_booted, previous_usable;
	GbeRehearsal rehearsed; /* owned */
} Shown;

#define FACT(member, key, kind) GBE_FIELD(Shown, member, key, kind)
/* Why a fact is not known. */
#define WHY(member, key) GBE_FIELD_OF(Shown, member, key, TEXT, NULL, GBE_FIELD_LATER)

/* In the order in which a person asks. */
static const GbeField fact_fields[] = {
    FACT(facts.ostree, "ostree", TRI),
    FACT(facts.booted.id, "booted", TEXT),
    WHY(facts.booted_why, "booted_why"),
    FACT(facts.booted_is_default, "booted_is_default", TRI),
    FACT(deployments, "deployments", KNOWN),
    FACT(facts.judges, "judged_here", TRI),
    FACT(facts.can_roll_back, "can_roll_back", TRI),
    FACT(facts.counted, "boots_counted", TRI),
    FACT(facts.skip, "skip", FLAG),
    FACT(facts.data_dir, "data_dir", TEXT),
    FACT(facts.data, "data", TRI),
    WHY(facts.data_why, "data_why"),
    FACT(facts.log, "log", TRI),
    FACT(situation.log_lost, "log_lost", FLAG),
    FACT(facts.data_open, "data_open", TRI),
    WHY(facts.data_open_why, "data_open_why"),
    FACT(facts.sound, "sound", TRI),
    WHY(facts.sound_why, "sound_why"),
    FACT(facts.mount_point, "mount_point", TRI),
    FACT(situation.mount_lost, "mount_lost", FLAG),
    FACT(facts.leaving, "interrupted", TEXT),
    FACT(facts.member, "member", FLAG),
    FACT(closing, "closing_record", TEXT),
    FACT(situation.usable, "usable_by_booted", TRI),
    FACT(versions[0], "etcd_version", TEXT),
    FACT(versions[1], "data_etcd_version", TEXT),
    FACT(versions[2], "data_storage_version", TEXT),
    FACT(versions[3], "data_version", TEXT),
    FACT(situation.one_voter, "one_voter", FLAG),
    FACT(owner, "owner", TEXT),
    WHY(facts.owner_why, "owner_why"),
    FACT(view.run, "owner_run", TEXT),
    FACT(owner_is_booted, "owner_is_booted", FLAG),
    FACT(verdict, "verdict", TEXT),
    FACT(health, "health", TEXT),
    FACT(view.judged, "judged", FLAG),
    FACT(view.trial.on, "trial", TRI),
    FACT(view.used, "used", KNOWN),
    FACT(situation.used_within, "used_within_trial_limit", TRI),
    FACT(previous, "previous", TEXT),
    FACT(previous_usable, "previous_usable", FLAG),
    FACT(situation.in_chain, "booted_is_base", FLAG),
    FACT(situation.ran, "booted_ran_before", TRI),
    FACT(situation.own_trial, "booted_on_trial", TRI),
    FACT(candidate, "candidate", TEXT),
    FACT(situation.contains, "data_contains_candidate", TRI),
    FACT(situation.deliberate, "return_deliberate", TRI),
    FACT(situation.same_commit, "same_commit", FLAG),
    FACT(facts.store_path, "store", TEXT),
    FACT(facts.store, "store_present", TRI),
    FACT(facts.clones, "clones", TRI),
    FACT(facts.cramped, "short_of_room", TRI),
    FACT(backups, "backups", COUNT),
    FACT(request, "request", TEXT),
    WHY(facts.request_why, "request_why"),
    FACT(rehearsal, "rehearsal", TEXT),
    WHY(rehearsed.reason, "rehearsal_why"),
    FACT(rehearsed.goes_back, "goes_back", TRI),
    WHY(rehearsed.going_back, "goes_back_why"),
    {0},
};

static JsonObject *
facts_json(GbeApp *app, const GbeObserved *observed)
{
	static const char *const closings[] =
	    {[GBE_CLOSING_EQUAL] = "unchanged", [GBE_CLOSING_DIFFERS] = "changed since"};
	static const char *const requests[] =
	    {[GBE_REQUEST_IS_READY] = "due", [GBE_REQUEST_IS_IMPOSSIBLE] = "impossible"};
	const GbeFacts *facts = observed->facts;
	const GbeVersion versions[] = {facts->etcd_version, facts->cluster_version,
				       facts->storage_version, facts->data_version};
	const GbeManifest *candidate = gbe_situation_candidate(facts, false);
	Shown shown = {.facts = *facts, .backups = facts->backups->len};
	GbeView *view = &shown.view;
	GbeSituation *s = &shown.situation;
	JsonObject *object = json_object_new();
	const GbeBackupRef *base;

	gbe_view_live(facts, view);
	gbe_situation_derive(facts, view, false, s);
	base = view->take_over != NULL ? gbe_take_over_base(view->take_over) : NULL;
	shown.deployments = facts->listed != NULL ? (gint64)facts->listed->len : -1;
	shown.closing = closings[s->closing];
	if (view->owner_known)
		shown.owner = view->owner->id;
	else
		view->run = NULL;
	shown.owner_is_booted = s->owner == GBE_OWNER_SAME;
	shown.verdict = gbe_verdict_to_public(view->verdict);
	shown.health = gbe_health_to_string(view->health);
	shown.previous = base != NULL ? base->name : NULL;
	shown.previous_usable = s->base != GBE_BASE_NONE;
	shown.candidate = candidate != NULL ? candidate->name : NULL;
	shown.request = requests[s->request];
	for (guint i = 0; i < G_N_ELEMENTS(versions); i++)
		if (versions[i].known)
			shown.versions[i] =
			    g_strdup_printf("%u.%u", versions[i].major, versions[i].minor);
	/* Of the deployment that the decision is about: what a rollback from it will find. */
	if (gbe_rehearsal_load(app, observed->deployments, &shown.rehearsed) &&
	    gbe_deployment_same(&shown.rehearsed.deployment, &facts->booted)) {
		shown.rehearsal = gbe_rehearsal_result_to_string(shown.rehearsed.result);
	} else {
		gbe_rehearsal_clear(&shown.rehearsed);
		shown.rehearsed = (GbeRehearsal){{0}};
	}
	if (shown.facts.sound_why == NULL)
		shown.facts.sound_why = (char *)"not looked into yet";
	/* A reason is shown only where the fact is not known. */
	if (facts->booted.id != NULL)
		shown.facts.booted_why = NULL;
	if (facts->data != GBE_UNKNOWN)
		shown.facts.data_why = NULL;
	if (facts->data_open != GBE_UNKNOWN)
		shown.facts.data_open_why = NULL;
	if (facts->sound != GBE_UNKNOWN)
		shown.facts.sound_why = NULL;
	if (shown.owner != NULL)
		shown.facts.owner_why = NULL;
	if (shown.request != NULL)
		shown.facts.request_why = NULL;
	gbe_fields_print(fact_fields, object, &shown);
	for (guint i = 0; i < G_N_ELEMENTS(versions); i++)
		g_free(shown.versions[i]);
	gbe_rehearsal_clear(&shown.rehearsed);
	return object;
}

/* ---- the decision ---- */

static void
print_command(JsonObject *object, const char *key, const void *action)
{
	g_autofree char *command = gbe_action_command(action);

	gbe_json_set_string(object, key, command);
}
static const GbeFieldOwn own_command = {.print = print_command};

static void
print_facts(JsonObject *object, const char *key, const void *facts)
{
	json_object_set_object_member(object, key, json_object_ref(*(JsonObject *const *)facts));
}
static const GbeFieldOwn own_facts = {.print = print_facts};

static const GbeField action_fields[] = {
    GBE_FIELD_OF(GbeAction, kind, "action", SAID, gbe_action_to_string, 0),
    GBE_FIELD(GbeAction, name, "name", TEXT),
    GBE_FIELD(GbeAction, reason, "reason", TEXT),
    {"command", GBE_FIELD_OWN, 0, &own_command, 0},
    {0},
};
static const GbeFieldItems action_items = {action_fields, sizeof(GbeAction)};

static const GbeField branch_fields[] = {
    GBE_FIELD_SET(GbeExplainDecision, condition, "if", TEXT),
    GBE_FIELD_SET(GbeExplainDecision, rule, "rule", TEXT),
    GBE_FIELD(GbeExplainDecision, reason, "reason", TEXT),
    GBE_FIELD_OF(GbeExplainDecision, actions, "actions", LIST, &action_items, 0),
    {0},
};
static const GbeFieldItems branch_items = {branch_fields, sizeof(GbeExplainDecision)};

const GbeField gbe_explain_fields[] = {
    GBE_FIELD(GbeExplained, deployment, "deployment", TEXT),
    GBE_FIELD_SET(GbeExplained, decision.rule, "rule", TEXT),
    GBE_FIELD(GbeExplained, decision.also, "also", TEXTS),
    GBE_FIELD(GbeExplained, decision.reason, "reason", TEXT),
    GBE_FIELD_BY(GbeExplained, facts, "facts", OWN, &own_facts, 0),
    GBE_FIELD(GbeExplained, hold, "hold", FLAG),
    GBE_FIELD(GbeExplained, steps, "steps", TEXTS),
    GBE_FIELD_OF(GbeExplained, branches, "branches", LIST, &branch_items, 0),
    GBE_FIELD_OF(GbeExplained, decision.actions, "actions", LIST, &action_items, 0),
    {0},
};

static void
clear_decision(GbeExplainDecision *decision)
{
	g_free(decision->backup);
	g_free(decision->condition);
	g_clear_pointer(&decision->also, g_ptr_array_unref);
	g_clear_pointer(&decision->plan, gbe_plan_free);
}

static void
free_branch(gpointer branch)
{
	clear_decision(branch);
	g_free(branch);
}

void
gbe_explained_free(GbeExplained *explained)
{
	if (explained == NULL)
		return;
	g_free(explained->deployment);
	clear_decision(&explained->decision);
	json_object_unref(explained->facts);
	g_ptr_array_unref(explained->steps);
	g_ptr_array_unref(explained->branches);
	g_free(explained);
}

/* Takes @plan. */
static void
take_plan(GbeExplainDecision *decision, GbePlan *plan)
{
	decision->plan = plan;
	decision->rule = gbe_rule_to_string(plan->rule);
	decision->reason = plan->reason;
	decision->actions = plan->actions;
	decision->also = g_ptr_array_new();
	for (guint i = 0; i < plan->also->len; i++)
		g_ptr_array_add(decision->also, (gpointer)gbe_rule_to_string(
						    g_array_index(plan->also, GbeRule, i)));
}

/* The removals of retention after @plan become actions of it. */
static void
add_removals(GbeFacts *facts, GbePlan *plan)
{
	g_autoptr(GArray) removals = NULL;

	/* A plan that holds etcd back, or that is not final, does not prune yet. A skipped start never does. */
	if (plan->hold || plan->again || plan->unfinished || plan->rule == GBE_RULE_SKIP)
		return;
	gbe_decide_after(facts, plan);
	removals = gbe_retention_apply(facts);
	for (guint i = 0; i < removals->len; i++) {
		const GbeRemoval *removal = &g_array_index(removals, GbeRemoval, i);

		gbe_plan_add(plan, GBE_ACTION_DELETE, removal->backup->name, removal->reason);
	}
}

/* The number of candidates that one start tries. */
#define MAX_BRANCHES 3

/* If the backup to restore turns out not to be sound, the next decision follows, and so on. */
static GPtrArray *
decide_branches(GbeObserved *observed, const GbePlan *plan)
{
	GbeFacts *facts = observed->facts;
	GPtrArray *branches = g_ptr_array_new_with_free_func(free_branch);
	const GbeAction *restore = gbe_plan_find(plan, GBE_ACTION_RESTORE);
	g_autofree char *name = restore != NULL ? g_strdup(restore->name) : NULL;
	GHashTable *before = facts->rejected;

	facts->rejected = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < MAX_BRANCHES && name != NULL; i++) {
		GbeExplainDecision *branch = g_new0(GbeExplainDecision, 1);
		g_autofree char *rejected = g_steal_pointer(&name);

		g_hash_table_add(facts->rejected, g_strdup(rejected));
		branch->condition = g_strdup_printf("%s does not validate", rejected);
		branch->backup = g_strdup(rejected);
		take_plan(branch, gbe_foresee_again(observed));
		g_ptr_array_add(branches, branch);
		restore = gbe_plan_find(branch->plan, GBE_ACTION_RESTORE);
		if (restore != NULL && !g_hash_table_contains(facts->rejected, restore->name))
			name = g_strdup(restore->name);
	}
	g_hash_table_unref(facts->rejected);
	facts->rejected = before;
	return branches;
}

bool
gbe_explain(GbeApp *app, GbeObserved *observed, const GbeExplainOptions *options,
	    GbeExplained **ret_explained, GError **error)
{
	static const char *const verdicts[] = {"green", "red", "none", NULL};
	GbeExplained *explained;
	GbePlan *plan;

	if (options->verdict != NULL && !g_strv_contains(verdicts, options->verdict))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--verdict=%s: a verdict is green, red or none", options->verdict);
	if (!gbe_foresee(observed, options, &plan, error))
		return false;
	explained = g_new0(GbeExplained, 1);
	take_plan(&explained->decision, plan);
	explained->hold = explained->decision.plan->hold;
	/* GBE_HOLD_NO has no way back. */
	explained->steps =
	    gbe_hold_way(app, observed, explained->hold ? plan->hold_kind : GBE_HOLD_NO);
	explained->deployment = g_strdup(observed->facts->booted.id);
	explained->facts = facts_json(app, observed);
	explained->branches = decide_branches(observed, explained->decision.plan);
	add_removals(observed->facts, explained->decision.plan);
	*ret_explained = explained;
	return true;
}
