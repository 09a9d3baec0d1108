/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/protobuf.h"

#include "lib/unit.h"

#include <string.h>

/* The copy ends where its memory does, so that a sanitizer sees a read beyond it. */
static bool
next_of(const void *bytes, gsize size, GbeProtobuf *field, gsize *ret_used)
{
	guint8 *exact = g_malloc(size);
	guint32 before = field->number;
	bool result;

	if (size > 0)
		memcpy(exact, bytes, size);
	*field = gbe_protobuf_begin(exact, size);
	field->number = before;
	result = gbe_protobuf_next(field);
	*ret_used = (gsize)(field->at - exact);
	/* Only told apart from NULL by those who use this. */
	g_free(exact);
	return result;
}

START_TEST(varints)
{
	static const struct {
		const char *bytes;
		gsize size;
		guint64 value;
	} good[] = {
	    {"\x00", 1, 0},
	    {"\x7f", 1, 127},
	    {"\x80\x01", 2, 128},
	    {"\xac\x02", 2, 300},
	    {"\x80\x00", 2, 0}, /* longer than necessary, but allowed */
	    {"\x96\x01\xff", 2, 150},
	    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, G_MAXUINT64},
	    {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10, G_GUINT64_CONSTANT(1) << 63},
	};
	static const struct {
		const char *bytes;
		gsize size;
	} bad[] = {
	    {"", 0},
	    {"\x80", 1},
	    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9},
	    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10},
	    {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
		const guint8 *start = (const guint8 *)good[i].bytes;
		const guint8 *at = start;
		guint64 value = 1;

		ck_assert(gbe_protobuf_varint(&at, start + good[i].size, &value));
		ck_assert_uint_eq(value, good[i].value);
		ck_assert_uint_eq((gsize)(at - start), good[i].size);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		const guint8 *start = (const guint8 *)bad[i].bytes;
		const guint8 *at = start;
		guint64 value = 77;

		ck_assert(!gbe_protobuf_varint(&at, start + bad[i].size, &value));
		ck_assert_ptr_eq(at, start);
		ck_assert_uint_eq(value, 77);
	}
}
END_TEST

START_TEST(fields)
{
	static const struct {
		const char *bytes;
		gsize size;
		guint32 number;
		GbeWireType type;
		guint64 value;
		gsize length;
	} cases[] = {
	    {"\x08\x96\x01", 3, 1, GBE_WIRE_VARINT, 150, 0},
	    {"\x12\x07testing", 9, 2, GBE_WIRE_BYTES, 0, 7},
	    {"\x12\x00", 2, 2, GBE_WIRE_BYTES, 0, 0},
	    {"\x11\x01\x02\x03\x04\x05\x06\x07\x08", 9, 2, GBE_WIRE_FIXED64,
	     G_GUINT64_CONSTANT(0x0807060504030201), 0},
	    {"\x15\x01\x02\x03\x84", 5, 2, GBE_WIRE_FIXED32, 0x84030201, 0},
	    {"\xf8\xff\xff\xff\x0f\x01", 6, (1 << 29) - 1, GBE_WIRE_VARINT, 1, 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		GbeProtobuf field = {0};
		gsize used;

		ck_assert(next_of(cases[i].bytes, cases[i].size, &field, &used));
		ck_assert_uint_eq(used, cases[i].size);
		ck_assert_uint_eq(field.number, cases[i].number);
		ck_assert_int_eq((int)field.type, (int)cases[i].type);
		ck_assert_uint_eq(field.value, cases[i].value);
		ck_assert_uint_eq(field.size, cases[i].length);
		/* One byte less is never enough. */
		for (gsize size = 1; size < cases[i].size; size++) {
			field.number = 99;
			ck_assert(!next_of(cases[i].bytes, size, &field, &used));
			ck_assert(field.bad);
			ck_assert_uint_eq(used, 0);
			ck_assert_uint_eq(field.number, 99);
		}
	}
}
END_TEST

START_TEST(garbage)
{
	static const struct {
		const char *bytes;
		gsize size;
	} bad[] = {
	    {"\x00\x01", 2},					  /* field number 0 */
	    {"\x02\x00", 2},					  /* field number 0, as bytes */
	    {"\x0b\x0c", 2},					  /* a group */
	    {"\x0c", 1},					  /* a group's end alone */
	    {"\x0e\x00", 2},					  /* undefined wire types */
	    {"\x0f\x00", 2},					  /* */
	    {"\x80\x80\x80\x80\x10\x01", 6},			  /* field number 2^29 */
	    {"\x12\xff\xff\xff\xff\x0f", 6},			  /* 4 GiB of bytes */
	    {"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}, /* 2^64-1 bytes */
	};
	GbeProtobuf field = {0};
	gsize used;

	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
		ck_assert_msg(!next_of(bad[i].bytes, bad[i].size, &field, &used) && field.bad,
			      "case %zu", i);
	ck_assert(!next_of("", 0, &field, &used));
	ck_assert(!field.bad);
}
END_TEST

/* Written fields are read again, in this order, to the end. Fields after a bad one are not read. */
START_TEST(written_is_read)
{
	static const guint64 values[] = {0, 1, 127, 128, 16383, 16384, G_MAXUINT32, G_MAXUINT64};
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	GbeProtobuf pb, inner;

	for (guint i = 0; i < G_N_ELEMENTS(values); i++)
		gbe_protobuf_put_varint(bytes, i + 1, values[i]);
	gbe_protobuf_put_string(bytes, 100, "etcd");
	gbe_protobuf_put_bytes(bytes, (1 << 29) - 1, "\x08\x01", 2);
	pb = gbe_protobuf_begin(bytes->data, bytes->len);
	for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
		ck_assert(gbe_protobuf_next(&pb));
		ck_assert(gbe_protobuf_is(&pb, i + 1, GBE_WIRE_VARINT));
		ck_assert_uint_eq(pb.value, values[i]);
		ck_assert_ptr_null(pb.data);
	}
	ck_assert(gbe_protobuf_next(&pb));
	ck_assert(gbe_protobuf_is(&pb, 100, GBE_WIRE_BYTES));
	ck_assert_mem_eq(pb.data, "etcd", 4);
	ck_assert(gbe_protobuf_next(&pb));
	inner = gbe_protobuf_inner(&pb);
	ck_assert(gbe_protobuf_next(&inner));
	ck_assert(gbe_protobuf_is(&inner, 1, GBE_WIRE_VARINT));
	ck_assert(!gbe_protobuf_next(&inner) && !inner.bad);
	ck_assert(!gbe_protobuf_next(&pb) && !pb.bad);
	ck_assert(!gbe_protobuf_next(&pb) && !pb.bad);
	pb = gbe_protobuf_begin("\x00\x08\x01", 3);
	ck_assert(!gbe_protobuf_next(&pb) && pb.bad);
	ck_assert(!gbe_protobuf_next(&pb) && pb.bad);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-protobuf");
	TCase *tests = tcase_create("protobuf");

	tcase_add_test(tests, varints);
	tcase_add_test(tests, fields);
	tcase_add_test(tests, garbage);
	tcase_add_test(tests, written_is_read);
	suite_add_tcase(suite, tests);
	return gbe_unit_main(suite);
}
