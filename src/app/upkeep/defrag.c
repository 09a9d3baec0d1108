/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `defrag --data`: etcd's own tool defragments the stopped database, as the user who owns it, so that etcd owns its
 * files at every instant. The tool locks the database itself, so this program releases its lock for the tool. The
 * result is compared with the old database row by row.
 */
/*
 * `defrag BACKUP`: a backup is never changed. Another backup is made from a clone of it, in which etcd's own tool
 * wrote the database anew. app/backup/partial.h has the steps and what a power cut leaves.
 */
#include "app/upkeep/defrag.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "app/backup/partial.h"
#include "app/backups/verify.h"
#include "app/by-hand/by-hand.h"
#include "app/by-hand/session.h"
#include "app/device/etcd-tool.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "app/upkeep/live-etcd.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "core/space.h"
#include "etcd/db/db.h"
#include "etcd/directory/in-use.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "fs/copy/clone.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/sync.h"
#include "sys/deployment/deployments.h"
#include "sys/systemd/events.h"

/* The time for etcd to become healthy again: the caches of a large database are cold. */
/* The purpose that gbe_etcd_tool_open() names in its messages. */
#define GBE_DEFRAG_FOR "defragments a stopped database"
#define AFTER_SECONDS 30
/* After a start, etcd may still be replaying its log. */
#define TIMER_PATIENCE 30
#define TIMER_TIMEOUT 900

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

static GbeDefragSizes
sizes_of(const GbeLiveEtcd *live)
{
	const GbeHealthFacts *facts = live->look->facts;

	return (GbeDefragSizes){facts->db_size, facts->db_in_use};
}

/* Decides by the first look: is there work, and is it allowed? */
static bool
check_live(const GbeLiveEtcd *live, const GbeDefrag *options, GbeDefragResult *result,
	   bool *ret_due, GError **error)
{
	const GbeConfig *config = live->app->config;

	result->before = result->after = sizes_of(live);
	result->healthy = live->look->report->health == GBE_HEALTH_HEALTHY;
	result->need = gbe_defrag_need(result->before.size, result->before.in_use,
				       config->defrag.min_size, config->defrag.max_fragmentation);
	*ret_due = !options->if_needed || result->need == GBE_DEFRAG_DUE;
	if (live->look->facts->no_space)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "etcd has the alarm NOSPACE; `greenboot-etcd alarm clear` makes "
				 "room, defragments, and takes it back");
	if (!*ret_due && result->need != GBE_DEFRAG_UNKNOWN)
		return true;
	/* The problem that a person can solve is reported first. */
	if (result->before.in_use >= 0 && !gbe_live_etcd_check_room(live, error))
		return false;
	return gbe_live_etcd_check_healthy(live, error) && gbe_live_etcd_check_room(live, error) &&
	       gbe_live_etcd_check_root(live, error);
}

static bool
throw_call(const GbeLiveEtcd *live, const GbeDefrag *options, const GbeCallFailure *failure,
	   GError **error)
{
	if (failure->reach == GBE_REACH_LATE)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "etcd at %s has not answered within %" G_GUINT64_FORMAT
				 " s, and may be at it still: %s",
				 live->look->at.endpoint.shown, options->timeout, failure->why);
	if (!gbe_live_etcd_has_not(failure))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "whether etcd at %s was defragmented cannot be told: %s; call it "
				 "again",
				 live->look->at.endpoint.shown, failure->why);
	return gbe_throw(error, gbe_call_code(failure, GBE_ERROR_FAILED),
			 "etcd at %s was not defragmented: %s", live->look->at.endpoint.shown,
			 failure->why);
}

static bool
defragment_live(GbeLiveEtcd *live, const GbeDefrag *options, GbeDefragResult *result,
		GError **error)
{
	g_auto(GbeCallFailure) failure = {0};
	gint64 began = g_get_monotonic_time();
	gint64 deadline = began + (gint64)options->timeout * G_USEC_PER_SEC;

	result->done = gbe_client_defragment(live->look->client, deadline, &failure);
	result->duration_usec = g_get_monotonic_time() - began;
	return result->done || throw_call(live, options, &failure, error);
}

