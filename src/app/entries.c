/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/entries.h"

#include "app/data.h"
#include "base/fault.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/sync.h"
#include "fs/write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static gboolean
excluded(const char *name)
{
	return g_str_has_prefix(name, GBE_TMP_PREFIX) || g_strv_contains(gbe_data_exclude, name);
}

static bool
add_names(int dir_fd, GHashTable *names, GError **error)
{
	g_autoptr(GPtrArray) list = NULL;

	if (!gbe_list_at(dir_fd, "what is to change places", &list, error))
		return false;
	for (guint i = 0; i < list->len; i++)
		if (!excluded(list->pdata[i]))
			g_hash_table_add(names, g_strdup(list->pdata[i]));
	return true;
}

static ino_t
inode_of(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
}

bool
gbe_entries_plan(int live_fd, int staged_fd, const char *last, char ***ret_entries, GError **error)
{
	g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GStrvBuilder) entries = g_strv_builder_new();
	g_autoptr(GList) sorted = NULL;

	if (!add_names(live_fd, names, error) || !add_names(staged_fd, names, error))
		return false;
	sorted = g_list_sort(g_hash_table_get_keys(names), (GCompareFunc)strcmp);
	for (guint round = 0; round < 2; round++)
		for (GList *item = sorted; item != NULL; item = item->next) {
			const char *name = item->data;
			gboolean is_last = g_strcmp0(name, last) == 0;
			g_autofree char *text = NULL;

			if (is_last != (round == 1))
				continue;
			text = g_strdup_printf("%" G_GUINT64_FORMAT ":%s",
					       (guint64)inode_of(staged_fd, name), name);
			g_strv_builder_add(entries, text);
		}
	*ret_entries = g_strv_builder_end(entries);
	return true;
}

static bool
exchange_one(int live_fd, int staged_fd, const char *entry, GError **error)
{
	char *name = NULL;
	guint64 wanted = g_ascii_strtoull(entry, &name, 10);
	ino_t live;

	if (name == NULL || *name != ':' || name[1] == '\0' || strchr(name + 1, '/') != NULL)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "the intent lists \"%s\"", entry);
	name++;
	live = inode_of(live_fd, name);
	if (live == wanted)
		return true;
	if (wanted == 0)
		return gbe_rename_new_at(live_fd, name, staged_fd, name, error);
	if (live == 0)
		return gbe_rename_new_at(staged_fd, name, live_fd, name, error);
	return gbe_exchange_at(live_fd, name, staged_fd, name, error);
}

bool
gbe_entries_exchange(int live_fd, int staged_fd, char *const *entries, GError **error)
{
	for (char *const *entry = entries; entry != NULL && *entry != NULL; entry++)
		if (!exchange_one(live_fd, staged_fd, *entry, error) ||
		    GBE_FAULT("entries-one-exchanged", error))
			return gbe_prefix(error, "exchange the entries of the data directory");
	return gbe_sync_dir(live_fd, "the data directory", error) &&
	       gbe_sync_dir(staged_fd, "the staging directory", error);
}
