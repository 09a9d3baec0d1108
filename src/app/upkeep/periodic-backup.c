/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Takes the backup that [backup] schedule asks for, while etcd runs. If the file system clones, it is a live copy,
 * like `backup --live`. Elsewhere it is etcd's own snapshot, made into a backup like `import`: a copy of files that
 * are being written would not be a backup. Both are proved before they have a name; app/backup/backup.h and
 * app/snapshot/import.h have the states after a power cut before that.
 *
 *   1  the backup is there                           a cut here: kept; the next time takes another one
 *   2  the state's record says so (core/record/periodic.h)
 *   3  older ones go, by their hours and days        the next time removes the rest
 *
 * A temporary obstacle is not a failure: the program waits for its end, and otherwise leaves this backup out.
 */
#include <unistd.h>

#include "app/backup/backup.h"
#include "app/by-hand/by-hand.h"
#include "app/by-hand/session.h"
#include "app/report/records.h"
#include "app/report/status.h"
#include "app/snapshot/import.h"
#include "app/snapshot/snapshot.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "app/upkeep/live-etcd.h"
#include "app/upkeep/timers.h"
#include "base/fault.h"
#include "core/decide/situation.h"
#include "etcd/layout.h"
#include "etcd/wal/rest.h"
#include "fs/probe.h"
#include "sys/systemd/events.h"

/* Keeps other programs of the schedule out; not the program's lock, for which others wait. */
#define LOCK "periodic-lock"
#define TEMPORARY "periodic.db"
#define LOOK_SECONDS 30
#define TRY_AGAIN_USEC (5 * G_USEC_PER_SEC)
#define TIMEOUT_SECONDS 1800

typedef struct {
	GbeApp *app;
	GbeLiveEtcd live;
	GbePeriodic record;
	char *member; /* of the directory that etcd works on */
	gint64 deadline;
	bool begun; /* a later error is a failure */
} Periodic;

static void
forget_look(Periodic *p)
{
	gbe_live_etcd_clear(&p->live);
	g_clear_pointer(&p->member, g_free);
}

/* ---- has anything changed? ---- */

static bool
is_unchanged(const Periodic *p, const GbeObserved *observed)
{
	const GbeHealthFacts *now = p->live.look->facts;
	const GbePeriodic *record = &p->record;
	const GbeData *data = observed->data;
	const GbeManifest *backup =
	    record->backup != NULL ? gbe_facts_backup(observed->facts, record->backup) : NULL;
	guint64 since = (guint64)record->applied;
	gbe_autofd int wal_fd = -1;
	GbeWalRest rest = {0};

	if (backup == NULL || backup->origin != GBE_ORIGIN_PERIODIC || backup->consumed ||
	    backup->grade == GBE_GRADE_BAD)
		return false;
	if (p->member == NULL || g_strcmp0(p->member, record->member) != 0 || now->revision < 0 ||
	    now->revision != record->revision || record->applied <= 0 ||
	    now->raft_applied > G_MAXINT64 || (gint64)now->raft_applied < record->applied)
		return false;
	if ((gint64)now->raft_applied == record->applied)
		return true;
	/* Do the entries of the log that etcd has applied since leave the content of a backup unchanged? A health check
	 * makes such entries, and so does a start. */
	if (!gbe_layout_open_wal(data->fd, data->member_path, data->wal_fd, &wal_fd, NULL) ||
	    !gbe_wal_rest_count(wal_fd, "member/wal", since, since, &rest, NULL))
		return false;
	return rest.entries >= now->raft_applied - since && rest.requests == 0 &&
	       rest.changes == 0 && rest.v2_requests == 0;
}

/* ---- the backup ---- */

