/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/probe.h"
#include "fs/sync.h"

/* A smaller file is not worth keeping. */
#define LEAST (64 * 1024)
/* XFS frees inodes in the background: how often it is asked whether it has, and the pause. */
#define TRIES 50
#define PAUSE_USEC (10 * 1000)

/* Unknown counts as none: what is given back is made again. */
static void
get_available(int dir_fd, guint64 *ret_bytes, guint64 *ret_inodes)
{
	guint64 total;

	*ret_bytes = *ret_inodes = 0;
	(void)!gbe_filesystem_space(dir_fd, ret_bytes, &total, ret_inodes, NULL);
}

static char *
inodes_name(const char *name)
{
	return g_strconcat(name, "-inodes", NULL);
}

static int
open_inodes(int dir_fd, const char *name)
{
	g_autofree char *inodes = inodes_name(name);

	return openat(dir_fd, inodes, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* XFS frees a chunk of 64 inodes as a whole, and may refuse to make it again: an inode in each chunk keeps it. */
static bool
stays(guint i)
{
	return i % 16 == 0;
}

/* Removes them in the opposite order of their making, so that the last one shows whether all are there. */
static void
give_inodes(int dir_fd, const char *name)
{
	gbe_autofd int fd = open_inodes(dir_fd, name);
	guint64 before, bytes, now;
	guint64 removed = 0;

	if (fd < 0)
		return;
	get_available(dir_fd, &bytes, &before);
	for (guint i = GBE_RESERVE_INODES; i > 0; i--) {
		g_autofree char *file = g_strdup_printf("%02u", i);

		if (!stays(i))
			removed += unlinkat(fd, file, 0) == 0;
	}
	for (guint i = 0; removed > 0 && i < TRIES; i++) {
		get_available(dir_fd, &bytes, &now);
		if (now >= before + removed)
			return;
		g_usleep(PAUSE_USEC);
	}
}

static void
give_up(int dir_fd, const char *name, bool blocks, bool inodes)
{
	g_autoptr(GError) error = NULL;
	struct stat st;
	bool freed = false;

	if (blocks && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		freed = unlinkat(dir_fd, name, 0) == 0;
	/* Freed blocks can be used again once the journal is written. */
	if (freed && !gbe_sync_dir(dir_fd, name, &error))
		g_debug("%s", error->message);
	if (inodes)
		give_inodes(dir_fd, name);
}

void
gbe_reserve_release_at(int dir_fd, const char *name)
{
	guint64 bytes, inodes;

	get_available(dir_fd, &bytes, &inodes);
	give_up(dir_fd, name, bytes < GBE_RESERVE_SIZE, inodes < GBE_RESERVE_INODES);
}

void
gbe_reserve_give_up_at(int dir_fd, const char *name)
{
	give_up(dir_fd, name, true, true);
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

static void
keep_blocks(int dir_fd, const char *name)
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

/* A file system without a fixed number of inodes, as btrfs, needs no reserve of them. */
static void
keep_inodes(int dir_fd, const char *name)
{
	g_autofree char *inodes = inodes_name(name);
	g_autofree char *last = g_strdup_printf("%s/%02u", inodes, GBE_RESERVE_INODES - 1);
	guint64 bytes, available;
	gbe_autofd int fd = -1;

	if (faccessat(dir_fd, last, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return;
	get_available(dir_fd, &bytes, &available);
	/* As many are left to others: etcd itself must be able to start. */
	if (available == G_MAXUINT64 || available < (guint64)2 * GBE_RESERVE_INODES ||
	    (mkdirat(dir_fd, inodes, 0700) < 0 && errno != EEXIST))
		return;
	fd = open_inodes(dir_fd, name);
	for (guint i = 1; fd >= 0 && i <= GBE_RESERVE_INODES; i++) {
		g_autofree char *file = g_strdup_printf("%02u", i);
		gbe_autofd int made = openat(
		    fd, file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

		if (made < 0)
			return;
	}
}

void
gbe_reserve_keep_at(int dir_fd, const char *name)
{
	keep_blocks(dir_fd, name);
	keep_inodes(dir_fd, name);
}
