/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The writing half of members.h. */
#include "core/members.h"
#include "core/record.h"
#include "core/take-over.h"

#include <string.h>

char *
gbe_name_to_hex(const char *name)
{
	GString *hex;

	if (g_utf8_validate(name, -1, NULL))
		return NULL;
	hex = g_string_new(NULL);
	for (const char *p = name; *p != '\0'; p++)
		g_string_append_printf(hex, "%02x", (guint)(guchar)*p);
	return g_string_free(hex, FALSE);
}

char *
gbe_hex_to_name(const char *hex)
{
	gsize len = hex != NULL ? strlen(hex) / 2 : 0;
	g_autofree char *name = NULL;

	if (len == 0 || strlen(hex) % 2 != 0)
		return NULL;
	name = g_malloc0(len + 1);
	for (gsize i = 0; i < len; i++) {
		int high = g_ascii_xdigit_value(hex[2 * i]);
		int low = g_ascii_xdigit_value(hex[2 * i + 1]);

		if (high < 0 || low < 0 || high + low == 0)
			return NULL;
		name[i] = (char)(high * 16 + low);
	}
	return g_steal_pointer(&name);
}

/* json_node_copy() shares what is inside. */
static JsonNode *
node_copy(JsonNode *node)
{
	JsonNode *copy;

	if (JSON_NODE_HOLDS_OBJECT(node)) {
		copy = json_node_new(JSON_NODE_OBJECT);
		json_node_take_object(copy, gbe_json_copy_object(json_node_get_object(node)));
		return copy;
	}
	if (JSON_NODE_HOLDS_ARRAY(node)) {
		JsonArray *from = json_node_get_array(node), *to = json_array_new();

		for (guint i = 0; i < json_array_get_length(from); i++)
			json_array_add_element(to, node_copy(json_array_get_element(from, i)));
		copy = json_node_new(JSON_NODE_ARRAY);
		json_node_take_array(copy, to);
		return copy;
	}
	return json_node_copy(node);
}

JsonObject *
gbe_json_copy_object(JsonObject *object)
{
	JsonObject *copy = json_object_new();
	g_autoptr(GList) keys = object != NULL ? json_object_get_members(object) : NULL;

	for (GList *key = keys; key != NULL; key = key->next)
		json_object_set_member(copy, key->data,
				       node_copy(json_object_get_member(object, key->data)));
	return copy;
}

JsonObject *
gbe_json_open_object(JsonObject *object, const char *key)
{
	JsonObject *inner = gbe_json_object(object, key);

	if (inner == NULL) {
		inner = json_object_new();
		json_object_set_object_member(object, key, inner);
	}
	return inner;
}

void
gbe_json_set_tri(JsonObject *object, const char *key, GbeTri tri)
{
	if (tri == GBE_UNKNOWN)
		json_object_set_null_member(object, key);
	else
		json_object_set_boolean_member(object, key, tri == GBE_YES);
}

void
gbe_json_set_known(JsonObject *object, const char *key, gint64 number)
{
	if (number < 0)
		json_object_set_null_member(object, key);
	else
		json_object_set_int_member(object, key, number);
}

void
gbe_json_set_strv(JsonObject *object, const char *key, char *const *strv)
{
	JsonArray *array;

	if (strv == NULL) {
		json_object_set_null_member(object, key);
		return;
	}
	array = json_array_new();
	for (guint i = 0; strv[i] != NULL; i++) {
		g_autofree char *hex = gbe_name_to_hex(strv[i]);
		JsonObject *element;

		if (hex == NULL) {
			json_array_add_string_element(array, strv[i]);
			continue;
		}
		element = json_object_new();
		json_object_set_string_member(element, "hex", hex);
		json_array_add_object_element(array, element);
	}
	json_object_set_array_member(object, key, array);
}

void
gbe_json_set_word(JsonObject *object, const char *key, const char *word, gboolean reads_as)
{
	if (!reads_as || gbe_json_string(object, key, NULL) == NULL)
		json_object_set_string_member(object, key, word);
}

void
gbe_json_set_format(JsonObject *object, guint format, const char *written_by)
{
	json_object_set_int_member(object, "format", MAX(format, GBE_FORMAT));
	gbe_json_set_string(object, "written_by", written_by);
}

void
gbe_json_keep_format(JsonObject *object)
{
	gint64 format = gbe_json_int(object, "format", GBE_FORMAT);

	json_object_set_int_member(object, "format", MAX(format, GBE_FORMAT));
}
