/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/version.h"

#include <stdbool.h>
#include <string.h>

/* The digits of a version's number. A longer number is no version. */
#define DIGITS_MAX 6

static bool
number_take(const char **cursor, guint *ret_value)
{
	const char *p = *cursor;
	guint value = 0;

	while (g_ascii_isdigit(*p) && p - *cursor < DIGITS_MAX)
		value = value * 10 + (guint)(*p++ - '0');
	if (p == *cursor)
		return false;
	*cursor = p;
	*ret_value = value;
	return true;
}

GbeVersion
gbe_version_parse(const char *text)
{
	GbeVersion unknown = {0}, version = {0};
	const char *p = text;

	if (text == NULL)
		return unknown;
	while (g_ascii_isspace(*p))
		p++;
	if (*p == 'v')
		p++;
	if (!number_take(&p, &version.major) || *p++ != '.' || !number_take(&p, &version.minor))
		return unknown;
	/* X.Y may be followed by a patch level, a pre-release or a build: "3.5x" is no version. */
	if (*p != '\0' && !g_ascii_isspace(*p) && strchr(".-+~", *p) == NULL)
		return unknown;
	version.known = true;
	return version;
}

int
gbe_version_compare(GbeVersion a, GbeVersion b)
{
	if (a.major != b.major)
		return a.major > b.major ? 1 : -1;
	return (a.minor > b.minor) - (a.minor < b.minor);
}

GbeTri
gbe_version_above(GbeVersion a, GbeVersion b)
{
	if (!a.known || !b.known)
		return GBE_UNKNOWN;
	return gbe_tri(gbe_version_compare(a, b) > 0);
}
