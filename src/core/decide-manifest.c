/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The manifests and grades that plans carry. */
#include "core/decide.h"

#include "core/backup-name.h"
#include "core/decide-private.h"

GbeGrade
gbe_decide_grade(GbeVerdict verdict, GbeHealth health, GbeVerified verified)
{
	return verdict == GBE_VERDICT_GREEN && health == GBE_HEALTH_HEALTHY &&
		       verified != GBE_VERIFIED_NO
		   ? GBE_GRADE_GOOD
		   : GBE_GRADE_UNPROVEN;
}

static gboolean
taken(const GbeFacts *facts, const char *name)
{
	if (gbe_facts_backup(facts, name) != NULL)
		return TRUE;
	return facts->taken != NULL && g_hash_table_contains(facts->taken, name);
}

static char *
automatic_name(const GbeFacts *facts, const GbeView *view, gboolean adopt, guint64 sequence)
{
	if (adopt || !view->owner_known || view->owner->id == NULL || view->run == NULL ||
	    !gbe_run_id_valid(view->run))
		return gbe_backup_name_adopted(sequence);
	for (guint64 ordinal = 1;; ordinal++) {
		g_autofree char *name = gbe_backup_name_format(view->owner->id, view->run, ordinal);

		if (!taken(facts, name))
			return g_steal_pointer(&name);
	}
}

char *
gbe_decide_version_text(GbeVersion version)
{
	return version.known ? g_strdup_printf("%u.%u", version.major, version.minor) : NULL;
}

/* Somebody without this program has written since the closing record. Whatever displaces or copies
 * that, it is never filed under the owner's name. */
static gboolean
is_foreign(const GbeFacts *facts, const GbeView *view)
{
	const GbeTakeOver *owner = view->take_over;

	return owner != NULL && owner->closing.present && facts->fingerprint.present &&
	       !gbe_fingerprint_same_etcd(&owner->closing.fingerprint, &facts->fingerprint);
}

/* Where on its line the data is: at the earliest backup of it that is equal, or here. */
static guint64
place_of(const GbeFacts *facts, const GbeView *view)
{
	guint64 place = 0;

	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->lineage.line == view->lineage->line &&
		    gbe_fingerprint_equal(&backup->fingerprint, &facts->fingerprint) &&
		    (place == 0 || gbe_manifest_place(backup) < place))
			place = gbe_manifest_place(backup);
	}
	return place;
}

/* What the data is known to be; of the owner's last run, its check has seen it live. */
static void
note_identity(GbeManifest *manifest, const GbeFacts *facts, const GbeView *view, gboolean adopt)
{
	const GbeRunRecord *run = adopt ? NULL : gbe_facts_run(facts, view->sequence);

	manifest->member_id = g_strdup(facts->member_id);
	manifest->cluster_id = g_strdup(facts->cluster_id);
	manifest->revision = facts->revision;
	if (run == NULL || g_strcmp0(run->run, view->run) != 0)
		return;
	if (facts->revision < 0)
		manifest->revision = run->revision;
	if (facts->member_id == NULL && facts->cluster_id == NULL) {
		manifest->member_id = g_strdup(run->member_id);
		manifest->cluster_id = g_strdup(run->cluster_id);
	}
}

/* A faithful copy of what is sound is sound; one of damaged data is kept, as nothing else holds it. */
static void
note_grade(GbeManifest *manifest, const GbeFacts *facts)
{
	const char *damage = facts->sound == GBE_NO ? facts->sound_why : facts->damage;

	if (facts->config->backup.verify == GBE_BACKUP_VERIFY_NONE)
		manifest->verified = GBE_VERIFIED_NO;
	else
		manifest->verified =
		    facts->sound == GBE_YES ? GBE_VERIFIED_SANITY : GBE_VERIFIED_COPY;
	manifest->grade = gbe_decide_grade(manifest->verdict, manifest->health, manifest->verified);
	if (facts->sound != GBE_NO && damage == NULL)
		return;
	manifest->grade = GBE_GRADE_BAD;
	manifest->grade_reason = g_strdup(damage);
}

GbeManifest *
gbe_decide_manifest(const GbeFacts *facts, const GbeView *view, const char *name, gboolean adopt,
		    guint64 sequence)
{
	GbeManifest *manifest = gbe_manifest_new();

	adopt = adopt || (name != NULL && is_foreign(facts, view));
	manifest->name =
	    name != NULL ? g_strdup(name) : automatic_name(facts, view, adopt, sequence);
	manifest->origin = name != NULL ? GBE_ORIGIN_MANUAL : GBE_ORIGIN_AUTOMATIC;
	manifest->sequence = sequence;
	if (view->owner_known && !adopt) {
		gbe_deployment_copy(&manifest->deployment, view->owner);
		manifest->run = g_strdup(view->run);
		gbe_lineage_copy(&manifest->lineage, view->lineage);
		manifest->lineage.at = place_of(facts, view);
		manifest->trial = view->trial;
		manifest->verdict = view->verdict;
		manifest->health = view->health;
	} else {
		manifest->lineage.line = sequence;
		manifest->lineage.truncated = TRUE;
		manifest->trial.used = -1;
	}
	note_grade(manifest, facts);
	manifest->created = facts->now;
	manifest->data_dir = g_strdup(facts->data_dir);
	gbe_fingerprint_copy(&manifest->fingerprint, &facts->fingerprint);
	manifest->etcd_version = gbe_decide_version_text(
	    facts->cluster_version.known ? facts->cluster_version : facts->storage_version);
	manifest->storage_version = gbe_decide_version_text(facts->storage_version);
	manifest->consistent_index = facts->consistent_index;
	manifest->data_version = gbe_decide_version_text(facts->data_version);
	note_identity(manifest, facts, view, adopt);
	manifest->voters = view->voters == GBE_VOTERS_UNCLEAR ? 0 : view->voters;
	manifest->size = facts->data_size;
	return manifest;
}

/* Many of one run, of which most go again: what was named so once is not to be taken for another. */
void
gbe_decide_make_periodic(const GbeFacts *facts, GbeManifest *manifest)
{
	g_autofree char *name = NULL;

	manifest->origin = GBE_ORIGIN_PERIODIC;
	if (gbe_backup_name_parse(manifest->name, NULL, NULL, NULL) != GBE_NAME_AUTOMATIC)
		return;
	name = gbe_backup_name_format(manifest->deployment.id, manifest->run, manifest->sequence);
	if (taken(facts, name))
		return;
	g_free(manifest->name);
	manifest->name = g_steal_pointer(&name);
}
