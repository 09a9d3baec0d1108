/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/recover.h"

#include "app/backup/discard.h"
#include "app/backup/entries.h"
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
#include "fs/remove.h"
#include "fs/sync.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

void
gbe_recovery_clear(GbeRecovery *recovery)
{
	g_clear_pointer(&recovery->what, g_free);
}

static char *
staging_name(guint64 sequence)
{
	return g_strdup_printf(GBE_RUNG_RESTORE "%" G_GUINT64_FORMAT, sequence);
}

/* Takes the tree out of the data's project and lists it, only after it is out of the way: its owner may have left
 * anything in it. */
static void
list_displaced(int tree_fd, GbeStore *store, int entry_fd, const GbeManifest *manifest)
{
	g_autoptr(GbeManifest) listed = gbe_manifest_copy(manifest);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	const GbeTreeLimits limits = gbe_tree_look_limits();

	(void)unlinkat(tree_fd, GBE_TMP_PREFIX GBE_NONCE_NAME, 0);
	if (!gbe_project_give(tree_fd, entry_fd, &error)) {
		g_debug("%s", error->message);
		g_clear_error(&error);
	}
	if (!gbe_compare_record_within(tree_fd, gbe_data_exclude, false, &limits, listed, &error)) {
		g_debug("%s", error->message);
		return;
	}
	text = gbe_manifest_print_signed(listed, store->keys);
	if (!gbe_write_file_at(entry_fd, GBE_MANIFEST_NAME, text, strlen(text), 0600,
			       GBE_WRITE_LATER, &error))
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
	gbe_state_note_entry(app, GBE_LEDGER_BACKUP, manifest, "displaced");
	return true;
}

/* Moves the tree to the path that the person wanted. */
static bool
keep_existing(GbeApp *app, const char *path, int stage_fd, const char *staging, guint *flushes,
	      GError **error)
{
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;

	return (gbe_open_parent_in_root(app->root_fd, path, &dir_fd, &name, error) &&
		gbe_sync_order(stage_fd, dir_fd, staging, flushes, error) &&
		gbe_rename_new_at(stage_fd, staging, dir_fd, name, error) &&
		!GBE_FAULT("recover-existing-kept", error) &&
		gbe_sync_order(dir_fd, app->state_fd, path, flushes, error)) ||
	       gbe_prefix(error, "keep the displaced data as %s", path);
}

static bool
place_displaced(GbeApp *app, GbeStore *store, int stage_fd, const GbeIntent *intent, guint *flushes,
		GError **error)
{
	g_autofree char *staging = staging_name(intent->sequence);
	g_autoptr(GError) local = NULL;
	bool staged = false;

	if (!gbe_is_there_at(stage_fd, staging, &staged, error))
		return false;
	if (!staged)
		return gbe_sync_order(stage_fd, app->state_fd, "the data directory", flushes,
				      error);
	if (intent->displaced == NULL)
		return gbe_sync_dir(stage_fd, "the data directory", error) &&
		       gbe_discard_staging(app, stage_fd, staging, error);
	if (intent->keep_existing != NULL &&
	    keep_existing(app, intent->keep_existing, stage_fd, staging, flushes, &local))
		return true;
	if (local != NULL)
		g_debug("%s", local->message);
	return name_displaced(app, store, stage_fd, staging, intent->displaced, flushes, error);
}

/* The consumed backup's own tree is the data now. */
static bool
mark_consumed(GbeStore *store, const char *name, GError **error)
{
	GbeStore *at = gbe_store_at(store, name);
	g_autoptr(GbeManifest) manifest = NULL;
	gbe_autofd int entry_fd = -1;

	if (!gbe_open_dir_at(at->fd, name, &entry_fd, error) ||
	    !gbe_store_read_manifest(at, entry_fd, name, &manifest, error))
		return false;
	manifest->consumed = true;
	return gbe_store_write_manifest(at, manifest, error);
}

