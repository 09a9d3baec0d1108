/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/recover.h"

#include "app/entries.h"
#include "app/state.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "core/stamp.h"
#include "etcd/in-use.h"
#include "fs/compare.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/remove.h"
#include "fs/sync.h"
#include "fs/write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

void
gbe_recovery_clear(GbeRecovery *recovery)
{
	g_clear_pointer(&recovery->what, g_free);
}

bool
gbe_recover_name_displaced(GbeApp *app, GbeStore *store, int staging_parent, const char *staging,
			   const GbeManifest *manifest, guint *flushes, GError **error)
{
	g_autofree char *pending = g_strconcat(GBE_RUNG_PENDING, manifest->name, NULL);
	gbe_autofd int entry_fd = -1;

	if (!gbe_store_for_rename(app, store, staging_parent, &store, error))
		return false;
	if (faccessat(store->fd, pending, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    (!gbe_store_prepare(store, manifest, error) ||
	     !gbe_sync_fs(store->fd, store->path, error)))
		return false;
	if (!gbe_open_dir_at(store->fd, pending, &entry_fd, error) ||
	    !gbe_sync_order(staging_parent, store->fd, staging, flushes, error) ||
	    !gbe_rename_new_at(staging_parent, staging, entry_fd, GBE_STORE_DATA, error) ||
	    GBE_FAULT("recover-displaced-moved", error) ||
	    !gbe_rename_new_at(store->fd, pending, store->fd, manifest->name, error) ||
	    GBE_FAULT("recover-displaced-named", error) ||
	    !gbe_sync_order(store->fd, app->state_fd, store->path, flushes, error))
		return gbe_prefix(error, "keep the displaced data as %s", manifest->name);
	return true;
}

bool
gbe_recover_keep_existing(GbeApp *app, const char *path, int staging_parent, const char *staging,
			  guint *flushes, GError **error)
{
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;

	return (gbe_open_parent_in_root(app->root_fd, path, &dir_fd, &name, error) &&
		gbe_sync_order(staging_parent, dir_fd, staging, flushes, error) &&
		gbe_rename_new_at(staging_parent, staging, dir_fd, name, error) &&
		!GBE_FAULT("recover-existing-kept", error) &&
		gbe_sync_order(dir_fd, app->state_fd, path, flushes, error)) ||
	       gbe_prefix(error, "keep the displaced data as %s", path);
}

static gboolean
name_taken(GbeStore *store, const char *name)
{
	store = gbe_store_at(store, name);
	return faccessat(store->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The intent is lost: the stamp inside says whose data it was. */
static GbeManifest *
manifest_from_stamp(GbeData *data, GbeStore *store, const GbeStamp *stamp, guint64 sequence)
{
	GbeManifest *manifest = gbe_manifest_new();

	manifest->origin = GBE_ORIGIN_DISPLACED;
	manifest->method = GBE_METHOD_RENAME;
	manifest->sequence = sequence;
	manifest->data_dir = g_strdup(data->path);
	manifest->trial.used = -1;
	manifest->lineage.line = sequence;
	if (stamp != NULL && stamp->deployment.id != NULL && gbe_run_id_valid(stamp->run)) {
		gbe_deployment_copy(&manifest->deployment, &stamp->deployment);
		manifest->run = g_strdup(stamp->run);
		gbe_lineage_clear(&manifest->lineage);
		gbe_lineage_copy(&manifest->lineage, &stamp->lineage);
		manifest->previous = g_strdup(stamp->previous);
		manifest->trial = stamp->trial;
		for (guint64 ordinal = 1; manifest->name == NULL; ordinal++) {
			g_autofree char *name =
			    gbe_backup_name_format(stamp->deployment.id, stamp->run, ordinal);

			if (!name_taken(store, name))
				manifest->name = g_steal_pointer(&name);
		}
	} else {
		manifest->name = gbe_backup_name_adopted(sequence);
	}
	return manifest;
}

/* A consumed backup whose tree was staged and never exchanged goes back where it came from. */
static bool
put_back(GbeStore *store, int parent_fd, const char *staging, const GbeStamp *stamp, bool *ret_done,
	 GError **error)
{
	gbe_autofd int entry_fd = -1;
	struct stat st;

	*ret_done = false;
	if (stamp->restored_from == NULL)
		return true;
	store = gbe_store_at(store, stamp->restored_from);
	if (store->fd < 0 || !gbe_open_dir_at(store->fd, stamp->restored_from, &entry_fd, NULL))
		return true;
	if (fstatat(entry_fd, GBE_STORE_DATA, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	if (!gbe_rename_new_at(parent_fd, staging, entry_fd, GBE_STORE_DATA, error) ||
	    !gbe_sync_dir(entry_fd, stamp->restored_from, error) ||
	    !gbe_sync_dir(parent_fd, staging, error))
		return false;
	*ret_done = true;
	return true;
}

typedef struct {
	GbeApp *app;
	GbeData *data;
	GbeStore *store;
	GbeIntent *intent;
	GbeRecovery *recovery;
} Recover;

static void
say(Recover *r, const char *format, const char *name)
{
	g_free(r->recovery->what);
	r->recovery->what = g_strdup_printf("%s %s", format, name);
	r->recovery->recovered = TRUE;
}

/* Where somebody wanted it; else it is a backup like any other. */
static bool
keep_existing(Recover *r, int parent_fd, const char *staging, guint64 sequence)
{
	g_autoptr(GError) local = NULL;

	if (r->intent == NULL || r->intent->sequence != sequence ||
	    r->intent->keep_existing == NULL)
		return false;
	if (gbe_recover_keep_existing(r->app, r->intent->keep_existing, parent_fd, staging, NULL,
				      &local)) {
		say(r, "an interrupted restore was finished: the displaced data is",
		    r->intent->keep_existing);
		return true;
	}
	g_debug("%s", local->message);
	return false;
}

static bool
recover_staging(Recover *r, int parent_fd, const char *staging, GError **error)
{
	guint64 sequence = g_ascii_strtoull(staging + strlen(GBE_RUNG_RESTORE), NULL, 10);
	g_autoptr(GbeManifest) manifest = NULL;
	g_autoptr(GbeStamp) stamp = NULL;
	g_autoptr(GError) ignored = NULL;
	gbe_autofd int tree_fd = -1;
	bool done = false;

	if (!gbe_open_dir_at(parent_fd, staging, &tree_fd, error))
		return false;
	if (!gbe_data_read_stamp_at(tree_fd, &stamp, &ignored))
		g_debug("%s: %s", staging, ignored->message);
	if (stamp != NULL && stamp->sequence == sequence) {
		if (!put_back(r->store, parent_fd, staging, stamp, &done, error) ||
		    (!done && !gbe_remove_tree_at(parent_fd, staging, error)))
			return gbe_prefix(error, "undo the staging of a restore");
		say(r, "an unfinished restore was undone: staging tree", staging);
		return true;
	}
	if (keep_existing(r, parent_fd, staging, sequence))
		return true;
	if (r->intent != NULL && r->intent->sequence == sequence && r->intent->displaced != NULL)
		manifest = gbe_manifest_copy(r->intent->displaced);
	else
		manifest = manifest_from_stamp(r->data, r->store, stamp, sequence);
	if (r->store->fd < 0)
		return gbe_throw(
		    error, GBE_ERROR_FAILED,
		    "the data displaced by the last restore waits in %s, but the store "
		    "%s is not there",
		    staging, r->store->path);
	if (manifest->files == NULL && manifest->files_count == 0 &&
	    !gbe_compare_record(tree_fd, gbe_data_exclude, FALSE, manifest, error))
		return false;
	if (!gbe_recover_name_displaced(r->app, r->store, parent_fd, staging, manifest, NULL,
					error))
		return false;
	say(r, "an interrupted restore was finished: the displaced data is", manifest->name);
	return true;
}

/* Ours alone: a number that this program would have written. */
static bool
is_staging(const char *name)
{
	const char *digits = name + strlen(GBE_RUNG_RESTORE);

	return g_str_has_prefix(name, GBE_RUNG_RESTORE) && *digits != '\0' && *digits != '0' &&
	       strspn(digits, "0123456789") == strlen(digits);
}

static bool
recover_stagings(Recover *r, int parent_fd, const char *parent, GError **error)
{
	g_autoptr(GPtrArray) names = NULL;

	if (parent_fd < 0)
		return true;
	if (!gbe_list_at(parent_fd, parent, &names, error))
		return false;
	for (guint i = 0; i < names->len; i++)
		if (is_staging(names->pdata[i]) &&
		    !recover_staging(r, parent_fd, names->pdata[i], error))
			return false;
	return true;
}

/* The entries of a mount point: half of them may have changed places already. */
static bool
recover_entries(Recover *r, GError **error)
{
	g_autofree char *name = g_path_get_basename(r->intent->staging);
	g_autoptr(GError) local = NULL;
	gbe_autofd int hidden_fd = -1;
	gbe_autofd int tree_fd = -1;
	gbe_autofd int lock_fd = -1;

	if (r->data->fd < 0 || !r->data->mount_point)
		return true; /* the mount is not there: rule 3 */
	if (!gbe_own_dir_open_at(r->data->fd, gbe_data_hidden, false, &hidden_fd, &local) &&
	    !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		r->recovery->exchange_open = TRUE;
		g_propagate_error(error, g_steal_pointer(&local));
		return gbe_prefix(error, "%s", r->data->path);
	}
	g_clear_error(&local);
	if (hidden_fd < 0 || !gbe_open_dir_at(hidden_fd, name, &tree_fd, NULL))
		return true; /* finished, and named already */
	if (r->data->member_path != NULL &&
	    gbe_in_use(r->data->fd, r->data->member_path, r->data->wal_fd, &lock_fd, &local) ==
		GBE_YES) {
		r->recovery->exchange_open = TRUE;
		return gbe_throw(
		    error, GBE_ERROR_BUSY,
		    "a restore into %s is half done and etcd has the data open: stop it",
		    r->data->path);
	}
	if (!gbe_entries_exchange(r->data->fd, tree_fd, r->intent->entries, error)) {
		r->recovery->exchange_open = TRUE;
		return false;
	}
	return true;
}

/* Writes that were cut short. The data directory may be somebody else's: that one name, and no tree. */
static bool
sweep_writes(Recover *r, GError **error)
{
	if (r->data->fd >= 0)
		(void)unlinkat(r->data->fd, GBE_TMP_PREFIX GBE_STAMP_NAME, 0);
	if (r->data->parent_fd >= 0)
		gbe_probe_rename_sweep(r->data->parent_fd);
	return gbe_state_sweep(r->app, error);
}

bool
gbe_recover(GbeApp *app, GbeData *data, GbeStore *store, GbeRecovery *ret_recovery, GError **error)
{
	GbeRecovery recovery = {0};
	Recover r = {.app = app, .data = data, .store = store, .recovery = &recovery};
	g_autoptr(GbeIntent) intent = NULL;
	g_autofree char *parent = g_path_get_dirname(data->path);
	g_autofree char *hidden = g_build_filename(data->path, GBE_HIDDEN_DIR, NULL);
	gbe_autofd int hidden_fd = -1;
	bool ok;

	if (!gbe_state_read_intent(app, TRUE, &intent, error))
		return false;
	r.intent = intent;
	if (intent != NULL &&
	    (intent->operation == GBE_OPERATION_UNKNOWN || intent->step == GBE_STEP_UNKNOWN)) {
		recovery.left_alone = TRUE;
		recovery.what = g_strdup("an operation of a newer greenboot-etcd is left alone");
		*ret_recovery = recovery;
		return true;
	}
	if (data->fd >= 0 && data->mount_point &&
	    !gbe_own_dir_open_at(data->fd, gbe_data_hidden, false, &hidden_fd, NULL))
		hidden_fd = -1;
	ok = sweep_writes(&r, error) &&
	     (intent == NULL || intent->step != GBE_STEP_ENTRIES || recover_entries(&r, error)) &&
	     recover_stagings(&r, data->parent_fd, parent, error) &&
	     recover_stagings(&r, hidden_fd, hidden, error) &&
	     gbe_store_sweep(store, NULL, error) &&
	     (intent != NULL ? gbe_state_remove(app, GBE_STATE_INTENT, error)
			     : !recovery.recovered || gbe_state_sync(app, error));
	*ret_recovery = recovery;
	return ok;
}
