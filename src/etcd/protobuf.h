/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Protocol buffers' wire format (protobuf.dev, "Encoding"), as far as etcd uses it: in its API, its write-ahead
 * log, its .snap files and the values in its database. The reader works in place on bytes that may come from
 * anybody: it trusts no length and allocates nothing. The writer appends to a GByteArray.
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

/* The rest of a message. The memory is borrowed. */
typedef struct {
	const guint8 *at;
	const guint8 *end;
} GbeProtobuf;

typedef struct {
	guint32 number; /* 1 to 2^29-1 */
	GbeWireType type;
	guint64 value;	    /* of a varint or a fixed number (int64 as two's complement); else 0 */
	const guint8 *data; /* of GBE_WIRE_BYTES, in the message's memory; else NULL */
	gsize size;
} GbeField;

typedef enum {
	GBE_FIELD_NEXT,
	GBE_FIELD_END, /* the message ended at the end of a field */
	/* the message ended within a field, or is invalid; later calls return this again */
	GBE_FIELD_BAD,
} GbeFieldResult;

static inline void
gbe_protobuf_init(GbeProtobuf *pb, const void *data, gsize size)
{
	pb->at = data;
	pb->end = size > 0 ? pb->at + size : pb->at;
}

/* @ret_field is set with GBE_FIELD_NEXT only. */
GbeFieldResult gbe_protobuf_next(GbeProtobuf *pb, GbeField *ret_field);
/* Reads one number at *at, of at most ten bytes and 64 bits, and moves *at behind it. On false both stay as they
 * are. */
bool gbe_protobuf_varint(const guint8 **at, const guint8 *end, guint64 *ret_value);

/* Has the field this number and type? gbe_field_open() reads its bytes as a message. */
static inline bool
gbe_field_is(const GbeField *field, guint32 number, GbeWireType type)
{
	return field->number == number && field->type == type;
}

static inline void
gbe_field_open(const GbeField *field, GbeProtobuf *ret_message)
{
	gbe_protobuf_init(ret_message, field->data, field->size);
}

void gbe_protobuf_put_varint(GByteArray *to, guint32 number, guint64 value);
void gbe_protobuf_put_bytes(GByteArray *to, guint32 number, const void *data, gsize size);
void gbe_protobuf_put_string(GByteArray *to, guint32 number, const char *text);
