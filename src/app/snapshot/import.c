/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/import-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "app/snapshot/sidecar.h"
#include "app/snapshot/snapshot.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "etcd/db/snapshot-file.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "fs/copy/archive.h"
#include "fs/copy/compare.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/write.h"

void
gbe_imported_clear(GbeImported *imported)
{
	g_clear_pointer(&imported->name, g_free);
}

static void
importing_clear(GbeImporting *importing)
{
	gbe_partial_clear(&importing->partial);
	g_clear_pointer(&importing->name, g_free);
	g_clear_pointer(&importing->member_path, g_free);
	g_clear_pointer(&importing->tree_name, g_free);
	gbe_close_fd(&importing->tree_fd);
	gbe_close_fd(&importing->tree_parent_fd);
	g_clear_pointer(&importing->source, gbe_verification_free);
	g_clear_pointer(&importing->manifest, gbe_manifest_free);
}

/* Keeps the characters of the file's name that a backup's name may have; a directory's name may be that of an
 * automatic backup, so its "_" is replaced. */
static char *
derive_name(const char *path, bool is_tree)
{
	g_autofree char *base = g_path_get_basename(path);
	char *dot = is_tree ? NULL : strchr(base, '.');
	char *name;

	if (dot != NULL && dot > base)
		*dot = '\0';
	name = g_strdup_printf("imported-%.150s", base);
	return g_strcanon(name,
			  is_tree ? G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS ".+-"
				  : G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._+-",
			  '-');
}

/* @member, @log: the first name on the way to member/, and to [etcd] wal-dir; @tree_fd: the directory that is
 * imported, or -1. */
