/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/space.h"
#include "fs/probe.h"
#include "fs/sync.h"

/* A smaller file is not worth keeping. */
#define LEAST (64 * 1024)
/* XFS frees inodes in the background: how often it is asked whether it has, and the pause. */
#define TRIES 50
#define PAUSE_USEC (10 * 1000)

/* The room of a GbeRoom. */
#define KEEP_PART 20
#define KEEP_MOST ((guint64)1024 * 1024 * 1024)

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

		/* XFS frees a chunk of 64 inodes as a whole, and may refuse to make it again: an inode in each
		 * chunk keeps it. */
		if (i % 16 != 0)
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
give_back(int dir_fd, const char *name, bool blocks, bool inodes)
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
	give_back(dir_fd, name, bytes < GBE_RESERVE_SIZE, inodes < GBE_RESERVE_INODES);
}

void
gbe_reserve_give_up_at(int dir_fd, const char *name)
{
	give_back(dir_fd, name, true, true);
}

static void
keep_blocks(int dir_fd, const char *name)
{
	gbe_autofd int fd = -1;
	bool allocated = false;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (!S_ISREG(st.st_mode) || st.st_size >= GBE_RESERVE_SIZE))
		return;
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	/* Tries, because btrfs reports no free space where only its metadata is short. */
	for (off_t size = GBE_RESERVE_SIZE; !allocated && size >= LEAST; size /= 2)
		allocated = fallocate(fd, 0, 0, size) == 0;
	/* A file without blocks would reserve nothing. */
	if (!allocated)
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

bool
gbe_room_begin(int fd, GbeRoom *ret_room, GError **error)
{
	guint64 available, total, inodes;

	if (!gbe_filesystem_space(fd, &available, &total, &inodes, error))
		return false;
	*ret_room = (GbeRoom){
	    .fd = fd,
	    .keep = MIN(MIN(total / KEEP_PART, KEEP_MOST), available / 2),
	};
	return true;
}

bool
gbe_room_check(const GbeRoom *room, guint64 size, const char *what, GError **error)
{
	g_autofree char *free_text = NULL, *keep_text = NULL;
	guint64 available, total, inodes;

	if (!gbe_filesystem_space(room->fd, &available, &total, &inodes, error))
		return false;
	if (available >= room->keep && available - room->keep >= size)
		return true;
	free_text = gbe_size_to_text(available);
	keep_text = gbe_size_to_text(room->keep);
	return gbe_throw(error, GBE_ERROR_NO_SPACE,
			 "no room for %s: %s are free, and %s are to stay free", what, free_text,
			 keep_text);
}
