/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/directory/member.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/path.h"
#include "etcd/layout.h"
#include "fs/list.h"
#include "fs/tree.h"

/* A symlink counts, too: unusable data is not the same as no data. The opener reports the fault. */
static bool
has_member(int dir_fd)
{
	struct stat st;

	return fstatat(dir_fd, "member", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode));
}

/* The program's own directory holds backups, not data. */
static bool
is_candidate(int data_fd, const char *name)
{
	gbe_autofd int fd = -1;

	if (g_str_has_prefix(name, ".greenboot-etcd"))
		return false;
	fd = openat(data_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && has_member(fd);
}

/* Finds the only directory one level down that holds a member/. */
static bool
search(int data_fd, char **ret_path, GError **error)
{
	g_auto(GbeList) list = gbe_list_open_at(data_fd, "the data directory");
	g_autofree char *found = NULL;
	const char *name;

	while ((name = gbe_list_next(&list)) != NULL) {
		if (!is_candidate(data_fd, name))
			continue;
		if (found != NULL)
			return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
					 "both %s/member and %s/member are in the data directory: "
					 "say which with member-dir= in [etcd]",
					 found, name);
		found = g_strdup(name);
	}
	if (!gbe_list_end(&list, error))
		return false;
	if (found == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "the data directory holds no data of etcd (no member/ in it, nor "
				 "one level down)");
	*ret_path = g_steal_pointer(&found);
	return true;
}

static bool
take_configured(const char *member_dir, char **ret_path, GError **error)
{
	if (!gbe_path_is_below(member_dir))
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
				 "member-dir=%s: \"auto\", \".\" or a path below the data "
				 "directory is expected",
				 member_dir);
	*ret_path = g_strdup(member_dir);
	return true;
}

bool
gbe_member_locate(int data_fd, const char *member_dir, char **ret_path, GError **error)
{
	bool automatic = strcmp(member_dir, "auto") == 0;

	if (strcmp(member_dir, ".") == 0 || (automatic && has_member(data_fd))) {
		*ret_path = g_strdup("");
		return true;
	}
	if (automatic)
		return search(data_fd, ret_path, error);
	return take_configured(member_dir, ret_path, error);
}

bool
gbe_member_has_log(int data_fd, const char *member_path, int wal_dir_fd, bool *ret_has,
		   GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autofree char *newest = NULL;
	gbe_autofd int wal_fd = -1;

	if (!gbe_layout_open_wal(data_fd, member_path, wal_dir_fd, &wal_fd, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
	} else if (!gbe_layout_newest_wal(wal_fd, &newest, error)) {
		return false;
	}
	*ret_has = newest != NULL;
	return true;
}

bool
gbe_member_has_data(int data_fd, const char *member_path, bool *ret_has, GError **error)
{
	g_autoptr(GError) local = NULL;
	gbe_autofd int snap_fd = -1;
	struct stat st;

	if (gbe_layout_open(data_fd, member_path, "member/snap", &snap_fd, &local)) {
		if (fstatat(snap_fd, GBE_DB_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			*ret_has = true;
			return true;
		}
		if (errno != ENOENT)
			return gbe_throw_errno(error, errno, "cannot look at member/snap/db");
	} else if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		return gbe_pass(error, &local);
	}
	return gbe_member_has_log(data_fd, member_path, -1, ret_has, error);
}

static bool
take_newer(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	   GError **error)
{
	gint64 *newest = data;

	*newest = MAX(*newest, (gint64)st->st_mtim.tv_sec);
	return true;
}

bool
gbe_member_last_write(int data_fd, const char *member_path, gint64 *ret_seconds, GError **error)
{
	const GbeTreeLimits limits = gbe_tree_look_limits();
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = -1;
	gint64 newest = -1;

	if (!gbe_layout_open(data_fd, member_path, "member", &fd, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
	} else if (!gbe_tree_walk_within(fd, NULL, &limits, take_newer, &newest, error)) {
		return false;
	}
	*ret_seconds = newest;
	return true;
}
