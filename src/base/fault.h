/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fault points: named places between two effects, where a test kills the program, lets it fail or lets
 * it wait. They exist only in builds with -DGBE_FAULTS (make FAULTS=1, the test build). In other
 * builds the macro does nothing and the environment is not read.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#ifdef GBE_FAULTS
/*
 * GREENBOOT_ETCD_FAULT="name=kill", or "=abort", "=stop", "=hang" or an errno's name ("name=EIO").
 * Commas separate several. The point acts at its first pass; "name@3=kill" acts at the third.
 * GREENBOOT_ETCD_FAULT_TRACE prints each pass to stderr as "fault-point NAME PASS".
 * A name is "<module>-<what has just been done>", e.g. "restore-exchanged".
 *
 * Returns true and sets @error when the point is to fail. "kill" and "abort" end the process.
 */
bool gbe_fault_hit(const char *name, GError **error);
#define GBE_FAULT(name, error) gbe_fault_hit((name), (error))
#else
#define GBE_FAULT(name, error) ((void)(error), false)
#endif
