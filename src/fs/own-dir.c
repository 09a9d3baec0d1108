/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/own-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "fs/open.h"
#include "fs/sync.h"

static bool
check_own(int fd, const char *name, GError **error)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", name);
	if (st.st_uid != geteuid())
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "the directory %s belongs to user %u, who could exchange what is "
				 "in it; remove it",
				 name, (unsigned)st.st_uid);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "the directory %s can be written by others than root: chmod go-w "
				 "it",
				 name);
	return true;
}

bool
gbe_own_dir_open_at(int dir_fd, const char *const *names, bool may_make, int *ret_fd,
		    GError **error)
{
	gbe_autofd int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open a directory");
	for (gsize i = 0; names[i] != NULL; i++) {
		g_autoptr(GError) local = NULL;
		gbe_autofd int next = -1;
		struct stat st;

		if (!gbe_open_dir_at(fd, names[i], &next, &local)) {
			if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_UNSAFE_SOURCE) &&
			    fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			    !S_ISDIR(st.st_mode))
				return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
						 "%s is no directory", names[i]);
			if (!may_make || !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
				return gbe_pass(error, &local);
			/* If another process replaces the directory between mkdir and open, the check of the owner finds
			 * it. */
			if (mkdirat(fd, names[i], 0700) == 0) {
				if (GBE_FAULT("own-dir-made", error) ||
				    !gbe_sync_dir(fd, names[i], error))
					return false;
			} else if (errno != EEXIST) {
				return gbe_throw_errno(error, errno, "cannot make the directory %s",
						       names[i]);
			}
			if (!gbe_open_dir_at(fd, names[i], &next, error))
				return false;
		}
		if (!check_own(next, names[i], error))
			return false;
		gbe_close_fd(&fd);
		fd = gbe_steal_fd(&next);
	}
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}
