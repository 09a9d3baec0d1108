/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The frame of every operation by hand: lock, recovery and observation before it; record, status and unlocking after
 * it. Implemented in by-hand.c.
 */
#pragma once

#include "app/backup/observe.h"
#include "app/device/service.h"
#include "core/record/request.h"

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	GbeService service; /* the service that was stopped, or nothing */
	const char *operation;
	gint64 began; /* CLOCK_REALTIME, seconds */
	gint64 began_usec;
	bool locked; /* by this session */
	char *done;  /* what is done and stays, also when something fails after it; NULL: nothing */
} GbeSession;

typedef struct {
	const char *operation; /* "backup" ... */
	bool data;	       /* the operation touches the data and needs etcd's lock */
	bool inside;	       /* look into the data, too, when nobody has it open */
	bool dry_run;	       /* look only: no lock, nothing repaired */
	bool stop_allowed;     /* --stop was given */
	bool open_allowed;     /* --live was given */
} GbeSessionOptions;

/* With ->data the session has etcd's lock, or (open_allowed, dry_run) knows that another process has it. */
bool gbe_session_begin(GbeApp *app, const GbeSessionOptions *options, GbeSession *ret_session,
		       GError **error) GBE_CHECKED;
/* Stops the service when the data is open and --stop was given. Then the session has etcd's lock, or
 * GBE_ERROR_BUSY says what to do. */
bool gbe_session_quiesce(GbeSession *session, const GbeSessionOptions *options,
			 GError **error) GBE_CHECKED;
/* Records the result of the operation: @result "done", "failed", "partial". */
void gbe_session_record(GbeSession *session, const char *result, const char *reason,
			const char *backup);
/* Notes what is done and stays: "backup first is made". A later call replaces it. */
void gbe_session_did(GbeSession *session, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Writes status.json, releases etcd's lock, then the program's, and starts the service, in this order; frees
 * @session. @ok: what the operation returned; if false, @error is what it failed with. Returns false with
 * GBE_ERROR_PARTIAL where the service could not be started, or where the operation failed after something was done,
 * which the message names; else with the operation's error. */
bool gbe_session_finish(GbeSession *session, bool ok, GError **error) GBE_CHECKED;
/* The same after a look, or where the caller has reported its errors. The service was not stopped. */
void gbe_session_leave(GbeSession *session);
/* GBE_ERROR_NOT_FOUND names the backup and where this looked; a damaged one is GBE_ERROR_VERIFY_FAILED. */
bool gbe_session_find(const GbeObserved *observed, const char *name,
		      const GbeManifest **ret_manifest, GError **error) GBE_CHECKED;
