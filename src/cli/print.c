/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/print.h"

#include "app/by-hand/by-hand.h"
#include "base/error.h"
#include "base/format.h"
#include "core/backup-name.h"
#include "core/deployment-name.h"
#include "core/json/parse.h"
#include "core/shown.h"
#include "core/space.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LABEL_WIDTH 12
#define ENTRY_WIDTH 10
#define TERMINAL_WIDTH 80
#define TABLE_INDENT 4
#define CHECKSUM_LEN 64
#define CHECKSUM_SHOWN 12
#define RUN_LEN 32
#define RUN_SHOWN 8

static bool json_printed;
static const char *heading; /* NULL: none, or it is printed */
static glong width;	    /* of the terminal; 0: lines are not folded */
static GHashTable *short_names;
static GPtrArray *deployments; /* of GbeDeploymentName; NULL: their ids are cut */

bool
gbe_print_has_json(void)
{
	return json_printed;
}

static void
print_node(JsonNode *node)
{
	g_autofree char *text = gbe_json_to_text(node, true);
	g_autofree char *shown = gbe_shown_json(text);

	json_printed = true;
	gbe_print("%s", shown);
}

void
gbe_print_object(JsonObject *object)
{
	g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

	print_node(node);
}

void
gbe_print_answer(const GbeField *fields, const void *answer)
{
	g_autoptr(JsonObject) object = gbe_fields_answer(fields, answer);

	gbe_print_object(object);
}

void
gbe_print_answers(const GbeField *fields, const GPtrArray *answers)
{
	g_autoptr(JsonArray) array = json_array_new();

	for (guint i = 0; i < answers->len; i++)
		json_array_add_object_element(array, gbe_fields_answer(fields, answers->pdata[i]));
	gbe_print_array(array);
}

void
gbe_print_array(JsonArray *array)
{
	g_autoptr(JsonNode) node = json_node_init_array(json_node_alloc(), array);

	print_node(node);
}

void
gbe_print_fit(const char *const *backups, GPtrArray *names)
{
	struct winsize size = {0};

	if (isatty(STDOUT_FILENO) != 1)
		return;
	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	width = MAX(size.ws_col, TERMINAL_WIDTH);
	short_names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	deployments = names != NULL ? g_ptr_array_ref(names) : NULL;
	for (guint i = 0; backups[i] != NULL; i++) {
		bool given = gbe_backup_name_parse(backups[i], NULL, NULL, NULL) == GBE_NAME_MANUAL;

		g_hash_table_replace(short_names, g_strdup(backups[i]),
				     given ? gbe_backup_name_short(backups[i], backups)
					   : g_strdup_printf("@%u", i + 1));
	}
}

void
gbe_print_colour(GbeColour colour)
{
	static const char *const codes[] = {
	    [GBE_PLAIN] = "\033[0m",   [GBE_BOLD] = "\033[1m", [GBE_GREEN] = "\033[32m",
	    [GBE_YELLOW] = "\033[33m", [GBE_RED] = "\033[31m",
	};
	const char *terminal = g_getenv("TERM"), *never = g_getenv("NO_COLOR");

	if (isatty(STDOUT_FILENO) == 1 && terminal != NULL && !g_str_equal(terminal, "dumb") &&
	    (never == NULL || *never == '\0'))
		(void)fputs(codes[colour], stdout);
}

/* Replaces names of backups, then ids of deployments, and cuts the checksums and run ids that are left. */
static char *
shorten(const char *text)
{
	g_autofree char *named = NULL;
	g_autoptr(GString) full = g_string_new(text);
	GString *shorter = g_string_new(NULL);
	GHashTableIter iter;
	gpointer name, shown;

	g_hash_table_iter_init(&iter, short_names);
	while (g_hash_table_iter_next(&iter, &name, &shown))
		if (!g_str_equal(name, shown))
			gbe_backup_name_replace(full, name, shown);
	named = gbe_deployment_names_in(deployments, full->str);
	for (const char *at = named; *at != '\0';) {
		gsize digits = strspn(at, "0123456789abcdef");

		g_string_append_len(shorter, at,
				    digits == CHECKSUM_LEN ? CHECKSUM_SHOWN
				    : digits == RUN_LEN	   ? RUN_SHOWN
							   : (gssize)digits);
		at += digits;
		if (*at != '\0')
			g_string_append_c(shorter, *at++);
	}
	return g_string_free(shorter, false);
}

