/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/upkeep/defrag.h"

#include <errno.h>
#include <sys/stat.h>

#include "app/backup/backup.h"
#include "app/backups/verify.h"
#include "app/by-hand/by-hand.h"
#include "app/by-hand/session.h"
#include "app/device/change.h"
#include "app/device/service.h"
#include "app/snapshot/snapshot.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "app/upkeep/live-etcd.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "core/space.h"
#include "etcd/db/db.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "fs/copy/clone.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/sync.h"
#include "sys/child.h"
#include "sys/deployment/deployments.h"
#include "sys/systemd/events.h"

/* The time for etcd to become healthy again: the caches of a large database are cold. */
#define AFTER_SECONDS 30
/* After a start, etcd may still be replaying its log. */
#define TIMER_PATIENCE 30
#define TIMER_TIMEOUT 900
/* The purpose that gbe_etcd_tool_open() names in its messages. */
#define TOOL_FOR "defragments a stopped database"

void
gbe_defrag_result_clear(GbeDefragResult *result)
{
	g_clear_pointer(&result->endpoint, g_free);
	g_clear_pointer(&result->data, g_free);
	g_clear_pointer(&result->of, g_free);
	g_clear_pointer(&result->made, g_free);
	g_clear_pointer(&result->reason, g_free);
	g_clear_pointer(&result->backup, g_free);
}

/* Notes the sizes at the beginning. True: there is work. */
static bool
is_due(const GbeApp *app, const GbeDefrag *options, GbeDefragSizes sizes, GbeDefragResult *result)
{
	result->before = result->after = sizes;
	result->need = gbe_defrag_need(sizes.size, sizes.in_use, app->config->defrag.min_size,
				       app->config->defrag.max_fragmentation);
	return !options->if_needed || result->need == GBE_DEFRAG_DUE;
}

/* ---- the running etcd ---- */

static GbeDefragSizes
live_sizes(const GbeLiveEtcd *live)
{
	const GbeHealthFacts *facts = live->look->facts;

	return (GbeDefragSizes){facts->db_size, facts->db_in_use};
}

/* Decides by the first look: is there work, and is it allowed? */
static bool
check_live(const GbeLiveEtcd *live, const GbeDefrag *options, GbeDefragResult *result,
	   bool *ret_due, GError **error)
{
	result->healthy = live->look->report->health == GBE_HEALTH_HEALTHY;
	*ret_due = is_due(live->app, options, live_sizes(live), result);
	if (live->look->facts->no_space)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "etcd has the alarm NOSPACE; run `greenboot-etcd alarm clear`");
	if (!*ret_due && result->need != GBE_DEFRAG_UNKNOWN)
		return true;
	/* The problem that a person can solve is reported first. */
	if (result->before.in_use >= 0 && !gbe_live_etcd_check_room(live, error))
		return false;
	return gbe_live_etcd_check_healthy(live, error) && gbe_live_etcd_check_room(live, error) &&
	       gbe_live_etcd_check_root(live, error);
}

typedef struct {
	GbeChange change;
	const GbeDefrag *options;
	GbeDefragResult *result;
	GbeLiveEtcd live;
} DefragLive;

static bool
look_at_live(gpointer change, GError **error)
{
	DefragLive *defrag = change;
	GbeLiveEtcd *live = &defrag->live;
	bool due = false;

	if (!gbe_live_etcd_open(defrag->change.app, defrag->change.name, live, error))
		return false;
	defrag->result->endpoint = g_strdup(live->look->at.endpoint.shown);
	gbe_live_etcd_look(live, defrag->options->patience);
	if (!check_live(live, defrag->options, defrag->result, &due, error))
		return false;
	defrag->change.ended = !due;
	return true;
}

static bool
back_up_and_lock(gpointer change, GError **error)
{
	DefragLive *defrag = change;
	GbeLiveEtcd *live = &defrag->live;
	bool due = false;

	if (defrag->options->no_backup)
		return gbe_live_etcd_lock(live, error);
	if (!gbe_live_etcd_back_up(live, "before a defragmentation", &defrag->result->backup,
				   error))
		return false;
	gbe_live_etcd_look(live, 0);
	/* Check again: the copy took room and time. */
	return gbe_live_etcd_lock(live, error) &&
	       check_live(live, defrag->options, defrag->result, &due, error);
}

