/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/deployment/grubenv.h"

#include <string.h>

#include "fs/open.h"

#define HEADER "# GRUB Environment Block\n"
/* GRUB makes 1024 bytes; larger files are legal. */
#define MAX_GRUBENV (64 * 1024)

/* Copies the bytes from @from to @to without escapes: the byte after a backslash, also a newline or a backslash,
 * belongs to the value. NULL where a byte cannot be in a C string. */
static char *
unescape(const char *from, const char *to)
{
	GString *value = g_string_sized_new((gsize)(to - from));

	for (; from < to; from++) {
		if (*from == '\\' && from + 1 < to)
			from++;
		if (*from == '\0') {
			(void)g_string_free(value, true);
			return NULL;
		}
		g_string_append_c(value, *from);
	}
	return g_string_free(value, false);
}

/* The end of the line that begins at @at: the first newline without a backslash before it. */
static const char *
line_end(const char *at, const char *end)
{
	while (at < end && *at != '\n')
		at += *at == '\\' && at + 1 < end ? 2 : 1;
	return at;
}

bool
gbe_grubenv_parse(const char *bytes, gsize size, GHashTable **ret_table, GError **error)
{
	g_autoptr(GHashTable) table = NULL;
	const char *end = bytes + size;
	const char *at = bytes + strlen(HEADER);

	if (size < strlen(HEADER) || memcmp(bytes, HEADER, strlen(HEADER)) != 0)
		return gbe_throw(
		    error, GBE_ERROR_CORRUPT,
		    "this is no GRUB environment block: its first line is not \"%.*s\"",
		    (int)strlen(HEADER) - 1, HEADER);
	table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	while (at < end) {
		const char *stop =
		    *at == '#' ? memchr(at, '\n', (gsize)(end - at)) : line_end(at, end);
		const char *equals;
		char *value;

		/* Padding, or a line that was cut off, which GRUB does not take either. */
		if (stop == NULL || stop >= end)
			break;
		equals = *at == '#' ? NULL : memchr(at, '=', (gsize)(stop - at));
		if (equals != NULL && equals > at &&
		    memchr(at, '\0', (gsize)(equals - at)) == NULL) {
			value = unescape(equals + 1, stop);
			if (value != NULL)
				(void)g_hash_table_replace(
				    table, g_strndup(at, (gsize)(equals - at)), value);
		}
		at = stop + 1;
	}
	*ret_table = g_steal_pointer(&table);
	return true;
}

bool
gbe_grubenv_read(int root_fd, GHashTable **ret_table, GError **error)
{
	static const char *const paths[] = {"/boot/grub2/grubenv", "/boot/grub/grubenv"};

	for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
		g_autoptr(GError) local = NULL;
		g_autofree char *bytes = NULL;
		gsize size = 0;

		if (!gbe_read_in_root(root_fd, paths[i], MAX_GRUBENV, &bytes, &size, &local)) {
			if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
				continue;
			return gbe_pass(error, &local);
		}
		if (!gbe_grubenv_parse(bytes, size, ret_table, error))
			return gbe_prefix(error, "%s", paths[i]);
		return true;
	}
	return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no GRUB environment block (%s)",
			 paths[0]);
}
