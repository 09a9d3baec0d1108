/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/raft-request.h"

#include "etcd/protobuf.h"

#include <string.h>

/* Fields of InternalRaftRequest. */
enum {
	FIELD_ID = 1,
	FIELD_V2 = 2,
	FIELD_RANGE = 3,
	FIELD_ALARM = 10,
	FIELD_HEADER = 100,
	FIELD_CLUSTER_VERSION = 1300,
	FIELD_MEMBER_ATTRIBUTES = 1301,
	FIELD_DOWNGRADE = 1302,
};

/* The v2 API's keys are below /1, what etcd keeps for itself below /0. */
#define V2_KEYS "/1/"

/* Request of the v2 API: 1 ID, 2 Method, 3 Path. */
static GbeRequestKind
kind_of_v2(const guint8 *at, gsize size)
{
	GbeProtobuf pb;
	GbeField field;

	gbe_protobuf_init(&pb, at, size);
	while (gbe_protobuf_next(&pb, &field) == GBE_FIELD_NEXT)
		if (gbe_field_is(&field, 3, GBE_WIRE_BYTES))
			return field.size > strlen(V2_KEYS) &&
				       memcmp(field.data, V2_KEYS, strlen(V2_KEYS)) == 0
				   ? GBE_REQUEST_V2_KEY
				   : GBE_REQUEST_NOTHING;
	/* Too little of it to tell, or none: SYNC has no path. */
	return pb.at == pb.end ? GBE_REQUEST_NOTHING : GBE_REQUEST_V2_KEY;
}

/* AlarmRequest: 1 action, which is 0, and left out, where somebody only asks which there are, as whoever looks
 * at etcd's health does. */
static GbeRequestKind
kind_of_alarm(const GbeField *alarm)
{
	GbeProtobuf pb;
	GbeField field;
	GbeFieldResult result;

	if (alarm->type != GBE_WIRE_BYTES)
		return GBE_REQUEST_V3;
	gbe_protobuf_init(&pb, alarm->data, alarm->size);
	while ((result = gbe_protobuf_next(&pb, &field)) == GBE_FIELD_NEXT)
		if (field.number == 1 && (field.type != GBE_WIRE_VARINT || field.value != 0))
			return GBE_REQUEST_V3;
	return result == GBE_FIELD_END ? GBE_REQUEST_NOTHING : GBE_REQUEST_V3;
}

/* The number before the field at *at; 0: there is none. */
static guint32
number_at(const GbeProtobuf *pb)
{
	const guint8 *at = pb->at;
	guint64 tag = 0;

	if (at == pb->end || !gbe_protobuf_varint(&at, pb->end, &tag))
		return 0;
	return (guint32)MIN(tag >> 3, G_MAXUINT32);
}

static bool
means_nothing(guint32 number)
{
	switch (number) {
	case FIELD_ID:
	case FIELD_RANGE:
	case FIELD_HEADER:
	case FIELD_CLUSTER_VERSION:
	case FIELD_MEMBER_ATTRIBUTES:
	case FIELD_DOWNGRADE:
		return true;
	default:
		return false;
	}
}

/* A request of the v2 API may stand alone, as 3.4 still writes the name of its member: its second field is
 * a method then, which no message begins like. */
static bool
is_method(const GbeField *field)
{
	for (gsize i = 0; i < field->size; i++)
		if (!g_ascii_isupper(field->data[i]))
			return false;
	return field->size >= strlen("GET") && field->size <= strlen("DELETE");
}

/* etcd writes fields in the order of their numbers, and one request has one of them beside ID and
 * header. */
GbeRequestKind
gbe_raft_request_kind(const guint8 *at, gsize have)
{
	GbeProtobuf pb;
	GbeField field;
	guint32 number;

	gbe_protobuf_init(&pb, at, have);
	while ((number = number_at(&pb)) != 0) {
		GbeFieldResult result;

		if (!means_nothing(number) && number != FIELD_V2 && number != FIELD_ALARM)
			return GBE_REQUEST_V3;
		result = gbe_protobuf_next(&pb, &field);
		if (result != GBE_FIELD_NEXT)
			return number == FIELD_V2 ? GBE_REQUEST_V2_KEY : GBE_REQUEST_V3;
		if (number == FIELD_ALARM && kind_of_alarm(&field) != GBE_REQUEST_NOTHING)
			return GBE_REQUEST_V3;
		if (number == FIELD_V2 && field.type == GBE_WIRE_BYTES)
			return is_method(&field) ? kind_of_v2(at, have)
						 : kind_of_v2(field.data, field.size);
	}
	return pb.at == pb.end ? GBE_REQUEST_NOTHING : GBE_REQUEST_V3;
}
