/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tar archive in memory, POSIX.1-1988 ("ustar"): regular files of root's, mode 0600. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <glib.h>

#define GBE_USTAR_NAME_MAX 100
#define GBE_USTAR_SIZE_MAX G_GUINT64_CONSTANT(077777777777)

/* @mtime: seconds since the epoch. GBE_ERROR_UNSUPPORTED where name, size or time have no room in a
 * header; @archive is as it was then. */
bool gbe_ustar_add(GByteArray *archive, const char *name, const void *bytes, gsize size,
		   gint64 mtime, GError **error) GBE_CHECKED;
/* Two empty blocks: nothing may come after them. */
void gbe_ustar_end(GByteArray *archive);
