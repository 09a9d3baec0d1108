/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide.h"

#include "core/backup-name.h"
#include "core/decide-private.h"

static void
choose_source(Decision *d, GbeDataMove move)
{
	const GbeManifest *source = NULL;

	switch (move) {
	case GBE_DATA_PREVIOUS:
		source = gbe_facts_backup(d->facts, d->view.previous);
		break;
	case GBE_DATA_CANDIDATE:
		source = gbe_situation_candidate(d->facts, FALSE);
		break;
	case GBE_DATA_USABLE:
		source = gbe_situation_candidate(d->facts, TRUE);
		break;
	case GBE_DATA_CLOSING:
		source = gbe_facts_backup(d->facts, d->live.stamp->closing.backup);
		break;
	case GBE_DATA_REQUESTED:
		source = gbe_situation_request(d->facts);
		break;
	case GBE_DATA_KEEP:
	case GBE_DATA_FRESH:
	default:
		return;
	}
	d->source = source;
	/* Who is on trial gets the data of its base: the base itself comes back to this very backup. */
	d->keep_source = d->ruling.rule == GBE_RULE_9 || d->ruling.rule == GBE_RULE_12 ||
			 (d->ruling.rule == GBE_RULE_5A && move == GBE_DATA_PREVIOUS);
	/* What the first move displaces is the live data; later moves replace what is not there yet. */
	if (!d->displaces) {
		d->displaces = TRUE;
		d->displaced = d->ruling.displaced;
		d->displaced_why = d->ruling.why;
	}
}

/* One more rule of the plan: the first that fits decides, the others follow from it. */
static void
then(Decision *d)
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

/* Looks for the rule, pass after pass. */
static void
rule(Decision *d)
{
	const GbeStamp *stamp;
	gboolean requested;

	gbe_view_live(d->facts, &d->live);
	d->view = d->live;
	stamp = d->live.stamp;
	requested = stamp != NULL && stamp->by_request;
	for (guint pass = 0; pass < 3; pass++) {
		gbe_situation_derive(d->facts, &d->view, requested, pass == 2, &d->situation);
		gbe_rules_apply(&d->situation, &d->ruling);
		choose_source(d, d->ruling.move);
		if (!d->ruling.again || d->ruling.rule == GBE_RULE_2)
			return;
		then(d);
		gbe_view_backup(d->facts, d->source, &d->view);
	}
}

/* The gate looks at what D would get in the end. */
static void
gate(Decision *d)
{
	GbeSituation s = d->situation;

	if (d->source != d->view.source) {
		GbeView view;

		gbe_view_backup(d->facts, d->source, &view);
		gbe_situation_derive(d->facts, &view, s.requested, TRUE, &s);
	}
	if (!gbe_rules_gate(&s, &d->ruling))
		return;
	then(d);
	if (d->ruling.hold != GBE_HOLD_NO) {
		d->source = NULL;
		d->displaces = FALSE;
	} else {
		choose_source(d, d->ruling.move);
	}
}

