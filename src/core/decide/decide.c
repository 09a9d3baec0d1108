/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/decide.h"

#include "core/decide/decision.h"
#include "core/decide/past.h"

static void
choose_source(Decision *d, GbeDataMove move)
{
	const GbeFacts *facts = d->facts;
	const GbeManifest *source = NULL;

	switch (move) {
	case GBE_DATA_BASE:
		source = gbe_chain_backup(facts, &d->live, 0);
		break;
	case GBE_DATA_CHAIN_OWN:
		source = gbe_chain_backup(facts, &d->live, gbe_chain_own(facts, &d->live));
		break;
	case GBE_DATA_CHAIN_END:
		source = gbe_chain_backup(facts, &d->live, gbe_chain_end(facts, &d->live));
		break;
	case GBE_DATA_UNWOUND:
		source = gbe_chain_backup(facts, &d->live, gbe_chain_unwound(facts, &d->live));
		break;
	case GBE_DATA_CANDIDATE:
		source = gbe_situation_candidate(facts, false);
		break;
	case GBE_DATA_USABLE:
		source = gbe_situation_candidate(facts, true);
		break;
	case GBE_DATA_CLOSING:
		source = gbe_facts_backup_of(facts, &d->live.take_over->closing.backup);
		break;
	case GBE_DATA_OWNER_LEFT:
		source = gbe_situation_owner_left(facts);
		break;
	case GBE_DATA_REQUESTED:
		source = d->empties ? NULL : gbe_situation_request(facts);
		break;
	case GBE_DATA_KEEP:
	case GBE_DATA_FRESH:
	default:
		return;
	}
	d->source = source;
	/* The first move displaces the live data. Later moves replace data that is not in place yet. */
	if (!d->displaces) {
		d->displaces = true;
		d->displaced = d->ruling.displaced;
		d->displaced_why = d->ruling.why;
	}
}

/* Adds a rule to the plan. The first rule decides, the others follow from it. */
static void
add_rule(Decision *d)
{
	GbePlan *plan = d->plan;
	g_autofree char *before = plan->reason;

	if (before == NULL) {
		plan->rule = d->ruling.rule;
		plan->reason = g_strdup(d->ruling.why);
	} else {
		g_array_append_val(plan->also, d->ruling.rule);
		plan->reason = g_strdup_printf("%s; then: %s", before, d->ruling.why);
	}
}

/* Finds the rule. After a failed update, also finds the rule for the state before that update. */
static void
find_rule(Decision *d)
{
	gbe_view_live(d->facts, &d->live);
	d->view = d->live;
	gbe_situation_derive(d->facts, &d->view, false, &d->live_situation);
	if (d->empties)
		d->live_situation.request = GBE_REQUEST_IS_READY;
	d->situation = d->live_situation;
	gbe_rules_apply(&d->situation, &d->ruling);
	if (d->facts->deformed && d->situation.data == GBE_UNKNOWN) {
		/* A request, 9, 10a and 10b displace the data by a rename, so damaged data does not matter. Every other
		 * rule has to read the data. A link counts as no data: the target of the link stays where it is. */
		GbeSituation readable = d->situation;
		GbeRuling ruling;

		readable.data = d->facts->linked ? GBE_NO : GBE_YES;
		readable.data_open = GBE_NO;
		gbe_rules_apply(&readable, &ruling);
		if (ruling.move != GBE_DATA_KEEP &&
		    (ruling.rule == GBE_RULE_2 || ruling.rule == GBE_RULE_9 ||
		     ruling.rule == GBE_RULE_10A || ruling.rule == GBE_RULE_10B)) {
			d->situation = readable;
			d->ruling = ruling;
		}
	}
	choose_source(d, d->ruling.move);
	if (!d->ruling.again)
		return;
	add_rule(d);
	gbe_view_backup(d->facts, d->source, &d->view);
	/* The owner of that state replaces the deployment that D returns from. */
	d->view.was_default = d->live.was_default;
	gbe_situation_derive(d->facts, &d->view, true, &d->situation);
	gbe_rules_apply(&d->situation, &d->ruling);
	choose_source(d, d->ruling.move);
}

/* The gate checks the data that D would finally get. */
static void
apply_gate(Decision *d)
{
	GbeSituation s = d->situation;

	if (d->source != d->view.source) {
		GbeView view;

		gbe_view_backup(d->facts, d->source, &view);
		gbe_situation_derive(d->facts, &view, true, &s);
		s.owner = d->situation.owner;
		s.same_run = d->situation.same_run;
	}
	if (!gbe_rules_gate(&s, &d->ruling))
		return;
	add_rule(d);
	if (d->ruling.hold != GBE_HOLD_NO) {
		d->source = NULL;
		d->displaces = false;
	} else {
		choose_source(d, d->ruling.move);
	}
}

