/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/by-hand/by-hand.h"

#include "app/backup/recover.h"
#include "app/by-hand/session.h"
#include "app/health/verdict.h"
#include "app/report/status.h"
#include "app/state/ledger.h"
#include "app/state/state.h"
#include "base/format.h"
#include "core/decide/situation.h"
#include "sys/systemd/events.h"

#include <unistd.h>

/* systemd kills a transient etcd that does not end within 90 s. */
#define BOUND_WAIT_MS 100000
#define BOUND_QUIET_MS 2000
#define BOUND_STEP_USEC 50000

void
gbe_by_hand_result_clear(GbeByHandResult *result)
{
	g_clear_pointer(&result->name, g_free);
	g_clear_pointer(&result->displaced, g_free);
	g_clear_pointer(&result->kept, g_free);
	g_clear_pointer(&result->loss, g_free);
	g_clear_pointer(&result->path, g_free);
	g_clear_pointer(&result->sha256, g_free);
}

/* Under the lock: finishes what others left. */
static bool
finish_interrupted(GbeApp *app, GError **error)
{
	g_auto(GbeRecovery) recovery = {0};
	g_autoptr(GError) local = NULL;

	if (!gbe_recover_here(app, &recovery, error))
		return false;
	if (recovery.exchange_open)
		return gbe_throw(error, GBE_ERROR_PARTIAL,
				 "an interrupted restore is half done and could not be finished: "
				 "%s; start greenboot-etcd-prerun.service",
				 recovery.what != NULL ? recovery.what : "unknown");
	if (recovery.left_alone)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "a newer greenboot-etcd has an operation open%s%s; finish it with "
				 "that one",
				 recovery.what != NULL ? ": " : "",
				 recovery.what != NULL ? recovery.what : "");
	if (recovery.recovered && recovery.what != NULL)
		gbe_note("%s", recovery.what);
	if (!gbe_verdict_note_tree(app, &local))
		gbe_note("%s", local->message);
	return true;
}

bool
gbe_session_look(gpointer change, GError **error)
{
	GbeSession *session = change;
	GbeApp *app = session->change.app;
	bool dry_run = session->how.dry_run;
	const GbeObserveOptions how = {.repair = !dry_run,
				       .lock_data = session->how.data && !dry_run,
				       .inside = session->how.inside};
	g_autoptr(GError) local = NULL;

	if ((!dry_run && !finish_interrupted(app, error)) ||
	    !gbe_observe(app, &how, &session->observed, error))
		return false;
	gbe_deployments_read_versions(session->observed->deployments);
	/* Shortens a long ledger: a device may run for months without a prerun and take a backup each hour. */
	if (!dry_run && !gbe_ledger_compact(app, session->observed->facts, &local))
		gbe_note("%s", local->message);
	return true;
}

static bool
still_open(const GbeSession *session, GError **error)
{
	const GbeFacts *facts = session->observed->facts;

	static const struct {
		const char *operation, *hint, *without_clones;
	} hints[] = {
	    {"backup", "use --stop or --live, or stop it first", "use --stop, or stop it first"},
	    {"restore", "use --stop or --next-boot, or stop it first", NULL},
	    {"undo", "use --stop or --next-boot, or stop it first", NULL}};
	const char *hint = "stop it first";

	if (facts->data_open == GBE_UNKNOWN)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot determine whether a process has %s open: %s%s",
				 session->observed->data->path,
				 facts->data_open_why != NULL ? facts->data_open_why : "unknown",
				 facts->deformed ? "; use --stop" : "");
	if (session->how.stop_allowed)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "another process has %s open although %s is stopped; end it first",
				 session->observed->data->path,
				 session->change.app->config->etcd.service);
	for (gsize i = 0; i < G_N_ELEMENTS(hints); i++)
		if (g_str_equal(session->how.operation, hints[i].operation))
			hint = hints[i].without_clones != NULL && facts->clones == GBE_NO
				   ? hints[i].without_clones
				   : hints[i].hint;
	return gbe_throw(error, GBE_ERROR_BUSY, "etcd has %s open; %s",
			 session->observed->data->path, hint);
}

