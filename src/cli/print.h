/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Output. Everything goes to stdout through stdio; gbe_print_done() reports whether it was written. Text and
 * JSON come from the same objects, so they cannot differ.
 */
#pragma once

#include "app/backups/verify.h"
#include "base/auto.h"
#include "cli/verb.h"
#include "core/record/fields.h"

#include <json-glib/json-glib.h>

/* Print pretty JSON and a newline. The caller keeps its reference. */
void gbe_print_object(JsonObject *object);
void gbe_print_array(JsonArray *array);
/* As gbe_print_object(), with "schema" in it. */
void gbe_print_answer(const GbeField *fields, const void *answer);
/* An array of them. */
void gbe_print_answers(const GbeField *fields, const GPtrArray *answers);

/* Was JSON printed? There is only one object or array in the output of a command. */
bool gbe_print_has_json(void);

void gbe_print(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* "       Label: text". An empty label continues the field before. */
void gbe_print_field(const char *label, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The same, as status prints it: "  Label      text". */
void gbe_print_entry(const char *label, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* A member of an answer and the label of its line in the text: one entry, so a value cannot stand under another label. */
typedef struct {
	const char *key, *label; /* label NULL: only in the JSON */
	enum { GBE_LABEL_PLAIN, GBE_LABEL_TIME, GBE_LABEL_SIZE } kind;
} GbeLabel;

/* Prints the member as a field. Skips an absent or null member, and a flag that is not set. */
void gbe_print_label(const GbeLabel *label, JsonObject *object);
/* A member in words, newly allocated: "yes" or "no", a number, a text; "-" for null. */
char *gbe_print_value(JsonNode *node);

/* From now on text fits a terminal: lines are folded at its width, 80 columns at least, and a table leaves empty columns
 * out. @backups (newest first) are shown as in `list`: an automatic name as @N, one that a person gave cut to what is
 * unique. @deployments (of GbeDeploymentName, or NULL) are shown by name; other checksums and run ids are cut. If stdout
 * is not a terminal, nothing changes. */
void gbe_print_fit(const char *const *backups, GPtrArray *deployments);

typedef enum { GBE_PLAIN, GBE_BOLD, GBE_GREEN, GBE_YELLOW, GBE_RED } GbeColour;

/* The colour of what is printed from now on: on a terminal, without NO_COLOR and unless TERM is dumb. */
void gbe_print_colour(GbeColour colour);

/* A table: rows of cells. Columns are as wide as needed; the last one is not padded. */
typedef struct GbeTable GbeTable;
GbeTable *gbe_table_new(const char *const *titles);
/* @cells: as many as there are titles. NULL prints "-". */
void gbe_table_add(GbeTable *table, const char *const *cells);
/* The colour of the row added last. */
void gbe_table_paint(GbeTable *table, GbeColour colour);
void gbe_table_print(GbeTable *table);
void gbe_table_free(GbeTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeTable, gbe_table_free)

/* Local time, to the minute. "-" for 0 and below. Newly allocated. */
char *gbe_text_time(gint64 seconds);
/* The same for people: "today 09:46", "21 Nov 18:02", or with the year where that is another one. */
char *gbe_text_when(gint64 seconds);

/* Prints the backups, or snapshots of a store, that retention removed or would remove. @removed: of GbeByHandRemoval. */
void gbe_print_removed(const GbeCli *cli, const GPtrArray *removed, bool dry_run);

/* Prints @text (static) before the output of a verb that succeeds or prints something. */
void gbe_print_heading(const char *text);

/* Flushes stdout. GBE_ERROR_FAILED where any output could not be written. */
bool gbe_print_done(GError **error) GBE_CHECKED;

/* ---- a snapshot file, in etcdctl's terms (print-snapshot.c) ---- */

JsonObject *gbe_snapshot_json(const GbeVerification *verification);
/* Prints it as JSON or text. */
void gbe_print_snapshot(const GbeCli *cli, const GbeVerification *verification);
/* Of a file that was just written: adds path, size, SHA-256 and the command that copies it to another machine to
 * @object; NULL: prints them as text. A failure is reported, and the file stays. */
void gbe_print_snapshot_file(const GbeCli *cli, const char *path, JsonObject *object);

/* ---- long work (progress.c): a line on the terminal shows the progress. Ctrl-C, SIGTERM or SIGHUP ends the work in
 * order, so that nothing half done is left. ---- */

/* @what: e.g. "received". From now on signals are handled. */
void gbe_progress_begin(const GbeCli *cli, const char *what);
/* @done and @total in bytes; @total 0: not known. False: a signal asks for the end. */
bool gbe_progress_step(guint64 done, guint64 total, gpointer data);
/* Wipes the line. */
void gbe_progress_end(void);
