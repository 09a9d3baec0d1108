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

/* A cluster version is never above that of the server which wrote it, so the server's is used when the data tells
 * none. */
static GbeVersion
version_of_data(const GbeRehearseVersions *versions)
{
	GbeVersion data = versions->cluster;

	if (!data.known || gbe_version_above(versions->storage, data) == GBE_YES)
		data = versions->storage;
	return data.known ? data : versions->server;
}

GbeTri
gbe_rehearse_starts(const GbeRehearseVersions *versions, char **ret_why)
{
	GbeVersion update = versions->update;
	GbeVersion data = version_of_data(versions);

	*ret_why = NULL;
	if (!update.known || !data.known) {
		*ret_why = g_strdup_printf("cannot determine the version of %s",
					   update.known ? "today's data" : "the update's etcd");
		return GBE_UNKNOWN;
	}
	if (gbe_version_compare(update, data) < 0) {
		*ret_why = g_strdup_printf("etcd %u.%u of the update refuses data of etcd %u.%u; "
					   "stage an update with etcd %u.%u",
					   update.major, update.minor, data.major, data.minor,
					   data.major, data.minor);
		return GBE_NO;
	}
	if (update.major != data.major) {
		*ret_why = g_strdup_printf("whether etcd %u.%u starts on data of etcd %u.%u is not "
					   "known",
					   update.major, update.minor, data.major, data.minor);
		return GBE_UNKNOWN;
	}
	if (update.minor - data.minor <= 1)
		return GBE_YES;
	*ret_why = g_strdup_printf("from etcd %u.%u to %u.%u a minor is left out, which etcd does "
				   "not support; boot an update with etcd %u.%u first",
				   data.major, data.minor, update.major, update.minor, data.major,
				   data.minor + 1);
	return GBE_NO;
}

GbeTri
gbe_rehearse_goes_back(const GbeRehearseVersions *versions, char **ret_why)
{
	GbeVersion update = versions->update;
	GbeVersion today = versions->server.known ? versions->server : version_of_data(versions);

	*ret_why = NULL;
	if (!update.known || !today.known) {
		*ret_why = g_strdup_printf("cannot determine the version of %s",
					   update.known ? "today's etcd" : "the update's etcd");
		return GBE_UNKNOWN;
	}
	if (gbe_version_compare(update, today) <= 0)
		return GBE_YES;
	*ret_why = g_strdup_printf("etcd %u.%u refuses data that etcd %u.%u has used; a rollback "
				   "restores the backup from before the update",
				   today.major, today.minor, update.major, update.minor);
	return GBE_NO;
}
