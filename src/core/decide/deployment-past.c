/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A deployment's past, as the ledger records it. */
#include "core/decide/situation.h"

bool
gbe_situation_is_of(const GbeFacts *facts, const GbeDeployment *of, guint64 sequence,
		    const GbeDeployment *ref)
{
	if (!gbe_deployment_same(of, ref))
		return false;
	if (gbe_deployment_same_directory(of, ref) == GBE_YES)
		return true;
	GBE_EACH(const GbeGone *, gone, facts->gone) {
		if (sequence <= gone->sequence && g_str_equal(gone->id, of->id))
			return false;
	}
	return true;
}

bool
gbe_situation_was_green(const GbeFacts *facts, const GbeDeployment *ref)
{
	GBE_EACH(const GbeRunRecord *, run, facts->runs) {
		if (gbe_run_record_is_green(run) &&
		    gbe_situation_is_of(facts, &run->deployment, run->sequence, ref))
			return true;
	}
	GBE_EACH(const GbeManifest *, backup, facts->backups) {
		if (backup->verdict == GBE_VERDICT_GREEN &&
		    gbe_situation_is_of(facts, &backup->deployment, backup->sequence, ref))
			return true;
	}
	return false;
}

/* The run of @ref's newest take-over, or NULL. */
static const GbeRunRecord *
newest_run(const GbeFacts *facts, const GbeDeployment *ref)
{
	for (guint i = facts->runs->len; i > 0; i--) {
		const GbeRunRecord *run = facts->runs->pdata[i - 1];

		if (gbe_situation_is_of(facts, &run->deployment, run->sequence, ref))
			return run;
	}
	return NULL;
}

GbeTri
gbe_situation_ran(const GbeFacts *facts, const GbeDeployment *ref)
{
	if (newest_run(facts, ref) != NULL)
		return GBE_YES;
	/* A lost record, or a lost ledger, might have said so. */
	return facts->holes || facts->ledger != GBE_YES ? GBE_UNKNOWN : GBE_NO;
}

bool
gbe_situation_began_empty(const GbeFacts *facts)
{
	const GbeRunRecord *run;

	if (facts->owner == NULL || !facts->owner->began_empty)
		return false;
	/* A person says that the run is well: `mark good`. */
	run = gbe_facts_run(facts, facts->owner->sequence);
	return run == NULL || !run->by_hand || run->verdict != GBE_VERDICT_GREEN;
}

GbeTri
gbe_situation_trial_of(const GbeFacts *facts, const GbeDeployment *ref)
{
	const GbeRunRecord *run = newest_run(facts, ref);

	if (gbe_situation_was_green(facts, ref))
		return GBE_NO;
	if (run == NULL)
		return gbe_situation_ran(facts, ref) == GBE_NO ? GBE_YES : GBE_UNKNOWN;
	return facts->holes && run->trial == GBE_YES ? GBE_UNKNOWN : run->trial;
}

bool
gbe_situation_booted_on_trial(const GbeFacts *facts)
{
	GbeTri trial =
	    facts->booted.id != NULL ? gbe_situation_trial_of(facts, &facts->booted) : GBE_NO;

	/* Unknown: the booted deployment was held back before it ever had the data, which is still another
	 * deployment's. */
	return trial != GBE_UNKNOWN
		   ? trial == GBE_YES
		   : facts->owner != NULL &&
			 !gbe_deployment_same(&facts->owner->deployment, &facts->booted);
}

bool
gbe_situation_is_being_judged(const GbeFacts *facts)
{
	GbeView view;

	if (!gbe_facts_taken_in_this_run(facts))
		return false;
	gbe_view_live(facts, &view);
	/* If it comes to no verdict within trial-limit, the wait ends. */
	return view.verdict == GBE_VERDICT_JUDGING ||
	       (view.verdict == GBE_VERDICT_NONE && view.trial.on == GBE_YES &&
		facts->judges == GBE_YES && !facts->owner->used_beyond);
}

bool
gbe_situation_rollback_may_follow(const GbeFacts *facts)
{
	return facts->can_roll_back != GBE_NO &&
	       (facts->booted.id == NULL ||
		gbe_situation_trial_of(facts, &facts->booted) != GBE_NO);
}

const GbeTakeOver *
gbe_situation_own(const GbeFacts *facts, char **ret_why)
{
	const GbeTakeOver *owner = facts->owner;
	g_autofree char *why = NULL;

	if (facts->run == NULL)
		why = g_strdup(facts->run_why);
	else if (owner == NULL)
		why = g_strdup_printf("the owner of the data is unknown: %s", facts->owner_why);
	else if (!gbe_facts_is_this_run(facts, owner->run))
		why = g_strdup("the data belongs to another run: prerun did not take it over");
	else if (!gbe_deployment_same(&owner->deployment, &facts->booted))
		why = g_strdup("the data belongs to another deployment");
	else
		return owner;
	if (ret_why != NULL)
		*ret_why = g_steal_pointer(&why);
	return NULL;
}

/* A backup of the state of @ref that was not set aside: the named one, or an equal one. */
static const GbeManifest *
not_set_aside(const GbeFacts *facts, const GbeBackupRef *ref)
{
	const GbeManifest *backup = gbe_facts_backup_of(facts, ref);

	if (backup == NULL || !backup->set_aside)
		return backup;
	GBE_EACH(const GbeManifest *, equal, facts->backups)
		if (!equal->set_aside && gbe_facts_is_equal(equal, ref))
			return equal;
	return NULL;
}

GbeLeft
gbe_situation_left(const GbeFacts *facts, const GbeDeployment *ref)
{
	GbeLeft left = {0};

	for (guint i = facts->runs->len; i > 0; i--) {
		const GbeRunRecord *run = facts->runs->pdata[i - 1];
		const GbeTakeOver *to;

		if (!gbe_situation_is_of(facts, &run->deployment, run->sequence, ref))
			continue;
		to = gbe_facts_take_over(facts, run->sequence);
		/* etcd never had what an unfinished start took over, so the run before it counts. */
		if (!run->ended && (to == NULL || !to->asked))
			continue;
		left.known = true;
		left.ref = run->ended ? run->left : (GbeBackupRef){.name = to->source};
		left.backup = not_set_aside(facts, &left.ref);
		left.line = to != NULL ? to->lineage.line : 0;
		left.began = run->sequence;
		break;
	}
	return left;
}
