/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

/* As many as the kernel follows in one path. */
#define MAX_SYMLINKS 40

/* The way to a path, walked name by name as the kernel would inside the root. */
typedef struct {
	GArray *fds;   /* of int, O_PATH: the root first, where we are last */
	GString *todo; /* what is still to be walked */
	guint symlinks;
} Way;

static void
way_clear(Way *way)
{
	while (way->fds->len > 0) {
		(void)close(g_array_index(way->fds, int, way->fds->len - 1));
		g_array_set_size(way->fds, way->fds->len - 1);
	}
	g_array_unref(way->fds);
	(void)g_string_free(way->todo, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Way, way_clear)

static void
way_back_to(Way *way, guint depth)
{
	while (way->fds->len > MAX(depth, 1)) {
		(void)close(g_array_index(way->fds, int, way->fds->len - 1));
		g_array_set_size(way->fds, way->fds->len - 1);
	}
}

static bool
check_owner(const struct stat *st, const char *path, const char *name, GError **error)
{
	bool mine = st->st_uid == 0 || st->st_uid == geteuid();
	bool writable = !S_ISLNK(st->st_mode) && (st->st_mode & (S_IWGRP | S_IWOTH)) != 0 &&
			(st->st_mode & S_ISVTX) == 0;
	g_autofree char *text = NULL;

	if (mine && !writable)
		return true;
	text = gbe_path_to_text(name);
	if (!mine)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "\"%s\" on the way to %s belongs to user %u, who could exchange "
				 "what is below it: chown it to root",
				 text, path, (unsigned)st->st_uid);
	return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
			 "\"%s\" on the way to %s can be written by others than root: chmod go-w "
			 "it",
			 text, path);
}

/* One name of the way; @fd is it, opened with O_PATH|O_NOFOLLOW. Takes @fd. */
static bool
way_step(Way *way, int *fd, const char *path, const char *name, GError **error)
{
	struct stat st;

	if (fstat(*fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s on the way to %s", name,
				       path);
	if (!check_owner(&st, path, name, error))
		return false;
	if (S_ISLNK(st.st_mode)) {
		g_autofree char *target = g_malloc0(PATH_MAX);

		if (++way->symlinks > MAX_SYMLINKS)
			return gbe_throw_errno(error, ELOOP, "cannot resolve %s", path);
		if (readlinkat(*fd, "", target, PATH_MAX - 1) < 0)
			return gbe_throw_errno(error, errno, "cannot read the symlink %s", name);
		g_string_prepend_c(way->todo, '/');
		g_string_prepend(way->todo, target);
		if (target[0] == '/')
			way_back_to(way, 1);
		return true;
	}
	if (!S_ISDIR(st.st_mode))
		return gbe_throw_errno(error, ENOTDIR, "%s on the way to %s", name, path);
	g_array_append_val(way->fds, *fd);
	*fd = -1;
	return true;
}

static bool
way_walk(Way *way, const char *path, GError **error)
{
	for (;;) {
		gsize skip = strspn(way->todo->str, "/");
		gsize len = strcspn(way->todo->str + skip, "/");
		g_autofree char *name = g_strndup(way->todo->str + skip, len);
		gbe_autofd int fd = -1;
		int here = g_array_index(way->fds, int, way->fds->len - 1);

		if (len == 0)
			return true;
		g_string_erase(way->todo, 0, (gssize)(skip + len));
		if (g_str_equal(name, "."))
			continue;
		if (g_str_equal(name, "..")) {
			way_back_to(way, way->fds->len - 1);
			continue;
		}
		fd = openat(here, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return gbe_throw_errno(error, errno, "cannot open \"%s\" on the way to %s",
					       name, path);
		if (!way_step(way, &fd, path, name, error))
			return false;
	}
}

bool
gbe_check_parents(int root_fd, const char *path, GError **error)
{
	g_autofree char *parent = NULL;
	g_autofree char *name = NULL;
	g_auto(Way) way = {
	    .fds = g_array_new(FALSE, FALSE, sizeof(int)),
	    .todo = g_string_new(NULL),
	};
	struct stat st;
	int fd;

	if (!gbe_path_split(path, &parent, &name, error))
		return false;
	fd = openat(root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open /");
	g_array_append_val(way.fds, fd);
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at /");
	if (!check_owner(&st, path, "/", error))
		return false;
	g_string_assign(way.todo, parent);
	return way_walk(&way, path, error);
}
