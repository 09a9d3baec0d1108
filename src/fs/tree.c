/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/alive.h"
#include "base/format.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/probe.h"

#define MAX_LEFT_OUT 100

/* The root's name in messages, since it has no name inside the tree. */
#define TOP "the top of the tree"

/* One directory that is being read. */
typedef struct {
	int fd;
	dev_t dev;
	GByteArray *names; /* one after the other, NUL-terminated */
	GArray *order;	   /* of guint: offsets into names, in sorted order */
	guint next;
	gsize path_len; /* of the directory's path in Walk.path */
} Level;

typedef struct {
	Level levels[GBE_TREE_MAX_DEPTH];
	guint depth; /* levels in use */
	GString *path;
	guint64 entries;
	const char *const *exclude;
	GbeTreeLimits limits;
} Walk;

static void
level_clear(Level *level)
{
	gbe_close_fd(&level->fd);
	g_byte_array_unref(level->names);
	g_array_unref(level->order);
}

static void
walk_clear(Walk *walk)
{
	while (walk->depth > 0)
		level_clear(&walk->levels[--walk->depth]);
	(void)g_string_free(walk->path, true);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Walk, walk_clear)

static bool G_GNUC_PRINTF(3, 4)
    throw_unsafe(GError **error, const char *path, const char *format, ...)
{
	g_autofree char *text = gbe_path_to_text(*path != '\0' ? path : TOP);
	g_autofree char *why = GBE_VFORMAT(format);

	return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "%s %s", text, why);
}

static bool
throw_at(GError **error, int errsv, const char *what, const char *path)
{
	g_autofree char *text = gbe_path_to_text(*path != '\0' ? path : TOP);

	return gbe_throw_errno(error, errsv, "cannot %s %s", what, text);
}

static gint
compare_names(gconstpointer a, gconstpointer b, gpointer data)
{
	const char *names = data;

	return strcmp(names + *(const guint *)a, names + *(const guint *)b);
}

static bool
within_time(const Walk *walk, GError **error)
{
	if (walk->limits.deadline == 0 || g_get_monotonic_time() <= walk->limits.deadline)
		return true;
	return throw_unsafe(error, walk->path->str,
			    "was reached when the time for listing the tree was up");
}

/* Reads the directory @fd and makes it the innermost level. Takes @fd, also on failure. */
static bool
push_level(Walk *walk, int fd, GError **error)
{
	gbe_autofd int own = fd;
	g_autofree char *what = gbe_path_to_text(walk->path->len > 0 ? walk->path->str : TOP);
	g_auto(GbeList) list = gbe_list_open_at(fd, what);
	g_autoptr(GByteArray) names = g_byte_array_new();
	g_autoptr(GArray) order = g_array_new(false, false, sizeof(guint));
	const char *name;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return throw_at(error, errno, "look at", walk->path->str);
	while ((name = gbe_list_next(&list)) != NULL) {
		guint offset = names->len;

		if (walk->depth == 0 && walk->exclude != NULL &&
		    g_strv_contains(walk->exclude, name))
			continue;
		if (++walk->entries > walk->limits.entries)
			return throw_unsafe(error, walk->path->str,
					    "makes more than the %" G_GUINT64_FORMAT
					    " entries that a tree may have",
					    walk->limits.entries);
		if (!within_time(walk, error))
			return false;
		g_byte_array_append(names, (const guint8 *)name, (guint)strlen(name) + 1);
		g_array_append_val(order, offset);
	}
	if (!gbe_list_end(&list, error))
		return false;
	g_array_sort_with_data(order, compare_names, names->data);
	walk->levels[walk->depth++] = (Level){
	    .fd = gbe_steal_fd(&own),
	    .dev = st.st_dev,
	    .names = g_steal_pointer(&names),
	    .order = g_steal_pointer(&order),
	    .path_len = walk->path->len,
	};
	return true;
}

static void
stat_from_statx(const struct statx *stx, struct stat *st)
{
	*st = (struct stat){
	    .st_dev = makedev(stx->stx_dev_major, stx->stx_dev_minor),
	    .st_ino = stx->stx_ino,
	    .st_mode = stx->stx_mode,
	    .st_nlink = stx->stx_nlink,
	    .st_uid = stx->stx_uid,
	    .st_gid = stx->stx_gid,
	    .st_rdev = makedev(stx->stx_rdev_major, stx->stx_rdev_minor),
	    .st_size = (off_t)stx->stx_size,
	    .st_blksize = (blksize_t)stx->stx_blksize,
	    .st_blocks = (blkcnt_t)stx->stx_blocks,
	    .st_atim = {.tv_sec = stx->stx_atime.tv_sec, .tv_nsec = stx->stx_atime.tv_nsec},
	    .st_mtim = {.tv_sec = stx->stx_mtime.tv_sec, .tv_nsec = stx->stx_mtime.tv_nsec},
	    .st_ctim = {.tv_sec = stx->stx_ctime.tv_sec, .tv_nsec = stx->stx_ctime.tv_nsec},
	};
}

