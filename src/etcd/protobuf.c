/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/protobuf.h"

#include <string.h>

#define VARINT_MAX 10
#define NUMBER_MAX ((G_GUINT64_CONSTANT(1) << 29) - 1)

bool
gbe_protobuf_varint(const guint8 **at, const guint8 *end, guint64 *ret_value)
{
	const guint8 *byte = *at;
	guint64 value = 0;

	for (guint i = 0; i < VARINT_MAX && byte < end; i++, byte++) {
		/* The tenth byte has room only for the 64th bit. */
		if (i == VARINT_MAX - 1 && *byte > 1)
			return false;
		value |= (guint64)(*byte & 0x7f) << (7 * i);
		if ((*byte & 0x80) == 0) {
			*at = byte + 1;
			*ret_value = value;
			return true;
		}
	}
	return false;
}

bool
gbe_protobuf_next(GbeProtobuf *pb)
{
	GbeProtobuf next = {.at = pb->at, .end = pb->end};
	guint64 size;
	guint64 tag;

	if (pb->at == pb->end)
		return false;
	pb->bad = true;
	if (!gbe_protobuf_varint(&next.at, pb->end, &tag) || tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
		return false;
	next.number = (guint32)(tag >> 3);
	next.type = (GbeWireType)(tag & 7);
	switch (next.type) {
	case GBE_WIRE_VARINT:
		if (!gbe_protobuf_varint(&next.at, pb->end, &next.value))
			return false;
		break;
	case GBE_WIRE_FIXED64:
	case GBE_WIRE_FIXED32:
		size = next.type == GBE_WIRE_FIXED64 ? 8 : 4;
		if ((guint64)(pb->end - next.at) < size)
			return false;
		/* Little-endian, so that fewer bytes are the low part. */
		memcpy(&next.value, next.at, size);
		next.value = GUINT64_FROM_LE(next.value);
		next.at += size;
		break;
	case GBE_WIRE_BYTES:
		if (!gbe_protobuf_varint(&next.at, pb->end, &size) ||
		    size > (guint64)(pb->end - next.at))
			return false;
		next.data = next.at;
		next.size = (gsize)size;
		next.at += size;
		break;
	default:
		return false;
	}
	*pb = next;
	return true;
}

bool
gbe_protobuf_numbers(const void *data, gsize size, guint64 *ret_numbers, guint count,
		     guint bytes_at, GbeProtobuf *ret_bytes)
{
	GbeProtobuf pb = gbe_protobuf_begin(data, size);

	while (gbe_protobuf_next(&pb)) {
		if (ret_bytes != NULL && pb.number == bytes_at) {
			if (pb.type != GBE_WIRE_BYTES)
				return false;
			*ret_bytes = pb;
		} else if (pb.number <= count) {
			if (pb.type != GBE_WIRE_VARINT)
				return false;
			ret_numbers[pb.number - 1] = pb.value;
		}
	}
	return !pb.bad;
}

static void
put_varint(GByteArray *to, guint64 value)
{
	guint8 bytes[VARINT_MAX];
	guint size = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (guint8)(value | 0x80);
	bytes[size++] = (guint8)value;
	(void)g_byte_array_append(to, bytes, size);
}

void
gbe_protobuf_put_varint(GByteArray *to, guint32 number, guint64 value)
{
	put_varint(to, (guint64)number << 3 | GBE_WIRE_VARINT);
	put_varint(to, value);
}

void
gbe_protobuf_put_bytes(GByteArray *to, guint32 number, const void *data, gsize size)
{
	g_return_if_fail(size <= G_MAXUINT32);
	put_varint(to, (guint64)number << 3 | GBE_WIRE_BYTES);
	put_varint(to, size);
	(void)g_byte_array_append(to, data, (guint)size);
}

void
gbe_protobuf_put_string(GByteArray *to, guint32 number, const char *text)
{
	gbe_protobuf_put_bytes(to, number, text, strlen(text));
}
