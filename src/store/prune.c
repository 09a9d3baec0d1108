/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/snapshots.h"

#include "app/by-hand/by-hand.h"
#include "base/fault.h"
#include "core/decide/retention.h"

/* etcd-manager's defaults: hourly snapshots for a week, daily ones for two years. */
#define HOURLY 168
#define DAILY 730

/* Succeeds if at least one of the snapshots that stay is sound. */
static bool
check_floor(const GbeSnapshotStore *store, const GPtrArray *complete, const GbePeriodPoint *points,
	    GError **error)
{
	for (guint i = complete->len; i > 0; i--) {
		const GbeStored *stored = complete->pdata[i - 1];
		g_autofree char *sha256 = NULL;
		g_autoptr(GError) local = NULL;

		if (!points[i - 1].keep)
			continue;
		/* Without an identity, the snapshot counts as sound: it was proved when it was pushed. */
		if (stored->encrypted && store->identity == NULL)
			return true;
		if (gbe_snapshot_store_read(store, stored, NULL, NULL, &sha256, &local) &&
		    gbe_snapshot_store_prove(store->app, store, stored, sha256, &local))
			return true;
		if (!gbe_pass_unless(error, &local, GBE_ERROR_VERIFY_FAILED))
			return false;
	}
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "every snapshot that would stay in %s is damaged; no snapshot was removed",
			 store->depot->shown);
}

/* A loop over entries with one effect each, so it has no table of steps (app/device/change.h). */
static bool
remove_all(const GbeSnapshotStore *store, const GPtrArray *complete, const GbePeriodPoint *points,
	   bool dry_run, GPtrArray *removed, GError **error)
{
	for (guint i = 0; i < complete->len; i++) {
		const GbeStored *stored = complete->pdata[i];
		g_autofree char *meta = g_build_filename(stored->name, GBE_SNAPSHOT_META, NULL);
		GbeByHandRemoval *removal;

		if (points[i].keep)
			continue;
		if (removed->len == 0 && !check_floor(store, complete, points, error))
			return false;
		/* Without its meta file, no tool takes the entry for a snapshot. The next prune removes the rest of
		 * it. */
		if (!dry_run && (!gbe_depot_unpublish(store->depot, meta, error) ||
				 GBE_FAULT("store-unpublished", error) ||
				 !gbe_depot_remove_entry(store->depot, stored->name, error)))
			return gbe_prefix(error, "%s", store->depot->shown);
		removal = g_new0(GbeByHandRemoval, 1);
		removal->name = g_strdup(stored->name);
		removal->reason = g_strdup("not the first of an hour or a day to keep");
		g_ptr_array_add(removed, removal);
	}
	return true;
}

bool
gbe_store_prune(GbeApp *app, const char *directory, bool dry_run, GPtrArray **ret_removed,
		GError **error)
{
	g_autoptr(GPtrArray) removed = g_ptr_array_new_with_free_func(gbe_by_hand_removal_free);
	g_autoptr(GbeSnapshotStore) store = NULL;
	g_autoptr(GPtrArray) complete = g_ptr_array_new();
	g_autofree GbePeriodPoint *points = NULL;
	guint hourly = app->config->store.hourly, daily = app->config->store.daily;

	if (!gbe_snapshot_store_open(app, directory, &store, error) ||
	    !gbe_snapshot_store_look(store, error))
		return false;
	points = g_new0(GbePeriodPoint, store->stored->len + 1);
	for (guint i = 0; i < store->stored->len; i++) {
		GbeStored *stored = store->stored->pdata[i];

		/* With [store] key, count and remove only snapshots that this key has signed. Otherwise a person who
		 * can only add to the store could make this device remove its own snapshots. */
		if (stored->state != GBE_STORED_COMPLETE || stored->holds_something ||
		    (app->config->store.key != NULL && !stored->has_hmac))
			continue;
		points[complete->len].time = stored->when.time;
		points[complete->len].undated = stored->when.undated;
		g_ptr_array_add(complete, stored);
	}
	if (hourly == 0 && daily == 0) {
		hourly = HOURLY;
		daily = DAILY;
	}
	gbe_retention_periods(points, complete->len, hourly, daily);
	if (!remove_all(store, complete, points, dry_run, removed, error) ||
	    (!dry_run && !gbe_snapshot_store_sweep(store, error)))
		return false;
	*ret_removed = g_steal_pointer(&removed);
	return true;
}
