/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/snapshot/name.h"

#include <string.h>

#define TIME_FORMAT "%Y-%m-%dT%H:%M:%SZ"
#define TIME_LENGTH 20
#define DIGITS_MAX 15
#define UNDATED ".undated"
/* 9999-12-31T23:59:59Z: after it a year has five digits. */
#define TIME_MAX G_GINT64_CONSTANT(253402300799)

static char *
print_time(gint64 seconds)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(seconds);
	char *text = g_date_time_format(time, TIME_FORMAT);

	/* The C library leaves out the zeros of a year before 1000. */
	if (strlen(text) == TIME_LENGTH)
		return text;
	g_free(text);
	return g_strdup("");
}

bool
gbe_snapshot_name_parse(const char *text, GbeSnapshotName *ret_name)
{
	g_autofree char *prefix = g_strndup(text, TIME_LENGTH);
	g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(prefix, NULL);
	g_autofree char *again = NULL;
	GbeSnapshotName name = {0};
	const char *suffix;
	gsize digits;

	if (time == NULL || strlen(text) < TIME_LENGTH + 2 ||
	    strlen(text) > GBE_SNAPSHOT_NAME_MAX || text[TIME_LENGTH] != '-')
		return false;
	/* Only the spelling of a time that print_time() writes is accepted. */
	name.time = g_date_time_to_unix(time);
	again = print_time(name.time);
	if (!g_str_equal(again, prefix))
		return false;
	suffix = text + TIME_LENGTH + 1;
	if (suffix[strspn(suffix, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._+-")] != '\0')
		return false;
	digits = strspn(suffix, G_CSET_DIGITS);
	if (digits > 0 && digits <= DIGITS_MAX)
		name.sequence = g_ascii_strtoull(suffix, NULL, 10);
	name.undated = g_str_equal(suffix + digits, UNDATED);
	if (ret_name != NULL)
		*ret_name = name;
	return true;
}

char *
gbe_snapshot_name_print(const GbeSnapshotName *name)
{
	g_autofree char *time = print_time(name->time);

	return g_strdup_printf("%s-%06" G_GUINT64_FORMAT "%s", time, name->sequence,
			       name->undated ? UNDATED : "");
}

int
gbe_snapshot_name_compare(const GbeSnapshotName *a, const GbeSnapshotName *b)
{
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

GbeSnapshotName
gbe_snapshot_name_next(const GbeSnapshotName *newest, gint64 now)
{
	GbeSnapshotName next = {.time = CLAMP(now, 0, TIME_MAX), .sequence = 1};

	if (newest == NULL)
		return next;
	next.undated = next.time < newest->time;
	next.time = MAX(next.time, newest->time);
	if (newest->sequence < GBE_SNAPSHOT_SEQUENCE_MAX)
		next.sequence = newest->sequence + 1;
	/* The numbers are used up: the next second begins with 1. */
	else if (next.time == newest->time)
		next.time = MIN(next.time + 1, TIME_MAX);
	return next;
}
