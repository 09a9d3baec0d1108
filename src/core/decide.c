/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide.h"

#include "core/backup-name.h"
#include "core/decide-private.h"

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
		source = gbe_situation_candidate(facts, FALSE);
		break;
	case GBE_DATA_USABLE:
		source = gbe_situation_candidate(facts, TRUE);
		break;
	case GBE_DATA_CLOSING:
		source = gbe_facts_backup_of(facts, &d->live.take_over->closing.backup);
		break;
	case GBE_DATA_REQUESTED:
		source = gbe_situation_request(facts);
		break;
	case GBE_DATA_KEEP:
	case GBE_DATA_FRESH:
	default:
		return;
	}
	d->source = source;
	/* A trial gets the data of its base: the base itself comes back to this very backup. */
	d->keep_source = d->ruling.rule == GBE_RULE_9 || d->ruling.rule == GBE_RULE_12 ||
			 (d->ruling.rule == GBE_RULE_5A && move == GBE_DATA_BASE);
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

/* Looks for the rule; after an update that failed, once more on the state before it. */
static void
rule(Decision *d)
{
	gbe_view_live(d->facts, &d->live);
	d->view = d->live;
	gbe_situation_derive(d->facts, &d->view, FALSE, &d->live_situation);
	d->situation = d->live_situation;
	gbe_rules_apply(&d->situation, &d->ruling);
	choose_source(d, d->ruling.move);
	if (!d->ruling.again)
		return;
	then(d);
	gbe_view_backup(d->facts, d->source, &d->view);
	/* As if that state's owner had been the one that D comes back from. */
	d->view.was_default = d->live.was_default;
	gbe_situation_derive(d->facts, &d->view, TRUE, &d->situation);
	gbe_rules_apply(&d->situation, &d->ruling);
	choose_source(d, d->ruling.move);
}

/* The gate looks at what D would get in the end. */
static void
gate(Decision *d)
{
	GbeSituation s = d->situation;

	if (d->source != d->view.source) {
		GbeView view;

		gbe_view_backup(d->facts, d->source, &view);
		gbe_situation_derive(d->facts, &view, TRUE, &s);
		s.owner = d->situation.owner;
		s.same_run = d->situation.same_run;
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
	/* A verdict is on the data that it judged: what was there before this take-over has its own. */
	gboolean of_this_run = g_strcmp0(same->deployment.id, live->owner->id) == 0 &&
			       g_strcmp0(same->run, live->run) == 0 &&
			       same->sequence > live->sequence;
	GbeGrade grade = gbe_decide_grade(live->verdict, live->health, same->verified);

	gbe_backup_ref_set(&d->found, gbe_manifest_ref(same));
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
	if (d->source != NULL)
		return; /* the displaced data becomes a backup by rename */
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
	gbe_backup_ref_set(&d->found, gbe_manifest_ref(action->manifest));
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
	/* Somebody may have put it there by hand. */
	manifest->set_aside = d->by_hand || d->facts->stranger;
	if (manifest->set_aside)
		;
	else if (d->displaced == GBE_DISPLACED_BAD || d->displaced == GBE_DISPLACED_ADOPTED) {
		manifest->grade = GBE_GRADE_BAD;
		if (manifest->grade_reason == NULL) /* else what is damaged in it */
			manifest->grade_reason = g_strdup(d->displaced_why);
	}
	displace = gbe_plan_add(d->plan, GBE_ACTION_DISPLACE, manifest->name,
				"the present data is kept under this name");
	displace->manifest = manifest;
	gbe_backup_ref_set(&d->found, gbe_manifest_ref(manifest));
}

/* etcd was started again in this run and had not made any data: what there is to record is recorded. */
static gboolean
is_recorded_fresh(const Decision *d)
{
	return d->situation.owner == GBE_OWNER_SAME && d->situation.same_run == GBE_YES;
}

/* D goes on with the data that is there, because the restore that was due could not be done. */
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
	d->plan->instead->failed = TRUE;
	d->sequence++;
}

