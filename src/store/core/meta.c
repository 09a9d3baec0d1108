/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/core/meta.h"

#include <string.h>

#include "core/json/parse.h"
#include "core/snapshot/name.h"

#define VERSION_MAX 64

void
gbe_snapshot_meta_clear(GbeSnapshotMeta *meta)
{
	g_clear_pointer(&meta->etcd_version, g_free);
}

/* The member by either of its names. NULL: absent, or null. */
static JsonNode *
get_either(JsonObject *object, const char *camel, const char *proto)
{
	JsonNode *node = json_object_get_member(object, camel);

	if (node == NULL)
		node = json_object_get_member(object, proto);
	return node != NULL && !JSON_NODE_HOLDS_NULL(node) ? node : NULL;
}

static bool
wrong(const char *key, const char *what, GError **error)
{
	return gbe_throw(error, GBE_ERROR_CORRUPT, "%s: %s %s", GBE_SNAPSHOT_META, key, what);
}

/* A number that is not negative, also as a string. */
static bool
read_number(JsonNode *node, const char *key, gint64 *ret_number, GError **error)
{
	GType type = node != NULL && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node)
								 : G_TYPE_INVALID;
	gint64 number = -1;

	if (node == NULL)
		return true;
	if (type == G_TYPE_INT64)
		number = json_node_get_int(node);
	else if (type == G_TYPE_STRING && !g_ascii_string_to_signed(json_node_get_string(node), 10,
								    0, G_MAXINT64, &number, NULL))
		return wrong(key, "is not a number", error);
	if (number < 0)
		return wrong(key, "is not a number", error);
	*ret_number = number;
	return true;
}

bool
gbe_snapshot_meta_parse(const char *bytes, gsize size, GbeSnapshotMeta *ret_meta, GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	g_auto(GbeSnapshotMeta) meta = {0};
	JsonNode *version, *spec;
	const char *text = NULL;

	if (!gbe_json_parse_object(bytes, size, GBE_SNAPSHOT_META, &object, error))
		return false;
	version = get_either(object, "etcdVersion", "etcd_version");
	spec = get_either(object, "clusterSpec", "cluster_spec");
	if (version == NULL)
		return wrong("etcdVersion", "is missing", error);
	if (JSON_NODE_HOLDS_VALUE(version) && json_node_get_value_type(version) == G_TYPE_STRING)
		text = json_node_get_string(version);
	if (text == NULL || *text == '\0' || strlen(text) > VERSION_MAX ||
	    text[strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS ".+-")] != '\0')
		return wrong("etcdVersion", "is not a version", error);
	if (!read_number(get_either(object, "timestamp", "timestamp"), "timestamp", &meta.timestamp,
			 error))
		return false;
	if (spec != NULL && !JSON_NODE_HOLDS_OBJECT(spec))
		return wrong("clusterSpec", "is not an object", error);
	if (spec != NULL &&
	    !read_number(get_either(json_node_get_object(spec), "memberCount", "member_count"),
			 "memberCount", &meta.members, error))
		return false;
	*ret_meta = (GbeSnapshotMeta){g_strdup(text), meta.timestamp, meta.members};
	return true;
}

char *
gbe_snapshot_meta_print(const GbeSnapshotMeta *meta)
{
	g_autoptr(JsonObject) object = json_object_new();
	g_autofree char *timestamp = g_strdup_printf("%" G_GINT64_FORMAT, meta->timestamp);
	JsonObject *spec = json_object_new();

	gbe_json_set_string(object, "etcdVersion", meta->etcd_version);
	if (meta->timestamp > 0)
		gbe_json_set_string(object, "timestamp", timestamp);
	if (meta->members > 0)
		json_object_set_int_member(spec, "memberCount", meta->members);
	gbe_json_set_string(spec, "etcdVersion", meta->etcd_version);
	json_object_set_object_member(object, "clusterSpec", spec);
	return gbe_json_print_object(object);
}
