/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/restore.h"

#include "app/entries.h"
#include "app/inside.h"
#include "app/keys.h"
#include "app/recover.h"
#include "app/restore-private.h"
#include "app/state.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "core/decide.h"
#include "fs/compare.h"
#include "fs/exchange.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/remove.h"
#include "fs/sync.h"

#include <string.h>
#include <sys/stat.h>

static void
restore_clear(Restore *r)
{
	gbe_intent_free(r->intent);
	gbe_close_fd(&r->stage_fd);
	gbe_close_fd(&r->tree_fd);
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
	/* A process without descriptors or memory, or that is told to stop, says nothing about the backup. */
	if (g_error_matches(local, GBE_ERROR, GBE_ERROR_FAILED))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "whether backup %s validates cannot be told: %s", manifest->name,
				 local->message);
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "backup %s does not validate: %s",
			 manifest->name, local->message);
}

/* What lies in a data directory without being etcd's data is kept, too. */
static GbeManifest *
manifest_of_the_rest(Restore *r)
{
	GbeManifest *manifest = gbe_manifest_new();

	manifest->sequence = r->stamp->sequence;
	manifest->name = gbe_backup_name_adopted(manifest->sequence);
	manifest->origin = GBE_ORIGIN_DISPLACED;
	manifest->method = GBE_METHOD_RENAME;
	manifest->grade = GBE_GRADE_BAD;
	manifest->grade_reason = g_strdup("what lay in the data directory had no etcd data");
	manifest->created = r->observed->facts->now;
	manifest->data_dir = g_strdup(r->observed->data->path);
	return manifest;
}

static bool
prepare_displaced(Restore *r, GbeManifest *displaced, GError **error)
{
	GbeData *data = r->observed->data;
	GbeStore *place = NULL;
	g_auto(GStrv) entries = NULL;

	if (data->fd < 0)
		return true;
	if (displaced != NULL) {
		r->intent->displaced = gbe_manifest_copy(displaced);
	} else {
		if (!gbe_entries_plan(data->fd, data->fd, NULL, &entries, error))
			return gbe_prefix(error, "%s", data->path);
		if (*entries == NULL && !data->mount_point)
			return true;
		r->intent->displaced = manifest_of_the_rest(r);
	}
	g_free(r->intent->displaced->written_by);
	r->intent->displaced->written_by = g_strdup(GBE_VERSION);
	if (!gbe_compare_record(data->fd, gbe_data_exclude, FALSE, r->intent->displaced, error))
		return gbe_prefix(error, "%s", data->path);
	if (r->intent->keep_existing != NULL)
		return true;
	if (!gbe_store_for_rename(r->app, r->observed->store, r->stage_fd, &place, error))
		return false;
	return gbe_store_prepare(place, r->intent->displaced, error);
}

static char *
member_entry(GbeData *data)
{
	if (data->member_path == NULL || *data->member_path == '\0')
		return g_strdup("member");
	return g_strndup(data->member_path, strcspn(data->member_path, "/"));
}

/* The live stamp is what counts; the copy only helps where that gets lost. */
static bool
prepare_copy_of_stamp(Restore *r, GError **error)
{
	g_autoptr(GbeStamp) copy = gbe_stamp_copy(r->stamp);

	g_free(copy->data_handle);
	copy->data_handle =
	    gbe_file_handle(r->observed->data->mount_point ? r->observed->data->fd : r->tree_fd);
	return gbe_state_prepare_copy(r->app, copy, error);
}

/* Everything that the exchange needs to be finished or undone by somebody else, durable before it. Where one
 * file system has all of it and brings it to the disk in order, the flush at the end is enough: after a power
 * cut either there was no exchange, or all of this is there. */