/* An etcd that lives and dies with the service (`run`) stops after it. */
static bool
observe_stopped(GbeSession *session, GError **error)
{
	const GbeObserveOptions again = {.repair = true, .lock_data = true};
	gint64 began = g_get_monotonic_time();
	bool said = false;

	for (;;) {
		gint64 waited;

		if (!gbe_observe_again(session->change.app, &again, session->observed, error))
			return false;
		waited = (g_get_monotonic_time() - began) / 1000;
		if (session->observed->facts->data_open != GBE_YES ||
		    session->service.unit == NULL || waited > BOUND_WAIT_MS)
			return true;
		if (!said && waited > BOUND_QUIET_MS)
			gbe_complain(
			    "%s is stopped, but a process still has %s open: waiting, for %d s "
			    "at most",
			    session->change.app->config->etcd.service,
			    session->observed->data->path, BOUND_WAIT_MS / 1000);
		said = said || waited > BOUND_QUIET_MS;
		g_usleep(BOUND_STEP_USEC);
	}
}

bool
gbe_session_quiesce(gpointer change, GError **error)
{
	GbeSession *session = change;
	const GbeSessionOptions *how = &session->how;
	const GbeFacts *facts = session->observed->facts;
	GbeApp *app = session->change.app;

	/* Without db there is no lock, and nothing can be open. */
	if (facts->data == GBE_NO || facts->data_open == GBE_NO)
		return true;
	if (how->open_allowed && facts->data_open == GBE_YES)
		return true;
	/* A dry run says what would be done once etcd is stopped. */
	if (how->dry_run && (how->stop_allowed || facts->data_open == GBE_YES))
		return true;
	/* A running etcd has no sign in such files; below --root none runs. */
	if (facts->deformed && (app->below_root || how->dry_run))
		return true;
	if ((facts->data_open != GBE_YES && !facts->deformed) || !how->stop_allowed)
		return still_open(session, error);
	if (!gbe_service_stop(app, &session->service, error) || !observe_stopped(session, error))
		return false;
	facts = session->observed->facts;
	if (facts->data == GBE_NO || facts->data_open == GBE_NO || facts->deformed)
		return true;
	return still_open(session, error);
}

void
gbe_session_record(GbeSession *session, const char *result, const char *reason, const char *backup)
{
	GbeLastOperation last = {
	    .operation = g_strdup(session->how.operation),
	    .result = g_strdup(result),
	    .rule = g_strdup("by-hand"),
	    .reason = g_strdup(reason),
	    .backup = g_strdup(backup),
	    .run = g_strdup(session->observed->facts->run),
	    .started = session->began,
	    .duration_usec = g_get_monotonic_time() - session->began_usec,
	};

	gbe_state_write_last(session->change.app, &last);
	gbe_last_operation_clear(&last);
}

void
gbe_session_did(GbeSession *session, const char *format, ...)
{
	g_free(session->done);
	session->done = GBE_VFORMAT(format);
}

/* Also releases etcd's lock: a starting etcd would wait for it. */
static void
end_session(gpointer change)
{
	GbeSession *session = change;

	if (session->observed != NULL && !session->how.dry_run)
		gbe_status_write(session->change.app, session->observed, NULL, NULL);
	g_clear_pointer(&session->observed, gbe_observed_free);
}

