/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/recover.h"

#include "app/state/state.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "core/decide/past.h"
#include "etcd/directory/member.h"
#include "fs/copy/compare.h"
#include "fs/copy/metadata.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/probe.h"
#include "fs/sync.h"
#include "fs/tree.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* The prefix of the name of a directory that lay at the nonce's place; its inode follows. */
#define DISCARD_NONCE GBE_TMP_PREFIX "nonce-"

void
gbe_recovery_clear(GbeRecovery *recovery)
{
	g_clear_pointer(&recovery->what, g_free);
}

/* ---- the entries of a data directory that is a mount point ---- */

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
		/* Else the entry has been moved already; a system without this program may have replaced it since. */
		if (staged == wanted)
			ok = live != 0 ? gbe_exchange_at(live_fd, name, staged_fd, name, error)
				       : gbe_rename_new_at(staged_fd, name, live_fd, name, error);
		if (!ok || GBE_FAULT("entries-one-exchanged", error))
			return gbe_prefix(error, "%s", context);
	}
	return gbe_sync_dir(live_fd, "the data directory", error) &&
	       gbe_sync_dir(staged_fd, "the staging directory", error);
}

/* Is the exchange complete: is the last entry the new one? */
static bool
are_entries_live(int live_fd, char *const *entries, bool *ret_live, GError **error)
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

/* ---- staging trees ---- */

/*
 * Trees next to the data that are no longer needed. Their owner may have put a million entries into them. Therefore
 * such a tree first gets a name that every recovery sweeps; then it is removed for as long as app->patience lasts.
 */

/* @name: a staging tree in @stage_fd, ".staging-<n>" or ".restore-<n>". */
static bool
discard_staging(GbeApp *app, int stage_fd, const char *name, GError **error)
{
	g_autofree char *swept = NULL;

	/* A half-removed ".restore-" tree must not be taken for a whole one. */
	if (g_str_has_prefix(name, GBE_RUNG_RESTORE)) {
		swept = g_strconcat(GBE_RUNG_STAGING, name + strlen(GBE_RUNG_RESTORE), NULL);
		if (!gbe_remove_tree_at(stage_fd, swept, error) ||
		    !gbe_rename_new_at(stage_fd, name, stage_fd, swept, error))
			return false;
		name = swept;
	}
	return gbe_remove_tree_within_at(stage_fd, name, app->patience, error);
}

/* Moves a directory that has the nonce's name out of the data directory, by one rename. The directory is then no
 * part of a backup, and no start waits until it is empty. */
