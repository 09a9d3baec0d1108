/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/fiemap.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

void
gbe_fiemap_init(GbeFiemap *fiemap, int fd, guint64 end, guint32 flags)
{
	fiemap->fd = fd;
	fiemap->at = 0;
	fiemap->end = end;
	fiemap->flags = flags;
	fiemap->batch_size = GBE_FIEMAP_BATCH;
	fiemap->index = 0;
	fiemap->last = false;
	fiemap->batch.map = (struct fiemap){0};
}

static bool
read_batch(GbeFiemap *fiemap, GError **error)
{
	struct fiemap *map = &fiemap->batch.map;

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
		if (errno == ENOTTY)
			errno = EOPNOTSUPP;
		return gbe_throw_errno(error, errno, "cannot read the extents of a file");
	}
	return true;
}

bool
gbe_fiemap_next(GbeFiemap *fiemap, const struct fiemap_extent **ret_extent, GError **error)
{
	const struct fiemap *map = &fiemap->batch.map;
	const struct fiemap_extent *extent;

	if (fiemap->index == map->fm_mapped_extents) {
		if (fiemap->last || fiemap->at >= fiemap->end) {
			*ret_extent = NULL;
			return true;
		}
		if (!read_batch(fiemap, error))
			return false;
		if (map->fm_mapped_extents == 0) {
			fiemap->last = true;
			*ret_extent = NULL;
			return true;
		}
	}
	extent = &map->fm_extents[fiemap->index++];
	fiemap->last = (extent->fe_flags & FIEMAP_EXTENT_LAST) != 0 || extent->fe_length == 0;
	fiemap->at = extent->fe_logical + extent->fe_length;
	*ret_extent = extent;
	return true;
}
