/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/calendar.h"

#include "base/auto.h"

#include <string.h>

#define MINUTE 60
#define HOUR 3600
#define DAY 86400

static const struct {
	const char *word;
	guint64 seconds;
} words[] = {
    {"minutely", MINUTE},
    {"hourly", HOUR},
    {"daily", DAY},
    {"weekly", 7 * DAY},
    {"monthly", 28 * DAY},
    {"quarterly", 90 * DAY},
    {"semiannually", 181 * DAY},
    {"semi-annually", 181 * DAY},
    {"yearly", 365 * DAY},
    {"annually", 365 * DAY},
};

/* Between two values of a field that counts to @whole, in its own unit. "X/N" comes every N, and once more at the end
 * where N does not divide @whole. Lists and ranges may have neighbours. */
static guint64
gap(const char *field, guint64 whole)
{
	const char *slash = strchr(field, '/');
	guint64 step = 1;

	if (strpbrk(field, "*/,.") == NULL)
		return whole;
	if (slash == NULL || strpbrk(field, ",.") != NULL ||
	    !g_ascii_string_to_unsigned(slash + 1, 10, 1, whole, &step, NULL))
		return 1;
	return whole % step == 0 ? step : whole % step;
}

/* @time: "HH:MM" or "HH:MM:SS". */
static guint64
period_of_time(const char *time)
{
	g_auto(GStrv) fields = g_strsplit(time, ":", 3);
	guint64 hours = gap(fields[0], 24), minutes = gap(fields[1], 60);

	if (fields[2] != NULL && gap(fields[2], 60) < 60)
		return gap(fields[2], 60);
	if (minutes < 60)
		return minutes * MINUTE;
	return hours * HOUR;
}

guint64
gbe_calendar_period(const char *event)
{
	g_auto(GStrv) parts = g_strsplit(event, " ", -1);

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
		if (g_ascii_strcasecmp(parts[0] != NULL ? parts[0] : "", words[i].word) == 0)
			return words[i].seconds;
	for (guint i = 0; parts[i] != NULL; i++)
		if (strchr(parts[i], ':') != NULL)
			return period_of_time(parts[i]);
	return DAY;
}
