/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Unknown is a value. A fact that could not be observed is GBE_UNKNOWN, never the more convenient
 * of the other two. No destructive action follows from GBE_UNKNOWN.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
	GBE_UNKNOWN = 0,
	GBE_NO,
	GBE_YES,
} GbeTri;

static inline GbeTri
gbe_tri(bool value)
{
	return value ? GBE_YES : GBE_NO;
}

/* "unknown", "no", "yes"; static. */
static inline const char *
gbe_tri_to_string(GbeTri value)
{
	return value == GBE_YES ? "yes" : value == GBE_NO ? "no" : "unknown";
}
