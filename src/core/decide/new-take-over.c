/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The take-overs that plans carry. */

#include "core/decide/decision.h"

/* true where the ledger does not know the owner of the data, or the data is no longer the owner's. */
static bool
is_adopted(const Decision *d)
{
	return d->ruling.adopt || (d->displaces && d->displaced == GBE_DISPLACED_ADOPTED) ||
	       !d->live.owner_known;
}

static void
add_chain(GbeTakeOver *to, const GPtrArray *chain, int from)
{
	for (guint i = (guint)MAX(from, 0); i < chain->len; i++) {
		const GbeLink *link = chain->pdata[i];

		gbe_take_over_link(to, &link->backup, &link->owner, link->failed);
	}
}

/* The first link of @view's chain that is not of its owner's own attempts. */
static int
to_others(const GbeView *view)
{
	const GPtrArray *chain = view->take_over->chain;
	guint i = 0;

	while (i < chain->len &&
	       gbe_deployment_same(&((const GbeLink *)chain->pdata[i])->owner, view->owner))
		i++;
	return (int)i;
}

/* The ledger is lost, so the store, which root also wrote, names the base. */
static void
add_newest_of_others(const Decision *d, GbeTakeOver *to)
{
	const GbeManifest *newest = NULL;

	GBE_EACH(const GbeManifest *, backup, d->facts->backups) {
		if (backup->deployment.id != NULL && backup->grade != GBE_GRADE_BAD &&
		    backup->origin != GBE_ORIGIN_MANUAL && !backup->set_aside &&
		    !gbe_deployment_same(&backup->deployment, &d->facts->booted) &&
		    (newest == NULL || backup->sequence > newest->sequence))
			newest = backup;
	}
	if (newest != NULL) {
		const GbeBackupRef left = gbe_manifest_ref(newest);

		gbe_take_over_link(to, &left, &newest->deployment, false);
	}
}

/* Sets the chain of bases of D, which has the data from now on (decisions.md, "Terms"). */
static void
set_chain(const Decision *d, GbeTakeOver *to)
{
	const GbeView *live = &d->live;
	const GPtrArray *chain = live->take_over != NULL ? live->take_over->chain : NULL;
	/* A deployment that is no longer on trial has no chain. */
	int own = live->trial.on == GBE_YES ? gbe_chain_own(d->facts, live) : -1;
	/* The backup that takes the place of missing or damaged data is what its owner left. */
	bool restores_left =
	    d->ruling.move == GBE_DATA_OWNER_LEFT || d->ruling.move == GBE_DATA_CLOSING;
	GbeBackupRef left = restores_left ? gbe_manifest_ref(d->source) : d->found;

	/* Data that a person set aside comes back by hand only. */
	if (to->trial.on == GBE_NO || d->empties)
		return;
	/* A person chose this data for a trial: each attempt starts from it again. */
	if (to->asked && to->trial.on == GBE_YES && d->source != NULL) {
		const GbeBackupRef chosen = gbe_manifest_ref(d->source);

		gbe_take_over_link(to, &chosen, &to->deployment, true);
	}
	if (d->situation.owner == GBE_OWNER_SAME && (restores_left || !is_adopted(d))) {
		/* The last choice counts: an earlier one does not come back. */
		if (chain != NULL)
			add_chain(to, chain, to->chain->len > 0 ? to_others(live) : 0);
		return;
	}
	if (d->ruling.rule == GBE_RULE_12 && d->source != NULL) {
		add_chain(to, chain, gbe_chain_unwound(d->facts, live));
		return;
	}
	if (own >= 0 && d->source != NULL) {
		add_chain(to, chain, own + 1);
		return;
	}
	if (is_adopted(d) && !restores_left) {
		gbe_take_over_link(to, &d->found, NULL, false);
		/* In the ledger's own tree, the states before it are still those of their deployments. The
		 * owner did not leave the state that a person chose for its attempts. */
		if (d->live.owner_known && live->trial.on == GBE_YES)
			add_chain(to, chain, to_others(live));
		if (d->facts->take_overs->len == 0)
			add_newest_of_others(d, to);
		return;
	}
	gbe_take_over_link(to, &left, live->owner, gbe_view_failed(d->facts, live));
	if (live->trial.on == GBE_YES)
		add_chain(to, chain, 0);
}

static void
set_trial(const Decision *d, GbeTakeOver *to)
{
	bool same = d->situation.owner == GBE_OWNER_SAME;
	GbeTri own = d->situation.own_trial;

	if (d->ruling.upgrade && !same) {
		to->trial = (GbeTrial){.on = GBE_YES, .since = to->sequence};
		if (own == GBE_NO || gbe_situation_was_green(d->facts, &d->facts->booted))
			to->trial.on = GBE_NO;
		else if (d->ruling.rule == GBE_RULE_10B)
			to->trial.on = own; /* unknown counts as no, and stays unknown */
	} else if (d->source == NULL || same) {
		to->trial = d->live.trial;
		/* A new attempt on data that the trial has not used yet. */
		if (d->source != NULL)
			to->trial.used = 0;
	} else {
		/* D's own state comes back with its own past. */
		to->trial = d->source->trial;
	}
	/* An older state of a deployment that ended its trial does not begin the trial again. */
	if (gbe_situation_trial_of(d->facts, &d->facts->booted) == GBE_NO)
		to->trial.on = GBE_NO;
	to->trial.judges = d->facts->judges;
}

