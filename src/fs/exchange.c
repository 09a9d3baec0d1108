/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "fs/probe.h"
#include "fs/tree.h"
#include "fs/write.h"

#define PROBE_A GBE_TMP_PREFIX "rename-a"
#define PROBE_B GBE_TMP_PREFIX "rename-b"
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

/* -1: the name is gone, or of another type. */
static int
open_plain(int dir_fd, const char *name)
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
	gbe_autofd int fd = open_plain(dir_fd, name);

	return fd >= 0 && gbe_unprotect(fd);
}

/* A read-only subvolume moves within its directory only: elsewhere its ".." would change. */
static void
make_writable_at(int dir_fd, const char *name)
{
	gbe_autofd int fd = open_plain(dir_fd, name);

	if (fd >= 0 && gbe_is_subvolume(fd))
		(void)!gbe_subvolume_set_read_only(fd, false, NULL);
}

int
gbe_rename_unprotected(int from_dir, const char *from, int to_dir, const char *to,
		       unsigned int flags)
{
	struct stat from_st, to_st;
	int errsv;

	if (renameat2(from_dir, from, to_dir, to, flags) == 0)
		return 0;
	errsv = errno;
	if (errsv == EXDEV && fstat(from_dir, &from_st) == 0 && fstat(to_dir, &to_st) == 0 &&
	    from_st.st_dev == to_st.st_dev) {
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

/* @what failed. @elsewhere: one more cause of EXDEV. @wanted: the ability that the file system may lack. */
static bool
throw_rename(GError **error, int errsv, const char *what, const char *elsewhere, const char *wanted)
{
	switch (errsv) {
	case EXDEV:
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "%s: they are on different file systems, mounts or subvolumes%s",
				 what, elsewhere);
	case EINVAL:
	case ENOSYS:
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED, "%s: the file system cannot %s",
				 what, wanted);
	default:
		return gbe_throw_errno(error, errsv, "%s", what);
	}
}

bool
gbe_exchange_at(int dir_a, const char *a, int dir_b, const char *b, GError **error)
{
	int errsv = gbe_rename_unprotected(dir_a, a, dir_b, b, RENAME_EXCHANGE);
	g_autofree char *what = g_strdup_printf("%s and %s cannot change places", a, b);

	if (errsv == 0)
		return !GBE_FAULT("exchange-exchanged", error);
	if (errsv == EBUSY)
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED, "%s: one of them is a mount point",
				 what);
	return throw_rename(error, errsv, what, ", or in a lower layer of an overlay",
			    "exchange names");
}

bool
gbe_rename_new_at(int from_dir, const char *from, int to_dir, const char *to, GError **error)
{
	int errsv = gbe_rename_unprotected(from_dir, from, to_dir, to, RENAME_NOREPLACE);
	g_autofree char *what = g_strdup_printf("cannot rename %s to %s", from, to);

	if (errsv == 0)
		return !GBE_FAULT("exchange-renamed", error);
	if (errsv == EEXIST)
		return gbe_throw(error, GBE_ERROR_BUSY, "%s: that is there", what);
	return throw_rename(error, errsv, what, "", "rename without replacing");
}

void
gbe_probe_rename_sweep(int dir_fd)
{
	(void)unlinkat(dir_fd, PROBE_A, AT_REMOVEDIR);
	(void)unlinkat(dir_fd, PROBE_B, AT_REMOVEDIR);
}

/* 0, or why the exchange failed. @ret_links: of a new directory. */
static int
try_exchange(int stage_dir, int parent_dir, nlink_t *ret_links)
{
	struct stat st;
	int errsv = 0;

	/* A program that was killed here left its probe directories. */
	gbe_probe_rename_sweep(stage_dir);
	gbe_probe_rename_sweep(parent_dir);
	/* An exchange takes a rename in each direction. */
	if (mkdirat(stage_dir, PROBE_A, 0700) < 0 || mkdirat(parent_dir, PROBE_B, 0700) < 0 ||
	    fstatat(stage_dir, PROBE_A, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    renameat2(stage_dir, PROBE_A, parent_dir, PROBE_B, RENAME_EXCHANGE) < 0)
		errsv = errno;
	else
		*ret_links = st.st_nlink;
	gbe_probe_rename_sweep(parent_dir);
	gbe_probe_rename_sweep(stage_dir);
	return errsv;
}

bool
gbe_probe_rename(int stage_dir, int parent_dir)
{
	nlink_t links;

	return try_exchange(stage_dir, parent_dir, &links) == 0;
}

/* overlayfs moves no directory that a lower layer has, unless it is mounted with redirect_dir=on. It shows such a
 * directory with one link. So does a btrfs below it for each directory, and then nothing is known. */
static GbeTri
overlay_moves(int dir_fd, nlink_t links)
{
	g_autofree char *options = gbe_mount_options(dir_fd);
	g_autofree char *by_default = NULL;
	struct stat st;

	if (fstat(dir_fd, &st) < 0)
		return GBE_UNKNOWN;
	if (st.st_nlink > 1)
		return GBE_YES;
	if (options != NULL && strstr(options, "redirect_dir=") == NULL)
		(void)g_file_get_contents("/sys/module/overlay/parameters/redirect_dir",
					  &by_default, NULL, NULL);
	if ((options != NULL && strstr(options, "redirect_dir=on") != NULL) ||
	    (by_default != NULL && *by_default == 'Y'))
		return GBE_YES;
	return links > 1 ? GBE_NO : GBE_UNKNOWN;
}

GbeTri
gbe_probe_exchange(int parent_dir, int dir_fd)
{
	static const char *const able[] = {"xfs", "ext4", "btrfs", "tmpfs", NULL};
	g_autofree char *type = gbe_filesystem_type(parent_dir);
	nlink_t links = 0;

	if (type != NULL && g_strv_contains(able, type))
		return GBE_YES;
	switch (try_exchange(parent_dir, parent_dir, &links)) {
	case 0:
		return g_strcmp0(type, "overlay") == 0 ? overlay_moves(dir_fd, links) : GBE_YES;
	case EINVAL:
	case ENOSYS:
	case EXDEV:
		return GBE_NO;
	default:
		return GBE_UNKNOWN;
	}
}
