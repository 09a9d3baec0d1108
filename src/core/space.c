/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/space.h"

#define MINUTE 60
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* The numbers come from file systems, and some file systems report wrong ones. */
static guint64
add_saturated(guint64 a, guint64 b)
{
	return a > G_MAXUINT64 - b ? G_MAXUINT64 : a + b;
}

static guint64
needed(const GbeSpace *space)
{
	return add_saturated(space->would_write, GBE_SPACE_MARGIN);
}

bool
gbe_space_fits(const GbeSpace *space)
{
	return needed(space) <= space->available && space->would_make <= space->inodes;
}

guint64
gbe_space_missing(const GbeSpace *space)
{
	guint64 available = add_saturated(space->available, space->reclaimable);

	return needed(space) <= available ? 0 : needed(space) - available;
}

bool
gbe_space_lets_etcd_start(guint64 free_bytes, guint64 free_inodes, bool running)
{
	guint64 bytes = GBE_SPACE_ETCD_GROWTH + GBE_SPACE_MARGIN;

	if (!running)
		bytes += GBE_SPACE_ETCD_SEGMENT;
	return free_bytes >= bytes && free_inodes >= GBE_SPACE_ETCD_INODES;
}

char *
gbe_size_to_text(guint64 bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	guint unit = 0;
	guint64 whole = bytes, tenths;

	if (bytes < 1024)
		return g_strdup_printf("%u %s", (guint)bytes, bytes == 1 ? "byte" : "bytes");
	while (whole >= 1024 * 1024) {
		whole /= 1024;
		unit++;
	}
	/* In integers: the last digit is cut, so free space is never shown as more than it is. */
	tenths = whole * 10 / 1024;
	return g_strdup_printf("%" G_GUINT64_FORMAT ".%u %s", tenths / 10, (guint)(tenths % 10),
			       units[unit]);
}

static char *
two_units(guint64 big, const char *big_name, guint64 small, const char *small_name)
{
	if (small == 0)
		return g_strdup_printf("%" G_GUINT64_FORMAT " %s", big, big_name);
	return g_strdup_printf("%" G_GUINT64_FORMAT " %s %" G_GUINT64_FORMAT " %s", big, big_name,
			       small, small_name);
}

char *
gbe_duration_to_text(guint64 seconds)
{
	if (seconds < MINUTE)
		return two_units(seconds, "s", 0, NULL);
	if (seconds < HOUR)
		return two_units(seconds / MINUTE, "min", seconds % MINUTE, "s");
	if (seconds < DAY)
		return two_units(seconds / HOUR, "h", seconds % HOUR / MINUTE, "min");
	if (seconds < 2 * DAY)
		return two_units(1, "day", seconds % DAY / HOUR, "h");
	return two_units(seconds / DAY, "days", 0, NULL);
}

char *
gbe_count_to_text(guint64 count, const char *thing)
{
	return g_strdup_printf("%" G_GUINT64_FORMAT " %s%s", count, thing, count == 1 ? "" : "s");
}

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
