/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/restore.h"

#include "app/backup/entries.h"
#include "app/backup/recover.h"
#include "app/backup/restore-private.h"
#include "app/state/ledger.h"
#include "app/state/state.h"
#include "app/store/inside.h"
#include "app/store/keys.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "core/decide/decide.h"
#include "fs/copy/compare.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/remove.h"
#include "fs/sync.h"

#include <string.h>

static void
restore_clear(Restore *r)
{
	gbe_intent_free(r->intent);
	gbe_close_fd(&r->stage_fd);
	gbe_close_fd(&r->tree_fd);
	g_free(r->staged);
	g_free(r->staging);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Restore, restore_clear)

bool
gbe_restore_validate(GbeApp *app, GbeStore *store, const GbeManifest *manifest,
		     gint64 *ret_look_usec, GError **error)
{
	g_autoptr(GError) local = NULL;

	if (manifest->consumed)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "backup %s is a name only: its data was restored without a copy",
				 manifest->name);
	if (gbe_inside_backup(app, store, manifest, ret_look_usec, &local))
		return true;
	/* A disk that does not answer, or a process without descriptors or memory, says nothing about the backup. */
	if (g_error_matches(local, GBE_ERROR, GBE_ERROR_FAILED) ||
	    g_error_matches(local, GBE_ERROR, GBE_ERROR_UNREADABLE))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "whether backup %s validates cannot be told: %s", manifest->name,
				 local->message);
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "backup %s does not validate: %s",
			 manifest->name, local->message);
}

/* Files in the data directory that are not etcd's data are kept, too. */
static GbeManifest *
manifest_of_the_rest(Restore *r)
{
	GbeManifest *manifest = gbe_manifest_new();

	manifest->sequence = r->intent->sequence;
	manifest->name = gbe_backup_name_adopted(manifest->sequence);
	manifest->origin = GBE_ORIGIN_DISPLACED;
	manifest->method = GBE_METHOD_RENAME;
	manifest->grade = GBE_GRADE_BAD;
	manifest->grade_reason = g_strdup("what lay in the data directory had no etcd data");
	manifest->created = r->observed->facts->now;
	manifest->data_dir = g_strdup(r->observed->data->path);
	return manifest;
}

/* The nonce alone is left where data was set aside before. */
static bool
has_nothing(const GbeData *data, bool *ret_nothing, GError **error)
{
	g_auto(GbeList) list = gbe_list_open_at(data->fd, data->path);
	const char *name;

	*ret_nothing = true;
	while (*ret_nothing && (name = gbe_list_next(&list)) != NULL)
		*ret_nothing =
		    g_str_equal(name, GBE_NONCE_NAME) || g_strv_contains(gbe_data_exclude, name);
	return !*ret_nothing || gbe_list_end(&list, error);
}

/* Makes the displaced tree's place in the store early, while there is room for the names. */
static bool
prepare_displaced(Restore *r, const GbeManifest *displaced, GError **error)
{
	GbeData *data = r->observed->data;
	GbeStore *place = NULL;
	bool nothing = false;

	if (data->fd < 0)
		return true;
	if (displaced == NULL && !data->mount_point) {
		if (!has_nothing(data, &nothing, error))
			return false;
		if (nothing)
			return true;
	}
	r->intent->displaced =
	    displaced != NULL ? gbe_manifest_copy(displaced) : manifest_of_the_rest(r);
	g_free(r->intent->displaced->written_by);
	r->intent->displaced->written_by = g_strdup(GBE_VERSION);
	if (r->intent->keep_existing != NULL)
		return true;
	return gbe_store_for_rename(r->app, r->observed->store, r->stage_fd, &place, error) &&
	       gbe_store_prepare(place, r->intent->displaced, error);
}

const char *
gbe_restore_named(const Restore *r)
{
	return r->backup != NULL ? r->backup->name : "an empty directory";
}

static bool
exchange(Restore *r, GError **error)
{
	GbeData *data = r->observed->data;

	if (data->mount_point)
		return gbe_entries_exchange(data->fd, r->tree_fd, r->intent->entries, error);
	if (data->fd < 0
		? !gbe_rename_new_at(r->stage_fd, r->staging, data->parent_fd, data->name, error)
		: !gbe_exchange_at(r->stage_fd, r->staging, data->parent_fd, data->name, error))
		return gbe_prefix(error, "put %s in the place of %s", gbe_restore_named(r),
				  data->path);
	return !GBE_FAULT("restore-exchanged", error);
}

/* Is the new tree in place, whatever the exchange reported? */
static bool
in_place(Restore *r)
{
	g_autofree char *live = NULL;
	gbe_autofd int fd = -1;

	if (r->observed->data->mount_point)
		return true;
	if (gbe_open_dir_at(r->observed->data->parent_fd, r->observed->data->name, &fd, NULL))
		live = gbe_tree_identity(fd);
	return g_strcmp0(live, r->intent->tree_new) == 0;
}

