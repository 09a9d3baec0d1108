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
trial_now(const GbeFacts *facts, const GbeTakeOver *owner, const GbeTrial *trial, gint64 used)
{
	if (owner->trial.on != GBE_YES)
		return owner->trial.on;
	if (gbe_situation_was_green(facts, &owner->deployment))
		return GBE_NO;
	/* A record that is lost behind the take-over makes the owner unknown: what it says itself is so. */
	if (trial->judges != GBE_YES && !trial->judged && used < 0)
		return GBE_UNKNOWN;
	return trial_outlived(facts, trial, used) ? GBE_NO : GBE_YES;
}

/* Less than trial-limit where nobody recorded more: a run that was cut short counts as a short one. */
static gint64
used_in_last_run(const GbeFacts *facts, const GbeTakeOver *owner)
{
	if (owner->closing.present)
		return owner->closing.used;
	return owner->used_beyond ? (gint64)facts->config->restore.trial_limit + 1 : 0;
}

void
gbe_view_live(const GbeFacts *facts, GbeView *ret_view)
{
	const GbeTakeOver *owner = facts->owner;
	const GbeRunRecord *run;
	gint64 used;
	guint told;

	memset(ret_view, 0, sizeof *ret_view);
	ret_view->used = -1;
	ret_view->voters = facts->voters;
	if (owner == NULL)
		return;

	run = gbe_facts_run(facts, owner->sequence);
	used = used_in_last_run(facts, owner);
	ret_view->owner_known = TRUE;
	ret_view->owner = &owner->deployment;
	ret_view->run = owner->run;
	ret_view->sequence = owner->sequence;
	ret_view->lineage = &owner->lineage;
	ret_view->verdict = run != NULL ? run->verdict : GBE_VERDICT_NONE;
	ret_view->health = run != NULL ? run->health : GBE_HEALTH_NOT_ASKED;
	ret_view->judged = ret_view->verdict != GBE_VERDICT_NONE;
	ret_view->used = used < 0 || owner->trial.used < 0 ? -1 : used + owner->trial.used;
	ret_view->trial = owner->trial;
	ret_view->trial.used = ret_view->used;
	ret_view->trial.judged = owner->trial.judged || ret_view->judged;
	ret_view->trial.on = trial_now(facts, owner, &ret_view->trial, ret_view->used);
	ret_view->was_default = owner->was_default;
	ret_view->mount_point = owner->mount_point;
	ret_view->take_over = owner;
	/* The last run's check saw it later than the take-over was recorded. */
	told = run != NULL && run->voters > 0 ? run->voters : owner->voters;
	if (facts->voters == 0 || (facts->voters == GBE_VOTERS_UNCLEAR && told == 1))
		ret_view->voters = told;
}

gboolean
gbe_view_failed(const GbeFacts *facts, const GbeView *view)
{
	return view->trial.on == GBE_YES && view->judged && view->verdict != GBE_VERDICT_GREEN &&
	       view->used >= 0 && (guint64)view->used <= facts->config->restore.trial_limit;
}

void
gbe_view_backup(const GbeFacts *facts, const GbeManifest *source, GbeView *ret_view)
{
	memset(ret_view, 0, sizeof *ret_view);
	ret_view->source = source;
	ret_view->owner_known = source->deployment.id != NULL;
	ret_view->owner = &source->deployment;
	ret_view->run = source->run;
	ret_view->sequence = gbe_manifest_place(source);
	ret_view->lineage = &source->lineage;
	ret_view->trial = source->trial;
	if (ret_view->owner_known && gbe_situation_was_green(facts, &source->deployment))
		ret_view->trial.on = GBE_NO;
	ret_view->verdict = source->verdict;
	ret_view->health = source->health;
	ret_view->judged = source->verdict != GBE_VERDICT_NONE;
	ret_view->used = source->trial.used;
	ret_view->voters = source->voters;
}
