/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Named fault points: places between two effects where tests kill the program, let it fail or let
 * it wait. They exist only in builds with -DGBE_FAULTS (make FAULTS=1, the test build); in others the
 * macro is nothing and no environment is read.
 *
 * GREENBOOT_ETCD_FAULT="name=kill" | "name=EIO" | "name=stop" | "name=hang"; several by commas;
 * "name@3=kill" acts at the third pass. "list" in the program's own test binary prints all names.
 * A name is "<module>-<what has just been done>", e.g. "restore-exchanged".
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#ifdef GBE_FAULTS
/* True and @error set when the point is to fail; does not return when it is to die. */
bool gbe_fault_hit(const char *name, GError **error);
#define GBE_FAULT(name, error) gbe_fault_hit((name), (error))
#else
#define GBE_FAULT(name, error) ((void)(error), false)
#endif