static void
look_after(GbeLiveEtcd *live, GbeDefragResult *result)
{
	gbe_live_etcd_look(live, AFTER_SECONDS);
	result->after = sizes_of(live);
	result->healthy = live->look->report->health == GBE_HEALTH_HEALTHY;
	if (!result->healthy)
		result->reason = g_strdup(live->look->report->reason);
}

static void
say_done(const GbeDefragResult *result)
{
	g_autofree char *before = gbe_size_to_text((guint64)MAX(result->before.size, 0));
	g_autofree char *after = gbe_size_to_text((guint64)MAX(result->after.size, 0));
	g_autofree char *text = g_strdup_printf("%s to %s in %.2f s", before, after,
						(double)result->duration_usec / G_USEC_PER_SEC);
	GbeEventFields fields = {.action = "defrag",
				 .backup = result->backup,
				 .reason = text,
				 .duration_usec = result->duration_usec};

	gbe_event_defragmented(&fields);
}

static bool
run_live(GbeLiveEtcd *live, const GbeDefrag *options, GbeDefragResult *result, GError **error)
{
	bool due = false;

	gbe_live_etcd_look(live, options->patience);
	if (!check_live(live, options, result, &due, error))
		return false;
	if (!due || options->dry_run)
		return true;
	if (!options->no_backup) {
		if (!gbe_live_etcd_back_up(live, "before a defragmentation", &result->backup,
					   error))
			return false;
		gbe_live_etcd_look(live, 0);
	}
	/* Checks again, because the copy took room and time. */
	if (!gbe_live_etcd_lock(live, error) ||
	    (!options->no_backup && !check_live(live, options, result, &due, error)) ||
	    GBE_FAULT("defrag-locked", error) || !defragment_live(live, options, result, error))
		return false;
	look_after(live, result);
	say_done(result);
	return true;
}

bool
gbe_defrag(GbeApp *app, const GbeDefrag *options, GbeDefragResult *ret_result, GError **error)
{
	g_auto(GbeLiveEtcd) live = {0};
	g_auto(GbeDefragResult) result = {0};

	if (!gbe_live_etcd_open(app, "defrag", &live, error))
		return false;
	result.endpoint = g_strdup(live.look->at.endpoint.shown);
	if (!run_live(&live, options, &result, error))
		return false;
	*ret_result = result;
	memset(&result, 0, sizeof result);
	return true;
}

/* Errors that pass by themselves, that the monitor reports, or that mean there is no etcd. */
static bool
is_for_later(const GError *error)
{
	return g_error_matches(error, GBE_ERROR, GBE_ERROR_BUSY) ||
	       g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND) ||
	       g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED) ||
	       g_error_matches(error, GBE_ERROR, GBE_ERROR_VERIFY_FAILED) ||
	       g_error_matches(error, GBE_ERROR, GBE_ERROR_CANNOT_TELL);
}

static bool
is_on(GbeApp *app)
{
	return !gbe_config_is_off(app->config) && app->config->defrag.enabled;
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
	if (!is_on(app))
		return 0;
	if (gbe_defrag(app, &options, &result, &error)) {
		if (!result.done)
			gbe_note("not needed: %s", gbe_defrag_need_to_string(result.need));
		return !result.done || result.healthy ? 0 : 1;
	}
	if (is_for_later(error)) {
		gbe_note("not now: %s", error->message);
		return 0;
	}
	fields.reason = error->message;
	gbe_event_defrag_failed(&fields);
	return 1;
}

