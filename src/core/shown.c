/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdbool.h>

#include "core/shown.h"

/* U+061C, U+200E and U+200F mark a direction; the others embed, override and isolate. */
static bool
is_bidi(gunichar c)
{
	return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

static char *
replace(const char *text, const char *kept, char instead)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	GString *shown = g_string_new(NULL);

	for (const char *at = valid; *at != '\0'; at = g_utf8_next_char(at)) {
		gunichar c = g_utf8_get_char(at);

		if ((g_unichar_iscntrl(c) && g_utf8_strchr(kept, -1, c) == NULL) || is_bidi(c))
			g_string_append_c(shown, instead);
		else
			g_string_append_unichar(shown, c);
	}
	return g_string_free(shown, false);
}

char *
gbe_shown_text(const char *text)
{
	return replace(text, "\n\t", '?');
}

char *
gbe_shown_line(const char *text)
{
	return replace(text, "", ' ');
}

char *
gbe_shown_json(const char *json)
{
	GString *shown = g_string_new(NULL);

	for (const char *at = json; *at != '\0'; at = g_utf8_next_char(at)) {
		gunichar c = g_utf8_get_char(at);

		if ((g_unichar_iscntrl(c) && c != '\n') || is_bidi(c))
			g_string_append_printf(shown, "\\u%04x", c);
		else
			g_string_append_unichar(shown, c);
	}
	return g_string_free(shown, false);
}

typedef struct {
	JsonObject *object;
	GbeShownMap map;
} Copy;

static void
copy_member(JsonObject *object, const char *key, JsonNode *node, gpointer data)
{
	Copy *copy = data;
	g_autofree char *shown_key = copy->map(NULL, key);
	g_autofree char *text = NULL;

	if (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING) {
		text = copy->map(key, json_node_get_string(node));
		json_object_set_string_member(copy->object, shown_key, text);
	} else {
		json_object_set_member(copy->object, shown_key, gbe_shown_node(node, copy->map));
	}
}

/* Recurses as deep as the objects that the program makes. */
JsonNode *
gbe_shown_node(JsonNode *node, GbeShownMap map)
{
	JsonNode *shown;

	if (JSON_NODE_HOLDS_OBJECT(node)) {
		Copy copy = {json_object_new(), map};

		json_object_foreach_member(json_node_get_object(node), copy_member, &copy);
		shown = json_node_new(JSON_NODE_OBJECT);
		json_node_take_object(shown, copy.object);
	} else if (JSON_NODE_HOLDS_ARRAY(node)) {
		JsonArray *array = json_node_get_array(node);
		JsonArray *to = json_array_new();

		for (guint i = 0; i < json_array_get_length(array); i++)
			json_array_add_element(
			    to, gbe_shown_node(json_array_get_element(array, i), map));
		shown = json_node_new(JSON_NODE_ARRAY);
		json_node_take_array(shown, to);
	} else if (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING) {
		g_autofree char *text = map(NULL, json_node_get_string(node));

		shown = json_node_new(JSON_NODE_VALUE);
		json_node_set_string(shown, text);
	} else {
		shown = json_node_copy(node);
	}
	return shown;
}
