/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/certs/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/health/certificates.h"
#include "base/fault.h"
#include "core/config/lists.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/record/fields.h"
#include "fs/copy/clone.h"
#include "fs/copy/metadata.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/sync.h"
#include "fs/tree.h"
#include "fs/write.h"

#define DIRECTORY "certs"
#define PARTIAL ".partial"
#define OPEN_SUFFIX ".open"
#define RECORD "record"
/* Certificates are small: a larger directory is a mistake, for instance a data directory. */
#define BYTES_MAX (64 * 1024 * 1024)
#define KEPT 2

static const GbeField fields[] = {
    GBE_FIELD(GbeCertsArchive, directories, "directories", NAMES),
    GBE_FIELD(GbeCertsArchive, patterns, "regenerated", NAMES),
    {0},
};

void
gbe_certs_archive_free(GbeCertsArchive *archive)
{
	if (archive == NULL)
		return;
	gbe_fields_clear(fields, archive);
	gbe_close_fd(&archive->dir_fd);
	gbe_close_fd(&archive->fd);
	g_free(archive);
}

static bool
open_directory(GbeApp *app, bool make, int *ret_fd, GError **error)
{
	const char *const names[] = {DIRECTORY, NULL};

	return gbe_app_open_state(app, make, error) &&
	       gbe_own_dir_open_at(app->state_fd, names, make, ret_fd, error);
}

static char *
name_of(guint64 number, bool open)
{
	return g_strdup_printf("%" G_GUINT64_FORMAT "%s", number, open ? OPEN_SUFFIX : "");
}

/* The open archive first, then the highest number. */
static int
newer_first(gconstpointer a, gconstpointer b)
{
	const GbeCertsArchive *const *one = a, *const *other = b;

	if ((*one)->open != (*other)->open)
		return (*one)->open ? -1 : 1;
	return (*one)->number > (*other)->number ? -1 : 1;
}

/* Fills only ->number and ->open. */
static bool
list_archives(int dir_fd, GPtrArray **ret_archives, GError **error)
{
	g_autoptr(GPtrArray) names = NULL;
	GPtrArray *archives;

	if (!gbe_list_at(dir_fd, GBE_STATE_DIR "/" DIRECTORY, &names, error))
		return false;
	archives = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_certs_archive_free);
	for (guint i = 0; i < names->len; i++) {
		GbeCertsArchive archive = {.dir_fd = -1, .fd = -1};

		g_autofree char *digits = g_strdup(names->pdata[i]);

		archive.open = g_str_has_suffix(digits, OPEN_SUFFIX);
		if (archive.open)
			digits[strlen(digits) - strlen(OPEN_SUFFIX)] = '\0';
		/* An archive has no other names. */
		if (g_ascii_string_to_unsigned(digits, 10, 1, G_MAXINT64, &archive.number, NULL))
			g_ptr_array_add(archives, g_memdup2(&archive, sizeof(archive)));
	}
	g_ptr_array_sort(archives, newer_first);
	*ret_archives = archives;
	return true;
}

/* ---- the record ---- */

static bool
read_record(GbeCertsArchive *archive, GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	if (!gbe_read_file_at(archive->fd, RECORD, GBE_JSON_MAX_SIZE, &bytes, &size, error) ||
	    !gbe_record_open(bytes, size, RECORD, &object, error))
		return false;
	gbe_fields_read_known(fields, object, archive);
	/* Callers expect an empty list, not NULL. */
	if (archive->directories == NULL)
		archive->directories = g_new0(char *, 1);
	if (archive->patterns == NULL)
		archive->patterns = g_new0(char *, 1);
	return true;
}

