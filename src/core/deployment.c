/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/deployment.h"

#include <string.h>

/* A person needs this many digits to tell two commits apart. */
#define SHORT_CHECKSUM_LEN 12
/* ostree keeps the serial in an int. */
#define SERIAL_MAX G_MAXINT

bool
gbe_deployment_id_parse(const char *id, char **ret_stateroot, const char **ret_checksum,
			guint *ret_serial)
{
	const char *dot, *checksum;
	guint64 serial;
	gsize len;

	if (id == NULL || strlen(id) > 255)
		return false;
	dot = strrchr(id, '.');
	if (dot == NULL || (dot[1] == '0' && dot[2] != '\0') ||
	    !g_ascii_string_to_unsigned(dot + 1, 10, 0, SERIAL_MAX, &serial, NULL))
		return false;
	/* The checksum ends at the last dot and begins 64 digits before it, whatever the stateroot holds. */
	if (dot - id < GBE_CHECKSUM_LEN + 2)
		return false;
	checksum = dot - GBE_CHECKSUM_LEN;
	len = (gsize)(checksum - id) - 1;
	if (id[len] != '-' || strspn(checksum, "0123456789abcdef") != GBE_CHECKSUM_LEN)
		return false;
	/* A stateroot that begins with a dot would make a backup look like an unfinished one (".partial-"). */
	if (id[0] == '.' || !g_utf8_validate(id, (gssize)len, NULL))
		return false;
	for (gsize i = 0; i < len; i++)
		if (id[i] == '/' || g_ascii_iscntrl(id[i]))
			return false;
	if (ret_stateroot != NULL)
		*ret_stateroot = g_strndup(id, len);
	if (ret_checksum != NULL)
		*ret_checksum = checksum;
	if (ret_serial != NULL)
		*ret_serial = (guint)serial;
	return true;
}

char *
gbe_deployment_id_format(const char *stateroot, const char *checksum, guint serial)
{
	return g_strdup_printf("%s-%s.%u", stateroot, checksum, serial);
}

char *
gbe_deployment_id_short(const char *id)
{
	g_autofree char *stateroot = NULL;
	const char *checksum;
	guint serial;

	if (!gbe_deployment_id_parse(id, &stateroot, &checksum, &serial))
		return g_strdup(id);
	return g_strdup_printf("%s-%.*s.%u", stateroot, SHORT_CHECKSUM_LEN, checksum, serial);
}

bool
gbe_deployment_same(const GbeDeployment *a, const GbeDeployment *b)
{
	if (a->id == NULL || b->id == NULL || !g_str_equal(a->id, b->id))
		return false;
	return gbe_deployment_same_directory(a, b) != GBE_NO;
}

GbeTri
gbe_deployment_same_directory(const GbeDeployment *a, const GbeDeployment *b)
{
	const char *end_a = a->handle != NULL ? strrchr(a->handle, ':') : NULL;
	const char *end_b = b->handle != NULL ? strrchr(b->handle, ':') : NULL;

	if (end_a == NULL || end_b == NULL || end_a - a->handle != end_b - b->handle ||
	    strncmp(a->handle, b->handle, (gsize)(end_a - a->handle)) != 0)
		return GBE_UNKNOWN;
	return gbe_tri(g_str_equal(end_a, end_b));
}

bool
gbe_deployment_same_commit(const char *id_a, const char *id_b)
{
	const char *a, *b;

	return gbe_deployment_id_parse(id_a, NULL, &a, NULL) &&
	       gbe_deployment_id_parse(id_b, NULL, &b, NULL) &&
	       strncmp(a, b, GBE_CHECKSUM_LEN) == 0;
}

void
gbe_deployment_copy(GbeDeployment *to, const GbeDeployment *from)
{
	GbeDeployment copy = {g_strdup(from->id), g_strdup(from->handle)};

	gbe_deployment_clear(to);
	*to = copy;
}

void
gbe_deployment_clear(GbeDeployment *deployment)
{
	g_clear_pointer(&deployment->id, g_free);
	g_clear_pointer(&deployment->handle, g_free);
}

void
gbe_listed_free(GbeListed *listed)
{
	if (listed == NULL)
		return;
	gbe_deployment_clear(&listed->ref);
	g_free(listed->unlocked);
	g_free(listed->version);
	g_free(listed);
}