static void
plan_unchanged(Decision *d, const GbeManifest *same)
{
	const GbeView *live = &d->live;
	/* A verdict belongs to the data that it judged. A backup from before this take-over has its own verdict. */
	bool of_this_run = g_strcmp0(same->deployment.id, live->owner->id) == 0 &&
			   g_strcmp0(same->run, live->run) == 0 && same->sequence > live->sequence;
	GbeGrade grade = gbe_decide_grade(live->verdict, live->health, same->verified);

	gbe_backup_ref_set(&d->found, gbe_manifest_ref(same));
	/* finalize took the backup before the verdict was read, so later knowledge is added here. */
	if (of_this_run && (grade > same->grade || live->verdict != same->verdict ||
			    live->health != same->health)) {
		GbeAction *action = gbe_plan_add(d->plan, GBE_ACTION_GRADE, same->name,
						 "the verdict of its run has become known");

		action->manifest = gbe_manifest_copy(same);
		action->manifest->verdict = live->verdict;
		action->manifest->health = live->health;
		if (same->grade != GBE_GRADE_BAD)
			action->manifest->grade = grade;
	}
	(void)gbe_plan_add(d->plan, GBE_ACTION_KEEP, same->name,
			   "nothing has changed since this backup");
}

static void
plan_backup(Decision *d)
{
	const GbeConfig *config = d->facts->config;
	const GbeTakeOver *owner = d->live.take_over;
	GbeBackupWish wish = d->ruling.backup;
	const GbeManifest *same;
	GbeAction *action;
	bool cow_only;

	if (wish == GBE_BACKUP_NONE || d->facts->data != GBE_YES)
		return;
	if (d->source != NULL)
		return; /* the displaced data becomes a backup by rename */
	/* An equal backup is used only if the owner of the data owns it: P(D) must name O as its owner. */
	same = gbe_situation_unchanged(d->facts);
	if (same != NULL && !d->ruling.adopt && d->live.owner_known &&
	    gbe_deployment_same(&same->deployment, d->live.owner)) {
		plan_unchanged(d, same);
		return;
	}
	/* An update took the data without a backup, while this program was off. The backup is made now. */
	if (wish == GBE_BACKUP_PLAIN && owner != NULL && owner->late && owner->lineage.truncated)
		wish = GBE_BACKUP_EFFORT;
	if (wish == GBE_BACKUP_PLAIN && config->backup.at_boot == GBE_WHEN_NEVER) {
		(void)gbe_plan_add(d->plan, GBE_ACTION_KEEP, NULL, "no backup: at-boot=never");
		return;
	}
	cow_only = wish == GBE_BACKUP_CLONED ||
		   (wish == GBE_BACKUP_PLAIN && config->backup.at_boot == GBE_WHEN_COW_ONLY);
	if (cow_only && d->facts->clones == GBE_NO) {
		(void)gbe_plan_add(d->plan, GBE_ACTION_KEEP, NULL,
				   "no backup: this file system does not clone (at-boot=cow-only)");
		return;
	}
	action = gbe_plan_add(d->plan, GBE_ACTION_BACKUP, NULL, d->ruling.why);
	action->manifest =
	    gbe_decide_manifest(d->facts, &d->live, NULL, d->ruling.adopt, d->sequence++);
	gbe_decide_note_occasion(d->facts, action->manifest, d->facts->booted.id, "boot");
	action->name = g_strdup(action->manifest->name);
	action->cow_only = cow_only;
	if (wish == GBE_BACKUP_REQUIRED && d->situation.hold_without_backup)
		action->on_failure = GBE_FAILURE_HOLD;
	gbe_backup_ref_set(&d->found, gbe_manifest_ref(action->manifest));
}

