/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/export.h"

#include "app/run/etcd-copy.h"
#include "etcd/db/snapshot-file.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "etcd/wal/rest.h"
#include "fs/open.h"
#include "fs/part.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define PLACE "export"
#define ASK_MS 500

typedef struct {
	GbeApp *app;
	const GbeExport *options;
	GbeSession *session;
	GbeVerification *source; /* of the backup */
	int data_fd;
	int wal_fd; /* [etcd] wal-dir in the backup; -1: the log is in member/ */
	char *member_path;
	GbeWalRest rest;
	GbePart *part; /* while it is written */
	guint64 written, total;
	GbeExported exported;
} Export;

void
gbe_exported_clear(GbeExported *exported)
{
	g_clear_pointer(&exported->verification, gbe_verification_free);
}

static void
export_clear(Export *export)
{
	g_clear_pointer(&export->source, gbe_verification_free);
	gbe_close_fd(&export->data_fd);
	gbe_close_fd(&export->wal_fd);
	g_clear_pointer(&export->member_path, g_free);
	gbe_exported_clear(&export->exported);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Export, export_clear)

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
	return gbe_throw(
	    error, GBE_ERROR_REFUSED,
	    "backup %s has %" G_GUINT64_FORMAT " keys of etcd's v2 API and %" G_GUINT64_FORMAT
	    " changes of such in its log, which no snapshot holds; --v3-only leaves them out",
	    export->options->name, count, export->rest.v2_requests);
}

static bool
look_at_backup(Export *export, GError **error)
{
	const GbeVerifyOptions full = {.level = GBE_VERIFY_FULL};
	const GbeObserved *observed = export->session->observed;
	const char *name = export->options->name;
	const GbeDirectory *directory;
	const GbeManifest *manifest = NULL;
	gbe_autofd int wal_fd = -1;

	if (!gbe_session_find(observed, name, &manifest, error) ||
	    !gbe_verify_backup(export->app, observed->store, manifest, &full, &export->source,
			       error))
		return false;
	if (!gbe_snapshot_check(export->source, NULL, error))
		return gbe_prefix(error, "backup %s", name);
	directory = &export->source->directory;
	if (!directory->has_db || !directory->db_tells || !directory->wal.complete)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s has no database yet, only a log: restore it, and let "
				 "etcd start once",
				 name);
	if (!gbe_store_open_data(observed->store, manifest->name, &export->data_fd, error) ||
	    !gbe_member_locate(export->data_fd, export->app->config->etcd.member_dir,
			       &export->member_path, error))
		return false;
	export->wal_fd =
	    gbe_data_open_wal_of_copy(export->app, manifest->data_dir, export->data_fd);
	if (!gbe_layout_open_wal(export->data_fd, export->member_path, export->wal_fd, &wal_fd,
				 error) ||
	    !gbe_wal_rest_count(wal_fd, "member/wal", directory->db.consistent_index,
				directory->start.index, &export->rest, error))
		return false;
	return count_v2(export, error);
}

/* ---- etcd applies the log to a clone ---- */

typedef struct {
	GbeEtcdCopy copy;
	guint64 last;  /* the log's last entry */
	char *refused; /* why etcd does not say how far it is */
} Apply;

static void
apply_clear(Apply *apply)
{
	gbe_etcd_copy_clear(&apply->copy);
	g_clear_pointer(&apply->refused, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Apply, apply_clear)

static bool
start_on_clone(Apply *apply, const Export *export, GError **error)
{
	const GbeExport *options = export->options;
	const GbeEtcdCopyStart start = {.tree_fd = -1,
					.alone = options->whole_log,
					.program = export->app->config->etcd.binary,
					.seconds = options->timeout};
	const GbeWal *wal = &export->source->directory.wal;
	GbeHardState state = wal->state;
	g_autoptr(GError) local = NULL;
	gbe_autofd int db_fd = -1;
	gbe_autofd int wal_fd = -1;
	struct stat st;

	if (!gbe_layout_open_db(export->data_fd, export->member_path, &db_fd, error))
		return false;
	if (fstat(db_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the backup's database");
	if (!gbe_etcd_copy_make(export->app, export->session->observed->store, PLACE, &st,
				&apply->copy, error) ||
	    !gbe_etcd_copy_clone(&apply->copy, export->data_fd, export->member_path, export->wal_fd,
				 false, false, error))
		return false;
	/* Lets the clone's member apply what it does not know to be agreed upon. */
	if (options->whole_log && wal->has_state && state.commit < apply->last) {
		state.commit = apply->last;
		if (!gbe_layout_open_wal(apply->copy.data_fd, "", -1, &wal_fd, error) ||
		    !gbe_wal_commit(wal_fd, "member/wal", &state, error))
			return false;
	}
	return gbe_etcd_copy_start(&apply->copy, &start, &local) ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "the log has requests that the database lacks, and there is no etcd to "
			 "apply them: %s ([etcd] binary); --drop-wal leaves them out",
			 local->message);
}

static bool
has_applied(gpointer data)
{
	Apply *apply = data;
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdStatus status = {{0}};
	bool applied;

	if (!gbe_etcd_copy_connect(&apply->copy, &failure) ||
	    !gbe_client_status(apply->copy.client, g_get_monotonic_time() + ASK_MS * 1000, &status,
			       &failure)) {
		if (failure.reach == GBE_REACH_NO_USER && apply->refused == NULL)
			apply->refused = g_steal_pointer(&failure.why);
		return apply->refused != NULL;
	}
	applied = status.raft_applied >= apply->last;
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return applied;
}

/* The database must have everything up to ->last, and nothing that etcd added on its own meanwhile, such as the
 * revocation of an expired lease. */
static bool
check_applied(const Apply *apply, GError **error)
{
	const GbeDbOptions sanity = {.level = GBE_VERIFY_SANITY};
	g_auto(GbeDirectory) directory = {0};
	g_auto(GbeFindings) findings = {0};
	GbeWalRest lacking = {0}, more = {0};
	gbe_autofd int wal_fd = -1;

	gbe_findings_init(&findings);
	if (!gbe_directory_read(apply->copy.data_fd, "", -1, &sanity, &directory, &findings,
				error) ||
	    !gbe_layout_open_wal(apply->copy.data_fd, "", -1, &wal_fd, error) ||
	    !gbe_wal_rest_count(wal_fd, "member/wal", directory.db.consistent_index, 0, &lacking,
				error) ||
	    !gbe_wal_rest_count(wal_fd, "member/wal", apply->last, 0, &more, error))
		return false;
	if (lacking.requests > 0)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "etcd left %" G_GUINT64_FORMAT " requests of the log unapplied",
				 lacking.requests);
	if (more.requests > 0)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "etcd made %" G_GUINT64_FORMAT
				 " changes of its own meanwhile (a lease ran out?); try again, or "
				 "--drop-wal",
				 more.requests);
	return true;
}