static bool
save_and_import(Periodic *p, char **ret_name, GError **error)
{
	const char *path = GBE_STATE_DIR "/" TEMPORARY;
	const GbeSnapshotSave save = {.path = path,
				      .timeout = TIMEOUT_SECONDS,
				      .replace = true,
				      .leave_room = true};
	/* Like all backups of this device, it keeps its revision. */
	const GbeImport import = {.path = path,
				  .timeout = TIMEOUT_SECONDS,
				  .no_bump = true,
				  .periodic = true};
	g_autoptr(GbeVerification) verification = NULL;
	g_auto(GbeImported) imported = {0};
	bool ok = gbe_snapshot_save(p->app, &save, &verification, error) &&
		  !GBE_FAULT("periodic-saved", error) &&
		  gbe_import(p->app, &import, &imported, error);

	/* This also removes the file that a power cut left: it was replaced. */
	(void)unlinkat(p->app->state_fd, TEMPORARY, 0);
	if (!ok)
		return false;
	*ret_name = g_steal_pointer(&imported.name);
	return true;
}

static bool
take_backup(Periodic *p, GbeTri clones, GError **error)
{
	const GbeByHandBackup options = {.description = "periodic", .live = true, .periodic = true};
	const GbeHealthFacts *facts = p->live.look->facts;
	g_auto(GbeByHandResult) result = {0};
	g_autoptr(GError) local = NULL;
	g_autofree char *name = NULL;

	/* The functions below take the lock themselves. */
	g_clear_pointer(&p->live.lock, gbe_lock_release);
	p->begun = true;
	/* Without a store, only the first copy shows whether copies are clones. */
	if (clones != GBE_NO && gbe_by_hand_backup(p->app, &options, &result, &local))
		name = g_steal_pointer(&result.name);
	else if (local != NULL && !g_error_matches(local, GBE_ERROR, GBE_ERROR_UNSUPPORTED))
		return gbe_pass(error, &local);
	else if (!save_and_import(p, &name, error))
		return false;
	g_free(p->record.backup);
	p->record.backup = g_steal_pointer(&name);
	g_free(p->record.member);
	p->record.member = g_strdup(p->member);
	p->record.revision = facts->revision;
	p->record.applied = (gint64)MIN(facts->raft_applied, (guint64)G_MAXINT64);
	return true;
}

/* No table of steps (app/device/change.h): the backup and the import are operations with their own steps. */
static bool
attempt_backup(Periodic *p, GbePeriodicResult *ret_result, GError **error)
{
	const GbeObserveOptions look = {0};
	g_autoptr(GbeObserved) observed = NULL;
	gint64 left = p->deadline - g_get_monotonic_time();
	gbe_autofd int member_fd = -1;
	GbeTri clones;

	forget_look(p);
	if (!gbe_live_etcd_open(p->app, "backup", &p->live, error))
		return false;
	gbe_live_etcd_look(&p->live,
			   (guint)CLAMP(left / G_USEC_PER_SEC, (gint64)0, (gint64)LOOK_SECONDS));
	if (!gbe_live_etcd_check_healthy(&p->live, error) ||
	    !gbe_observe(p->app, &look, &observed, error))
		return false;
	if (observed->facts->store == GBE_NO)
		return gbe_observed_no_store(observed, error);
	if (gbe_situation_is_being_judged(observed->facts))
		return gbe_throw(error, GBE_ERROR_BUSY, "greenboot has not judged this boot yet");
	/* Another directory has another history, whatever its numbers say: it was restored. */
	if (gbe_layout_open(observed->data->fd, observed->data->member_path, "member", &member_fd,
			    NULL))
		p->member = gbe_tree_identity(member_fd);
	gbe_close_fd(&member_fd);
	if (is_unchanged(p, observed)) {
		*ret_result = GBE_PERIODIC_UNCHANGED;
		return true;
	}
	clones = observed->facts->clones;
	g_clear_pointer(&observed, gbe_observed_free);
	if (!gbe_live_etcd_lock(&p->live, error) || !take_backup(p, clones, error))
		return false;
	*ret_result = GBE_PERIODIC_TAKEN;
	return true;
}

/* ---- what became of it ---- */

static bool
is_periodic(gpointer data, const GbeRemoval *next, GbeRetentionAnswer *ret_answer, GError **error)
{
	(void)data;
	(void)error;
	if (next->backup->origin != GBE_ORIGIN_PERIODIC)
		*ret_answer = GBE_RETENTION_LEAVE;
	return true;
}