static bool
is_beside(const char *name, const char *member, const char *log, int tree_fd)
{
	return !g_str_equal(name, member) && g_strcmp0(name, log) != 0 &&
	       !g_str_equal(name, GBE_NONCE_NAME) && !g_strv_contains(gbe_data_exclude, name) &&
	       (tree_fd < 0 || faccessat(tree_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0);
}

/* Refuses what a restore would remove, because a restore replaces the whole data directory by the whole backup. */
static bool
check_beside(const GbeImporting *importing, GError **error)
{
	const GbeData *data = importing->session->observed->data;
	g_auto(GStrv) parts = g_strsplit(importing->member_path, "/", 2);
	const char *member = parts[0] != NULL && *parts[0] != '\0' ? parts[0] : "member";
	const char *wal = gbe_data_wal_below(importing->app, data->path);
	g_auto(GStrv) log = g_strsplit(wal != NULL ? wal : "", "/", 2);
	g_auto(GbeList) list = {NULL};
	const char *name;

	if (data->fd < 0 || importing->options->etcd_only)
		return true;
	list = gbe_list_open_at(data->fd, data->path);
	while ((name = gbe_list_next(&list)) != NULL)
		if (is_beside(name, member, log[0], importing->tree_fd))
			return gbe_throw(error, GBE_ERROR_REFUSED,
					 "%s holds more than this does (%s), which a restore of it "
					 "would take away: --etcd-only imports it all the same",
					 data->path, name);
	return gbe_list_end(&list, error);
}

/* NULL: there is no backup of this data directory that tells. */
static char *
member_of_newest_backup(const GbeImporting *importing)
{
	const GbeObserved *observed = importing->session->observed;
	const GbeManifest *newest = NULL;
	gbe_autofd int data_fd = -1;
	char *path = NULL;

	for (guint i = 0; i < observed->facts->backups->len; i++) {
		const GbeManifest *backup = observed->facts->backups->pdata[i];

		if (!backup->consumed &&
		    g_strcmp0(backup->data_dir, observed->facts->data_dir) == 0 &&
		    (newest == NULL || backup->sequence > newest->sequence))
			newest = backup;
	}
	if (newest != NULL && gbe_store_open_data(observed->store, newest->name, &data_fd, NULL) &&
	    gbe_member_locate(data_fd, "auto", &path, NULL))
		return path;
	return NULL;
}

/* The path of member/: as in the present data; without data, as in the imported directory, as configured, or as in the
 * newest backup. */
static bool
locate_member(GbeImporting *importing, GError **error)
{
	const char *present = importing->session->observed->data->member_path;
	const char *member_dir = importing->app->config->etcd.member_dir;
	bool at_top = g_str_equal(member_dir, "auto") || g_str_equal(member_dir, ".");

	if (present == NULL && importing->tree_fd >= 0)
		return gbe_member_locate(importing->tree_fd, member_dir, &importing->member_path,
					 error) ||
		       gbe_prefix(error, "%s", importing->options->path);
	if (present == NULL && g_str_equal(member_dir, "auto"))
		importing->member_path = member_of_newest_backup(importing);
	if (importing->member_path == NULL)
		importing->member_path = g_strdup(present != NULL ? present
						  : at_top	  ? ""
								  : member_dir);
	return true;
}

static bool
check(GbeImporting *importing, GError **error)
{
	const GbeData *data = importing->session->observed->data;

	if (data->wal_dir != NULL && !gbe_data_check_whole(data, error))
		return gbe_rethrow(error, GBE_ERROR_REFUSED);
	return locate_member(importing, error) && check_beside(importing, error);
}

static bool
put(const void *bytes, gsize size, gpointer data, GError **error)
{
	GbeImporting *importing = data;
	const GbeImport *options = importing->options;
	int *fd = &importing->source_fd;

	if (!gbe_room_check(&importing->room, size, options->path, error))
		return false;
	for (const char *at = bytes; size > 0;) {
		ssize_t wrote = write(*fd, at, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return gbe_throw_errno(error, errno, "cannot write to the store");
		at += wrote;
		size -= (gsize)wrote;
		importing->taken += (guint64)wrote;
	}
	return options->progress == NULL ||
	       options->progress(importing->taken, 0, options->progress_data) ||
	       gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
}

/* The snapshot's own checksum, which was compared, stands for the whole database. */
static bool
prove_origin(GbeImporting *importing, GError **error)
{
	GbeSnapshotSum sum = {0};
	g_autofree char *sha256 = NULL;
	struct stat st;

	if (fstat(importing->source_fd, &st) < 0 ||
	    (st.st_size > GBE_SNAPSHOT_SUM &&
	     pread(importing->source_fd, sum.last, GBE_SNAPSHOT_SUM,
		   st.st_size - GBE_SNAPSHOT_SUM) != GBE_SNAPSHOT_SUM))
		return gbe_throw_errno(error, errno, "cannot read %s", importing->options->path);
	sha256 = gbe_snapshot_sum_text(&sum);
	/* A snapshot without a checksum has nothing to sign. */
	return importing->source->directory.db.size % GBE_SNAPSHOT_SECTOR != GBE_SNAPSHOT_SUM ||
	       gbe_sidecar_prove_file(importing->app, importing->options->path, sha256,
				      &importing->proved, error);
}

/* Extracts the snapshot from the file and proves it. */
static bool
unpack(GbeImporting *importing, GError **error)
{
	const GbeVerifyOptions full = {.level = GBE_VERIFY_FULL};
	const char *path = importing->options->path;
	gbe_autofd int from = -1;
	struct stat st;
	bool ok;

	if (!gbe_snapshot_open(importing->app, path, &from, error))
		return false;
	if (fstat(from, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", path);
	if (!gbe_room_begin(importing->partial.fd, &importing->room, error) ||
	    !gbe_room_check(&importing->room, (guint64)st.st_size, path, error))
		return false;
	importing->source_fd = openat(importing->partial.fd, GBE_IMPORT_SNAPSHOT,
				      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (importing->source_fd < 0)
		return gbe_throw_errno(error, errno, "make %s", GBE_IMPORT_SNAPSHOT);
	ok = gbe_archive_unpack(from, path, put, importing, error) &&
	     /* etcd's tool writes the same bytes once more. */
	     gbe_room_check(&importing->room, importing->taken, path, error) &&
	     gbe_verify_snapshot(importing->app, importing->source_fd, path, &full,
				 &importing->source, error) &&
	     gbe_snapshot_check(
		 importing->source,
		 importing->options->no_checksum ? NULL : "--no-checksum takes it all the same",
		 error) &&
	     prove_origin(importing, error);
	gbe_close_fd(&importing->source_fd);
	return ok;
}

/* Reads every page and row. *ret_what, newly allocated: the damage, or what is not known; NULL: nothing is wrong. */
static bool
read_all(const GbeImporting *importing, int data_fd, GbeDirectory *directory,
	 GbeSeverity *ret_worst, char **ret_what, GError **error)
{
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	gbe_autofd int wal_fd = gbe_data_open_wal_of_copy(
	    importing->app, importing->session->observed->data->path, data_fd);
	g_auto(GbeFindings) findings = {0};
	bool ok;

	gbe_findings_init(&findings);
	ok = gbe_directory_read(data_fd, importing->member_path, wal_fd, &full, directory,
				&findings, error);
	*ret_worst = gbe_findings_worst(&findings);
	*ret_what = *ret_worst == GBE_FINDING_DAMAGE || *ret_worst == GBE_FINDING_UNKNOWN
			? gbe_finding_to_text(gbe_findings_first(&findings))
			: NULL;
	return ok;
}

/* An older tool does not know all of a newer etcd's database, and leaves it as it is: then the versions are named. */
static bool
refuse_restored(const GbeImporting *importing, const char *what, GError **error)
{
	const GbeDb *from = &importing->source->directory.db;
	GbeVersion needs = gbe_version_parse(from->storage_version != NULL ? from->storage_version
									   : from->cluster_version);
	GbeVersion own = importing->session->observed->facts->etcd_version;

	if (gbe_version_above(needs, own) == GBE_YES)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "the snapshot is of etcd %u.%u, and etcd here is %u.%u: import it where "
		    "etcd and its tool are %u.%u, or newer (%s)",
		    needs.major, needs.minor, own.major, own.minor, needs.major, needs.minor, what);
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "what etcd's tool made of it is not right: %s", what);
}

/* The result must be sound and have every row of the source. */
static bool
prove_restored(const GbeImporting *importing, int data_fd, GbeDirectory *directory, GError **error)
{
	const GbeDb *from = &importing->source->directory.db;
	GbeSeverity worst = GBE_FINDING_NOTE;
	g_autofree char *what = NULL;

	if (!read_all(importing, data_fd, directory, &worst, &what, error))
		return false;
	if (worst == GBE_FINDING_DAMAGE)
		return refuse_restored(importing, what, error);
	return (directory->has_db && directory->db.revision == from->revision &&
		directory->db.has_hash_kv == from->has_hash_kv &&
		directory->db.hash_kv == from->hash_kv) ||
	       gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "what etcd's tool made of it is not right: its keys are not those of the "
			 "snapshot");
}

static bool
open_restored(const GbeImporting *importing, int data_fd, int *ret_fd, GError **error)
{
	gbe_autofd int snap_fd = -1;

	if (!gbe_layout_open(data_fd, importing->member_path, "member/snap", &snap_fd, error))
		return false;
	*ret_fd = openat(snap_fd, GBE_DB_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd >= 0 || gbe_throw_errno(error, errno, "cannot open member/snap/db");
}

/* Skips revisions in what was restored, *directory, and reads it again. */
static bool
bump(GbeImporting *importing, int data_fd, GbeDirectory *directory, GError **error)
{
	const GbeImport *options = importing->options;
	gint64 now = directory->db.revision, next = 0;
	guint64 by = options->bump;
	g_auto(GbeDirectory) bumped = {0};
	GbeSeverity worst = GBE_FINDING_NOTE;
	g_autofree char *what = NULL;
	gbe_autofd int fd = -1;

	if (by == 0 && !options->no_bump && importing->source->directory.db.kubernetes)
		by = GBE_IMPORT_BUMP;
	if (by == 0)
		return true;
	if (__builtin_add_overflow(now, by, &next))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "no revision is left %" G_GUINT64_FORMAT " after %" G_GINT64_FORMAT
				 ": --bump-revision=0 keeps it",
				 by, now);
	if (!open_restored(importing, data_fd, &fd, error) ||
	    !gbe_db_bump(fd, "member/snap/db", next, error) ||
	    !read_all(importing, data_fd, &bumped, &worst, &what, error))
		return false;
	if (worst == GBE_FINDING_DAMAGE || bumped.db.revision != next ||
	    bumped.db.rows != directory->db.rows + 1)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "what it became with a later revision is not right: %s",
				 what != NULL ? what : "its rows are not those of the snapshot");
	importing->bump = by;
	gbe_directory_clear(directory);
	*directory = bumped;
	bumped = (GbeDirectory){0};
	return true;
}

static bool
prove_tree(const GbeImporting *importing, int data_fd, GbeDirectory *directory, GError **error)
{
	GbeSeverity worst = GBE_FINDING_NOTE;
	g_autofree char *what = NULL;

	return read_all(importing, data_fd, directory, &worst, &what, error) &&
	       (what == NULL || gbe_throw(error,
					  worst == GBE_FINDING_DAMAGE ? GBE_ERROR_VERIFY_FAILED
								      : GBE_ERROR_CANNOT_TELL,
					  "%s: %s", importing->options->path, what));
}

static bool
describe(GbeImporting *importing, int data_fd, const GbeDirectory *directory, GbeMethod method,
	 GError **error)
{
	const GbeObserved *observed = importing->session->observed;
	g_autofree char *from = gbe_path_to_text(importing->options->path);
	g_autofree char *skipped =
	    importing->bump > 0
		? g_strdup_printf(", %" G_GUINT64_FORMAT " revisions skipped", importing->bump)
		: g_strdup("");
	g_autofree char *description = importing->options->periodic
					   ? g_strdup("periodic, by a snapshot of etcd")
					   : g_strdup_printf("imported from %s%s", from, skipped);
	GbeManifest *manifest = importing->manifest =
	    gbe_partial_manifest(&importing->partial, observed, directory, description);

	if (importing->options->periodic)
		manifest->origin = GBE_ORIGIN_PERIODIC;
	/* A snapshot that this device has just saved does not come from outside. */
	manifest->outside = !importing->options->periodic;
	manifest->proved = importing->proved;
	manifest->method = method;
	if (importing->source == NULL)
		gbe_import_tree_tell(importing, data_fd, manifest);
	else
		manifest->voters = 1;
	/* The tool may have left the version to the etcd that will use the data. */
	if (manifest->etcd_version == NULL && importing->source != NULL)
		manifest->etcd_version = g_strdup(importing->source->directory.db.cluster_version);
	return gbe_partial_describe(importing->app, &importing->partial, data_fd,
				    importing->member_path, manifest, error);
}

static bool
make_from_file(GbeImporting *importing, GError **error)
{
	g_auto(GbeDirectory) directory = {0};
	gbe_autofd int data_fd = -1;

	if (!unpack(importing, error) || GBE_FAULT("import-unpacked", error) ||
	    !gbe_import_restore(importing, error))
		return false;
	if (unlinkat(importing->partial.fd, GBE_IMPORT_SNAPSHOT, 0) < 0)
		return gbe_throw_errno(error, errno, "remove %s", GBE_IMPORT_SNAPSHOT);
	return gbe_open_dir_at(importing->partial.fd, GBE_STORE_DATA, &data_fd, error) &&
	       gbe_import_hand_over(importing, data_fd, error) &&
	       prove_restored(importing, data_fd, &directory, error) &&
	       bump(importing, data_fd, &directory, error) &&
	       describe(importing, data_fd, &directory, GBE_METHOD_COPY, error);
}

static bool
make_from_tree(GbeImporting *importing, GError **error)
{
	g_auto(GbeDirectory) directory = {0};
	GbeMethod method = GBE_METHOD_COPY;
	gbe_autofd int data_fd = -1;

	return gbe_import_tree(importing, &data_fd, &method, error) &&
	       prove_tree(importing, data_fd, &directory, error) &&
	       describe(importing, data_fd, &directory, method, error);
}

/* A directory's log goes on from the database, with transactions that compare revisions. */
static bool
open_source(GbeImporting *importing, GError **error)
{
	if (!gbe_import_tree_open(importing, error))
		return false;
	return importing->tree_fd < 0 || importing->options->bump == 0 ||
	       gbe_throw(error, GBE_ERROR_USAGE,
			 "%s is a directory, and --bump-revision takes a snapshot file: its log "
			 "would not fit later revisions",
			 importing->options->path);
}

bool
gbe_import(GbeApp *app, const GbeImport *options, GbeImported *ret_imported, GError **error)
{
	const GbeSessionOptions how = {.operation = "import"};
	GbeSession session;
	GbeImporting importing = {.app = app,
				  .options = options,
				  .session = &session,
				  .source_fd = -1,
				  .tree_parent_fd = -1,
				  .tree_fd = -1,
				  .partial = {.fd = -1}};
	GbeImported imported = {0};
	bool ok;

	if (!open_source(&importing, error)) {
		importing_clear(&importing);
		return false;
	}
	importing.name = options->name != NULL ? g_strdup(options->name)
					       : derive_name(options->path, importing.tree_fd >= 0);
	if (!gbe_backup_name_check_manual(importing.name, error) ||
	    !gbe_session_begin(app, &how, &session, error)) {
		importing_clear(&importing);
		return false;
	}
	if (options->periodic) {
		g_free(importing.name);
		importing.name = g_strdup_printf("periodic-%" G_GUINT64_FORMAT,
						 session.observed->facts->next_sequence);
	}
	ok = check(&importing, error) &&
	     gbe_partial_make(session.observed, importing.name, &importing.partial, error) &&
	     (importing.tree_fd >= 0 ? make_from_tree(&importing, error)
				     : make_from_file(&importing, error)) &&
	     gbe_partial_publish(&importing.partial, error);
	if (ok) {
		imported = (GbeImported){.name = g_strdup(importing.name),
					 .size = importing.manifest->size,
					 .revision = importing.manifest->revision,
					 .bump = importing.bump};
		gbe_state_note_entry(app, GBE_LEDGER_BACKUP, importing.manifest,
				     options->periodic ? "periodic" : "imported");
		if (!options->periodic)
			gbe_session_record(&session, "done", importing.manifest->description,
					   importing.name);
	}
	importing_clear(&importing);
	if (ok)
		*ret_imported = imported;
	return gbe_session_finish(&session, ok, error);
}
