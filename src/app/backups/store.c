/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backups/store.h"

#include "app/state/ledger.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/probe.h"
#include "fs/reserve.h"
#include "fs/sync.h"
#include "fs/tree.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

void
gbe_store_free(GbeStore *store)
{
	if (store == NULL)
		return;
	g_free(store->path);
	g_free(store->fs);
	g_free(store->tree);
	gbe_close_fd(&store->fd);
	gbe_close_fd(&store->top_fd);
	gbe_store_free(store->near);
	gbe_store_free(store->former);
	g_free(store);
}

/* Places the store below the root of the data's file system. */
static bool
place_near(GbeApp *app, int data_fd, GbeStore *store, GError **error)
{
	g_autofree char *top = NULL;

	if (!gbe_filesystem_top(data_fd, app->root_fd, &store->top_fd, &top, error))
		return false;
	store->path =
	    g_strconcat(g_str_equal(top, "/") ? "" : top, "/", GBE_HIDDEN_DIR "/backups", NULL);
	return true;
}

/* The parent's file system counts: a subvolume is the top of its own, and nothing of this program goes into the
 * data. */
static int
data_fd_of(const GbeData *data)
{
	return data->mount_point ? data->fd : data->parent_fd;
}

/* The store belongs on the data's file system: elsewhere a backup could not be cloned, and could not take a displaced
 * tree. */
static bool
choose_place(GbeApp *app, GbeData *data, GbeStore *store, GError **error)
{
	static const char in_state[] = GBE_STATE_DIR "/backups";
	int data_fd = data_fd_of(data);
	gbe_autofd int state_fd = -1;
	bool same = true;

	if (app->config->backup.directory != NULL) {
		store->path = g_strdup(app->config->backup.directory);
		return true;
	}
	if (data_fd < 0) {
		store->path = g_strdup(in_state);
		return true;
	}
	/* Before the first run there is no state directory: its nearest existing parent shows the file system. */
	if (app->state_fd >= 0)
		state_fd = fcntl(app->state_fd, F_DUPFD_CLOEXEC, 3);
	else if (!gbe_open_in_root(app->root_fd, "/var/lib", O_RDONLY | O_DIRECTORY, &state_fd,
				   NULL))
		state_fd = -1;
	if (state_fd >= 0 && !gbe_tell_same_filesystem(data_fd, state_fd, &same, error))
		return false;
	if (!same)
		return place_near(app, data_fd, store, error);
	store->path = g_strdup(in_state);
	return true;
}

/* The store in .greenboot-etcd/ at the top of the data's file system. etcd's user may own that directory, and can
 * rename what is in it. A holder of the lock gives our directory its name back, and makes way for a new one. A reader
 * uses the directory under its present name. */
static bool
open_hidden_store(GbeApp *app, GbeStore *store, bool make, GError **error)
{
	const char *identity = NULL; /* as the ledger has it */
	const GbeLedger *ledger;
	g_autofree char *name = NULL;
	gbe_autofd int parent_fd = -1;
	const char *names[] = {GBE_HIDDEN_DIR, "backups", NULL};

	if (app->state_fd >= 0 && gbe_ledger_load(app, &ledger, NULL)) {
		for (guint i = ledger->records->len; identity == NULL && i > 0; i--) {
			const GbeLedgerRecord *record = ledger->records->pdata[i - 1];

			if (record->kind == GBE_LEDGER_TAKE_OVER)
				identity = gbe_json_string(record->object, "store_tree", NULL);
		}
	}
	if (identity != NULL && !gbe_own_dir_find_at(store->top_fd, GBE_HIDDEN_DIR, identity,
						     app->lock != NULL, &name, error))
		return false;
	if (name != NULL)
		names[0] = name;
	else if (app->lock != NULL &&
		 !gbe_own_dir_make_way_at(store->top_fd, GBE_HIDDEN_DIR, error))
		return false;
	else if (gbe_own_dir_in_the_way_at(store->top_fd, GBE_HIDDEN_DIR))
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "%s is not ours", GBE_HIDDEN_DIR);
	if (!gbe_own_dir_open_at(store->top_fd, names, make, &store->fd, error))
		return false;
	parent_fd = openat(store->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	store->tree = parent_fd >= 0 ? gbe_tree_identity(parent_fd) : NULL;
	return true;
}