bool
gbe_recover_finish(GbeApp *app, GbeStore *store, int stage_fd, const GbeIntent *intent,
		   guint *flushes, GError **error)
{
	if (!place_displaced(app, store, stage_fd, intent, flushes, error) ||
	    GBE_FAULT("restore-placed", error) ||
	    (intent->consume && !mark_consumed(store, intent->backup, error)) ||
	    GBE_FAULT("restore-tidied", error))
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
say(Recover *r, const char *format, const char *name)
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

/* Keeps data whose owner cannot be told. */
static bool
adopt(Recover *r, int stage_fd, const char *staging, guint64 sequence, GError **error)
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
	say(r, "nobody can tell whose data lay in a staging tree; it is kept as", manifest->name);
	return true;
}

/* Undoes a restore that never reached its exchange; a consumed backup gets its tree back. */
static bool
undo(Recover *r, int stage_fd, const GbeIntent *intent, GError **error)
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
	} else if (!gbe_discard_staging(r->app, stage_fd, staging, error)) {
		return gbe_prefix(error, "undo the staging of a restore");
	}
	say(r, "an unfinished restore was undone:", named(intent));
	return true;
}

static bool
finish(Recover *r, int stage_fd, const GbeIntent *intent, GError **error)
{
	if (!gbe_recover_finish(r->app, r->store, stage_fd, intent, NULL, error)) {
		r->recovery->exchange_open = true;
		return false;
	}
	say(r, "an interrupted restore was finished:", named(intent));
	return true;
}

static bool
end_intent(Recover *r, const GbeIntent *intent, const char *result, GError **error)
{
	return gbe_state_end_intent(r->app, intent->sequence, result, error);
}

/* Finishes the exchange of a mount point's entries: half of them may be exchanged already. */
static bool
recover_entries(Recover *r, const GbeIntent *intent, GError **error)
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
	    !gbe_entries_are_live(r->data->fd, intent->entries, &live, error))
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
	return staged || live ? finish(r, r->hidden_fd, intent, error)
			      : end_intent(r, intent, "undone", error);
}

static bool
recover_intent(Recover *r, const GbeIntent *intent, GError **error)
{
	g_autofree char *live = r->data->fd >= 0 ? gbe_tree_identity(r->data->fd) : NULL;
	g_autofree char *staging = staging_name(intent->sequence);
	int stage_fd = r->data->parent_fd;
	bool staged = false;

	if (intent->entries != NULL)
		return recover_entries(r, intent, error);
	if (r->data->fd >= 0 && live == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "whether a restore into %s was done cannot be told: the file "
				 "system does not say which directory that is",
				 r->data->path);
	if (live != NULL && g_strcmp0(live, intent->tree_new) == 0)
		return finish(r, stage_fd, intent, error);
	if (g_strcmp0(live, intent->tree_old) == 0)
		return undo(r, stage_fd, intent, error) && end_intent(r, intent, "undone", error);
	if (!gbe_is_there_at(stage_fd, staging, &staged, error) ||
	    (staged && !adopt(r, stage_fd, staging, r->facts->next_sequence, error)))
		return false;
	return end_intent(r, intent, "lost", error);
}

static bool
sweep_staging(Recover *r, int stage_fd, const char *name, GError **error)
{
	/* A ledger that does not know the data has lost a record, perhaps the intent. */
	bool whole = r->facts->ledger == GBE_YES && !r->facts->holes && r->facts->owner != NULL;
	guint64 sequence = g_ascii_strtoull(name + strlen(GBE_RUNG_RESTORE), NULL, 10);
	g_autoptr(GError) local = NULL;

	/* A leftover that cannot be removed is in nobody's way. */
	if (gbe_discard_has_number(name, GBE_DISCARD_NONCE)) {
		if (!gbe_remove_tree_within_at(stage_fd, name, r->app->patience, &local))
			gbe_note("%s stays: %s", name, local->message);
		return true;
	}
	if (gbe_discard_has_number(name, GBE_RUNG_STAGING) ||
	    (gbe_discard_has_number(name, GBE_RUNG_RESTORE) && whole)) {
		if (gbe_discard_staging(r->app, stage_fd, name, &local))
			say(r, "an unfinished restore was undone: staging tree", name);
		else
			gbe_note("the staging tree %s stays: %s", name, local->message);
		return true;
	}
	return !gbe_discard_has_number(name, GBE_RUNG_RESTORE) ||
	       adopt(r, stage_fd, name, sequence, error);
}

