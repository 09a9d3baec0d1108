/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/raft-request.h"

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

/* The v2 API's keys are below /1; etcd's own data is below /0. */
#define V2_KEYS "/1/"

/* Request of the v2 API: 1 ID, 2 Method, 3 Path. */
static GbeRaftKind
kind_of_v2(const guint8 *at, gsize size)
{
	GbeProtobuf pb;
	GbeField field;

	gbe_protobuf_init(&pb, at, size);
	while (gbe_protobuf_next(&pb, &field) == GBE_FIELD_NEXT)
		if (gbe_field_is(&field, 3, GBE_WIRE_BYTES))
			return field.size > strlen(V2_KEYS) &&
				       memcmp(field.data, V2_KEYS, strlen(V2_KEYS)) == 0
				   ? GBE_RAFT_V2_KEY
				   : GBE_RAFT_NOTHING;
	/* Too few bytes to tell, or no path: SYNC has none. */
	return pb.at == pb.end ? GBE_RAFT_NOTHING : GBE_RAFT_V2_KEY;
}

/* AlarmRequest: 1 action. It is 0, and absent, in a mere query, such as a health check. */
static GbeRaftKind
kind_of_alarm(const GbeField *alarm)
{
	GbeProtobuf pb;
	GbeField field;
	GbeFieldResult result;

	if (alarm->type != GBE_WIRE_BYTES)
		return GBE_RAFT_V3;
	gbe_protobuf_init(&pb, alarm->data, alarm->size);
	while ((result = gbe_protobuf_next(&pb, &field)) == GBE_FIELD_NEXT)
		if (field.number == 1 && (field.type != GBE_WIRE_VARINT || field.value != 0))
			return GBE_RAFT_V3;
	return result == GBE_FIELD_END ? GBE_RAFT_NOTHING : GBE_RAFT_V3;
}

/* Reads the number before the field at *at. 0: there is none. */
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

/* A request of the v2 API may stand alone: 3.4 still writes its member's name that way. Its second field is then a
 * method, which no other message begins with. */
static bool
is_method(const GbeField *field)
{
	for (gsize i = 0; i < field->size; i++)
		if (!g_ascii_isupper(field->data[i]))
			return false;
	return field->size >= strlen("GET") && field->size <= strlen("DELETE");
}

/* etcd writes fields in the order of their numbers, and a request has one of them besides ID and header. */
GbeRaftKind
gbe_raft_request_kind(const guint8 *at, gsize have)
{
	GbeProtobuf pb;
	GbeField field;
	guint32 number;

	gbe_protobuf_init(&pb, at, have);
	while ((number = number_at(&pb)) != 0) {
		GbeFieldResult result;

		if (!means_nothing(number) && number != FIELD_V2 && number != FIELD_ALARM)
			return GBE_RAFT_V3;
		result = gbe_protobuf_next(&pb, &field);
		if (result != GBE_FIELD_NEXT)
			return number == FIELD_V2 ? GBE_RAFT_V2_KEY : GBE_RAFT_V3;
		if (number == FIELD_ALARM && kind_of_alarm(&field) != GBE_RAFT_NOTHING)
			return GBE_RAFT_V3;
		if (number == FIELD_V2 && field.type == GBE_WIRE_BYTES)
			return is_method(&field) ? kind_of_v2(at, have)
						 : kind_of_v2(field.data, field.size);
	}
	return pb.at == pb.end ? GBE_RAFT_NOTHING : GBE_RAFT_V3;
}
