/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "fs/probe.h"

/* @result of a flush of @fd, whatever it says: a log that could not be written is none of fsync's business on XFS
 * where that came out before fsync looked for it, as with one of many extents on a disk that dies (Linux 6.18). But
 * from then on nobody is told anything of an inode. (Kernels before 5.17 let no syncfs say so either.) */
static bool
check_synced(int fd, int result, const char *what, GError **error)
{
	struct stat st;

	if (result == 0 && fstat(fd, &st) == 0)
		return true;
	return gbe_throw_errno(error, errno, "cannot bring %s to the disk", what);
}

bool
gbe_sync_fs(int fd, const char *what, GError **error)
{
	return check_synced(fd, syncfs(fd), what, error);
}

/* fsync on btrfs writes a log tree that the next mount replays. One that holds a directory with a
 * subvolume in it, as an entry of the store is, is not replayed on Linux 6.18 ("failed to unlink inode
 * 256"): after a power cut the whole file system could not be mounted. A commit leaves no log. */
static int
sync_one(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return -1;
	return fs.f_type == BTRFS_SUPER_MAGIC ? syncfs(fd) : fsync(fd);
}

/* XFS replays its log, btrfs commits its transactions, in the order in which changes were made. ext4 does
 * with a journal, and may have none. */
static bool
keeps_order(int fd)
{
	return gbe_is_btrfs(fd) || gbe_is_xfs(fd);
}

bool
gbe_sync_order(int dir_fd, int next_fd, const char *what, guint *flushes, GError **error)
{
	if (gbe_same_filesystem(dir_fd, next_fd) && keeps_order(dir_fd))
		return true;
	if (flushes != NULL)
		(*flushes)++;
	return gbe_sync_dir(dir_fd, what, error);
}

bool
gbe_sync_dir(int dir_fd, const char *what, GError **error)
{
	return check_synced(dir_fd, sync_one(dir_fd), what, error);
}

bool
gbe_sync_file(int fd, const char *what, GError **error)
{
	return check_synced(fd, sync_one(fd), what, error);
}

/* With the content written, its blocks and its size are in the log or the journal, which flush the disk's
 * cache before they are written themselves. btrfs enters them later, in the transaction that is open by then;
 * a clone wants that done, whoever gets it: here nobody. */
static bool
settle(int fd, int dir_fd)
{
	gbe_autofd int nobody = -1;

	if (!gbe_is_btrfs(fd))
		return sync_file_range(fd, 0, 0,
				       SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					   SYNC_FILE_RANGE_WAIT_AFTER) == 0;
	nobody = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	return nobody >= 0 && ioctl(nobody, FICLONE, fd) == 0;
}

bool
gbe_sync_settle(int fd, int dir_fd, const char *what, GError **error)
{
	return settle(fd, dir_fd) || gbe_sync_file(fd, what, error);
}

bool
gbe_sync_content(int fd, bool copied, const char *what, guint *flushes, GError **error)
{
	if (!copied && keeps_order(fd))
		return true;
	(*flushes)++;
	return gbe_sync_fs(fd, what, error);
}