/* Without @make, a store that is not there is no error. In a directory of another owner, only entries that are ours; by a
 * path, only where no other user could put something in it. */
static bool
open_place(GbeApp *app, GbeStore *store, bool make, GError **error)
{
	g_autoptr(GError) local = NULL;
	bool ok;

	if (store->top_fd >= 0)
		ok = open_hidden_store(app, store, make, &local);
	else if (make)
		ok = gbe_make_dirs(app->root_fd, store->path, 0700, &store->fd, &local);
	else
		ok = gbe_open_in_root(app->root_fd, store->path, O_RDONLY | O_DIRECTORY, &store->fd,
				      &local);
	if (ok || (!make && g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)))
		return true;
	g_propagate_error(error, g_steal_pointer(&local));
	return gbe_prefix(error, "the store %s", store->path);
}

bool
gbe_store_open(GbeApp *app, GbeData *data, bool make, GbeStore **ret_store, GError **error)
{
	g_autoptr(GbeStore) store = g_new0(GbeStore, 1);
	bool by_default = app->config->backup.directory == NULL;
	int data_fd = data_fd_of(data);
	g_autoptr(GError) unsigned_why = NULL;
	int store_fd;

	store->fd = store->top_fd = -1;
	/* Without its key, a backup is kept unsigned; a restore reports more. */
	if (!gbe_app_keys(app, &store->keys, &unsigned_why))
		gbe_note("%s; what is written now is not signed", unsigned_why->message);
	if (!choose_place(app, data, store, error) || !open_place(app, store, make, error))
		return false;
	if (store->fd >= 0 && !gbe_filesystem_id(store->fd, &store->fs, error))
		return gbe_prefix(error, "the store %s", store->path);
	/* ->near is needed if the configuration puts the store on another file system. The same holds if the data lies
	 * below another mount of the store's file system: a bind mount, or a mounted subvolume. A default store that is
	 * not there yet will be in the state directory. */
	store_fd = store->fd < 0 && by_default ? app->state_fd : store->fd;
	if (data_fd >= 0 && store->top_fd < 0 &&
	    !(store_fd >= 0 ? gbe_same_mount(store_fd, data_fd) : by_default)) {
		store->near = g_new0(GbeStore, 1);
		store->near->fd = store->near->top_fd = -1;
		store->near->keys = store->keys;
		if (!place_near(app, data_fd, store->near, error) ||
		    !open_place(app, store->near, false, error))
			return false;
	}
	*ret_store = g_steal_pointer(&store);
	return true;
}

/* Also if that is unknown: opening it gives the reason. */
static bool
has_entry(const GbeStore *store, const char *name)
{
	g_autofree char *pending = g_strconcat(GBE_RUNG_PENDING, name, NULL);
	bool there = true;

	return store != NULL && store->fd >= 0 &&
	       (!gbe_is_there_at(store->fd, name, &there, NULL) || there ||
		!gbe_is_there_at(store->fd, pending, &there, NULL) || there);
}

GbeStore *
gbe_store_at(GbeStore *store, const char *name)
{
	if (has_entry(store->near, name))
		return store->near;
	for (GbeStore *former = store->former; former != NULL; former = former->former)
		if (has_entry(former, name))
			return former;
	return store;
}

bool
gbe_store_for_rename(GbeApp *app, GbeStore *store, int stage_fd, GbeStore **ret_store,
		     GError **error)
{
	GbeStore *place = store->near != NULL ? store->near : store;

	if (store->fd >= 0 && gbe_same_mount(store->fd, stage_fd))
		place = store;
	if (place->fd < 0 && !open_place(app, place, place != store, error))
		return false;
	if (place->fd < 0)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "the store %s is not there; mount it, or set [backup] directory",
				 place->path);
	*ret_store = place;
	return true;
}