static bool
ask_to_defragment(gpointer change, GError **error)
{
	DefragLive *defrag = change;
	GbeDefragResult *result = defrag->result;
	const char *at = defrag->live.look->at.endpoint.shown;
	g_auto(GbeCallFailure) failure = {0};
	gint64 began = g_get_monotonic_time();
	gint64 deadline = began + (gint64)defrag->options->timeout * G_USEC_PER_SEC;

	result->done = gbe_client_change(defrag->live.look->client, GBE_MESSAGE_DEFRAGMENT, 0,
					 deadline, &failure);
	result->duration_usec = g_get_monotonic_time() - began;
	if (result->done)
		return true;
	if (failure.reach == GBE_REACH_LATE)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "etcd at %s has not answered within %" G_GUINT64_FORMAT
				 " s, and may still be defragmenting: %s",
				 at, defrag->options->timeout, failure.why);
	if (!gbe_live_etcd_has_not(&failure))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot determine whether etcd at %s was defragmented: %s; repeat "
				 "the call",
				 at, failure.why);
	return gbe_throw(error, gbe_call_code(&failure, GBE_ERROR_FAILED),
			 "etcd at %s was not defragmented: %s", at, failure.why);
}

static bool
report_result(gpointer change, GError **error G_GNUC_UNUSED)
{
	DefragLive *defrag = change;
	GbeDefragResult *result = defrag->result;
	g_autofree char *before = NULL, *after = NULL, *text = NULL;
	const GbeHealthReport *report;

	gbe_live_etcd_look(&defrag->live, AFTER_SECONDS);
	report = defrag->live.look->report;
	result->after = live_sizes(&defrag->live);
	result->healthy = report->health == GBE_HEALTH_HEALTHY;
	if (!result->healthy)
		result->reason = g_strdup(report->reason);
	before = gbe_size_to_text((guint64)MAX(result->before.size, 0));
	after = gbe_size_to_text((guint64)MAX(result->after.size, 0));
	text = g_strdup_printf("%s to %s in %.2f s", before, after,
			       (double)result->duration_usec / G_USEC_PER_SEC);
	gbe_event_defragmented(&(GbeEventFields){.action = "defrag",
						 .backup = result->backup,
						 .reason = text,
						 .duration_usec = result->duration_usec});
	return true;
}

/* Without the program's lock, for which greenboot waits. */
static const GbeStep live_steps[] = {
    {"defrag-looked", look_at_live, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"defrag-locked", back_up_and_lock, NULL, GBE_STEP_UNLOCKED, 0},
    {"defrag-asked", ask_to_defragment, NULL, GBE_STEP_UNLOCKED, 0},
    {"defrag-reported", report_result, NULL, GBE_STEP_UNLOCKED, 0},
    {NULL, NULL, NULL, 0, 0},
};

bool
gbe_defrag(GbeApp *app, const GbeDefrag *options, GbeDefragResult *ret_result, GError **error)
{
	g_auto(GbeDefragResult) result = {0};
	DefragLive defrag = {.change = {.app = app,
					.name = "defrag",
					.steps = live_steps,
					.dry_run = options->dry_run},
			     .options = options,
			     .result = &result};
	bool ok = gbe_change_run(&defrag.change, error);

	gbe_change_clear(&defrag.change);
	gbe_live_etcd_clear(&defrag.live);
	if (!ok)
		return false;
	*ret_result = result;
	result = (GbeDefragResult){0};
	return true;
}

/* Takes no copy before: only the layout of the database changes, not its content. On a file system that clones, a
 * copy would hold exactly the blocks that are to become free. */
int
gbe_defrag_run(GbeApp *app)
{
	const GbeDefrag options = {.if_needed = true,
				   .no_backup = true,
				   .timeout = TIMER_TIMEOUT,
				   .patience = TIMER_PATIENCE};
	g_autoptr(GbeDeployments) deployments =
	    gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	g_auto(GbeDefragResult) result = {0};
	g_autofree char *complaint = NULL;
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {.action = "defrag"};

	(void)!gbe_app_open_state(app, false, NULL);
	gbe_configuration_choose(app, deployments->booted.id, &complaint);
	if (gbe_config_is_off(app->config) || !app->config->defrag.enabled)
		return 0;
	if (gbe_defrag(app, &options, &result, &error)) {
		if (!result.done)
			gbe_note("not needed: %s", gbe_defrag_need_to_string(result.need));
		return !result.done || result.healthy ? 0 : 1;
	}
	/* These errors pass without help, are reported by the monitor, or mean that etcd does not run. */
	if (g_error_matches(error, GBE_ERROR, GBE_ERROR_BUSY) ||
	    g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND) ||
	    g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED) ||
	    g_error_matches(error, GBE_ERROR, GBE_ERROR_VERIFY_FAILED) ||
	    g_error_matches(error, GBE_ERROR, GBE_ERROR_CANNOT_TELL)) {
		gbe_note("not now: %s", error->message);
		return 0;
	}
	fields.reason = error->message;
	gbe_event_defrag_failed(&fields);
	return 1;
}

