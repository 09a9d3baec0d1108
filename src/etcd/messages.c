/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/messages.h"

#include <string.h>

#include "core/record.h"
#include "etcd/protobuf.h"

typedef enum {
	KIND_U64,  /* int64 as well, as two's complement */
	KIND_BOOL, /* gboolean */
	KIND_TEXT, /* char * */
	KIND_ALARM,
	KIND_PART, /* a message within the struct */
	KIND_LIST, /* GArray * of messages */
} Kind;

typedef struct Field Field;
struct Field {
	guint32 number;
	const char *json;
	Kind kind;
	gsize offset;
	const Field *fields; /* of a message; the last has number 0 */
	guint size;	     /* of a list's element */
};

static const Field header_fields[] = {
    {1, "cluster_id", KIND_U64, offsetof(GbeEtcdHeader, cluster_id)},
    {2, "member_id", KIND_U64, offsetof(GbeEtcdHeader, member_id)},
    {3, "revision", KIND_U64, offsetof(GbeEtcdHeader, revision)},
    {4, "raft_term", KIND_U64, offsetof(GbeEtcdHeader, raft_term)},
    {0},
};

#define HEADER                                                                                     \
	{                                                                                          \
		1, "header", KIND_PART, 0, header_fields                                           \
	}

static const Field status_fields[] = {
    HEADER,
    {2, "version", KIND_TEXT, offsetof(GbeEtcdStatus, version)},
    {3, "dbSize", KIND_U64, offsetof(GbeEtcdStatus, db_size)},
    {4, "leader", KIND_U64, offsetof(GbeEtcdStatus, leader)},
    {5, "raftIndex", KIND_U64, offsetof(GbeEtcdStatus, raft_index)},
    {6, "raftTerm", KIND_U64, offsetof(GbeEtcdStatus, raft_term)},
    {7, "raftAppliedIndex", KIND_U64, offsetof(GbeEtcdStatus, raft_applied)},
    {9, "dbSizeInUse", KIND_U64, offsetof(GbeEtcdStatus, db_in_use)},
    {10, "isLearner", KIND_BOOL, offsetof(GbeEtcdStatus, learner)},
    {11, "storageVersion", KIND_TEXT, offsetof(GbeEtcdStatus, storage_version)},
    {12, "dbSizeQuota", KIND_U64, offsetof(GbeEtcdStatus, quota)},
    {0},
};

static const Field alarm_fields[] = {
    {1, "memberID", KIND_U64, offsetof(GbeEtcdAlarm, member_id)},
    {2, "alarm", KIND_ALARM, offsetof(GbeEtcdAlarm, alarm)},
    {0},
};

static const Field alarms_fields[] = {
    HEADER,
    {2, "alarms", KIND_LIST, offsetof(GbeEtcdAlarms, list), alarm_fields, sizeof(GbeEtcdAlarm)},
    {0},
};

static const Field member_fields[] = {
    {1, "ID", KIND_U64, offsetof(GbeEtcdMember, id)},
    {2, "name", KIND_TEXT, offsetof(GbeEtcdMember, name)},
    {5, "isLearner", KIND_BOOL, offsetof(GbeEtcdMember, learner)},
    {0},
};

static const Field members_fields[] = {
    HEADER,
    {2, "members", KIND_LIST, offsetof(GbeEtcdMembers, list), member_fields, sizeof(GbeEtcdMember)},
    {0},
};

static const Field hash_kv_fields[] = {
    HEADER,
    {2, "hash", KIND_U64, offsetof(GbeEtcdHashKv, hash)},
    {3, "compact_revision", KIND_U64, offsetof(GbeEtcdHashKv, compact_revision)},
    {0},
};

static const Field range_fields[] = {
    HEADER,
    {4, "count", KIND_U64, offsetof(GbeEtcdRange, count)},
    {0},
};

static const Field only_header_fields[] = {HEADER, {0}};

static const struct {
	const char *name;
	const Field *fields;
	gsize size;
} messages[GBE_N_MESSAGES] = {
    [GBE_MESSAGE_STATUS] = {"StatusResponse", status_fields, sizeof(GbeEtcdStatus)},
    [GBE_MESSAGE_ALARMS] = {"AlarmResponse", alarms_fields, sizeof(GbeEtcdAlarms)},
    [GBE_MESSAGE_MEMBERS] = {"MemberListResponse", members_fields, sizeof(GbeEtcdMembers)},
    [GBE_MESSAGE_HASH_KV] = {"HashKVResponse", hash_kv_fields, sizeof(GbeEtcdHashKv)},
    [GBE_MESSAGE_RANGE] = {"RangeResponse", range_fields, sizeof(GbeEtcdRange)},
    [GBE_MESSAGE_DEFRAGMENT] = {"DefragmentResponse", only_header_fields, sizeof(GbeEtcdHeader)},
    [GBE_MESSAGE_COMPACTION] = {"CompactionResponse", only_header_fields, sizeof(GbeEtcdHeader)},
};