void
gbe_store_reserve(GbeApp *app, GbeStore *store, GbeReserve how)
{
	static const char name[] = "." GBE_RESERVE_NAME;
	GbeStore *near = store->near;
	g_autoptr(GError) error = NULL;
	int dirs[] = {-1, store->fd};

	/* The data's file system needs one before the first restore makes this directory. */
	if (near != NULL && near->fd < 0 && how == GBE_RESERVE_KEEP && store->fd >= 0 &&
	    !gbe_same_filesystem(near->top_fd, store->fd) &&
	    !gbe_same_filesystem(near->top_fd, app->state_fd) &&
	    !open_place(app, near, true, &error))
		g_debug("%s", error->message);
	if (near != NULL)
		dirs[0] = near->fd;
	for (gsize i = 0; i < G_N_ELEMENTS(dirs); i++) {
		if (dirs[i] < 0 || app->state_fd < 0 || gbe_same_filesystem(dirs[i], app->state_fd))
			continue;
		if (how == GBE_RESERVE_KEEP)
			gbe_reserve_keep_at(dirs[i], name);
		else if (how == GBE_RESERVE_RELEASE)
			gbe_reserve_release_at(dirs[i], name);
		else
			gbe_reserve_give_up_at(dirs[i], name);
	}
	/* The locks of other programs give this one back only where the disk is full already. */
	if (how == GBE_RESERVE_GIVE_UP && app->state_fd >= 0)
		gbe_reserve_give_up_at(app->state_fd, GBE_RESERVE_NAME);
}

bool
gbe_store_open_data(GbeStore *store, const char *name, int *ret_fd, GError **error)
{
	gbe_autofd int entry_fd = -1;

	store = gbe_store_at(store, name);
	if (store->fd < 0)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no store %s", store->path);
	if (!gbe_open_dir_at(store->fd, name, &entry_fd, error) ||
	    !gbe_open_dir_at(entry_fd, GBE_STORE_DATA, ret_fd, error))
		return gbe_prefix(error, "backup %s", name);
	return true;
}

bool
gbe_store_remove(GbeStore *store, const char *name, gint64 *patience, GError **error)
{
	g_autofree char *partial = g_strconcat(GBE_RUNG_PARTIAL, name, NULL);
	const GbeStore *at = gbe_store_at(store, name);
	bool ok = gbe_remove_tree_at(at->fd, partial, error) &&
		  gbe_rename_new_at(at->fd, name, at->fd, partial, error);

	if (ok && !gbe_sync_dir(at->fd, at->path, error)) {
		/* The disk may still have the entry under its name: then the whole entry must be there. */
		(void)!gbe_rename_new_at(at->fd, partial, at->fd, name, NULL);
		ok = false;
	}
	if (!ok)
		return gbe_prefix(error, "remove backup %s", name);
	if (!GBE_FAULT("store-remove-renamed", error) &&
	    gbe_remove_tree_within_at(at->fd, partial, patience, error))
		return true;
	(void)gbe_prefix(error, "backup %s is deleted, but its files are not all removed", name);
	return gbe_rethrow(error, GBE_ERROR_PARTIAL);
}

/* Does the backup have a tree? A consumed backup has none. */
static bool
has_tree(int entry_fd, bool *ret_has, GError **error)
{
	struct stat st;

	*ret_has = fstatat(entry_fd, GBE_STORE_DATA, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*ret_has)
		return errno == ENOENT || gbe_throw_errno(error, errno, "look for " GBE_STORE_DATA);
	*ret_has = S_ISDIR(st.st_mode);
	return true;
}

/* A pending entry with both parts is complete: only its name is missing. */
static bool
sweep_pending(GbeStore *store, const char *pending, gint64 *patience, GError **error)
{
	const char *name = pending + strlen(GBE_RUNG_PENDING);
	g_autoptr(GbeManifest) manifest = NULL;
	gbe_autofd int entry_fd = -1;
	bool has_data = false;

	if (!gbe_open_dir_at(store->fd, pending, &entry_fd, error) ||
	    !has_tree(entry_fd, &has_data, error))
		return false;
	if (!has_data)
		return gbe_remove_tree_within_at(store->fd, pending, patience, error);
	/* Data without a readable manifest stays: it may be the only copy of the displaced data. */
	if (!gbe_store_read_manifest(store, entry_fd, name, &manifest, NULL))
		return true;
	return gbe_rename_new_at(store->fd, pending, store->fd, name, error) &&
	       gbe_sync_dir(store->fd, store->path, error);
}

