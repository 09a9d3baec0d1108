/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/retention-periods.h"

#define HOUR 3600
#define DAY (24 * HOUR)
/* 2016-06-30, etcd 3.0. */
#define FIRST_ETCD_3 1467244800

static bool
dated(const GbePeriodPoint *point)
{
	return point->time >= FIRST_ETCD_3 && !point->undated;
}

static bool
begins(const GbePeriodPoint *points, gsize i, gint64 period)
{
	return i == 0 || !dated(&points[i]) ||
	       points[i].time / period != points[i - 1].time / period;
}

static void
keep_first_of_each(GbePeriodPoint *points, gsize n, gint64 period, guint count)
{
	for (gsize i = n; i > 0 && count > 0; i--)
		if (begins(points, i - 1, period)) {
			points[i - 1].keep = true;
			count--;
		}
}

void
gbe_retention_periods(GbePeriodPoint *points, gsize n, guint hourly, guint daily)
{
	for (gsize i = 0; i < n; i++)
		points[i].keep =
		    i == n - 1 || (dated(&points[i]) && points[n - 1].time - points[i].time < HOUR);
	keep_first_of_each(points, n, HOUR, hourly);
	keep_first_of_each(points, n, DAY, daily);
}
