/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/depot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/state/history.h"
#include "core/snapshot/name.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/part.h"
#include "fs/sync.h"
#include "fs/tree.h"

typedef struct {
	GbeDepot depot;
	int fd;
} Directory;

static int
fd_of(const GbeDepot *depot)
{
	return ((const Directory *)depot)->fd;
}

/* The directory of the entry, and the name of the file in it. */
static bool
open_entry(const GbeDepot *depot, const char *path, int *ret_fd, const char **ret_file,
	   GError **error)
{
	const char *slash = strchr(path, '/');
	g_autofree char *entry = slash != NULL ? g_strndup(path, (gsize)(slash - path)) : NULL;

	*ret_file = slash != NULL ? slash + 1 : path;
	return gbe_open_dir_at(fd_of(depot), entry != NULL ? entry : ".", ret_fd, error);
}

static bool
list_files(const GbeDepot *depot, const char *entry, GbeDepotEach each, gpointer data,
	   GError **error)
{
	gbe_autofd int entry_fd = -1;
	g_auto(GbeList) list = {NULL};
	const char *name;
	struct stat st;

	if (!gbe_open_dir_at(fd_of(depot), entry, &entry_fd, NULL))
		return each(entry, "", GBE_DEPOT_ODD, data, error);
	if (!each(entry, "", 0, data, error))
		return false;
	list = gbe_list_open_at(entry_fd, entry);
	while ((name = gbe_list_next(&list)) != NULL) {
		bool regular =
		    fstatat(entry_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);

		if (!each(entry, name, regular ? (guint64)st.st_size : GBE_DEPOT_ODD, data, error))
			return false;
	}
	return gbe_list_end(&list, NULL) || each(entry, "", GBE_DEPOT_ODD, data, error);
}

