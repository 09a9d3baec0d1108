/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The frame of every operation by hand, on the runner of app/device/change.h: recovery and observation before it;
 * record, status and the service after it. Implemented in by-hand.c.
 */
#pragma once

#include "app/backup/observe.h"
#include "app/device/change.h"
#include "app/device/service.h"

typedef struct {
	const char *operation; /* "backup" ... */
	bool data;	       /* the operation touches the data and needs etcd's lock */
	bool inside;	       /* also look into the data, when no process has it open */
	bool dry_run;	       /* look only: no lock, nothing repaired */
	bool stop_allowed;     /* --stop was given */
	bool open_allowed;     /* --live was given */
} GbeSessionOptions;

/* The structure of an operation begins with this one, of which the caller sets ->how. */
typedef struct {
	GbeChange change;
	GbeSessionOptions how;
	GbeObserved *observed;
	GbeService service; /* the service that was stopped, or nothing */
	bool restarted;	    /* the service was stopped, and started again */
	gint64 began;	    /* CLOCK_REALTIME, seconds */
	gint64 began_usec;
	char *done; /* what is done and stays, also when something fails after it; NULL: nothing */
} GbeSession;

/*
 * Takes the steps of @session, of which the first is GBE_SESSION_LOOK. Then writes status.json, releases etcd's lock
 * and the program's, and starts the service, in this order. Frees what is in the GbeSession.
 *
 * GBE_ERROR_PARTIAL if the service could not be started, or if a step failed after something was done, which the
 * message names. Else the error is that of the step.
 */
bool gbe_session_run(gpointer session, GbeApp *app, const GbeStep *steps,
		     GError **error) GBE_CHECKED;
/* The same with one step after the look. A dry run also takes it. */
bool gbe_session_do(gpointer session, GbeApp *app, const char *name,
		    bool (*run)(gpointer session, GError **error), GError **error) GBE_CHECKED;
#define GBE_SESSION_LOOK                                                                           \
	{                                                                                          \
		"session-looked", gbe_session_look, NULL, GBE_STEP_LOOK, 0                         \
	}
/* A step: finishes what was interrupted, and sets ->observed. With ->data the session has etcd's lock, or
 * (open_allowed, dry_run) knows that another process has it. */
bool gbe_session_look(gpointer session, GError **error) GBE_CHECKED;
/* A step: stops the service when the data is open and --stop was given. Then the session has etcd's lock, or
 * GBE_ERROR_BUSY says what to do. */
bool gbe_session_quiesce(gpointer session, GError **error) GBE_CHECKED;
/* Records the result of the operation: @result "done", "failed", "partial". */
void gbe_session_record(GbeSession *session, const char *result, const char *reason,
			const char *backup);
/* Notes what is done and stays: "backup first is made". A later call replaces it. */
void gbe_session_did(GbeSession *session, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* GBE_ERROR_NOT_FOUND names the backup and where this looked; a damaged one is GBE_ERROR_VERIFY_FAILED. */
bool gbe_session_find(const GbeObserved *observed, const char *name,
		      const GbeManifest **ret_manifest, GError **error) GBE_CHECKED;

/* Only the look, and the lock until gbe_session_leave(), for an operation that changes no backup and no data. */
bool gbe_session_begin(GbeApp *app, const GbeSessionOptions *options, GbeSession *ret_session,
		       GError **error) GBE_CHECKED;
/* Writes status.json, and releases the locks and what is in @session. */
void gbe_session_leave(GbeSession *session);