static void
plan_restore(Decision *d)
{
	GbeAction *displace;
	GbeManifest *manifest;
	bool bad;

	if (d->source != NULL)
		(void)gbe_plan_add(d->plan, GBE_ACTION_RESTORE, d->source->name, d->displaced_why);
	if (d->facts->data == GBE_NO || d->facts->linked || (d->source == NULL && !d->empties))
		return;
	bad = d->displaced == GBE_DISPLACED_BAD || d->displaced == GBE_DISPLACED_ADOPTED;
	manifest = gbe_decide_displaced(d->facts, &d->live, d->displaced == GBE_DISPLACED_ADOPTED,
					bad ? d->displaced_why : NULL, d->by_hand, d->sequence++);
	displace = gbe_plan_add(d->plan, GBE_ACTION_DISPLACE, manifest->name,
				"the present data is kept under this name");
	displace->manifest = manifest;
	if (d->source != NULL && (d->by_hand || d->ruling.rule == GBE_RULE_2)) {
		g_free(manifest->occasion);
		manifest->occasion = g_strdup("restore");
		g_clear_pointer(&manifest->before, g_free);
		g_clear_pointer(&manifest->before_version, g_free);
	}
	gbe_backup_ref_set(&d->found, gbe_manifest_ref(manifest));
}

/* D keeps the present data, because the due restore could not be done. */
static void
plan_instead(Decision *d)
{
	Decision instead = *d;

	if (d->facts->data != GBE_YES || d->facts->booted.id == NULL ||
	    d->live_situation.usable == GBE_NO)
		return;
	instead.source = NULL;
	instead.view = d->live;
	instead.situation = d->live_situation;
	instead.ruling.move = GBE_DATA_KEEP;
	instead.ruling.upgrade = d->live_situation.owner != GBE_OWNER_SAME;
	instead.found = (GbeBackupRef){0};
	d->plan->instead = gbe_decide_take_over(&instead, d->plan->take_over->sequence + 1);
	d->plan->instead->failed = true;
	/* The data of another deployment is adopted, and no later start restores an earlier state. */
	if (d->live_situation.owner != GBE_OWNER_SAME)
		g_ptr_array_set_size(d->plan->instead->chain, 0);
	d->sequence++;
}

static void
plan_take_over(Decision *d)
{
	GbePlan *plan = d->plan;
	GbeAction *action;
	bool fresh = d->ruling.move == GBE_DATA_FRESH || d->empties;

	if (!d->ruling.take_over ||
	    (d->facts->booted.id == NULL && d->source == NULL && !d->empties))
		return;
	/* Restored data must be recorded with its owner, even if the owner is this run. */
	if (d->ruling.rule == GBE_RULE_5 && d->ruling.backup != GBE_BACKUP_REQUIRED &&
	    d->source == NULL)
		return;
	/* etcd was started again in this run and has no data yet: the take-over is already recorded. */
	if (fresh && !d->empties && d->situation.owner == GBE_OWNER_SAME &&
	    d->situation.same_run == GBE_YES)
		return;
	plan->take_over = gbe_decide_take_over(d, d->sequence++);
	/* The same owner may continue without a record. Another owner would have no past, and a restored state no
	 * owner. */
	plan->must_record = d->source != NULL
				? d->live_situation.owner != GBE_OWNER_SAME
				: d->situation.owner != GBE_OWNER_SAME &&
				      d->situation.hold_without_backup && !d->situation.skip;
	if (fresh) {
		/* The earlier data is gone: a new line begins. */
		gbe_lineage_clear(&plan->take_over->lineage);
		plan->take_over->lineage.line = plan->take_over->sequence;
		plan->take_over->voters = 0;
		plan->take_over->began_empty = d->ruling.began_empty;
		g_clear_pointer(&plan->take_over->member_id, g_free);
		g_clear_pointer(&plan->take_over->cluster_id, g_free);
		action = gbe_plan_add(plan, GBE_ACTION_FRESH, NULL, d->ruling.why);
	} else if (d->source != NULL) {
		plan_instead(d);
		return; /* part of the restore */
	} else {
		action = gbe_plan_add(plan, GBE_ACTION_TAKE_OVER, NULL,
				      "the booted deployment has the data");
	}
	if (plan->must_record)
		action->on_failure = GBE_FAILURE_HOLD;
}

/* The two etcd versions, of the data and of D. NULL: the version file decided. */
static char *
versions_apart(const Decision *d)
{
	const GbeManifest *source = d->view.source;
	GbeVersion needs = source != NULL ? gbe_version_parse(gbe_manifest_needs(source))
			   : d->facts->storage_version.known ? d->facts->storage_version
							     : d->facts->cluster_version;
	g_autofree char *theirs = gbe_decide_version_text(needs);
	g_autofree char *own = gbe_decide_version_text(d->facts->etcd_version);

	return gbe_version_above(needs, d->facts->etcd_version) == GBE_YES
		   ? g_strdup_printf(" (etcd %s, the data is of %s)", own, theirs)
		   : NULL;
}

