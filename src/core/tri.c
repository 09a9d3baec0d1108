/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/tri.h"

const char *
gbe_tri_to_string(GbeTri value)
{
	switch (value) {
	case GBE_NO:
		return "no";
	case GBE_YES:
		return "yes";
	case GBE_UNKNOWN:
	default:
		return "unknown";
	}
}

GbeTri
gbe_tri_from_string(const char *text)
{
	if (g_strcmp0(text, "no") == 0)
		return GBE_NO;
	if (g_strcmp0(text, "yes") == 0)
		return GBE_YES;
	return GBE_UNKNOWN;
}