static bool
make_durable(Restore *r, GError **error)
{
	GbeApp *app = r->app;
	GbeStore *store = r->observed->store;
	gint64 begin = g_get_monotonic_time();
	g_autoptr(GbeRunRecord) run = gbe_decide_run_record(r->stamp);

	if (!gbe_state_begin_run(app, run, GBE_WRITE_LATER, error) ||
	    !gbe_state_write_intent(app, r->intent, GBE_WRITE_LATER, error) ||
	    !prepare_copy_of_stamp(r, error) || GBE_FAULT("restore-intended", error) ||
	    !gbe_sync_content(r->stage_fd,
			      r->intent->consume || r->timing.bytes_written > 0 ||
				  !gbe_same_filesystem(app->state_fd, r->stage_fd),
			      r->observed->data->path, &r->timing.flushes, error))
		return false;
	if (!gbe_same_filesystem(app->state_fd, r->stage_fd)) {
		r->timing.flushes++;
		if (!gbe_state_sync(app, error))
			return false;
	}
	/* A store elsewhere holds the source alone; what is displaced goes near the data. */
	if (r->intent->consume && !gbe_same_filesystem(store->fd, r->stage_fd) &&
	    !gbe_same_filesystem(store->fd, app->state_fd)) {
		r->timing.flushes++;
		if (!gbe_sync_fs(store->fd, store->path, error))
			return false;
	}
	r->timing.sync_usec = g_get_monotonic_time() - begin;
	return !GBE_FAULT("restore-staged", error);
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
		return gbe_prefix(error, "put %s in the place of %s", r->backup->name, data->path);
	return !GBE_FAULT("restore-exchanged", error);
}

/* The displaced tree gets its name; the entry of a consumed backup says that it is one. */
static bool
tidy(Restore *r, GError **error)
{
	GbeStore *store = r->observed->store;

	if (r->intent->displaced != NULL && r->intent->keep_existing != NULL) {
		if (!gbe_recover_keep_existing(r->app, r->intent->keep_existing, r->stage_fd,
					       r->staging, &r->timing.flushes, error))
			return false;
	} else if (r->intent->displaced != NULL) {
		if (!gbe_recover_name_displaced(r->app, store, r->stage_fd, r->staging,
						r->intent->displaced, &r->timing.flushes, error))
			return false;
	} else if (!gbe_sync_order(r->stage_fd, r->app->state_fd, r->observed->data->path,
				   &r->timing.flushes, error) ||
		   (r->observed->data->fd >= 0 &&
		    !gbe_remove_tree_at(r->stage_fd, r->staging, error))) {
		return false;
	}
	if (r->intent->consume) {
		g_autoptr(GbeManifest) manifest = gbe_manifest_copy(r->backup);

		manifest->consumed = TRUE;
		if (!gbe_store_write_manifest(store, manifest, error))
			return false;
	}
	return !GBE_FAULT("restore-tidied", error);
}

/* Is the new tree in place, whatever was said about how it got there? */
static gboolean
in_place(Restore *r)
{
	g_autoptr(GbeStamp) stamp = NULL;
	gbe_autofd int fd = -1;

	if (!gbe_open_dir_at(r->observed->data->parent_fd, r->observed->data->name, &fd, NULL) ||
	    !gbe_data_read_stamp_at(fd, &stamp, NULL))
		return FALSE;
	return stamp != NULL && stamp->sequence == r->stamp->sequence;
}

/* What was staged is taken away again; what was exchanged is finished. */
static void
undo_staging(Restore *r, gboolean exchanging)
{
	g_autoptr(GError) error = NULL;
	GbeRecovery recovery = {0};

	/* Before the exchange the intent must go first, or it would be carried out. */
	if (!exchanging && !gbe_state_remove(r->app, GBE_STATE_INTENT, &error))
		g_debug("undo of the staging: %s", error->message);
	g_clear_error(&error);
	if (!gbe_recover(r->app, r->observed->data, r->observed->store, &recovery, &error))
		g_debug("undo of the staging: %s", error->message);
	gbe_recovery_clear(&recovery);
}

static bool
stage(Restore *r, GbeManifest *displaced, GError **error)
{
	g_autofree char *last = NULL;
	gbe_autofd int src_fd = -1;
	gint64 begin = g_get_monotonic_time();

	if (!gbe_restore_open_stage(r, error) ||
	    !gbe_store_open_data(r->observed->store, r->backup->name, &src_fd, error) ||
	    !gbe_restore_make_room(r, src_fd, error))
		return false;
	if (r->intent->consume ? !gbe_restore_consume(r, error) : !gbe_restore_clone(r, error))
		return false;
	r->timing.clone_usec = g_get_monotonic_time() - begin;
	if (GBE_FAULT("restore-cloned", error) || !prepare_displaced(r, displaced, error))
		return false;
	if (r->observed->data->mount_point) {
		last = member_entry(r->observed->data);
		r->intent->step = GBE_STEP_ENTRIES;
		if (!gbe_entries_plan(r->observed->data->fd, r->tree_fd, last, &r->intent->entries,
				      error))
			return gbe_prefix(error, "%s", r->observed->data->path);
	}
	return make_durable(r, error);
}