static bool
set_nonce_aside(const GbeData *data, const char *name, GError **error)
{
	gbe_autofd int hidden_fd = -1;
	g_autofree char *aside = NULL;
	struct stat st;

	if (fstatat(data->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return true;
	if (data->mount_point &&
	    !gbe_own_dir_open_at(data->fd, gbe_data_hidden, true, &hidden_fd, error))
		return false;
	aside = g_strdup_printf(DISCARD_NONCE "%" G_GUINT64_FORMAT, (guint64)st.st_ino);
	return gbe_rename_new_at(data->fd, name, hidden_fd >= 0 ? hidden_fd : data->parent_fd,
				 aside, error);
}

/* True: @name is @prefix and a number in the form that this program writes. */
static bool
has_number(const char *name, const char *prefix)
{
	const char *digits = name + strlen(prefix);

	return g_str_has_prefix(name, prefix) && *digits != '\0' && *digits != '0' &&
	       strspn(digits, "0123456789") == strlen(digits);
}

static char *
staging_name(guint64 sequence)
{
	return g_strdup_printf(GBE_RUNG_RESTORE "%" G_GUINT64_FORMAT, sequence);
}

/* Takes the tree out of the data's project and lists it. This comes after the tree is out of the way, because its owner
 * may have left anything in it. */
static void
list_displaced(int tree_fd, GbeStore *store, int entry_fd, const GbeManifest *manifest)
{
	g_autoptr(GbeManifest) listed = gbe_manifest_copy(manifest);
	g_autoptr(GError) error = NULL;
	const GbeTreeLimits limits = gbe_tree_look_limits();

	(void)unlinkat(tree_fd, GBE_TMP_PREFIX GBE_NONCE_NAME, 0);
	if (!gbe_project_give(tree_fd, entry_fd, &error)) {
		g_debug("%s", error->message);
		g_clear_error(&error);
	}
	if (!gbe_compare_record(tree_fd, gbe_data_exclude, false, &limits, listed, &error)) {
		g_debug("%s", error->message);
		return;
	}
	if (!gbe_store_write_manifest_at(store, entry_fd, listed, GBE_WRITE_LATER, &error))
		g_debug("%s", error->message);
}

/* Gives the tree its name in the store, on disk no earlier than the exchange that put the tree into staging. */
static bool
name_displaced(GbeApp *app, GbeStore *store, int stage_fd, const char *staging,
	       const GbeManifest *manifest, guint *flushes, GError **error)
{
	g_autofree char *pending = g_strconcat(GBE_RUNG_PENDING, manifest->name, NULL);
	gbe_autofd int entry_fd = -1;
	gbe_autofd int tree_fd = -1;
	bool prepared = false;

	if (!gbe_store_for_rename(app, store, stage_fd, &store, error) ||
	    !gbe_is_there_at(store->fd, pending, &prepared, error))
		return false;
	if (!prepared && (!gbe_store_prepare(store, manifest, error) ||
			  !gbe_sync_fs(store->fd, store->path, error)))
		return false;
	if (!gbe_open_dir_at(store->fd, pending, &entry_fd, error) ||
	    !gbe_open_dir_at(stage_fd, staging, &tree_fd, error))
		return false;
	list_displaced(tree_fd, store, entry_fd, manifest);
	if (!gbe_sync_order(stage_fd, store->fd, staging, flushes, error) ||
	    !gbe_rename_new_at(stage_fd, staging, entry_fd, GBE_STORE_DATA, error) ||
	    GBE_FAULT("recover-displaced-moved", error) ||
	    !gbe_rename_new_at(store->fd, pending, store->fd, manifest->name, error) ||
	    GBE_FAULT("recover-displaced-named", error) ||
	    !gbe_sync_order(store->fd, app->state_fd, store->path, flushes, error))
		return gbe_prefix(error, "keep the displaced data as %s", manifest->name);
	gbe_state_note_entry(app, GBE_LEDGER_BACKUP, manifest, "set aside");
	return true;
}

static bool
place_displaced(GbeApp *app, GbeStore *store, int stage_fd, const GbeIntent *intent, guint *flushes,
		GError **error)
{
	g_autofree char *staging = staging_name(intent->sequence);
	const char *path = intent->keep_existing;
	g_autofree char *name = NULL;
	g_autoptr(GError) local = NULL;
	gbe_autofd int dir_fd = -1;
	bool staged = false;

	if (!gbe_is_there_at(stage_fd, staging, &staged, error))
		return false;
	if (!staged)
		return gbe_sync_order(stage_fd, app->state_fd, "the data directory", flushes,
				      error);
	if (intent->displaced == NULL)
		return gbe_sync_dir(stage_fd, "the data directory", error) &&
		       discard_staging(app, stage_fd, staging, error);
	/* To the path that the person wanted; else the displaced tree becomes a backup. */
	if (path != NULL) {
		if (gbe_open_parent_in_root(app->root_fd, path, &dir_fd, &name, &local) &&
		    gbe_sync_order(stage_fd, dir_fd, staging, flushes, &local) &&
		    gbe_rename_new_at(stage_fd, staging, dir_fd, name, &local) &&
		    !GBE_FAULT("recover-existing-kept", &local) &&
		    gbe_sync_order(dir_fd, app->state_fd, path, flushes, &local))
			return true;
		g_debug("keep the displaced data as %s: %s", path, local->message);
	}
	return name_displaced(app, store, stage_fd, staging, intent->displaced, flushes, error);
}

bool
gbe_recover_finish(GbeApp *app, GbeStore *store, int stage_fd, const GbeIntent *intent,
		   guint *flushes, GError **error)
{
	if (!place_displaced(app, store, stage_fd, intent, flushes, error) ||
	    GBE_FAULT("restore-placed", error))
		return false;
	/* The consumed backup's own tree is the data now. */
	if (intent->consume) {
		GbeStore *at = gbe_store_at(store, intent->backup);
		g_autoptr(GbeManifest) manifest = NULL;
		gbe_autofd int entry_fd = -1;

		if (!gbe_open_dir_at(at->fd, intent->backup, &entry_fd, error) ||
		    !gbe_store_read_manifest(at, entry_fd, intent->backup, &manifest, error))
			return false;
		manifest->consumed = true;
		if (!gbe_store_write_manifest(at, manifest, error))
			return false;
	}
	if (GBE_FAULT("restore-tidied", error))
		return false;
	if (flushes != NULL)
		(*flushes)++;
	if (intent->take_over == NULL)
		return gbe_state_hand_back(app, intent->sequence, error);
	return gbe_state_take_over(app, intent->take_over, GBE_WRITE_DURABLE, error) &&
	       !GBE_FAULT("restore-taken-over", error);
}

typedef struct {
	GbeApp *app;
	GbeData *data;
	GbeStore *store;
	GbeFacts *facts; /* from the ledger */
	GbeRecovery *recovery;
	int hidden_fd; /* directory of staging trees at a mount point; -1 */
} Recover;

static void
say_recovered(Recover *r, const char *format, const char *name)
{
	g_free(r->recovery->what);
	r->recovery->what = g_strdup_printf("%s %s", format, name);
	r->recovery->recovered = true;
}

static const char *
named(const GbeIntent *intent)
{
	return intent->backup != NULL ? intent->backup : "the data is set aside";
}

/* Keeps data whose owner is unknown. */
static bool
adopt_tree(Recover *r, int stage_fd, const char *staging, guint64 sequence, GError **error)
{
	g_autoptr(GbeManifest) manifest = gbe_manifest_new();

	if (r->store->fd < 0)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "the data displaced by the last restore waits in %s, but the "
				 "store %s is not there",
				 staging, r->store->path);
	manifest->origin = GBE_ORIGIN_DISPLACED;
	manifest->method = GBE_METHOD_RENAME;
	manifest->sequence = sequence;
	manifest->name = gbe_backup_name_adopted(sequence);
	manifest->data_dir = g_strdup(r->data->path);
	manifest->trial.used = -1;
	manifest->lineage.line = sequence;
	manifest->lineage.truncated = true;
	if (!name_displaced(r->app, r->store, stage_fd, staging, manifest, NULL, error))
		return false;
	say_recovered(r, "the owner of the data in a staging tree is unknown; the data is kept as",
		      manifest->name);
	return true;
}

/* Undoes a restore that never reached its exchange; a consumed backup gets its tree back. */
static bool
undo_staging(Recover *r, int stage_fd, const GbeIntent *intent, GError **error)
{
	g_autofree char *staging = staging_name(intent->sequence);
	gbe_autofd int entry_fd = -1;
	bool staged = false;

	if (!gbe_is_there_at(stage_fd, staging, &staged, error))
		return false;
	if (!staged)
		return true;
	if (intent->consume) {
		GbeStore *store = gbe_store_at(r->store, intent->backup);

		if (!gbe_open_dir_at(store->fd, intent->backup, &entry_fd, error) ||
		    !gbe_rename_new_at(stage_fd, staging, entry_fd, GBE_STORE_DATA, error) ||
		    !gbe_sync_dir(entry_fd, intent->backup, error) ||
		    !gbe_sync_dir(stage_fd, staging, error))
			return gbe_prefix(error, "put %s back into the store", intent->backup);
	} else if (!discard_staging(r->app, stage_fd, staging, error)) {
		return gbe_prefix(error, "undo the staging of a restore");
	}
	say_recovered(r, "an unfinished restore was undone:", named(intent));
	return true;
}

/* Finishes the exchange of a mount point's entries: half of them may be exchanged already. */
static bool
recover_entries(Recover *r, const GbeIntent *intent, bool *ret_exchanged, GError **error)
{
	g_autofree char *name = staging_name(intent->sequence);
	g_autoptr(GError) local = NULL;
	gbe_autofd int tree_fd = -1;
	gbe_autofd int lock_fd = -1;
	bool staged = false, live = false;

	r->recovery->exchange_open = true;
	if (r->data->fd < 0 || !r->data->mount_point)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "a restore into %s is half done, and what was mounted there is "
				 "missing: mount it",
				 r->data->path);
	if (!gbe_is_there_at(r->hidden_fd, name, &staged, error) ||
	    !are_entries_live(r->data->fd, intent->entries, &live, error))
		return false;
	if (staged) {
		if (!gbe_open_dir_at(r->hidden_fd, name, &tree_fd, error))
			return false;
		if (r->data->member_path != NULL &&
		    gbe_in_use(r->data->fd, r->data->member_path, r->data->wal_fd, &lock_fd,
			       &local) == GBE_YES)
			return gbe_throw(
			    error, GBE_ERROR_BUSY,
			    "a restore into %s is half done and etcd has the data open: stop it",
			    r->data->path);
		if (!gbe_entries_exchange(r->data->fd, tree_fd, intent->entries, error))
			return false;
	}
	r->recovery->exchange_open = false;
	*ret_exchanged = staged || live;
	return true;
}

