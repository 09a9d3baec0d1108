/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/calendar.h"

#include <stdbool.h>
#include <string.h>

/* Nobody's schedule is longer. */
#define LENGTH_MAX 255

/* Numbers, ranges and steps with commas between them, or all of it: "*". */
typedef struct {
	guint64 least, most; /* of what was named; of "*": none */
	guint64 reach;	     /* the largest first step behind a number without an end */
} Chain;

static bool
read_number(const char **p, bool fraction, guint64 *ret_number)
{
	guint64 number = 0;
	const char *at = *p;

	for (; g_ascii_isdigit(*at); at++) {
		number = number * 10 + (guint64)(*at - '0');
		if (number > G_MAXUINT32)
			return false;
	}
	if (at == *p)
		return false;
	if (fraction && at[0] == '.' && at[1] != '.') {
		gsize digits = strspn(at + 1, "0123456789");

		if (digits == 0)
			return false;
		at += 1 + digits;
	}
	*p = at;
	*ret_number = number;
	return true;
}

static bool
read_part(const char **p, bool fraction, Chain *chain)
{
	guint64 start, stop = 0, step = 0;
	bool ends;

	if (!read_number(p, fraction, &start))
		return false;
	ends = g_str_has_prefix(*p, "..");
	if (ends) {
		*p += 2;
		if (!read_number(p, fraction, &stop) || stop < start)
			return false;
	}
	if (**p == '/') {
		const char *from = ++*p;

		if (!read_number(p, fraction, &step))
			return false;
		/* Half a second is a step as well. */
		if (strspn(from, "0.") == (gsize)(*p - from))
			return false;
	}
	chain->least = MIN(chain->least, start);
	chain->most = MAX(chain->most, ends ? stop : start);
	if (!ends)
		chain->reach = MAX(chain->reach, start + step);
	return true;
}

static bool
read_chain(const char **p, bool fraction, Chain *ret_chain)
{
	*ret_chain = (Chain){.least = G_MAXUINT64};
	if (**p == '*') {
		++*p;
		return true;
	}
	while (read_part(p, fraction, ret_chain)) {
		if (**p != ',')
			return strchr(" -~:", **p) != NULL;
		++*p;
	}
	return false;
}

static bool
within(const Chain *chain, guint64 least, guint64 most)
{
	return chain->least == G_MAXUINT64 ||
	       (chain->least >= least && chain->most <= most && chain->reach <= most);
}

/* Two digits are of the century that they are likely to be of. */
static bool
is_year(const Chain *chain)
{
	return within(chain, 0, 99) || within(chain, 1970, 2199);
}

static void
skip_blanks(const char **p)
{
	*p += strspn(*p, " ");
}

/* *ret_day: 0 to 6, from Monday on. */
static bool
read_day_name(const char **p, guint *ret_day)
{
	static const char *const days[] = {"monday", "tuesday",	 "wednesday", "thursday",
					   "friday", "saturday", "sunday"};
	gsize length = 0;

	while (g_ascii_isalpha((*p)[length]))
		length++;
	for (guint i = 0; i < G_N_ELEMENTS(days); i++) {
		if ((length != 3 && length != strlen(days[i])) ||
		    g_ascii_strncasecmp(*p, days[i], length) != 0)
			continue;
		*p += length;
		*ret_day = i;
		return true;
	}
	return false;
}

/* "Mon..Wed,Sat"; a comma at the end, and "-" for "..", are systemd's of old. */
static bool
read_days(const char **p)
{
	bool ranged = false;
	guint day = 0, first = 0;

	if (!g_ascii_isalpha(**p))
		return true;
	while (read_day_name(p, &day)) {
		bool dots = g_str_has_prefix(*p, "..");

		if (ranged && day < first)
			return false;
		if (dots || **p == '-') {
			if (ranged)
				return false;
			ranged = true;
			first = day;
			*p += dots ? 2 : 1;
			continue;
		}
		ranged = false;
		if (**p == ',')
			++*p;
		if (**p == '\0' || **p == ' ') {
			skip_blanks(p);
			return true;
		}
	}
	return false;
}

/* [YEAR-]MONTH-DAY, or [YEAR-]MONTH~DAY, counted from the month's end. Nothing, where it is a time. */
static bool
read_date(const char **p)
{
	Chain chains[3];
	const char *at = *p;
	bool from_end = false;
	guint n = 0;

	if (*at == '\0')
		return true;
	for (;;) {
		if (!read_chain(&at, false, &chains[n++]))
			return false;
		if (n == 1 && (*at == '\0' || *at == ':'))
			return true;
		if (*at == '\0' || *at == ' ')
			break;
		/* Nothing is counted from the end but a day. */
		if (n == 3 || from_end || (*at != '-' && *at != '~'))
			return false;
		from_end = *at++ == '~';
	}
	if (n == 1 || !within(&chains[n - 1], 1, 31) || !within(&chains[n - 2], 1, 12) ||
	    (n == 3 && !is_year(&chains[0])))
		return false;
	*p = at;
	skip_blanks(p);
	return true;
}

static bool
read_time(const char **p)
{
	static const guint64 most[] = {23, 59, 59};
	Chain chain;

	if (**p == '\0')
		return true;
	for (guint n = 0; n < G_N_ELEMENTS(most); n++) {
		if (!read_chain(p, n == 2, &chain) || !within(&chain, 0, most[n]))
			return false;
		if (**p == '\0')
			return n > 0;
		if (*(*p)++ != ':')
			return false;
	}
	return false;
}

static bool
is_word(const char *text)
{
	static const char *const words[] = {
	    "minutely", "hourly",    "daily",	   "weekly",	  "monthly",	  "yearly",
	    "annually", "quarterly", "biannually", "bi-annually", "semiannually", "semi-annually"};

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
		if (g_ascii_strcasecmp(text, words[i]) == 0)
			return true;
	return false;
}

/* "@" and seconds: once, which is no schedule, and systemd's all the same. */
static bool
is_moment(const char *text)
{
	guint64 seconds;

	return *text++ == '@' && read_number(&text, false, &seconds) && *text == '\0';
}

/* "UTC", "Europe/Berlin". */
static bool
is_zone(const char *text)
{
	const char *at = text;
	guint day;

	return !(read_day_name(&at, &day) && *at == '\0') && g_ascii_isalpha(*text) &&
	       text[strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "/_+-")] == '\0';
}

gboolean
gbe_calendar_valid(const char *text)
{
	g_autofree char *copy = NULL;
	char *zone;
	const char *at;

	if (strlen(text) > LENGTH_MAX)
		return FALSE;
	copy = g_strdup(text);
	zone = strrchr(copy, ' ');
	if (zone != NULL && is_zone(zone + 1))
		*zone = '\0';
	at = copy;
	if (*at == '\0')
		return FALSE;
	return is_word(at) || is_moment(at) ||
	       (read_days(&at) && read_date(&at) && read_time(&at) && *at == '\0');
}