bool
gbe_certs_archive_newest(GbeApp *app, GbeCertsArchive **ret_archive, GError **error)
{
	g_autoptr(GPtrArray) archives = NULL;
	g_autoptr(GbeCertsArchive) newest = NULL;
	g_autoptr(GError) local = NULL;
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;

	if (!open_directory(app, false, &dir_fd, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
		*ret_archive = NULL;
		return true;
	}
	if (!list_archives(dir_fd, &archives, error))
		return false;
	if (archives->len > 0) {
		newest = g_ptr_array_steal_index(archives, 0);
		name = name_of(newest->number, newest->open);
		newest->dir_fd = gbe_steal_fd(&dir_fd);
		if (!gbe_open_dir_at(newest->dir_fd, name, &newest->fd, error) ||
		    !read_record(newest, error))
			return gbe_prefix(error, "%s/" DIRECTORY "/%s", GBE_STATE_DIR, name);
	}
	*ret_archive = g_steal_pointer(&newest);
	return true;
}

/* ---- making one ---- */

/* Leaves out directories that do not exist. A file that goes away meanwhile is an error: without the directory, the
 * way back would remove its files. */
static bool
copy_directory(GbeApp *app, const char *path, int to_fd, guint index, GError **error)
{
	const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK};
	g_auto(GbeCloneResult) result = {0};
	g_auto(GbeTreeInfo) info = {0};
	g_autoptr(GError) local = NULL;
	g_autofree char *to = g_strdup_printf("%u", index);
	g_autofree char *name = NULL;
	gbe_autofd int parent_fd = -1, fd = -1, from_fd = -1;
	bool ok;

	if (!gbe_open_in_root(app->root_fd, path, O_RDONLY | O_DIRECTORY, &fd, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND) ||
		       gbe_prefix(error, "archive %s", path);
	ok = gbe_open_parent_in_root(app->root_fd, path, &parent_fd, &name, error) &&
	     gbe_open_dir_at(parent_fd, name, &from_fd, error) &&
	     gbe_tree_scan(from_fd, NULL, NULL, &info, error);
	if (ok && (info.files > GBE_CERTS_MAX || info.bytes > BYTES_MAX))
		ok = gbe_throw(error, GBE_ERROR_REFUSED,
			       "%s has %" G_GUINT64_FORMAT " files of %" G_GUINT64_FORMAT
			       " bytes, more than certificates take up; name the directory that "
			       "has them alone in [certs] directories",
			       path, info.files, info.bytes);
	if (ok && gbe_clone_tree_at(parent_fd, name, to_fd, to, &options, &result, error))
		return true;
	gbe_rethrow_if(error, GBE_ERROR_NOT_FOUND, GBE_ERROR_FAILED);
	return gbe_prefix(error, "archive %s", path);
}

static bool
fill_archive(GbeApp *app, const GbeCertsArchive *archive, GError **error)
{
	g_autoptr(JsonObject) object = json_object_new();
	g_autofree char *json = NULL;
	g_autofree char *sealed = NULL;

	for (guint i = 0; archive->directories[i] != NULL; i++)
		if (!copy_directory(app, archive->directories[i], archive->fd, i, error))
			return false;
	gbe_json_set_format(object, 1, GBE_VERSION);
	gbe_fields_print(fields, object, archive);
	json = gbe_json_print_object(object);
	sealed = gbe_record_seal(json);
	return gbe_write_file_at(archive->fd, RECORD, sealed, strlen(sealed), 0600, GBE_WRITE_LATER,
				 error) &&
	       !GBE_FAULT("certs-archive-filled", error) &&
	       gbe_sync_fs(archive->fd, "the archive of certificates", error);
}

bool
gbe_certs_archive_make(GbeApp *app, char *const *directories, char *const *patterns,
		       GbeCertsArchive **ret_archive, GError **error)
{
	g_autoptr(GbeCertsArchive) archive = g_new0(GbeCertsArchive, 1);
	g_autoptr(GPtrArray) archives = NULL;
	g_autoptr(GError) ignored = NULL;
	g_autofree char *name = NULL;

	*archive = (GbeCertsArchive){.number = 1,
				     .open = true,
				     .directories = g_strdupv((char **)directories),
				     .patterns = g_strdupv((char **)patterns),
				     .dir_fd = -1,
				     .fd = -1};
	if (!open_directory(app, true, &archive->dir_fd, error) ||
	    !gbe_remove_tree_at(archive->dir_fd, PARTIAL, error) ||
	    !list_archives(archive->dir_fd, &archives, error))
		return false;
	if (archives->len > 0)
		archive->number = ((const GbeCertsArchive *)archives->pdata[0])->number + 1;
	name = name_of(archive->number, true);
	if (mkdirat(archive->dir_fd, PARTIAL, 0700) < 0)
		return gbe_throw_errno(error, errno, "make an archive of certificates");
	if (!gbe_open_dir_at(archive->dir_fd, PARTIAL, &archive->fd, error) ||
	    !fill_archive(app, archive, error) ||
	    !gbe_rename_new_at(archive->dir_fd, PARTIAL, archive->dir_fd, name, error) ||
	    !gbe_sync_dir(archive->dir_fd, name, error)) {
		(void)!gbe_remove_tree_at(archive->dir_fd, PARTIAL, &ignored);
		return false;
	}
	*ret_archive = g_steal_pointer(&archive);
	return true;
}

/* ---- its end ---- */

static bool
discard_archive(int dir_fd, const char *name, GError **error)
{
	return gbe_remove_tree_at(dir_fd, PARTIAL, error) &&
	       gbe_rename_new_at(dir_fd, name, dir_fd, PARTIAL, error) &&
	       gbe_sync_dir(dir_fd, name, error) && gbe_remove_tree_at(dir_fd, PARTIAL, error);
}

bool
gbe_certs_archive_close(GbeCertsArchive *archive, GError **error)
{
	g_autofree char *from = name_of(archive->number, true);
	g_autofree char *to = name_of(archive->number, false);
	g_autoptr(GPtrArray) archives = NULL;

	if (!gbe_rename_new_at(archive->dir_fd, from, archive->dir_fd, to, error) ||
	    !gbe_sync_dir(archive->dir_fd, to, error))
		return false;
	archive->open = false;
	if (!list_archives(archive->dir_fd, &archives, error))
		return false;
	for (guint i = KEPT; i < archives->len; i++) {
		const GbeCertsArchive *old = archives->pdata[i];
		g_autofree char *name = name_of(old->number, old->open);

		if (!discard_archive(archive->dir_fd, name, error))
			return false;
	}
	return true;
}

bool
gbe_certs_archive_drop(GbeCertsArchive *archive, GError **error)
{
	g_autofree char *name = name_of(archive->number, archive->open);

	return discard_archive(archive->dir_fd, name, error);
}

/* ---- the files ---- */

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
visit_file(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
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

/* *ret_fd is -1 when the directory does not exist. Its last component is not a symlink, because it was archived. */
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
		if (fd >= 0 && (!gbe_tree_walk(fd, NULL, NULL, visit_file, files, error) ||
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
fill_file(int fd, gpointer data, GError **error)
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
	return gbe_write_new_at(to_dir, name, fill_file, &copy, error);
}

/* Makes the directories above the file where they are missing. No file of that name exists: gbe_certs_remove() came
 * before. */
static bool
put_back_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	       GError **error)
{
	const Files *files = data;
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);
	gbe_autofd int from_fd = -1;
	gbe_autofd int to_fd = -1;

	if (!is_meant(files, path, st))
		return true;
	from_fd = fcntl(files->archive_fd, F_DUPFD_CLOEXEC, 0);
	to_fd = fcntl(files->live_fd, F_DUPFD_CLOEXEC, 0);
	for (guint i = 0; parts[i + 1] != NULL; i++) {
		gbe_autofd int from_above = gbe_steal_fd(&from_fd);
		gbe_autofd int to_above = gbe_steal_fd(&to_fd);
		g_autoptr(GError) local = NULL;

		if (!gbe_open_dir_at(from_above, parts[i], &from_fd, error))
			return false;
		if (!gbe_open_dir_at(to_above, parts[i], &to_fd, &local) &&
		    (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND) ||
		     !gbe_clone_top_at(from_fd, to_above, parts[i], false, error) ||
		     !gbe_open_dir_at(to_above, parts[i], &to_fd, error)))
			return false;
	}
	if (S_ISLNK(st->st_mode) ? !copy_link(dir_fd, name, to_fd, st, error)
				 : !copy_file(dir_fd, name, to_fd, st, error))
		return gbe_prefix(error, "put %s/%s back", files->directory, path);
	return !GBE_FAULT("certs-file-put-back", error);
}

