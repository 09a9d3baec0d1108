/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* systemd's jobs: queued over a connection that is told of their ends. */
#pragma once

#include "sys/bus.h"

typedef struct {
	sd_bus *bus;
	sd_bus_slot *slot;
	GHashTable *results; /* job path -> result, of all that have ended since */
} GbeJobs;

/* @timeout_ms: for a single call. GBE_ERROR_CANNOT_TELL without systemd. */
bool gbe_jobs_open(guint timeout_ms, GbeJobs **ret_jobs, GError **error) GBE_CHECKED;
void gbe_jobs_free(GbeJobs *jobs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeJobs, gbe_jobs_free)

/* Has @job ended, or does it within @timeout_ms? *ret_result: systemd's word ("done", "failed", "dependency",
 * ...), owned by @jobs; NULL: not yet. GBE_ERROR_CANNOT_TELL: systemd is gone. */
bool gbe_jobs_wait(GbeJobs *jobs, const char *job, guint timeout_ms, const char **ret_result,
		   GError **error) GBE_CHECKED;

/* Queues @method ("StopUnit") for @unit and waits for its end. @verb is for messages. Not done after
 * @timeout_ms, or not done well: GBE_ERROR_FAILED; in the first case the job goes on. */
bool gbe_jobs_run(GbeJobs *jobs, const char *method, const char *verb, const char *unit,
		  guint timeout_ms, GError **error) GBE_CHECKED;
