/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/members.h"

#include "core/backup-name.h"
#include "core/deployment.h"
#include "core/json/parse.h"

#include <string.h>

#define HEX64_LEN 16

static bool
deployment_valid(const char *text)
{
	return gbe_deployment_id_parse(text, NULL, NULL, NULL);
}

static bool
backup_valid(const char *text)
{
	return gbe_backup_name_parse(text, NULL, NULL, NULL) != GBE_NAME_INVALID;
}

static bool
hex64_valid(const char *text)
{
	return strlen(text) == HEX64_LEN && strspn(text, "0123456789abcdef") == HEX64_LEN;
}

bool
gbe_path_is_below(const char *path)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);

	for (guint i = 0; parts[i] != NULL; i++)
		if (parts[i][0] == '\0' || g_str_equal(parts[i], ".") ||
		    g_str_equal(parts[i], ".."))
			return false;
	return parts[0] != NULL;
}

/* Root follows these paths: a damaged or forged record must not lead it outside. */
static bool
path_valid(const char *text)
{
	g_auto(GStrv) parts = NULL;

	if (text[0] != '/')
		return false;
	parts = g_strsplit(text, "/", -1);
	for (guint i = 0; parts[i] != NULL; i++)
		if (g_str_equal(parts[i], "..") || g_str_equal(parts[i], "."))
			return false;
	return true;
}

const GbeKind gbe_kind_deployment = {deployment_valid, "is not a deployment id"};
const GbeKind gbe_kind_run = {gbe_run_id_valid, "is not a run id"};
const GbeKind gbe_kind_backup = {backup_valid, "is not the name of a backup"};
const GbeKind gbe_kind_hex64 = {hex64_valid, "is not 16 hex digits"};
const GbeKind gbe_kind_path = {path_valid, "is not an absolute path"};

void
gbe_members_fail(GbeMembers *m, const char *key, const char *what)
{
	if (m->error == NULL)
		(void)gbe_throw(&m->error, GBE_ERROR_CORRUPT, "\"%s%s\" %s",
				m->in != NULL ? m->in : "", key, what);
}

bool
gbe_members_end(GbeMembers *m, const char *what, GError **error)
{
	if (m->error == NULL)
		return true;
	g_propagate_error(error, g_steal_pointer(&m->error));
	return gbe_prefix(error, "%s", what);
}

/* NULL where the member is absent or null. */
static JsonNode *
member(GbeMembers *m, const char *key)
{
	JsonNode *node = json_object_get_member(m->object, key);

	return node == NULL || JSON_NODE_HOLDS_NULL(node) ? NULL : node;
}

/* The same, and an error where the member is no plain value of @type. */
static JsonNode *
value(GbeMembers *m, const char *key, GType type, const char *otherwise)
{
	JsonNode *node = member(m, key);

	if (node == NULL)
		return NULL;
	if (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == type)
		return node;
	gbe_members_fail(m, key, otherwise);
	return NULL;
}

void
gbe_members_need(GbeMembers *m, const char *key)
{
	if (member(m, key) == NULL)
		gbe_members_fail(m, key, "is missing");
}

const char *
gbe_members_word(GbeMembers *m, const char *key)
{
	JsonNode *node = value(m, key, G_TYPE_STRING, "is not a string");

	return node != NULL ? json_node_get_string(node) : NULL;
}

char *
gbe_members_string(GbeMembers *m, const char *key, const GbeKind *kind)
{
	const char *text = gbe_members_word(m, key);

	if (text != NULL && kind != NULL && !kind->valid(text)) {
		gbe_members_fail(m, key, kind->otherwise);
		return NULL;
	}
	return g_strdup(text);
}

gint64
gbe_members_i64(GbeMembers *m, const char *key, gint64 fallback)
{
	JsonNode *node = value(m, key, G_TYPE_INT64, "is not an integer");

	return node != NULL ? json_node_get_int(node) : fallback;
}

