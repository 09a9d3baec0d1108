/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/unit-name.h"

#include <string.h>

#define LONGEST 255

static const char *const types[] = {".service", ".scope",     ".target", ".socket",
				    ".mount",	".path",      ".timer",	 ".swap",
				    ".device",	".automount", ".slice",	 NULL};

bool
gbe_unit_name_complete(const char *option, const char *text, char **ret_name, GError **error)
{
	g_autofree char *name = NULL;
	bool typed = false;
	const char *dot;

	for (guint i = 0; types[i] != NULL; i++)
		typed = typed || g_str_has_suffix(text, types[i]);
	name = g_strconcat(text, typed ? "" : ".service", NULL);
	dot = strrchr(name, '.');
	/* "a.service" and "a@b.service" are names. */
	if (dot == name || dot[-1] == '@' || name[0] == '@' || strlen(name) > LONGEST ||
	    name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS ":_.\\-@")] != '\0')
		return gbe_throw(error, GBE_ERROR_USAGE, "%s: \"%s\" is not the name of a unit",
				 option, text);
	*ret_name = g_steal_pointer(&name);
	return true;
}

bool
gbe_unit_name_service(const char *option, const char *text, char **ret_name, GError **error)
{
	g_autofree char *name = NULL;

	if (!gbe_unit_name_complete(option, text, &name, error))
		return false;
	if (!g_str_has_suffix(name, ".service"))
		return gbe_throw(error, GBE_ERROR_USAGE, "%s: %s is not the name of a service",
				 option, name);
	*ret_name = g_steal_pointer(&name);
	return true;
}

bool
gbe_unit_is_parent(const char *unit)
{
	return unit != NULL && !g_str_has_suffix(unit, ".slice") &&
	       !g_str_equal(unit, "init.scope") &&
	       !(g_str_has_prefix(unit, "session-") && g_str_has_suffix(unit, ".scope")) &&
	       !(g_str_has_prefix(unit, "user@") && g_str_has_suffix(unit, ".service"));
}

char *
gbe_mount_unit(const char *path)
{
	GString *name = g_string_new(NULL);
	gsize len = strlen(path);

	while (len > 0 && path[len - 1] == '/')
		len--;
	for (gsize i = strspn(path, "/"); i < len; i++) {
		char c = path[i];

		if (c == '/') {
			if (path[i - 1] != '/')
				g_string_append_c(name, '-');
		} else if (g_ascii_isalnum(c) || c == ':' || c == '_' ||
			   (c == '.' && name->len > 0)) {
			g_string_append_c(name, c);
		} else {
			g_string_append_printf(name, "\\x%02x", (guchar)c);
		}
	}
	if (name->len == 0)
		g_string_append_c(name, '-');
	g_string_append(name, ".mount");
	return g_string_free(name, false);
}

char *
gbe_unit_quote(const char *text)
{
	GString *word = g_string_new("\"");

	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			g_string_append_c(word, '\\');
		else if (*text == '%')
			g_string_append_c(word, '%');
		g_string_append_c(word, *text);
	}
	g_string_append_c(word, '"');
	return g_string_free(word, false);
}
