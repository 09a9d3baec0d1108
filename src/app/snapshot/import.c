/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/import.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/backup/backup.h"
#include "app/backups/verify.h"
#include "app/device/service.h"
#include "app/run/walled.h"
#include "app/snapshot/snapshot.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "core/space.h"
#include "etcd/db/snapshot-file.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "fs/copy/archive.h"
#include "fs/copy/clone.h"
#include "fs/copy/compare.h"
#include "fs/copy/extents.h"
#include "fs/copy/metadata.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/reserve.h"
#include "fs/tree.h"
#include "fs/write.h"
#include "sys/enabled.h"

#define SNAPSHOT "snapshot.db"
#define MAX_VERSION_FILE (64 * 1024)
/* etcd's own defaults, used when nothing is configured. */
#define NAME "default"
#define PEER_URLS "http://localhost:2380"
#define TOKEN "etcd-cluster"

typedef struct {
	GbeSession session;
	GbeApp *app;
	const GbeImport *options;
	char *name;	    /* of the entry */
	GbePartial partial; /* the entry in the making */
	char *member_path;  /* path of member/ in the data, as in the present data */
	GbeVerification *source;
	GbeManifest *manifest;
	GbeDirectory directory; /* what is in the data that was made */
	GbeMethod method;
	int data_fd;		     /* the data that was made; -1 */
	int source_fd;		     /* the snapshot in the entry while it is received; else -1 */
	int tree_parent_fd, tree_fd; /* when a directory is imported; else -1 */
	char *tree_name;
	GbeRoom room;  /* of the store */
	guint64 taken; /* bytes of ->room */
	guint64 bump;  /* revisions that were skipped */
	bool proved;   /* a keyed digest came with it */
} Importing;