static bool
list_directory(GbeDepot *depot, GbeDepotEach each, gpointer data, GError **error)
{
	g_auto(GbeList) list = gbe_list_open_at(fd_of(depot), depot->shown);
	const char *name;
	struct stat st;

	while ((name = gbe_list_next(&list)) != NULL) {
		bool is_entry = gbe_snapshot_name_parse(name, NULL) &&
				(fstatat(fd_of(depot), name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
				 S_ISDIR(st.st_mode));

		if (!(is_entry ? list_files(depot, name, each, data, error)
			       : each(name, NULL, 0, data, error)))
			return false;
	}
	return gbe_list_end(&list, error);
}

static bool
open_file(const GbeDepot *depot, const char *path, int *ret_fd, guint64 *ret_size, GError **error)
{
	gbe_autofd int entry_fd = -1;
	gbe_autofd int fd = -1;
	const char *file;
	struct stat st;

	if (!open_entry(depot, path, &entry_fd, &file, error))
		return false;
	fd = openat(entry_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot open %s", path);
	if (!S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_REFUSED, "%s is not a regular file", path);
	*ret_size = (guint64)st.st_size;
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

static bool
size_of(GbeDepot *depot, const char *path, guint64 *ret_size, GError **error)
{
	gbe_autofd int fd = -1;

	return open_file(depot, path, &fd, ret_size, error);
}

static bool
read_small(GbeDepot *depot, const char *path, gsize max, char **ret_bytes, gsize *ret_size,
	   GError **error)
{
	gbe_autofd int entry_fd = -1;
	const char *file;

	return open_entry(depot, path, &entry_fd, &file, error) &&
	       gbe_read_file_at(entry_fd, file, max, ret_bytes, ret_size, error);
}

static bool
use_file(GbeDepot *depot, const char *path, GbeDepotUse use_fd, gpointer data, GError **error)
{
	gbe_autofd int fd = -1;
	guint64 size;

	return open_file(depot, path, &fd, &size, error) && use_fd(fd, data, error);
}

static bool
copy_to_part(GbeDepot *depot, int fd, guint64 size, GbePart *part, GError **error)
{
	guint8 bytes[65536], back[65536];
	gsize got = 0, back_got = 0;

	for (guint64 at = 0; at < size; at += got) {
		gsize want = MIN(sizeof(bytes), size - at);

		if (!gbe_read_at(fd, bytes, want, at, &got, part->name, error))
			return false;
		if (got != want)
			return gbe_throw(error, GBE_ERROR_FAILED, "%s is shorter than it was",
					 part->name);
		if (!gbe_part_write(part, bytes, got, error))
			return false;
		depot->sent += got;
		if (depot->progress != NULL && !depot->progress(got, depot->progress_data))
			return gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
	}
	if (!gbe_sync_file(part->fd, part->name, error))
		return false;
	/* Compares the bytes on the disk, not those in the kernel's cache. */
	(void)posix_fadvise(part->fd, 0, 0, POSIX_FADV_DONTNEED);
	for (guint64 at = 0; at < size; at += got) {
		gsize want = MIN(sizeof(bytes), size - at);

		if (!gbe_read_at(fd, bytes, want, at, &got, part->name, error) ||
		    !gbe_read_at(part->fd, back, want, at, &back_got, part->name, error))
			return false;
		if (got != want || back_got != want || memcmp(bytes, back, want) != 0)
			return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "the bytes that were read back differ from those written");
	}
	return true;
}

/* An interrupted copy begins again: a share may be slow, but loses no complete file. */
static bool
put_file(GbeDepot *depot, const char *path, int fd, guint64 size,
	 const GbeDepotResume *resume G_GNUC_UNUSED, GError **error)
{
	const char *slash = strchr(path, '/');
	g_autofree char *entry = slash != NULL ? g_strndup(path, (gsize)(slash - path)) : NULL;
	gbe_autofd int entry_fd = -1;
	g_auto(GbePart) part = {.fd = -1};
	const char *file;

	if (entry != NULL && mkdirat(fd_of(depot), entry, 0700) < 0) {
		if (errno != EEXIST)
			return gbe_throw_errno(error, errno, "make %s", entry);
	} else if (!gbe_sync_dir(fd_of(depot), depot->shown, error)) {
		return false;
	}
	if (!open_entry(depot, path, &entry_fd, &file, error) ||
	    !gbe_part_begin(entry_fd, file, true, &part, error))
		return false;
	return copy_to_part(depot, fd, size, &part, error) && gbe_part_publish(&part, error);
}

static bool
unpublish(GbeDepot *depot, const char *path, GError **error)
{
	g_autofree char *part = NULL;
	gbe_autofd int entry_fd = -1;
	const char *file;

	if (!open_entry(depot, path, &entry_fd, &file, error))
		return false;
	part = g_strconcat(file, GBE_PART_SUFFIX, NULL);
	if (renameat(entry_fd, file, entry_fd, part) < 0)
		return gbe_throw_errno(error, errno, "cannot remove %s", path);
	return gbe_sync_dir(entry_fd, path, error);
}

static bool
remove_file(GbeDepot *depot, const char *path, GError **error)
{
	gbe_autofd int entry_fd = -1;
	const char *file;

	if (!open_entry(depot, path, &entry_fd, &file, error))
		return false;
	if (unlinkat(entry_fd, file, 0) < 0 && errno != ENOENT)
		return gbe_throw_errno(error, errno, "cannot remove %s", path);
	return gbe_sync_dir(entry_fd, path, error);
}

static bool
list_entry(GbeDepot *depot, const char *entry, GbeDepotEach each, gpointer data, GError **error)
{
	struct stat st;

	return (fstatat(fd_of(depot), entry, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) ||
	       list_files(depot, entry, each, data, error);
}

static bool
remove_entry(GbeDepot *depot, const char *entry, GError **error)
{
	return gbe_remove_tree_at(fd_of(depot), entry, error);
}

static void
free_directory(GbeDepot *depot)
{
	Directory *directory = (Directory *)depot;

	gbe_close_fd(&directory->fd);
	g_free(directory);
}

static const GbeDepotKind kind = {
    .list = list_directory,
    .size = size_of,
    .read = read_small,
    .use = use_file,
    .put = put_file,
    .unpublish = unpublish,
    .remove = remove_file,
    .files = list_entry,
    .remove_entry = remove_entry,
    .directory = fd_of,
    .free = free_directory,
};

bool
gbe_depot_open_directory(GbeApp *app, const char *path, GbeDepot **ret_place, GError **error)
{
	g_autofree char *absolute =
	    app->below_root ? g_strdup(path) : g_canonicalize_filename(path, NULL);
	g_autofree char *folded = g_canonicalize_filename(absolute, "/");
	g_autoptr(GbeDepot) depot = NULL;
	g_auto(GbeOffsite) offsite = {0};
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = -1;

	if (!gbe_open_in_root(app->root_fd, absolute, O_RDONLY | O_DIRECTORY, &fd, &local)) {
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return gbe_throw(error, GBE_ERROR_NOT_FOUND,
					 "the store %s does not exist; create the directory, or "
					 "mount its file system",
					 path);
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "the store: %s; --store=DIR names another one", local->message);
	}
	depot = (GbeDepot *)g_new0(Directory, 1);
	*depot = (GbeDepot){.kind = &kind,
			    .app = app,
			    .shown = g_strdup(path),
			    .identifier = gbe_path_to_text(folded)};
	((Directory *)depot)->fd = gbe_steal_fd(&fd);
	/* With the disk or the share missing, its mount point would fill the disk that etcd writes to. */
	if (gbe_app_open_state(app, false, NULL) &&
	    gbe_history_load(app, depot->identifier, &offsite, NULL) && offsite.elsewhere &&
	    !gbe_depot_is_elsewhere(depot))
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "nothing is mounted at the store %s, which was a disk or a share "
				 "of its own at the last push; mount it",
				 path);
	*ret_place = g_steal_pointer(&depot);
	return true;
}