/* Puts back the directory with that index; does nothing when the archive has no copy of it. */
static bool
put_back_directory(GbeApp *app, const GbeCertsArchive *archive, guint index, GError **error)
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
	return gbe_tree_walk(archive_fd, NULL, NULL, put_back_visit, &files, error) &&
	       gbe_sync_fs(live_fd, path, error);
}

bool
gbe_certs_archive_put_back(GbeApp *app, const GbeCertsArchive *archive, GError **error)
{
	for (guint i = 0; archive->directories[i] != NULL; i++)
		if (!put_back_directory(app, archive, i, error))
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
			? !gbe_tree_walk(fd, NULL, NULL, visit_file, &files, error)
			: !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND) &&
			      gbe_throw(error, GBE_ERROR_FAILED, "%s", local->message))
			return false;
	}
	return true;
}

bool
gbe_certs_archive_return(GbeApp *app, const GbeCertsArchive *archive, GError **error)
{
	g_autoptr(GError) local = NULL;

	if (archive != NULL &&
	    gbe_certs_remove(app, archive->directories, archive->patterns, &local) &&
	    gbe_certs_archive_put_back(app, archive, &local))
		return true;
	return gbe_throw(error, GBE_ERROR_PARTIAL,
			 "some archived files are missing%s%s; run `greenboot-etcd certs reset "
			 "--undo` to put them back",
			 local != NULL ? ": " : "", local != NULL ? local->message : "");
}
