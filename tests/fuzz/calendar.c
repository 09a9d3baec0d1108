/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/fuzz.h"

#include <string.h>

#include "core/calendar.h"

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_autofree char *text = g_strndup(size > 0 ? (const char *)bytes : "", size);

	/* What it takes is one line of a unit, and nothing else. */
	if (gbe_calendar_valid(text) && strpbrk(text, "\n\r\\%\"'") != NULL)
		fuzz_fail("\"%s\"", text);
	return 0;
}
