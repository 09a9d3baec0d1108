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