static bool
gbe_defrag_read_db(int data_fd, const char *member_path, GbeDb *ret_db, GError **error)
{
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	g_autofree char *what = gbe_layout_path(member_path, "member/snap/" GBE_DB_NAME);
	g_auto(GbeFindings) findings = {0};
	gbe_autofd int fd = -1;

	gbe_findings_init(&findings);
	if (!gbe_layout_open_db(data_fd, member_path, &fd, error) ||
	    !gbe_db_read(fd, what, &full, ret_db, &findings, error))
		return false;
	if (gbe_findings_worst(&findings) == GBE_FINDING_DAMAGE) {
		g_autofree char *text = gbe_finding_to_text(gbe_findings_first(&findings));

		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s", text);
	}
	return true;
}

static GbeDefragSizes
gbe_defrag_sizes(const GbeDb *db)
{
	guint64 left = db->free_pages * db->page_size;

	return (GbeDefragSizes){(gint64)db->total_size,
				(gint64)(db->total_size - MIN(left, db->total_size))};
}

static bool
gbe_defrag_check_room(int fd, const char *path, guint64 room, GError **error)
{
	g_autofree char *wanted = gbe_size_to_text(room);
	guint64 available, total, inodes;

	if (!gbe_filesystem_space(fd, &available, &total, &inodes, error))
		return false;
	return room <= available ||
	       gbe_throw(error, GBE_ERROR_NO_SPACE,
			 "a new database is written beside the old one, for which %s have to be "
			 "free at %s",
			 wanted, path);
}

static bool
gbe_defrag_run_tool(const GbeChildUser *user, const char *tool, int tool_fd, int member_fd,
		    guint64 seconds, GError **error)
{
	const char *const argv[] = {tool, "defrag", "--data-dir", "..", NULL};
	g_auto(GbeChild) child = {0};

	return gbe_child_start_as(user, tool_fd, argv, member_fd, &child, error) &&
	       gbe_etcd_tool_wait(&child, seconds, NULL, NULL, error);
}

static bool
gbe_defrag_same(const GbeDb *was, const GbeDb *is)
{
	return is->revision == was->revision && is->rows == was->rows && is->keys == was->keys &&
	       is->has_hash_kv == was->has_hash_kv && is->hash_kv == was->hash_kv;
}

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
run_tool_on_data(Stopped *stopped, GError **error)
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
prove_data(Stopped *stopped, GError **error)
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
defragment_data(Stopped *stopped, GError **error)
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
	if (!run_tool_on_data(stopped, error) || GBE_FAULT("defrag-data-done", error))
		return false;
	stopped->result->duration_usec = g_get_monotonic_time() - began;
	stopped->result->done = true;
	stopped->result->healthy = keep_it(stopped, error) && prove_data(stopped, error);
	return stopped->result->healthy;
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
back_up_data(GbeApp *app, GbeDefragResult *result, GError **error)
{
	const GbeByHandBackup options = {.description = "before a defragmentation"};
	g_auto(GbeByHandResult) backup = {0};

	if (!gbe_by_hand_backup(app, &options, &backup, error))
		return gbe_prefix(error, "no copy beforehand (--no-backup goes without)");
	result->backup = g_steal_pointer(&backup.name);
	return true;
}

static bool
act_on_data(GbeApp *app, const GbeDefrag *options, GbeDefragResult *result, GError **error)
{
	const GbeSessionOptions how = {.operation = "defrag", .data = true};
	GbeSession session;
	Stopped stopped = {.session = &session, .options = options, .result = result};
	bool ok;

	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	ok = check_stopped(&session, error) && defragment_data(&stopped, error);
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

	if (!look_at_data(app, options, &result, &due, error))
		return false;
	if (due && !options->dry_run &&
	    ((!options->no_backup && !back_up_data(app, &result, error)) ||
	     !act_on_data(app, options, &result, error)))
		return false;
	*ret_result = result;
	memset(&result, 0, sizeof result);
	return true;
}

typedef struct {
	GbeApp *app;
	const char *name; /* the name of the new backup */
	const GbeDefrag *options;
	GbeSession *session;
	GbeDefragResult *result;
	const GbeManifest *from;
	GbeVerification *source; /* of @from, with every row */
	GbePartial partial;
	char *member_path;
} Anew;

