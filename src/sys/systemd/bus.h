/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One connection to PID 1, and systemd's jobs over it, from queue to end. Root uses its private socket: before etcd
 * starts and during a shutdown there may be no message bus, and asking for one would start it. Other users go through
 * the system bus.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <systemd/sd-bus.h>

#define GBE_BUS_TIMEOUT_MS 5000

/* GBE_ERROR_CANNOT_TELL where there is no systemd to talk to. Close with gbe_bus_close(). */
bool gbe_bus_open(guint timeout_ms, sd_bus **ret_bus, GError **error) GBE_CHECKED;
void gbe_bus_close(sd_bus **bus);
#define gbe_autobus __attribute__((cleanup(gbe_bus_close)))

/* A string property of @path, newly allocated. */
bool gbe_bus_get_string(sd_bus *bus, const char *path, const char *interface, const char *property,
			char **ret_value, GError **error) GBE_CHECKED;
/* The object of a unit, loaded or not. Calls LoadUnit because GetUnit fails for a unit that is not in memory.
 * LoadState is "not-found" where there is no such unit. */
bool gbe_bus_load_unit(sd_bus *bus, const char *unit, char **ret_path, GError **error) GBE_CHECKED;
/* Sets @error from sd-bus's error; @bus_error may be unset. An unknown unit is GBE_ERROR_NOT_FOUND, a refusal by
 * systemd GBE_ERROR_FAILED, no answer GBE_ERROR_CANNOT_TELL. Always returns false. */
bool gbe_bus_throw(GError **error, int r, const sd_bus_error *bus_error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

#define GBE_SYSTEMD_NAME "org.freedesktop.systemd1"
#define GBE_SYSTEMD_PATH "/org/freedesktop/systemd1"
#define GBE_SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"

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
 * the job failed, or it has not ended within @timeout_ms and continues. */
bool gbe_jobs_run(GbeJobs *jobs, const char *method, const char *verb, const char *unit,
		  guint timeout_ms, GError **error) GBE_CHECKED;