/* A closer look at the ruling. */
static GbeHold
hold_kind(const Decision *d)
{
	const GbeFacts *facts = d->facts;

	if (d->ruling.hold == GBE_HOLD_UNREAD && facts->deformed)
		return facts->linked ? GBE_HOLD_LINKED : GBE_HOLD_DEFORMED;
	if (d->ruling.hold == GBE_HOLD_MEMBER && facts->leaving != NULL)
		return GBE_HOLD_LEAVING;
	return d->ruling.hold;
}

static void
plan_hold(Decision *d)
{
	const GbeFacts *facts = d->facts;
	GbeHold hold = hold_kind(d);
	g_autofree char *detail = NULL;
	g_autofree char *reason = NULL;

	if (hold == GBE_HOLD_NO)
		return;
	if (hold == GBE_HOLD_UNUSABLE)
		detail = versions_apart(d);
	else if (hold == GBE_HOLD_OPEN && facts->data_open_why != NULL)
		detail = g_strdup_printf(" (%s)", facts->data_open_why);
	else if (d->ruling.hold == GBE_HOLD_UNREAD && facts->data_why != NULL)
		detail = g_strdup_printf(" (%s)", facts->data_why);
	else if (hold == GBE_HOLD_CORRUPT && facts->sound_why != NULL)
		detail = g_strdup_printf(" (%s)", facts->sound_why);
	else if (hold == GBE_HOLD_ELSEWHERE)
		detail =
		    g_strdup_printf(" (%s, and data-dir= is %s)", facts->left_at, facts->data_dir);
	else if (hold == GBE_HOLD_LEAVING)
		detail = g_strdup_printf(" (`greenboot-etcd %s` was interrupted)", facts->leaving);
	reason = g_strconcat(gbe_holds[hold].what, detail, NULL);
	(void)gbe_plan_add(d->plan, GBE_ACTION_HOLD, NULL, reason);
	d->plan->hold = true;
	d->plan->hold_kind = hold;
}

/* Fills in the other fields of the plan, so that the executor does not need the rule. */
static void
finish_plan(Decision *d)
{
	const GbeFacts *facts = d->facts;
	GbePlan *plan = d->plan;
	const char *observed = NULL;

	/* A link or a pipe stays while prerun waits. */
	plan->wait = d->ruling.wait || d->ruling.hold == GBE_HOLD_OPEN ||
		     (d->ruling.hold == GBE_HOLD_UNREAD && !facts->deformed);
	/* The last rule decides this: after 14, D gets its own state or etcd is held back. */
	plan->forward = d->ruling.rule == GBE_RULE_11 || d->ruling.rule == GBE_RULE_12;
	plan->asked = plan->rule == GBE_RULE_2;
	plan->force = plan->asked && facts->request.force;
	/* The observation, or the unknown, follows the rule. */
	if (plan->rule == GBE_RULE_0)
		observed = facts->data_why != NULL ? facts->data_why : facts->data_open_why;
	else if (plan->rule == GBE_RULE_5A)
		observed = facts->sound_why;
	if (observed != NULL) {
		g_autofree char *reason = plan->reason;

		plan->reason = g_strdup_printf("%s: %s", reason, observed);
	}
	if (d->live_situation.request == GBE_REQUEST_IS_IMPOSSIBLE) {
		const GbeManifest *backup = gbe_situation_request(facts);
		/* This start has tried the backup. */
		bool tried = backup != NULL && facts->rejected != NULL &&
			     g_hash_table_contains(facts->rejected, backup->name);

		plan->drop_request = true;
		plan->request_failed = g_strdup(
		    facts->request_why != NULL ? facts->request_why
		    : tried ? "the backup does not validate, or could not be examined"
			    : "the backup is not there, is graded bad, or is a cluster member's");
		/* The same start also decides on the request that waits after this one. */
		plan->again = facts->request_waits;
	}
	plan->opened = plan->take_over == NULL && !plan->hold && d->live.take_over != NULL &&
		       d->live.take_over->closing.present;
	if (plan->actions->len == 0)
		(void)gbe_plan_add(plan, GBE_ACTION_KEEP, NULL, d->ruling.why);
}

static GbePlan *
make_plan(Decision *d)
{
	find_rule(d);
	add_rule(d);
	apply_gate(d);
	plan_backup(d);
	plan_restore(d);
	plan_hold(d);
	plan_take_over(d);
	finish_plan(d);
	d->plan->last_sequence = d->sequence - 1;
	gbe_backup_ref_clear(&d->found);
	return d->plan;
}

