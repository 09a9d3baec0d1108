/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one way in for all JSON that the program reads: json-glib, with limits of size, depth and numbers. All strings
 * are UTF-8 without NUL. Of two equal keys the last one counts. Also the seal of the small files next to the ledger in
 * the state directory, e.g. the remembered configuration.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <json-glib/json-glib.h>

#define GBE_JSON_MAX_SIZE (1024 * 1024)
#define GBE_JSON_MAX_DEPTH 32
/* Of what is for programs: --json and status.json (interface.md). */
#define GBE_SCHEMA 1

/* Parses any bytes; they must be an object. @what names the file in the error (GBE_ERROR_CORRUPT). */
bool gbe_json_parse_object(const char *bytes, gsize size, const char *what, JsonObject **ret_object,
			   GError **error) GBE_CHECKED;
/* Pretty: indented by two blanks, newline at the end. Newly allocated. */
char *gbe_json_print_object(JsonObject *object);
/* The same for any node, pretty or in one line. */
char *gbe_json_to_text(JsonNode *node, bool pretty);
/* The same on one line. */
char *gbe_json_print_line(JsonObject *object);

/* Typed reads that never abort. They give @fallback where the member is absent or of another type. Strings are
 * borrowed from @object. u64 members are decimal numbers below 2^53, hex64 members strings of 16 digits. */
const char *gbe_json_string(JsonObject *object, const char *key, const char *fallback);
gint64 gbe_json_int(JsonObject *object, const char *key, gint64 fallback);
bool gbe_json_bool(JsonObject *object, const char *key, bool fallback);
JsonObject *gbe_json_object(JsonObject *object, const char *key); /* NULL */
JsonArray *gbe_json_array(JsonObject *object, const char *key);	  /* NULL */
/* A new object for programs, with "schema" in it. */
JsonObject *gbe_json_answer(void);
/* NULL writes null. */
void gbe_json_set_string(JsonObject *object, const char *key, const char *value);

/* Turns JSON text into the file: the text and a line "sha256 <hex of everything before it>\n", by which half a file is
 * detected. Newly allocated. */
char *gbe_record_seal(const char *json);
/* Checks the seal and parses. GBE_ERROR_CORRUPT when the seal is missing or wrong. */
bool gbe_record_open(const char *bytes, gsize size, const char *what, JsonObject **ret_object,
		     GError **error) GBE_CHECKED;