bool
gbe_store_sweep(GbeStore *store, gint64 *patience, GError **error)
{
	g_autoptr(GPtrArray) names = NULL;

	if (store->near != NULL && !gbe_store_sweep(store->near, patience, error))
		return false;
	if (store->fd < 0)
		return true;
	if (!gbe_list_at(store->fd, store->path, &names, error))
		return false;
	for (guint i = 0; i < names->len; i++) {
		const char *name = names->pdata[i];
		g_autofree char *manifest =
		    g_strconcat(name, "/" GBE_TMP_PREFIX GBE_MANIFEST_NAME, NULL);
		g_autoptr(GError) local = NULL;
		bool ok = true;

		(void)unlinkat(store->fd, manifest, 0);
		if (g_str_has_prefix(name, GBE_RUNG_PENDING))
			ok = sweep_pending(store, name, patience, &local);
		else if (g_str_has_prefix(name, GBE_RUNG_PARTIAL) ||
			 g_str_has_prefix(name, GBE_TMP_PREFIX))
			ok = gbe_remove_tree_within_at(store->fd, name, patience, &local);
		/* A leftover that cannot be removed does no harm. */
		if (!ok)
			gbe_note("%s/%s stays: %s", store->path, name, local->message);
	}
	return true;
}

/* ---- [store] key ---- */

bool
gbe_app_keys(GbeApp *app, const GbeKeys **ret_keys, GError **error)
{
	const char *path = app->config->store.key;
	char bytes[GBE_KEYS_FILE_MAX + 1];
	gbe_autofd int fd = -1;
	ssize_t size;
	bool ok;

	if (app->keys == NULL && path != NULL) {
		if (!gbe_key_file_open(app, path, true, &fd, error))
			return gbe_prefix(error, "[store] key %s", path);
		size = pread(fd, bytes, sizeof(bytes), 0);
		if (size < 0)
			ok = gbe_throw_errno(error, errno, "cannot read it");
		else if (size == sizeof(bytes))
			ok = gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "it is too long");
		else
			ok = gbe_keys_parse(bytes, (gsize)size, &app->keys, error);
		explicit_bzero(bytes, sizeof(bytes));
		if (!ok)
			return gbe_prefix(error, "[store] key %s", path);
	}
	*ret_keys = app->keys;
	return true;
}

bool
gbe_keys_check_backup(GbeApp *app, const GbeManifest *manifest, bool by_hand, GError **error)
{
	g_autoptr(GError) local = NULL;
	const GbeKeys *keys = NULL;
	bool signed_right = manifest->seal == GBE_SEAL_RIGHT || manifest->seal == GBE_SEAL_NEW;

	if (!gbe_app_keys(app, &keys, &local)) {
		/* The key cannot be read, so the digest cannot be checked. */
		if (!by_hand && !manifest->outside)
			return true;
		return gbe_pass(error, &local);
	}
	if (keys == NULL || (signed_right && (!manifest->outside || manifest->proved)))
		return true;
	if (manifest->outside)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "backup %s came from outside, and %s: import what was pulled from a "
		    "store that is signed with [store] key, or --force",
		    manifest->name,
		    signed_right ? "no keyed digest came with it"
				 : "its own keyed digest is missing or wrong");
	return manifest->seal != GBE_SEAL_WRONG || !by_hand ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "the manifest of backup %s does not match its signature with [store] key; "
			 "choose another backup, add the old key after the new one if the key was "
			 "changed, or use --force",
			 manifest->name);
}

/* ---- manifest.json of an entry, signed where there is a key ---- */

bool
gbe_store_read_manifest(const GbeStore *store, int entry_fd, const char *name,
			GbeManifest **ret_manifest, GError **error)
{
	g_autoptr(GbeManifest) manifest = NULL;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	if (!gbe_read_file_at(entry_fd, GBE_MANIFEST_NAME, GBE_JSON_MAX_SIZE, &bytes, &size,
			      error) ||
	    !gbe_manifest_parse(bytes, size, &manifest, error))
		return gbe_prefix(error, "backup %s", name);
	if (!g_str_equal(manifest->name, name))
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "backup %s: its manifest is that of %s (renamed by hand?)", name,
				 manifest->name);
	if (store->keys != NULL)
		gbe_manifest_check_seal(manifest, store->keys);
	*ret_manifest = g_steal_pointer(&manifest);
	return true;
}

