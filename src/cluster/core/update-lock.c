/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/core/update-lock.h"

#include "core/decide/situation.h"

/* ostree removes an update that is dropped before it was booted; one that the boot loader has tried stays listed, or
 * has had the data. */
static bool
was_tried(const GbeFacts *facts, const GPtrArray *listed, const GbeDeployment *update)
{
	for (guint i = 0; i < listed->len; i++) {
		const GbeListed *one = listed->pdata[i];

		if (!one->staged && gbe_deployment_same(&one->ref, update))
			return true;
	}
	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		if (gbe_deployment_same(&run->deployment, update))
			return true;
	}
	return false;
}

GbeTurn
gbe_turn_of(const GbeFacts *facts, const GPtrArray *listed, const GbeListed *staged, bool recorded,
	    const GbeDeployment *wanted)
{
	const GbeRunRecord *run = gbe_facts_this_run(facts);
	bool is_red = run != NULL && run->verdict == GBE_VERDICT_RED;
	bool is_booted = recorded && gbe_deployment_same(&facts->booted, wanted);
	GbeTri trial;

	if (listed == NULL || facts->booted.id == NULL)
		return GBE_TURN_UNKNOWN;
	trial = gbe_situation_trial_of(facts, &facts->booted);
	/* Another device has its turn before the next update of this one. */
	if (is_booted && !is_red && trial == GBE_NO)
		return GBE_TURN_GREEN;
	if (staged != NULL)
		return GBE_TURN_STAGED;
	if (!recorded)
		return GBE_TURN_NONE;
	if (wanted->id == NULL)
		return GBE_TURN_BY_HAND;
	if (!is_booted && was_tried(facts, listed, wanted))
		return GBE_TURN_FAILED;
	/* An update was staged during a trial, and dropped again: the lock still belongs to the trial. */
	if (!is_booted && (run == NULL || trial != GBE_YES))
		return GBE_TURN_DROPPED;
	return is_red ? GBE_TURN_RED : GBE_TURN_TRIAL;
}

/* Not listed: wait. An update that is under way does not take a lock that is not its own: a person has taken the lock
 * away. */
static const GbeLockStep steps[GBE_N_TURNS][GBE_N_LOCK_KEYS] = {
    [GBE_TURN_BY_HAND] = {[GBE_LOCK_KEY_FREE] = GBE_LOCK_FORGET,
			  [GBE_LOCK_KEY_OWN] = GBE_LOCK_HOLD,
			  [GBE_LOCK_KEY_OWN_FAILED] = GBE_LOCK_HOLD,
			  [GBE_LOCK_KEY_OTHER] = GBE_LOCK_FORGET},
    [GBE_TURN_STAGED] = {[GBE_LOCK_KEY_FREE] = GBE_LOCK_TAKE,
			 [GBE_LOCK_KEY_OWN] = GBE_LOCK_HOLD,
			 [GBE_LOCK_KEY_OWN_FAILED] = GBE_LOCK_HOLD},
    [GBE_TURN_TRIAL] = {[GBE_LOCK_KEY_FREE] = GBE_LOCK_FORGET,
			[GBE_LOCK_KEY_OWN] = GBE_LOCK_HOLD,
			[GBE_LOCK_KEY_OWN_FAILED] = GBE_LOCK_HOLD,
			[GBE_LOCK_KEY_OTHER] = GBE_LOCK_FORGET},
    [GBE_TURN_RED] = {[GBE_LOCK_KEY_FREE] = GBE_LOCK_FORGET,
		      [GBE_LOCK_KEY_OWN] = GBE_LOCK_FAIL,
		      [GBE_LOCK_KEY_OWN_FAILED] = GBE_LOCK_FAIL,
		      [GBE_LOCK_KEY_OTHER] = GBE_LOCK_FORGET},
    [GBE_TURN_GREEN] = {[GBE_LOCK_KEY_FREE] = GBE_LOCK_FORGET,
			[GBE_LOCK_KEY_OWN] = GBE_LOCK_RELEASE,
			[GBE_LOCK_KEY_OWN_FAILED] = GBE_LOCK_RELEASE,
			[GBE_LOCK_KEY_OTHER] = GBE_LOCK_FORGET},
    [GBE_TURN_FAILED] = {[GBE_LOCK_KEY_FREE] = GBE_LOCK_FORGET,
			 [GBE_LOCK_KEY_OWN] = GBE_LOCK_FAIL,
			 [GBE_LOCK_KEY_OWN_FAILED] = GBE_LOCK_FAIL,
			 [GBE_LOCK_KEY_OTHER] = GBE_LOCK_FORGET},
    /* A failed one says of an earlier update that it failed. */
    [GBE_TURN_DROPPED] = {[GBE_LOCK_KEY_FREE] = GBE_LOCK_FORGET,
			  [GBE_LOCK_KEY_OWN] = GBE_LOCK_RELEASE,
			  [GBE_LOCK_KEY_OWN_FAILED] = GBE_LOCK_HOLD,
			  [GBE_LOCK_KEY_OTHER] = GBE_LOCK_FORGET},
};

GbeLockStep
gbe_lock_step(GbeTurn turn, GbeLockKey key, bool all_work)
{
	/* Keep a held lock, whatever happens to the others. A failed lock is requested like a free one. */
	bool begins = turn == GBE_TURN_STAGED && key != GBE_LOCK_KEY_OWN;

	return begins && !all_work ? GBE_LOCK_WAIT : steps[turn][key];
}
