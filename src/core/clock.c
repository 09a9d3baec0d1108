/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/clock.h"

/* 2026-01-01: every release is younger. */
#define FIRST_RELEASE 1767225600

bool
gbe_clock_is_set(gint64 now)
{
	return now >= FIRST_RELEASE;
}

char *
gbe_clock_to_text(gint64 seconds)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(seconds);

	return time != NULL ? g_date_time_format(time, "%Y-%m-%d %H:%M UTC") : g_strdup("?");
}
