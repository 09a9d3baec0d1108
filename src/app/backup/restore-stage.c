/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the staging tree of a restore. */
#include "app/backup/entries.h"
#include "app/backup/restore-private.h"
#include "app/backup/retention.h"
#include "app/state/state.h"
#include "app/store/data.h"
#include "base/fault.h"
#include "core/space.h"
#include "fs/copy/clone.h"
#include "fs/copy/extents.h"
#include "fs/exchange.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/probe.h"
#include "fs/remove.h"
#include "fs/sync.h"
#include "fs/write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

bool
gbe_restore_open_stage(Restore *r, GError **error)
{
	GbeData *data = r->observed->data;

	if (data->parent_fd < 0)
		return gbe_throw(
		    error, GBE_ERROR_NOT_FOUND,
		    "the directory that %s would lie in is not there; make it, or mount "
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

	/* The fact `clones` is about the file systems of the data and the store. */
	if ((r->observed->facts->clones == GBE_YES && gbe_same_filesystem(src_fd, r->stage_fd)) ||
	    gbe_probe_clone(src_fd, r->stage_fd) == GBE_YES) {
		*ret_fits = true;
		return true;
	}
	if (!gbe_filesystem_space(r->stage_fd, &space.available, &total, &inodes, error) ||
	    !gbe_extents_of_tree(src_fd, false, &extents, error))
		return false;
	space.would_write = extents.allocated;
	*ret_fits = gbe_space_fits(&space);
	*ret_missing = gbe_space_missing(&space);
	return true;
}

typedef struct {
	Restore *restore;
	int src_fd;
	bool fits;
	guint64 missing; /* bytes */
} Room;

static bool
is_room_needed(gpointer data, const GbeRemoval *next, GbeRetentionAnswer *ret_answer,
	       GError **error)
{
	Room *room = data;

	if (!fits(room->restore, room->src_fd, &room->fits, &room->missing, error))
		return false;
	if (room->fits)
		*ret_answer = GBE_RETENTION_END;
	else if (next->backup == room->restore->backup)
		*ret_answer = GBE_RETENTION_LEAVE;
	return true;
}

bool
gbe_restore_make_room(Restore *r, int src_fd, GError **error)
{
	Room room = {.restore = r, .src_fd = src_fd};

	if (!gbe_retention_run(r->app, r->observed, is_room_needed, &room, error) ||
	    !fits(r, src_fd, &room.fits, &room.missing, error))
		return false;
	if (room.fits)
		return true;
	/* The backup P of a trial must stay as it is: its base may come back to it. */
	if (!r->options->keep_source &&
	    gbe_probe_rename(gbe_store_at(r->observed->store, r->backup->name)->fd, r->stage_fd)) {
		r->intent->consume = true;
		return true;
	}
	{
		g_autofree char *text = gbe_size_to_text(room.missing);

		return gbe_throw(error, GBE_ERROR_NO_SPACE,
				 "no room to restore %s beside %s: %s more are needed",
				 r->backup->name, r->observed->data->path, text);
	}
}

static bool
write_nonce(Restore *r, GError **error)
{
	/* A backup has the nonce of the take-over under which it was taken. */
	if (r->intent->take_over == NULL)
		return gbe_unlink_durable_at(r->tree_fd, GBE_NONCE_NAME, error);
	return gbe_data_write_nonce_at(r->app, r->tree_fd, r->intent->take_over, error);
}

/* The tree must be whole, and durable under its name, before the ledger says so: the ledger may lie on another disk. */
static bool
settle(Restore *r, GError **error)
{
	bool elsewhere = !gbe_same_filesystem(r->app->state_fd, r->stage_fd);

	return gbe_sync_content(r->stage_fd, r->timing.bytes_written > 0 || elsewhere,
				r->observed->data->path, &r->timing.flushes, error);
}

static char *
member_entry(const GbeData *data)
{
	if (data->member_path == NULL || *data->member_path == '\0')
		return g_strdup("member");
	return g_strndup(data->member_path, strcspn(data->member_path, "/"));
}

/* Writes the intent, with what is known of both trees by now. */
static bool
intend(Restore *r, GError **error)
{
	GbeData *data = r->observed->data;
	g_autofree char *last = member_entry(data);
	GbeIntent *intent = r->intent;

	if (data->mount_point && !gbe_entries_plan(r->tree_fd, last, &intent->entries, error))
		return gbe_prefix(error, "%s", data->path);
	intent->tree_new = gbe_tree_identity(r->tree_fd);
	intent->tree_old = data->fd >= 0 ? gbe_tree_identity(data->fd) : NULL;
	if (intent->tree_new == NULL || (data->fd >= 0 && intent->tree_old == NULL))
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "cannot tell one directory from another on the file system of %s",
				 data->path);
	/* At a mount point, the directory itself stays. */
	if (intent->take_over != NULL) {
		g_free(intent->take_over->tree);
		intent->take_over->tree =
		    g_strdup(data->mount_point ? intent->tree_old : intent->tree_new);
	}
	r->timing.flushes++;
	return gbe_state_write_intent(r->app, intent, GBE_WRITE_DURABLE, error) &&
	       !GBE_FAULT("restore-intended", error);
}

