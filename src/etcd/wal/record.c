/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/record.h"

#include <string.h>

#include "etcd/protobuf.h"

#define LENGTH_MASK G_GUINT64_CONSTANT(0x00ffffffffffffff)
#define MEMBERS_MAX 1024

/* A field's tag: its number and wire type, as in the bytes. */
#define TAG(number, type) ((guint8)((number) << 3 | (type)))

bool
gbe_wal_frame_read(const guint8 *at, GbeWalFrame *ret_frame)
{
	guint64 field;

	memcpy(&field, at, sizeof(field));
	field = GUINT64_FROM_LE(field);
	ret_frame->length = field & LENGTH_MASK;
	ret_frame->padding = (field >> 63) != 0 ? (field >> 56) & 7 : 0;
	return field != 0;
}

/* Reads a number after its @tag. Leaves *at alone where another tag is there. */
static inline bool
take_number(const guint8 **at, const guint8 *end, guint8 tag, guint64 *ret_value)
{
	const guint8 *next = *at + 1;

	if (next >= end || **at != tag)
		return false;
	/* Most numbers are small, and there are millions of them. */
	if (*next < 0x80)
		*ret_value = *next++;
	else if (!gbe_protobuf_varint(&next, end, ret_value))
		return false;
	*at = next;
	return true;
}

/* The rest of a message of @length bytes that began at @start: bytes after their @tag up to the message's end, or
 * nothing. */
static inline bool
take_rest(const guint8 *start, const guint8 *at, const guint8 *end, guint64 length, guint8 tag,
	  gsize *ret_head, guint64 *ret_size)
{
	guint64 size = 0;

	if ((guint64)(at - start) < length && !take_number(&at, end, tag, &size))
		return false;
	if (size != length - (guint64)(at - start))
		return false;
	*ret_head = (gsize)(at - start);
	*ret_size = size;
	return true;
}

bool
gbe_wal_record_crc(const guint8 *at, gsize have, guint32 *ret_crc)
{
	const guint8 *end = at + have;
	guint64 type;
	guint64 crc;

	if (!take_number(&at, end, TAG(1, GBE_WIRE_VARINT), &type) ||
	    !take_number(&at, end, TAG(2, GBE_WIRE_VARINT), &crc) || crc > G_MAXUINT32)
		return false;
	*ret_crc = (guint32)crc;
	return true;
}

bool
gbe_wal_record_read(const guint8 *at, gsize have, guint64 length, GbeWalRecord *ret_record)
{
	const guint8 *next = at;
	const guint8 *end = at + have;
	GbeWalRecord record = {0};
	guint64 numbers[2] = {0};
	GbeProtobuf data = {0};

	if (!take_number(&next, end, TAG(1, GBE_WIRE_VARINT), &numbers[0]) ||
	    !take_number(&next, end, TAG(2, GBE_WIRE_VARINT), &numbers[1]) ||
	    !take_rest(at, next, end, length, TAG(3, GBE_WIRE_BYTES), &record.head, &record.size)) {
		if (have < length || !gbe_protobuf_numbers(at, have, numbers, 2, 3, &data))
			return false;
		record.head = data.data != NULL ? (gsize)(data.data - at) : have;
		record.size = data.size;
	}
	record.type = numbers[0];
	record.crc = (guint32)numbers[1];
	*ret_record = record;
	return true;
}

bool
gbe_wal_record_length(const guint8 *at, gsize have, guint64 *ret_length)
{
	const guint8 *next = at;
	const guint8 *end = at + have;
	guint64 number;
	guint64 size;

	if (!take_number(&next, end, TAG(1, GBE_WIRE_VARINT), &number) ||
	    !take_number(&next, end, TAG(2, GBE_WIRE_VARINT), &number) ||
	    !take_number(&next, end, TAG(3, GBE_WIRE_BYTES), &size) ||
	    size > G_MAXINT64 - (guint64)(next - at))
		return false;
	*ret_length = (guint64)(next - at) + size;
	return true;
}

bool
gbe_wal_entry_read(const guint8 *at, gsize have, guint64 size, GbeWalEntry *ret_entry)
{
	const guint8 *next = at;
	const guint8 *end = at + have;
	GbeWalEntry entry = {0};
	guint64 numbers[3] = {0};
	GbeProtobuf data = {0};

	/* etcd 3.7 leaves out a number that is 0: the type of most entries. */
	for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
		(void)take_number(&next, end, TAG(i + 1, GBE_WIRE_VARINT), &numbers[i]);
	if (!take_rest(at, next, end, size, TAG(4, GBE_WIRE_BYTES), &entry.head, &entry.size)) {
		memset(numbers, 0, sizeof(numbers));
		if (have < size || !gbe_protobuf_numbers(at, have, numbers, 3, 4, &data))
			return false;
		entry.head = data.data != NULL ? (gsize)(data.data - at) : have;
		entry.size = data.size;
	}
	entry.type = numbers[0];
	entry.term = numbers[1];
	entry.index = numbers[2];
	*ret_entry = entry;
	return true;
}

