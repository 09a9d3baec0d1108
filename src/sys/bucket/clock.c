/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/bucket/clock.h"

#include <time.h>

static gint64 ahead;

void
gbe_bucket_set_clock(gint64 seconds)
{
	ahead = seconds;
}

/* Takes the place of the C library's for all libraries of the process: the Makefile exports it. */
time_t
time(time_t *ret_time)
{
	time_t now = (time_t)(g_get_real_time() / G_USEC_PER_SEC + ahead);

	if (ret_time != NULL)
		*ret_time = now;
	return now;
}
