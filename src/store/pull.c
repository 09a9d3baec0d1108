/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/snapshot.h"
#include "app/state/history.h"
#include "fs/open.h"
#include "fs/part.h"
#include "fs/room.h"
#include "store/snapshots.h"

typedef struct {
	const GbeStorePull *options;
	GbePart *part;
	GbeRoom room; /* of the destination */
	guint64 done;
} Pull;

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
	g_auto(GbePart) part = {.fd = -1}, seal = {.fd = -1};
	Pull pull = {.options = options, .part = &part};

	if (!gbe_snapshot_store_open(app, options->store, &store, error))
		return false;
	if (options->identity != NULL)
		store->identity = options->identity;
	store->device = options->device;
	if (!gbe_snapshot_store_pick(store, options->name, &stored, error) ||
	    !gbe_open_parent_in_root(app->root_fd, absolute, &dir_fd, &name, error) ||
	    !gbe_room_begin(dir_fd, &pull.room, error) ||
	    !gbe_room_check(&pull.room, stored->size, options->path, error) ||
	    !gbe_part_begin(dir_fd, name, false, &part, error) ||
	    !gbe_sidecar_begin(dir_fd, name, &seal, error))
		return false;
	if (!gbe_snapshot_store_read(store, stored, put, &pull, &sha256, error) ||
	    !gbe_snapshot_store_prove(app, store, stored, sha256, error) ||
	    !gbe_snapshot_prove(app, &part, &verification, error))
		return gbe_prefix(error, "%s", store->depot->shown);
	if (!gbe_sidecar_sign(app, &seal, sha256, error) || !gbe_part_publish(&part, error) ||
	    !gbe_sidecar_publish(&seal, error))
		return gbe_prefix(error, "%s", options->path);
	gbe_history_change(app, store->depot->identifier, gbe_history_note_newest, stored->name);
	*ret_name = g_strdup(stored->name);
	*ret_verification = g_steal_pointer(&verification);
	return true;
}
