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

/* @result: of a flush of @fd. The fstat is needed for XFS: fsync may return 0 if an earlier call has found that the log
 * cannot be written. This was seen with a file of many extents on a dying disk (Linux 6.18). From then on every stat
 * fails. (Before kernel 5.17 syncfs did not report it either.) */
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

/* fsync on btrfs writes a log tree that the next mount replays. Linux 6.18 cannot replay one with a directory that has
 * a subvolume, such as an entry of the store ("failed to unlink inode 256"). After a power cut the whole file system
 * could not be mounted. A commit leaves no log. */
static int
sync_one(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return -1;
	return fs.f_type == BTRFS_SUPER_MAGIC ? syncfs(fd) : fsync(fd);
}

/* XFS replays its log, and btrfs commits its transactions, in the order of the changes. ext4 does so only with a
 * journal. */
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

/* Once the content is written, its blocks and size are in the log or the journal. This flushes the disk's cache before
 * its own write. btrfs enters the content later, in the transaction that is open by then. A clone makes btrfs enter
 * them at once; the clone goes into an unnamed file and is dropped. */
bool
gbe_sync_settle(int fd, int dir_fd, const char *what, GError **error)
{
	const unsigned wait =
	    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
	gbe_autofd int unnamed = -1;

	if (!gbe_is_btrfs(fd)) {
		if (sync_file_range(fd, 0, 0, wait) == 0)
			return true;
	} else {
		unnamed = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
		if (unnamed >= 0 && ioctl(unnamed, FICLONE, fd) == 0)
			return true;
	}
	return gbe_sync_file(fd, what, error);
}

bool
gbe_sync_content(int fd, bool copied, const char *what, guint *flushes, GError **error)
{
	if (!copied && keeps_order(fd))
		return true;
	(*flushes)++;
	return gbe_sync_fs(fd, what, error);
}
