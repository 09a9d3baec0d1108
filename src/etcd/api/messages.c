/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/api/messages.h"

#include <string.h>

#include "etcd/protobuf.h"

typedef enum {
	KIND_U64,   /* also int64, as two's complement */
	KIND_BOOL,  /* bool */
	KIND_TEXT,  /* char * */
	KIND_TEXTS, /* GPtrArray * of char * */
	KIND_PART,  /* a message inside the struct */
	KIND_LIST,  /* GArray * of messages */
} FieldKind;

typedef struct MessageField MessageField;
struct MessageField {
	guint32 number;
	FieldKind kind;
	gsize offset;
	const MessageField *fields; /* of a message; number 0 ends the list */
	guint size;		    /* of a list's element */
};

typedef struct {
	const char *name;
	const MessageField *fields;
	gsize size; /* of the struct */
} MessageTable;

static const MessageField header_fields[] = {
    {1, KIND_U64, offsetof(GbeEtcdHeader, cluster_id)},
    {2, KIND_U64, offsetof(GbeEtcdHeader, member_id)},
    {3, KIND_U64, offsetof(GbeEtcdHeader, revision)},
    {4, KIND_U64, offsetof(GbeEtcdHeader, raft_term)},
    {0},
};

#define HEADER                                                                                     \
	{                                                                                          \
		1, KIND_PART, 0, header_fields                                                     \
	}

static const MessageField status_fields[] = {
    HEADER,
    {2, KIND_TEXT, offsetof(GbeEtcdStatus, version)},
    {3, KIND_U64, offsetof(GbeEtcdStatus, db_size)},
    {4, KIND_U64, offsetof(GbeEtcdStatus, leader)},
    {5, KIND_U64, offsetof(GbeEtcdStatus, raft_index)},
    {6, KIND_U64, offsetof(GbeEtcdStatus, raft_term)},
    {7, KIND_U64, offsetof(GbeEtcdStatus, raft_applied)},
    {8, KIND_TEXTS, offsetof(GbeEtcdStatus, errors)},
    {9, KIND_U64, offsetof(GbeEtcdStatus, db_in_use)},
    {10, KIND_BOOL, offsetof(GbeEtcdStatus, learner)},
    {11, KIND_TEXT, offsetof(GbeEtcdStatus, storage_version)},
    {12, KIND_U64, offsetof(GbeEtcdStatus, quota)},
    {0},
};

static const MessageField alarm_fields[] = {
    {1, KIND_U64, offsetof(GbeEtcdAlarm, member_id)},
    {2, KIND_U64, offsetof(GbeEtcdAlarm, alarm)},
    {0},
};

static const MessageField alarms_fields[] = {
    HEADER,
    {2, KIND_LIST, offsetof(GbeEtcdAlarms, list), alarm_fields, sizeof(GbeEtcdAlarm)},
    {0},
};

static const MessageField member_fields[] = {
    {1, KIND_U64, offsetof(GbeEtcdMember, id)},
    {2, KIND_TEXT, offsetof(GbeEtcdMember, name)},
    {3, KIND_TEXTS, offsetof(GbeEtcdMember, peer_urls)},
    {4, KIND_TEXTS, offsetof(GbeEtcdMember, client_urls)},
    {5, KIND_BOOL, offsetof(GbeEtcdMember, learner)},
    {0},
};

static const MessageField members_fields[] = {
    HEADER,
    {2, KIND_LIST, offsetof(GbeEtcdMembers, list), member_fields, sizeof(GbeEtcdMember)},
    {0},
};

static const MessageField member_add_fields[] = {
    HEADER,
    {2, KIND_PART, offsetof(GbeEtcdMembers, added), member_fields},
    {3, KIND_LIST, offsetof(GbeEtcdMembers, list), member_fields, sizeof(GbeEtcdMember)},
    {0},
};

