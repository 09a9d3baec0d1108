/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Protocol buffers' wire format (protobuf.dev, "Encoding"), as far as etcd uses it: in its API, log, .snap files and
 * the values in its database. The reader works in place on bytes of any origin: it trusts no length and allocates
 * nothing. The writer appends to a GByteArray.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Groups (3 and 4), which proto3 does not have, are invalid here. */
typedef enum {
	GBE_WIRE_VARINT = 0,
	GBE_WIRE_FIXED64 = 1,
	GBE_WIRE_BYTES = 2,
	GBE_WIRE_FIXED32 = 5,
} GbeWireType;

/* A message, and the last field that was read from it. The memory is borrowed. */
typedef struct {
	const guint8 *at, *end; /* the rest of the message */
	bool bad;		/* the message ended within a field, or is invalid */
	/* The field. */
	guint32 number; /* 1 to 2^29-1 */
	GbeWireType type;
	guint64 value;	    /* of a varint or a fixed number (int64 as two's complement); else 0 */
	const guint8 *data; /* of GBE_WIRE_BYTES, in the message's memory; else NULL */
	gsize size;
} GbeProtobuf;

static inline GbeProtobuf
gbe_protobuf_begin(const void *data, gsize size)
{
	return (GbeProtobuf){.at = data, .end = size > 0 ? (const guint8 *)data + size : data};
}

/* Reads the next field. False: the message has ended, or ->bad is set; the field stays. Later calls return the same. */
bool gbe_protobuf_next(GbeProtobuf *pb);
/* Reads one number at *at, of at most ten bytes and 64 bits, and moves *at after it. On false both stay as they are. */
bool gbe_protobuf_varint(const guint8 **at, const guint8 *end, guint64 *ret_value);

/* Has the field this number and type? */
static inline bool
gbe_protobuf_is(const GbeProtobuf *pb, guint32 number, GbeWireType type)
{
	return pb->number == number && pb->type == type;
}

/* The field's bytes as a message. */
static inline GbeProtobuf
gbe_protobuf_inner(const GbeProtobuf *pb)
{
	return gbe_protobuf_begin(pb->data, pb->size);
}

/* Reads a whole message of which the numbers 1 to @count and, unless @bytes is NULL, the bytes with the number @bytes_at
 * are wanted. 0, or NULL in @ret_bytes->data, is missing. Unknown fields are skipped, as in etcd's reader. False: the
 * message is invalid, or a wanted field is of another type. */
bool gbe_protobuf_numbers(const void *data, gsize size, guint64 *ret_numbers, guint count,
			  guint bytes_at, GbeProtobuf *ret_bytes);

void gbe_protobuf_put_varint(GByteArray *to, guint32 number, guint64 value);
void gbe_protobuf_put_bytes(GByteArray *to, guint32 number, const void *data, gsize size);
void gbe_protobuf_put_string(GByteArray *to, guint32 number, const char *text);
