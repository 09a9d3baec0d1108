/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The data in view: the live one, or a backup that is going to take its place. */
#include "core/situation.h"

#include <string.h>

static gboolean
trial_outlived(const GbeFacts *facts, const GbeTrial *trial, gint64 used)
{
	/* Where nobody judges, long use ends a trial; a judge who did not come (a hang) is not nobody. */
	return trial->judges != GBE_YES && !trial->judged && used >= 0 &&
	       (guint64)used > facts->config->restore.trial_limit;
}

static GbeTri
trial_now(const GbeFacts *facts, const GbeStamp *stamp, const GbeRunRecord *run,
	  const GbeTrial *trial, gint64 used)
{
	if (stamp->trial.on != GBE_YES)
		return stamp->trial.on;
	if (gbe_situation_was_green(facts, &stamp->deployment))
		return GBE_NO;
	/* The run's record is made before its stamp. It is gone: so might be a green one. */
	if (run == NULL)
		return GBE_UNKNOWN;
	if (trial->judges != GBE_YES && !trial->judged && used < 0)
		return GBE_UNKNOWN;
	return trial_outlived(facts, trial, used) ? GBE_NO : GBE_YES;
}

/* Is the data still what its owner found: the backup it was restored from, or P? Then nobody has used
 * it, whatever the clocks say. */
static gboolean
is_untouched(const GbeFacts *facts, const GbeStamp *stamp)
{
	const char *const names[] = {stamp->restored_from, stamp->previous};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		const GbeManifest *backup = gbe_facts_backup(facts, names[i]);

		if (backup != NULL &&
		    gbe_fingerprint_equal(&backup->fingerprint, &facts->fingerprint))
			return TRUE;
	}
	return FALSE;
}

static gint64
used_in_last_run(const GbeFacts *facts, const GbeStamp *stamp)
{
	if (stamp->closing.present)
		return stamp->closing.used;
	if (is_untouched(facts, stamp))
		return 0;
	if (facts->last_write < 0 || stamp->stamped <= 0 || facts->last_write < stamp->stamped)
		return -1;
	return facts->last_write - stamp->stamped;
}

void
gbe_view_live(const GbeFacts *facts, GbeView *ret_view)
{
	const GbeStamp *stamp = gbe_situation_stamp(facts);
	const GbeRunRecord *run;
	gint64 used;
	guint told;

	memset(ret_view, 0, sizeof *ret_view);
	ret_view->used = -1;
	ret_view->voters = facts->voters;
	if (stamp == NULL)
		return;

	run = gbe_facts_run(facts, stamp->sequence);
	used = used_in_last_run(facts, stamp);
	ret_view->owner_known = TRUE;
	ret_view->owner = &stamp->deployment;
	ret_view->run = stamp->run;
	ret_view->sequence = stamp->sequence;
	ret_view->lineage = &stamp->lineage;
	ret_view->previous = stamp->previous;
	ret_view->verdict = run != NULL ? run->verdict : GBE_VERDICT_NONE;
	ret_view->health = run != NULL ? run->health : GBE_HEALTH_NOT_ASKED;
	ret_view->judged = ret_view->verdict != GBE_VERDICT_NONE;
	ret_view->used = used < 0 || stamp->trial.used < 0 ? -1 : used + stamp->trial.used;
	ret_view->trial = stamp->trial;
	ret_view->trial.used = ret_view->used;
	ret_view->trial.judged = stamp->trial.judged || ret_view->judged;
	ret_view->trial.on = trial_now(facts, stamp, run, &ret_view->trial, ret_view->used);
	ret_view->was_default = stamp->was_default;
	ret_view->mount_point = stamp->mount_point;
	ret_view->stamp = stamp;
	/* The last run's check saw it later than the stamp was written. */
	told = run != NULL && run->voters > 0 ? run->voters : stamp->voters;
	if (facts->voters == 0 || (facts->voters == GBE_VOTERS_UNCLEAR && told == 1))
		ret_view->voters = told;
}

void
gbe_view_backup(const GbeFacts *facts, const GbeManifest *source, GbeView *ret_view)
{
	memset(ret_view, 0, sizeof *ret_view);
	ret_view->source = source;
	ret_view->owner_known = source->deployment.id != NULL;
	ret_view->owner = &source->deployment;
	ret_view->run = source->run;
	ret_view->sequence = source->sequence;
	ret_view->lineage = &source->lineage;
	ret_view->previous = source->previous;
	ret_view->trial = source->trial;
	if (ret_view->owner_known && gbe_situation_was_green(facts, &source->deployment))
		ret_view->trial.on = GBE_NO;
	ret_view->verdict = source->verdict;
	ret_view->health = source->health;
	ret_view->judged = source->verdict != GBE_VERDICT_NONE;
	ret_view->used = source->trial.used;
	ret_view->voters = source->voters;
}

void
gbe_view_requested(const GbeView *live, const GbeManifest *source, GbeView *ret_view)
{
	*ret_view = *live;
	ret_view->source = source;
	ret_view->lineage = &source->lineage;
	ret_view->verdict = GBE_VERDICT_NONE;
	ret_view->health = GBE_HEALTH_NOT_ASKED;
	ret_view->judged = FALSE;
	ret_view->used = 0;
	ret_view->trial.used = 0;
	ret_view->voters = source->voters;
}