static GbeIntent *
new_intent(Restore *r)
{
	GbeIntent *intent = gbe_intent_new();
	GbeData *data = r->observed->data;
	g_autofree char *parent = g_path_get_dirname(data->path);

	intent->operation = GBE_OPERATION_RESTORE;
	intent->step = GBE_STEP_STAGED;
	intent->sequence = r->stamp->sequence;
	intent->run = g_strdup(r->stamp->run);
	intent->backup = g_strdup(r->backup->name);
	intent->rule = g_strdup(r->options->rule);
	intent->keep_existing = g_strdup(r->options->keep_existing);
	intent->staging = data->mount_point
			      ? g_build_filename(data->path, GBE_HIDDEN_DIR, r->staging, NULL)
			      : g_build_filename(parent, r->staging, NULL);
	return intent;
}

/* After the exchange: whatever fails now is finished by the next one under the lock. */
static bool
finish(Restore *r, GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autoptr(GError) why = NULL;
	bool tidied = tidy(r, &why);

	if (tidied && !gbe_state_publish_copy(r->app, &local))
		g_debug("copy of the stamp: %s", local->message);
	/* One flush for all that is still due: where one log keeps the order, from the exchange on. */
	r->timing.flushes++;
	if (tidied && gbe_state_remove(r->app, GBE_STATE_INTENT, &why))
		return true;
	/* Before this flush there was none where it is the only one. */
	return gbe_throw(
	    error, GBE_ERROR_PARTIAL,
	    r->timing.flushes > 1
		? "%s is restored, but tidying up failed (the next start finishes it): %s"
		: "%s is restored, but is not known to be on the disk (after a power cut the next "
		  "start may find the data as it was): %s",
	    r->backup->name, why->message);
}

bool
gbe_restore_run(GbeApp *app, GbeObserved *observed, const char *name, const GbeStamp *stamp,
		GbeManifest *displaced, const GbeRestoreOptions *options, GbeTiming *ret_timing,
		GError **error)
{
	g_auto(Restore) r = {.app = app,
			     .observed = observed,
			     .backup = gbe_facts_backup(observed->facts, name),
			     .stamp = stamp,
			     .options = options,
			     .stage_fd = -1,
			     .tree_fd = -1};
	gint64 begin = g_get_monotonic_time();
	g_autoptr(GError) local = NULL;

	if (r.backup == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no backup %s", name);
	if (!options->force && !gbe_keys_check_backup(app, r.backup, FALSE, error))
		return false;
	/* The etcd that gets this data has its WAL elsewhere, and that is not in the backup. */
	if (observed->data->wal_dir != NULL && !gbe_data_check_whole(observed->data, error))
		return false;
	if (!gbe_restore_validate(app, observed->store, r.backup, &r.timing.look_usec, &local)) {
		if (!options->force || r.backup->consumed) {
			g_propagate_error(error, g_steal_pointer(&local));
			return false;
		}
	}
	begin += r.timing.look_usec;
	r.timing.verify_usec = g_get_monotonic_time() - begin;
	r.staging = g_strdup_printf(GBE_RUNG_RESTORE "%" G_GUINT64_FORMAT, stamp->sequence);
	r.intent = new_intent(&r);
	if (!stage(&r, displaced, error)) {
		undo_staging(&r, FALSE);
		return false;
	}
	if (!exchange(&r, error)) {
		/* Recovery looks at what the disk says, not at what we believe. */
		undo_staging(&r, TRUE);
		if (in_place(&r) && error != NULL && *error != NULL)
			(*error)->code = GBE_ERROR_PARTIAL;
		return false;
	}
	if (!finish(&r, error))
		return false;
	r.timing.total_usec = g_get_monotonic_time() - begin;
	if (ret_timing != NULL)
		*ret_timing = r.timing;
	return true;
}