bool
gbe_store_write_manifest_at(const GbeStore *store, int entry_fd, const GbeManifest *manifest,
			    GbeWrite how, GError **error)
{
	g_autofree char *text = gbe_manifest_print_signed(manifest, store->keys);

	return gbe_write_file_at(entry_fd, GBE_MANIFEST_NAME, text, strlen(text), 0600, how, error);
}

bool
gbe_store_write_manifest(GbeStore *store, const GbeManifest *manifest, GError **error)
{
	const GbeStore *at = gbe_store_at(store, manifest->name);
	gbe_autofd int entry_fd = -1;

	return (gbe_open_dir_at(at->fd, manifest->name, &entry_fd, error) &&
		gbe_store_write_manifest_at(store, entry_fd, manifest, GBE_WRITE_DURABLE, error)) ||
	       gbe_prefix(error, "manifest of %s", manifest->name);
}

/* ---- entries in the making ---- */

bool
gbe_store_prepare(GbeStore *store, const GbeManifest *manifest, GError **error)
{
	g_autofree char *pending = g_strconcat(GBE_RUNG_PENDING, manifest->name, NULL);
	gbe_autofd int entry_fd = -1;

	if (mkdirat(store->fd, pending, 0700) < 0)
		return gbe_throw_errno(error, errno, "make %s in the store", pending);
	return (gbe_open_dir_at(store->fd, pending, &entry_fd, error) &&
		gbe_store_write_manifest_at(store, entry_fd, manifest, GBE_WRITE_LATER, error)) ||
	       gbe_prefix(error, "manifest of %s", manifest->name);
}

bool
gbe_store_make_partial(const GbeStore *store, const char *partial, int *ret_fd, GError **error)
{
	if (!gbe_remove_tree_at(store->fd, partial, error))
		return false;
	if (mkdirat(store->fd, partial, 0700) < 0)
		return gbe_throw_errno(error, errno, "make %s in %s", partial, store->path);
	return gbe_open_dir_at(store->fd, partial, ret_fd, error);
}

void
gbe_store_drop_partial(const GbeStore *store, const char *partial)
{
	g_autoptr(GError) ignored = NULL;

	/* A tree that cannot be removed now is swept by the next holder of the lock. */
	if (!gbe_remove_tree_at(store->fd, partial, &ignored))
		g_debug("%s", ignored->message);
}

/* ---- the list: backups, names that are taken, and entries that cannot be read ---- */

static void
count_sequence(GbeFacts *facts, guint64 sequence)
{
	if (sequence >= facts->next_sequence && sequence < G_MAXINT64)
		facts->next_sequence = sequence + 1;
}

static bool
read_entry(GbeStore *store, const char *name, GbeManifest **ret_manifest, GError **error)
{
	g_autoptr(GbeManifest) manifest = NULL;
	gbe_autofd int entry_fd = -1;
	bool has_data = false;

	if (!gbe_open_dir_at(store->fd, name, &entry_fd, error) ||
	    !gbe_store_read_manifest(store, entry_fd, name, &manifest, error) ||
	    !has_tree(entry_fd, &has_data, error))
		return false;
	if (!manifest->consumed && !has_data)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "backup %s has no data", name);
	*ret_manifest = g_steal_pointer(&manifest);
	return true;
}

static void
observe_name(GbeStore *store, const char *name, GbeFacts *facts, GPtrArray *damaged)
{
	g_autofree char *path = g_build_filename(name, GBE_MANIFEST_NAME, NULL);
	GbeManifest *manifest = NULL;
	g_autoptr(GError) error = NULL;
	const char *base = name;
	guint64 sequence = 0;
	GbeNameKind kind;
	struct stat st;
	bool may_be_backup;

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
	if (read_entry(store, name, &manifest, &error)) {
		count_sequence(facts, manifest->sequence);
		g_ptr_array_add(facts->backups, manifest);
		return;
	}
	/* Another user's file or link with such a name has no manifest to read. */
	if (fstatat(store->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		may_be_backup = S_ISREG(st.st_mode);
	else
		may_be_backup = errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
	/* The decision counts an unreadable backup as absent, so this is reported. */
	if (may_be_backup && gbe_facts_note_unread(facts, error))
		gbe_event_state_broken(&(GbeEventFields){.reason = error->message});
	g_ptr_array_add(damaged, g_strdup(name));
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
	*ret_damaged = g_steal_pointer(&damaged);
	return true;
}
