/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <unistd.h>

#include "fs/copy/compare-file.h"
#include "fs/copy/metadata.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/tree.h"

/* During the walk of one tree: the directories of the other tree down to the present entry. */
typedef struct {
	int dirs[GBE_TREE_MAX_DEPTH + 1];
	guint depth;
} Mirror;

typedef struct {
	GbeCompare how;
	GbeFileComparer file;
	Mirror mirror;	   /* of the copy, during the walk of the source */
	GHashTable *links; /* GbeInode of the source -> GbeInode of the copy */
} Compare;

static void
mirror_clear(Mirror *mirror)
{
	while (mirror->depth > 0)
		gbe_close_fd(&mirror->dirs[--mirror->depth]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Mirror, mirror_clear)

static bool
mirror_begin(Mirror *mirror, int dir_fd, GError **error)
{
	if (!gbe_open_dir_at(dir_fd, ".", &mirror->dirs[0], error))
		return false;
	mirror->depth = 1;
	return true;
}

/* The directory that should hold the entry with this path. */
static int
mirror_parent(Mirror *mirror, const char *path)
{
	guint depth = 1;

	for (const char *at = path; *at != '\0'; at++)
		if (*at == '/')
			depth++;
	while (mirror->depth > depth)
		gbe_close_fd(&mirror->dirs[--mirror->depth]);
	return mirror->dirs[mirror->depth - 1];
}

static void
compare_clear(Compare *compare)
{
	mirror_clear(&compare->mirror);
	gbe_file_comparer_clear(&compare->file);
	g_clear_pointer(&compare->links, g_hash_table_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Compare, compare_clear)

static bool
throw_differs(GError **error, const char *what, const char *how)
{
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s: %s", what, how);
}

/* A file system that keeps only whole seconds loses the fraction; nothing else may differ. */
static bool
same_time(const struct timespec *src, const struct timespec *dst)
{
	return src->tv_sec == dst->tv_sec && (src->tv_nsec == dst->tv_nsec || dst->tv_nsec == 0);
}

static bool
compare_stat(const struct stat *src, const struct stat *dst, bool top, const char *what,
	     GError **error)
{
	if ((src->st_mode & S_IFMT) != (dst->st_mode & S_IFMT))
		return throw_differs(error, what, "is of another type");
	if (S_ISREG(src->st_mode) && src->st_size != dst->st_size)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "%s: has %" G_GINT64_FORMAT " bytes instead of %" G_GINT64_FORMAT,
				 what, (gint64)dst->st_size, (gint64)src->st_size);
	if (src->st_uid != dst->st_uid || src->st_gid != dst->st_gid)
		return throw_differs(error, what, "has another owner");
	if (src->st_mode != dst->st_mode)
		return throw_differs(error, what, "has another mode");
	/* The top's mtime changes when the nonce is written into it. */
	if (!top && !same_time(&src->st_mtim, &dst->st_mtim))
		return throw_differs(error, what, "has another modification time");
	return true;
}

/* Names that share an inode in the source, and only those, must share one in the copy. *ret_seen: @src is another
 * name of a file that was compared before. */
static bool
compare_links(Compare *compare, const struct stat *src, const struct stat *dst, const char *what,
	      bool *ret_seen, GError **error)
{
	GbeInode key = {.dev = src->st_dev, .ino = src->st_ino};
	GbeInode value = {.dev = dst->st_dev, .ino = dst->st_ino};
	const GbeInode *first;

	*ret_seen = false;
	if (src->st_nlink < 2)
		return true;
	first = g_hash_table_lookup(compare->links, &key);
	if (first == NULL) {
		g_hash_table_insert(compare->links, g_memdup2(&key, sizeof(key)),
				    g_memdup2(&value, sizeof(value)));
		return true;
	}
	*ret_seen = true;
	return gbe_inode_equal(first, &value) ||
	       throw_differs(error, what, "is no further name of the same file");
}

static bool
compare_content(Compare *compare, int src_fd, int dst_fd, guint64 size, const char *what,
		GError **error)
{
	bool shared = false;

	if (size == 0 || compare->how == GBE_COMPARE_NAMES)
		return true;
	if (compare->how == GBE_COMPARE_CLONES &&
	    !gbe_file_comparer_extents(&compare->file, src_fd, dst_fd, size, what, &shared, error))
		return false;
	if (!shared && !gbe_file_comparer_bytes(&compare->file, src_fd, dst_fd, size, what, error))
		return false;
	compare->file.done += size;
	return true;
}

static bool
compare_regular(Compare *compare, int src_dir, int dst_dir, const char *name, guint64 size,
		const char *what, GError **error)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	gbe_autofd int src_fd = openat(src_dir, name, flags);
	gbe_autofd int dst_fd = openat(dst_dir, name, flags);

	if (src_fd < 0 || dst_fd < 0)
		return gbe_throw_errno(error, errno, "cannot open %s", what);
	if (!gbe_metadata_compare_xattrs((GbeInodeRef){.fd = src_fd}, (GbeInodeRef){.fd = dst_fd},
					 what, error))
		return false;
	return compare_content(compare, src_fd, dst_fd, size, what, error);
}