static void
anew_clear(Anew *anew)
{
	g_clear_pointer(&anew->source, gbe_verification_free);
	gbe_partial_clear(&anew->partial);
	g_clear_pointer(&anew->member_path, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Anew, anew_clear)

/* Checks that the backup matches its manifest, and is sound. */
static bool
look_at_backup(Anew *anew, const char *name, GError **error)
{
	const GbeVerifyOptions full = {.level = GBE_VERIFY_FULL};
	GbeDefragResult *result = anew->result;
	const GbeConfig *config = anew->app->config;
	GbeSeverity worst;

	if (!gbe_session_find(anew->session->observed, name, &anew->from, error) ||
	    !gbe_verify_backup(anew->app, anew->session->observed->store, anew->from, &full,
			       &anew->source, error))
		return false;
	worst = gbe_findings_worst(&anew->source->findings);
	if (worst == GBE_FINDING_DAMAGE || worst == GBE_FINDING_UNKNOWN) {
		g_autofree char *what =
		    gbe_finding_to_text(gbe_findings_first(&anew->source->findings));

		return gbe_throw(error,
				 worst == GBE_FINDING_DAMAGE ? GBE_ERROR_VERIFY_FAILED
							     : GBE_ERROR_CANNOT_TELL,
				 "backup %s: %s", name, what);
	}
	if (!anew->source->directory.has_db)
		return gbe_throw(error, GBE_ERROR_REFUSED, "backup %s has no database yet", name);
	result->before = result->after = gbe_defrag_sizes(&anew->source->directory.db);
	result->need = gbe_defrag_need(result->before.size, result->before.in_use,
				       config->defrag.min_size, config->defrag.max_fragmentation);
	result->healthy = true;
	return true;
}

static bool
clone_it(Anew *anew, int *ret_data_fd, GError **error)
{
	/* A writable directory and not a snapshot: the tool writes into it. */
	const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK,
					 .progress = gbe_app_progress,
					 .progress_data = anew->app};
	const GbeStore *at = gbe_store_at(anew->session->observed->store, anew->from->name);
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int from_fd = -1;

	return gbe_open_dir_at(at->fd, anew->from->name, &from_fd, error) &&
	       gbe_clone_tree_at(from_fd, GBE_STORE_DATA, anew->partial.fd, GBE_STORE_DATA,
				 &options, &result, error) &&
	       gbe_open_dir_at(anew->partial.fd, GBE_STORE_DATA, ret_data_fd, error);
}