static gpointer
member_at(gpointer data, const Field *field)
{
	return (guint8 *)data + field->offset;
}

static void
clear_fields(const Field *fields, gpointer data)
{
	for (const Field *field = fields; field->number != 0; field++) {
		GArray **list = member_at(data, field);

		if (field->kind == KIND_TEXT) {
			g_clear_pointer((char **)member_at(data, field), g_free);
		} else if (field->kind == KIND_PART) {
			clear_fields(field->fields, member_at(data, field));
		} else if (field->kind == KIND_LIST && *list != NULL) {
			for (guint i = 0; i < (*list)->len; i++)
				clear_fields(field->fields, (*list)->data + i * field->size);
			g_clear_pointer(list, g_array_unref);
		}
	}
}

void
gbe_message_clear(GbeMessage message, gpointer data)
{
	clear_fields(messages[message].fields, data);
	memset(data, 0, messages[message].size);
}

/* A new, zeroed element; NULL when there are too many. */
static gpointer
add_element(gpointer data, const Field *field)
{
	GArray **list = member_at(data, field);

	if (*list == NULL)
		*list = g_array_new(FALSE, TRUE, field->size);
	if ((*list)->len >= GBE_MESSAGE_LIST_MAX)
		return NULL;
	(void)g_array_set_size(*list, (*list)->len + 1);
	return (*list)->data + ((*list)->len - 1) * field->size;
}

static bool
set_text(gpointer data, const Field *field, const char *text, gsize size)
{
	char **at = member_at(data, field);

	if (size > GBE_MESSAGE_TEXT_MAX ||
	    !g_utf8_validate_len(text != NULL ? text : "", size, NULL))
		return false;
	g_free(*at);
	*at = g_strndup(text != NULL ? text : "", size);
	return true;
}

/* ---- protocol buffers ---- */

static bool read_message(GbeProtobuf *pb, const Field *fields, gpointer data);

static bool
read_part(const GbeField *wire, const Field *field, gpointer data)
{
	GbeProtobuf pb;

	if (data == NULL)
		return false;
	gbe_field_open(wire, &pb);
	return read_message(&pb, field->fields, data);
}

/* A field of another wire type than its own is one that is not known. */
static bool
read_field(const GbeField *wire, const Field *field, gpointer data)
{
	gboolean number = wire->type == GBE_WIRE_VARINT;
	gboolean bytes = wire->type == GBE_WIRE_BYTES;

	switch (field->kind) {
	case KIND_U64:
	case KIND_ALARM:
		if (number)
			*(guint64 *)member_at(data, field) = wire->value;
		return true;
	case KIND_BOOL:
		if (number)
			*(gboolean *)member_at(data, field) = wire->value != 0;
		return true;
	case KIND_TEXT:
		return !bytes || set_text(data, field, (const char *)wire->data, wire->size);
	case KIND_PART:
		return !bytes || read_part(wire, field, member_at(data, field));
	case KIND_LIST:
		return !bytes || read_part(wire, field, add_element(data, field));
	}
	return false;
}

static bool
read_message(GbeProtobuf *pb, const Field *fields, gpointer data)
{
	for (;;) {
		GbeField wire;
		const Field *field = fields;
		GbeFieldResult result = gbe_protobuf_next(pb, &wire);

		if (result != GBE_FIELD_NEXT)
			return result == GBE_FIELD_END;
		while (field->number != 0 && field->number != wire.number)
			field++;
		if (field->number != 0 && !read_field(&wire, field, data))
			return false;
	}
}

/* ---- JSON ---- */

/* 64 bits stand in a string, shorter numbers as such. */
static bool
json_number(JsonObject *object, const char *key, guint64 *ret_value)
{
	const char *text = gbe_json_string(object, key, NULL);
	gint64 negative;

	if (!json_object_has_member(object, key))
		return true;
	if (text == NULL) {
		*ret_value = (guint64)gbe_json_int(object, key, 0);
		return true;
	}
	if (*text != '-')
		return g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, ret_value, NULL);
	if (!g_ascii_string_to_signed(text, 10, G_MININT64, 0, &negative, NULL))
		return false;
	*ret_value = (guint64)negative;
	return true;
}

