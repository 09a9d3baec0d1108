/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names in one directory. Nothing is changed. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <glib.h>

/* All but "." and "..", in no order; *ret_names owns them. @dir_fd: open for reading or a path alone; where it stands does
 * not matter. @what: as people know it. A list of which the end could not be read is an error, never a shorter one. */
bool gbe_list_at(int dir_fd, const char *what, GPtrArray **ret_names, GError **error) GBE_CHECKED;
