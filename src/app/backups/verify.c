/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backups/verify.h"

#include "base/format.h"
#include "etcd/db/snapshot-file.h"
#include "etcd/directory/in-use.h"
#include "etcd/directory/member.h"
#include "fs/copy/compare.h"
#include "fs/open.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

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