static bool
recover_intent(Recover *r, const GbeIntent *intent, GError **error)
{
	g_autofree char *live = r->data->fd >= 0 ? gbe_tree_identity(r->data->fd) : NULL;
	g_autofree char *staging = staging_name(intent->sequence);
	int stage_fd = intent->entries != NULL ? r->hidden_fd : r->data->parent_fd;
	const char *result = "undone";
	bool staged = false, exchanged = false;

	if (intent->entries != NULL) {
		if (!recover_entries(r, intent, &exchanged, error))
			return false;
	} else if (r->data->fd >= 0 && live == NULL) {
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot determine whether a restore into %s was done: the file "
				 "system gives no identity of that directory",
				 r->data->path);
	} else if (live != NULL && g_strcmp0(live, intent->tree_new) == 0) {
		exchanged = true;
	} else if (g_strcmp0(live, intent->tree_old) == 0) {
		if (!undo_staging(r, stage_fd, intent, error))
			return false;
	} else {
		if (!gbe_is_there_at(stage_fd, staging, &staged, error) ||
		    (staged && !adopt_tree(r, stage_fd, staging, r->facts->next_sequence, error)))
			return false;
		result = "lost";
	}
	if (!exchanged)
		return gbe_state_end_intent(r->app, intent->sequence, result, error);
	if (!gbe_recover_finish(r->app, r->store, stage_fd, intent, NULL, error)) {
		r->recovery->exchange_open = true;
		return false;
	}
	say_recovered(r, "an interrupted restore was finished:", named(intent));
	return true;
}