static bool
run_tool_on_clone(const Anew *anew, int data_fd, GError **error)
{
	gbe_autofd int tool_fd = -1;
	gbe_autofd int member_fd = -1;
	gbe_autofd int db_fd = -1;
	const char *tool = NULL;
	struct stat st;

	if (!gbe_etcd_tool_open(anew->app, GBE_DEFRAG_FOR, &tool, &tool_fd, error) ||
	    !gbe_layout_open(data_fd, anew->member_path, "member", &member_fd, error) ||
	    !gbe_layout_open_db(data_fd, anew->member_path, &db_fd, error))
		return false;
	if (fstat(db_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the clone's database");
	return gbe_defrag_run_tool(&(GbeChildUser){st.st_uid, st.st_gid}, tool, tool_fd, member_fd,
				   anew->options->timeout, error);
}

/* Reads the whole directory and not only the database: the manifest needs the log's facts, too. */
static bool
prove_backup(const Anew *anew, int data_fd, GbeDirectory *directory, GError **error)
{
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	gbe_autofd int wal_fd = gbe_data_open_wal_of_copy(anew->app, anew->from->data_dir, data_fd);
	g_auto(GbeFindings) findings = {0};
	g_autofree char *what = NULL;

	gbe_findings_init(&findings);
	if (!gbe_directory_read(data_fd, anew->member_path, wal_fd, &full, directory, &findings,
				error))
		return false;
	if (gbe_findings_worst(&findings) == GBE_FINDING_DAMAGE)
		what = gbe_finding_to_text(gbe_findings_first(&findings));
	else if (!directory->has_db ||
		 !gbe_defrag_same(&anew->source->directory.db, &directory->db))
		what = g_strdup("its rows are not those of the backup");
	return what == NULL || gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "what etcd's tool made of it is not right: %s", what);
}

static bool
describe_backup(const Anew *anew, int data_fd, const GbeDirectory *directory, GError **error)
{
	g_autofree char *description = g_strdup_printf("%s, defragmented", anew->from->name);
	g_autoptr(GbeManifest) manifest =
	    gbe_partial_manifest(&anew->partial, anew->session->observed, directory, description);

	manifest->voters = anew->from->voters;
	if (manifest->etcd_version == NULL)
		manifest->etcd_version = g_strdup(anew->from->etcd_version);
	if (manifest->data_version == NULL)
		manifest->data_version = g_strdup(anew->from->data_version);
	return gbe_partial_describe(anew->app, &anew->partial, data_fd, anew->member_path, manifest,
				    error);
}

static bool
make_backup(Anew *anew, GError **error)
{
	const GbeObserved *observed = anew->session->observed;
	guint64 room = gbe_defrag_room(anew->result->before.in_use) +
		       (observed->facts->clones == GBE_YES ? 0 : anew->from->size);
	g_auto(GbeDirectory) directory = {0};
	gbe_autofd int data_fd = -1;
	gint64 began;

	if (!gbe_partial_make(observed, anew->name, &anew->partial, error) ||
	    !gbe_defrag_check_room(anew->partial.fd, observed->store->path, room, error) ||
	    !clone_it(anew, &data_fd, error) ||
	    !gbe_member_locate(data_fd, anew->app->config->etcd.member_dir, &anew->member_path,
			       error))
		return false;
	began = g_get_monotonic_time();
	if (!run_tool_on_clone(anew, data_fd, error))
		return false;
	anew->result->duration_usec = g_get_monotonic_time() - began;
	if (!prove_backup(anew, data_fd, &directory, error) ||
	    !describe_backup(anew, data_fd, &directory, error) ||
	    !gbe_partial_publish(&anew->partial, error))
		return false;
	anew->result->after = gbe_defrag_sizes(&directory.db);
	anew->result->done = true;
	anew->result->made = g_strdup(anew->name);
	return true;
}

/* Replaces the characters that an automatic name has and a name given by hand may not have. */
static char *
derive_name(const char *name)
{
	return g_strcanon(g_strconcat(name, "-defragmented", NULL),
			  G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._+-", '-');
}

bool
gbe_defrag_backup(GbeApp *app, const char *name, const char *new_name, const GbeDefrag *options,
		  GbeDefragResult *ret_result, GError **error)
{
	const GbeSessionOptions how = {.operation = "defrag", .dry_run = options->dry_run};
	g_autofree char *derived = new_name == NULL ? derive_name(name) : NULL;
	g_auto(GbeDefragResult) result = {0};
	GbeSession session;
	g_auto(Anew) anew = {.app = app,
			     .name = derived != NULL ? derived : new_name,
			     .options = options,
			     .session = &session,
			     .result = &result,
			     .partial = {.fd = -1}};
	bool ok;

	if (!gbe_backup_name_check_manual(anew.name, error) ||
	    !gbe_session_begin(app, &how, &session, error))
		return false;
	result.of = g_strdup(name);
	ok = look_at_backup(&anew, name, error);
	if (ok && !options->dry_run && (!options->if_needed || result.need == GBE_DEFRAG_DUE))
		ok = make_backup(&anew, error);
	if (ok && result.done)
		gbe_session_record(&session, "done", name, result.made);
	anew_clear(&anew);
	if (!gbe_session_finish(&session, ok, error))
		return false;
	*ret_result = result;
	memset(&result, 0, sizeof result);
	return true;
}
