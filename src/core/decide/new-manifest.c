/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The manifests and grades that plans carry. */
#include "core/decide/decide.h"

#include "core/backup-name.h"
#include "core/decide/decision.h"

/* The first condition of the grade good that is not met. NULL: all are. */
static const char *
why_not_good(GbeVerdict verdict, GbeHealth health, GbeVerified verified)
{
	if (verdict == GBE_VERDICT_RED)
		return "greenboot's checks failed in the boot that wrote it";
	if (verdict != GBE_VERDICT_GREEN)
		return "no boot that wrote it was found good by greenboot";
	if (health != GBE_HEALTH_HEALTHY)
		return "etcd was not seen healthy in the boot that wrote it";
	return verified == GBE_VERIFIED_NO ? "it is not verified yet; run `greenboot-etcd verify`"
					   : NULL;
}

GbeGrade
gbe_decide_grade(GbeVerdict verdict, GbeHealth health, GbeVerified verified)
{
	return why_not_good(verdict, health, verified) == NULL ? GBE_GRADE_GOOD
							       : GBE_GRADE_UNPROVEN;
}

const char *
gbe_decide_why_unproven(const GbeManifest *backup)
{
	const char *why = why_not_good(backup->verdict, backup->health, backup->verified);

	if (why != NULL)
		return why;
	return backup->live ? "etcd had the data open while the backup was made"
			    : "its good grade was taken back";
}

bool
gbe_decide_regrade(const GbeRunRecord *run, GbeManifest *backup)
{
	/* A restore in the middle of the run was a new start: backups from before it were not judged. */
	if (backup->set_aside || backup->sequence < run->sequence ||
	    g_strcmp0(backup->run, run->run) != 0 ||
	    !gbe_deployment_same(&backup->deployment, &run->deployment) ||
	    (backup->verdict == run->verdict && backup->health == run->health))
		return false;
	backup->verdict = run->verdict;
	backup->health = run->health;
	/* Bad has its own reason. A live copy is older than the judged state. */
	if (backup->grade != GBE_GRADE_BAD && !backup->live)
		backup->grade = gbe_decide_grade(run->verdict, run->health, backup->verified);
	return true;
}

static bool
is_taken(const GbeFacts *facts, const char *name)
{
	return gbe_facts_backup(facts, name) != NULL ||
	       (facts->taken != NULL && g_hash_table_contains(facts->taken, name));
}

static char *
automatic_name(const GbeFacts *facts, const GbeView *view, bool adopt, guint64 sequence)
{
	if (adopt || !view->owner_known || view->owner->id == NULL || view->run == NULL ||
	    !gbe_run_id_valid(view->run))
		return gbe_backup_name_adopted(sequence);
	for (guint64 ordinal = 1;; ordinal++) {
		g_autofree char *name = gbe_backup_name_format(view->owner->id, view->run, ordinal);

		if (!is_taken(facts, name))
			return g_steal_pointer(&name);
	}
}

char *
gbe_decide_version_text(GbeVersion version)
{
	return version.known ? g_strdup_printf("%u.%u", version.major, version.minor) : NULL;
}

/* Fills in the ids and the revision of the data, from the facts, else from the owner's last run. */
static void
note_identity(GbeManifest *manifest, const GbeFacts *facts, const GbeView *view, bool adopt)
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