/* ---- etcd's own tool writes a closed database again: that of the stopped data, or of a backup's clone ---- */

static GbeDefragSizes
sizes_of_db(const GbeDb *db)
{
	guint64 left = db->free_pages * db->page_size;

	return (GbeDefragSizes){(gint64)db->total_size,
				(gint64)(db->total_size - MIN(left, db->total_size))};
}

/* Do both have the same keys, revisions and rows? */
static bool
is_same(const GbeDb *was, const GbeDb *is)
{
	return is->revision == was->revision && is->rows == was->rows && is->keys == was->keys &&
	       is->has_hash_kv == was->has_hash_kv && is->hash_kv == was->hash_kv;
}

/* Are @room bytes free where @fd lies? GBE_ERROR_NO_SPACE. @path: for the message. */
static bool
check_room(int fd, const char *path, guint64 room, GError **error)
{
	g_autofree char *wanted = gbe_size_to_text(room);
	guint64 available, total, inodes;

	if (!gbe_filesystem_space(fd, &available, &total, &inodes, error))
		return false;
	return room <= available ||
	       gbe_throw(error, GBE_ERROR_NO_SPACE,
			 "the new database needs %s of free space at %s, next to the old one",
			 wanted, path);
}

/* Runs the tool in member/ as the owner of the database, @db. The tool has ended in every case. */
static bool
run_tool(const struct stat *db, const char *tool, int tool_fd, int member_fd, guint64 seconds,
	 GError **error)
{
	const char *const argv[] = {tool, "defrag", "--data-dir", "..", NULL};
	const GbeChildUser user = {db->st_uid, db->st_gid};
	g_auto(GbeChild) child = {0};

	return gbe_child_start_as(&user, tool_fd, argv, member_fd, &child, error) &&
	       gbe_child_wait(&child, seconds, error);
}

/* ---- `defrag --data`: the tool runs as the owner of the database, so that etcd can always use the files. The tool
 * locks the database, so this program releases its lock before. The result is compared with the old database row by
 * row. ---- */

static bool
check_stopped(const GbeObserved *observed, GError **error)
{
	const GbeFacts *facts = observed->facts;
	const char *path = observed->data->path;

	if (facts->data != GBE_YES || observed->data->member_path == NULL)
		return gbe_throw(
		    error, facts->data == GBE_UNKNOWN ? GBE_ERROR_CANNOT_TELL : GBE_ERROR_NOT_FOUND,
		    "no etcd data in %s ([etcd] data-dir and member-dir say where to "
		    "look)",
		    path);
	if (facts->data_open == GBE_UNKNOWN)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot determine whether a process has %s open: %s", path,
				 facts->data_open_why != NULL ? facts->data_open_why : "unknown");
	return facts->data_open == GBE_NO ||
	       gbe_throw(error, GBE_ERROR_BUSY,
			 "etcd has %s open; run `greenboot-etcd defrag` without --data", path);
}

/* Reads the whole database. A damaged one must not be written again (GBE_ERROR_VERIFY_FAILED). */
static bool
read_db(const GbeData *data, GbeDb *ret_db, GError **error)
{
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	g_autofree char *what = gbe_layout_path(data->member_path, "member/snap/" GBE_DB_NAME);
	g_auto(GbeFindings) findings = {0};
	gbe_autofd int fd = -1;

	gbe_findings_init(&findings);
	if (!gbe_layout_open_db(data->fd, data->member_path, &fd, error) ||
	    !gbe_db_read(fd, what, &full, ret_db, &findings, error))
		return false;
	if (gbe_findings_worst(&findings) == GBE_FINDING_DAMAGE) {
		g_autofree char *text = gbe_finding_to_text(gbe_findings_first(&findings));

		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s", text);
	}
	return true;
}

