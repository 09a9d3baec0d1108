/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record.h"

#include "core/json-text.h"

#include <string.h>

#define SEAL "sha256 "
/* The word, 64 digits, a newline. */
#define SEAL_LEN (strlen(SEAL) + 64 + 1)

bool
gbe_json_parse_object(const char *bytes, gsize size, const char *what, JsonObject **ret_object,
		      GError **error)
{
	g_autoptr(JsonParser) parser = NULL;
	JsonNode *root;

	if (!gbe_json_text_check(bytes, size, error))
		return gbe_prefix(error, "%s", what);
	parser = json_parser_new();
	if (!json_parser_load_from_data(parser, bytes, (gssize)size, error)) {
		(void)gbe_convert(error, GBE_ERROR_CORRUPT);
		return gbe_prefix(error, "%s", what);
	}
	root = json_parser_get_root(parser);
	if (root == NULL || !JSON_NODE_HOLDS_OBJECT(root))
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s: not a JSON object", what);
	*ret_object = json_node_dup_object(root);
	return true;
}

static char *
print(JsonObject *object, gboolean pretty)
{
	g_autoptr(JsonGenerator) generator = json_generator_new();
	g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
	g_autofree char *text = NULL, *escaped = NULL;
	g_auto(GStrv) parts = NULL;

	json_node_set_object(root, object);
	json_generator_set_pretty(generator, pretty);
	json_generator_set_indent(generator, 2);
	json_generator_set_root(generator, root);
	text = json_generator_to_data(generator, NULL);
	/* json-glib (1.6) leaves this one control character as it is, and nobody can read it again. */
	parts = g_strsplit(text, "\x1f", -1);
	escaped = g_strjoinv("\\u001f", parts);
	return g_strconcat(escaped, "\n", NULL);
}

char *
gbe_json_print_object(JsonObject *object)
{
	return print(object, TRUE);
}

char *
gbe_json_print_line(JsonObject *object)
{
	return print(object, FALSE);
}

static JsonNode *
find_value(JsonObject *object, const char *key, GType type)
{
	JsonNode *node = json_object_get_member(object, key);

	if (node == NULL || !JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != type)
		return NULL;
	return node;
}

const char *
gbe_json_string(JsonObject *object, const char *key, const char *fallback)
{
	JsonNode *node = find_value(object, key, G_TYPE_STRING);

	return node != NULL ? json_node_get_string(node) : fallback;
}

gint64
gbe_json_int(JsonObject *object, const char *key, gint64 fallback)
{
	JsonNode *node = find_value(object, key, G_TYPE_INT64);

	return node != NULL ? json_node_get_int(node) : fallback;
}

gboolean
gbe_json_bool(JsonObject *object, const char *key, gboolean fallback)
{
	JsonNode *node = find_value(object, key, G_TYPE_BOOLEAN);

	return node != NULL ? json_node_get_boolean(node) : fallback;
}

JsonObject *
gbe_json_object(JsonObject *object, const char *key)
{
	JsonNode *node = json_object_get_member(object, key);

	return node != NULL && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

JsonArray *
gbe_json_array(JsonObject *object, const char *key)
{
	JsonNode *node = json_object_get_member(object, key);

	return node != NULL && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

void
gbe_json_set_string(JsonObject *object, const char *key, const char *value)
{
	g_autofree char *valid = NULL;

	if (value == NULL) {
		json_object_set_null_member(object, key);
		return;
	}
	/* What a person typed or a file is called may be no UTF-8, and what is written is read. */
	valid = g_utf8_make_valid(value, -1);
	json_object_set_string_member(object, key, valid);
}

char *
gbe_record_seal(const char *json)
{
	const char *newline = g_str_has_suffix(json, "\n") ? "" : "\n";
	g_autofree char *text = g_strconcat(json, newline, NULL);
	g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

	return g_strconcat(text, SEAL, digest, "\n", NULL);
}

bool
gbe_record_open(const char *bytes, gsize size, const char *what, JsonObject **ret_object,
		GError **error)
{
	g_autofree char *digest = NULL;
	gsize len = size - SEAL_LEN;
	const char *seal;

	if (size > GBE_JSON_MAX_SIZE + SEAL_LEN)
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "%s: %" G_GSIZE_FORMAT " bytes long, %d are allowed", what, size,
				 GBE_JSON_MAX_SIZE);
	if (size <= SEAL_LEN || memcmp(bytes + len, SEAL, strlen(SEAL)) != 0 ||
	    bytes[size - 1] != '\n' || bytes[len - 1] != '\n')
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s: the checksum at its end is missing",
				 what);
	seal = bytes + len + strlen(SEAL);
	digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, len);
	if (memcmp(seal, digest, strlen(digest)) != 0)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s: its checksum does not match", what);
	return gbe_json_parse_object(bytes, len, what, ret_object, error);
}
