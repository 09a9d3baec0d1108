/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The frame around everything done by hand: lock, recovery, observation in front; record, status and
 * unlocking behind. Internal to by-hand-*.c.
 */
#pragma once

#include "app/observe.h"
#include "app/service.h"
#include "core/request.h"

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	GbeService service; /* stopped for us, or nothing */
	const char *operation;
	gint64 began; /* CLOCK_REALTIME, seconds */
	gint64 began_usec;
} GbeSession;

typedef struct {
	const char *operation; /* "backup" ... */
	gboolean data;	       /* the data is touched: etcd's lock is wanted */
	gboolean inside;       /* what is in it, too, where nobody has it open */
	gboolean dry_run;      /* look only: no lock, nothing repaired */
	gboolean stop_allowed; /* --stop was given */
	gboolean open_allowed; /* --live was given */
} GbeSessionOptions;

/* With ->data the session has etcd's lock, or (open_allowed, dry_run) knows that somebody else has. */
bool gbe_session_begin(GbeApp *app, const GbeSessionOptions *options, GbeSession *ret_session,
		       GError **error) GBE_CHECKED;
/* Stops the service where the data is open and --stop was given; then has etcd's lock, or GBE_ERROR_BUSY
 * says what to do. */
bool gbe_session_quiesce(GbeSession *session, const GbeSessionOptions *options,
			 GError **error) GBE_CHECKED;
/* Records what was done: @result "done", "failed", "partial". */
void gbe_session_record(GbeSession *session, const char *result, const char *reason,
			const char *backup);
/* status.json, etcd's lock, ours, the service: in this order. Frees. False: only the service could not
 * be started again. */
bool gbe_session_end(GbeSession *session, GError **error);
/* Done, but the service is not up again: that is half of it. Always false. */
bool gbe_session_half(GError **error);
/* The same after an error, which stays the one that is reported. */
void gbe_session_abandon(GbeSession *session);
/* GBE_ERROR_NOT_FOUND names it and where it was looked for; damaged: GBE_ERROR_VERIFY_FAILED. */
bool gbe_session_find(const GbeObserved *observed, const char *name,
		      const GbeManifest **ret_manifest, GError **error) GBE_CHECKED;