/* Runs the tool as the database's owner, in its directory. The closing record describes the database before. */
static bool
run_tool_on_data(GbeSession *session, guint64 seconds, GError **error)
{
	GbeObserved *observed = session->observed;
	const GbeData *data = observed->data;
	gbe_autofd int member_fd = -1;
	gbe_autofd int tool_fd = -1;
	const char *tool = NULL;
	struct stat st;

	if (!gbe_etcd_tool_open(session->change.app, TOOL_FOR, &tool, &tool_fd, error) ||
	    !gbe_layout_open(data->fd, data->member_path, "member", &member_fd, error))
		return false;
	if (fstat(observed->lock_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the database in %s",
				       data->path);
	/* The database will not match the closing record. */
	if (observed->facts->owner != NULL && observed->facts->owner->closing.present &&
	    !gbe_state_open(session->change.app, observed->facts->owner->sequence, error))
		return false;
	if (GBE_FAULT("defrag-data-cleared", error))
		return false;
	gbe_close_fd(&observed->lock_fd);
	return run_tool(&st, tool, tool_fd, member_fd, seconds, error);
}

/* A rename that is not yet in the directory may be lost; that leaves the old database, which is as good. */
static bool
prove_data(GbeObserved *observed, const GbeDb *was, GbeDefragResult *result, GError **error)
{
	const GbeData *data = observed->data;
	g_auto(GbeDb) db = {0};
	gbe_autofd int snap_fd = -1;

	switch (gbe_in_use(data->fd, data->member_path, data->wal_fd, &observed->lock_fd, error)) {
	case GBE_NO:
		break;
	case GBE_YES:
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "etcd was started meanwhile, so the result cannot be verified");
	case GBE_UNKNOWN:
		return false;
	}
	if (!gbe_layout_open(data->fd, data->member_path, "member/snap", &snap_fd, error) ||
	    !gbe_sync_dir(snap_fd, data->path, error))
		return false;
	if (!read_db(data, &db, error))
		return gbe_prefix(error, "the database that etcd's tool wrote");
	result->after = sizes_of_db(&db);
	if (is_same(was, &db))
		return true;
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "the database that etcd's tool wrote differs from the old one%s%s%s",
			 result->backup != NULL ? ": `greenboot-etcd restore " : "",
			 result->backup != NULL ? result->backup : "",
			 result->backup != NULL ? "` restores it" : "");
}

typedef struct {
	GbeSession session;
	guint64 seconds;
	GbeDefragResult *result;
} DefragData;

static bool
defragment_data(DefragData *change, GError **error)
{
	GbeObserved *observed = change->session.observed;
	const GbeData *data = observed->data;
	GbeDefragResult *result = change->result;
	g_auto(GbeDb) was = {0};
	gint64 began;

	if (!check_stopped(observed, error) || !read_db(data, &was, error))
		return false;
	result->before = sizes_of_db(&was);
	if (!check_room(data->fd, data->path, gbe_defrag_room(result->before.in_use), error))
		return false;
	began = g_get_monotonic_time();
	if (!run_tool_on_data(&change->session, change->seconds, error) ||
	    GBE_FAULT("defrag-data-done", error))
		return false;
	result->duration_usec = g_get_monotonic_time() - began;
	result->done = true;
	result->healthy = prove_data(observed, &was, result, error);
	return result->healthy;
}

static bool
defragment_and_record(gpointer change, GError **error)
{
	DefragData *data = change;
	bool ok = defragment_data(data, error);

	gbe_session_record(&data->session, ok ? "done" : "failed",
			   ok ? "the stopped database" : (*error)->message, data->result->backup);
	return ok;
}

/* Is there anything to do? */
static bool
look_at_data(GbeApp *app, const GbeDefrag *options, GbeDefragResult *result, bool *ret_due,
	     GError **error)
{
	const GbeSessionOptions how = {.operation = "defrag", .data = true, .dry_run = true};
	g_auto(GbeDb) db = {0};
	GbeSession session;
	bool ok;

	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	ok = check_stopped(session.observed, error) && read_db(session.observed->data, &db, error);
	if (ok) {
		result->data = g_strdup(session.observed->data->path);
		result->healthy = true;
		*ret_due = is_due(app, options, sizes_of_db(&db), result);
	}
	gbe_session_leave(&session);
	return ok;
}

