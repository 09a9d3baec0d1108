/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/export.h"

#include "etcd/db/snapshot-file.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "etcd/wal/rest.h"
#include "fs/open.h"
#include "fs/part.h"

#include <errno.h>
#include <fcntl.h>

void
gbe_exported_clear(GbeExported *exported)
{
	g_clear_pointer(&exported->verification, gbe_verification_free);
}

typedef struct {
	GbeApp *app;
	const GbeExport *options;
	GbeSession *session;
	GbeVerification *source; /* of the backup */
	int data_fd;
	int wal_fd; /* [etcd] wal-dir in the backup; -1: the log is in member/ */
	char *member_path;
	GbeWalRest rest;
	GbePart part;
	guint64 written, total;
	GbeExported exported;
} Export;

static void
export_clear(Export *export)
{
	g_clear_pointer(&export->source, gbe_verification_free);
	gbe_close_fd(&export->data_fd);
	gbe_close_fd(&export->wal_fd);
	g_clear_pointer(&export->member_path, g_free);
	gbe_part_clear(&export->part);
	gbe_exported_clear(&export->exported);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Export, export_clear)

static bool
check_sound(const Export *export, GError **error)
{
	const GbeVerification *source = export->source;
	const GbeDirectory *directory = &source->directory;
	GbeSeverity worst = gbe_findings_worst(&source->findings);
	g_autofree char *what = NULL;

	if (worst == GBE_FINDING_NOTE || worst == GBE_FINDING_WARNING) {
		if (directory->has_db && directory->db_tells && directory->wal.complete)
			return true;
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s has no database yet, only a log: restore it, and let "
				 "etcd start once",
				 export->options->name);
	}
	what = gbe_finding_to_text(gbe_findings_first(&source->findings));
	return gbe_throw(
	    error, worst == GBE_FINDING_DAMAGE ? GBE_ERROR_VERIFY_FAILED : GBE_ERROR_CANNOT_TELL,
	    "backup %s: %s", export->options->name, what);
}

/* Checks the .snap file that etcd starts from, and the log after it. */
static bool
count_v2(Export *export, GError **error)
{
	const GbeSnapfile *snapfile = export->source->directory.snapfile;
	gbe_autofd int snap_fd = -1;
	gbe_autofd int fd = -1;
	guint64 count = 0;

	if (snapfile != NULL) {
		if (!gbe_layout_open(export->data_fd, export->member_path, "member/snap", &snap_fd,
				     error))
			return false;
		fd =
		    openat(snap_fd, snapfile->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			return gbe_throw_errno(error, errno, "cannot open %s", snapfile->name);
		if (!gbe_v2_keys_count(fd, snapfile->name, &count, error))
			return false;
	}
	export->exported.v2_keys = count + export->rest.v2_requests;
	if (export->exported.v2_keys == 0 || export->options->v3_only)
		return true;
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "backup %s has %" G_GUINT64_FORMAT
			 " keys of etcd's v2 API and %" G_GUINT64_FORMAT
			 " changes of such in its log, which no snapshot holds: "
			 "--v3-only leaves them behind",
			 export->options->name, count, export->rest.v2_requests);
}

static bool
look(Export *export, GError **error)
{
	const GbeVerifyOptions full = {.level = GBE_VERIFY_FULL};
	const GbeObserved *observed = export->session->observed;
	const GbeDirectory *directory;
	const GbeManifest *manifest = NULL;
	gbe_autofd int wal_fd = -1;

	if (!gbe_session_find(observed, export->options->name, &manifest, error) ||
	    !gbe_verify_backup(export->app, observed->store, manifest, &full, &export->source,
			       error) ||
	    !check_sound(export, error) ||
	    !gbe_store_open_data(observed->store, manifest->name, &export->data_fd, error) ||
	    !gbe_member_locate(export->data_fd, export->app->config->etcd.member_dir,
			       &export->member_path, error))
		return false;
	export->wal_fd =
	    gbe_data_open_wal_of_copy(export->app, manifest->data_dir, export->data_fd);
	if (!gbe_layout_open_wal(export->data_fd, export->member_path, export->wal_fd, &wal_fd,
				 error))
		return false;
	directory = &export->source->directory;
	return gbe_wal_rest_count(wal_fd, "member/wal", directory->db.consistent_index,
				  directory->start.index, &export->rest, error) &&
	       count_v2(export, error);
}

