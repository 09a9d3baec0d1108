/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Queues systemd's jobs and follows them to their ends, over one connection. */
#pragma once

#include "sys/systemd/bus.h"

typedef struct {
	sd_bus *bus;
	sd_bus_slot *slot;
	GHashTable *results; /* job path -> result, of all jobs that ended since */
} GbeJobs;

/* @timeout_ms: for one call. GBE_ERROR_CANNOT_TELL without systemd. */
bool gbe_jobs_open(guint timeout_ms, GbeJobs **ret_jobs, GError **error) GBE_CHECKED;
void gbe_jobs_free(GbeJobs *jobs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeJobs, gbe_jobs_free)

/* Waits at most @timeout_ms for the end of @job. *ret_result: systemd's word ("done", "failed", "dependency", ...),
 * owned by @jobs; NULL: the job still runs. GBE_ERROR_CANNOT_TELL: systemd is gone. */
bool gbe_jobs_wait(GbeJobs *jobs, const char *job, guint timeout_ms, const char **ret_result,
		   GError **error) GBE_CHECKED;

/* Calls @method ("StopUnit") for @unit and waits for the end of the job. @verb is for messages. GBE_ERROR_FAILED:
 * the job failed, or it has not ended within @timeout_ms and goes on. */
bool gbe_jobs_run(GbeJobs *jobs, const char *method, const char *verb, const char *unit,
		  guint timeout_ms, GError **error) GBE_CHECKED;
