/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/push.h"

#include "app/state/history.h"
#include "fs/lock.h"
#include "store/queue.h"

#define LOCK "store"

void
gbe_store_pushed_clear(GbeStorePushed *pushed)
{
	g_clear_pointer(&pushed->name, g_free);
	g_clear_pointer(&pushed->sha256, g_free);
	g_clear_pointer(&pushed->stored_sha256, g_free);
	gbe_snapshot_meta_clear(&pushed->meta);
	g_clear_pointer(&pushed->verification, gbe_verification_free);
}

typedef struct {
	const GbeStorePush *options;
	guint64 done, total;
} Progress;

static bool
pass_progress(gsize size, gpointer data)
{
	Progress *progress = data;

	progress->done += size;
	return progress->options->progress == NULL ||
	       progress->options->progress(progress->done, progress->total,
					   progress->options->progress_data);
}

/* A snapshot that a timer asks for only goes into the queue, also where the store is not there. */
static bool
push_queued(GbeApp *app, GbeDepot *depot, const GbeStorePush *options, GbeStorePushed *pushed,
	    GError **error)
{
	g_autofree char *identifier = gbe_history_configured(app);

	if (gbe_queue_is_unchanged(app, depot))
		return true;
	return gbe_queue_add(app, identifier, depot != NULL, options, pushed, error);
}

/* From the queue to the bucket. */
static bool
send_now(GbeApp *app, GbeDepot *depot, const GbeStorePush *options, GbeStorePushed *pushed,
	 GError **error)
{
	bool encrypted = app->config->store.encrypt_to != NULL;
	Progress progress = {.options = options, .total = pushed->size};
	g_autoptr(GError) local = NULL;
	bool ok;

	depot->progress = pass_progress;
	depot->progress_data = &progress;
	ok = gbe_queue_send(app, depot, pushed->name, &local) ||
	     (options->sent_later && g_error_matches(local, GBE_ERROR, GBE_ERROR_BUSY));
	depot->progress = NULL;
	if (!ok) {
		g_propagate_prefixed_error(
		    error, g_steal_pointer(&local),
		    "snapshot %s waits in the queue (`greenboot-etcd store send` tries again): ",
		    pushed->name);
		return false;
	}
	g_free(pushed->verification->name);
	pushed->verification->name = g_build_filename(
	    depot->shown, pushed->name, encrypted ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA, NULL);
	return true;
}

static bool
push_directly(GbeApp *app, const GbeStorePush *options, GbeStorePushed *pushed, GError **error)
{
	g_autoptr(GbeSnapshotStore) store = NULL;
	g_auto(GbeOffsite) offsite = {0};
	gint64 began = g_get_monotonic_time();
	GbeHistoryPush push;
	const GbeDb *db;

	if (!gbe_snapshot_store_open(app, options->store, &store, error))
		return false;
	gbe_history_read(app, store->depot->identifier, &offsite);
	if (!gbe_store_write_entry(app, store, options, offsite.newest, NULL, pushed, error))
		return false;
	db = &pushed->verification->directory.db;
	push = (GbeHistoryPush){.name = pushed->name,
				.sha256 = pushed->sha256,
				.stored_sha256 = pushed->stored_sha256,
				.revision = db->revision > 0 ? db->revision : -1,
				.hash_kv = db->has_hash_kv ? (gint64)db->hash_kv : -1,
				.size = (gint64)pushed->size,
				.sent = (gint64)pushed->size,
				.usec = g_get_monotonic_time() - began,
				.elsewhere = gbe_depot_is_elsewhere(store->depot),
				.bound = pushed->bound};
	gbe_history_change(app, store->depot->identifier, gbe_history_note_pushed, &push);
	return true;
}

static bool
push(GbeApp *app, const GbeStorePush *options, GbeStorePushed *pushed, GError **error)
{
	g_autoptr(GbeDepot) depot = NULL;
	g_autoptr(GbeLock) lock = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_depot_open(app, options->store, &depot, &local) &&
	    (!options->queue || !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)))
		return gbe_pass(error, &local);
	if (!gbe_app_open_state(app, true, error) ||
	    !gbe_lock_acquire_at(app->state_fd, LOCK, "store push", 0, &lock, error))
		return false;
	if (options->queue)
		return push_queued(app, depot, options, pushed, error);
	if (gbe_depot_directory(depot) >= 0)
		return push_directly(app, options, pushed, error);
	if (!gbe_queue_add(app, depot->identifier, true, options, pushed, error))
		return false;
	/* Sending may take hours. */
	g_clear_pointer(&lock, gbe_lock_release);
	return send_now(app, depot, options, pushed, error);
}

bool
gbe_store_push(GbeApp *app, const GbeStorePush *options, GbeStorePushed *ret_pushed, GError **error)
{
	g_auto(GbeStorePushed) pushed = {0};

	if (!push(app, options, &pushed, error))
		return false;
	*ret_pushed = pushed;
	pushed = (GbeStorePushed){0};
	return true;
}
