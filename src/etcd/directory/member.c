/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/directory/member.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "core/json/members.h"
#include "core/record/take-over.h"
#include "etcd/db/bbolt.h"
#include "etcd/layout.h"
#include "etcd/wal/read.h"
#include "etcd/wal/snapfile.h"
#include "fs/list.h"
#include "fs/tree.h"
#include "fs/write.h"

/* A symlink also counts: unusable data is not the same as no data. The opener reports the fault. */
static bool
has_member(int dir_fd)
{
	struct stat st;

	return fstatat(dir_fd, "member", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode));
}

bool
gbe_member_locate(int data_fd, const char *member_dir, char **ret_path, GError **error)
{
	bool automatic = strcmp(member_dir, "auto") == 0;
	g_autofree char *found = NULL;
	g_auto(GbeList) list = {NULL};
	const char *name;

	if (strcmp(member_dir, ".") == 0 || (automatic && has_member(data_fd))) {
		*ret_path = g_strdup("");
		return true;
	}
	if (!automatic) {
		if (!gbe_path_is_below(member_dir))
			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
					 "member-dir=%s: \"auto\", \".\" or a path below the data "
					 "directory is expected",
					 member_dir);
		*ret_path = g_strdup(member_dir);
		return true;
	}
	/* The only directory one level down that holds a member/. */
	list = gbe_list_open_at(data_fd, "the data directory");
	while ((name = gbe_list_next(&list)) != NULL) {
		gbe_autofd int fd = -1;

		/* The program's own directory holds backups, not data. */
		if (g_str_has_prefix(name, ".greenboot-etcd"))
			continue;
		fd = openat(data_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || !has_member(fd))
			continue;
		if (found != NULL)
			return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
					 "both %s/member and %s/member are in the data directory: "
					 "say which with member-dir= in [etcd]",
					 found, name);
		found = g_strdup(name);
	}
	if (!gbe_list_end(&list, error))
		return false;
	if (found == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "the data directory holds no data of etcd (no member/ in it, nor "
				 "one level down)");
	*ret_path = g_steal_pointer(&found);
	return true;
}

