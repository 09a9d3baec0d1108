/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/reflink.h"

#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* At most 65,536 extents: one second, and somewhat more on slow devices, without a sign of life. */
#define PIECE ((guint64)256 * 1024 * 1024)
/* No file system has larger blocks. */
#define ALIGN ((guint64)64 * 1024)

bool
gbe_reflink_spend(GbeFileCloner *cloner, int src, guint64 size, const char *what, GError **error)
{
	struct fiemap map = {.fm_length = size};

	if (!cloner->options->cow_only || cloner->options->first != NULL)
		return true;
	if (ioctl(src, FS_IOC_FIEMAP, &map) == 0)
		cloner->extents += map.fm_mapped_extents;
	return cloner->extents <= GBE_CLONE_MAX_EXTENTS ||
	       gbe_throw(error, GBE_ERROR_UNSUPPORTED,
			 "%s is in too many pieces: a backup that may be left out has at most %d "
			 "extents, of all files together",
			 what, GBE_CLONE_MAX_EXTENTS);
}

/* Shares the piece at @at, or behind the hole there. Returns 0 or an errno. */
static int
share_piece(int src, int dst, guint64 size, guint64 at)
{
	/* Length 0 means up to the end: the last block may be a partial one. */
	struct file_clone_range range = {.src_fd = src,
					 .src_offset = at,
					 .src_length = size - at > PIECE ? PIECE : 0,
					 .dest_offset = at};

	while (ioctl(dst, FICLONERANGE, &range) < 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

int
gbe_reflink(const GbeFileCloner *cloner, int src, int dst, guint64 size, const char *what,
	    GError **error)
{
	/* A live file is cloned in one call, because the kernel blocks writes during a call. */
	if (size <= PIECE || cloner->options->first != NULL) {
		while (ioctl(dst, FICLONE, src) < 0)
			if (errno != EINTR)
				return errno;
		return 0;
	}
	if (ftruncate(dst, (off_t)size) < 0)
		return errno;
	for (guint64 at = 0; at < size; at += PIECE) {
		off_t data = lseek(src, (off_t)at, SEEK_DATA);
		int errsv;

		if (data < 0 && errno == ENXIO)
			break;
		if (data > 0)
			at = MAX(at, (guint64)data / ALIGN * ALIGN);
		errsv = share_piece(src, dst, size, at);
		if (errsv != 0)
			return errsv;
		if (!gbe_file_cloner_report(cloner, at, what, error))
			return ECANCELED;
	}
	return 0;
}
