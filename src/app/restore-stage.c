/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The staging tree of a restore. */
#include "app/data.h"
#include "app/restore-private.h"
#include "app/state.h"
#include "core/retention.h"
#include "core/space.h"
#include "fs/clone.h"
#include "fs/exchange.h"
#include "fs/extents.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/probe.h"
#include "fs/sync.h"

#include <errno.h>
#include <fcntl.h>

bool
gbe_restore_open_stage(Restore *r, GError **error)
{
	GbeData *data = r->observed->data;

	if (data->parent_fd < 0)
		return gbe_throw(
		    error, GBE_ERROR_NOT_FOUND,
		    "the directory that %s would lie in is not there: make it, or mount "
		    "it",
		    data->path);
	if (!data->mount_point) {
		r->stage_fd = fcntl(data->parent_fd, F_DUPFD_CLOEXEC, 3);
		if (r->stage_fd < 0)
			return gbe_throw_errno(error, errno, "open the parent of %s", data->path);
		return true;
	}
	return gbe_own_dir_open_at(data->fd, gbe_data_hidden, true, &r->stage_fd, error) ||
	       gbe_prefix(error, "%s", data->path);
}

static bool
fits(Restore *r, int src_fd, bool *ret_fits, guint64 *ret_missing, GError **error)
{
	GbeSpace space = {0};
	GbeExtents extents = {0};
	guint64 total, inodes;

	/* What was found out about the data and the store is true of their file system. */
	if ((r->observed->facts->clones == GBE_YES && gbe_same_filesystem(src_fd, r->stage_fd)) ||
	    gbe_probe_clone(src_fd, r->stage_fd) == GBE_YES) {
		*ret_fits = true;
		return true;
	}
	if (!gbe_filesystem_space(r->stage_fd, &space.available, &total, &inodes, error) ||
	    !gbe_extents_of_tree(src_fd, FALSE, &extents, error))
		return false;
	space.would_write = extents.allocated;
	*ret_fits = gbe_space_fits(&space);
	*ret_missing = gbe_space_missing(&space);
	return true;
}

bool
gbe_restore_make_room(Restore *r, int src_fd, GError **error)
{
	GbeFacts *facts = r->observed->facts;
	g_autoptr(GArray) removals = NULL;
	guint64 missing = 0;
	bool fitting = false;

	if (!fits(r, src_fd, &fitting, &missing, error))
		return false;
	if (fitting)
		return true;
	removals = gbe_retention_apply(facts);
	for (guint i = 0; i < removals->len; i++) {
		const GbeRemoval *removal = &g_array_index(removals, GbeRemoval, i);
		g_autofree char *name = g_strdup(removal->backup->name);

		if (removal->backup == r->backup)
			continue;
		if (!gbe_store_remove(r->observed->store, name, error))
			return false;
		g_ptr_array_remove(facts->backups, (gpointer)removal->backup);
		if (!fits(r, src_fd, &fitting, &missing, error))
			return false;
		if (fitting)
			return true;
	}
	/* P of a trial must stay what it is: its base may come back to it. */
	if (!r->options->keep_source &&
	    gbe_probe_rename(gbe_store_at(r->observed->store, r->backup->name)->fd, r->stage_fd)) {
		r->intent->consume = TRUE;
		return true;
	}
	{
		g_autofree char *text = gbe_size_to_text(missing);

		return gbe_throw(error, GBE_ERROR_NO_SPACE,
				 "no room to restore %s beside %s: %s more are needed",
				 r->backup->name, r->observed->data->path, text);
	}
}

bool
gbe_restore_clone(Restore *r, GError **error)
{
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int entry_fd = -1;
	GbeCloneOptions options = {
	    .allowed = GBE_METHOD_SNAPSHOT,
	    .cold = GBE_COLD_SOURCE,
	    .progress = gbe_app_progress,
	    .progress_data = r->app,
	};

	GbeStore *store = gbe_store_at(r->observed->store, r->backup->name);

	if (!gbe_open_dir_at(store->fd, r->backup->name, &entry_fd, error) ||
	    !gbe_clone_tree_at(entry_fd, GBE_STORE_DATA, r->stage_fd, r->staging, &options, &result,
			       error))
		return gbe_prefix(error, "stage %s", r->backup->name);
	r->timing.bytes_written = result.bytes_written;
	r->timing.flushes_ahead = result.flushes_ahead;
	return gbe_open_dir_at(r->stage_fd, r->staging, &r->tree_fd, error) &&
	       gbe_data_write_stamp_at(r->tree_fd, r->stamp, error);
}

/* Without room for a copy: the backup's own tree. Its stamp first, so that whoever finds the staging
 * tree knows that it was never exchanged and, by restored_from, where it belongs. */
bool
gbe_restore_consume(Restore *r, GError **error)
{
	GbeStore *store = gbe_store_at(r->observed->store, r->backup->name);
	gbe_autofd int entry_fd = -1;

	if (!gbe_open_dir_at(store->fd, r->backup->name, &entry_fd, error) ||
	    !gbe_open_dir_at(entry_fd, GBE_STORE_DATA, &r->tree_fd, error) ||
	    !gbe_state_write_intent(r->app, r->intent, GBE_WRITE_DURABLE, error) ||
	    !gbe_data_write_stamp_at(r->tree_fd, r->stamp, error) ||
	    !gbe_sync_fs(r->tree_fd, store->path, error) ||
	    !gbe_rename_new_at(entry_fd, GBE_STORE_DATA, r->stage_fd, r->staging, error))
		return gbe_prefix(error, "take %s out of the store", r->backup->name);
	return gbe_sync_dir(entry_fd, r->backup->name, error);
}