static bool
open_session(GbeSession *session, GbeApp *app, const GbeStep *steps, GError **error)
{
	bool dry_run = session->how.dry_run;
	g_autoptr(GError) local = NULL;

	session->change = (GbeChange){.app = app,
				      .name = session->how.operation,
				      .steps = steps,
				      .dry_run = dry_run,
				      .by_any_user = true,
				      .end = end_session};
	session->service.pipe_fd = -1;
	session->began = g_get_real_time() / G_USEC_PER_SEC;
	session->began_usec = g_get_monotonic_time();
	if (gbe_app_open_state(app, !dry_run, &local) ||
	    (dry_run && g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)))
		return true;
	/* A person without rights gets this message, rather than one about the first unreadable file. */
	if (geteuid() != 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "%s (needs root: sudo)", local->message);
	return gbe_pass(error, &local);
}

bool
gbe_session_run(gpointer data, GbeApp *app, const GbeStep *steps, GError **error)
{
	GbeSession *session = data;
	g_autofree char *done = NULL;
	g_autoptr(GError) local = NULL;
	bool ok, started;

	if (!open_session(session, app, steps, error))
		return false;
	ok = gbe_change_run(&session->change, error);
	gbe_change_clear(&session->change);
	done = g_steal_pointer(&session->done);
	session->restarted = session->service.unit != NULL;
	started = gbe_service_start(&session->service, &local);
	if (ok && started)
		return true;
	if (ok)
		(void)gbe_pass(error, &local);
	else if (!started)
		(void)gbe_prefix(error, "%s; before it", local->message);
	if (done != NULL)
		(void)gbe_prefix(error, "%s, but", done);
	return done != NULL || !started ? gbe_rethrow(error, GBE_ERROR_PARTIAL) : false;
}

bool
gbe_session_do(gpointer session, GbeApp *app, const char *name,
	       bool (*run)(gpointer session, GError **error), GError **error)
{
	const GbeStep steps[] = {GBE_SESSION_LOOK,
				 {name, run, NULL, GBE_STEP_LOOK, 0},
				 {NULL, NULL, NULL, 0, 0}};

	return gbe_session_run(session, app, steps, error);
}

bool
gbe_session_begin(GbeApp *app, const GbeSessionOptions *options, GbeSession *ret_session,
		  GError **error)
{
	GbeSession session = {.how = *options};

	if (!open_session(&session, app, NULL, error) ||
	    (!options->dry_run && !gbe_app_lock(app, options->operation, GBE_WAIT_BY_HAND, error)))
		return false;
	if (!gbe_session_look(&session, error)) {
		if (!options->dry_run)
			gbe_app_unlock(app);
		return false;
	}
	*ret_session = session;
	return true;
}

void
gbe_session_leave(GbeSession *session)
{
	end_session(session);
	if (!session->how.dry_run)
		gbe_app_unlock(session->change.app);
}

bool
gbe_session_find(const GbeObserved *observed, const char *name, const GbeManifest **ret_manifest,
		 GError **error)
{
	const GbeManifest *manifest = gbe_facts_backup(observed->facts, name);

	if (manifest != NULL) {
		*ret_manifest = manifest;
		return true;
	}
	if (gbe_status_is_damaged(observed, name))
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "the manifest of backup %s cannot be read; `greenboot-etcd delete "
				 "--force %s` removes it",
				 name, name);
	if (observed->facts->store == GBE_NO)
		return gbe_observed_no_store(observed, error);
	return gbe_throw(error, GBE_ERROR_NOT_FOUND,
			 "no backup %s in %s; `greenboot-etcd list` shows them", name,
			 observed->store->path);
}

bool
gbe_by_hand_is_alone(GbeApp *app, const char *operation, bool *ret_alone, GError **error)
{
	const GbeSessionOptions how = {.operation = operation,
				       .data = true,
				       .inside = true,
				       .dry_run = true};
	GbeSituation situation;
	GbeSession session;
	GbeView view;

	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	gbe_view_live(session.observed->facts, &view);
	gbe_situation_derive(session.observed->facts, &view, true, &situation);
	*ret_alone =
	    !situation.log_lost && (session.observed->facts->data == GBE_NO || view.voters == 1);
	gbe_session_leave(&session);
	return true;
}