/* ---- if prerun does not end: the decisions for the next start, and for the supervisor ---- */

#define TWO_STARTS "two starts in a row did not come to their end"
#define GOES_ON ": etcd starts on what is there, nothing is backed up or restored in this boot"
#define NO_BACKUP ", and this deployment must not get the data without a backup"
#define NO_DATA ", and without the backup that is due etcd has no data that it can read"

/* After so many unfinished starts of a deployment in a row, a start changes nothing. */
#define UNFINISHED_MAX 2

bool
gbe_decide_gives_up(const GbeFacts *facts)
{
	const char *id = facts->booted.id != NULL ? facts->booted.id : "";

	return GPOINTER_TO_UINT(g_hash_table_lookup(facts->starts, id)) > UNFINISHED_MAX;
}

/* The plan if the data directory or the directory of backups cannot be opened. The supervisor answers the same. */
static GbePlan *
plan_unopened(const GbeFacts *facts)
{
	g_autofree char *objection = gbe_decide_fallback(facts);
	GbePlan *plan = gbe_plan_new();

	plan->rule = GBE_RULE_0;
	plan->reason =
	    g_strdup_printf("%s%s%s", facts->unopened_why,
			    objection != NULL ? "; and " : "; etcd starts on what is there",
			    objection != NULL ? objection : "");
	plan->hold = objection != NULL;
	plan->hold_kind = GBE_HOLD_CRASH;
	if (facts->intent != NULL)
		plan->hold_kind = GBE_HOLD_HALF;
	else if (facts->linked)
		plan->hold_kind = GBE_HOLD_LINKED;
	(void)gbe_plan_add(plan, plan->hold ? GBE_ACTION_HOLD : GBE_ACTION_KEEP, NULL,
			   plan->reason);
	return plan;
}

/* Replaces @plan after two unfinished starts in a row: no backup or restore is done, so that this start ends. The data
 * is unchanged. If the deployment must not have the data without @plan, etcd is held back. */
static GbePlan *
plan_unfinished(const GbePlan *plan)
{
	bool restores = gbe_plan_find(plan, GBE_ACTION_RESTORE) != NULL;
	/* Without ostree, etcd keeps its data. */
	bool has_deployment = plan->take_over != NULL && plan->take_over->deployment.id != NULL;
	/* The take-over of a restore describes the data after the restore. */
	const GbeTakeOver *to = restores ? plan->instead : plan->take_over;
	GbePlan *undone = gbe_plan_new();

	undone->rule = plan->rule;
	undone->unfinished = true;
	undone->must_record = plan->must_record;
	undone->opened = plan->opened;
	if (plan->forward || plan->hold || (restores && to == NULL && has_deployment)) {
		undone->hold = true;
		undone->hold_kind = GBE_HOLD_UNFINISHED;
		undone->reason = g_strdup(plan->forward || plan->hold ? TWO_STARTS NO_BACKUP
								      : TWO_STARTS NO_DATA);
		(void)gbe_plan_add(undone, GBE_ACTION_HOLD, NULL, undone->reason);
		return undone;
	}
	undone->reason = g_strdup(TWO_STARTS GOES_ON);
	if (to == NULL)
		return undone;
	undone->take_over = gbe_take_over_copy(to);
	/* The backup that ->found names was not taken. */
	gbe_backup_ref_clear(&undone->take_over->found);
	(void)gbe_plan_add(undone, GBE_ACTION_TAKE_OVER, NULL, TWO_STARTS);
	return undone;
}

char *
gbe_decide_fallback(const GbeFacts *facts)
{
	const GbeTakeOver *last;

	if (facts->ledger == GBE_UNKNOWN)
		return g_strdup_printf(
		    "cannot determine whether an operation on the data is open (%s)",
		    facts->ledger_why);
	if (facts->intent != NULL || facts->intent_why != NULL)
		return g_strdup("an operation on the data is open");
	/* Without ostree, no other deployment can have owned the data. */
	if (facts->ostree == GBE_NO || facts->skip || gbe_config_is_off(facts->config))
		return NULL;
	if (facts->member && gbe_facts_lack_log(facts))
		return g_strdup("this is a member of a cluster, and its data, or its log, is gone");
	if (facts->booted.id == NULL)
		return g_strdup_printf("cannot identify the booted deployment (%s)",
				       facts->booted_why);
	/* Data at the target of a link has no owner here. Another deployment owns it only if the ledger says so. */
	last = facts->owner;
	if (last == NULL && facts->unopened_why != NULL && !facts->holes && !facts->lost) {
		if (facts->take_overs->len == 0)
			return NULL;
		last = facts->take_overs->pdata[facts->take_overs->len - 1];
	}
	if (last == NULL)
		return g_strdup_printf("who had the data last is not known (%s)", facts->owner_why);
	if (!gbe_deployment_same(&last->deployment, &facts->booted))
		return g_strdup("another deployment had the data last");
	return NULL;
}

