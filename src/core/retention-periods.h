/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Retention by the hour and by the day, as etcd-manager has it: of each period the first one stays. Unlike
 * there, it is the newest so many periods that have one, and not an age: a clock that jumps removes
 * nothing. A time that no clock told counts as a period of its own: from before there was etcd 3, or undated
 * (snapshot-name.h).
 */
#pragma once

#include <glib.h>

typedef struct {
	gint64 time; /* seconds since the epoch */
	gboolean undated;
	gboolean keep; /* the result */
} GbePeriodPoint;

/* In the order in which they were made, the oldest first. Sets ->keep of each: the newest, whatever was made
 * within an hour before it, the first of each of the newest @hourly hours, and of the newest @daily days. */
void gbe_retention_periods(GbePeriodPoint *points, gsize n, guint hourly, guint daily);
