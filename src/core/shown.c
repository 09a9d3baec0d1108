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

/* Replaces control characters, but for those in @kept, by @instead; 0: by an escape of JSON. */
static char *
replace_controls(const char *text, const char *kept, char instead)
{
	GString *shown = g_string_new(NULL);

	for (const char *at = text; *at != '\0'; at = g_utf8_next_char(at)) {
		gunichar c = g_utf8_get_char(at);
		bool control =
		    (g_unichar_iscntrl(c) && g_utf8_strchr(kept, -1, c) == NULL) || is_bidi(c);

		if (control && instead == 0)
			g_string_append_printf(shown, "\\u%04x", c);
		else if (control)
			g_string_append_c(shown, instead);
		else
			g_string_append_unichar(shown, c);
	}
	return g_string_free(shown, false);
}

char *
gbe_shown_text(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);

	return replace_controls(valid, "\n\t", '?');
}

char *
gbe_shown_line(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);

	return replace_controls(valid, "", ' ');
}

char *
gbe_shown_json(const char *json)
{
	return replace_controls(json, "\n", 0);
}

/* Recurses as deep as the objects that the program makes. */
static JsonNode *
shown_node(JsonNode *node, const char *key, GbeShownMap map)
{
	JsonNode *shown;

	if (JSON_NODE_HOLDS_OBJECT(node)) {
		JsonObject *to = json_object_new();
		JsonObjectIter iter;
		const char *name;
		JsonNode *member;

		json_object_iter_init_ordered(&iter, json_node_get_object(node));
		while (json_object_iter_next_ordered(&iter, &name, &member)) {
			g_autofree char *shown_key = map(NULL, name);

			json_object_set_member(to, shown_key, shown_node(member, name, map));
		}
		shown = json_node_new(JSON_NODE_OBJECT);
		json_node_take_object(shown, to);
	} else if (JSON_NODE_HOLDS_ARRAY(node)) {
		JsonArray *array = json_node_get_array(node);
		JsonArray *to = json_array_new();

		for (guint i = 0; i < json_array_get_length(array); i++)
			json_array_add_element(
			    to, shown_node(json_array_get_element(array, i), NULL, map));
		shown = json_node_new(JSON_NODE_ARRAY);
		json_node_take_array(shown, to);
	} else if (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING) {
		g_autofree char *text = map(key, json_node_get_string(node));

		shown = json_node_new(JSON_NODE_VALUE);
		json_node_set_string(shown, text);
	} else {
		shown = json_node_copy(node);
	}
	return shown;
}

JsonNode *
gbe_shown_node(JsonNode *node, GbeShownMap map)
{
	return shown_node(node, NULL, map);
}
