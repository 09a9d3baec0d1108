/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A device without a battery starts in 1970, or when its system was built, until something sets the clock. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Is @now, in seconds since the epoch, a time at which this program can run? Nothing follows from another one. */
bool gbe_clock_is_set(gint64 now);
/* "2026-01-01 00:00 UTC". Newly allocated. */
char *gbe_clock_to_text(gint64 seconds);
