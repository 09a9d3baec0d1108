/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the fingerprint, for etcd/directory/member.h. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/record/take-over.h"
#include "etcd/db/bbolt.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "etcd/wal/snapfile.h"
#include "etcd/wal/read.h"
#include "fs/tree.h"
#include "fs/write.h"

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

/* Does the name follow etcd's pattern? A record cannot hold other names, which may have a blank or bytes that are
 * no text. */
static bool
is_snap(const Collector *collector, const char *path)
{
	GbeRaftPoint point;

	return g_str_has_prefix(path, collector->snap_dir) &&
	       gbe_snapfile_is_name(path + strlen(collector->snap_dir), &point);
}

/* Directories add nothing to their files; a socket holds no data. */
static bool
collect(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	GError **error)
{
	Collector *collector = data;
	g_autofree char *line = NULL;

	if (S_ISDIR(st->st_mode) || S_ISSOCK(st->st_mode))
		return true;
	if (strchr(path, '/') == NULL && g_str_has_prefix(path, GBE_TMP_PREFIX))
		return true;
	if (*collector->prefix == '\0') {
		if (is_snap(collector, path) && collector->snaps->len < SNAPS_MAX) {
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

/* *ret_told: the meta pages tell which commit this is, so that db does not count among the others. */
static bool
take_db(int data_fd, const char *member_path, GbeFingerprint *fp, bool *ret_told, GError **error)
{
	g_autofree char *path = gbe_layout_path(member_path, "member/snap/" GBE_DB_NAME);
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = -1;
	bool valid = false;

	*ret_told = false;
	if (!gbe_layout_open_db(data_fd, member_path, &fd, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	fp->present = true;
	if (!gbe_bbolt_read_txids(fd, path, fp->txid, &valid, error))
		return false;
	*ret_told = valid;
	return true;
}

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
	if (!gbe_tree_walk_within(data_fd, excluded, &limits, collect, &collector, error))
		return false;
	if (wal_dir_fd >= 0) {
		collector.prefix = WAL_DIR "/";
		collector.wal_path = wal_told ? g_strdup(fp->wal_name) : NULL;
		if (!gbe_tree_walk_within(wal_dir_fd, NULL, &limits, collect, &collector, error))
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
	g_auto(GbeFingerprint) fp = {0};
	bool db_told = false;
	bool wal_told = false;

	if (!take_db(data_fd, member_path, &fp, &db_told, error) ||
	    !take_wal(data_fd, member_path, wal_dir_fd, &fp, &wal_told, error))
		return false;
	if (fp.present &&
	    !take_others(data_fd, member_path, wal_dir_fd, db_told, wal_told, &fp, error))
		return false;
	*ret_fingerprint = fp;
	fp = (GbeFingerprint){0};
	return true;
}