bool
gbe_defrag_data(GbeApp *app, const GbeDefrag *options, GbeDefragResult *ret_result, GError **error)
{
	static const GbeStep steps[] = {
	    GBE_SESSION_LOOK,
	    {"defrag-data-recorded", defragment_and_record, NULL, 0, 0},
	    {NULL, NULL, NULL, 0, 0},
	};
	const GbeByHandBackup before = {.description = "before a defragmentation"};
	g_auto(GbeByHandResult) backup = {0};
	g_auto(GbeDefragResult) result = {0};
	DefragData data = {.session.how = {.operation = "defrag", .data = true},
			   .seconds = options->timeout,
			   .result = &result};
	bool due = false;

	if (!look_at_data(app, options, &result, &due, error))
		return false;
	due = due && !options->dry_run;
	if (due && !options->no_backup) {
		if (!gbe_by_hand_backup(app, &before, &backup, error))
			return gbe_prefix(error,
					  "cannot take a backup first (--no-backup skips it)");
		result.backup = g_steal_pointer(&backup.name);
	}
	if (due && !gbe_session_run(&data, app, steps, error))
		return false;
	*ret_result = result;
	result = (GbeDefragResult){0};
	return true;
}

/* ---- `defrag BACKUP`: a backup is never changed. Another backup is made from a clone of it, in which etcd's own
 * tool wrote the database again. app/backup/backup.h has the steps and the state after a power cut. ---- */

typedef struct {
	GbeSession session;
	const char *name; /* the name of the new backup */
	const GbeDefrag *options;
	GbeDefragResult *result;
	const GbeManifest *from;
	GbeVerification *source; /* of @from, with every row */
	GbePartial partial;
	char *member_path;
} DefragCopy;

