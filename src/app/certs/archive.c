/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/certs/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/health/certificates.h"
#include "base/fault.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "fs/copy/clone.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/remove.h"
#include "fs/sync.h"
#include "fs/write.h"

#define DIRECTORY "certs"
#define PARTIAL ".partial"
#define OPEN_SUFFIX ".open"
#define RECORD "record"
/* Certificates are small: a larger directory is a mistake, for instance a data directory. */
#define BYTES_MAX (64 * 1024 * 1024)
#define KEPT 2

void
gbe_certs_archive_free(GbeCertsArchive *archive)
{
	if (archive == NULL)
		return;
	g_strfreev(archive->directories);
	g_strfreev(archive->patterns);
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

/* 0: not an archive of this program. */
static guint64
parse_name(const char *name, bool *ret_open)
{
	g_autofree char *digits = g_strdup(name);
	guint64 number = 0;

	*ret_open = g_str_has_suffix(name, OPEN_SUFFIX);
	if (*ret_open)
		digits[strlen(digits) - strlen(OPEN_SUFFIX)] = '\0';
	if (!g_ascii_string_to_unsigned(digits, 10, 1, G_MAXINT64, &number, NULL))
		return 0;
	return number;
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
list(int dir_fd, GPtrArray **ret_archives, GError **error)
{
	g_autoptr(GPtrArray) names = NULL;
	GPtrArray *archives;

	if (!gbe_list_at(dir_fd, GBE_STATE_DIR "/" DIRECTORY, &names, error))
		return false;
	archives = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_certs_archive_free);
	for (guint i = 0; i < names->len; i++) {
		GbeCertsArchive archive = {.dir_fd = -1, .fd = -1};

		archive.number = parse_name(names->pdata[i], &archive.open);
		if (archive.number > 0)
			g_ptr_array_add(archives, g_memdup2(&archive, sizeof(archive)));
	}
	g_ptr_array_sort(archives, newer_first);
	*ret_archives = archives;
	return true;
}

/* ---- the record ---- */

static char **
strv_of(JsonObject *object, const char *key)
{
	JsonArray *array = gbe_json_array(object, key);
	GPtrArray *words = g_ptr_array_new();

	for (guint i = 0; array != NULL && i < json_array_get_length(array); i++) {
		JsonNode *node = json_array_get_element(array, i);

		if (json_node_get_value_type(node) == G_TYPE_STRING)
			g_ptr_array_add(words, json_node_dup_string(node));
	}
	g_ptr_array_add(words, NULL);
	return (char **)g_ptr_array_free(words, false);
}

static bool
read_record(GbeCertsArchive *archive, GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	if (!gbe_read_file_at(archive->fd, RECORD, GBE_JSON_MAX_SIZE, &bytes, &size, error) ||
	    !gbe_record_open(bytes, size, RECORD, &object, error))
		return false;
	archive->directories = strv_of(object, "directories");
	archive->patterns = strv_of(object, "regenerated");
	return true;
}

static bool
write_record(int fd, char *const *directories, char *const *patterns, GError **error)
{
	g_autoptr(JsonObject) object = json_object_new();
	g_autofree char *json = NULL;
	g_autofree char *sealed = NULL;

	gbe_json_set_format(object, 1, GBE_VERSION);
	gbe_json_set_strv(object, "directories", directories);
	gbe_json_set_strv(object, "regenerated", patterns);
	json = gbe_json_print_object(object);
	sealed = gbe_record_seal(json);
	return gbe_write_file_at(fd, RECORD, sealed, strlen(sealed), 0600, GBE_WRITE_LATER, error);
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
	if (!list(dir_fd, &archives, error))
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

static bool
check_amount(int parent_fd, const char *name, const char *path, GError **error)
{
	g_auto(GbeTreeInfo) info = {0};
	gbe_autofd int fd = -1;

	if (!gbe_open_dir_at(parent_fd, name, &fd, error) || !gbe_tree_scan(fd, NULL, &info, error))
		return false;
	if (info.files <= GBE_CERTS_MAX && info.bytes <= BYTES_MAX)
		return true;
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s has %" G_GUINT64_FORMAT " files of %" G_GUINT64_FORMAT
			 " bytes, more than certificates take up; name the directory that has "
			 "them alone in [certs] directories",
			 path, info.files, info.bytes);
}

/* Leaves out directories that do not exist. A file that goes away meanwhile is an error: with the directory left out, going
 * back would remove what is in it. */
static bool
copy(GbeApp *app, const char *path, int to_fd, guint index, GError **error)
{
	const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK};
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) local = NULL;
	g_autofree char *to = g_strdup_printf("%u", index);
	g_autofree char *name = NULL;
	gbe_autofd int parent_fd = -1, fd = -1;

	if (!gbe_open_in_root(app->root_fd, path, O_RDONLY | O_DIRECTORY, &fd, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND) ||
		       gbe_prefix(error, "archive %s", path);
	if (gbe_open_parent_in_root(app->root_fd, path, &parent_fd, &name, error) &&
	    check_amount(parent_fd, name, path, error) &&
	    gbe_clone_tree_at(parent_fd, name, to_fd, to, &options, &result, error))
		return true;
	gbe_rethrow_if(error, GBE_ERROR_NOT_FOUND, GBE_ERROR_FAILED);
	return gbe_prefix(error, "archive %s", path);
}