static const MessageField hash_kv_fields[] = {
    HEADER,
    {2, KIND_U64, offsetof(GbeEtcdHashKv, hash)},
    {3, KIND_U64, offsetof(GbeEtcdHashKv, compact_revision)},
    {0},
};

static const MessageField range_fields[] = {
    HEADER,
    {4, KIND_U64, offsetof(GbeEtcdRange, count)},
    {0},
};

static const MessageField key_fields[] = {
    {3, KIND_U64, offsetof(GbeEtcdKey, mod_revision)},
    {5, KIND_TEXT, offsetof(GbeEtcdKey, value)},
    {0},
};

static const MessageField keys_fields[] = {
    HEADER,
    {2, KIND_LIST, offsetof(GbeEtcdKeys, list), key_fields, sizeof(GbeEtcdKey)},
    {0},
};

static const MessageField txn_fields[] = {
    HEADER,
    {2, KIND_BOOL, offsetof(GbeEtcdTxn, succeeded)},
    {0},
};

static const MessageField lease_fields[] = {
    HEADER,
    {3, KIND_U64, offsetof(GbeEtcdLease, ttl)},
    {0},
};

static const MessageField token_fields[] = {
    HEADER,
    {2, KIND_TEXT, offsetof(GbeEtcdToken, token)},
    {0},
};

static const MessageField only_header_fields[] = {HEADER, {0}};

static const MessageTable tables[GBE_N_MESSAGES] = {
    [GBE_MESSAGE_STATUS] = {"StatusResponse", status_fields, sizeof(GbeEtcdStatus)},
    [GBE_MESSAGE_ALARMS] = {"AlarmResponse", alarms_fields, sizeof(GbeEtcdAlarms)},
    [GBE_MESSAGE_MEMBERS] = {"MemberListResponse", members_fields, sizeof(GbeEtcdMembers)},
    [GBE_MESSAGE_HASH_KV] = {"HashKVResponse", hash_kv_fields, sizeof(GbeEtcdHashKv)},
    [GBE_MESSAGE_RANGE] = {"RangeResponse", range_fields, sizeof(GbeEtcdRange)},
    [GBE_MESSAGE_DEFRAGMENT] = {"DefragmentResponse", only_header_fields, sizeof(GbeEtcdHeader)},
    [GBE_MESSAGE_COMPACTION] = {"CompactionResponse", only_header_fields, sizeof(GbeEtcdHeader)},
    [GBE_MESSAGE_KEYS] = {"RangeResponse", keys_fields, sizeof(GbeEtcdKeys)},
    [GBE_MESSAGE_TXN] = {"TxnResponse", txn_fields, sizeof(GbeEtcdTxn)},
    [GBE_MESSAGE_LEASE_GRANT] = {"LeaseGrantResponse", lease_fields, sizeof(GbeEtcdLease)},
    [GBE_MESSAGE_LEASE_KEEP] = {"LeaseKeepAliveResponse", lease_fields, sizeof(GbeEtcdLease)},
    [GBE_MESSAGE_LEASE_LOOK] = {"LeaseTimeToLiveResponse", lease_fields, sizeof(GbeEtcdLease)},
    [GBE_MESSAGE_LEASE_REVOKE] = {"LeaseRevokeResponse", only_header_fields, sizeof(GbeEtcdHeader)},
    [GBE_MESSAGE_MEMBER_ADD] = {"MemberAddResponse", member_add_fields, sizeof(GbeEtcdMembers)},
    [GBE_MESSAGE_MEMBER_REMOVE] = {"MemberRemoveResponse", members_fields, sizeof(GbeEtcdMembers)},
    [GBE_MESSAGE_MEMBER_UPDATE] = {"MemberUpdateResponse", members_fields, sizeof(GbeEtcdMembers)},
    [GBE_MESSAGE_MEMBER_PROMOTE] = {"MemberPromoteResponse", members_fields,
				    sizeof(GbeEtcdMembers)},
    [GBE_MESSAGE_MOVE_LEADER] = {"MoveLeaderResponse", only_header_fields, sizeof(GbeEtcdHeader)},
    [GBE_MESSAGE_AUTHENTICATE] = {"AuthenticateResponse", token_fields, sizeof(GbeEtcdToken)},
};