static void
plan_unchanged(Decision *d, const GbeManifest *same)
{
	const GbeView *live = &d->live;
	gboolean of_this_run = g_strcmp0(same->deployment.id, live->owner->id) == 0 &&
			       g_strcmp0(same->run, live->run) == 0;
	GbeGrade grade = gbe_decide_grade(live->verdict, live->health, same->verified);

	d->previous = g_strdup(same->name);
	/* finalize took it before the verdict was read: what has become known since goes in. */
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

/* An equal backup serves where it is the owner's own: P(D) must name O as its owner. */
static const GbeManifest *
equal_backup(const Decision *d)
{
	const GbeManifest *same = gbe_situation_unchanged(d->facts);

	if (same == NULL || d->ruling.adopt || !d->live.owner_known ||
	    !gbe_deployment_same(&same->deployment, d->live.owner))
		return NULL;
	return same;
}

static void
plan_backup(Decision *d)
{
	const GbeConfig *config = d->facts->config;
	GbeBackupWish wish = d->ruling.backup;
	const GbeManifest *same;
	GbeAction *action;
	gboolean cow_only;

	if (wish == GBE_BACKUP_NONE || d->facts->data != GBE_YES)
		return;
	if (d->source != NULL) {
		/* The data in view is a backup already. */
		d->previous = g_strdup(d->source->name);
		return;
	}
	same = equal_backup(d);
	if (same != NULL) {
		plan_unchanged(d, same);
		return;
	}
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
	action->name = g_strdup(action->manifest->name);
	action->cow_only = cow_only;
	if (wish == GBE_BACKUP_REQUIRED && d->situation.hold_without_backup)
		action->on_failure = GBE_FAILURE_HOLD;
	d->previous = g_strdup(action->name);
}

static void
plan_restore(Decision *d)
{
	GbeAction *displace, *restore;
	GbeManifest *manifest;

	if (d->source == NULL)
		return;
	restore = gbe_plan_add(d->plan, GBE_ACTION_RESTORE, d->source->name, d->displaced_why);
	restore->keep_source = d->keep_source;
	if (d->facts->data != GBE_YES)
		return;
	manifest = gbe_decide_manifest(d->facts, &d->live, NULL,
				       d->displaced == GBE_DISPLACED_ADOPTED, d->sequence++);
	manifest->origin = GBE_ORIGIN_DISPLACED;
	manifest->method = GBE_METHOD_RENAME;
	manifest->set_aside = d->displaced == GBE_DISPLACED_SET_ASIDE;
	if (d->displaced == GBE_DISPLACED_BAD || d->displaced == GBE_DISPLACED_ADOPTED) {
		manifest->grade = GBE_GRADE_BAD;
		if (manifest->grade_reason == NULL) /* else what is damaged in it */
			manifest->grade_reason = g_strdup(d->displaced_why);
	}
	displace = gbe_plan_add(d->plan, GBE_ACTION_DISPLACE, manifest->name,
				"the present data is kept under this name");
	displace->manifest = manifest;
}

/* etcd was started again in this run and had not made any data: what there is to record is recorded. */
static gboolean
is_recorded_fresh(const GbeFacts *facts)
{
	const GbeStamp *copy = facts->copy;

	return copy != NULL && copy->data_handle == NULL && facts->run != NULL &&
	       gbe_run_id_valid(facts->run) && g_strcmp0(copy->run, facts->run) == 0 &&
	       gbe_situation_is_of(facts, &copy->deployment, copy->sequence, &facts->booted);
}

static void
plan_stamp(Decision *d)
{
	GbePlan *plan = d->plan;
	GbeAction *action;

	if (!d->ruling.stamp || (d->facts->booted.id == NULL && d->source == NULL))
		return;
	/* What another pass brings back has to say whose it is, even where that was of this very run. */
	if (d->ruling.rule == GBE_RULE_5 && d->ruling.backup == GBE_BACKUP_NONE &&
	    d->source == NULL) {
		plan->clear_closing = d->live.stamp->closing.present;
		(void)gbe_plan_add(plan, GBE_ACTION_KEEP, NULL, d->ruling.why);
		return;
	}
	if (d->ruling.move == GBE_DATA_FRESH && is_recorded_fresh(d->facts))
		return;
	plan->stamp = g_new0(GbeStamp, 1);
	gbe_decide_stamp_common(d->facts, &d->view, d->source, d->sequence++, plan->stamp);
	if (d->ruling.rule == GBE_RULE_2)
		gbe_decide_stamp_requested(d, plan->stamp);
	else
		gbe_decide_stamp_trial(d, plan->stamp);
	plan->run = gbe_decide_run_record(plan->stamp);
	if (d->ruling.move == GBE_DATA_FRESH) {
		/* Nothing is left of what was: a new chain. */
		gbe_lineage_clear(&plan->stamp->lineage);
		plan->stamp->lineage.line = plan->stamp->sequence;
		plan->stamp->voters = 0;
		(void)gbe_plan_add(plan, GBE_ACTION_FRESH, NULL, d->ruling.why);
		return;
	}
	if (d->source != NULL)
		return; /* the restored tree carries it */
	action = gbe_plan_add(plan, GBE_ACTION_STAMP, NULL, "the booted deployment has the data");
	/* The same owner may go on with an old stamp; another one would be without a past. */
	if (d->situation.owner != GBE_OWNER_SAME && d->situation.hold_without_backup)
		action->on_failure = GBE_FAILURE_HOLD;
}

/* What this etcd cannot read, and which one it is; "" where it is the version file that decided. */
static char *
versions_apart(const Decision *d)
{
	const GbeManifest *source = d->view.source;
	GbeVersion needs = source != NULL ? gbe_version_parse(gbe_manifest_needs(source))
			   : d->facts->storage_version.known ? d->facts->storage_version
							     : d->facts->cluster_version;
	g_autofree char *theirs = gbe_decide_version_text(needs);
	g_autofree char *own = gbe_decide_version_text(d->facts->etcd_version);

	if (gbe_version_above(needs, d->facts->etcd_version) != GBE_YES)
		return g_strdup("");
	return g_strdup_printf(" (etcd %s, the data is of %s)", own, theirs);
}

static void
plan_hold(Decision *d)
{
	static const char *const lifts[] = {
	    [GBE_HOLD_NO] = "",
	    [GBE_HOLD_MOUNT] = "mount it, or `greenboot-etcd restore --last-good --force` to have "
			       "the data in the bare directory",
	    [GBE_HOLD_CORRUPT] = "`greenboot-etcd restore --last-good`, or on-corrupt-data=keep",
	    [GBE_HOLD_FAILED] = "`greenboot-etcd restore --last-good`, or "
				"on-upgrade-from-failed=keep",
	    [GBE_HOLD_UNUSABLE] = "`greenboot-etcd restore NAME`, or boot the newer deployment",
	};
	g_autofree char *versions = NULL;
	g_autofree char *reason = NULL;

	if (d->ruling.hold == GBE_HOLD_NO)
		return;
	versions = d->ruling.hold == GBE_HOLD_UNUSABLE ? versions_apart(d) : g_strdup("");
	reason = g_strdup_printf("%s%s: %s; `systemctl mask greenboot-etcd-prerun` lets etcd start "
				 "on what is there",
				 d->ruling.why, versions, lifts[d->ruling.hold]);
	(void)gbe_plan_add(d->plan, GBE_ACTION_HOLD, NULL, reason);
	d->plan->hold = TRUE;
}

static const char *
why_impossible(const GbeFacts *facts)
{
	const GbeManifest *backup = gbe_situation_request(facts);

	if (facts->request_why != NULL)
		return facts->request_why;
	/* Tried by this very start. */
	if (backup != NULL && facts->rejected != NULL &&
	    g_hash_table_contains(facts->rejected, backup->name))
		return "the backup does not validate, or nobody could look";
	return "the backup is not there, is graded bad, or is a cluster member's";
}

static void
plan_rest(Decision *d)
{
	GbePlan *plan = d->plan;

	if (d->ruling.forget && gbe_situation_stamp(d->facts) != NULL) {
		GbeAction *action =
		    gbe_plan_add(plan, GBE_ACTION_STAMP, NULL, "the owner is forgotten");

		action->forget = TRUE;
	}
	if (d->situation.request == GBE_REQUEST_IS_IMPOSSIBLE) {
		plan->drop_request = TRUE;
		plan->request_failed = g_strdup(why_impossible(d->facts));
	} else if (d->ruling.rule == GBE_RULE_2) {
		plan->drop_request = TRUE;
		plan->again = TRUE;
	} else if (d->live.stamp != NULL && d->live.stamp->by_request &&
		   d->facts->request.kind != GBE_REQUEST_NONE) {
		/* Carried out, and then the power went before it was dropped. */
		plan->drop_request = TRUE;
	}
	if (plan->actions->len == 0)
		(void)gbe_plan_add(plan, GBE_ACTION_KEEP, NULL, d->ruling.why);
}

GbePlan *
gbe_decide(const GbeFacts *facts)
{
	Decision d = {.facts = facts, .plan = gbe_plan_new(), .sequence = facts->next_sequence};

	rule(&d);
	then(&d);
	if (d.ruling.rule != GBE_RULE_2)
		gate(&d);
	plan_backup(&d);
	plan_restore(&d);
	plan_hold(&d);
	plan_stamp(&d);
	plan_rest(&d);
	d.plan->last_sequence = d.sequence - 1;
	g_free(d.previous);
	return d.plan;
}
