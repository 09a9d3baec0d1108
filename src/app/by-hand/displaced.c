/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides what becomes of data that a restore by hand displaces, when it is not a lasting backup. */
#include "app/by-hand/displaced.h"

#include "fs/exchange.h"
#include "fs/open.h"

#include <errno.h>
#include <fcntl.h>

/* Walks up from @fd to the root: a path may lead through links and mounts, so paths are not compared. */
static bool
lies_below(int fd, int above_fd, bool *ret_below, GError **error)
{
	struct stat above, here, before = {0};
	gbe_autofd int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	*ret_below = false;
	if (above_fd < 0)
		return true;
	if (at < 0 || fstat(above_fd, &above) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the directory");
	for (;;) {
		int parent;

		if (fstat(at, &here) < 0)
			return gbe_throw_errno(error, errno, "cannot look at the directory");
		if (here.st_dev == above.st_dev && here.st_ino == above.st_ino)
			*ret_below = true;
		if (*ret_below || (here.st_dev == before.st_dev && here.st_ino == before.st_ino))
			return true;
		before = here;
		parent = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (parent < 0)
			return gbe_throw_errno(error, errno, "cannot look above the directory");
		gbe_close_fd(&at);
		at = parent;
	}
}

static bool
check_not_ours(const GbeObserved *observed, int dir_fd, const char *path, GError **error)
{
	bool in_data = false, in_store = false;

	if (!lies_below(dir_fd, observed->data->fd, &in_data, error) ||
	    !lies_below(dir_fd, observed->store->fd, &in_store, error))
		return gbe_prefix(error, "%s", path);
	if (in_data || in_store)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s lies in %s itself: take a place beside it", path,
				 in_data ? observed->data->path : observed->store->path);
	return true;
}

bool
gbe_displaced_check_place(GbeApp *app, const GbeObserved *observed, const char *path,
			  GError **error)
{
	const GbeData *data = observed->data;
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	struct stat st;

	if (!gbe_open_parent_in_root(app->root_fd, path, &dir_fd, &name, error))
		return gbe_prefix(error, "--keep-existing=%s", path);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "%s is there already; take another name for --keep-existing",
				 path);
	if (errno != ENOENT)
		return gbe_throw_errno(error, errno, "cannot look at %s", path);
	if (!check_not_ours(observed, dir_fd, path, error))
		return false;
	if (data->mount_point || !gbe_probe_rename(data->parent_fd, dir_fd))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s cannot become %s by one rename: that takes a place on its "
				 "file system; or leave --keep-existing out, and copy the backup "
				 "that it becomes",
				 data->path, path);
	return true;
}

bool
gbe_displaced_is_at(GbeApp *app, const char *path)
{
	gbe_autofd int fd = -1;

	return gbe_open_in_root(app->root_fd, path, O_PATH | O_DIRECTORY, &fd, NULL);
}