bool
gbe_wal_state_read(const guint8 *at, gsize size, GbeHardState *ret_state)
{
	const guint8 *next = at;
	const guint8 *end = at + size;
	guint64 numbers[3] = {0};

	if (!(take_number(&next, end, TAG(1, GBE_WIRE_VARINT), &numbers[0]) &&
	      take_number(&next, end, TAG(2, GBE_WIRE_VARINT), &numbers[1]) &&
	      take_number(&next, end, TAG(3, GBE_WIRE_VARINT), &numbers[2]) && next == end)) {
		memset(numbers, 0, sizeof(numbers));
		if (!gbe_protobuf_numbers(at, size, numbers, 3, 0, NULL))
			return false;
	}
	*ret_state = (GbeHardState){.term = numbers[0], .vote = numbers[1], .commit = numbers[2]};
	return true;
}

bool
gbe_wal_snapshot_read(const guint8 *at, gsize size, GbeRaftPoint *ret_point, GbeBytes *ret_conf)
{
	guint64 numbers[2] = {0};
	GbeProtobuf conf = {0};

	if (!gbe_protobuf_numbers(at, size, numbers, 2, 3, &conf))
		return false;
	*ret_point = (GbeRaftPoint){.index = numbers[0], .term = numbers[1]};
	if (ret_conf != NULL)
		*ret_conf = (GbeBytes){.at = conf.data, .size = conf.size};
	return true;
}

void
gbe_conf_state_clear(GbeConfState *conf)
{
	g_clear_pointer(&conf->voters, g_array_unref);
	g_clear_pointer(&conf->learners, g_array_unref);
}

void
gbe_conf_state_init(GbeConfState *conf)
{
	conf->voters = g_array_new(false, false, sizeof(guint64));
	conf->learners = g_array_new(false, false, sizeof(guint64));
}

static guint
find_node(const GArray *nodes, guint64 node)
{
	guint i = 0;

	while (i < nodes->len && g_array_index(nodes, guint64, i) != node)
		i++;
	return i;
}

static bool
add_member(GArray *nodes, guint64 node)
{
	if (find_node(nodes, node) < nodes->len)
		return true;
	if (nodes->len >= MEMBERS_MAX)
		return false;
	g_array_append_val(nodes, node);
	return true;
}

/* 1 voters, 2 learners, 3 outgoing voters, 4 future learners, who have no vote: one by one, or packed. */
static bool
add_field(GbeConfState *conf, const GbeProtobuf *field)
{
	GArray *nodes = field->number % 2 == 1 ? conf->voters : conf->learners;
	const guint8 *at = field->data;
	guint64 node;

	if (field->number > 4)
		return true;
	if (field->type == GBE_WIRE_VARINT)
		return add_member(nodes, field->value);
	if (field->type != GBE_WIRE_BYTES)
		return false;
	while (at < field->data + field->size)
		if (!gbe_protobuf_varint(&at, field->data + field->size, &node) ||
		    !add_member(nodes, node))
			return false;
	return true;
}

bool
gbe_conf_state_read(const guint8 *at, gsize size, GbeConfState *ret_conf)
{
	g_auto(GbeConfState) conf = {NULL};
	GbeProtobuf pb = gbe_protobuf_begin(at, size);

	gbe_conf_state_init(&conf);
	while (gbe_protobuf_next(&pb))
		if (!add_field(&conf, &pb))
			return false;
	if (pb.bad)
		return false;
	*ret_conf = conf;
	conf = (GbeConfState){0};
	return true;
}

void
gbe_conf_state_apply(GbeConfState *conf, const GbeConfChange *change)
{
	GArray *const both[] = {conf->voters, conf->learners};
	bool moves = change->type == GBE_CONF_ADD || change->type == GBE_CONF_REMOVE;

	/* An update changes addresses only. */
	for (guint i = 0; i < G_N_ELEMENTS(both) && moves; i++) {
		guint at = find_node(both[i], change->node);

		if (at < both[i]->len)
			g_array_remove_index(both[i], at);
	}
	if (change->type == GBE_CONF_ADD)
		(void)add_member(conf->voters, change->node);
	else if (change->type == GBE_CONF_ADD_LEARNER)
		(void)add_member(conf->learners, change->node);
}