static bool
compare_symlink(int src_dir, int dst_dir, const char *name, const char *what, GError **error)
{
	g_autofree char *src = g_malloc0(PATH_MAX + 1);
	g_autofree char *dst = g_malloc0(PATH_MAX + 1);

	if (readlinkat(src_dir, name, src, PATH_MAX) < 0 ||
	    readlinkat(dst_dir, name, dst, PATH_MAX) < 0)
		return gbe_throw_errno(error, errno, "cannot read the symlink %s", what);
	if (!g_str_equal(src, dst))
		return throw_differs(error, what, "is a symlink to something else");
	return gbe_metadata_compare_xattrs((GbeInodeRef){.fd = src_dir, .name = name},
					   (GbeInodeRef){.fd = dst_dir, .name = name}, what, error);
}

static bool
compare_dir(Compare *compare, int src_dir, int dst_dir, const char *name, const char *what,
	    GError **error)
{
	gbe_autofd int src_fd = -1;
	gbe_autofd int dst_fd = -1;

	if (!gbe_open_dir_at(src_dir, name, &src_fd, error) ||
	    !gbe_open_dir_at(dst_dir, name, &dst_fd, error))
		return false;
	if (!gbe_metadata_compare_xattrs((GbeInodeRef){.fd = src_fd}, (GbeInodeRef){.fd = dst_fd},
					 what, error))
		return false;
	compare->mirror.dirs[compare->mirror.depth++] = gbe_steal_fd(&dst_fd);
	return true;
}

static bool
compare_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	      GError **error)
{
	Compare *compare = data;
	g_autofree char *what = NULL;
	struct stat there;
	bool seen = false;
	int dst_dir;

	if (S_ISSOCK(st->st_mode))
		return true;
	dst_dir = mirror_parent(&compare->mirror, path);
	what = gbe_path_to_text(path);
	if (fstatat(dst_dir, name, &there, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT
			   ? throw_differs(error, what, "is missing in the copy")
			   : gbe_throw_errno(error, errno, "cannot look at the copy of %s", what);
	if (!compare_stat(st, &there, false, what, error))
		return false;
	if (S_ISDIR(st->st_mode))
		return compare_dir(compare, dir_fd, dst_dir, name, what, error);
	if (!compare_links(compare, st, &there, what, &seen, error))
		return false;
	if (seen)
		return true;
	if (S_ISLNK(st->st_mode))
		return compare_symlink(dir_fd, dst_dir, name, what, error);
	if (S_ISREG(st->st_mode))
		return compare_regular(compare, dir_fd, dst_dir, name, (guint64)st->st_size, what,
				       error);
	return true;
}

/* The other direction: everything in the copy is in the source. */
static bool
surplus_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	      GError **error)
{
	Mirror *source = data;
	g_autofree char *what = NULL;
	gbe_autofd int fd = -1;
	struct stat there;
	int src_dir;

	if (S_ISSOCK(st->st_mode))
		return true;
	src_dir = mirror_parent(source, path);
	if (fstatat(src_dir, name, &there, AT_SYMLINK_NOFOLLOW) < 0) {
		what = gbe_path_to_text(path);
		return errno == ENOENT ? throw_differs(error, what, "is in the copy only")
				       : gbe_throw_errno(error, errno, "cannot look at %s", what);
	}
	if (!S_ISDIR(st->st_mode))
		return true;
	if (!gbe_open_dir_at(src_dir, name, &fd, error))
		return false;
	source->dirs[source->depth++] = gbe_steal_fd(&fd);
	return true;
}

static bool
compare_tops(int src_dir, int dst_dir, GError **error)
{
	static const char what[] = "the top of the tree";
	struct stat src, dst;

	if (fstat(src_dir, &src) < 0 || fstat(dst_dir, &dst) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", what);
	return compare_stat(&src, &dst, true, what, error) &&
	       gbe_metadata_compare_xattrs((GbeInodeRef){.fd = src_dir},
					   (GbeInodeRef){.fd = dst_dir}, what, error);
}

bool
gbe_compare_trees(int src_dir, int dst_dir, GbeCompare how, const char *const *exclude,
		  bool (*progress)(guint64 bytes, gpointer data), gpointer progress_data,
		  GError **error)
{
	g_autoptr(GPtrArray) excluded = gbe_compare_excluded(exclude);
	const char *const *names = (const char *const *)excluded->pdata;
	g_auto(Compare) compare = {
	    .how = how,
	    .file = {.progress = progress, .progress_data = progress_data},
	    .links = g_hash_table_new_full(gbe_inode_hash, gbe_inode_equal, g_free, g_free),
	};
	g_auto(Mirror) source = {.depth = 0};

	/* The same address on another disk is another block. */
	if (how == GBE_COMPARE_CLONES && !gbe_same_filesystem(src_dir, dst_dir))
		compare.how = GBE_COMPARE_BYTES;
	if (!compare_tops(src_dir, dst_dir, error))
		return false;
	if (!mirror_begin(&compare.mirror, dst_dir, error) ||
	    !gbe_tree_walk(src_dir, names, compare_visit, &compare, error))
		return false;
	return mirror_begin(&source, src_dir, error) &&
	       gbe_tree_walk(dst_dir, names, surplus_visit, &source, error);
}