/* Appends @line to @text, folded at blanks; the lines after the first begin with @indent blanks. */
static void
fold(GString *text, const char *line, glong indent)
{
	glong used = (glong)strspn(line, " ");
	g_auto(GStrv) words = g_strsplit(line + used, " ", -1);
	bool first = true;

	g_string_append_printf(text, "%*s", (int)used, "");
	for (guint i = 0; words[i] != NULL; i++) {
		glong length = g_utf8_strlen(words[i], -1);

		if (!first && used + 1 + length > width) {
			g_string_append_printf(text, "\n%*s", (int)indent, "");
			used = indent;
			first = true;
		}
		g_string_append_printf(text, "%s%s", first ? "" : " ", words[i]);
		used += length + (first ? 0 : 1);
		first = false;
	}
}

void
gbe_print_heading(const char *text)
{
	heading = text;
}

static void
put_heading(void)
{
	if (heading != NULL)
		(void)fputs(heading, stdout);
	heading = NULL;
}

/* @indent -1: the rest of a folded line is indented two columns more than its beginning. */
static void
put(const char *text, glong indent)
{
	g_autofree char *clean = gbe_shown_text(text);

	if (width > 0 && !json_printed) {
		g_autofree char *cut = shorten(clean);
		g_auto(GStrv) lines = g_strsplit(cut, "\n", -1);
		GString *folded = g_string_new(NULL);

		for (guint i = 0; lines[i] != NULL; i++) {
			g_string_append(folded, i > 0 ? "\n" : "");
			fold(folded, lines[i],
			     indent >= 0 ? indent : (glong)strspn(lines[i], " ") + 2);
		}
		g_free(clean);
		clean = g_string_free(folded, false);
	}
	put_heading();
	/* The stream remembers a failure, and gbe_print_done() checks it. */
	(void)fputs(clean, stdout);
}

void
gbe_print(const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);

	put(text, -1);
}

void
gbe_print_field(const char *label, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);
	g_autofree char *line =
	    g_strdup_printf("%*s%s %s\n", LABEL_WIDTH, label, *label != '\0' ? ":" : " ", text);

	put(line, LABEL_WIDTH + 2);
}

void
gbe_print_entry(const char *label, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);
	g_autofree char *line = g_strdup_printf("  %-*s %s\n", ENTRY_WIDTH, label, text);

	put(line, ENTRY_WIDTH + 3);
}

char *
gbe_print_value(JsonNode *node)
{
	if (node == NULL || !JSON_NODE_HOLDS_VALUE(node))
		return g_strdup("-");
	if (json_node_get_value_type(node) == G_TYPE_BOOLEAN)
		return g_strdup(json_node_get_boolean(node) ? "yes" : "no");
	if (json_node_get_value_type(node) == G_TYPE_STRING)
		return g_strdup(json_node_get_string(node));
	return g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(node));
}

void
gbe_print_label(const GbeLabel *label, JsonObject *object)
{
	JsonNode *node = json_object_get_member(object, label->key);
	g_autofree char *text = NULL;

	if (label->label == NULL || node == NULL || !JSON_NODE_HOLDS_VALUE(node) ||
	    (json_node_get_value_type(node) == G_TYPE_BOOLEAN && !json_node_get_boolean(node)))
		return;
	text = label->kind == GBE_LABEL_TIME   ? gbe_text_time(json_node_get_int(node))
	       : label->kind == GBE_LABEL_SIZE ? gbe_size_to_text((guint64)json_node_get_int(node))
					       : gbe_print_value(node);
	gbe_print_field(label->label, "%s", text);
}

struct GbeTable {
	guint columns;
	GPtrArray *cells; /* of char *, row by row */
	GArray *colours;  /* of GbeColour, one a row */
};

GbeTable *
gbe_table_new(const char *const *titles)
{
	GbeTable *table = g_new0(GbeTable, 1);

	table->columns = g_strv_length((char **)titles);
	table->cells = g_ptr_array_new_with_free_func(g_free);
	table->colours = g_array_new(false, true, sizeof(GbeColour));
	gbe_table_add(table, titles);
	return table;
}

void
gbe_table_add(GbeTable *table, const char *const *cells)
{
	for (guint i = 0; i < table->columns; i++)
		g_ptr_array_add(table->cells, g_strdup(cells[i] != NULL ? cells[i] : "-"));
	g_array_set_size(table->colours, table->colours->len + 1);
}

void
gbe_table_paint(GbeTable *table, GbeColour colour)
{
	g_array_index(table->colours, GbeColour, table->colours->len - 1) = colour;
}

/* The width of a column; 0: it is left out, as it is empty. */
static glong
column_width(const GbeTable *table, guint column)
{
	bool empty = width > 0;
	glong widest = 0;

	for (guint i = column; i < table->cells->len; i += table->columns) {
		widest = MAX(widest, g_utf8_strlen(table->cells->pdata[i], -1));
		empty = empty && (i == column || g_str_equal(table->cells->pdata[i], "-"));
	}
	return empty ? 0 : widest;
}

