/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists the store: backups, names that are taken, and entries that cannot be read. */
#include "app/backups/store.h"

#include "core/backup-name.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

bool
gbe_store_has_data(int entry_fd, bool *ret_has, GError **error)
{
	struct stat st;

	*ret_has = fstatat(entry_fd, GBE_STORE_DATA, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*ret_has)
		return errno == ENOENT || gbe_throw_errno(error, errno, "look for " GBE_STORE_DATA);
	*ret_has = S_ISDIR(st.st_mode);
	return true;
}

static void
count_sequence(GbeFacts *facts, guint64 sequence)
{
	if (sequence >= facts->next_sequence && sequence < G_MAXINT64)
		facts->next_sequence = sequence + 1;
}

static bool
observe_entry(GbeStore *store, const char *name, GbeFacts *facts, GError **error)
{
	g_autoptr(GbeManifest) manifest = NULL;
	gbe_autofd int entry_fd = -1;
	bool has_data = false;

	if (!gbe_open_dir_at(store->fd, name, &entry_fd, error) ||
	    !gbe_store_read_manifest(store, entry_fd, name, &manifest, error) ||
	    !gbe_store_has_data(entry_fd, &has_data, error))
		return false;
	if (!manifest->consumed && !has_data)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "backup %s has no data", name);
	count_sequence(facts, manifest->sequence);
	g_ptr_array_add(facts->backups, g_steal_pointer(&manifest));
	return true;
}

/* Another user's file or link with such a name has no manifest to read. */
static bool
may_be_a_backup(const GbeStore *store, const char *name)
{
	g_autofree char *path = g_build_filename(name, GBE_MANIFEST_NAME, NULL);
	struct stat st;

	if (fstatat(store->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return S_ISREG(st.st_mode);
	return errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
}

static void
observe_name(GbeStore *store, const char *name, GbeFacts *facts, GPtrArray *damaged)
{
	g_autoptr(GError) error = NULL;
	const char *base = name;
	guint64 sequence = 0;
	GbeNameKind kind;

	if (g_str_has_prefix(name, GBE_RUNG_PARTIAL))
		base = name + strlen(GBE_RUNG_PARTIAL);
	else if (g_str_has_prefix(name, GBE_RUNG_PENDING))
		base = name + strlen(GBE_RUNG_PENDING);
	g_hash_table_add(facts->taken, g_strdup(base));
	kind = gbe_backup_name_parse(base, NULL, NULL, &sequence);
	if (kind == GBE_NAME_ADOPTED)
		count_sequence(facts, sequence);
	if (base != name || kind == GBE_NAME_INVALID)
		return;
	if (!observe_entry(store, name, facts, &error)) {
		/* The decision counts an unreadable backup as absent, so this is reported. */
		if (may_be_a_backup(store, name) && gbe_facts_note_unread(facts, error))
			gbe_event_state_broken(&(GbeEventFields){.reason = error->message});
		g_ptr_array_add(damaged, g_strdup(name));
	}
}

static bool
observe_names(GbeStore *store, GbeFacts *facts, GPtrArray *damaged, GError **error)
{
	g_autoptr(GPtrArray) names = NULL;

	if (!gbe_list_at(store->fd, store->path, &names, error))
		return false;
	for (guint i = 0; i < names->len; i++)
		observe_name(store, names->pdata[i], facts, damaged);
	return true;
}

bool
gbe_store_observe_former(GbeApp *app, GbeStore *store, const char *path, const char *fs,
			 GbeFacts *facts, GPtrArray *damaged, GError **error)
{
	g_autoptr(GbeStore) former = g_new0(GbeStore, 1);
	struct stat st;

	former->fd = former->top_fd = -1;
	former->path = g_strdup(path);
	former->keys = store->keys;
	if (!gbe_check_parents(app->root_fd, path, error) ||
	    !gbe_open_in_root(app->root_fd, path, O_RDONLY | O_DIRECTORY, &former->fd, error) ||
	    !gbe_filesystem_id(former->fd, &former->fs, error))
		return false;
	if (g_strcmp0(former->fs, fs) != 0)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "%s is on another file system", path);
	if (fstat(former->fd, &st) < 0 || st.st_uid != geteuid())
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "%s is not root's", path);
	former->former = store->former;
	store->former = g_steal_pointer(&former);
	return observe_names(store->former, facts, damaged, error);
}

bool
gbe_store_observe(GbeStore *store, GbeFacts *facts, GPtrArray **ret_damaged, GError **error)
{
	g_autoptr(GPtrArray) damaged = g_ptr_array_new_with_free_func(g_free);

	if (facts->taken == NULL)
		facts->taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	facts->store_path = g_strdup(store->path);
	facts->store_fs = g_strdup(store->fs);
	facts->store_tree = g_strdup(store->near != NULL ? store->near->tree : store->tree);
	facts->store = GBE_YES;
	if (store->fd >= 0 && !observe_names(store, facts, damaged, error))
		return false;
	if (store->near != NULL && store->near->fd >= 0 &&
	    !observe_names(store->near, facts, damaged, error))
		return false;
	if (ret_damaged != NULL)
		*ret_damaged = g_steal_pointer(&damaged);
	return true;
}
