/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text that people see. Names, reasons and versions come from etcd and from files, and no terminal must obey them. So
 * the results are valid UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F). Characters that change
 * the direction of the text are also removed. Results are newly allocated.
 */
#pragma once

#include <json-glib/json-glib.h>

/* Keeps newlines and tabs. "?" takes the place of each other such character. */
char *gbe_shown_text(const char *text);
/* One line: a blank takes the place of each such character. */
char *gbe_shown_line(const char *text);
/* For JSON as text. The result says the same, with escapes. */
char *gbe_shown_json(const char *json);

/* Maps one string. @key NULL: the string is itself a key, or an element of an array. Newly allocated. */
typedef char *(*GbeShownMap)(const char *key, const char *text);
/* A copy of @node with every string, and every key, mapped. */
JsonNode *gbe_shown_node(JsonNode *node, GbeShownMap map);
