/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sleeps that take half a millisecond of each second. The clock of the program has the rest, so a program that looks again
 * for 30 seconds ends in a moment. For the one source file of a test program.
 */
#pragma once

#include <glib.h>
#include <time.h>
#include <unistd.h>

static gint64 skipped;

void
g_usleep(gulong microseconds)
{
	(void)usleep((useconds_t)(microseconds / 2000));
	skipped += (gint64)microseconds;
}

gint64
g_get_monotonic_time(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (gint64)now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000 + skipped;
}
