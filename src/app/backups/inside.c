/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backups/inside.h"

#include "base/format.h"
#include "core/decide/decide.h"
#include "etcd/directory/member.h"
#include "sys/systemd/events.h"

/* The largest number that JSON holds exactly; no real log has a larger index. */
#define INDEX_MAX ((G_GUINT64_CONSTANT(1) << 53) - 1)

typedef struct {
	GbeDirectory directory;
	GbeFindings findings;
} Inside;

static void
inside_clear(Inside *inside)
{
	gbe_directory_clear(&inside->directory);
	gbe_findings_clear(&inside->findings);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Inside, inside_clear)

static bool
has_unknown(const GbeFindings *findings)
{
	for (guint i = 0; i < findings->items->len; i++)
		if (((GbeFinding *)g_ptr_array_index(findings->items, i))->severity ==
		    GBE_FINDING_UNKNOWN)
			return true;
	return false;
}

static bool
is_sound(const GbeFindings *findings)
{
	GbeSeverity worst = gbe_findings_worst(findings);

	return worst == GBE_FINDING_NOTE || worst == GBE_FINDING_WARNING;
}

/* The number of voters, by the log; else by the database. */
static guint
voters_of(const GbeDirectory *directory)
{
	if (directory->conf.voters != NULL && directory->conf.voters->len > 0)
		return directory->conf.voters->len;
	if (directory->db.voters > 0)
		return (guint)directory->db.voters;
	return directory->db.members == 1 ? 1 : GBE_VOTERS_UNCLEAR;
}

/* etcd 3.6 and newer record the version of the data in the database. */
static const char *
version_of(const GbeDb *db)
{
	return db->storage_version != NULL ? db->storage_version : db->cluster_version;
}

static gint64
index_of(const GbeDb *db)
{
	return db->present && db->consistent_index > 0 && db->consistent_index <= INDEX_MAX
		   ? (gint64)db->consistent_index
		   : -1;
}

static gint64
revision_of(const GbeDb *db)
{
	return db->present && db->revision > 0 && db->revision <= (gint64)INDEX_MAX ? db->revision
										    : -1;
}

static void
set_id(char **id, guint64 value)
{
	g_free(*id);
	*id = gbe_hex64(value);
}

void
gbe_inside_data(const GbeData *data, GbeFacts *facts)
{
	const GbeDbOptions options = {.level = GBE_VERIFY_SANITY,
				      .reader = facts->cluster_version,
				      .log_elsewhere = true};
	g_auto(Inside) inside = {0};
	g_autoptr(GError) error = NULL;
	const GbeWal *wal = &inside.directory.wal;
	const GbeFinding *fatal = NULL, *worst;
	bool certain;

	gbe_findings_init(&inside.findings);
	if (!gbe_directory_read(data->fd, data->member_path, data->wal_fd, &options,
				&inside.directory, &inside.findings, &error)) {
		facts->sound_why = g_strdup(error->message);
		return;
	}
	/* The first damage that etcd is known not to survive, or to lose writes by. When a part of the data is in an
	 * unknown format, no damage is certain enough to throw data away. */
	certain = !has_unknown(&inside.findings);
	for (guint i = 0; certain && fatal == NULL && i < inside.findings.items->len; i++) {
		const GbeFinding *finding = inside.findings.items->pdata[i];

		if (finding->severity == GBE_FINDING_DAMAGE &&
		    (finding->etcd_notices == GBE_YES || finding->loses_data == GBE_YES))
			fatal = finding;
	}
	worst = gbe_findings_first(&inside.findings);
	if (fatal != NULL) {
		facts->sound = GBE_NO;
		facts->sound_why = gbe_finding_to_text(fatal);
	} else if (is_sound(&inside.findings)) {
		facts->sound = GBE_YES;
	} else {
		facts->sound_why = gbe_finding_to_text(worst);
	}
	if (certain && gbe_findings_worst(&inside.findings) == GBE_FINDING_DAMAGE)
		facts->damage = g_strdup(facts->sound_why);
	facts->voters = voters_of(&inside.directory);
	facts->consistent_index = index_of(&inside.directory.db);
	facts->revision = revision_of(&inside.directory.db);
	facts->storage_version = gbe_version_parse(version_of(&inside.directory.db));
	if (wal->has_metadata) {
		set_id(&facts->member_id, wal->metadata.member);
		set_id(&facts->cluster_id, wal->metadata.cluster);
	}
}