static bool
clone_backup(Restore *r, GError **error)
{
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int entry_fd = -1;
	/* rename(2) does not leave a subvolume: where entries are exchanged, the tree is in the data's own. */
	GbeCloneOptions options = {
	    .allowed = r->observed->data->mount_point ? GBE_METHOD_REFLINK : GBE_METHOD_SNAPSHOT,
	    .cold = GBE_COLD_SOURCE,
	    .progress = gbe_app_progress,
	    .progress_data = r->app,
	};

	GbeStore *store = gbe_store_at(r->observed->store, r->backup->name);

	if (!gbe_open_dir_at(store->fd, r->backup->name, &entry_fd, error) ||
	    !gbe_clone_tree_at(entry_fd, GBE_STORE_DATA, r->stage_fd, r->staged, &options, &result,
			       error))
		return false;
	r->timing.bytes_written = result.bytes_written;
	return true;
}

/* An empty directory that etcd can use as it used the one that it replaces. At a mount point, entries are exchanged,
 * and member/ always is one of them. */
static bool
make_empty(Restore *r, GError **error)
{
	const GbeData *data = r->observed->data;
	g_autofree char *last = member_entry(data);
	gbe_autofd int fd = -1;

	if (data->fd < 0)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no %s", data->path);
	return gbe_clone_top_at(data->fd, r->stage_fd, r->staged, !data->mount_point, error) &&
	       (!data->mount_point || (gbe_open_dir_at(r->stage_fd, r->staged, &fd, error) &&
				       gbe_clone_top_at(data->fd, fd, last, false, error)));
}

bool
gbe_restore_stage(Restore *r, GError **error)
{
	if (!gbe_remove_tree_at(r->stage_fd, r->staged, error) ||
	    !(r->backup != NULL ? clone_backup(r, error) : make_empty(r, error)))
		return gbe_prefix(error, "stage %s", gbe_restore_named(r));
	return gbe_open_dir_at(r->stage_fd, r->staged, &r->tree_fd, error) &&
	       write_nonce(r, error) && !GBE_FAULT("restore-staged", error) &&
	       gbe_rename_new_at(r->stage_fd, r->staged, r->stage_fd, r->staging, error) &&
	       !GBE_FAULT("restore-named", error) && settle(r, error) && intend(r, error);
}

bool
gbe_restore_consume(Restore *r, GError **error)
{
	GbeStore *store = gbe_store_at(r->observed->store, r->backup->name);
	gbe_autofd int entry_fd = -1;

	if (!gbe_open_dir_at(store->fd, r->backup->name, &entry_fd, error) ||
	    !gbe_open_dir_at(entry_fd, GBE_STORE_DATA, &r->tree_fd, error) || !intend(r, error) ||
	    !write_nonce(r, error) || !gbe_sync_fs(r->tree_fd, store->path, error) ||
	    !gbe_rename_new_at(entry_fd, GBE_STORE_DATA, r->stage_fd, r->staging, error))
		return gbe_prefix(error, "take %s out of the store", r->backup->name);
	return gbe_sync_dir(entry_fd, r->backup->name, error);
}
