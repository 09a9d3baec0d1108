/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/sync.h"

#include <errno.h>

static bool
check_synced(int result, const char *what, GError **error)
{
	if (result == 0)
		return true;
	return gbe_throw_errno(error, errno, "cannot bring %s to the disk", what);
}

bool
gbe_sync_fs(int fd, const char *what, GError **error)
{
	return check_synced(syncfs(fd), what, error);
}

bool
gbe_sync_dir(int dir_fd, const char *what, GError **error)
{
	return check_synced(fsync(dir_fd), what, error);
}

bool
gbe_sync_file(int fd, const char *what, GError **error)
{
	return check_synced(fsync(fd), what, error);
}