/* The database for the snapshot: the backup's, or the one that etcd brought up to date. */
static bool
open_database(Export *export, int *ret_fd, GError **error)
{
	const GbeDirectory *directory = &export->source->directory;
	guint64 requests = export->rest.requests;

	if (requests == 0 || export->options->drop_wal) {
		export->exported.dropped = requests;
		return gbe_layout_open_db(export->data_fd, export->member_path, ret_fd, error);
	}
	if (!export->options->whole_log &&
	    (directory->conf.voters == NULL || directory->conf.voters->len != 1))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the log of backup %s has %" G_GUINT64_FORMAT
				 " requests that its database lacks, and its member is not the "
				 "only one that votes, so that etcd does not apply them alone: "
				 "--drop-wal leaves them behind",
				 export->options->name, requests);
	export->exported.applied = requests;
	return gbe_export_apply(export->app, export->session->observed->store, export->data_fd,
				export->member_path, export->wal_fd, &directory->wal,
				export->options, ret_fd, error);
}

static bool
put(const void *bytes, gsize size, gpointer data, GError **error)
{
	Export *export = data;
	const GbeExport *options = export->options;

	if (!gbe_part_write(&export->part, bytes, size, error))
		return false;
	export->written += size;
	return options->progress == NULL ||
	       options->progress(export->written, export->total, options->progress_data) ||
	       gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
}

/* When no entry was applied, the database must be the same: no row may have changed on the way. */
static bool
compare(const Export *export, GError **error)
{
	const GbeDb *from = &export->source->directory.db;
	const GbeDb *to = &export->exported.verification->directory.db;

	if (export->exported.applied > 0
		? to->revision >= from->revision
		: to->snapshot_hash == from->snapshot_hash && to->hash_kv == from->hash_kv)
		return true;
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "what was written is not the data of backup %s", export->options->name);
}

static bool
write_file(Export *export, GError **error)
{
	g_autofree char *absolute = export->app->below_root
					? g_strdup(export->options->path)
					: g_canonicalize_filename(export->options->path, NULL);
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	gbe_autofd int db_fd = -1;
	bool ok;

	if (!gbe_open_parent_in_root(export->app->root_fd, absolute, &dir_fd, &name, error) ||
	    !gbe_part_begin(dir_fd, name, export->options->replace, &export->part, error))
		return false;
	export->total = export->source->directory.db.total_size;
	ok =
	    open_database(export, &db_fd, error) &&
	    gbe_part_reserve(&export->part, export->total, error) &&
	    gbe_snapshot_write(db_fd, "member/snap/db", put, export, error) &&
	    gbe_snapshot_prove(export->app, &export->part, &export->exported.verification, error) &&
	    compare(export, error) && gbe_part_publish(&export->part, error);
	/* The part must be cleared before its directory is closed. */
	gbe_part_clear(&export->part);
	return ok || gbe_prefix(error, "%s", export->options->path);
}

bool
gbe_export(GbeApp *app, const GbeExport *options, GbeExported *ret_exported, GError **error)
{
	const GbeSessionOptions how = {.operation = "export"};
	GbeSession session;
	g_auto(Export) export = {.app = app,
				 .options = options,
				 .session = &session,
				 .data_fd = -1,
				 .wal_fd = -1,
				 .part = {.fd = -1}};

	if (!gbe_session_begin(app, &how, &session, error) ||
	    !gbe_session_finish(&session, look(&export, error) && write_file(&export, error),
				error))
		return false;
	*ret_exported = export.exported;
	export.exported = (GbeExported){0};
	return true;
}
