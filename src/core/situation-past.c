/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the ledger tells about a deployment. */
#include "core/situation.h"

#include "core/situation-private.h"

gboolean
gbe_situation_is_of(const GbeFacts *facts, const GbeDeployment *of, guint64 sequence,
		    const GbeDeployment *ref)
{
	if (!gbe_deployment_same(of, ref))
		return FALSE;
	if (gbe_deployment_same_directory(of, ref) == GBE_YES)
		return TRUE;
	for (guint i = 0; i < facts->gone->len; i++) {
		const GbeGone *gone = facts->gone->pdata[i];

		if (sequence <= gone->sequence && g_str_equal(gone->id, of->id))
			return FALSE;
	}
	return TRUE;
}

gboolean
gbe_situation_was_green(const GbeFacts *facts, const GbeDeployment *ref)
{
	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		if (run->verdict == GBE_VERDICT_GREEN &&
		    gbe_situation_is_of(facts, &run->deployment, run->sequence, ref))
			return TRUE;
	}
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->verdict == GBE_VERDICT_GREEN &&
		    gbe_situation_is_of(facts, &backup->deployment, backup->sequence, ref))
			return TRUE;
	}
	return FALSE;
}

/* The newest take-over's of @ref, or NULL; with @ended, only one whose prerun came to its end. */
static const GbeRunRecord *
newest_run(const GbeFacts *facts, const GbeDeployment *ref, gboolean ended)
{
	for (guint i = facts->runs->len; i > 0; i--) {
		const GbeRunRecord *run = facts->runs->pdata[i - 1];

		if ((run->ended || !ended) &&
		    gbe_situation_is_of(facts, &run->deployment, run->sequence, ref))
			return run;
	}
	return NULL;
}

GbeTri
gbe_situation_ran_before(const GbeFacts *facts, const GbeDeployment *ref)
{
	if (newest_run(facts, ref, FALSE) != NULL)
		return GBE_YES;
	/* A lost record, or a lost ledger, might have said so. */
	return facts->holes || facts->ledger != GBE_YES ? GBE_UNKNOWN : GBE_NO;
}

GbeTri
gbe_situation_trial_of(const GbeFacts *facts, const GbeDeployment *ref)
{
	const GbeRunRecord *run = newest_run(facts, ref, FALSE);

	if (gbe_situation_was_green(facts, ref))
		return GBE_NO;
	if (run == NULL)
		return gbe_situation_ran_before(facts, ref) == GBE_NO ? GBE_YES : GBE_UNKNOWN;
	return facts->holes && run->trial == GBE_YES ? GBE_UNKNOWN : run->trial;
}

const GbeManifest *
gbe_situation_left(const GbeFacts *facts, const GbeDeployment *ref)
{
	const GbeRunRecord *run = newest_run(facts, ref, TRUE);

	return run != NULL ? gbe_facts_backup_of(facts, &run->left) : NULL;
}
