/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/print.h"

#include "base/error.h"
#include "core/record.h"
#include "core/shown.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LABEL_WIDTH 12

static void
print_node(JsonNode *node)
{
	g_autoptr(JsonGenerator) generator = json_generator_new();
	g_autofree char *text = NULL;
	g_autofree char *shown = NULL;

	json_generator_set_pretty(generator, TRUE);
	json_generator_set_indent(generator, 2);
	json_generator_set_root(generator, node);
	text = json_generator_to_data(generator, NULL);
	shown = gbe_shown_json(text);
	gbe_print("%s\n", shown);
}

void
gbe_print_object(JsonObject *object)
{
	g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

	print_node(node);
}

void
gbe_print_array(JsonArray *array)
{
	g_autoptr(JsonNode) node = json_node_init_array(json_node_alloc(), array);

	print_node(node);
}

static void
put(const char *text)
{
	g_autofree char *clean = gbe_shown_text(text);

	/* The stream remembers a failure; gbe_print_done() asks it. */
	(void)fputs(clean, stdout);
}

void
gbe_print(const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	put(text);
}

void
gbe_print_field(const char *label, const char *format, ...)
{
	g_autofree char *text = NULL;
	g_autofree char *line = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	line = g_strdup_printf("%*s%s %s\n", LABEL_WIDTH, label, *label != '\0' ? ":" : " ", text);
	put(line);
}

struct GbeTable {
	guint columns;
	GPtrArray *cells; /* of char *, row by row */
};

GbeTable *
gbe_table_new(const char *const *titles)
{
	GbeTable *table = g_new0(GbeTable, 1);

	table->columns = g_strv_length((char **)titles);
	table->cells = g_ptr_array_new_with_free_func(g_free);
	gbe_table_add(table, titles);
	return table;
}

void
gbe_table_add(GbeTable *table, const char *const *cells)
{
	for (guint i = 0; i < table->columns; i++)
		g_ptr_array_add(table->cells, g_strdup(cells[i] != NULL ? cells[i] : "-"));
}

void
gbe_table_print(GbeTable *table)
{
	guint rows = table->cells->len / table->columns;
	g_autofree glong *widths = g_new0(glong, table->columns);

	for (guint i = 0; i < table->cells->len; i++) {
		glong width = g_utf8_strlen(table->cells->pdata[i], -1);

		if (width > widths[i % table->columns])
			widths[i % table->columns] = width;
	}
	for (guint row = 0; row < rows; row++) {
		g_autoptr(GString) line = g_string_new(NULL);

		for (guint column = 0; column < table->columns; column++) {
			const char *cell = table->cells->pdata[row * table->columns + column];
			glong pad = widths[column] - g_utf8_strlen(cell, -1);

			g_string_append(line, cell);
			if (column + 1 < table->columns)
				g_string_append_printf(line, "%*s", (int)pad + 2, "");
		}
		g_string_append_c(line, '\n');
		put(line->str);
	}
}

void
gbe_table_free(GbeTable *table)
{
	if (table == NULL)
		return;
	g_ptr_array_unref(table->cells);
	g_free(table);
}

char *
gbe_text_time(gint64 seconds)
{
	g_autoptr(GDateTime) time = seconds > 0 ? g_date_time_new_from_unix_local(seconds) : NULL;

	return time != NULL ? g_date_time_format(time, "%Y-%m-%d %H:%M") : g_strdup("-");
}

static gboolean
is_null(JsonObject *object, const char *key)
{
	return !json_object_has_member(object, key) || json_object_get_null_member(object, key);
}

const char *
gbe_text_tri(JsonObject *object, const char *key)
{
	if (is_null(object, key))
		return "unknown";
	return gbe_json_bool(object, key, FALSE) ? "yes" : "no";
}

gint64
gbe_json_known(JsonObject *object, const char *key)
{
	return is_null(object, key) ? -1 : gbe_json_int(object, key, -1);
}

bool
gbe_print_done(GError **error)
{
	errno = 0;
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return true;
	return gbe_throw(error, GBE_ERROR_FAILED, "the output could not be written: %s",
			 errno != 0 ? g_strerror(errno) : "write error");
}
