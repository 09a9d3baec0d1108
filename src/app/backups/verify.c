/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backups/verify.h"

#include "base/format.h"
#include "core/decide/decide.h"
#include "etcd/db/snapshot-file.h"
#include "etcd/directory/member.h"
#include "fs/copy/compare.h"
#include "fs/open.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* The largest number that JSON holds exactly; no real log has a larger index. */
#define INDEX_MAX ((G_GUINT64_CONSTANT(1) << 53) - 1)

void
gbe_verification_free(GbeVerification *verification)
{
	if (verification == NULL)
		return;
	g_free(verification->name);
	g_free(verification->advice);
	gbe_directory_clear(&verification->directory);
	gbe_findings_clear(&verification->findings);
	g_free(verification);
}

static GbeVerification *
verification_new(GbeVerifyKind kind, const char *name, const GbeVerifyOptions *options)
{
	GbeVerification *verification = g_new0(GbeVerification, 1);

	verification->kind = kind;
	verification->name = g_strdup(name);
	verification->level = options->level;
	verification->quick = options->quick;
	verification->usec = g_get_monotonic_time();
	gbe_findings_init(&verification->findings);
	return verification;
}

static void
finish_verification(GbeVerification *verification, GbeVerification **ret_verification)
{
	verification->usec = g_get_monotonic_time() - verification->usec;
	*ret_verification = verification;
}

static GbeDbOptions
db_options(GbeApp *app, const GbeVerifyOptions *options)
{
	gint64 left = options->deadline - g_get_monotonic_time();

	return (GbeDbOptions){
	    .level = options->level,
	    .quick = options->quick,
	    .progress = gbe_app_progress,
	    .progress_data = app,
	    .seconds = options->deadline > 0 ? (guint)(MAX(left, 0) / G_USEC_PER_SEC) + 1 : 0,
	};
}

/* The reading of a backup's files for their digests. */
typedef struct {
	GbeApp *app;
	gint64 deadline;
} Digesting;

static bool
may_read_more(guint64 bytes, gpointer data)
{
	const Digesting *digesting = data;

	return gbe_app_progress(bytes, digesting->app) &&
	       (digesting->deadline == 0 || g_get_monotonic_time() < digesting->deadline);
}

/* Finds member/ and reads everything in it. @version: of the etcd that wrote it; NULL: the data says. */
static bool
read_directory(GbeApp *app, int data_fd, int wal_fd, const char *member_dir, const char *version,
	       const GbeVerifyOptions *options, GbeVerification *verification, GError **error)
{
	GbeDbOptions db = db_options(app, options);
	g_autofree char *member_path = NULL;
	g_autoptr(GError) local = NULL;
	gint64 begin = g_get_monotonic_time();

	db.reader = gbe_version_parse(version);
	db.log_elsewhere = verification->kind != GBE_VERIFY_BACKUP;
	if (gbe_member_locate(data_fd, member_dir, &member_path, &local)) {
		bool read =
		    gbe_directory_read(data_fd, member_path, wal_fd, &db, &verification->directory,
				       &verification->findings, error);

		verification->look_usec = g_get_monotonic_time() - begin;
		return read;
	}
	if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
		return false;
	gbe_findings_add(&verification->findings, GBE_FINDING_DAMAGE, "member-not-etcd", ".",
			 GBE_PLACE_FILE, 0, GBE_UNKNOWN, GBE_NO, "%s", local->message);
	return true;
}

static void
add_damage(GbeVerification *verification, const char *code, const char *what)
{
	gbe_findings_add(&verification->findings, GBE_FINDING_DAMAGE, code, GBE_STORE_DATA,
			 GBE_PLACE_FILE, 0, GBE_NO, GBE_UNKNOWN, "%s", what);
}

/* The data must still be what the manifest recorded of it. */
static void
compare_record(GbeVerification *verification, const GbeManifest *manifest)
{
	const GbeDirectory *directory = &verification->directory;
	const GbeDb *db = &directory->db;

	if (directory->wal.has_metadata) {
		g_autofree char *member = gbe_hex64(directory->wal.metadata.member);
		g_autofree char *cluster = gbe_hex64(directory->wal.metadata.cluster);

		if ((manifest->member_id != NULL && !g_str_equal(manifest->member_id, member)) ||
		    (manifest->cluster_id != NULL && !g_str_equal(manifest->cluster_id, cluster)))
			add_damage(verification, "backup-other-member",
				   "it is the data of another member or cluster than its manifest "
				   "says");
	}
	/* Only HashKV shows that a row has changed when each row looks right. */
	if (manifest->hash_kv >= 0 && db->has_hash_kv &&
	    (manifest->revision != db->revision ||
	     manifest->compact_revision != db->compact_revision ||
	     manifest->hash_kv != (gint64)db->hash_kv))
		gbe_findings_add(&verification->findings, GBE_FINDING_DAMAGE, "backup-hash",
				 GBE_STORE_DATA, GBE_PLACE_FILE, 0, GBE_NO, GBE_YES,
				 "HashKV at revision %" G_GINT64_FORMAT
				 " is %u, and was %" G_GINT64_FORMAT " at %" G_GINT64_FORMAT,
				 db->revision, db->hash_kv, manifest->hash_kv, manifest->revision);
}

