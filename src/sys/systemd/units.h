/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Systemd's units over D-Bus: asks for them, starts and stops them, and makes transient ones (StartTransientUnit,
 * org.freedesktop.systemd1(5)). Root uses systemd's private socket: before etcd starts and during a shutdown there may
 * be no message bus, and asking for one would start it. Other users go through the system bus. Without a bus:
 * GBE_ERROR_CANNOT_TELL; no variable GREENBOOT_ETCD_SYSTEMCTL exists for that case. Below --root the caller must not
 * start or stop units.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"
#include "core/units/member-unit.h"

typedef struct {
	char *load_state, *active_state, *sub_state, *unit_file_state;
	char *result;	      /* of a service or scope; NULL for others */
	char *type, *restart; /* of a service: Type= and Restart=; NULL for others */
	guint restarts;	      /* NRestarts of a service: by systemd, since a person's last start */
} GbeUnitState;

void gbe_unit_state_clear(GbeUnitState *state);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeUnitState, gbe_unit_state_clear)
/* Is any of @names in one of @unit's lists of units ("After", "Requires")? UNKNOWN: systemd does not answer. */
GbeTri gbe_unit_names(const char *unit, const char *property, const char *const *names);
bool gbe_unit_query(const char *unit, GbeUnitState *ret_state, GError **error) GBE_CHECKED;
/* Of a service. 0: the process is missing, or systemd does not answer. */
pid_t gbe_unit_main_pid(const char *unit);
/* The exit status of a service's main process. -1: the process has not ended so, or systemd does not answer. */
int gbe_unit_exit_status(const char *unit);
/* Waits until the job is done. GBE_ERROR_FAILED after @timeout_ms, and the job continues. */
bool gbe_unit_stop(const char *unit, guint timeout_ms, GError **error) GBE_CHECKED;
bool gbe_unit_start(const char *unit, guint timeout_ms, GError **error) GBE_CHECKED;
/* Resets the failed state and the count of starts. */
bool gbe_unit_reset_failed(const char *unit, GError **error) GBE_CHECKED;

/* Process 1 of the running system is asked for what only it knows. */

/* Of systemd: 252. 0: unknown. */
guint64 gbe_manager_version(void);
/* 0 where this systemd has no soft reboots. GBE_ERROR_CANNOT_TELL where it does not answer. */
bool gbe_manager_soft_reboots(guint *ret_count, GError **error) GBE_CHECKED;
/* Does the system shut down (or soft-reboot)? Unknown without D-Bus. */
GbeTri gbe_system_stopping(void);

/* One connection to PID 1, and systemd's jobs over it, from queue to end. */
typedef struct GbeJobs GbeJobs;

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

/* Looks for a unit of that name, loaded or not. */
bool gbe_transient_find(GbeJobs *jobs, const char *unit, GbeFoundUnit *ret_found,
			GError **error) GBE_CHECKED;
/* The properties of the unit that etcd is to be bound to. */
typedef struct {
	char *load_state, *active_state;
	bool by_default; /* DefaultDependencies= */
} GbeParentUnit;

void gbe_parent_unit_clear(GbeParentUnit *parent);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeParentUnit, gbe_parent_unit_clear)
bool gbe_transient_parent(GbeJobs *jobs, const char *unit, GbeParentUnit *ret_parent,
			  GError **error) GBE_CHECKED;
/* Makes the unit and queues its start; @properties: "a(sv)", in which a handle is the fd itself. *ret_exists: a unit of
 * that name was made in the meantime (the error also says so). GBE_ERROR_FAILED: systemd refuses, and nothing is left
 * of the unit. */
bool gbe_transient_start(GbeJobs *jobs, const char *unit, GVariant *properties, char **ret_job,
			 bool *ret_exists, GError **error) GBE_CHECKED;
/* Resets a failed unit, so that systemd removes it. */
void gbe_transient_forget(GbeJobs *jobs, const char *unit);
