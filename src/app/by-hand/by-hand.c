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

/* Long enough for another backup of a small tree to end; the message names the holder of a longer one. */
#define LOCK_WAIT_MS 2000
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
gbe_session_begin(GbeApp *app, const GbeSessionOptions *options, GbeSession *ret_session,
		  GError **error)
{
	const GbeObserveOptions how = {.repair = !options->dry_run,
				       .lock_data = options->data && !options->dry_run,
				       .inside = options->inside};
	GbeSession session = {.app = app, .operation = options->operation, .service.pipe_fd = -1};
	g_autoptr(GError) local = NULL;

	session.began = g_get_real_time() / G_USEC_PER_SEC;
	session.began_usec = g_get_monotonic_time();
	if (!gbe_app_open_state(app, !options->dry_run, &local) &&
	    !(options->dry_run && g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))) {
		/* A person without rights gets this message, rather than one about the first unreadable file. */
		if (geteuid() != 0)
			return gbe_throw(error, GBE_ERROR_FAILED, "%s (needs root: sudo)",
					 local->message);
		return gbe_pass(error, &local);
	}
	g_clear_error(&local);
	if (!options->dry_run) {
		if (!gbe_app_lock(app, options->operation, LOCK_WAIT_MS, error))
			return false;
		session.locked = true;
	}
	if ((session.locked && !finish_interrupted(app, error)) ||
	    !gbe_observe(app, &how, &session.observed, error)) {
		if (session.locked)
			gbe_app_unlock(app);
		return false;
	}
	/* Shortens a long ledger: a device may run for months without a prerun and take a backup each hour. */
	if (session.locked && !gbe_ledger_compact(app, session.observed->facts, &local))
		gbe_note("%s", local->message);
	*ret_session = session;
	return true;
}

static bool
still_open(const GbeSession *session, const GbeSessionOptions *options, GError **error)
{
	const GbeFacts *facts = session->observed->facts;

	if (facts->data_open == GBE_UNKNOWN)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "whether somebody has %s open cannot be told: %s%s",
				 session->observed->data->path,
				 facts->data_open_why != NULL ? facts->data_open_why : "unknown",
				 facts->deformed ? "; use --stop" : "");
	if (options->stop_allowed)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "somebody has %s open although %s is stopped; end that etcd first",
				 session->observed->data->path, session->app->config->etcd.service);
	return gbe_throw(error, GBE_ERROR_BUSY, "etcd has %s open; use --stop%s, or stop it first",
			 session->observed->data->path,
			 g_str_equal(session->operation, "backup")
			     ? ", or --live where the file system clones"
			     : ", or --next-boot");
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

		if (!gbe_observe_again(session->app, &again, session->observed, error))
			return false;
		waited = (g_get_monotonic_time() - began) / 1000;
		if (session->observed->facts->data_open != GBE_YES ||
		    session->service.unit == NULL || waited > BOUND_WAIT_MS)
			return true;
		if (!said && waited > BOUND_QUIET_MS)
			gbe_complain(
			    "%s is stopped, and somebody still has %s open: waiting, for %d s "
			    "at most",
			    session->app->config->etcd.service, session->observed->data->path,
			    BOUND_WAIT_MS / 1000);
		said = said || waited > BOUND_QUIET_MS;
		g_usleep(BOUND_STEP_USEC);
	}
}

bool
gbe_session_quiesce(GbeSession *session, const GbeSessionOptions *options, GError **error)
{
	const GbeFacts *facts = session->observed->facts;

	/* Without db there is no lock, and nothing can be open. */
	if (facts->data == GBE_NO || facts->data_open == GBE_NO)
		return true;
	if (options->open_allowed && facts->data_open == GBE_YES)
		return true;
	if (options->dry_run && options->stop_allowed)
		return true;
	/* By its files, no running etcd can be told; below --root none runs. */
	if (facts->deformed && session->app->below_root)
		return true;
	if ((facts->data_open != GBE_YES && !facts->deformed) || !options->stop_allowed)
		return still_open(session, options, error);
	if (!gbe_service_stop(session->app, &session->service, error) ||
	    !observe_stopped(session, error))
		return false;
	facts = session->observed->facts;
	if (facts->data == GBE_NO || facts->data_open == GBE_NO || facts->deformed)
		return true;
	return still_open(session, options, error);
}

void
gbe_session_record(GbeSession *session, const char *result, const char *reason, const char *backup)
{
	GbeLastOperation last = {
	    .operation = g_strdup(session->operation),
	    .result = g_strdup(result),
	    .rule = g_strdup("by-hand"),
	    .reason = g_strdup(reason),
	    .backup = g_strdup(backup),
	    .run = g_strdup(session->observed->facts->run),
	    .started = session->began,
	    .duration_usec = g_get_monotonic_time() - session->began_usec,
	};

	gbe_state_write_last(session->app, &last);
	gbe_last_operation_clear(&last);
}

void
gbe_session_did(GbeSession *session, const char *format, ...)
{
	g_free(session->done);
	session->done = GBE_VFORMAT(format);
}

bool
gbe_session_finish(GbeSession *session, bool ok, GError **error)
{
	g_autofree char *done = g_steal_pointer(&session->done);
	g_autoptr(GError) local = NULL;
	bool started;

	if (session->locked && session->observed != NULL)
		gbe_status_write(session->app, session->observed, NULL);
	/* This also releases etcd's lock: a starting etcd would wait for it. */
	g_clear_pointer(&session->observed, gbe_observed_free);
	if (session->locked)
		gbe_app_unlock(session->app);
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

void
gbe_session_leave(GbeSession *session)
{
	(void)!gbe_session_finish(session, true, NULL);
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