/* Looks at the inode of an entry; refuses one of another file system. */
static bool
look_at(const Walk *walk, const char *name, struct stat *ret_st, GError **error)
{
	const Level *level = &walk->levels[walk->depth - 1];
	struct statx stx;
	bool fallback = false;

	if (statx(level->fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &stx) <
	    0)
		return throw_at(error, errno, "look at", walk->path->str);
	stat_from_statx(&stx, ret_st);
	if ((stx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0 &&
	    !gbe_is_mount_point_at(level->fd, name, &fallback, error))
		return false;
	if (fallback || (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
		return throw_unsafe(error, walk->path->str,
				    "is a mount point, so that a backup would lack its content; "
				    "move the content into the directory itself");
	/* Only for directories: overlayfs shows files with the device of their layer. */
	if (S_ISDIR(ret_st->st_mode) && ret_st->st_dev != level->dev)
		return throw_unsafe(error, walk->path->str,
				    "is a btrfs subvolume inside the data; make it an ordinary "
				    "directory");
	return true;
}

static bool
walk_entry(Walk *walk, GbeTreeVisit visit, gpointer data, GError **error)
{
	Level *level = &walk->levels[walk->depth - 1];
	guint offset = g_array_index(level->order, guint, level->next++);
	const char *name = (const char *)level->names->data + offset;
	gbe_autofd int fd = -1;
	struct stat seen, st;

	g_string_truncate(walk->path, level->path_len);
	if (level->path_len > 0)
		g_string_append_c(walk->path, '/');
	g_string_append(walk->path, name);
	if (!within_time(walk, error) || !look_at(walk, name, &seen, error))
		return false;
	gbe_alive(1);
	if (!visit(walk->path->str, level->fd, name, &seen, data, error))
		return false;
	if (!S_ISDIR(seen.st_mode))
		return true;
	if (walk->depth == GBE_TREE_MAX_DEPTH)
		return throw_unsafe(error, walk->path->str,
				    "lies deeper than the %d levels that a tree may have",
				    GBE_TREE_MAX_DEPTH);
	if (!gbe_open_dir_at(level->fd, name, &fd, error))
		return false;
	if (fstat(fd, &st) < 0)
		return throw_at(error, errno, "look at", walk->path->str);
	if (st.st_dev != seen.st_dev || st.st_ino != seen.st_ino)
		return throw_unsafe(error, walk->path->str, "was exchanged while it was read");
	return push_level(walk, gbe_steal_fd(&fd), error);
}

bool
gbe_tree_walk(int dir_fd, const char *const *exclude, const GbeTreeLimits *limits,
	      GbeTreeVisit visit, gpointer data, GError **error)
{
	const GbeTreeLimits every_tree = {.entries = GBE_TREE_MAX_ENTRIES};
	g_auto(Walk) walk = {
	    .path = g_string_new(NULL),
	    .exclude = exclude,
	    .limits = limits != NULL ? *limits : every_tree,
	};
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open the top of a tree");
	if (!push_level(&walk, fd, error))
		return false;
	while (walk.depth > 0) {
		Level *level = &walk.levels[walk.depth - 1];

		if (level->next == level->order->len)
			level_clear(&walk.levels[--walk.depth]);
		else if (!walk_entry(&walk, visit, data, error))
			return false;
	}
	return true;
}

GbeTreeLimits
gbe_tree_look_limits(void)
{
	return (GbeTreeLimits){
	    .entries = GBE_TREE_MAX_ENTRIES,
	    .deadline = g_get_monotonic_time() + GBE_TREE_LOOK_SECONDS * G_USEC_PER_SEC,
	};
}

void
gbe_tree_info_clear(GbeTreeInfo *info)
{
	g_clear_pointer(&info->left_out, g_ptr_array_unref);
	*info = (GbeTreeInfo){0};
}

guint
gbe_inode_hash(gconstpointer key)
{
	const GbeInode *inode = key;
	guint64 ino = inode->ino;

	return (guint)(ino ^ ino >> 32 ^ inode->dev);
}

gboolean
gbe_inode_equal(gconstpointer a, gconstpointer b)
{
	const GbeInode *x = a, *y = b;

	return x->dev == y->dev && x->ino == y->ino;
}

bool
gbe_inode_set_add(GHashTable *set, const struct stat *st)
{
	GbeInode *inode;

	if (st->st_nlink < 2)
		return true;
	inode = g_new0(GbeInode, 1);
	*inode = (GbeInode){.dev = st->st_dev, .ino = st->st_ino};
	return g_hash_table_add(set, inode);
}

typedef struct {
	GbeTreeInfo info;
	GHashTable *links; /* of GbeInode */
} Scan;

static void
scan_clear(Scan *scan)
{
	gbe_tree_info_clear(&scan->info);
	g_hash_table_unref(scan->links);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Scan, scan_clear)

static bool
scan_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	   GError **error)
{
	Scan *scan = data;

	switch (st->st_mode & S_IFMT) {
	case S_IFDIR:
		scan->info.directories++;
		return true;
	case S_IFREG:
		if (!gbe_inode_set_add(scan->links, st))
			return true;
		scan->info.files++;
		scan->info.bytes += (guint64)st->st_size;
		scan->info.allocated += (guint64)st->st_blocks * 512;
		return true;
	case S_IFLNK:
		return true;
	case S_IFSOCK:
		if (scan->info.left_out->len < MAX_LEFT_OUT)
			g_ptr_array_add(scan->info.left_out, gbe_path_to_text(path));
		return true;
	case S_IFIFO:
		return throw_unsafe(error, path, "is a FIFO, which is never copied: remove it");
	default:
		return throw_unsafe(error, path, "is a device, which is never copied: remove it");
	}
}

bool
gbe_tree_scan(int dir_fd, const char *const *exclude, const GbeTreeLimits *limits,
	      GbeTreeInfo *ret_info, GError **error)
{
	g_auto(Scan) scan = {
	    .info.left_out = g_ptr_array_new_with_free_func(g_free),
	    .links = g_hash_table_new_full(gbe_inode_hash, gbe_inode_equal, g_free, NULL),
	};

	if (!gbe_tree_walk(dir_fd, exclude, limits, scan_visit, &scan, error))
		return false;
	*ret_info = scan.info;
	scan.info = (GbeTreeInfo){0};
	return true;
}
