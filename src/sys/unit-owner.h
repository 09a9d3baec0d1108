/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The user that a unit's program runs as (User=, Group=), read from files, so that it is known below --root, too. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* False: the unit names no user, or one that no file knows; the outputs are untouched. Without Group=, the user's own
 * group counts. */
bool gbe_unit_owner(int root_fd, const char *unit, uid_t *ret_uid, gid_t *ret_gid);