static bool
sweep_staging(Recover *r, int stage_fd, const char *name, GError **error)
{
	/* A ledger that does not know the data has lost a record, perhaps the intent. */
	bool whole = r->facts->ledger == GBE_YES && !r->facts->holes && r->facts->owner != NULL;
	guint64 sequence = g_ascii_strtoull(name + strlen(GBE_RUNG_RESTORE), NULL, 10);
	g_autoptr(GError) local = NULL;

	/* A leftover that cannot be removed does no harm. */
	if (has_number(name, DISCARD_NONCE)) {
		if (!gbe_remove_tree_within_at(stage_fd, name, r->app->patience, &local))
			gbe_note("%s stays: %s", name, local->message);
		return true;
	}
	if (has_number(name, GBE_RUNG_STAGING) || (has_number(name, GBE_RUNG_RESTORE) && whole)) {
		if (discard_staging(r->app, stage_fd, name, &local))
			say_recovered(r, "an unfinished restore was undone: staging tree", name);
		else
			gbe_note("the staging tree %s stays: %s", name, local->message);
		return true;
	}
	return !has_number(name, GBE_RUNG_RESTORE) ||
	       adopt_tree(r, stage_fd, name, sequence, error);
}

static bool
sweep_stagings(Recover *r, GError **error)
{
	g_autofree char *parent = g_path_get_dirname(r->data->path);
	g_autofree char *hidden = g_build_filename(r->data->path, GBE_HIDDEN_DIR, NULL);
	const struct {
		int fd;
		const char *path;
	} places[] = {{r->data->parent_fd, parent}, {r->hidden_fd, hidden}};

	for (gsize p = 0; p < G_N_ELEMENTS(places); p++) {
		g_autoptr(GPtrArray) names = NULL;

		if (places[p].fd < 0)
			continue;
		if (!gbe_list_at(places[p].fd, places[p].path, &names, error))
			return false;
		for (guint i = 0; i < names->len; i++)
			if (!sweep_staging(r, places[p].fd, names->pdata[i], error))
				return false;
	}
	return true;
}