static bool
sweep_stagings(Recover *r, int stage_fd, const char *where, GError **error)
{
	g_autoptr(GPtrArray) names = NULL;

	if (stage_fd < 0)
		return true;
	if (!gbe_list_at(stage_fd, where, &names, error))
		return false;
	for (guint i = 0; i < names->len; i++)
		if (!sweep_staging(r, stage_fd, names->pdata[i], error))
			return false;
	return true;
}

/* Removes interrupted writes. The data directory may belong to another user: only that one name, and no tree. */
static bool
sweep_writes(Recover *r, GError **error)
{
	g_autoptr(GError) local = NULL;

	/* The nonce only helps when root moves the data. */
	if (!gbe_discard_nonce_directory(r->data, &local))
		g_debug("%s", local->message);
	if (r->data->fd >= 0)
		(void)unlinkat(r->data->fd, GBE_TMP_PREFIX GBE_NONCE_NAME, 0);
	if (r->data->parent_fd >= 0)
		gbe_probe_rename_sweep(r->data->parent_fd);
	return gbe_state_sweep(r->app, error);
}

static bool
open_hidden(Recover *r, GError **error)
{
	g_autoptr(GError) local = NULL;

	if (r->data->fd < 0 || !r->data->mount_point ||
	    gbe_own_dir_open_at(r->data->fd, gbe_data_hidden, false, &r->hidden_fd, &local) ||
	    g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		return true;
	r->recovery->exchange_open = r->facts->intent != NULL;
	g_propagate_error(error, g_steal_pointer(&local));
	return gbe_prefix(error, "%s", r->data->path);
}

bool
gbe_recover(GbeApp *app, GbeData *data, GbeStore *store, GbeRecovery *ret_recovery, GError **error)
{
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	GbeRecovery recovery = {0};
	Recover r = {.app = app,
		     .data = data,
		     .store = store,
		     .facts = facts,
		     .recovery = &recovery,
		     .hidden_fd = -1};
	g_autofree char *parent = g_path_get_dirname(data->path);
	g_autofree char *hidden = g_build_filename(data->path, GBE_HIDDEN_DIR, NULL);
	bool ok = true;

	facts->data = gbe_tri(data->fd >= 0);
	gbe_data_observe_identity(data, facts);
	gbe_state_observe(app, facts);
	gbe_identify(facts);
	if (facts->ledger == GBE_UNKNOWN)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "whether an operation on the data is open cannot be told: %s",
				 facts->ledger_why);
	if (facts->intent_why != NULL ||
	    (facts->intent != NULL && facts->intent->operation == GBE_OPERATION_UNKNOWN)) {
		recovery.left_alone = true;
		recovery.what = g_strdup("an operation of a newer greenboot-etcd is left alone");
		*ret_recovery = recovery;
		return true;
	}
	ok = open_hidden(&r, error) && sweep_writes(&r, error) &&
	     (facts->intent == NULL || recover_intent(&r, facts->intent, error)) &&
	     sweep_stagings(&r, data->parent_fd, parent, error) &&
	     sweep_stagings(&r, r.hidden_fd, hidden, error) &&
	     gbe_store_sweep(store, NULL, app->patience, error);
	gbe_close_fd(&r.hidden_fd);
	*ret_recovery = recovery;
	return ok;
}

bool
gbe_recover_here(GbeApp *app, GbeRecovery *ret_recovery, GError **error)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeStore) store = NULL;
	g_auto(GbeRecovery) recovery = {0};
	bool ok;

	ok = gbe_data_open_any(app, &data, error) &&
	     gbe_store_open(app, data, false, &store, error) &&
	     gbe_recover(app, data, store, &recovery, error);
	if (ret_recovery != NULL) {
		*ret_recovery = recovery;
		recovery = (GbeRecovery){0};
	}
	return ok;
}