static bool
json_alarm(JsonObject *object, const char *key, guint64 *ret_alarm)
{
	const char *name = gbe_json_string(object, key, NULL);

	if (name == NULL)
		return json_number(object, key, ret_alarm);
	*ret_alarm = G_MAXUINT64;
	for (guint64 alarm = GBE_ALARM_NOSPACE; alarm <= GBE_ALARM_CORRUPT; alarm++)
		if (strcmp(name, gbe_etcd_alarm_to_string(alarm)) == 0)
			*ret_alarm = alarm;
	if (strcmp(name, "NONE") == 0)
		*ret_alarm = GBE_ALARM_NONE;
	return true;
}

static bool json_message(JsonObject *object, const Field *fields, gpointer data);

static bool
json_list(JsonArray *array, const Field *field, gpointer data)
{
	for (guint i = 0; array != NULL && i < json_array_get_length(array); i++) {
		JsonNode *node = json_array_get_element(array, i);
		gpointer element = add_element(data, field);

		if (element == NULL || !JSON_NODE_HOLDS_OBJECT(node) ||
		    !json_message(json_node_get_object(node), field->fields, element))
			return false;
	}
	return true;
}

static bool
json_field(JsonObject *object, const Field *field, gpointer data)
{
	gpointer at = member_at(data, field);
	const char *text;
	JsonObject *part;

	switch (field->kind) {
	case KIND_U64:
		return json_number(object, field->json, at);
	case KIND_ALARM:
		return json_alarm(object, field->json, at);
	case KIND_BOOL:
		*(gboolean *)at = gbe_json_bool(object, field->json, FALSE);
		return true;
	case KIND_TEXT:
		text = gbe_json_string(object, field->json, NULL);
		return text == NULL || set_text(data, field, text, strlen(text));
	case KIND_PART:
		part = gbe_json_object(object, field->json);
		return part == NULL || json_message(part, field->fields, at);
	case KIND_LIST:
		return json_list(gbe_json_array(object, field->json), field, data);
	}
	return false;
}

static bool
json_message(JsonObject *object, const Field *fields, gpointer data)
{
	for (const Field *field = fields; field->number != 0; field++)
		if (!json_field(object, field, data))
			return false;
	return true;
}

/* ---- both ---- */

bool
gbe_message_from_protobuf(GbeMessage message, const void *bytes, gsize size, gpointer ret_message,
			  GError **error)
{
	g_autofree gpointer data = g_malloc0(messages[message].size);
	GbeProtobuf pb;

	gbe_protobuf_init(&pb, bytes, size);
	if (!read_message(&pb, messages[message].fields, data)) {
		gbe_message_clear(message, data);
		return gbe_throw(error, GBE_ERROR_CORRUPT, "not a %s of etcd's",
				 messages[message].name);
	}
	memcpy(ret_message, data, messages[message].size);
	return true;
}

bool
gbe_message_from_json(GbeMessage message, const char *bytes, gsize size, gpointer ret_message,
		      GError **error)
{
	g_autofree gpointer data = g_malloc0(messages[message].size);
	g_autoptr(JsonObject) object = NULL;

	if (!gbe_json_parse_object(bytes, size, messages[message].name, &object, error))
		return false;
	if (!json_message(object, messages[message].fields, data)) {
		gbe_message_clear(message, data);
		return gbe_throw(error, GBE_ERROR_CORRUPT, "not a %s of etcd's",
				 messages[message].name);
	}
	memcpy(ret_message, data, messages[message].size);
	return true;
}

const GbeEtcdAlarm *
gbe_etcd_alarms_find(const GbeEtcdAlarms *alarms, guint64 alarm)
{
	for (guint i = 0; alarms->list != NULL && i < alarms->list->len; i++) {
		const GbeEtcdAlarm *at = &g_array_index(alarms->list, GbeEtcdAlarm, i);

		if (at->alarm == alarm)
			return at;
	}
	return NULL;
}

const char *
gbe_etcd_alarm_to_string(guint64 alarm)
{
	switch (alarm) {
	case GBE_ALARM_NOSPACE:
		return "NOSPACE";
	case GBE_ALARM_CORRUPT:
		return "CORRUPT";
	default:
		return "UNKNOWN";
	}
}

guint
gbe_etcd_members_voters(const GbeEtcdMembers *members)
{
	guint voters = 0;

	for (guint i = 0; members->list != NULL && i < members->list->len; i++)
		if (!g_array_index(members->list, GbeEtcdMember, i).learner)
			voters++;
	return voters;
}
