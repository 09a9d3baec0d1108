/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/unprotect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "fs/probe.h"
#include "fs/subvolume.h"

#define FORBIDDING (FS_IMMUTABLE_FL | FS_APPEND_FL | FS_PROJINHERIT_FL)

bool
gbe_unprotect(int fd)
{
	int flags = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || (flags & FORBIDDING) == 0)
		return false;
	flags &= ~FORBIDDING;
	return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

static int
open_name(int dir_fd, const char *name)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return -1;
	return openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

bool
gbe_unprotect_at(int dir_fd, const char *name)
{
	gbe_autofd int fd = open_name(dir_fd, name);

	return fd >= 0 && gbe_unprotect(fd);
}

/* A read-only subvolume moves within its directory only: elsewhere its ".." would change. */
static void
make_writable_at(int dir_fd, const char *name)
{
	gbe_autofd int fd = open_name(dir_fd, name);

	if (fd >= 0 && gbe_is_subvolume(fd))
		(void)!gbe_subvolume_set_read_only(fd, false, NULL);
}

static bool
same_device(int a, int b)
{
	struct stat st_a, st_b;

	return fstat(a, &st_a) == 0 && fstat(b, &st_b) == 0 && st_a.st_dev == st_b.st_dev;
}

int
gbe_rename_unprotected(int from_dir, const char *from, int to_dir, const char *to,
		       unsigned int flags)
{
	int errsv;

	if (renameat2(from_dir, from, to_dir, to, flags) == 0)
		return 0;
	errsv = errno;
	if (errsv == EXDEV && same_device(from_dir, to_dir)) {
		(void)gbe_unprotect(from_dir);
		(void)gbe_unprotect(to_dir);
	} else if (errsv == EROFS) {
		make_writable_at(from_dir, from);
		make_writable_at(to_dir, to);
	} else {
		return errsv;
	}
	return renameat2(from_dir, from, to_dir, to, flags) == 0 ? 0 : errno;
}