/* A row that is too wide for the terminal gets a second line, unless that would be empty. */
static void
print_row(const GbeTable *table, guint row, const glong *widths)
{
	g_autoptr(GString) line = g_string_new(NULL);
	glong used = 0, pad = 0;
	bool empty = false;

	for (guint column = 0; column < table->columns; column++) {
		const char *cell = table->cells->pdata[row * table->columns + column];

		if (widths[column] == 0)
			continue;
		if (width > 0 && used > 0 && used + 2 + widths[column] > width) {
			if (!empty) {
				g_string_append_c(line, '\n');
				put(line->str, TABLE_INDENT);
			}
			g_string_printf(line, "%*s", TABLE_INDENT, "");
			used = TABLE_INDENT;
			empty = true;
		} else if (used > 0) {
			g_string_append_printf(line, "%*s", (int)pad + 2, "");
			used += 2;
		}
		empty = empty && g_str_equal(cell, "-");
		g_string_append(line, cell);
		used += widths[column];
		pad = widths[column] - g_utf8_strlen(cell, -1);
	}
	g_string_append_c(line, '\n');
	if (!empty)
		put(line->str, TABLE_INDENT);
}

static void
shorten_cells(GbeTable *table)
{
	for (guint i = 0; width > 0 && i < table->cells->len; i++) {
		char *cell = table->cells->pdata[i];

		table->cells->pdata[i] = shorten(cell);
		g_free(cell);
	}
}

void
gbe_table_print(GbeTable *table)
{
	g_autofree glong *widths = g_new0(glong, table->columns);

	shorten_cells(table);
	for (guint column = 0; column < table->columns; column++)
		widths[column] = column_width(table, column);
	g_array_index(table->colours, GbeColour, 0) = GBE_BOLD;
	for (guint row = 0; row < table->colours->len; row++) {
		GbeColour colour = g_array_index(table->colours, GbeColour, row);

		if (colour != GBE_PLAIN)
			gbe_print_colour(colour);
		print_row(table, row, widths);
		if (colour != GBE_PLAIN)
			gbe_print_colour(GBE_PLAIN);
	}
}

void
gbe_table_free(GbeTable *table)
{
	if (table == NULL)
		return;
	g_ptr_array_unref(table->cells);
	g_array_unref(table->colours);
	g_free(table);
}

char *
gbe_text_time(gint64 seconds)
{
	g_autoptr(GDateTime) time = seconds > 0 ? g_date_time_new_from_unix_local(seconds) : NULL;

	return time != NULL ? g_date_time_format(time, "%Y-%m-%d %H:%M") : g_strdup("-");
}

char *
gbe_text_when(gint64 seconds)
{
	g_autoptr(GDateTime) time = seconds > 0 ? g_date_time_new_from_unix_local(seconds) : NULL;
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	bool this_year;

	if (time == NULL)
		return g_strdup("-");
	this_year = g_date_time_get_year(time) == g_date_time_get_year(now);
	if (this_year && g_date_time_get_day_of_year(time) == g_date_time_get_day_of_year(now))
		return g_date_time_format(time, "today %H:%M");
	return g_date_time_format(time, this_year ? "%-d %b %H:%M" : "%-d %b %Y %H:%M");
}

bool
gbe_print_done(GError **error)
{
	put_heading();
	errno = 0;
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return true;
	return gbe_throw(error, GBE_ERROR_FAILED, "the output could not be written: %s",
			 errno != 0 ? g_strerror(errno) : "write error");
}

typedef struct {
	const GPtrArray *removed;
	bool dry_run;
} Pruned;

static const GbeField removal_fields[] = {
    GBE_FIELD_SET(GbeByHandRemoval, name, "name", TEXT),
    GBE_FIELD_SET(GbeByHandRemoval, reason, "reason", TEXT),
    {0},
};
static const GbeFieldItems removal_items = {removal_fields, sizeof(GbeByHandRemoval)};

const GbeField gbe_prune_fields[] = {
    GBE_FIELD_OF(Pruned, removed, "deleted", LIST, &removal_items, 0),
    GBE_FIELD(Pruned, dry_run, "dry_run", FLAG),
    {0},
};

void
gbe_print_removed(const GbeCli *cli, const GPtrArray *removed, bool dry_run)
{
	if (cli->json) {
		gbe_print_answer(gbe_prune_fields, &(const Pruned){removed, dry_run});
		return;
	}
	for (guint i = 0; i < removed->len && !cli->quiet; i++) {
		const GbeByHandRemoval *removal = removed->pdata[i];

		gbe_print("deleted %s: %s\n", removal->name, removal->reason);
	}
	if (removed->len == 0 && !cli->quiet)
		gbe_print("nothing to remove\n");
}
