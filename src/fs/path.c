/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/open.h"

#include <limits.h>
#include <string.h>

static bool
is_plain(const char *at, gsize len)
{
	if (len > 1)
		return true;
	return (guchar)*at >= 0x20 && *at != 0x7f && *at != '\\';
}

char *
gbe_path_to_text(const char *path)
{
	GString *text = g_string_sized_new(strlen(path) + 1);

	for (const char *at = path; *at != '\0';) {
		gunichar c = g_utf8_get_char_validated(at, -1);
		bool valid = c != (gunichar)-1 && c != (gunichar)-2;
		gsize len = valid ? (gsize)(g_utf8_next_char(at) - at) : 1;

		/* U+0080 to U+009F steer terminals as the bytes below 0x20 do. */
		if (valid && is_plain(at, len) && !(c >= 0x80 && c < 0xa0))
			g_string_append_len(text, at, (gssize)len);
		else if (*at == '\\')
			g_string_append(text, "\\\\");
		else
			for (gsize i = 0; i < len; i++)
				g_string_append_printf(text, "\\x%02x", (guchar)at[i]);
		at += len;
	}
	return g_string_free(text, FALSE);
}

bool
gbe_path_split(const char *path, char **ret_parent, char **ret_name, GError **error)
{
	gsize end = strlen(path);
	gsize start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	if (start == end || (end - start == 1 && path[start] == '.') ||
	    (end - start == 2 && path[start] == '.' && path[start + 1] == '.')) {
		g_autofree char *text = gbe_path_to_text(path);

		return gbe_throw(error, GBE_ERROR_USAGE, "the path %s has no last name", text);
	}
	*ret_parent = start == 0 ? g_strdup(".") : g_strndup(path, start);
	*ret_name = g_strndup(path + start, end - start);
	return true;
}

bool
gbe_path_normalize(const char *path, const char *what, char **ret_path, GError **error)
{
	g_autofree char *text = gbe_path_to_text(path);
	g_auto(GStrv) names = NULL;
	g_autoptr(GString) folded = g_string_new(NULL);

	if (path[0] != '/')
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "%s: \"%s\" is not an absolute path (it must begin with /)", what,
				 text);
	if (strlen(path) >= PATH_MAX)
		return gbe_throw(error, GBE_ERROR_USAGE, "%s: the path is longer than %d bytes",
				 what, PATH_MAX - 1);
	/* Paths are written into JSON records and into one-line messages. */
	for (const char *at = path; *at != '\0'; at++)
		if ((guchar)*at < 0x20 || *at == 0x7f)
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "%s: \"%s\" holds a control character", what, text);
	if (!g_utf8_validate(path, -1, NULL))
		return gbe_throw(error, GBE_ERROR_USAGE, "%s: \"%s\" is not UTF-8", what, text);

	names = g_strsplit(path, "/", -1);
	for (char **name = names; *name != NULL; name++) {
		if (**name == '\0')
			continue;
		if (g_str_equal(*name, ".") || g_str_equal(*name, ".."))
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "%s: \"%s\" holds \"%s\"; write the path without", what,
					 text, *name);
		g_string_append_c(folded, '/');
		g_string_append(folded, *name);
	}
	if (folded->len == 0)
		g_string_append_c(folded, '/');
	*ret_path = g_strdup(folded->str);
	return true;
}
