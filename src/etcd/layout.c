/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "fs/list.h"
#include "fs/open.h"
#include "fs/probe.h"

char *
gbe_layout_path(const char *member_path, const char *below)
{
	return *member_path == '\0' ? g_strdup(below) : g_build_filename(member_path, below, NULL);
}

bool
gbe_layout_open(int data_fd, const char *member_path, const char *below, int *ret_fd,
		GError **error)
{
	g_autofree char *path = gbe_layout_path(member_path, below);
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);
	gbe_autofd int fd = fcntl(data_fd, F_DUPFD_CLOEXEC, 3);
	struct stat st;

	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open %s", path);
	for (gsize i = 0; parts[i] != NULL; i++) {
		int next = -1;

		if (!gbe_open_dir_at(fd, parts[i], &next, error)) {
			(void)gbe_prefix(error, "%s", path);
			/* A file where etcd has a directory. */
			if (fstatat(fd, parts[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			    !S_ISDIR(st.st_mode))
				(void)gbe_rethrow(error, GBE_ERROR_UNSAFE_SOURCE);
			return false;
		}
		gbe_close_fd(&fd);
		fd = next;
	}
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

static int
open_directory(int dir_fd, const char *path, guint64 resolve)
{
	struct open_how how = {
	    .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK,
	    .resolve = resolve | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
}

bool
gbe_layout_open_wal(int data_fd, const char *member_path, int wal_dir_fd, int *ret_fd,
		    GError **error)
{
	g_autofree char *path = gbe_layout_path(member_path, "member/wal");
	g_autoptr(GError) local = NULL;
	int fd;

	if (wal_dir_fd >= 0) {
		fd = fcntl(wal_dir_fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			return gbe_throw_errno(error, errno, "cannot open the WAL's directory");
		*ret_fd = fd;
		return true;
	}
	if (gbe_layout_open(data_fd, member_path, "member/wal", ret_fd, &local))
		return true;
	if (!gbe_pass_unless(error, &local, GBE_ERROR_UNSAFE_SOURCE))
		return false;
	fd = open_directory(data_fd, path, RESOLVE_BENEATH);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "%s is no directory", path);
	if (fd < 0 && errno == EXDEV)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s is a symlink that leaves the data directory, so that a "
				 "backup would lack the WAL; set [etcd] data-dir to a directory "
				 "that holds both",
				 path);
	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open %s", path);
	*ret_fd = fd;
	return true;
}

bool
gbe_layout_follow_wal(int data_fd, const char *member_path, int *ret_fd)
{
	gbe_autofd int member_fd = -1;

	if (!gbe_layout_open(data_fd, member_path, "member", &member_fd, NULL))
		return false;
	*ret_fd = open_directory(member_fd, "wal", 0);
	return *ret_fd >= 0;
}

static bool
same_directory(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool
gbe_layout_wal_inside(int data_fd, const char *member_path, int wal_dir_fd, bool *ret_inside,
		      GError **error)
{
	gbe_autofd int fd = -1;
	struct stat data, here, above;
	bool mounted;

	if (!gbe_layout_open_wal(data_fd, member_path, wal_dir_fd, &fd, error))
		return false;
	if (fstat(data_fd, &data) < 0 || fstat(fd, &here) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the WAL's directory");
	mounted = !gbe_same_mount(fd, data_fd);
	/* Goes up from there, whatever names and links led there. */
	while (!same_directory(&here, &data)) {
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		gbe_close_fd(&fd);
		fd = up;
		if (fd < 0 || fstat(fd, &above) < 0)
			return gbe_throw_errno(error, errno,
					       "cannot go up from the WAL's directory");
		if (same_directory(&here, &above))
			break;
		here = above;
	}
	*ret_inside = same_directory(&here, &data);
	if (!*ret_inside || !mounted)
		return true;
	return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
			 "the WAL is on a mount point inside the data directory, so that a backup "
			 "would lack it; stop etcd, then move the WAL into the data directory, or "
			 "mount the whole data directory");
}

bool
gbe_layout_open_db(int data_fd, const char *member_path, int *ret_fd, GError **error)
{
	g_autofree char *path = gbe_layout_path(member_path, "member/snap/" GBE_DB_NAME);
	gbe_autofd int snap_fd = -1;
	gbe_autofd int fd = -1;
	struct stat st;

	if (!gbe_layout_open(data_fd, member_path, "member/snap", &snap_fd, error))
		return false;
	fd =
	    openat(snap_fd, GBE_DB_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == ELOOP)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "%s is a symlink", path);
	/* A socket cannot be opened. */
	if (fd < 0 && errno != ENXIO)
		return gbe_throw_errno(error, errno, "cannot open %s", path);
	if (fd >= 0 && fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", path);
	if (fd < 0 || !S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "%s is not a regular file", path);
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

bool
gbe_layout_is_segment(const char *name)
{
	for (gsize i = 0; i < 33; i++) {
		if (i == 16 ? name[i] != '-' : strchr("0123456789abcdef", name[i]) == NULL)
			return false;
		if (name[i] == '\0')
			return false;
	}
	return strcmp(name + 33, ".wal") == 0;
}

bool
gbe_layout_newest_wal(int wal_fd, char **ret_name, GError **error)
{
	g_auto(GbeList) list = gbe_list_open_at(wal_fd, "the WAL's directory");
	g_autofree char *newest = NULL;
	const char *name;

	while ((name = gbe_list_next(&list)) != NULL) {
		if (!gbe_layout_is_segment(name) || (newest != NULL && strcmp(name, newest) < 0))
			continue;
		g_free(newest);
		newest = g_strdup(name);
	}
	if (!gbe_list_end(&list, error))
		return false;
	*ret_name = g_steal_pointer(&newest);
	return true;
}

/* etcd's names are hexadecimal numbers with a fixed suffix. */
bool
gbe_layout_is_own(const char *path)
{
	static const char *const plain[] = {"snap", "wal", "snap/db", "wal.tmp", NULL};
	static const char *const endings[] = {".wal",	 ".snap",	".snap.db",	".tmp",
					      ".broken", ".wal.broken", ".snap.broken", NULL};
	const char *name = strrchr(path, '/');

	if (g_strv_contains(plain, path))
		return true;
	if (!g_str_has_prefix(path, "snap/") && !g_str_has_prefix(path, "wal/"))
		return false;
	if (name != path + strcspn(path, "/"))
		return false;
	name++;
	/* A database that etcd receives or defragments. */
	if (g_str_has_prefix(name, "db.tmp.") || g_str_has_prefix(name, "tmp"))
		name += strcspn(name, "0123456789");
	name += strspn(name, "0123456789abcdef-");
	return *name == '\0' || g_strv_contains(endings, name);
}
