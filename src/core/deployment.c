/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/deployment.h"

#include <string.h>

/* A person needs this many digits to tell two commits apart. */
#define SHORT_CHECKSUM_LEN 12
/* ostree keeps the serial in an int. */
#define SERIAL_MAX G_MAXINT

static bool
stateroot_valid(const char *text, gsize len)
{
	/* A stateroot that begins with a dot would make a backup look like an unfinished one (".partial-"). */
	if (len == 0 || text[0] == '.' || !g_utf8_validate(text, (gssize)len, NULL))
		return false;
	for (gsize i = 0; i < len; i++)
		if (text[i] == '/' || g_ascii_iscntrl(text[i]))
			return false;
	return true;
}

static bool
serial_parse(const char *text, guint *ret_serial)
{
	guint64 value = 0;

	if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0'))
		return false;
	for (const char *p = text; *p != '\0'; p++) {
		if (!g_ascii_isdigit(*p))
			return false;
		value = value * 10 + (guint64)(*p - '0');
		if (value > SERIAL_MAX)
			return false;
	}
	*ret_serial = (guint)value;
	return true;
}

/* The checksum ends at the last dot and begins 64 digits before it, whatever the stateroot holds. */
static const char *
checksum_find(const char *id, const char *dot)
{
	const char *checksum;

	if (dot - id < GBE_CHECKSUM_LEN + 2)
		return NULL;
	checksum = dot - GBE_CHECKSUM_LEN;
	for (const char *p = checksum; p < dot; p++)
		if (!g_ascii_isdigit(*p) && (*p < 'a' || *p > 'f'))
			return NULL;
	return checksum[-1] == '-' ? checksum : NULL;
}

bool
gbe_deployment_id_parse(const char *id, char **ret_stateroot, const char **ret_checksum,
			guint *ret_serial)
{
	const char *dot, *checksum;
	guint serial;

	if (id == NULL || strlen(id) > 255)
		return false;
	dot = strrchr(id, '.');
	if (dot == NULL || !serial_parse(dot + 1, &serial))
		return false;
	checksum = checksum_find(id, dot);
	if (checksum == NULL || !stateroot_valid(id, (gsize)(checksum - id) - 1))
		return false;
	if (ret_stateroot != NULL)
		*ret_stateroot = g_strndup(id, (gsize)(checksum - id) - 1);
	if (ret_checksum != NULL)
		*ret_checksum = checksum;
	if (ret_serial != NULL)
		*ret_serial = serial;
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
	g_free(listed);
}
