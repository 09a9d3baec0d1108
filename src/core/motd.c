/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/motd.h"

#include <stdbool.h>
#include <string.h>

#define PREFIX "greenboot-etcd: "
#define CUT "..."
#define STATUS "greenboot-etcd status"

/* Appends as many words of @text as fit into the line that has @used columns. Returns the rest. A word that fits into no
 * line is cut, and its end is lost. */
static const char *
add_words(GString *line, const char *text, glong used)
{
	bool first = true;

	while (*text != '\0') {
		gsize length = strcspn(text, " ");
		glong columns = g_utf8_strlen(text, (gssize)length);

		if (used + (first ? 0 : 1) + columns > GBE_MOTD_COLUMNS) {
			const char *end;

			if (!first)
				return text;
			end = g_utf8_offset_to_pointer(text, GBE_MOTD_COLUMNS - used -
								 (glong)strlen(CUT));
			g_string_append_len(line, text, end - text);
			g_string_append(line, CUT);
			return text + length + strspn(text + length, " ");
		}
		g_string_append(line, first ? "" : " ");
		g_string_append_len(line, text, (gssize)length);
		used += columns + (first ? 0 : 1);
		text += length + strspn(text + length, " ");
		first = false;
	}
	return text;
}

/* Cuts the last line of @text to make room for the mark that something is missing. */
static void
mark_cut(GString *text)
{
	const char *newline = strrchr(text->str, '\n');
	const char *line = newline != NULL ? newline + 1 : text->str;
	glong columns = g_utf8_strlen(line, -1);
	glong most = GBE_MOTD_COLUMNS - (glong)strlen(CUT);

	if (g_str_has_suffix(line, CUT))
		return;
	if (columns > most)
		g_string_truncate(text, (gsize)(g_utf8_offset_to_pointer(line, most) - text->str));
	g_string_append(text, CUT);
}

static void
add_problem(GString *text, const char *problem, guint lines)
{
	g_autofree char *valid = g_utf8_make_valid(problem, -1);
	const char *rest;

	g_string_append(text, PREFIX);
	rest = add_words(text, valid, (glong)strlen(PREFIX));
	for (guint line = 1; line < lines && *rest != '\0'; line++) {
		g_string_append(text, "\n  ");
		rest = add_words(text, rest, 2);
	}
	if (*rest != '\0')
		mark_cut(text);
	g_string_append_c(text, '\n');
}

char *
gbe_motd_text(const GPtrArray *problems, const char *command)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *last = NULL;

	if (problems->len == 0)
		return g_strdup("");
	/* One problem may have two lines. */
	for (guint i = 0; i < MIN(problems->len, GBE_MOTD_LINES - 1); i++)
		add_problem(text, problems->pdata[i], problems->len == 1 ? GBE_MOTD_LINES - 1 : 1);
	if (problems->len > GBE_MOTD_LINES - 1)
		last = g_strdup_printf("  %u more; run `" STATUS "`",
				       problems->len - (GBE_MOTD_LINES - 1));
	else if (command != NULL)
		last = g_strdup_printf("  Run `%s`", command);
	if (last == NULL || g_utf8_strlen(last, -1) > GBE_MOTD_COLUMNS) {
		g_free(last);
		last = g_strdup("  Run `" STATUS "`");
	}
	g_string_append_printf(text, "%s\n", last);
	return g_string_free(g_steal_pointer(&text), false);
}