bool
gbe_recover(GbeApp *app, GbeData *data, GbeStore *store, GbeRecovery *ret_recovery, GError **error)
{
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	gbe_autofd int hidden_fd = -1;
	g_autoptr(GError) local = NULL;
	Recover r = {.app = app,
		     .data = data,
		     .store = store,
		     .facts = facts,
		     .recovery = ret_recovery,
		     .hidden_fd = -1};

	facts->data = gbe_tri(data->fd >= 0);
	gbe_data_observe_identity(data, facts);
	gbe_state_observe_ledger(app, facts);
	gbe_identify(facts);
	if (facts->ledger == GBE_UNKNOWN)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot determine whether an operation on the data is open: %s",
				 facts->ledger_why);
	*ret_recovery = (GbeRecovery){0};
	if (facts->intent_why != NULL ||
	    (facts->intent != NULL && facts->intent->operation == GBE_OPERATION_UNKNOWN)) {
		ret_recovery->left_alone = true;
		ret_recovery->what =
		    g_strdup("an operation of a newer greenboot-etcd is left alone");
		return true;
	}
	/* At a mount point, the staging trees lie in the data directory. */
	if (data->fd >= 0 && data->mount_point &&
	    !gbe_own_dir_open_at(data->fd, gbe_data_hidden, false, &hidden_fd, &local) &&
	    !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		ret_recovery->exchange_open = facts->intent != NULL;
		g_propagate_error(error, g_steal_pointer(&local));
		return gbe_prefix(error, "%s", data->path);
	}
	r.hidden_fd = hidden_fd;
	/* Interrupted writes. The data directory may belong to another user: only that one name, and no tree. The
	 * nonce only helps when root moves the data. */
	g_clear_error(&local);
	if (data->fd >= 0 && data->parent_fd >= 0 &&
	    (!set_nonce_aside(data, GBE_NONCE_NAME, &local) ||
	     !set_nonce_aside(data, GBE_TMP_PREFIX GBE_NONCE_NAME, &local)))
		g_debug("%s", local->message);
	if (data->fd >= 0)
		(void)unlinkat(data->fd, GBE_TMP_PREFIX GBE_NONCE_NAME, 0);
	if (data->parent_fd >= 0)
		gbe_probe_rename_sweep(data->parent_fd);
	if (!gbe_state_sweep(app, error))
		return false;
	if (facts->intent != NULL && !recover_intent(&r, facts->intent, error))
		return false;
	return sweep_stagings(&r, error) && gbe_store_sweep(store, app->patience, error);
}

bool
gbe_recover_here(GbeApp *app, GbeRecovery *ret_recovery, GError **error)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeStore) store = NULL;
	g_auto(GbeRecovery) unused = {0};
	GbeRecovery *recovery = ret_recovery != NULL ? ret_recovery : &unused;

	*recovery = (GbeRecovery){0};
	return gbe_data_open_any(app, &data, error) &&
	       gbe_store_open(app, data, false, &store, error) &&
	       gbe_recover(app, data, store, recovery, error);
}