bool
gbe_member_has_log(int data_fd, const char *member_path, int wal_dir_fd, bool *ret_has,
		   GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autofree char *newest = NULL;
	gbe_autofd int wal_fd = -1;

	if (!gbe_layout_open_wal(data_fd, member_path, wal_dir_fd, &wal_fd, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
	} else if (!gbe_layout_newest_wal(wal_fd, &newest, error)) {
		return false;
	}
	*ret_has = newest != NULL;
	return true;
}

bool
gbe_member_has_data(int data_fd, const char *member_path, bool *ret_has, GError **error)
{
	g_autoptr(GError) local = NULL;
	gbe_autofd int snap_fd = -1;
	struct stat st;

	if (gbe_layout_open(data_fd, member_path, "member/snap", &snap_fd, &local)) {
		if (fstatat(snap_fd, GBE_DB_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			*ret_has = true;
			return true;
		}
		if (errno != ENOENT)
			return gbe_throw_errno(error, errno, "cannot look at member/snap/db");
	} else if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		return gbe_pass(error, &local);
	}
	return gbe_member_has_log(data_fd, member_path, -1, ret_has, error);
}

static bool
take_newer(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	   GError **error)
{
	gint64 *newest = data;

	*newest = MAX(*newest, (gint64)st->st_mtim.tv_sec);
	return true;
}

bool
gbe_member_last_write(int data_fd, const char *member_path, gint64 *ret_seconds, GError **error)
{
	const GbeTreeLimits limits = gbe_tree_look_limits();
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = -1;
	gint64 newest = -1;

	if (!gbe_layout_open(data_fd, member_path, "member", &fd, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
	} else if (!gbe_tree_walk(fd, NULL, &limits, take_newer, &newest, error)) {
		return false;
	}
	*ret_seconds = newest;
	return true;
}

/* ---- the fingerprint ---- */

#define WAL_DIR "wal-dir"
/* .snap files are named in a record, which must not grow with them: etcd keeps five. Further files count as others. */
#define SNAPS_MAX 256

static const char *const excluded[] = {GBE_NONCE_NAME, ".greenboot-etcd", NULL};

/* The results of a walk over the whole tree. */
typedef struct {
	const char *prefix; /* of the paths, "" or "wal-dir/" */
	char *db_path;	    /* the meta pages describe its content; NULL: they do not */
	/* the newest segment, which its last record describes; NULL: it does not */
	char *wal_path;
	char *snap_dir;	     /* "member/snap/" */
	GPtrArray *snaps;    /* of char * */
	GChecksum *checksum; /* of the others */
} Collector;

static void
collector_clear(Collector *collector)
{
	g_free(collector->db_path);
	g_free(collector->wal_path);
	g_free(collector->snap_dir);
	g_clear_pointer(&collector->snaps, g_ptr_array_unref);
	g_clear_pointer(&collector->checksum, g_checksum_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Collector, collector_clear)

/* Directories add nothing to their files; a socket holds no data. */
static bool
collect_file(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	     GError **error)
{
	Collector *collector = data;
	g_autofree char *line = NULL;
	GbeRaftPoint point;

	if (S_ISDIR(st->st_mode) || S_ISSOCK(st->st_mode))
		return true;
	if (strchr(path, '/') == NULL && g_str_has_prefix(path, GBE_TMP_PREFIX))
		return true;
	if (*collector->prefix == '\0') {
		/* A record cannot hold names of another pattern, which may have a blank or bytes that are no text. */
		if (g_str_has_prefix(path, collector->snap_dir) &&
		    gbe_snapfile_is_name(path + strlen(collector->snap_dir), &point) &&
		    collector->snaps->len < SNAPS_MAX) {
			g_ptr_array_add(collector->snaps, g_strdup(name));
			return true;
		}
		if (g_strcmp0(path, collector->db_path) == 0)
			return true;
	}
	if (g_strcmp0(path, collector->wal_path) == 0)
		return true;
	line = g_strdup_printf("%s%s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "%09ld\n",
			       collector->prefix, path, (gint64)st->st_size,
			       (gint64)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	g_checksum_update(collector->checksum, (const guchar *)line, -1);
	return true;
}

/* *ret_told: the last record describes the newest segment, so that it does not count among the others. */
static bool
take_wal(int data_fd, const char *member_path, int wal_dir_fd, GbeFingerprint *fp, bool *ret_told,
	 GError **error)
{
	g_autoptr(GError) local = NULL;
	gbe_autofd int dir_fd = -1;
	gbe_autofd int fd = -1;
	struct stat st;

	*ret_told = false;
	if (!gbe_layout_open_wal(data_fd, member_path, wal_dir_fd, &dir_fd, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	if (!gbe_layout_newest_wal(dir_fd, &fp->wal_name, error))
		return false;
	if (fp->wal_name == NULL)
		return true;
	fp->present = true;
	fd =
	    openat(dir_fd, fp->wal_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot read %s", fp->wal_name);
	/* A record cannot hold a larger number. */
	if ((guint64)st.st_size >> 53 != 0)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "%s is larger than any log",
				 fp->wal_name);
	fp->wal_size = (guint64)st.st_size;
	return !S_ISREG(st.st_mode) || gbe_wal_last_record(fd, fp->wal_name, ret_told,
							   &fp->wal_offset, &fp->wal_crc, error);
}

static gint
compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool
take_others(int data_fd, const char *member_path, int wal_dir_fd, bool db_told, bool wal_told,
	    GbeFingerprint *fp, GError **error)
{
	const GbeTreeLimits limits = gbe_tree_look_limits();
	g_auto(Collector) collector = {
	    .prefix = "",
	    .snap_dir = gbe_layout_path(member_path, "member/snap/"),
	    .snaps = g_ptr_array_new_with_free_func(g_free),
	    .checksum = g_checksum_new(G_CHECKSUM_SHA256),
	};

	if (db_told)
		collector.db_path = gbe_layout_path(member_path, "member/snap/" GBE_DB_NAME);
	if (wal_told && wal_dir_fd < 0) {
		g_autofree char *dir = gbe_layout_path(member_path, "member/wal");

		collector.wal_path = g_build_filename(dir, fp->wal_name, NULL);
	}
	if (!gbe_tree_walk(data_fd, excluded, &limits, collect_file, &collector, error))
		return false;
	if (wal_dir_fd >= 0) {
		collector.prefix = WAL_DIR "/";
		collector.wal_path = wal_told ? g_strdup(fp->wal_name) : NULL;
		if (!gbe_tree_walk(wal_dir_fd, NULL, &limits, collect_file, &collector, error))
			return gbe_prefix(error, "wal-dir");
	}
	g_ptr_array_sort(collector.snaps, compare_names);
	g_ptr_array_add(collector.snaps, NULL);
	fp->snaps = g_strjoinv(" ", (char **)collector.snaps->pdata);
	fp->others = g_strdup(g_checksum_get_string(collector.checksum));
	return true;
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeFingerprint, gbe_fingerprint_clear)

bool
gbe_member_fingerprint(int data_fd, const char *member_path, int wal_dir_fd,
		       GbeFingerprint *ret_fingerprint, GError **error)
{
	g_autofree char *path = gbe_layout_path(member_path, "member/snap/" GBE_DB_NAME);
	g_auto(GbeFingerprint) fp = {0};
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = -1;
	/* The meta pages tell which commit this is, so that db does not count among the others. */
	bool db_told = false;
	bool wal_told = false;

	fp.present = gbe_layout_open_db(data_fd, member_path, &fd, &local);
	if (fp.present ? !gbe_bbolt_read_txids(fd, path, fp.txid, &db_told, error)
		       : !gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
		return false;
	if (!take_wal(data_fd, member_path, wal_dir_fd, &fp, &wal_told, error))
		return false;
	if (fp.present &&
	    !take_others(data_fd, member_path, wal_dir_fd, db_told, wal_told, &fp, error))
		return false;
	*ret_fingerprint = fp;
	fp = (GbeFingerprint){0};
	return true;
}

/* ---- in use ---- */

/* Another status, or another of our programs, holds the lock only for a moment. The lock counts as etcd's after
 * this time. */
#define TRIES 10
#define BETWEEN_USEC 20000

/* Does a process hold a record lock on the newest segment? The query takes no lock. */
static GbeTri
wal_is_locked(int data_fd, const char *member_path, int wal_dir_fd, GError **error)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	g_autoptr(GError) local = NULL;
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	gbe_autofd int fd = -1;

	/* etcd follows a link out of the data directory, and locks the segments that are there. */
	if (!gbe_layout_open_wal(data_fd, member_path, wal_dir_fd, &dir_fd, &local) &&
	    g_error_matches(local, GBE_ERROR, GBE_ERROR_REFUSED) &&
	    gbe_layout_follow_wal(data_fd, member_path, &dir_fd))
		g_clear_error(&local);
	if (dir_fd < 0 || !gbe_layout_newest_wal(dir_fd, &name, &local)) {
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return GBE_NO;
		g_propagate_error(error, g_steal_pointer(&local));
		return GBE_UNKNOWN;
	}
	if (name == NULL)
		return GBE_NO;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	/* etcd's segments are never symlinks or sockets. db has a lock of its own. */
	if (fd < 0 && (errno == ELOOP || errno == ENXIO))
		return GBE_NO;
	/* The segment was purged in between, which only a process with the data open does. */
	if (fd < 0 && errno == ENOENT)
		return GBE_YES;
	if (fd < 0 || fcntl(fd, F_OFD_GETLK, &lock) < 0) {
		(void)gbe_throw_errno(error, errno, "cannot ask for the lock on %s", name);
		return GBE_UNKNOWN;
	}
	return gbe_tri(lock.l_type != F_UNLCK);
}

/* One try. YES: another process has the lock, or the file was replaced. NO: *ret_fd has the lock, or is -1 where
 * there is no db. */
static GbeTri
try_db(int data_fd, const char *member_path, int operation, int *ret_fd, GError **error)
{
	g_autoptr(GError) local = NULL;
	gbe_autofd int again = -1;
	gbe_autofd int fd = -1;
	struct stat was, is;

	if (!gbe_layout_open_db(data_fd, member_path, &fd, &local)) {
		*ret_fd = -1;
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return GBE_NO;
		g_propagate_error(error, g_steal_pointer(&local));
		return GBE_UNKNOWN;
	}
	if (flock(fd, operation | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return GBE_YES;
		(void)gbe_throw_errno(error, errno, "cannot lock member/snap/db");
		return GBE_UNKNOWN;
	}
	/* A defragmentation replaces db: a lock on the old file would protect nothing. */
	if (!gbe_layout_open_db(data_fd, member_path, &again, NULL) || fstat(fd, &was) < 0 ||
	    fstat(again, &is) < 0 || was.st_dev != is.st_dev || was.st_ino != is.st_ino)
		return GBE_YES;
	*ret_fd = gbe_steal_fd(&fd);
	return GBE_NO;
}

void
gbe_opened(int data_fd, const char *member_path, int wal_dir_fd, GbeTri *ret_db, GbeTri *ret_log)
{
	gbe_autofd int fd = -1;

	*ret_log = wal_is_locked(data_fd, member_path, wal_dir_fd, NULL);
	*ret_db = try_db(data_fd, member_path, LOCK_SH, &fd, NULL);
}

GbeTri
gbe_in_use(int data_fd, const char *member_path, int wal_dir_fd, int *ret_lock_fd, GError **error)
{
	/* A mere query must not look like etcd to another query. */
	int operation = ret_lock_fd != NULL ? LOCK_EX : LOCK_SH;
	gbe_autofd int db_fd = -1;
	GbeTri wal;
	GbeTri db = GBE_YES;

	for (guint try = 0; db == GBE_YES; try++) {
		wal = wal_is_locked(data_fd, member_path, wal_dir_fd, error);
		if (wal != GBE_NO)
			return wal;
		db = try_db(data_fd, member_path, operation, &db_fd, error);
		if (db == GBE_YES && try + 1 == TRIES)
			return GBE_YES;
		if (db == GBE_YES)
			g_usleep(BETWEEN_USEC);
	}
	if (db != GBE_NO)
		return db;
	/* Check again, now that no etcd can start: etcd takes db's lock before the WAL's. */
	wal = wal_is_locked(data_fd, member_path, wal_dir_fd, error);
	if (wal != GBE_NO)
		return wal;
	if (ret_lock_fd != NULL)
		*ret_lock_fd = gbe_steal_fd(&db_fd);
	return GBE_NO;
}