guint64
gbe_members_u64(GbeMembers *m, const char *key, guint64 fallback)
{
	JsonNode *node = value(m, key, G_TYPE_INT64, "is not an integer");

	if (node == NULL)
		return fallback;
	if (json_node_get_int(node) < 0) {
		gbe_members_fail(m, key, "is negative");
		return fallback;
	}
	return (guint64)json_node_get_int(node);
}

guint
gbe_members_uint(GbeMembers *m, const char *key, guint fallback)
{
	guint64 number = gbe_members_u64(m, key, fallback);

	if (number > G_MAXUINT) {
		gbe_members_fail(m, key, "is too large");
		return fallback;
	}
	return (guint)number;
}

guint64
gbe_members_sequence(GbeMembers *m, const char *key)
{
	guint64 sequence;

	gbe_members_need(m, key);
	sequence = gbe_members_u64(m, key, 1);
	if (sequence == 0)
		gbe_members_fail(m, key, "is zero");
	return sequence;
}

bool
gbe_members_bool(GbeMembers *m, const char *key)
{
	JsonNode *node = value(m, key, G_TYPE_BOOLEAN, "is not true or false");

	return node != NULL && json_node_get_boolean(node);
}

GbeTri
gbe_members_tri(GbeMembers *m, const char *key)
{
	JsonNode *node = value(m, key, G_TYPE_BOOLEAN, "is not true, false or null");

	return node != NULL ? gbe_tri(json_node_get_boolean(node)) : GBE_UNKNOWN;
}

JsonObject *
gbe_members_object(GbeMembers *m, const char *key)
{
	JsonNode *node = member(m, key);

	if (node != NULL && !JSON_NODE_HOLDS_OBJECT(node)) {
		gbe_members_fail(m, key, "is not an object");
		return NULL;
	}
	return node != NULL ? json_node_get_object(node) : NULL;
}

JsonArray *
gbe_members_array(GbeMembers *m, const char *key)
{
	JsonNode *node = member(m, key);

	if (node != NULL && !JSON_NODE_HOLDS_ARRAY(node)) {
		gbe_members_fail(m, key, "is not an array");
		return NULL;
	}
	return node != NULL ? json_node_get_array(node) : NULL;
}

char **
gbe_members_strv(GbeMembers *m, const char *key)
{
	JsonArray *array = gbe_members_array(m, key);
	guint len = array != NULL ? json_array_get_length(array) : 0;
	g_auto(GStrv) strv = NULL;

	if (len == 0)
		return NULL;
	strv = g_new0(char *, len + 1);
	for (guint i = 0; i < len; i++) {
		JsonNode *node = json_array_get_element(array, i);

		if (JSON_NODE_HOLDS_OBJECT(node))
			strv[i] = gbe_hex_to_name(
			    gbe_json_string(json_node_get_object(node), "hex", NULL));
		else if (JSON_NODE_HOLDS_VALUE(node) &&
			 json_node_get_value_type(node) == G_TYPE_STRING)
			strv[i] = json_node_dup_string(node);
		if (strv[i] == NULL) {
			gbe_members_fail(m, key, "is not an array of strings");
			return NULL;
		}
	}
	return g_steal_pointer(&strv);
}

/* The writing half of members.h. */
char *
gbe_name_to_hex(const char *name)
{
	GString *hex;

	if (g_utf8_validate(name, -1, NULL))
		return NULL;
	hex = g_string_new(NULL);
	for (const char *p = name; *p != '\0'; p++)
		g_string_append_printf(hex, "%02x", (guint)(guchar)*p);
	return g_string_free(hex, false);
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

/* A deep copy: json_node_copy() shares the contents. */
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
gbe_json_set_format(JsonObject *object, guint format, const char *written_by)
{
	json_object_set_int_member(object, "format", MAX(format, GBE_FORMAT));
	gbe_json_set_string(object, "written_by", written_by);
}