bool
gbe_verify_backup(GbeApp *app, GbeStore *store, const GbeManifest *manifest,
		  const GbeVerifyOptions *options, GbeVerification **ret_verification,
		  GError **error)
{
	g_autoptr(GbeVerification) verification =
	    verification_new(GBE_VERIFY_BACKUP, manifest->name, options);
	Digesting digesting = {app, options->deadline};
	g_autoptr(GError) local = NULL;
	gbe_autofd int wal_fd = -1;
	gbe_autofd int fd = -1;

	if (manifest->consumed)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "backup %s is a name only: its data was restored without a copy",
				 manifest->name);
	if (!gbe_store_open_data(store, manifest->name, &fd, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
		add_damage(verification, "backup-no-data", "it is gone");
		finish_verification(g_steal_pointer(&verification), ret_verification);
		return true;
	}
	if (!gbe_compare_manifest(fd, manifest,
				  options->digests || options->level == GBE_VERIFY_FULL,
				  may_read_more, &digesting, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_VERIFY_FAILED))
			return false;
		add_damage(verification, "backup-differs", local->message);
	}
	wal_fd = gbe_data_open_wal_of_copy(app, manifest->data_dir, fd);
	if (!read_directory(app, fd, wal_fd, app->config->etcd.member_dir, manifest->etcd_version,
			    options, verification, error))
		return gbe_prefix(error, "backup %s", manifest->name);
	compare_record(verification, manifest);
	finish_verification(g_steal_pointer(&verification), ret_verification);
	return true;
}

/* Holds etcd's lock as long as *ret_lock_fd is open. */
static bool
lock_etcd(int data_fd, const char *member_path, int wal_fd, const char *path, int *ret_lock_fd,
	  GError **error)
{
	switch (gbe_in_use(data_fd, member_path, wal_fd, ret_lock_fd, error)) {
	case GBE_NO:
		return true;
	case GBE_YES:
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "etcd has %s open: stop it first, or verify a backup", path);
	case GBE_UNKNOWN:
	default:
		return gbe_prefix(error, "%s", path);
	}
}

bool
gbe_verify_data(GbeApp *app, GbeData *data, const GbeVerifyOptions *options,
		GbeVerification **ret_verification, GError **error)
{
	g_autoptr(GbeVerification) verification =
	    verification_new(GBE_VERIFY_DATA, data->path, options);
	gbe_autofd int lock_fd = -1;

	if (data->fd < 0)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no data directory %s",
				 data->path);
	if (data->member_path != NULL &&
	    !lock_etcd(data->fd, data->member_path, data->wal_fd, data->path, &lock_fd, error))
		return false;
	if (!read_directory(app, data->fd, data->wal_fd, app->config->etcd.member_dir, NULL,
			    options, verification, error))
		return gbe_prefix(error, "%s", data->path);
	finish_verification(g_steal_pointer(&verification), ret_verification);
	return true;
}

static bool
read_snapshot(GbeApp *app, int fd, const GbeVerifyOptions *options, GbeVerification *verification,
	      GError **error)
{
	const GbeDbOptions db = db_options(app, options);
	GbeDb *to = &verification->directory.db;

	if (options->summed)
		return gbe_db_read(fd, verification->name, &db, to, &verification->findings, error);
	return gbe_snapshot_file_read(fd, verification->name, &db, to, &verification->findings,
				      error);
}

bool
gbe_verify_snapshot(GbeApp *app, int fd, const char *name, const GbeVerifyOptions *options,
		    GbeVerification **ret_verification, GError **error)
{
	g_autoptr(GbeVerification) verification =
	    verification_new(GBE_VERIFY_SNAPSHOT, name, options);

	if (!read_snapshot(app, fd, options, verification, error))
		return gbe_prefix(error, "%s", name);
	finish_verification(g_steal_pointer(&verification), ret_verification);
	return true;
}

bool
gbe_verify_path(GbeApp *app, const char *path, const GbeVerifyOptions *options,
		GbeVerification **ret_verification, GError **error)
{
	g_autofree char *absolute =
	    app->below_root ? g_strdup(path) : g_canonicalize_filename(path, NULL);
	g_autoptr(GbeVerification) verification = NULL;
	g_autofree char *member_path = NULL;
	gbe_autofd int lock_fd = -1;
	gbe_autofd int fd = -1;
	struct stat st;
	bool ok;

	if (!gbe_open_in_root(app->root_fd, absolute, O_RDONLY | O_NONBLOCK, &fd, error))
		return false;
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", path);
	if (S_ISDIR(st.st_mode)) {
		verification = verification_new(GBE_VERIFY_DIRECTORY, path, options);
		ok = (!gbe_member_locate(fd, "auto", &member_path, NULL) ||
		      lock_etcd(fd, member_path, -1, path, &lock_fd, error)) &&
		     read_directory(app, fd, -1, "auto", NULL, options, verification, error);
	} else {
		verification = verification_new(GBE_VERIFY_SNAPSHOT, path, options);
		ok = read_snapshot(app, fd, options, verification, error);
	}
	if (!ok)
		return gbe_prefix(error, "%s", path);
	finish_verification(g_steal_pointer(&verification), ret_verification);
	return true;
}

/* ---- for decisions and manifests ---- */

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
	bool certain = true;

	gbe_findings_init(&inside.findings);
	if (!gbe_directory_read(data->fd, data->member_path, data->wal_fd, &options,
				&inside.directory, &inside.findings, &error)) {
		facts->sound_why = g_strdup(error->message);
		return;
	}
	/* The first damage that etcd is known not to survive, or to lose writes by. When a part of the data is in an
	 * unknown format, no damage is certain enough to throw data away. */
	for (guint i = 0; i < inside.findings.items->len; i++) {
		const GbeFinding *finding = inside.findings.items->pdata[i];

		certain = certain && finding->severity != GBE_FINDING_UNKNOWN;
	}
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
						  "cannot determine whether the copy of the "
						  "running etcd's data is sound (%s); use "
						  "--stop",
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