static bool
fill(GbeApp *app, int fd, char *const *directories, char *const *patterns, GError **error)
{
	for (guint i = 0; directories[i] != NULL; i++)
		if (!copy(app, directories[i], fd, i, error))
			return false;
	return write_record(fd, directories, patterns, error) &&
	       !GBE_FAULT("certs-archive-filled", error) &&
	       gbe_sync_fs(fd, "the archive of certificates", error);
}

static bool
next_number(int dir_fd, guint64 *ret_number, GError **error)
{
	g_autoptr(GPtrArray) archives = NULL;

	if (!list(dir_fd, &archives, error))
		return false;
	*ret_number =
	    archives->len > 0 ? ((const GbeCertsArchive *)archives->pdata[0])->number + 1 : 1;
	return true;
}

bool
gbe_certs_archive_make(GbeApp *app, char *const *directories, char *const *patterns,
		       GbeCertsArchive **ret_archive, GError **error)
{
	g_autoptr(GbeCertsArchive) archive = g_new0(GbeCertsArchive, 1);
	g_autoptr(GError) ignored = NULL;
	g_autofree char *name = NULL;

	*archive = (GbeCertsArchive){.open = true, .dir_fd = -1, .fd = -1};
	if (!open_directory(app, true, &archive->dir_fd, error) ||
	    !gbe_remove_tree_at(archive->dir_fd, PARTIAL, error) ||
	    !next_number(archive->dir_fd, &archive->number, error))
		return false;
	name = name_of(archive->number, true);
	if (mkdirat(archive->dir_fd, PARTIAL, 0700) < 0)
		return gbe_throw_errno(error, errno, "make an archive of certificates");
	if (!gbe_open_dir_at(archive->dir_fd, PARTIAL, &archive->fd, error) ||
	    !fill(app, archive->fd, directories, patterns, error) ||
	    !gbe_rename_new_at(archive->dir_fd, PARTIAL, archive->dir_fd, name, error) ||
	    !gbe_sync_dir(archive->dir_fd, name, error)) {
		(void)!gbe_remove_tree_at(archive->dir_fd, PARTIAL, &ignored);
		return false;
	}
	archive->directories = g_strdupv((char **)directories);
	archive->patterns = g_strdupv((char **)patterns);
	*ret_archive = g_steal_pointer(&archive);
	return true;
}

/* ---- its end ---- */

static bool
discard(int dir_fd, const char *name, GError **error)
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
	if (!list(archive->dir_fd, &archives, error))
		return false;
	for (guint i = KEPT; i < archives->len; i++) {
		const GbeCertsArchive *old = archives->pdata[i];
		g_autofree char *name = name_of(old->number, old->open);

		if (!discard(archive->dir_fd, name, error))
			return false;
	}
	return true;
}

bool
gbe_certs_archive_drop(GbeCertsArchive *archive, GError **error)
{
	g_autofree char *name = name_of(archive->number, archive->open);

	return discard(archive->dir_fd, name, error);
}
