/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the records tell about a deployment. */
#include "core/situation.h"

#include "core/situation-private.h"

gboolean
gbe_situation_is_of(const GbeFacts *facts, const GbeDeployment *of, guint64 sequence,
		    const GbeDeployment *ref)
{
	if (!gbe_deployment_same(of, ref))
		return FALSE;
	for (guint i = 0; i < facts->gone->len; i++) {
		const GbeGone *gone = facts->gone->pdata[i];

		if (sequence <= gone->sequence && g_str_equal(gone->id, of->id))
			return FALSE;
	}
	return TRUE;
}

const GbeStamp *
gbe_situation_stamp(const GbeFacts *facts)
{
	const GbeStamp *copy = facts->copy;

	if (facts->stamp != NULL)
		return facts->stamp;
	if (copy == NULL)
		return NULL;
	/* A fresh start is recorded without a handle, before the directory exists. */
	if (facts->data == GBE_NO || copy->data_handle == NULL)
		return copy;
	if (facts->data_handle != NULL && g_str_equal(copy->data_handle, facts->data_handle))
		return copy;
	/* Another directory with the same ids: etcd's own snapshot restore gives new ones, a copy
	 * made by hand keeps them. Under the same deployment nobody can tell whose it is. */
	if (facts->member_id != NULL && g_strcmp0(copy->member_id, facts->member_id) == 0 &&
	    g_strcmp0(copy->cluster_id, facts->cluster_id) == 0 &&
	    !gbe_situation_is_of(facts, &copy->deployment, copy->sequence, &facts->booted))
		return copy;
	return NULL;
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

GbeTri
gbe_situation_trial_of(const GbeFacts *facts, const GbeDeployment *ref)
{
	const GbeStamp *copy = facts->copy;
	guint64 newest = 0;
	GbeTri trial = GBE_UNKNOWN;

	if (gbe_situation_was_green(facts, ref))
		return GBE_NO;
	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		if (run->sequence >= newest &&
		    gbe_situation_is_of(facts, &run->deployment, run->sequence, ref)) {
			newest = run->sequence;
			trial = run->trial;
		}
	}
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->sequence >= newest && backup->origin != GBE_ORIGIN_MANUAL &&
		    gbe_situation_is_of(facts, &backup->deployment, backup->sequence, ref)) {
			newest = backup->sequence;
			trial = backup->trial.on;
		}
	}
	if (copy != NULL && copy->sequence > newest &&
	    gbe_situation_is_of(facts, &copy->deployment, copy->sequence, ref))
		trial = copy->trial.on;
	return trial;
}

GbeTri
gbe_situation_ran_before(const GbeFacts *facts, const GbeDeployment *ref)
{
	const GbeStamp *stamps[] = {facts->stamp, facts->copy};

	for (guint i = 0; i < G_N_ELEMENTS(stamps); i++)
		if (stamps[i] != NULL &&
		    gbe_situation_is_of(facts, &stamps[i]->deployment, stamps[i]->sequence, ref))
			return GBE_YES;
	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		if (gbe_situation_is_of(facts, &run->deployment, run->sequence, ref))
			return GBE_YES;
	}
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->origin != GBE_ORIGIN_MANUAL &&
		    gbe_situation_is_of(facts, &backup->deployment, backup->sequence, ref))
			return GBE_YES;
	}
	/* A store that is not there might have said so. */
	return facts->store == GBE_NO ? GBE_UNKNOWN : GBE_NO;
}
