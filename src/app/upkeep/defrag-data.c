/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `defrag --data`: etcd's own tool defragments the stopped database, as the user who owns it, so that etcd owns its
 * files at every instant. The tool locks the database itself, so this program releases its lock for the tool. The
 * result is compared with the old database row by row.
 */
#include "app/upkeep/defrag-private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "app/by-hand/by-hand.h"
#include "app/by-hand/session.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "etcd/db/db.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "fs/sync.h"

#define SNAP "member/snap"

typedef struct {
	GbeSession *session;
	const GbeDefrag *options;
	GbeDefragResult *result;
	GbeDb db; /* the database before */
} Stopped;

static bool
check_stopped(const GbeSession *session, GError **error)
{
	const GbeFacts *facts = session->observed->facts;
	const char *path = session->observed->data->path;

	if (facts->data != GBE_YES || session->observed->data->member_path == NULL)
		return gbe_throw(
		    error, facts->data == GBE_UNKNOWN ? GBE_ERROR_CANNOT_TELL : GBE_ERROR_NOT_FOUND,
		    "no etcd data in %s ([etcd] data-dir and member-dir say where to "
		    "look)",
		    path);
	if (facts->data_open == GBE_UNKNOWN)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "whether somebody has %s open cannot be told: %s", path,
				 facts->data_open_why != NULL ? facts->data_open_why : "unknown");
	return facts->data_open == GBE_NO ||
	       gbe_throw(error, GBE_ERROR_BUSY,
			 "etcd has %s open: without --data, it does that while it runs", path);
}

static bool
read_db(const GbeSession *session, GbeDb *db, GError **error)
{
	const GbeData *data = session->observed->data;

	return gbe_defrag_read_db(data->fd, data->member_path, db, error);
}

/* Runs the tool as the database's owner, in its directory. The closing record describes the database before. */
static bool
run_tool(Stopped *stopped, GError **error)
{
	GbeObserved *observed = stopped->session->observed;
	GbeData *data = observed->data;
	gbe_autofd int member_fd = -1;
	gbe_autofd int tool_fd = -1;
	const char *tool = NULL;
	struct stat st;

	if (!gbe_etcd_tool_open(stopped->session->app, GBE_DEFRAG_FOR, &tool, &tool_fd, error) ||
	    !gbe_layout_open(data->fd, data->member_path, "member", &member_fd, error))
		return false;
	if (fstat(observed->lock_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the database in %s",
				       data->path);
	/* The database will not match the closing record. */
	if (observed->facts->owner != NULL && observed->facts->owner->closing.present &&
	    !gbe_state_open(stopped->session->app, observed->facts->owner->sequence, error))
		return false;
	if (GBE_FAULT("defrag-data-cleared", error))
		return false;
	gbe_close_fd(&observed->lock_fd);
	return gbe_defrag_run_tool(&(GbeChildUser){st.st_uid, st.st_gid}, tool, tool_fd, member_fd,
				   stopped->options->timeout, error);
}

/* A rename that is not yet in the directory may be lost; that leaves the old database, which is as good. */
static bool
keep_it(const Stopped *stopped, GError **error)
{
	GbeObserved *observed = stopped->session->observed;
	const GbeData *data = observed->data;
	gbe_autofd int snap_fd = -1;

	switch (gbe_in_use(data->fd, data->member_path, data->wal_fd, &observed->lock_fd, error)) {
	case GBE_NO:
		break;
	case GBE_YES:
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "somebody has started etcd meanwhile, so that what came of it "
				 "cannot be looked at");
	case GBE_UNKNOWN:
		return false;
	}
	return gbe_layout_open(data->fd, data->member_path, SNAP, &snap_fd, error) &&
	       gbe_sync_dir(snap_fd, data->path, error);
}

static bool
prove(Stopped *stopped, GError **error)
{
	const GbeDb *was = &stopped->db;
	g_auto(GbeDb) db = {0};

	if (!read_db(stopped->session, &db, error))
		return gbe_prefix(error, "what etcd's tool made of it");
	stopped->result->after = gbe_defrag_sizes(&db);
	if (gbe_defrag_same(was, &db))
		return true;
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "what etcd's tool made of it is not what was there%s%s%s",
			 stopped->result->backup != NULL ? ": `greenboot-etcd restore " : "",
			 stopped->result->backup != NULL ? stopped->result->backup : "",
			 stopped->result->backup != NULL ? "` brings it back" : "");
}

static bool
defragment(Stopped *stopped, GError **error)
{
	const GbeData *data = stopped->session->observed->data;
	gint64 began;

	if (!read_db(stopped->session, &stopped->db, error))
		return false;
	stopped->result->before = gbe_defrag_sizes(&stopped->db);
	if (!gbe_defrag_check_room(data->fd, data->path,
				   gbe_defrag_room(stopped->result->before.in_use), error))
		return false;
	began = g_get_monotonic_time();
	if (!run_tool(stopped, error) || GBE_FAULT("defrag-data-done", error))
		return false;
	stopped->result->duration_usec = g_get_monotonic_time() - began;
	stopped->result->done = true;
	stopped->result->healthy = keep_it(stopped, error) && prove(stopped, error);
	return stopped->result->healthy;
}

/* Is there anything to do? */
static bool
look(GbeApp *app, const GbeDefrag *options, GbeDefragResult *result, bool *ret_due, GError **error)
{
	const GbeSessionOptions how = {.operation = "defrag", .data = true, .dry_run = true};
	g_auto(GbeDb) db = {0};
	GbeSession session;
	bool ok;

	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	ok = check_stopped(&session, error) && read_db(&session, &db, error);
	if (ok) {
		result->data = g_strdup(session.observed->data->path);
		result->before = result->after = gbe_defrag_sizes(&db);
		result->healthy = true;
		result->need = gbe_defrag_need(result->before.size, result->before.in_use,
					       app->config->defrag.min_size,
					       app->config->defrag.max_fragmentation);
		*ret_due = !options->if_needed || result->need == GBE_DEFRAG_DUE;
	}
	return gbe_session_finish(&session, ok, error);
}

static bool
back_up(GbeApp *app, GbeDefragResult *result, GError **error)
{
	const GbeByHandBackup options = {.description = "before a defragmentation"};
	g_auto(GbeByHandResult) backup = {0};

	if (!gbe_by_hand_backup(app, &options, &backup, error))
		return gbe_prefix(error, "no copy beforehand (--no-backup goes without)");
	result->backup = g_steal_pointer(&backup.name);
	return true;
}

static bool
act(GbeApp *app, const GbeDefrag *options, GbeDefragResult *result, GError **error)
{
	const GbeSessionOptions how = {.operation = "defrag", .data = true};
	GbeSession session;
	Stopped stopped = {.session = &session, .options = options, .result = result};
	bool ok;

	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	ok = check_stopped(&session, error) && defragment(&stopped, error);
	gbe_db_clear(&stopped.db);
	gbe_session_record(&session, ok ? "done" : "failed",
			   ok		   ? "the stopped database"
			   : error != NULL ? (*error)->message
					   : NULL,
			   result->backup);
	return gbe_session_finish(&session, ok, error);
}

bool
gbe_defrag_data(GbeApp *app, const GbeDefrag *options, GbeDefragResult *ret_result, GError **error)
{
	g_auto(GbeDefragResult) result = {0};
	bool due = false;

	if (!look(app, options, &result, &due, error))
		return false;
	if (due && !options->dry_run &&
	    ((!options->no_backup && !back_up(app, &result, error)) ||
	     !act(app, options, &result, error)))
		return false;
	*ret_result = result;
	memset(&result, 0, sizeof result);
	return true;
}
