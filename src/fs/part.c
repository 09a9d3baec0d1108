/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "fs/exchange.h"
#include "fs/open.h"
#include "fs/sync.h"
#include "fs/write.h"

/* The disk writes while more bytes come, so that the flush at the end is short. */
#define START_AT_ONCE ((off_t)8 * 1024 * 1024)

void
gbe_part_clear(GbePart *part)
{
	/* We still hold the lock here; closing the fd drops it. */
	if (part->fd >= 0)
		(void)unlinkat(part->dir_fd, part->part, 0);
	gbe_close_fd(&part->fd);
	g_clear_pointer(&part->name, g_free);
	g_clear_pointer(&part->part, g_free);
}

/* Opens a part that its writer left, or a new one; only a regular file with one name. */
static bool
open_part(int dir_fd, const char *name, int *ret_fd, GError **error)
{
	gbe_autofd int fd = openat(
	    dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600);
	int errsv = errno;
	g_autofree char *path = gbe_path_at_to_text(dir_fd, name);
	struct stat st;

	if (fd < 0)
		return gbe_throw_errno(error, errsv, "cannot create %s", path);
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", path);
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1 || st.st_uid != geteuid())
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "%s is there, and is not an unfinished file of ours; remove it",
				 path);
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

bool
gbe_part_begin(int dir_fd, const char *name, bool replace, GbePart *ret_part, GError **error)
{
	g_autofree char *part = g_strconcat(name, GBE_PART_SUFFIX, NULL);
	g_autofree char *path = gbe_path_at_to_text(dir_fd, name);
	gbe_autofd int fd = -1;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(st.st_mode))
			return gbe_throw(error, GBE_ERROR_FAILED, "%s is a directory; name a file",
					 path);
		if (!replace)
			return gbe_throw(error, GBE_ERROR_FAILED,
					 "%s is there already; take another name, or --force",
					 path);
	} else if (errno != ENOENT) {
		return gbe_throw_errno(error, errno, "cannot look at %s", path);
	}
	if (!open_part(dir_fd, part, &fd, error))
		return false;
	/* The previous holder of the lock may have published or removed the file. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !gbe_is_named_at(fd, dir_fd, part))
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "another process is writing %s; try again when it has finished",
				 path);
	if (ftruncate(fd, 0) < 0 || fchmod(fd, 0600) < 0)
		return gbe_throw_errno(error, errno, "cannot begin %s", part);
	*ret_part = (GbePart){.dir_fd = dir_fd,
			      .fd = gbe_steal_fd(&fd),
			      .name = g_strdup(name),
			      .part = g_steal_pointer(&part),
			      .replace = replace};
	return true;
}

bool
gbe_part_reserve(GbePart *part, guint64 size, GError **error)
{
	if (size == 0 || size > G_MAXINT64 ||
	    fallocate(part->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) == 0 || errno == EOPNOTSUPP ||
	    errno == ENOSYS)
		return true;
	return gbe_throw_errno(error, errno, "no room for the %" G_GUINT64_FORMAT " bytes of %s",
			       size, part->name);
}

bool
gbe_part_write(GbePart *part, const void *bytes, gsize size, GError **error)
{
	if (!gbe_write_all(part->fd, bytes, size, part->part, error))
		return false;
	part->written += (off_t)size;
	if (part->written - part->started >= START_AT_ONCE) {
		/* The flush reports an error of this call. */
		(void)sync_file_range(part->fd, part->started, part->written - part->started,
				      SYNC_FILE_RANGE_WRITE);
		part->started = part->written;
	}
	return true;
}

bool
gbe_part_publish(GbePart *part, GError **error)
{
	struct stat st;

	if (fstat(part->fd, &st) < 0 || ftruncate(part->fd, st.st_size) < 0)
		return gbe_throw_errno(error, errno, "cannot end %s", part->part);
	if (GBE_FAULT("part-written", error) || !gbe_sync_file(part->fd, part->part, error) ||
	    GBE_FAULT("part-synced", error))
		return false;
	if (!part->replace) {
		if (!gbe_rename_new_at(part->dir_fd, part->part, part->dir_fd, part->name, error))
			return false;
	} else if (renameat(part->dir_fd, part->part, part->dir_fd, part->name) < 0) {
		return gbe_throw_errno(error, errno, "cannot move %s into place", part->name);
	}
	gbe_close_fd(&part->fd);
	return !GBE_FAULT("part-renamed", error) && gbe_sync_dir(part->dir_fd, part->name, error) &&
	       !GBE_FAULT("part-durable", error);
}
