/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Backups as what the data can be restored from. */
#include "core/situation.h"

#include "core/situation-private.h"

gboolean
gbe_situation_rejected(const GbeFacts *facts, const char *name)
{
	return facts->rejected != NULL && g_hash_table_contains(facts->rejected, name);
}

/* Could this be put in place of the data at all? Its grade is another question. */
gboolean
gbe_situation_restorable(const GbeFacts *facts, const GbeManifest *backup)
{
	if (backup->consumed || backup->voters > 1)
		return FALSE;
	return backup->data_dir == NULL || facts->data_dir == NULL ||
	       g_str_equal(backup->data_dir, facts->data_dir);
}

GbeTri
gbe_situation_backup_usable(const GbeFacts *facts, const GbeManifest *backup)
{
	GbeTri above =
	    gbe_version_above(gbe_version_parse(gbe_manifest_needs(backup)), facts->etcd_version);

	return above == GBE_UNKNOWN ? GBE_UNKNOWN : gbe_tri(above == GBE_NO);
}

static gboolean
better(const GbeManifest *a, const GbeManifest *b)
{
	gboolean a_manual = a->origin == GBE_ORIGIN_MANUAL;
	gboolean b_manual = b->origin == GBE_ORIGIN_MANUAL;

	if (a_manual != b_manual)
		return !a_manual;
	return a->sequence > b->sequence;
}

/* Taken by the clock from what an update on trial was writing: for people, and for nothing that happens by
 * itself. What was green by then has proved itself. */
static gboolean
is_of_a_trial(const GbeManifest *backup)
{
	return backup->origin == GBE_ORIGIN_PERIODIC && backup->trial.on != GBE_NO &&
	       backup->grade != GBE_GRADE_GOOD;
}

static gboolean
may_be_candidate(const GbeFacts *facts, const GbeManifest *backup, gboolean usable)
{
	return backup->grade != GBE_GRADE_BAD && gbe_situation_restorable(facts, backup) &&
	       !gbe_situation_rejected(facts, backup->name) &&
	       (!usable || gbe_situation_backup_usable(facts, backup) != GBE_NO);
}

const GbeManifest *
gbe_situation_candidate(const GbeFacts *facts, gboolean usable)
{
	/* Whoever took it, and whatever for. */
	const GbeManifest *best = gbe_situation_left(facts, &facts->booted);

	if (best != NULL && may_be_candidate(facts, best, usable))
		return best;
	best = NULL;
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (!backup->set_aside && !is_of_a_trial(backup) &&
		    may_be_candidate(facts, backup, usable) &&
		    gbe_situation_is_of(facts, &backup->deployment, backup->sequence,
					&facts->booted) &&
		    (best == NULL || better(backup, best)))
			best = backup;
	}
	return best;
}

/* The newest good one of the booted deployment; where it has none, of anybody. */
static const GbeManifest *
last_good(const GbeFacts *facts)
{
	const GbeManifest *own = NULL, *any = NULL;

	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->grade != GBE_GRADE_GOOD || !gbe_situation_restorable(facts, backup))
			continue;
		if (any == NULL || better(backup, any))
			any = backup;
		if (gbe_situation_is_of(facts, &backup->deployment, backup->sequence,
					&facts->booted) &&
		    (own == NULL || better(backup, own)))
			own = backup;
	}
	return own != NULL ? own : any;
}

const GbeManifest *
gbe_situation_request(const GbeFacts *facts)
{
	switch (facts->request.kind) {
	case GBE_REQUEST_RESTORE:
		return gbe_facts_backup(facts, facts->request.name);
	case GBE_REQUEST_LAST_GOOD:
		return last_good(facts);
	case GBE_REQUEST_UNDO:
		return gbe_facts_backup_of(facts, &facts->undo);
	case GBE_REQUEST_NONE:
	default:
		return NULL;
	}
}

const GbeManifest *
gbe_situation_unchanged(const GbeFacts *facts)
{
	const GbeManifest *newest = NULL;

	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		/* A periodic one goes when its hour is over, whoever counts on it. */
		if (!backup->consumed && backup->origin != GBE_ORIGIN_PERIODIC &&
		    backup->grade != GBE_GRADE_BAD && backup->verified != GBE_VERIFIED_NO &&
		    g_strcmp0(backup->data_dir, facts->data_dir) == 0 &&
		    gbe_fingerprint_equal(&backup->fingerprint, &facts->fingerprint) &&
		    (newest == NULL || backup->sequence > newest->sequence))
			newest = backup;
	}
	return newest;
}
