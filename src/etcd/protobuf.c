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

static bool
read_fixed(const guint8 **at, const guint8 *end, gsize size, guint64 *ret_value)
{
	guint64 value = 0;

	if ((gsize)(end - *at) < size)
		return false;
	/* Little-endian, so that fewer bytes are the low part. */
	memcpy(&value, *at, size);
	*at += size;
	*ret_value = GUINT64_FROM_LE(value);
	return true;
}

GbeFieldResult
gbe_protobuf_next(GbeProtobuf *pb, GbeField *ret_field)
{
	const guint8 *at = pb->at;
	GbeField field = {0};
	bool good = false;
	guint64 size;
	guint64 tag;

	if (at == pb->end)
		return GBE_FIELD_END;
	if (!gbe_protobuf_varint(&at, pb->end, &tag) || tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
		return GBE_FIELD_BAD;
	field.number = (guint32)(tag >> 3);
	field.type = (GbeWireType)(tag & 7);
	switch (field.type) {
	case GBE_WIRE_VARINT:
		good = gbe_protobuf_varint(&at, pb->end, &field.value);
		break;
	case GBE_WIRE_FIXED64:
		good = read_fixed(&at, pb->end, 8, &field.value);
		break;
	case GBE_WIRE_FIXED32:
		good = read_fixed(&at, pb->end, 4, &field.value);
		break;
	case GBE_WIRE_BYTES:
		good = gbe_protobuf_varint(&at, pb->end, &size) && size <= (guint64)(pb->end - at);
		if (good) {
			field.data = at;
			field.size = (gsize)size;
			at += size;
		}
		break;
	}
	if (!good)
		return GBE_FIELD_BAD;
	pb->at = at;
	*ret_field = field;
	return GBE_FIELD_NEXT;
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