static void
set_place(const GbeFacts *facts, GbeTakeOver *to)
{
	to->run = g_strdup(facts->run);
	gbe_deployment_copy(&to->deployment, &facts->booted);
	to->tree = g_strdup(facts->tree);
	to->data_dir = g_strdup(facts->data_dir);
	to->etcd_version = gbe_decide_version_text(facts->etcd_version);
	to->mount_point = facts->mount_point;
	to->was_default = facts->booted_is_default;
	to->at = facts->now;
	to->uptime = facts->uptime;
}

GbeTakeOver *
gbe_decide_take_over(const Decision *d, guint64 sequence)
{
	const GbeFacts *facts = d->facts;
	GbeTakeOver *to = gbe_take_over_new();

	to->sequence = sequence;
	set_place(facts, to);
	to->source = d->source != NULL ? g_strdup(d->source->name) : NULL;
	to->asked = d->ruling.rule == GBE_RULE_2;
	to->skipped = d->ruling.rule == GBE_RULE_SKIP;
	/* Until a person says that it is well, or restores. */
	to->began_empty = gbe_situation_began_empty(facts) &&
			  d->situation.owner == GBE_OWNER_SAME && d->source == NULL;
	to->request = to->asked && !d->by_hand ? g_strdup(facts->request.text) : NULL;
	if (d->source != NULL) {
		gbe_lineage_grow(&to->lineage, &d->source->lineage, gbe_manifest_place(d->source),
				 sequence);
	} else if (!is_adopted(d)) {
		gbe_lineage_copy(&to->lineage, d->view.lineage);
	} else {
		to->lineage.line = sequence;
		to->lineage.truncated = true;
	}
	set_trial(d, to);
	gbe_backup_ref_set(&to->found, d->found);
	if (!is_adopted(d)) {
		to->after = d->live.take_over->sequence;
		to->after_trial = d->live.trial.on;
	}
	set_chain(d, to);
	to->voters = d->view.voters == GBE_VOTERS_UNCLEAR ? 0 : d->view.voters;
	if (d->source != NULL)
		to->voters = d->source->voters;
	to->store_path = g_strdup(facts->store_path);
	to->store_fs = g_strdup(facts->store_fs);
	to->store_tree = g_strdup(facts->store_tree);
	/* Facts describe the present data, not the data that takes its place. */
	to->member_id = g_strdup(d->source != NULL ? d->source->member_id : facts->member_id);
	to->cluster_id = g_strdup(d->source != NULL ? d->source->cluster_id : facts->cluster_id);
	return to;
}

/* Has etcd written to the data in this run, or has it the data open? */
static bool
used_in_this_run(const GbeFacts *facts)
{
	const GbeClosing *closing = &facts->owner->closing;

	if (facts->data != GBE_YES || facts->data_open == GBE_UNKNOWN)
		return false;
	if (facts->data_open == GBE_YES)
		return true;
	if (!facts->fingerprint.present)
		return false;
	if (closing->present)
		return !gbe_fingerprint_same_etcd(&closing->fingerprint, &facts->fingerprint);
	/* All three are whole seconds: a write in the second of the boot may be of the run before. */
	return facts->uptime >= 0 && facts->last_write > facts->now - facts->uptime;
}

GbeTakeOver *
gbe_decide_late(const GbeFacts *facts)
{
	const GbeTakeOver *owner = facts->owner;
	GbeTakeOver *to;
	GbeView live;
	bool same;

	/* An open intent has a record for this run: it is finished instead. Data of no known owner is adopted anyway. The run
	 * tells, where the booted deployment cannot be looked up now. */
	if (owner == NULL || facts->run == NULL || gbe_facts_is_this_run(facts, owner->run) ||
	    facts->intent != NULL || facts->intent_why != NULL || !used_in_this_run(facts))
		return NULL;
	same = facts->booted.id != NULL &&
	       gbe_situation_is_of(facts, &owner->deployment, owner->sequence, &facts->booted);
	to = gbe_take_over_new();
	gbe_view_live(facts, &live);
	to->late = true;
	to->sequence = facts->next_sequence;
	set_place(facts, to);
	if (same) {
		gbe_lineage_copy(&to->lineage, &owner->lineage);
		to->trial = live.trial;
		if (live.trial.on == GBE_YES)
			add_chain(to, owner->chain, 0);
	} else {
		to->lineage.line = to->sequence;
		to->lineage.truncated = true;
		/* The trial began without a backup, so no later boot may take it back automatically. */
		to->trial.on =
		    facts->booted.id != NULL && gbe_situation_was_green(facts, &facts->booted)
			? GBE_NO
			: GBE_UNKNOWN;
		to->trial.since = to->sequence;
	}
	/* The use before this record was not measured. */
	to->trial.used = -1;
	to->trial.judges = facts->judges;
	to->after = owner->sequence;
	to->after_trial = live.trial.on;
	to->store_path = g_strdup(owner->store_path);
	to->store_fs = g_strdup(owner->store_fs);
	to->store_tree = g_strdup(owner->store_tree);
	to->voters = live.voters == GBE_VOTERS_UNCLEAR ? 0 : live.voters;
	return to;
}
