/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/snapshots.h"

#include "app/by-hand/by-hand.h"
#include "base/fault.h"
#include "core/decide/retention.h"

/* etcd-manager's defaults: hourly snapshots for a week, daily ones for two years. */
#define HOURLY 168
#define DAILY 730

/* With [store] key, only what a holder of it has pushed counts and goes: else somebody who can write to the store, and not
 * remove from it, would have this device remove its own. */
static GPtrArray *
complete_ones(const GbeSnapshotStore *store)
{
	bool any = store->app->config->store.key == NULL;
	GPtrArray *complete = g_ptr_array_new();

	for (guint i = 0; i < store->stored->len; i++) {
		GbeStored *stored = store->stored->pdata[i];

		if (stored->state == GBE_STORED_COMPLETE && !stored->holds_something &&
		    (any || stored->has_hmac))
			g_ptr_array_add(complete, stored);
	}
	return complete;
}

static GbePeriodPoint *
decide(const GbeConfig *config, const GPtrArray *complete)
{
	guint hourly = config->store.hourly, daily = config->store.daily;
	GbePeriodPoint *points = g_new0(GbePeriodPoint, complete->len + 1);

	for (guint i = 0; i < complete->len; i++) {
		const GbeStored *stored = complete->pdata[i];

		points[i].time = stored->when.time;
		points[i].undated = stored->when.undated;
	}
	if (hourly == 0 && daily == 0) {
		hourly = HOURLY;
		daily = DAILY;
	}
	gbe_retention_periods(points, complete->len, hourly, daily);
	return points;
}

/* Finds the newest sound snapshot among those that stay. */
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
			 "none of those that would stay in %s is sound: nothing was removed",
			 store->depot->shown);
}

/* Without its meta file, an entry is no snapshot for any tool; what is left then, the next prune removes. */
static bool
remove_one(const GbeSnapshotStore *store, const char *name, GError **error)
{
	g_autofree char *meta = g_build_filename(name, GBE_SNAPSHOT_META, NULL);

	return gbe_depot_unpublish(store->depot, meta, error) &&
	       !GBE_FAULT("store-unpublished", error) &&
	       gbe_depot_remove_entry(store->depot, name, error);
}

static bool
prune(const GbeSnapshotStore *store, const GPtrArray *complete, const GbePeriodPoint *points,
      bool dry_run, GPtrArray *removed, GError **error)
{
	for (guint i = 0; i < complete->len; i++) {
		const GbeStored *stored = complete->pdata[i];
		GbeByHandRemoval *removal;

		if (points[i].keep)
			continue;
		if (removed->len == 0 && !check_floor(store, complete, points, error))
			return false;
		if (!dry_run && !remove_one(store, stored->name, error))
			return gbe_prefix(error, "%s", store->depot->shown);
		removal = g_new0(GbeByHandRemoval, 1);
		removal->name = g_strdup(stored->name);
		removal->reason = g_strdup("neither the first of an hour nor of a day to keep");
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
	g_autoptr(GPtrArray) complete = NULL;
	g_autofree GbePeriodPoint *points = NULL;

	if (!gbe_snapshot_store_open(app, directory, &store, error) ||
	    !gbe_snapshot_store_look(store, error))
		return false;
	complete = complete_ones(store);
	points = decide(app->config, complete);
	if (!prune(store, complete, points, dry_run, removed, error) ||
	    (!dry_run && !gbe_snapshot_store_sweep(store, error)))
		return false;
	*ret_removed = g_steal_pointer(&removed);
	return true;
}
