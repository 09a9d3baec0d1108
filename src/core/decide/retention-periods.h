/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Retention by the hour and by the day, as in etcd-manager: the first backup of each period stays. Unlike
 * etcd-manager, this counts the newest periods that have a backup, and no age: a clock that jumps removes
 * nothing. A time that no clock gave counts as a period of its own: it is from before etcd 3, or undated
 * (core/snapshot/name.h).
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
	gint64 time; /* seconds since the epoch */
	bool undated;
	bool keep; /* the result */
} GbePeriodPoint;

/* @points: in the order in which they were made, the oldest first. Sets ->keep of the newest point, of those made
 * within an hour before it, of the first of each of the newest @hourly hours, and the same for the newest @daily
 * days. */
void gbe_retention_periods(GbePeriodPoint *points, gsize n, guint hourly, guint daily);
