/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/offsite/snapshots.h"

#include "app/snapshot/sidecar.h"
#include "app/snapshot/snapshot.h"
#include "fs/open.h"
#include "fs/part.h"
#include "fs/room.h"

typedef struct {
	const GbeStorePull *options;
	GbePart *part;
	GbeRoom room; /* of the destination */
	guint64 done;
} Pull;

/* Refuses `latest` where a newer snapshot is known to be missing; `store pull NAME` is not refused. */
static bool
check_newest(const GbeSnapshotStore *store, const GbeStored *newest, GError **error)
{
	g_autofree char *known = NULL;

	if (!gbe_snapshot_store_known(store, &known, error))
		return false;
	return !gbe_snapshot_store_is_behind(store, known) ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "the newest snapshot in %s is %s, and this device has pushed or pulled "
			 "%s: somebody has removed that, or this is another store. `store pull %s` "
			 "takes the older one",
			 store->path, newest->name, known, newest->name);
}

static bool
find(const GbeSnapshotStore *store, const char *name, const GbeStored **ret_stored, GError **error)
{
	const GbeStored *found = NULL;

	if (g_str_equal(name, GBE_SNAPSHOT_LATEST))
		found = gbe_snapshot_store_newest(store);
	else
		for (guint i = 0; i < store->stored->len && found == NULL; i++)
			if (g_str_equal(((GbeStored *)store->stored->pdata[i])->name, name))
				found = store->stored->pdata[i];
	if (found == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "no snapshot %s in %s", name,
				 store->path);
	if (found->state != GBE_STORED_COMPLETE)
		return gbe_throw(error,
				 found->state == GBE_STORED_UNREADABLE ? GBE_ERROR_VERIFY_FAILED
								       : GBE_ERROR_REFUSED,
				 "%s in %s is %s%s%s", name, store->path,
				 gbe_stored_state_to_string(found->state),
				 found->why != NULL ? ": " : "",
				 found->why != NULL ? found->why : "");
	if (g_str_equal(name, GBE_SNAPSHOT_LATEST) && !check_newest(store, found, error))
		return false;
	*ret_stored = found;
	return true;
}

static bool
put(const void *bytes, gsize size, gpointer data, GError **error)
{
	Pull *pull = data;
	const GbeStorePull *options = pull->options;

	if (!gbe_room_check(&pull->room, size, options->path, error) ||
	    !gbe_part_write(pull->part, bytes, size, error))
		return false;
	pull->done += size;
	return options->progress == NULL ||
	       options->progress(pull->done, 0, options->progress_data) ||
	       gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
}

bool
gbe_store_pull(GbeApp *app, const GbeStorePull *options, char **ret_name,
	       GbeVerification **ret_verification, GError **error)
{
	g_autofree char *absolute = app->below_root ? g_strdup(options->path)
						    : g_canonicalize_filename(options->path, NULL);
	g_autoptr(GbeVerification) verification = NULL;
	g_autoptr(GbeSnapshotStore) store = NULL;
	const GbeStored *stored = NULL;
	g_autofree char *name = NULL, *sha256 = NULL;
	gbe_autofd int dir_fd = -1;
	g_auto(GbePart) part = {.fd = -1};
	Pull pull = {.options = options, .part = &part};

	if (!gbe_snapshot_store_open(app, options->store, &store, error))
		return false;
	if (options->identity != NULL)
		store->identity = options->identity;
	if (!find(store, options->name, &stored, error) ||
	    !gbe_open_parent_in_root(app->root_fd, absolute, &dir_fd, &name, error) ||
	    !gbe_room_begin(dir_fd, &pull.room, error) ||
	    !gbe_room_check(&pull.room, stored->size, options->path, error) ||
	    !gbe_part_begin(dir_fd, name, false, &part, error))
		return false;
	if (!gbe_snapshot_store_read(store, stored->name, put, &pull, &sha256, error) ||
	    !gbe_snapshot_store_prove(app, store, stored, sha256, error) ||
	    !gbe_snapshot_prove(app, &part, &verification, error))
		return gbe_prefix(error, "%s", store->path);
	if (!gbe_sidecar_sign_file(app, dir_fd, name, sha256, error) ||
	    !gbe_part_publish(&part, error))
		return gbe_prefix(error, "%s", options->path);
	gbe_snapshot_store_remember(store, stored->name);
	*ret_name = g_strdup(stored->name);
	*ret_verification = g_steal_pointer(&verification);
	return true;
}