static void
defrag_copy_clear(DefragCopy *copy)
{
	g_clear_pointer(&copy->source, gbe_verification_free);
	gbe_partial_clear(&copy->partial);
	g_clear_pointer(&copy->member_path, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DefragCopy, defrag_copy_clear)

static bool
run_tool_on_clone(const DefragCopy *copy, int data_fd, GError **error)
{
	gbe_autofd int tool_fd = -1;
	gbe_autofd int member_fd = -1;
	gbe_autofd int db_fd = -1;
	const char *tool = NULL;
	struct stat st;

	if (!gbe_etcd_tool_open(copy->session.change.app, TOOL_FOR, &tool, &tool_fd, error) ||
	    !gbe_layout_open(data_fd, copy->member_path, "member", &member_fd, error) ||
	    !gbe_layout_open_db(data_fd, copy->member_path, &db_fd, error))
		return false;
	if (fstat(db_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the clone's database");
	return run_tool(&st, tool, tool_fd, member_fd, copy->options->timeout, error);
}

/* Reads the whole directory and not only the database: the manifest also needs the log's facts. */
static bool
prove_clone(const DefragCopy *copy, int data_fd, GbeDirectory *directory, GError **error)
{
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	gbe_autofd int wal_fd =
	    gbe_data_open_wal_of_copy(copy->session.change.app, copy->from->data_dir, data_fd);
	g_auto(GbeFindings) findings = {0};
	g_autofree char *what = NULL;

	gbe_findings_init(&findings);
	if (!gbe_directory_read(data_fd, copy->member_path, wal_fd, &full, directory, &findings,
				error))
		return false;
	if (gbe_findings_worst(&findings) == GBE_FINDING_DAMAGE)
		what = gbe_finding_to_text(gbe_findings_first(&findings));
	else if (!directory->has_db || !is_same(&copy->source->directory.db, &directory->db))
		what = g_strdup("its rows are not those of the backup");
	return what == NULL || gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "the database that etcd's tool wrote is wrong: %s", what);
}

static bool
make_backup(gpointer change, GError **error)
{
	DefragCopy *copy = change;
	/* A writable directory and not a snapshot: the tool writes into it. */
	const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK,
					 .progress = gbe_app_progress,
					 .progress_data = copy->session.change.app};
	const GbeObserved *observed = copy->session.observed;
	const GbeManifest *from = copy->from;
	const GbeStore *at = gbe_store_at(observed->store, from->name);
	guint64 room = gbe_defrag_room(copy->result->before.in_use) +
		       (observed->facts->clones == GBE_YES ? 0 : from->size);
	g_autofree char *description = g_strdup_printf("%s, defragmented", from->name);
	g_autoptr(GbeManifest) manifest = NULL;
	g_auto(GbeCloneResult) cloned = {0};
	g_auto(GbeDirectory) directory = {0};
	gbe_autofd int from_fd = -1;
	gbe_autofd int data_fd = -1;
	gint64 began;

	if (!gbe_partial_make(observed, copy->name, &copy->partial, error) ||
	    !check_room(copy->partial.fd, observed->store->path, room, error))
		return false;
	if (!gbe_open_dir_at(at->fd, from->name, &from_fd, error) ||
	    !gbe_clone_tree_at(from_fd, GBE_STORE_DATA, copy->partial.fd, GBE_STORE_DATA, &options,
			       &cloned, error) ||
	    !gbe_open_dir_at(copy->partial.fd, GBE_STORE_DATA, &data_fd, error))
		return false;
	if (!gbe_member_locate(data_fd, copy->session.change.app->config->etcd.member_dir,
			       &copy->member_path, error))
		return false;
	began = g_get_monotonic_time();
	if (!run_tool_on_clone(copy, data_fd, error))
		return false;
	copy->result->duration_usec = g_get_monotonic_time() - began;
	if (!prove_clone(copy, data_fd, &directory, error))
		return false;
	manifest = gbe_partial_manifest(&copy->partial, observed, &directory, description);
	manifest->voters = from->voters;
	if (manifest->etcd_version == NULL)
		manifest->etcd_version = g_strdup(from->etcd_version);
	if (manifest->data_version == NULL)
		manifest->data_version = g_strdup(from->data_version);
	if (!gbe_partial_describe(copy->session.change.app, &copy->partial, data_fd,
				  copy->member_path, manifest, error) ||
	    !gbe_partial_publish(&copy->partial, error))
		return false;
	copy->result->after = sizes_of_db(&directory.db);
	copy->result->done = true;
	copy->result->made = g_strdup(copy->name);
	gbe_session_record(&copy->session, "done", from->name, copy->name);
	return true;
}

/* An unfinished entry must be removed before the lock is released. */
static bool
drop_entry(gpointer change, GError **error)
{
	DefragCopy *copy = change;

	(void)error;
	gbe_partial_clear(&copy->partial);
	return true;
}

/* Checks that the backup matches its manifest, and is sound. */
static bool
read_backup(gpointer change, GError **error)
{
	const GbeVerifyOptions full = {.level = GBE_VERIFY_FULL};
	DefragCopy *copy = change;
	const GbeObserved *observed = copy->session.observed;
	GbeApp *app = copy->session.change.app;
	const char *name = copy->result->of;

	if (!gbe_session_find(observed, name, &copy->from, error) ||
	    !gbe_verify_backup(app, observed->store, copy->from, &full, &copy->source, error))
		return false;
	if (!gbe_snapshot_check(copy->source, NULL, error))
		return gbe_prefix(error, "backup %s", name);
	if (!copy->source->directory.has_db)
		return gbe_throw(error, GBE_ERROR_REFUSED, "backup %s has no database yet", name);
	copy->result->healthy = true;
	copy->session.change.ended =
	    !is_due(app, copy->options, sizes_of_db(&copy->source->directory.db), copy->result);
	return true;
}

bool
gbe_defrag_backup(GbeApp *app, const char *name, const char *new_name, const GbeDefrag *options,
		  GbeDefragResult *ret_result, GError **error)
{
	static const GbeStep steps[] = {
	    GBE_SESSION_LOOK,
	    {"defrag-backup-read", read_backup, NULL, GBE_STEP_LOOK, 0},
	    {"defrag-backup-made", make_backup, drop_entry, 0, 0},
	    {NULL, NULL, NULL, 0, 0},
	};
	/* Replaces the characters that an automatic name has and a name given by hand may not have. */
	g_autofree char *derived = g_strcanon(g_strconcat(name, "-defragmented", NULL),
					      G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._+-", '-');
	g_auto(GbeDefragResult) result = {.of = g_strdup(name)};
	g_auto(DefragCopy) copy = {
	    .session.how = {.operation = "defrag", .dry_run = options->dry_run},
	    .name = new_name != NULL ? new_name : derived,
	    .options = options,
	    .result = &result,
	    .partial = {.fd = -1}};

	if (!gbe_backup_name_check_manual(copy.name, error) ||
	    !gbe_session_run(&copy, app, steps, error))
		return false;
	*ret_result = result;
	result = (GbeDefragResult){0};
	return true;
}
