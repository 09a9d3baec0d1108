/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/deployment-name.h"

#include <string.h>

#define CHECKSUM_SHOWN 12
/* As many digits tell two commits of one version apart. */
#define CHECKSUM_ADDED 7

void
gbe_deployment_name_free(GbeDeploymentName *name)
{
	if (name == NULL)
		return;
	g_free(name->id);
	g_free(name->version);
	g_free(name->place);
	g_free(name);
}

/* The value of @key in shell syntax, without quotes, up to its first blank. */
static char *
os_release_value(char *const *lines, const char *key)
{
	gsize length = strlen(key);

	for (guint i = 0; lines[i] != NULL; i++) {
		g_autofree char *value = NULL;

		if (strncmp(lines[i], key, length) != 0 || lines[i][length] != '=')
			continue;
		value = g_shell_unquote(lines[i] + length + 1, NULL);
		if (value == NULL || !g_utf8_validate(value, -1, NULL))
			return NULL;
		value[strcspn(value, " \t")] = '\0';
		return *value != '\0' ? g_steal_pointer(&value) : NULL;
	}
	return NULL;
}

char *
gbe_os_release_version(const char *text)
{
	static const char *const keys[] = {"OSTREE_VERSION", "VERSION", "VERSION_ID"};
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	char *version = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(keys) && version == NULL; i++)
		version = os_release_value(lines, keys[i]);
	return version;
}

static const GbeDeploymentName *
find_name(const GPtrArray *names, const char *id)
{
	for (guint i = 0; names != NULL && i < names->len; i++) {
		const GbeDeploymentName *name = names->pdata[i];

		if (g_strcmp0(name->id, id) == 0)
			return name;
	}
	return NULL;
}

char *
gbe_deployment_name(const GPtrArray *names, const char *id, const char *version)
{
	const GbeDeploymentName *listed = find_name(names, id);
	const char *checksum;
	guint serial = 0;
	bool same_version = false, same_commit = false;
	GString *text;

	if (id == NULL)
		return g_strdup("unknown");
	if (!gbe_deployment_id_parse(id, NULL, &checksum, &serial))
		return g_strdup(id);
	if (listed != NULL && listed->version != NULL)
		version = listed->version;
	for (guint i = 0; names != NULL && i < names->len; i++) {
		const GbeDeploymentName *other = names->pdata[i];

		if (g_strcmp0(other->id, id) == 0)
			continue;
		same_version |= version != NULL && g_strcmp0(other->version, version) == 0;
		same_commit |= gbe_deployment_same_commit(other->id, id);
	}
	text = g_string_new(version);
	if (version == NULL)
		g_string_append_len(text, checksum, CHECKSUM_SHOWN);
	else if (same_version)
		g_string_append_printf(text, "-%.*s", CHECKSUM_ADDED, checksum);
	if (same_commit)
		g_string_append_printf(text, ".%u", serial);
	return g_string_free(text, false);
}

char *
gbe_deployment_name_placed(const GPtrArray *names, const char *id)
{
	const GbeDeploymentName *listed = find_name(names, id);
	g_autofree char *name = gbe_deployment_name(names, id, NULL);

	return listed != NULL && listed->place != NULL
		   ? g_strdup_printf("%s (%s)", name, listed->place)
		   : g_steal_pointer(&name);
}

char *
gbe_deployment_names_in(const GPtrArray *names, const char *text)
{
	g_autoptr(GString) shown = g_string_new(text);

	for (guint i = 0; names != NULL && i < names->len; i++) {
		const char *id = ((const GbeDeploymentName *)names->pdata[i])->id;
		gsize length = strlen(id), from = 0;
		g_autofree char *name = gbe_deployment_name(names, id, NULL);

		for (const char *at; (at = strstr(shown->str + from, id)) != NULL;) {
			gsize begin = (gsize)(at - shown->str);
			bool part = (begin > 0 && (g_ascii_isalnum(at[-1]) || at[-1] == '-')) ||
				    g_ascii_isdigit(at[length]) || at[length] == '_';

			from = begin + length;
			if (part)
				continue;
			g_string_erase(shown, (gssize)begin, (gssize)length);
			g_string_insert(shown, (gssize)begin, name);
			from = begin + strlen(name);
		}
	}
	return g_strdup(shown->str);
}
