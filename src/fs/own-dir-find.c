/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds a directory of ours that the owner of its place has renamed. Header: fs/own-dir.h. The generator links own-dir.c
 * without this file, which needs libbtrfsutil. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/probe.h"
#include "fs/sync.h"
#include "fs/write.h"

#define NAMES_TRIED 1000

static bool
has_identity(int dir_fd, const char *name, const char *identity)
{
	gbe_autofd int fd = -1;
	g_autofree char *is = NULL;

	if (!gbe_open_dir_at(dir_fd, name, &fd, NULL))
		return false;
	is = gbe_tree_identity(fd);
	return g_strcmp0(is, identity) == 0;
}

bool
gbe_own_dir_find_at(int dir_fd, const char *name, const char *identity, bool back, char **ret_name,
		    GError **error)
{
	g_autofree char *now = NULL;
	struct stat st;

	if (has_identity(dir_fd, name, identity)) {
		now = g_strdup(name);
	} else {
		g_auto(GbeList) list = gbe_list_open_at(dir_fd, "the data's file system");
		const char *other;

		while (now == NULL && (other = gbe_list_next(&list)) != NULL)
			if (has_identity(dir_fd, other, identity))
				now = g_strdup(other);
		if (!gbe_list_end(&list, error))
			return false;
	}
	if (now != NULL && back && !g_str_equal(now, name)) {
		bool taken = fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

		if ((taken ? !gbe_exchange_at(dir_fd, now, dir_fd, name, error)
			   : !gbe_rename_new_at(dir_fd, now, dir_fd, name, error)) ||
		    !gbe_sync_dir(dir_fd, name, error))
			return false;
		g_free(now);
		now = g_strdup(name);
	}
	*ret_name = g_steal_pointer(&now);
	return true;
}

bool
gbe_own_dir_in_the_way_at(int dir_fd, const char *name)
{
	gbe_autofd int fd = -1;
	struct stat st, below;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (!S_ISDIR(st.st_mode))
		return true;
	/* A chown of all of the data also changes our directory. */
	return st.st_uid != geteuid() && gbe_open_dir_at(dir_fd, name, &fd, NULL) &&
	       fstatat(fd, "backups", &below, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

bool
gbe_own_dir_make_way_at(int dir_fd, const char *name, GError **error)
{
	struct stat st;

	if (!gbe_own_dir_in_the_way_at(dir_fd, name))
		return true;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", name);
	/* A link, a FIFO or a socket holds nothing, and under any name would keep the data from being copied. */
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return gbe_unlink_durable_at(dir_fd, name, error);
	for (guint n = 1;; n++) {
		g_autofree char *aside = g_strdup_printf("%s.not-ours-%u", name, n);
		g_autoptr(GError) local = NULL;

		if (gbe_rename_new_at(dir_fd, name, dir_fd, aside, &local))
			return gbe_sync_dir(dir_fd, name, error);
		if (n == NAMES_TRIED || !g_error_matches(local, GBE_ERROR, GBE_ERROR_BUSY))
			return gbe_pass(error, &local);
	}
}
