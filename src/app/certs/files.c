/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the files of certs reset, removes them, and puts them back from an archive. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "app/certs/archive.h"
#include "base/fault.h"
#include "core/config/lists.h"
#include "fs/copy/clone.h"
#include "fs/copy/metadata.h"
#include "fs/open.h"
#include "fs/sync.h"
#include "fs/write.h"

typedef struct {
	const char *directory;
	char *const *patterns;
	GPtrArray *paths; /* of char *; NULL: not needed */
	bool remove;
	int live_fd;	/* the directory to put back into; -1 */
	int archive_fd; /* the copy of the directory */
} Files;

static bool
is_meant(const Files *files, const char *path, const struct stat *st)
{
	return (S_ISREG(st->st_mode) || S_ISLNK(st->st_mode)) &&
	       gbe_certs_match(files->patterns, files->directory, path);
}

static bool
visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
      GError **error)
{
	const Files *files = data;

	if (!is_meant(files, path, st))
		return true;
	if (files->paths != NULL)
		g_ptr_array_add(files->paths, g_strconcat(files->directory, "/", path, NULL));
	if (!files->remove)
		return true;
	if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
		return gbe_throw_errno(error, errno, "remove %s/%s", files->directory, path);
	return !GBE_FAULT("certs-file-removed", error);
}

/* *ret_fd is -1 when the directory does not exist. Its last component is no symlink: an archive was made of it. */
static bool
open_live(GbeApp *app, const char *path, int *ret_fd, GError **error)
{
	gbe_autofd int parent_fd = -1;
	g_autofree char *name = NULL;
	g_autoptr(GError) local = NULL;

	if (gbe_open_parent_in_root(app->root_fd, path, &parent_fd, &name, &local) &&
	    gbe_open_dir_at(parent_fd, name, ret_fd, &local))
		return true;
	*ret_fd = -1;
	return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
}

static bool
walk_live(GbeApp *app, char *const *directories, Files *files, GError **error)
{
	for (guint i = 0; directories[i] != NULL; i++) {
		gbe_autofd int fd = -1;

		files->directory = directories[i];
		if (!open_live(app, directories[i], &fd, error))
			return false;
		if (fd >= 0 && (!gbe_tree_walk(fd, NULL, visit, files, error) ||
				(files->remove && !gbe_sync_fs(fd, directories[i], error))))
			return gbe_prefix(error, "%s", directories[i]);
	}
	return true;
}

bool
gbe_certs_find(GbeApp *app, char *const *directories, char *const *patterns, GPtrArray *paths,
	       GError **error)
{
	Files files = {.patterns = patterns, .paths = paths};

	return walk_live(app, directories, &files, error);
}

bool
gbe_certs_remove(GbeApp *app, char *const *directories, char *const *patterns, GError **error)
{
	Files files = {.patterns = patterns, .remove = true};

	return walk_live(app, directories, &files, error);
}

/* ---- back ---- */

static bool
make_dir(int archive_fd, int live_fd, const char *name, int *ret_fd, GError **error)
{
	gbe_autofd int from_fd = -1;
	gbe_autofd int to_fd = -1;
	struct stat st;

	if (mkdirat(live_fd, name, 0700) < 0)
		return gbe_throw_errno(error, errno, "make the directory %s", name);
	if (!gbe_open_dir_at(archive_fd, name, &from_fd, error) ||
	    !gbe_open_dir_at(live_fd, name, &to_fd, error))
		return false;
	if (fstat(from_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "look at the copy of %s", name);
	if (!gbe_metadata_copy(from_fd, to_fd, &st, name, error))
		return false;
	*ret_fd = gbe_steal_fd(&to_fd);
	return true;
}

/* The parent directory of @path's last component, below both tops. */
static bool
open_parent(const Files *files, const char *path, int *ret_fd, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);
	gbe_autofd int from_fd = fcntl(files->archive_fd, F_DUPFD_CLOEXEC, 0);
	gbe_autofd int to_fd = fcntl(files->live_fd, F_DUPFD_CLOEXEC, 0);

	for (guint i = 0; parts[i + 1] != NULL; i++) {
		gbe_autofd int from_above = gbe_steal_fd(&from_fd);
		gbe_autofd int to_above = gbe_steal_fd(&to_fd);
		g_autoptr(GError) local = NULL;

		if (!gbe_open_dir_at(to_above, parts[i], &to_fd, &local)) {
			if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
				return false;
			if (!make_dir(from_above, to_above, parts[i], &to_fd, error))
				return false;
		}
		if (!gbe_open_dir_at(from_above, parts[i], &from_fd, error))
			return false;
	}
	*ret_fd = gbe_steal_fd(&to_fd);
	return true;
}