static int
finish(Periodic *p, GbePeriodicResult result, const char *reason)
{
	const GbeSessionOptions how = {.operation = "backup"};
	const GbeObserveOptions options = {0};
	GbeEventFields fields = {.rule = "periodic", .action = "backup", .reason = reason};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) unwritten = NULL;
	g_autoptr(JsonObject) object = NULL;
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	GbeSession session;
	/* Uses the program's lock when it is free: its holder sweeps half-written files. Without the record, at worst,
	 * the next time takes one more backup. */
	bool locked = gbe_app_lock(p->app, "backup", GBE_WAIT_IF_FREE, NULL);

	gbe_periodic_note(&p->record, result, reason, now);
	if (result == GBE_PERIODIC_TAKEN)
		p->record.taken = now;
	object = gbe_periodic_print(&p->record);
	if (!gbe_state_write(p->app, GBE_STATE_PERIODIC, object, &unwritten))
		gbe_note("could not record the result of the periodic backup: %s",
			 unwritten->message);
	if (locked)
		gbe_app_unlock(p->app);
	if (result == GBE_PERIODIC_FAILED) {
		gbe_event_backup_failed(&fields);
	} else if (result != GBE_PERIODIC_TAKEN) {
		gbe_event_backup_skipped(&fields);
	} else if (gbe_session_begin(p->app, &how, &session, &error)) {
		/* Removes periodic backups only; decisions.md says when the others go. */
		(void)gbe_retention_run(p->app, session.observed, is_periodic, NULL, NULL);
		gbe_session_leave(&session);
	} else {
		gbe_note("retention: %s", error->message);
	}
	/* Writes status.json and the MOTD at once. */
	if (gbe_observe(p->app, &options, &observed, NULL))
		gbe_status_write(p->app, observed, p->live.look, NULL);
	return result == GBE_PERIODIC_FAILED ? 1 : 0;
}

static int
run_until_done(Periodic *p)
{
	g_autofree char *unchanged = NULL;

	for (;;) {
		GbePeriodicResult result = GBE_PERIODIC_NONE;
		g_autoptr(GError) error = NULL;
		bool stays;

		p->begun = false;
		if (attempt_backup(p, &result, &error)) {
			if (result == GBE_PERIODIC_UNCHANGED)
				unchanged = g_strdup_printf("nothing has changed since %s",
							    p->record.backup);
			return finish(p, result, unchanged);
		}
		if (p->begun && !g_error_matches(error, GBE_ERROR, GBE_ERROR_BUSY))
			return finish(p, GBE_PERIODIC_FAILED, error->message);
		/* Below --root no service starts etcd meanwhile, and nothing mounts the store. */
		stays =
		    p->app->below_root && (g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED) ||
					   g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND));
		if (stays || g_get_monotonic_time() + TRY_AGAIN_USEC > p->deadline)
			return finish(p, GBE_PERIODIC_SKIPPED, error->message);
		g_usleep(TRY_AGAIN_USEC);
	}
}

int
gbe_periodic_run(GbeApp *app, guint patience)
{
	g_autoptr(GbeDeployments) deployments =
	    gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	Periodic p = {.app = app,
		      .deadline = g_get_monotonic_time() + (gint64)patience * G_USEC_PER_SEC};
	g_autofree char *complaint = NULL;
	g_autoptr(JsonObject) record = NULL;
	g_autoptr(GbeLock) lock = NULL;
	g_autoptr(GError) error = NULL;
	int status;

	(void)!gbe_app_open_state(app, false, NULL);
	gbe_configuration_choose(app, deployments->booted.id, &complaint);
	if (gbe_config_is_off(app->config) || app->config->backup.schedule == NULL) {
		gbe_note("[backup] schedule is empty");
		return 0;
	}
	if (!gbe_app_open_state(app, true, &error) ||
	    !gbe_lock_acquire_at(app->state_fd, LOCK, "backup", 0, &lock, &error)) {
		gbe_complain("%s", error->message);
		return g_error_matches(error, GBE_ERROR, GBE_ERROR_BUSY) ? 0 : 1;
	}
	if (!gbe_state_read(app, GBE_STATE_PERIODIC, false, &record, &error))
		gbe_note("%s", error->message);
	gbe_periodic_read(record, &p.record);
	status = run_until_done(&p);
	forget_look(&p);
	gbe_periodic_clear(&p.record);
	return status;
}
