/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Queries, starts and stops systemd's units over D-Bus (sd-bus, the private or the system bus). Where there is no
 * bus: GBE_ERROR_CANNOT_TELL; no variable GREENBOOT_ETCD_SYSTEMCTL exists for that case. Below --root the caller
 * must not start or stop units.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"

typedef struct {
	char *load_state, *active_state, *sub_state, *unit_file_state;
	char *result;	      /* of a service or scope; NULL for others */
	char *type, *restart; /* of a service: Type= and Restart=; NULL for others */
} GbeUnitState;

void gbe_unit_state_clear(GbeUnitState *state);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeUnitState, gbe_unit_state_clear)
/* Is any of @names in one of @unit's lists of units ("After", "Requires")? UNKNOWN: systemd does not answer. */
GbeTri gbe_unit_names(const char *unit, const char *property, const char *const *names);
bool gbe_unit_query(const char *unit, GbeUnitState *ret_state, GError **error) GBE_CHECKED;
/* Of a service. 0: none, or systemd does not answer. */
pid_t gbe_unit_main_pid(const char *unit);
/* The exit status of a service's main process. -1: it has not ended so, or systemd does not answer. */
int gbe_unit_exit_status(const char *unit);
/* Waits until the job is done. GBE_ERROR_FAILED after @timeout_ms, and the job goes on. */
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
