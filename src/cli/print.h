/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Output. Everything goes to stdout through stdio; gbe_print_done() says whether it got there. Text and
 * JSON come from the same objects, so that they cannot tell two stories.
 */
#pragma once

#include "base/auto.h"

#include <json-glib/json-glib.h>

/* Pretty JSON and a newline. Take nothing. */
void gbe_print_object(JsonObject *object);
void gbe_print_array(JsonArray *array);

void gbe_print(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* "       Label: text". An empty label goes on with the field before. */
void gbe_print_field(const char *label, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Rows of cells, columns as wide as they need to be; the last one is not padded. */
typedef struct GbeTable GbeTable;
GbeTable *gbe_table_new(const char *const *titles);
/* As many as there are titles; NULL is "-". */
void gbe_table_add(GbeTable *table, const char *const *cells);
void gbe_table_print(GbeTable *table);
void gbe_table_free(GbeTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeTable, gbe_table_free)

/* Local time, to the minute; "-" for 0 and less. Newly allocated. */
char *gbe_text_time(gint64 seconds);
/* "yes", "no"; "unknown" for null. */
const char *gbe_text_tri(JsonObject *object, const char *key);
/* -1 for null. */
gint64 gbe_json_known(JsonObject *object, const char *key);

/* Flushes; GBE_ERROR_FAILED where anything could not be written. */
bool gbe_print_done(GError **error) GBE_CHECKED;
