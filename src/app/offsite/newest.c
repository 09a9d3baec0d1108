/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The newest snapshot of each store that this device has pushed or pulled. The name of a snapshot is signed
 * (core/record/keyed.h) and grows with each push. An attacker without the key cannot give an old snapshot a newer name,
 * but can remove the newer ones, so that an old one becomes the latest: this record shows that. A power cut between the
 * push and the record leaves the name before; a device without the record refuses nothing.
 */
#include "app/offsite/snapshots.h"

#include "app/state/state.h"
#include "app/store/keys.h"
#include "core/json/parse.h"
#include "sys/systemd/events.h"

/* {"newest": {path of a store: name of a snapshot}} */
#define NEWEST "newest"
#define LOCK_WAIT_MS 10000

static bool
is_newer(const char *name, const char *known)
{
	GbeSnapshotName a, b;

	return gbe_snapshot_name_parse(name, &a) &&
	       (known == NULL || !gbe_snapshot_name_parse(known, &b) ||
		gbe_snapshot_name_compare(&a, &b) > 0);
}

bool
gbe_snapshot_store_known(const GbeSnapshotStore *store, char **ret_name, GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	const GbeKeys *keys = NULL;

	*ret_name = NULL;
	if (!gbe_app_keys(store->app, &keys, error) ||
	    (keys != NULL && !gbe_state_read(store->app, GBE_STATE_STORES, false, &object, error)))
		return false;
	if (object != NULL)
		*ret_name = g_strdup(
		    gbe_json_string(gbe_json_object(object, NEWEST), store->identifier, NULL));
	return true;
}

bool
gbe_snapshot_store_is_behind(const GbeSnapshotStore *store, const char *known)
{
	const GbeStored *newest = gbe_snapshot_store_newest(store);

	return known != NULL && is_newer(known, newest != NULL ? newest->name : NULL);
}

static bool
note(const GbeSnapshotStore *store, const char *name, GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	JsonObject *newest;

	if (!gbe_state_read(store->app, GBE_STATE_STORES, true, &object, error))
		return false;
	if (object == NULL)
		object = json_object_new();
	newest = gbe_json_object(object, NEWEST);
	if (newest == NULL) {
		newest = json_object_new();
		json_object_set_object_member(object, NEWEST, newest);
	}
	if (!is_newer(name, gbe_json_string(newest, store->identifier, NULL)))
		return true;
	gbe_json_set_string(newest, store->identifier, name);
	return gbe_state_write(store->app, GBE_STATE_STORES, object, error);
}

void
gbe_snapshot_store_remember(const GbeSnapshotStore *store, const char *name)
{
	g_autoptr(GError) error = NULL;
	const GbeKeys *keys = NULL;

	if (!gbe_app_keys(store->app, &keys, NULL) || keys == NULL)
		return;
	/* The record is written under the lock: the next holder of the lock sweeps a half-written file. */
	if (gbe_app_lock(store->app, "store", LOCK_WAIT_MS, &error)) {
		(void)!note(store, name, &error);
		gbe_app_unlock(store->app);
	}
	if (error != NULL)
		gbe_complain("%s could not be recorded as the newest in %s: %s", name, store->path,
			     error->message);
}
