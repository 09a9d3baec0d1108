/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/restore.h"

#include "base/fault.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/sync.h"
#include "fs/write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static bool
is_excluded(const char *name)
{
	return g_str_has_prefix(name, GBE_TMP_PREFIX) || g_strv_contains(gbe_data_exclude, name);
}

/* *ret_inode 0: there is no @name. */
static bool
inode_of(int dir_fd, const char *name, guint64 *ret_inode, GError **error)
{
	struct stat st = {0};

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT)
		return gbe_throw_errno(error, errno, "look at %s", name);
	*ret_inode = st.st_ino;
	return true;
}

static gint
compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool
gbe_entries_plan(int staged_fd, const char *last, char ***ret_entries, GError **error)
{
	g_autoptr(GStrvBuilder) entries = g_strv_builder_new();
	g_autoptr(GPtrArray) names = NULL;

	if (!gbe_list_at(staged_fd, "the staging tree", &names, error))
		return false;
	g_ptr_array_sort(names, compare_names);
	for (guint round = 0; round < 2; round++)
		for (guint i = 0; i < names->len; i++) {
			const char *name = names->pdata[i];
			g_autofree char *text = NULL;
			guint64 inode;

			if (is_excluded(name) || (g_strcmp0(name, last) == 0) != (round == 1))
				continue;
			if (!inode_of(staged_fd, name, &inode, error))
				return false;
			text = g_strdup_printf("%" G_GUINT64_FORMAT ":%s", inode, name);
			g_strv_builder_add(entries, text);
		}
	*ret_entries = g_strv_builder_end(entries);
	return true;
}

static bool
split_entry(const char *entry, guint64 *ret_inode, const char **ret_name, GError **error)
{
	char *name = NULL;

	*ret_inode = g_ascii_strtoull(entry, &name, 10);
	if (*ret_inode == 0 || *name != ':' || name[1] == '\0' || strchr(name + 1, '/') != NULL)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "the intent lists \"%s\"", entry);
	*ret_name = name + 1;
	return true;
}

/* Moves out all entries that the new tree lacks, however many there are. */
static bool
move_others(int live_fd, int staged_fd, char *const *entries, GError **error)
{
	g_autoptr(GHashTable) stay = g_hash_table_new(g_str_hash, g_str_equal);
	g_auto(GbeList) list = gbe_list_open_at(live_fd, "the data directory");
	const char *other;

	for (char *const *entry = entries; *entry != NULL; entry++) {
		guint64 inode;
		const char *name;

		if (!split_entry(*entry, &inode, &name, error))
			return false;
		g_hash_table_add(stay, (gpointer)name);
	}
	while ((other = gbe_list_next(&list)) != NULL) {
		g_autoptr(GError) local = NULL;

		/* An entry that was moved out before, and is there again, was made since: a system without this program
		 * ran between. */
		if (!is_excluded(other) && !g_hash_table_contains(stay, other) &&
		    !gbe_rename_new_at(live_fd, other, staged_fd, other, &local) &&
		    !gbe_pass_unless(error, &local, GBE_ERROR_BUSY))
			return false;
	}
	return gbe_list_end(&list, error);
}

bool
gbe_entries_exchange(int live_fd, int staged_fd, char *const *entries, GError **error)
{
	static const char context[] = "exchange the entries of the data directory";

	for (char *const *entry = entries; *entry != NULL; entry++) {
		const char *name;
		guint64 wanted, staged, live;
		bool ok = true;

		if (entry[1] == NULL && !move_others(live_fd, staged_fd, entries, error))
			return gbe_prefix(error, "%s", context);
		if (!split_entry(*entry, &wanted, &name, error) ||
		    !inode_of(staged_fd, name, &staged, error) ||
		    !inode_of(live_fd, name, &live, error))
			return gbe_prefix(error, "%s", context);
		/* Else the entry is in its place; or it was, and a system without this program has replaced it since. */
		if (staged == wanted)
			ok = live != 0 ? gbe_exchange_at(live_fd, name, staged_fd, name, error)
				       : gbe_rename_new_at(staged_fd, name, live_fd, name, error);
		if (!ok || GBE_FAULT("entries-one-exchanged", error))
			return gbe_prefix(error, "%s", context);
	}
	return gbe_sync_dir(live_fd, "the data directory", error) &&
	       gbe_sync_dir(staged_fd, "the staging directory", error);
}

bool
gbe_entries_are_live(int live_fd, char *const *entries, bool *ret_live, GError **error)
{
	guint len = g_strv_length((char **)entries);
	guint64 wanted = 0, inode = 0;
	const char *name;

	if (len > 0 && (!split_entry(entries[len - 1], &wanted, &name, error) ||
			!inode_of(live_fd, name, &inode, error)))
		return false;
	*ret_live = len > 0 && inode == wanted;
	return true;
}