/* *ret_db_fd: the resulting database. In every case etcd has ended and the clone is removed, except for the open file.
 * After a power cut the next holder of the lock sweeps the clone (".partial-export"). */
static bool
apply_log(const Export *export, int *ret_db_fd, GError **error)
{
	static const char where[] = "etcd on a clone of the backup";
	const GbeExport *options = export->options;
	g_auto(Apply) apply = {.copy = GBE_ETCD_COPY_NONE,
			       .last = export->source->directory.wal.last_entry};
	const GbeWalledWait wait = {.seconds = options->timeout,
				    .ready = has_applied,
				    .ready_data = &apply,
				    .progress = options->progress,
				    .progress_data = options->progress_data};

	if (!start_on_clone(&apply, export, error) ||
	    !gbe_walled_wait(&apply.copy.run, &wait, error))
		return gbe_rethrow_if(error, GBE_ERROR_VERIFY_FAILED, GBE_ERROR_FAILED) ||
		       gbe_prefix(error, "%s", where);
	gbe_etcd_copy_end(&apply.copy);
	if (apply.refused != NULL)
		return gbe_throw(error, GBE_ERROR_NO_USER, "%s: %s", where, apply.refused);
	return (check_applied(&apply, error) &&
		gbe_layout_open_db(apply.copy.data_fd, "", ret_db_fd, error)) ||
	       gbe_prefix(error, "%s", where);
}

/* ---- the file ---- */

static bool
write_bytes(const void *bytes, gsize size, gpointer data, GError **error)
{
	Export *export = data;
	const GbeExport *options = export->options;

	if (!gbe_part_write(export->part, bytes, size, error))
		return false;
	export->written += size;
	return options->progress == NULL ||
	       options->progress(export->written, export->total, options->progress_data) ||
	       gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
}

/* The database for the snapshot: the backup's, or the one that etcd brought up to date. */
static bool
open_database(Export *export, int *ret_fd, GError **error)
{
	const GArray *voters = export->source->directory.conf.voters;
	guint64 requests = export->rest.requests;

	if (requests == 0 || export->options->drop_wal) {
		export->exported.dropped = requests;
		return gbe_layout_open_db(export->data_fd, export->member_path, ret_fd, error);
	}
	if (!export->options->whole_log && (voters == NULL || voters->len != 1))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the log of backup %s has %" G_GUINT64_FORMAT
				 " requests that its database lacks, and its member is not the "
				 "only voter; --drop-wal leaves them out",
				 export->options->name, requests);
	export->exported.applied = requests;
	return apply_log(export, ret_fd, error);
}

static bool
write_part(Export *export, GError **error)
{
	const GbeDb *from = &export->source->directory.db;
	const GbeDb *to;
	gbe_autofd int db_fd = -1;

	export->total = from->total_size;
	if (!open_database(export, &db_fd, error) ||
	    !gbe_part_reserve(export->part, export->total, error))
		return false;
	if (!gbe_snapshot_write(db_fd, "member/snap/db", write_bytes, export, error) ||
	    !gbe_snapshot_prove(export->app, export->part, &export->exported.verification, error))
		return false;
	/* When no entry was applied, the database must be the same: no row may have changed on the way. */
	to = &export->exported.verification->directory.db;
	if (export->exported.applied > 0
		? to->revision < from->revision
		: to->snapshot_hash != from->snapshot_hash || to->hash_kv != from->hash_kv)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "what was written is not the data of backup %s",
				 export->options->name);
	return gbe_part_publish(export->part, error);
}

static bool
write_file(Export *export, GError **error)
{
	const char *path = export->options->path;
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	g_auto(GbePart) part = {.fd = -1};

	if (!gbe_snapshot_open_parent(export->app, path, &dir_fd, &name, error) ||
	    !gbe_part_begin(dir_fd, name, export->options->replace, &part, error))
		return false;
	export->part = &part;
	return write_part(export, error) || gbe_prefix(error, "%s", path);
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
				 .wal_fd = -1};
	bool ok;

	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	ok = look_at_backup(&export, error) && write_file(&export, error);
	gbe_session_leave(&session);
	if (!ok)
		return false;
	*ret_exported = export.exported;
	export.exported = (GbeExported){0};
	return true;
}