static void
importing_clear(Importing *importing)
{
	gbe_partial_clear(&importing->partial);
	g_clear_pointer(&importing->name, g_free);
	g_clear_pointer(&importing->member_path, g_free);
	g_clear_pointer(&importing->tree_name, g_free);
	gbe_directory_clear(&importing->directory);
	gbe_close_fd(&importing->data_fd);
	gbe_close_fd(&importing->source_fd);
	gbe_close_fd(&importing->tree_fd);
	gbe_close_fd(&importing->tree_parent_fd);
	g_clear_pointer(&importing->source, gbe_verification_free);
	g_clear_pointer(&importing->manifest, gbe_manifest_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Importing, importing_clear)

void
gbe_imported_clear(GbeImported *imported)
{
	g_clear_pointer(&imported->name, g_free);
}

/* ---- where it comes from, and where it goes ---- */

/* Opens ->tree_fd when the source is a directory. A directory's log continues from the database, with transactions that
 * compare revisions. */
static bool
open_source(Importing *importing, GError **error)
{
	const GbeImport *options = importing->options;
	struct stat st;

	if (!gbe_snapshot_open_parent(importing->app, options->path, &importing->tree_parent_fd,
				      &importing->tree_name, error))
		return false;
	if (fstatat(importing->tree_parent_fd, importing->tree_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", options->path);
	/* A file, or a link to one, which the import follows. */
	if (!S_ISDIR(st.st_mode))
		return true;
	if (!gbe_open_dir_at(importing->tree_parent_fd, importing->tree_name, &importing->tree_fd,
			     error))
		return false;
	return options->bump == 0 ||
	       gbe_throw(error, GBE_ERROR_USAGE,
			 "%s is a directory, and --bump-revision takes a snapshot file: its log "
			 "would not fit later revisions",
			 options->path);
}

/* Keeps the characters of the file's name that a backup's name may have. A directory's name may be that of an automatic
 * backup, so its "_" is replaced. */
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

/* The path of member/ in the newest backup of this data directory. NULL: no such backup tells. */
static char *
member_of_newest_backup(const GbeObserved *observed)
{
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
locate_member(Importing *importing, GError **error)
{
	const char *present = importing->session.observed->data->member_path;
	const char *member_dir = importing->app->config->etcd.member_dir;
	bool at_top = g_str_equal(member_dir, "auto") || g_str_equal(member_dir, ".");

	if (present == NULL && importing->tree_fd >= 0)
		return gbe_member_locate(importing->tree_fd, member_dir, &importing->member_path,
					 error) ||
		       gbe_prefix(error, "%s", importing->options->path);
	if (present == NULL && g_str_equal(member_dir, "auto"))
		importing->member_path = member_of_newest_backup(importing->session.observed);
	if (importing->member_path == NULL)
		importing->member_path = g_strdup(present != NULL ? present
						  : at_top	  ? ""
								  : member_dir);
	return true;
}

/* Refuses what a restore would remove, because a restore replaces the whole data directory by the whole backup. */
static bool
check_beside(const Importing *importing, GError **error)
{
	const GbeData *data = importing->session.observed->data;
	const char *wal = gbe_data_wal_below(importing->app, data->path);
	int tree_fd = importing->tree_fd;
	g_auto(GStrv) parts = g_strsplit(importing->member_path, "/", 2);
	g_auto(GStrv) log = g_strsplit(wal != NULL ? wal : "", "/", 2);
	/* The first names on the way to member/ and to [etcd] wal-dir. */
	const char *member = parts[0] != NULL && *parts[0] != '\0' ? parts[0] : "member";
	g_auto(GbeList) list = {NULL};
	const char *name;

	if (data->fd < 0 || importing->options->etcd_only)
		return true;
	list = gbe_list_open_at(data->fd, data->path);
	while ((name = gbe_list_next(&list)) != NULL)
		if (!g_str_equal(name, member) && g_strcmp0(name, log[0]) != 0 &&
		    !g_str_equal(name, GBE_NONCE_NAME) &&
		    !g_strv_contains(gbe_data_exclude, name) &&
		    (tree_fd < 0 || faccessat(tree_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0))
			return gbe_throw(
			    error, GBE_ERROR_REFUSED,
			    "%s holds more than etcd's data (%s), which a restore of this import "
			    "would take away; use --etcd-only to import it anyway",
			    data->path, name);
	return gbe_list_end(&list, error);
}

/* ---- what both sources need ---- */

static bool
hand_over_file(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	       GError **error)
{
	const struct stat *owner = data;

	return gbe_metadata_hand_over_at(dir_fd, name, st, owner->st_uid, owner->st_gid, path,
					 error);
}

/* Gives the received data to the owner of the present data. Without data: to the user of etcd's unit, else to the owner
 * of the data directory, else to the program's own user. With ->keep_owners: does nothing. */
static bool
hand_over(const Importing *importing, GError **error)
{
	const GbeData *present = importing->session.observed->data;
	const char *service = importing->app->config->etcd.service;
	struct stat owner = {.st_mode = S_IFDIR | 0700, .st_uid = geteuid(), .st_gid = getegid()};

	if (importing->options->keep_owners)
		return true;
	if (present->fd >= 0 && fstat(present->fd, &owner) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", present->path);
	if (present->member_path == NULL && service != NULL)
		(void)gbe_unit_owner(importing->app->root_fd, service, &owner.st_uid,
				     &owner.st_gid);
	return gbe_tree_walk(importing->data_fd, NULL, NULL, hand_over_file, &owner, error) &&
	       gbe_metadata_hand_over_at(importing->partial.fd, GBE_STORE_DATA, &owner,
					 owner.st_uid, owner.st_gid, "the data", error);
}

/* Reads every page and row. *ret_what, newly allocated: the damage, or what is not known; NULL: nothing is wrong. */
static bool
read_all(const Importing *importing, GbeDirectory *directory, GbeSeverity *ret_worst,
	 char **ret_what, GError **error)
{
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	gbe_autofd int wal_fd = gbe_data_open_wal_of_copy(
	    importing->app, importing->session.observed->data->path, importing->data_fd);
	g_auto(GbeFindings) findings = {0};
	bool ok;

	gbe_findings_init(&findings);
	ok = gbe_directory_read(importing->data_fd, importing->member_path, wal_fd, &full,
				directory, &findings, error);
	*ret_worst = gbe_findings_worst(&findings);
	*ret_what = *ret_worst == GBE_FINDING_DAMAGE || *ret_worst == GBE_FINDING_UNKNOWN
			? gbe_finding_to_text(gbe_findings_first(&findings))
			: NULL;
	return ok;
}

/* ---- a directory: a raw copy of a data directory that another program made, as MicroShift does below
 * microshift-backups/. A name of the form <deployment>_<boot id> tells whose data it was. ---- */

static bool
tree_progress(guint64 bytes, gpointer data)
{
	const GbeImport *options = data;

	return options->progress == NULL || options->progress(bytes, 0, options->progress_data);
}

/* GBE_ERROR_BUSY: an etcd has it open; _REFUSED: etcd's data is not where it should be. No etcd starts on the directory
 * while *ret_lock_fd is open. */
static bool
check_at_rest(const Importing *importing, int *ret_lock_fd, GError **error)
{
	const char *path = importing->options->path;
	const char *data_dir = importing->session.observed->data->path;
	const char *wal = gbe_data_wal_below(importing->app, data_dir);
	gbe_autofd int wal_fd =
	    gbe_data_open_wal_of_copy(importing->app, data_dir, importing->tree_fd);
	bool has = false;

	if (wal != NULL && wal_fd < 0)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s/%s has no log of etcd, but [etcd] wal-dir names it", path,
				 wal);
	if (!gbe_member_has_data(importing->tree_fd, importing->member_path, &has, error))
		return false;
	if (!has)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s%s%s has no data of etcd, but [etcd] member-dir names it", path,
				 *importing->member_path != '\0' ? "/" : "",
				 importing->member_path);
	switch (
	    gbe_in_use(importing->tree_fd, importing->member_path, wal_fd, ret_lock_fd, error)) {
	case GBE_NO:
		return true;
	case GBE_YES:
		return gbe_throw(error, GBE_ERROR_BUSY, "etcd has %s open: stop it first", path);
	case GBE_UNKNOWN:
	default:
		return false;
	}
}

/* Copies the directory into the entry, while no etcd can start on it. */
static bool
copy_tree(Importing *importing, GError **error)
{
	const GbeStore *store = importing->session.observed->store;
	const GbeCloneOptions options = {
	    .allowed = GBE_METHOD_SNAPSHOT,
	    .read_only = importing->options->keep_owners,
	    .compare = true,
	    .cold = GBE_COLD_COPY,
	    .exclude = gbe_data_exclude,
	    .progress = tree_progress,
	    .progress_data = (gpointer)importing->options,
	};
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int lock_fd = -1;
	GbeSpace space = {0};

	if (!check_at_rest(importing, &lock_fd, error) ||
	    !gbe_extents_space(importing->tree_fd, store->fd, false, &space, error))
		return false;
	/* Checks the space before the first byte, rather than failing on a full disk. */
	if (!gbe_space_fits(&space) && (!gbe_same_filesystem(importing->tree_fd, store->fd) ||
					gbe_probe_clone(store->fd, store->fd) != GBE_YES)) {
		g_autofree char *missing = gbe_size_to_text(gbe_space_missing(&space));

		return gbe_throw(error, GBE_ERROR_NO_SPACE,
				 "no room for %s in %s: %s more are needed; `greenboot-etcd list "
				 "--exclusive` shows what could go",
				 importing->options->path, store->path, missing);
	}
	if (!gbe_clone_tree_at(importing->tree_parent_fd, importing->tree_name,
			       importing->partial.fd, GBE_STORE_DATA, &options, &result, error))
		return gbe_prefix(error, "copy %s", importing->options->path);
	importing->method = result.method;
	if (GBE_FAULT("import-copied", error) ||
	    !gbe_open_dir_at(importing->partial.fd, GBE_STORE_DATA, &importing->data_fd, error) ||
	    !hand_over(importing, error))
		return false;
	return result.method != GBE_METHOD_SNAPSHOT ||
	       gbe_subvolume_set_read_only(importing->data_fd, true, error);
}

/* ---- a snapshot file ---- */

static bool
write_unpacked(const void *bytes, gsize size, gpointer data, GError **error)
{
	Importing *importing = data;
	const GbeImport *options = importing->options;

	if (!gbe_room_check(&importing->room, size, options->path, error))
		return false;
	for (const char *at = bytes; size > 0;) {
		ssize_t wrote = write(importing->source_fd, at, size);

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

/* Extracts the snapshot from the file and proves it. */
static bool
unpack(Importing *importing, GError **error)
{
	const GbeVerifyOptions full = {.level = GBE_VERIFY_FULL};
	const char *path = importing->options->path;
	const char *unsummed =
	    importing->options->no_checksum ? NULL : "use --no-checksum to import it anyway";
	GbeSnapshotSum sum = {0};
	g_autofree char *sha256 = NULL;
	gbe_autofd int from = -1;
	struct stat st;

	if (!gbe_snapshot_open(importing->app, path, &from, error))
		return false;
	if (fstat(from, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", path);
	if (!gbe_room_begin(importing->partial.fd, &importing->room, error) ||
	    !gbe_room_check(&importing->room, (guint64)st.st_size, path, error))
		return false;
	importing->source_fd = openat(importing->partial.fd, SNAPSHOT,
				      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (importing->source_fd < 0)
		return gbe_throw_errno(error, errno, "make %s", SNAPSHOT);
	if (!gbe_archive_unpack(from, path, write_unpacked, importing, error))
		return false;
	/* etcd's tool writes the same bytes once more. */
	if (!gbe_room_check(&importing->room, importing->taken, path, error))
		return false;
	if (!gbe_verify_snapshot(importing->app, importing->source_fd, path, &full,
				 &importing->source, error) ||
	    !gbe_snapshot_check(importing->source, unsummed, error))
		return false;
	/* The snapshot's own checksum, which was compared, stands for the whole database. */
	if (fstat(importing->source_fd, &st) < 0 ||
	    (st.st_size > GBE_SNAPSHOT_SUM &&
	     pread(importing->source_fd, sum.last, GBE_SNAPSHOT_SUM,
		   st.st_size - GBE_SNAPSHOT_SUM) != GBE_SNAPSHOT_SUM))
		return gbe_throw_errno(error, errno, "cannot read %s", path);
	sha256 = gbe_snapshot_sum_text(&sum);
	/* A snapshot without a checksum has nothing to sign. */
	if (importing->source->directory.db.size % GBE_SNAPSHOT_SECTOR == GBE_SNAPSHOT_SUM &&
	    !gbe_sidecar_prove_file(importing->app, path, sha256, &importing->proved, error))
		return false;
	gbe_close_fd(&importing->source_fd);
	return true;
}

/* Runs etcd's tool in the entry, as another user. The tool has ended in every case. */
static bool
run_tool(const Importing *importing, const char *const *argv, GError **error)
{
	const GbeImport *options = importing->options;
	int entry_fd = importing->partial.fd;
	g_autofree char *dir = g_path_get_dirname(importing->app->config->etcd.binary);
	g_autofree char *program = g_build_filename(dir, argv[0], NULL);
	const GbeWalled walled = {.tree_fd = -1,
				  .program = program,
				  .argv = argv,
				  .work_fd = entry_fd,
				  .seconds = options->timeout,
				  .size = importing->source->directory.db.size};
	const GbeWalledWait wait = {.seconds = options->timeout,
				    .progress = options->progress,
				    .progress_data = options->progress_data};
	g_auto(GbeWalledRun) run = {.work_fd = -1};
	GbeChildUser user;
	struct stat own;

	if (fstat(entry_fd, &own) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the entry");
	if (!gbe_walled_user(importing->app, &own, &user, error) ||
	    !gbe_walled_give(entry_fd, &user, error))
		return gbe_rethrow_if(error, GBE_ERROR_CANNOT_TELL, GBE_ERROR_FAILED);
	if (!gbe_walled_start(importing->app, &walled, &run, error) ||
	    !gbe_walled_wait(&run, &wait, error))
		return gbe_rethrow_if(error, GBE_ERROR_VERIFY_FAILED, GBE_ERROR_FAILED) ||
		       gbe_rethrow_if(error, GBE_ERROR_CANNOT_TELL, GBE_ERROR_FAILED);
	gbe_walled_end(&run);
	user = (GbeChildUser){own.st_uid, own.st_gid};
	return gbe_walled_give(entry_fd, &user, error);
}

/* GBE_ERROR_REFUSED: there is no tool. The snapshot was already checked page by page, so it needs no checksum. */
static bool
restore_snapshot(const Importing *importing, GError **error)
{
	const GbeConfig *config = importing->app->config;
	const char *name = config->etcd.name != NULL ? config->etcd.name : NAME;
	const char *urls = config->etcd.peer_urls != NULL ? config->etcd.peer_urls : PEER_URLS;
	const char *token = importing->options->token;
	const char *wal =
	    gbe_data_wal_below(importing->app, importing->session.observed->data->path);
	g_autofree char *data_dir = g_build_filename(GBE_STORE_DATA, importing->member_path, NULL);
	g_autofree char *wal_dir = wal != NULL ? g_build_filename(GBE_STORE_DATA, wal, NULL)
					       : g_build_filename(data_dir, "member/wal", NULL);
	g_auto(GStrv) parts = g_strsplit(urls, ",", -1);
	g_autoptr(GString) members = g_string_new(NULL);
	const char *tool = NULL;
	gbe_autofd int tool_fd = -1;

	if (!gbe_etcd_tool_open(importing->app, "restores a snapshot", &tool, &tool_fd, error))
		return false;
	/* The tool makes the last directory itself. */
	for (char *slash = data_dir; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		if (mkdirat(importing->partial.fd, data_dir, 0700) < 0)
			return gbe_throw_errno(error, errno, "make %s", data_dir);
		*slash = '/';
	}
	for (guint i = 0; parts[i] != NULL; i++)
		g_string_append_printf(members, "%s%s=%s", i > 0 ? "," : "", name, parts[i]);
	{
		const char *const argv[] = {tool,
					    "snapshot",
					    "restore",
					    SNAPSHOT,
					    "--name",
					    name,
					    "--initial-cluster",
					    members->str,
					    "--initial-advertise-peer-urls",
					    urls,
					    "--data-dir",
					    data_dir,
					    "--wal-dir",
					    wal_dir,
					    "--initial-cluster-token",
					    token != NULL ? token : TOKEN,
					    importing->options->no_checksum ? "--skip-hash-check"
									    : NULL,
					    NULL};

		return run_tool(importing, argv, error);
	}
}

/* The result must be sound and have every row of the source. */
static bool
prove_restored(Importing *importing, GError **error)
{
	GbeDirectory *directory = &importing->directory;
	const GbeDb *from = &importing->source->directory.db;
	GbeVersion own = importing->session.observed->facts->etcd_version;
	GbeVersion needs = gbe_version_parse(from->storage_version != NULL ? from->storage_version
									   : from->cluster_version);
	GbeSeverity worst = GBE_FINDING_NOTE;
	g_autofree char *what = NULL;

	if (!read_all(importing, directory, &worst, &what, error))
		return false;
	/* An older tool does not know all of a newer etcd's database, and leaves it as it is: name the versions. */
	if (worst == GBE_FINDING_DAMAGE && gbe_version_above(needs, own) == GBE_YES)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "the snapshot is of etcd %u.%u, and etcd here is %u.%u: import it where "
		    "etcd and its tool are %u.%u, or newer (%s)",
		    needs.major, needs.minor, own.major, own.minor, needs.major, needs.minor, what);
	if (worst == GBE_FINDING_DAMAGE)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "what etcd's tool made of it is not right: %s", what);
	return (directory->has_db && directory->db.revision == from->revision &&
		directory->db.has_hash_kv == from->has_hash_kv &&
		directory->db.hash_kv == from->hash_kv) ||
	       gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "what etcd's tool made of it is not right: its keys are not those of the "
			 "snapshot");
}

/* Skips revisions in what was restored, *directory, and reads it again. */
static bool
bump_revision(Importing *importing, GError **error)
{
	GbeDirectory *directory = &importing->directory;
	const GbeImport *options = importing->options;
	gint64 now = directory->db.revision, next = 0;
	guint64 by = options->bump;
	g_auto(GbeDirectory) bumped = {0};
	GbeSeverity worst = GBE_FINDING_NOTE;
	g_autofree char *what = NULL;
	gbe_autofd int snap_fd = -1;
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
	if (!gbe_layout_open(importing->data_fd, importing->member_path, "member/snap", &snap_fd,
			     error))
		return false;
	fd = openat(snap_fd, GBE_DB_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open member/snap/db");
	if (!gbe_db_bump(fd, "member/snap/db", next, error) ||
	    !read_all(importing, &bumped, &worst, &what, error))
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

/* ---- the backup ---- */

static bool
describe_backup(Importing *importing, GError **error)
{
	const GbeImport *options = importing->options;
	const GbeVerification *source = importing->source;
	const char *version_file = importing->app->config->etcd.version_file;
	g_autofree char *from = gbe_path_to_text(options->path);
	g_autofree char *skipped =
	    importing->bump > 0
		? g_strdup_printf(", %" G_GUINT64_FORMAT " revisions skipped", importing->bump)
		: g_strdup("");
	g_autofree char *description = options->periodic
					   ? g_strdup("periodic, by a snapshot of etcd")
					   : g_strdup_printf("imported from %s%s", from, skipped);
	g_autofree char *bytes = NULL;
	gsize size = 0;
	GbeManifest *manifest = importing->manifest = gbe_partial_manifest(
	    &importing->partial, importing->session.observed, &importing->directory, description);

	if (options->periodic)
		manifest->origin = GBE_ORIGIN_PERIODIC;
	/* A snapshot that this device has just saved does not come from outside. */
	manifest->outside = !options->periodic;
	manifest->proved = importing->proved;
	manifest->method = importing->method;
	if (source != NULL) {
		manifest->voters = 1;
		/* The tool may have left the version to the etcd that will use the data. */
		if (manifest->etcd_version == NULL)
			manifest->etcd_version = g_strdup(source->directory.db.cluster_version);
	} else {
		(void)gbe_backup_name_parse(importing->tree_name, &manifest->deployment.id,
					    &manifest->run, NULL);
		if (version_file != NULL && *version_file != '\0' &&
		    gbe_read_file_at(importing->data_fd, version_file, MAX_VERSION_FILE, &bytes,
				     &size, NULL)) {
			GbeVersion version = gbe_version_from_file(bytes, size);

			if (version.known)
				manifest->data_version =
				    g_strdup_printf("%u.%u", version.major, version.minor);
		}
	}
	return gbe_partial_describe(importing->app, &importing->partial, importing->data_fd,
				    importing->member_path, manifest, error);
}

static bool
begin_entry(gpointer change, GError **error)
{
	Importing *importing = change;
	const GbeObserved *observed = importing->session.observed;

	if (importing->options->periodic) {
		g_free(importing->name);
		importing->name =
		    g_strdup_printf("periodic-%" G_GUINT64_FORMAT, observed->facts->next_sequence);
	}
	if (observed->data->wal_dir != NULL && !gbe_data_check_whole(observed->data, error))
		return gbe_rethrow(error, GBE_ERROR_REFUSED);
	return locate_member(importing, error) && check_beside(importing, error) &&
	       gbe_partial_make(observed, importing->name, &importing->partial, error);
}

/* An unfinished entry must be removed before the lock is released. */
static bool
drop_entry(gpointer change, GError **error)
{
	Importing *importing = change;

	(void)error;
	gbe_close_fd(&importing->data_fd);
	gbe_partial_clear(&importing->partial);
	return true;
}

static bool
receive_data(gpointer change, GError **error)
{
	Importing *importing = change;
	GbeSeverity worst = GBE_FINDING_NOTE;
	g_autofree char *what = NULL;

	if (importing->tree_fd >= 0) {
		if (!copy_tree(importing, error) ||
		    !read_all(importing, &importing->directory, &worst, &what, error))
			return false;
		return what == NULL ||
		       gbe_throw(error,
				 worst == GBE_FINDING_DAMAGE ? GBE_ERROR_VERIFY_FAILED
							     : GBE_ERROR_CANNOT_TELL,
				 "%s: %s", importing->options->path, what);
	}
	if (!unpack(importing, error) || GBE_FAULT("import-unpacked", error) ||
	    !restore_snapshot(importing, error))
		return false;
	if (unlinkat(importing->partial.fd, SNAPSHOT, 0) < 0)
		return gbe_throw_errno(error, errno, "remove %s", SNAPSHOT);
	if (!gbe_open_dir_at(importing->partial.fd, GBE_STORE_DATA, &importing->data_fd, error) ||
	    !hand_over(importing, error))
		return false;
	return prove_restored(importing, error) && bump_revision(importing, error);
}

static bool
publish_backup(gpointer change, GError **error)
{
	Importing *importing = change;
	bool periodic = importing->options->periodic;

	if (!describe_backup(importing, error) || !gbe_partial_publish(&importing->partial, error))
		return false;
	gbe_state_note_entry(importing->app, GBE_LEDGER_BACKUP, importing->manifest,
			     periodic ? "periodic" : "imported");
	if (!periodic)
		gbe_session_record(&importing->session, "done", importing->manifest->description,
				   importing->name);
	return true;
}

bool
gbe_import(GbeApp *app, const GbeImport *options, GbeImported *ret_imported, GError **error)
{
	static const GbeStep steps[] = {
	    GBE_SESSION_LOOK,
	    {"import-begun", begin_entry, drop_entry, 0, 0},
	    {"import-received", receive_data, NULL, 0, 0},
	    {"import-published", publish_backup, NULL, 0, 0},
	    {NULL, NULL, NULL, 0, 0},
	};
	g_auto(Importing) importing = {.session.how.operation = "import",
				       .app = app,
				       .options = options,
				       .method = GBE_METHOD_COPY,
				       .data_fd = -1,
				       .source_fd = -1,
				       .tree_parent_fd = -1,
				       .tree_fd = -1,
				       .partial = {.fd = -1}};

	if (!open_source(&importing, error))
		return false;
	importing.name = options->name != NULL ? g_strdup(options->name)
					       : derive_name(options->path, importing.tree_fd >= 0);
	if (!gbe_backup_name_check_manual(importing.name, error) ||
	    !gbe_session_run(&importing, app, steps, error))
		return false;
	*ret_imported = (GbeImported){.name = g_steal_pointer(&importing.name),
				      .size = importing.manifest->size,
				      .revision = importing.manifest->revision,
				      .bump = importing.bump};
	return true;
}