/* A faithful copy of sound data is sound. A copy of damaged data is kept, because nothing else holds that data. */
static void
note_grade(GbeManifest *manifest, const GbeFacts *facts)
{
	const char *damage = facts->sound == GBE_NO ? facts->sound_why : facts->damage;

	/* The log of the data may lie elsewhere, but no etcd starts from a backup without its log. */
	if (damage == NULL && facts->sound == GBE_UNKNOWN && facts->log == GBE_NO)
		damage = "member/wal: there is no log";
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
gbe_decide_manifest(const GbeFacts *facts, const GbeView *view, const char *name, bool adopt,
		    guint64 sequence)
{
	GbeManifest *manifest = gbe_manifest_new();

	/* A system without this program has written since the closing record. Such data is never displaced or copied
	 * under the owner's name. */
	if (name != NULL && view->take_over != NULL && view->take_over->closing.present &&
	    facts->fingerprint.present &&
	    !gbe_fingerprint_same_etcd(&view->take_over->closing.fingerprint, &facts->fingerprint))
		adopt = true;
	manifest->name =
	    name != NULL ? g_strdup(name) : automatic_name(facts, view, adopt, sequence);
	manifest->origin = name != NULL ? GBE_ORIGIN_MANUAL : GBE_ORIGIN_AUTOMATIC;
	manifest->sequence = sequence;
	if (view->owner_known && !adopt) {
		const GbeListed *owner = gbe_facts_listed(facts, view->owner->id);

		gbe_deployment_copy(&manifest->deployment, view->owner);
		manifest->deployment_version = g_strdup(owner != NULL ? owner->version : NULL);
		manifest->run = g_strdup(view->run);
		gbe_lineage_copy(&manifest->lineage, view->lineage);
		/* The data's place on its line is that of the earliest backup that equals it; 0: here. */
		manifest->lineage.at = 0;
		GBE_EACH(const GbeManifest *, equal, facts->backups) {
			guint64 place = gbe_manifest_place(equal);

			if (equal->lineage.line == view->lineage->line &&
			    gbe_fingerprint_equal(&equal->fingerprint, &facts->fingerprint) &&
			    (manifest->lineage.at == 0 || place < manifest->lineage.at))
				manifest->lineage.at = place;
		}
		manifest->trial = view->trial;
		manifest->verdict = view->verdict;
		manifest->health = view->health;
	} else {
		manifest->lineage.line = sequence;
		manifest->lineage.truncated = true;
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

GbeManifest *
gbe_decide_displaced(const GbeFacts *facts, const GbeView *view, bool adopt, const char *bad,
		     bool by_hand, guint64 sequence)
{
	GbeManifest *manifest = gbe_decide_manifest(facts, view, NULL, adopt, sequence);

	manifest->origin = GBE_ORIGIN_DISPLACED;
	manifest->method = GBE_METHOD_RENAME;
	manifest->set_aside = by_hand || facts->stranger;
	if (!by_hand && facts->sound == GBE_NO)
		manifest->occasion = g_strdup("damage");
	else if (!by_hand && bad == NULL && manifest->deployment.id != NULL)
		gbe_decide_note_occasion(facts, manifest, facts->booted.id, NULL);
	if (manifest->set_aside || bad == NULL)
		return manifest;
	manifest->grade = GBE_GRADE_BAD;
	if (manifest->grade_reason == NULL) /* else it says what is damaged */
		manifest->grade_reason = g_strdup(bad);
	return manifest;
}

void
gbe_decide_note_occasion(const GbeFacts *facts, GbeManifest *manifest, const char *next,
			 const char *plain)
{
	const GbeListed *from = gbe_facts_listed(facts, manifest->deployment.id);
	const GbeListed *to = gbe_facts_listed(facts, next);

	g_free(manifest->occasion);
	if (next == NULL || g_strcmp0(next, manifest->deployment.id) == 0) {
		manifest->occasion = g_strdup(plain);
		return;
	}
	/* The times of the commits are the only hint of which system is older. */
	manifest->occasion = g_strdup(
	    from != NULL && to != NULL && to->timestamp < from->timestamp ? "rollback" : "update");
	manifest->before = g_strdup(next);
	manifest->before_version = g_strdup(to != NULL ? to->version : NULL);
}

/* A run has many periodic backups, and most are removed again. The name has the sequence, so no two share a name. */
void
gbe_decide_make_periodic(const GbeFacts *facts, GbeManifest *manifest)
{
	g_autofree char *name = NULL;

	manifest->origin = GBE_ORIGIN_PERIODIC;
	if (gbe_backup_name_parse(manifest->name, NULL, NULL, NULL) != GBE_NAME_AUTOMATIC)
		return;
	name = gbe_backup_name_format(manifest->deployment.id, manifest->run, manifest->sequence);
	if (is_taken(facts, name))
		return;
	g_free(manifest->name);
	manifest->name = g_steal_pointer(&name);
}
