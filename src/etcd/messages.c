/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/messages.h"

#include <string.h>

#include "core/record.h"
#include "etcd/messages-private.h"
#include "etcd/protobuf.h"

static gpointer
member_at(gpointer data, const GbeMessageField *field)
{
	return (guint8 *)data + field->offset;
}

static void
clear_fields(const GbeMessageField *fields, gpointer data)
{
	for (const GbeMessageField *field = fields; field->number != 0; field++) {
		GArray **list = member_at(data, field);

		if (field->kind == KIND_TEXT) {
			g_clear_pointer((char **)member_at(data, field), g_free);
		} else if (field->kind == KIND_TEXTS) {
			g_clear_pointer((GPtrArray **)member_at(data, field), g_ptr_array_unref);
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
	clear_fields(gbe_message_tables[message].fields, data);
	memset(data, 0, gbe_message_tables[message].size);
}

/* A new, zeroed element; NULL when there are too many. */
static gpointer
add_element(gpointer data, const GbeMessageField *field)
{
	GArray **list = member_at(data, field);

	if (*list == NULL)
		*list = g_array_new(FALSE, TRUE, field->size);
	if ((*list)->len >= GBE_MESSAGE_LIST_MAX)
		return NULL;
	(void)g_array_set_size(*list, (*list)->len + 1);
	return (*list)->data + ((*list)->len - 1) * field->size;
}

/* NULL: not such a text. */
static char *
copy_text(const char *text, gsize size)
{
	const char *from = text != NULL ? text : "";

	if (size > GBE_MESSAGE_TEXT_MAX || !g_utf8_validate_len(from, size, NULL))
		return NULL;
	return g_strndup(from, size);
}

static bool
set_text(gpointer data, const GbeMessageField *field, const char *text, gsize size)
{
	char **at = member_at(data, field);
	char *copy = copy_text(text, size);

	if (copy == NULL)
		return false;
	g_free(*at);
	*at = copy;
	return true;
}

static bool
add_text(gpointer data, const GbeMessageField *field, const char *text, gsize size)
{
	GPtrArray **list = member_at(data, field);
	char *copy;

	if (*list == NULL)
		*list = g_ptr_array_new_with_free_func(g_free);
	if ((*list)->len >= GBE_MESSAGE_LIST_MAX || (copy = copy_text(text, size)) == NULL)
		return false;
	g_ptr_array_add(*list, copy);
	return true;
}

/* ---- protocol buffers ---- */

static bool read_message(GbeProtobuf *pb, const GbeMessageField *fields, gpointer data);

static bool
read_part(const GbeField *wire, const GbeMessageField *field, gpointer data)
{
	GbeProtobuf pb;

	if (data == NULL)
		return false;
	gbe_field_open(wire, &pb);
	return read_message(&pb, field->fields, data);
}

/* A field of another wire type than its own is one that is not known. */
static bool
read_field(const GbeField *wire, const GbeMessageField *field, gpointer data)
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
	case KIND_TEXTS:
		return !bytes || add_text(data, field, (const char *)wire->data, wire->size);
	case KIND_PART:
		return !bytes || read_part(wire, field, member_at(data, field));
	case KIND_LIST:
		return !bytes || read_part(wire, field, add_element(data, field));
	}
	return false;
}

static bool
read_message(GbeProtobuf *pb, const GbeMessageField *fields, gpointer data)
{
	for (;;) {
		GbeField wire;
		const GbeMessageField *field = fields;
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

static bool json_message(JsonObject *object, const GbeMessageField *fields, gpointer data);

static bool
json_list(JsonArray *array, const GbeMessageField *field, gpointer data)
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
json_texts(JsonArray *array, const GbeMessageField *field, gpointer data)
{
	for (guint i = 0; array != NULL && i < json_array_get_length(array); i++) {
		JsonNode *node = json_array_get_element(array, i);
		const char *text = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_string(node) : NULL;

		if (text == NULL || !add_text(data, field, text, strlen(text)))
			return false;
	}
	return true;
}

static bool
json_field(JsonObject *object, const GbeMessageField *field, gpointer data)
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
	case KIND_TEXTS:
		return json_texts(gbe_json_array(object, field->json), field, data);
	case KIND_PART:
		part = gbe_json_object(object, field->json);
		return part == NULL || json_message(part, field->fields, at);
	case KIND_LIST:
		return json_list(gbe_json_array(object, field->json), field, data);
	}
	return false;
}

static bool
json_message(JsonObject *object, const GbeMessageField *fields, gpointer data)
{
	for (const GbeMessageField *field = fields; field->number != 0; field++)
		if (!json_field(object, field, data))
			return false;
	return true;
}

/* ---- both ---- */

bool
gbe_message_from_protobuf(GbeMessage message, const void *bytes, gsize size, gpointer ret_message,
			  GError **error)
{
	g_autofree gpointer data = g_malloc0(gbe_message_tables[message].size);
	GbeProtobuf pb;

	gbe_protobuf_init(&pb, bytes, size);
	if (!read_message(&pb, gbe_message_tables[message].fields, data)) {
		gbe_message_clear(message, data);
		return gbe_throw(error, GBE_ERROR_CORRUPT, "not a %s of etcd's",
				 gbe_message_tables[message].name);
	}
	memcpy(ret_message, data, gbe_message_tables[message].size);
	return true;
}

bool
gbe_message_from_json(GbeMessage message, const char *bytes, gsize size, gpointer ret_message,
		      GError **error)
{
	g_autofree gpointer data = g_malloc0(gbe_message_tables[message].size);
	g_autoptr(JsonObject) object = NULL;

	if (!gbe_json_parse_object(bytes, size, gbe_message_tables[message].name, &object, error))
		return false;
	if (!json_message(object, gbe_message_tables[message].fields, data)) {
		gbe_message_clear(message, data);
		return gbe_throw(error, GBE_ERROR_CORRUPT, "not a %s of etcd's",
				 gbe_message_tables[message].name);
	}
	memcpy(ret_message, data, gbe_message_tables[message].size);
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
