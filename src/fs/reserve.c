/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/probe.h"
#include "fs/sync.h"

/* A smaller file is not worth keeping. */
#define LEAST (64 * 1024)

static guint64
available(int dir_fd)
{
	guint64 free_bytes = 0, total, inodes;

	return gbe_filesystem_space(dir_fd, &free_bytes, &total, &inodes, NULL) ? free_bytes : 0;
}

void
gbe_reserve_release_at(int dir_fd, const char *name)
{
	g_autoptr(GError) error = NULL;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    available(dir_fd) >= GBE_RESERVE_SIZE || unlinkat(dir_fd, name, 0) < 0)
		return;
	/* Freed blocks can be used again once the journal is written. */
	if (!gbe_sync_dir(dir_fd, name, &error))
		g_debug("%s", error->message);
}

/* Tries, because btrfs reports no free space where only its metadata is short. */
static bool
allocate(int fd)
{
	for (off_t size = GBE_RESERVE_SIZE; size >= LEAST; size /= 2)
		if (fallocate(fd, 0, 0, size) == 0)
			return true;
	return false;
}

void
gbe_reserve_keep_at(int dir_fd, const char *name)
{
	gbe_autofd int fd = -1;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (!S_ISREG(st.st_mode) || st.st_size >= GBE_RESERVE_SIZE))
		return;
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	/* A file without blocks would reserve nothing. */
	if (fd >= 0 && !allocate(fd))
		(void)unlinkat(dir_fd, name, 0);
}