static void
plan_take_over(Decision *d)
{
	GbePlan *plan = d->plan;
	GbeAction *action;

	if (!d->ruling.take_over || (d->facts->booted.id == NULL && d->source == NULL))
		return;
	/* What is restored has to say whose it is, even where that was of this very run. */
	if (d->ruling.rule == GBE_RULE_5 && d->ruling.backup == GBE_BACKUP_NONE &&
	    d->source == NULL) {
		plan->opened = d->live.take_over->closing.present;
		(void)gbe_plan_add(plan, GBE_ACTION_KEEP, NULL, d->ruling.why);
		return;
	}
	if (d->ruling.move == GBE_DATA_FRESH && is_recorded_fresh(d))
		return;
	plan->take_over = gbe_decide_take_over(d, d->sequence++);
	if (d->ruling.move == GBE_DATA_FRESH) {
		/* Nothing is left of what was: a new line. */
		gbe_lineage_clear(&plan->take_over->lineage);
		plan->take_over->lineage.line = plan->take_over->sequence;
		plan->take_over->voters = 0;
		action = gbe_plan_add(plan, GBE_ACTION_FRESH, NULL, d->ruling.why);
	} else if (d->source != NULL) {
		plan_instead(d);
		return; /* part of the restore */
	} else {
		action = gbe_plan_add(plan, GBE_ACTION_TAKE_OVER, NULL,
				      "the booted deployment has the data");
	}
	/* The same owner may go on unrecorded; another one would be without a past. */
	if (d->situation.owner != GBE_OWNER_SAME && d->situation.hold_without_backup &&
	    !d->situation.skip)
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
	    [GBE_HOLD_OPEN] = "end it, then `systemctl restart` the service",
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
	if (d->ruling.hold == GBE_HOLD_UNUSABLE)
		versions = versions_apart(d);
	else if (d->ruling.hold == GBE_HOLD_OPEN && d->facts->data_open_why != NULL)
		versions = g_strdup_printf(" (%s)", d->facts->data_open_why);
	else
		versions = g_strdup("");
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

	if (d->live_situation.request == GBE_REQUEST_IS_IMPOSSIBLE) {
		plan->drop_request = TRUE;
		plan->request_failed = g_strdup(why_impossible(d->facts));
		/* The one that waits behind it is looked at in the same start. */
		plan->again = d->facts->request_waits;
	}
	if (plan->actions->len == 0)
		(void)gbe_plan_add(plan, GBE_ACTION_KEEP, NULL, d->ruling.why);
}

static GbePlan *
plan(Decision *d)
{
	rule(d);
	then(d);
	gate(d);
	plan_backup(d);
	plan_restore(d);
	plan_hold(d);
	plan_take_over(d);
	plan_rest(d);
	d->plan->last_sequence = d->sequence - 1;
	gbe_backup_ref_clear(&d->found);
	return d->plan;
}

GbePlan *
gbe_decide(const GbeFacts *facts)
{
	Decision d = {.facts = facts, .plan = gbe_plan_new(), .sequence = facts->next_sequence};

	return plan(&d);
}

GbePlan *
gbe_decide_by_hand(GbeFacts *facts, const char *name, gboolean force)
{
	Decision d = {.facts = facts,
		      .plan = gbe_plan_new(),
		      .sequence = facts->next_sequence,
		      .by_hand = TRUE};

	gbe_request_clear(&facts->request);
	facts->request.kind = GBE_REQUEST_RESTORE;
	facts->request.name = g_strdup(name);
	facts->request.force = force;
	/* A person does it now, whatever the kernel command line says of this boot. */
	facts->request.from_cmdline = TRUE;
	facts->skip = FALSE;
	facts->data_open = GBE_NO;
	/* Then the data is nobody's. */
	if (facts->booted.id == NULL && force)
		facts->ostree = GBE_NO;
	g_clear_pointer(&facts->request_why, g_free);
	return plan(&d);
}