/* ---- the decision ---- */

GbePlan *
gbe_decide(const GbeFacts *facts)
{
	Decision d = {.facts = facts, .sequence = facts->next_sequence};
	g_autoptr(GbePlan) decided = NULL;

	if (facts->unopened_why != NULL)
		return plan_unopened(facts);
	d.plan = gbe_plan_new();
	decided = make_plan(&d);
	if (gbe_decide_gives_up(facts) && !gbe_plan_is_idle(decided))
		return plan_unfinished(decided);
	return g_steal_pointer(&decided);
}

bool
gbe_decide_needs_inside(const GbeFacts *facts)
{
	bool asked = facts->request.kind != GBE_REQUEST_NONE;
	g_autoptr(GbePlan) plan = NULL;

	if (facts->skip || (facts->ostree == GBE_NO && !asked))
		return false;
	/* The data of a failed update is displaced, also if it is damaged. */
	plan = gbe_decide(facts);
	return plan->rule != GBE_RULE_9 && plan->rule != GBE_RULE_10A;
}

GbePlan *
gbe_decide_by_hand(GbeFacts *facts, const char *name, bool force)
{
	Decision d = {.facts = facts,
		      .plan = gbe_plan_new(),
		      .sequence = facts->next_sequence,
		      .by_hand = true,
		      .empties = name == NULL};

	gbe_request_clear(&facts->request);
	facts->request.kind = GBE_REQUEST_RESTORE;
	facts->request.name = g_strdup(name);
	facts->request.force = force;
	/* A person restores now. The kernel command line of this boot does not matter. */
	facts->request.from_cmdline = true;
	facts->skip = false;
	facts->data_open = GBE_NO;
	/* Without a known deployment, the restored data has no owner. */
	if (facts->booted.id == NULL && force)
		facts->ostree = GBE_NO;
	g_clear_pointer(&facts->request_why, g_free);
	return make_plan(&d);
}

/* ---- the facts after a plan or a recovery was done, for status and explain ---- */

static void
add_take_over(GbeFacts *facts, const GbeTakeOver *take_over)
{
	gbe_past_add(facts, gbe_take_over_copy(take_over));
	gbe_take_over_free(facts->owner);
	facts->owner = gbe_take_over_copy(take_over);
}

void
gbe_decide_after(GbeFacts *facts, const GbePlan *plan)
{
	GBE_EACH(const GbeAction *, action, plan->actions) {
		if (action->kind == GBE_ACTION_BACKUP || action->kind == GBE_ACTION_DISPLACE)
			g_ptr_array_add(facts->backups, gbe_manifest_copy(action->manifest));
		for (guint k = 0; action->kind == GBE_ACTION_GRADE && k < facts->backups->len;
		     k++) {
			GbeManifest *old = facts->backups->pdata[k];

			if (!g_str_equal(old->name, action->manifest->name))
				continue;
			facts->backups->pdata[k] = gbe_manifest_copy(action->manifest);
			gbe_manifest_free(old);
			break;
		}
	}
	if (plan->take_over != NULL)
		add_take_over(facts, plan->take_over);
}

void
gbe_decide_recovered(GbeFacts *facts)
{
	g_autoptr(GbeIntent) intent = g_steal_pointer(&facts->intent);

	if (intent == NULL)
		return;
	/* An undone or lost restore changes no fact. At a mount point the directory stays, and recovery ends the exchange. */
	if (intent->entries == NULL && g_strcmp0(facts->tree, intent->tree_new) != 0)
		return;
	if (intent->displaced != NULL && gbe_facts_backup(facts, intent->displaced->name) == NULL)
		g_ptr_array_add(facts->backups, gbe_manifest_copy(intent->displaced));
	GBE_EACH(GbeManifest *, backup, intent->consume ? facts->backups : NULL)
		backup->consumed = backup->consumed || g_str_equal(backup->name, intent->backup);
	if (intent->take_over != NULL)
		add_take_over(facts, intent->take_over);
}
