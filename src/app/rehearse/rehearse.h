/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `rehearse`: would the etcd of an update work on today's data? Versions are compared. Then that etcd is started on a
 * clone, walled off from this system (app/run/etcd-copy.h). It is asked, written to, and started again, and its data is
 * read in full. The live data is only read. The result is recorded for the deployment (core/record/rehearsal.h). A
 * failure outside of the update's etcd is "not rehearsed", which never locks an update.
 */
#pragma once

#include "app/device/context.h"
#include "core/record/rehearsal.h"

typedef struct {
	const char *deployment; /* "staged" (the default, NULL), "rollback", or an id */
	guint64 timeout;	/* seconds until etcd must be ready, for each start */
	bool by_itself;		/* no person asked: GBE_ERROR_BUSY until greenboot has judged */
	bool keep;		/* keep the clone, as GBE_REHEARSAL_KEPT in the store */
	bool (*progress)(guint64 done, guint64 total,
			 gpointer data); /* as in gbe_snapshot_save() */
	gpointer progress_data;
} GbeRehearse;

#define GBE_REHEARSAL_KEPT "rehearsal.kept"
#define GBE_REHEARSE_SECONDS 120

/* True: *ret_rehearsal has the result, whatever it is, and is recorded. GBE_ERROR_CANNOT_TELL: there is no such
 * deployment. _BUSY: another operation has the lock. A power cut or a kill leaves ".partial-rehearse", which is swept. */
bool gbe_rehearse(GbeApp *app, const GbeRehearse *options, GbeRehearsal *ret_rehearsal,
		  GError **error) GBE_CHECKED;

/* For the hook: rehearses the staged deployment, once, as [preflight] asks; waits up to @patience seconds while another
 * operation has the lock. Lifts this program's lock from a deployment that replaces a failed one. A failure is noted in
 * the journal. */
void gbe_rehearse_staged(GbeApp *app, guint patience);
