/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/extents.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "fs/open.h"
#include "fs/probe.h"
#include "fs/tree.h"

void
gbe_fiemap_init(GbeFiemap *fiemap, int fd, guint64 end, guint32 flags)
{
	fiemap->fd = fd;
	fiemap->end = end;
	fiemap->flags = flags;
	fiemap->batch_size = GBE_FIEMAP_BATCH;
}

bool
gbe_fiemap_next(GbeFiemap *fiemap, const struct fiemap_extent **ret_extent, GError **error)
{
	struct fiemap *map = &fiemap->batch.map;
	const struct fiemap_extent *extent;

	*ret_extent = NULL;
	if (fiemap->index == map->fm_mapped_extents) {
		if (fiemap->last || fiemap->at >= fiemap->end)
			return true;
		*map = (struct fiemap){
		    .fm_start = fiemap->at,
		    .fm_length = fiemap->end - fiemap->at,
		    .fm_flags = fiemap->flags,
		    .fm_extent_count = fiemap->batch_size,
		};
		fiemap->index = 0;
		while (ioctl(fiemap->fd, FS_IOC_FIEMAP, map) < 0) {
			if (errno == EINTR)
				continue;
			return gbe_throw_errno(error, errno == ENOTTY ? EOPNOTSUPP : errno,
					       "cannot read the extents of a file");
		}
		if (map->fm_mapped_extents == 0) {
			fiemap->last = true;
			return true;
		}
	}
	extent = &map->fm_extents[fiemap->index++];
	fiemap->last = (extent->fe_flags & FIEMAP_EXTENT_LAST) != 0 || extent->fe_length == 0;
	fiemap->at = extent->fe_logical + extent->fe_length;
	*ret_extent = extent;
	return true;
}

bool
gbe_next_data(int fd, guint64 offset, guint64 size, guint64 *ret_data, guint64 *ret_hole,
	      const char *what, GError **error)
{
	off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
	off_t hole;

	if (data < 0 && errno == ENXIO) {
		*ret_data = *ret_hole = size;
		return true;
	}
	hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
	if (hole < 0 && errno != EINVAL && errno != EOPNOTSUPP)
		return gbe_throw_errno(error, errno, "cannot find the holes of %s", what);
	/* This file system does not know its holes: all of the file counts as data. */
	*ret_data = MIN(hole < 0 ? offset : (guint64)data, size);
	*ret_hole = hole < 0 ? size : MIN((guint64)hole, size);
	return true;
}

typedef struct {
	GbeExtents sum;
	bool fiemap;
	GHashTable *links; /* of GbeInode */
} Count;

static int
open_file(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static bool
count_exclusive(int dir_fd, const char *name, guint64 *ret_exclusive, GError **error)
{
	g_autofree GbeFiemap *fiemap = g_new0(GbeFiemap, 1);
	const struct fiemap_extent *extent = NULL;
	gbe_autofd int fd = open_file(dir_fd, name);
	guint64 exclusive = 0;

	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open it");
	/* Blocks that are allocated after the end of the file also count. */
	gbe_fiemap_init(fiemap, fd, FIEMAP_MAX_OFFSET, 0);
	for (;;) {
		if (!gbe_fiemap_next(fiemap, &extent, error))
			return false;
		if (extent == NULL)
			break;
		if ((extent->fe_flags & FIEMAP_EXTENT_SHARED) == 0)
			exclusive += extent->fe_length;
	}
	*ret_exclusive = exclusive;
	return true;
}

static bool
count_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	    GError **error)
{
	Count *count = data;
	g_autoptr(GError) local_error = NULL;
	guint64 allocated = (guint64)st->st_blocks * 512;
	guint64 exclusive = allocated;

	count->sum.entries++;
	if (!S_ISREG(st->st_mode) || !gbe_inode_set_add(count->links, st))
		return true;
	if (count->fiemap && st->st_blocks > 0 &&
	    !count_exclusive(dir_fd, name, &exclusive, &local_error) &&
	    !gbe_pass_unless(error, &local_error, GBE_ERROR_UNSUPPORTED)) {
		g_autofree char *text = gbe_path_to_text(path);

		return gbe_prefix(error, "cannot count the extents of %s", text);
	}
	count->sum.allocated += allocated;
	count->sum.exclusive += exclusive;
	return true;
}

bool
gbe_extents_of_tree(int dir_fd, bool fiemap, GbeExtents *ret_extents, GError **error)
{
	Count count = {
	    .fiemap = fiemap,
	    .links = g_hash_table_new_full(gbe_inode_hash, gbe_inode_equal, g_free, NULL),
	};
	bool ok = gbe_tree_walk(dir_fd, NULL, NULL, count_visit, &count, error);

	g_hash_table_unref(count.links);
	if (ok)
		*ret_extents = count.sum;
	return ok;
}

/* etcd's own tree has some twenty entries. */
#define FEW_INODES 4096
/* The tree's top, the backup's directory, the manifest, and the temporary file that becomes it. */
#define OWN_INODES 4

bool
gbe_extents_space(int src_fd, int dst_fd, bool clones, GbeSpace *ret_space, GError **error)
{
	GbeExtents extents = {0};
	GbeSpace space = {0};
	guint64 total;

	if (!gbe_filesystem_space(dst_fd, &space.available, &total, &space.inodes, error))
		return false;
	if (!clones || space.inodes < FEW_INODES) {
		if (!gbe_extents_of_tree(src_fd, false, &extents, error))
			return false;
		space.would_make = extents.entries + OWN_INODES;
		space.would_write = clones ? 0 : extents.allocated;
	}
	*ret_space = space;
	return true;
}

typedef struct {
	guint left; /* extents that may still be found */
	bool exceeded;
} Budget;

static bool
spend_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	    GError **error)
{
	Budget *budget = data;
	g_autofree GbeFiemap *fiemap = NULL;
	const struct fiemap_extent *extent = NULL;
	gbe_autofd int fd = -1;

	if (!S_ISREG(st->st_mode) || st->st_blocks == 0 || budget->exceeded)
		return true;
	fd = open_file(dir_fd, name);
	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open %s", path);
	fiemap = g_new0(GbeFiemap, 1);
	gbe_fiemap_init(fiemap, fd, FIEMAP_MAX_OFFSET, 0);
	fiemap->batch_size = MIN(budget->left + 1, GBE_FIEMAP_BATCH);
	for (;;) {
		if (!gbe_fiemap_next(fiemap, &extent, error))
			return gbe_prefix(error, "%s", path);
		if (extent == NULL)
			return true;
		if (budget->left == 0) {
			budget->exceeded = true;
			return true;
		}
		budget->left--;
	}
}

bool
gbe_extents_exceed(int dir_fd, const char *const *exclude, guint limit, bool *ret_exceed,
		   GError **error)
{
	Budget budget = {.left = limit};

	if (!gbe_tree_walk(dir_fd, exclude, NULL, spend_visit, &budget, error))
		return false;
	*ret_exceed = budget.exceeded;
	return true;
}