static void
clear_fields(const MessageField *fields, gpointer data)
{
	for (const MessageField *field = fields; field->number != 0; field++) {
		gpointer at = (guint8 *)data + field->offset;
		GArray **list = at;

		if (field->kind == KIND_TEXT) {
			g_clear_pointer((char **)at, g_free);
		} else if (field->kind == KIND_TEXTS) {
			g_clear_pointer((GPtrArray **)at, g_ptr_array_unref);
		} else if (field->kind == KIND_PART) {
			clear_fields(field->fields, at);
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
	clear_fields(tables[message].fields, data);
	memset(data, 0, tables[message].size);
}

static bool read_message(GbeProtobuf *pb, const MessageField *fields, gpointer data);

/* False: a text is invalid, a list or a text is too long, or a message within is invalid. */
static bool
read_field(const GbeProtobuf *wire, const MessageField *field, gpointer data)
{
	gpointer at = (guint8 *)data + field->offset;
	const char *text = wire->data != NULL ? (const char *)wire->data : "";
	bool is_text = field->kind == KIND_TEXT || field->kind == KIND_TEXTS;
	bool is_number = field->kind == KIND_U64 || field->kind == KIND_BOOL;
	GPtrArray **texts = at;
	GArray **list = at;
	GbeProtobuf inner = gbe_protobuf_inner(wire);

	/* A field with another wire type than expected counts as unknown. */
	if (wire->type != (is_number ? GBE_WIRE_VARINT : GBE_WIRE_BYTES))
		return true;
	if (is_text &&
	    (wire->size > GBE_MESSAGE_TEXT_MAX || !g_utf8_validate_len(text, wire->size, NULL)))
		return false;
	switch (field->kind) {
	case KIND_U64:
		*(guint64 *)at = wire->value;
		return true;
	case KIND_BOOL:
		*(bool *)at = wire->value != 0;
		return true;
	case KIND_TEXT:
		g_free(*(char **)at);
		*(char **)at = g_strndup(text, wire->size);
		return true;
	case KIND_TEXTS:
		if (*texts == NULL)
			*texts = g_ptr_array_new_with_free_func(g_free);
		if ((*texts)->len >= GBE_MESSAGE_LIST_MAX)
			return false;
		g_ptr_array_add(*texts, g_strndup(text, wire->size));
		return true;
	case KIND_PART:
		return read_message(&inner, field->fields, at);
	case KIND_LIST:
		if (*list == NULL)
			*list = g_array_new(false, true, field->size);
		if ((*list)->len >= GBE_MESSAGE_LIST_MAX)
			return false;
		(void)g_array_set_size(*list, (*list)->len + 1);
		return read_message(&inner, field->fields,
				    (*list)->data + ((*list)->len - 1) * field->size);
	}
	return false;
}

static bool
read_message(GbeProtobuf *pb, const MessageField *fields, gpointer data)
{
	while (gbe_protobuf_next(pb)) {
		const MessageField *field = fields;

		while (field->number != 0 && field->number != pb->number)
			field++;
		if (field->number != 0 && !read_field(pb, field, data))
			return false;
	}
	return !pb->bad;
}

bool
gbe_message_from_protobuf(GbeMessage message, const void *bytes, gsize size, gpointer ret_message,
			  GError **error)
{
	g_autofree gpointer data = g_malloc0(tables[message].size);
	GbeProtobuf pb = gbe_protobuf_begin(bytes, size);

	if (!read_message(&pb, tables[message].fields, data)) {
		gbe_message_clear(message, data);
		return gbe_throw(error, GBE_ERROR_CORRUPT, "not a %s of etcd's",
				 tables[message].name);
	}
	memcpy(ret_message, data, tables[message].size);
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