void
gbe_inside_record(const GbeDirectory *directory, GbeVerifyLevel level, GbeManifest *manifest)
{
	const GbeDb *db = &directory->db;
	guint voters = voters_of(directory);
	GbeVerified verified = level == GBE_VERIFY_FULL ? GBE_VERIFIED_FULL : GBE_VERIFIED_SANITY;

	manifest->verified = MAX(manifest->verified, verified);
	if (manifest->grade == GBE_GRADE_UNPROVEN)
		manifest->grade =
		    gbe_decide_grade(manifest->verdict, manifest->health, manifest->verified);

	if (directory->wal.has_metadata) {
		set_id(&manifest->member_id, directory->wal.metadata.member);
		set_id(&manifest->cluster_id, directory->wal.metadata.cluster);
	}
	if (voters != GBE_VOTERS_UNCLEAR)
		manifest->voters = voters;
	manifest->consistent_index = index_of(db);
	if (revision_of(db) >= 0)
		manifest->revision = revision_of(db);
	if (version_of(db) != NULL) {
		g_free(manifest->storage_version);
		manifest->storage_version = g_strdup(version_of(db));
		if (manifest->etcd_version == NULL)
			manifest->etcd_version = g_strdup(version_of(db));
	}
	if (!db->has_hash)
		return;
	manifest->compact_revision = db->compact_revision;
	manifest->total_keys = (gint64)db->keys;
	manifest->hash_kv = db->has_hash_kv ? (gint64)db->hash_kv : -1;
}

bool
gbe_inside_copy(GbeApp *app, int data_fd, GbeManifest *manifest, GError **error)
{
	const GbeDbOptions options = {
	    .level = app->config->backup.verify == GBE_BACKUP_VERIFY_FULL ? GBE_VERIFY_FULL
									  : GBE_VERIFY_SANITY,
	    .progress = gbe_app_progress,
	    .progress_data = app,
	    .reader = gbe_version_parse(manifest->etcd_version),
	};
	g_autofree char *member_path = NULL;
	g_autofree char *why = NULL;
	g_auto(Inside) inside = {0};
	const GbeFinding *worst;
	gbe_autofd int wal_fd = -1;

	if (!manifest->live && app->config->backup.verify == GBE_BACKUP_VERIFY_NONE)
		return true;
	gbe_findings_init(&inside.findings);
	wal_fd = gbe_data_open_wal_of_copy(app, manifest->data_dir, data_fd);
	if (!gbe_member_locate(data_fd, app->config->etcd.member_dir, &member_path, error) ||
	    !gbe_directory_read(data_fd, member_path, wal_fd, &options, &inside.directory,
				&inside.findings, error))
		return gbe_prefix(error, "backup %s", manifest->name);
	if (is_sound(&inside.findings)) {
		gbe_inside_record(&inside.directory, options.level, manifest);
		return true;
	}
	worst = gbe_findings_first(&inside.findings);
	why = gbe_finding_to_text(worst);
	if (worst->severity == GBE_FINDING_UNKNOWN)
		return manifest->live ? gbe_throw(error, GBE_ERROR_CANNOT_TELL,
						  "whether a copy of the running etcd's data is "
						  "sound cannot be told (%s): use --stop",
						  why)
				      : true;
	if (manifest->live)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "the copy of the running etcd's data is not sound (%s): try "
				 "again, or use --stop",
				 why);
	manifest->grade = GBE_GRADE_BAD;
	g_free(manifest->grade_reason);
	manifest->grade_reason = g_steal_pointer(&why);
	return true;
}