/* Removes what was staged, or finishes what was exchanged. */
static void
recover(Restore *r)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) error = NULL;
	GbeRecovery recovery = {0};

	if (!gbe_data_open(r->app, &data, &error) ||
	    !gbe_recover(r->app, data, r->observed->store, &recovery, &error))
		g_debug("undo of the staging: %s", error->message);
	gbe_recovery_clear(&recovery);
}

static bool
stage(Restore *r, const GbeManifest *displaced, GError **error)
{
	gbe_autofd int src_fd = -1;
	gint64 begin = g_get_monotonic_time();
	bool ok;

	if (!gbe_restore_open_stage(r, error) ||
	    (r->backup != NULL &&
	     (!gbe_store_open_data(r->observed->store, r->backup->name, &src_fd, error) ||
	      !gbe_restore_make_room(r, src_fd, error))) ||
	    !prepare_displaced(r, displaced, error))
		return false;
	ok = r->intent->consume ? gbe_restore_consume(r, error) : gbe_restore_stage(r, error);
	r->timing.clone_usec = g_get_monotonic_time() - begin;
	return ok && !GBE_FAULT("restore-cloned", error);
}

static GbeIntent *
new_intent(Restore *r, guint64 sequence)
{
	GbeIntent *intent = gbe_intent_new();
	GbeData *data = r->observed->data;
	g_autofree char *parent = g_path_get_dirname(data->path);

	intent->operation = GBE_OPERATION_RESTORE;
	intent->sequence = sequence;
	intent->backup = r->backup != NULL ? g_strdup(r->backup->name) : NULL;
	intent->rule = g_strdup(r->options->rule);
	intent->keep_existing = g_strdup(r->options->keep_existing);
	intent->staging = data->mount_point
			      ? g_build_filename(data->path, GBE_HIDDEN_DIR, r->staging, NULL)
			      : g_build_filename(parent, r->staging, NULL);
	if (r->take_over != NULL) {
		intent->take_over = gbe_take_over_copy(r->take_over);
		g_free(intent->take_over->nonce);
		intent->take_over->nonce = gbe_ledger_nonce();
		if (r->options->keep_existing != NULL)
			gbe_backup_ref_clear(&intent->take_over->found);
	}
	return intent;
}

/* After the exchange, the next holder of the lock finishes what fails here. */
static bool
finish(Restore *r, GError **error)
{
	g_autoptr(GError) why = NULL;

	if (gbe_recover_finish(r->app, r->observed->store, r->stage_fd, r->intent,
			       &r->timing.flushes, &why))
		return true;
	return gbe_throw(error, GBE_ERROR_PARTIAL,
			 "%s is in place, but tidying up failed (the next start finishes it): %s",
			 gbe_restore_named(r), why->message);
}

bool
gbe_restore_run(GbeApp *app, GbeObserved *observed, const char *name, const GbeTakeOver *take_over,
		guint64 sequence, GbeManifest *displaced, const GbeRestoreOptions *options,
		GbeTiming *ret_timing, GError **error)
{
	g_auto(Restore) r = {.app = app,
			     .observed = observed,
			     .backup =
				 name != NULL ? gbe_facts_backup(observed->facts, name) : NULL,
			     .take_over = take_over,
			     .options = options,
			     .stage_fd = -1,
			     .tree_fd = -1};
	gint64 begin = g_get_monotonic_time();

	if (r.backup == NULL && name != NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no backup %s", name);
	if (r.backup != NULL && !options->force &&
	    !gbe_keys_check_backup(app, r.backup, false, error))
		return false;
	/* The etcd that gets this data has its WAL elsewhere, and the backup lacks that WAL. */
	if (observed->data->wal_dir != NULL && !gbe_data_check_whole(observed->data, error))
		return false;
	if (r.backup != NULL && (r.backup->consumed || (!options->force && !options->validated)) &&
	    !gbe_restore_validate(app, observed->store, r.backup, &r.timing.look_usec, error))
		return false;
	begin += r.timing.look_usec;
	r.timing.verify_usec = g_get_monotonic_time() - begin;
	r.staging = g_strdup_printf(GBE_RUNG_RESTORE "%" G_GUINT64_FORMAT, sequence);
	r.staged = g_strdup_printf(GBE_RUNG_STAGING "%" G_GUINT64_FORMAT, sequence);
	r.intent = new_intent(&r, sequence);
	if (!stage(&r, displaced, error)) {
		recover(&r);
		return false;
	}
	if (!exchange(&r, error)) {
		/* Recovery looks at the disk, not at this process's view. */
		recover(&r);
		if (in_place(&r))
			gbe_rethrow(error, GBE_ERROR_PARTIAL);
		return false;
	}
	if (!finish(&r, error))
		return false;
	r.timing.total_usec = g_get_monotonic_time() - begin;
	if (ret_timing != NULL)
		*ret_timing = r.timing;
	return true;
}
