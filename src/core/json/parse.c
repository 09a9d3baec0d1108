/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/parse.h"

#include <string.h>

#define SEAL "sha256 "
/* The word, 64 digits and a newline. */
#define SEAL_LEN (strlen(SEAL) + 64 + 1)
/* Above this value a double is not the integer that was written, and json-glib wraps values above 2^63. */
#define NUMBER_MAX ((double)((G_GUINT64_CONSTANT(1) << 53) - 1))

/* 0 where there are no four hex digits. */
static guint
hex4(const char *p)
{
	guint unit = 0;

	for (guint i = 0; i < 4; i++) {
		int digit = g_ascii_xdigit_value(p[i]);

		if (digit < 0)
			return 0;
		unit = unit * 16 + (guint)digit;
	}
	return unit;
}

/*
 * Returns the last byte of the escape at @p. NULL for an escape that json-glib handles wrongly. It cuts the string
 * (\u0000) or makes a byte that is not UTF-8 (\377). With fewer than four digits, or half a surrogate pair, it takes a
 * quote for a digit and reads beyond the end of the string.
 */
static const char *
skip_escape(const char *p)
{
	guint unit;

	if (p[1] != 'u')
		return p[1] != '\0' && strchr("\"\\/bfnrt", p[1]) != NULL ? p + 1 : NULL;
	unit = hex4(p + 2);
	if (unit >= 0xd800 && unit < 0xdc00)
		return p[6] == '\\' && p[7] == 'u' && (hex4(p + 8) & 0xfc00) == 0xdc00 ? p + 11
										       : NULL;
	return unit != 0 && (unit & 0xfc00) != 0xdc00 ? p + 5 : NULL;
}

/*
 * Checks the depth, because json-glib recurses as deep as its input says, and the numbers. Brackets count only
 * outside strings, so this function and json-glib must agree on where a string ends. So everything that json-glib
 * accepts beyond JSON (comments, strings in single quotes, $ff) is refused. NULL, or the fault.
 */
static const char *
find_fault(const char *text)
{
	guint depth = 0;
	bool in_string = false, ended = false;
	char *end;

	for (const char *p = text; *p != '\0'; p++) {
		if (ended && !g_ascii_isspace(*p))
			return "something follows the end of the object";
		if (*p == '"') {
			in_string = !in_string;
		} else if (in_string) {
			if (*p == '\\' && (p = skip_escape(p)) == NULL)
				return "a wrong escape in a string";
		} else if (strchr("'/#$", *p) != NULL) {
			return "not JSON";
		} else if (*p == '[' || *p == '{') {
			if (++depth > GBE_JSON_MAX_DEPTH)
				return "nested too deeply (" G_STRINGIFY(
				    GBE_JSON_MAX_DEPTH) " levels)";
		} else if (*p == ']' || *p == '}') {
			depth -= depth > 0;
			ended = depth == 0;
		} else if (g_ascii_isdigit(*p)) {
			if (g_ascii_strtod(p, &end) > NUMBER_MAX)
				return "a number is too large (integers end at 2^53)";
			p = end - 1;
		}
	}
	return NULL;
}

bool
gbe_json_parse_object(const char *bytes, gsize size, const char *what, JsonObject **ret_object,
		      GError **error)
{
	g_autoptr(JsonParser) parser = NULL;
	g_autofree char *text = NULL;
	const char *fault;
	JsonNode *root;

	if (size > GBE_JSON_MAX_SIZE)
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "%s: %" G_GSIZE_FORMAT " bytes long, %d are allowed", what, size,
				 GBE_JSON_MAX_SIZE);
	if (size == 0)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s: empty", what);
	/* g_utf8_validate() also refuses a NUL. */
	if (!g_utf8_validate(bytes, (gssize)size, NULL))
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s: not UTF-8, or a NUL byte is in it",
				 what);
	text = g_strndup(bytes, size);
	fault = find_fault(text);
	if (fault != NULL)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s: %s", what, fault);
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

/* json-glib prints 0.1 as 0.10000000000000001. A number that needs all of its digits keeps them. */
static void
append_number(GString *text, const char *number, gsize length)
{
	g_autofree char *token = g_strndup(number, length);
	double value = g_ascii_strtod(token, NULL);
	char tidy[G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_formatd(tidy, sizeof(tidy), "%.15g", value);
	g_string_append(
	    text, strchr(token, '.') != NULL && g_ascii_strtod(tidy, NULL) == value ? tidy : token);
}

char *
gbe_json_to_text(JsonNode *node, bool pretty)
{
	g_autoptr(JsonGenerator) generator = json_generator_new();
	g_autofree char *text = NULL;
	GString *tidy = g_string_new(NULL);
	bool in_string = false;

	json_generator_set_pretty(generator, pretty);
	json_generator_set_indent(generator, 2);
	json_generator_set_root(generator, node);
	text = json_generator_to_data(generator, NULL);
	for (const char *at = text; *at != '\0'; at++) {
		gsize number = in_string ? 0 : strspn(at, "-+.eE0123456789");

		/* json-glib (1.6) leaves this one control character unescaped, which is not valid JSON. */
		if (*at == '\x1f')
			g_string_append(tidy, "\\u001f");
		else if (g_ascii_isdigit(*at) && number > 0)
			append_number(tidy, at, number);
		else
			g_string_append_c(tidy, *at);
		if (g_ascii_isdigit(*at) && number > 0)
			at += number - 1;
		else if (in_string && *at == '\\')
			g_string_append_c(tidy, *++at);
		else if (*at == '"')
			in_string = !in_string;
	}
	g_string_append_c(tidy, '\n');
	return g_string_free(tidy, false);
}

static char *
print(JsonObject *object, bool pretty)
{
	g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);

	json_node_set_object(root, object);
	return gbe_json_to_text(root, pretty);
}

char *
gbe_json_print_object(JsonObject *object)
{
	return print(object, true);
}

char *
gbe_json_print_line(JsonObject *object)
{
	return print(object, false);
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

bool
gbe_json_bool(JsonObject *object, const char *key, bool fallback)
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

JsonObject *
gbe_json_answer(void)
{
	JsonObject *object = json_object_new();

	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	return object;
}

void
gbe_json_set_string(JsonObject *object, const char *key, const char *value)
{
	g_autofree char *valid = NULL;

	if (value == NULL) {
		json_object_set_null_member(object, key);
		return;
	}
	/* A person's text or a file name may not be UTF-8, and the written file must be readable again. */
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