static bool
copy_link(int from_dir, const char *name, int to_dir, const struct stat *st, GError **error)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(from_dir, name, target, sizeof(target) - 1);

	if (length < 0)
		return gbe_throw_errno(error, errno, "read the copy of %s", name);
	target[length] = '\0';
	if (symlinkat(target, to_dir, name) < 0)
		return gbe_throw_errno(error, errno, "make the symlink %s", name);
	return gbe_metadata_copy_link_at(from_dir, name, to_dir, name, st, name, error);
}

typedef struct {
	int from_fd;
	const char *name;
	const struct stat *st;
} Copy;

static bool
fill(int fd, gpointer data, GError **error)
{
	const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK};
	const Copy *copy = data;

	return gbe_clone_file(copy->from_fd, fd, copy->name, &options, NULL, NULL, error) &&
	       gbe_metadata_copy(copy->from_fd, fd, copy->st, copy->name, error);
}

static bool
copy_file(int from_dir, const char *name, int to_dir, const struct stat *st, GError **error)
{
	gbe_autofd int from_fd =
	    openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	Copy copy = {from_fd, name, st};

	if (from_fd < 0)
		return gbe_throw_errno(error, errno, "open the copy of %s", name);
	return gbe_write_new_at(to_dir, name, fill, &copy, error);
}

/* No file of that name exists: gbe_certs_remove() came before. */
static bool
put_back_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	       GError **error)
{
	const Files *files = data;
	gbe_autofd int to_dir = -1;

	if (!is_meant(files, path, st))
		return true;
	if (!open_parent(files, path, &to_dir, error))
		return false;
	if (S_ISLNK(st->st_mode) ? !copy_link(dir_fd, name, to_dir, st, error)
				 : !copy_file(dir_fd, name, to_dir, st, error))
		return gbe_prefix(error, "put %s/%s back", files->directory, path);
	return !GBE_FAULT("certs-file-put-back", error);
}

/* Puts back the directory with that index; does nothing when the archive has no copy of it. */
static bool
put_back(GbeApp *app, const GbeCertsArchive *archive, guint index, GError **error)
{
	const char *path = archive->directories[index];
	Files files = {.directory = path, .patterns = archive->patterns};
	g_autofree char *name = g_strdup_printf("%u", index);
	gbe_autofd int archive_fd = -1;
	gbe_autofd int live_fd = -1;
	g_autoptr(GError) local = NULL;
	struct stat st;

	if (!gbe_open_dir_at(archive->fd, name, &archive_fd, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	if (!open_live(app, path, &live_fd, error))
		return false;
	if (live_fd < 0) {
		if (fstat(archive_fd, &st) < 0)
			return gbe_throw_errno(error, errno, "look at the copy of %s", path);
		if (!gbe_make_dirs(app->root_fd, path, 0700, &live_fd, error) ||
		    !gbe_metadata_copy(archive_fd, live_fd, &st, path, error))
			return false;
	}
	files.archive_fd = archive_fd;
	files.live_fd = live_fd;
	return gbe_tree_walk(archive_fd, NULL, put_back_visit, &files, error) &&
	       gbe_sync_fs(live_fd, path, error);
}

bool
gbe_certs_archive_put_back(GbeApp *app, const GbeCertsArchive *archive, GError **error)
{
	for (guint i = 0; archive->directories[i] != NULL; i++)
		if (!put_back(app, archive, i, error))
			return gbe_prefix(error, "%s", archive->directories[i]);
	return true;
}

bool
gbe_certs_archive_find(const GbeCertsArchive *archive, GPtrArray *paths, GError **error)
{
	for (guint i = 0; archive->directories[i] != NULL; i++) {
		Files files = {.directory = archive->directories[i],
			       .patterns = archive->patterns,
			       .paths = paths};
		g_autofree char *name = g_strdup_printf("%u", i);
		gbe_autofd int fd = -1;
		g_autoptr(GError) local = NULL;

		if (gbe_open_dir_at(archive->fd, name, &fd, &local)
			? !gbe_tree_walk(fd, NULL, visit, &files, error)
			: !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND) &&
			      gbe_throw(error, GBE_ERROR_FAILED, "%s", local->message))
			return false;
	}
	return true;
}
