/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/unit.h"

#include "base/crc32c.h"

#include <string.h>

/* RFC 3720, appendix B.4. */
START_TEST(known_sums)
{
	guint8 bytes[32];

	memset(bytes, 0, sizeof(bytes));
	ck_assert_uint_eq(gbe_crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	ck_assert_uint_eq(gbe_crc32c(0, bytes, 32), 0x62a8ab43);
	for (guint i = 0; i < 32; i++)
		bytes[i] = (guint8)i;
	ck_assert_uint_eq(gbe_crc32c(0, bytes, 32), 0x46dd794e);
	for (guint i = 0; i < 32; i++)
		bytes[i] = (guint8)(31 - i);
	ck_assert_uint_eq(gbe_crc32c(0, bytes, 32), 0x113fdb5c);
	ck_assert_uint_eq(gbe_crc32c(0, "123456789", 9), 0xe3069283);
	ck_assert_uint_eq(gbe_crc32c_portable(0, "123456789", 9), 0xe3069283);
	ck_assert_uint_eq(gbe_crc32c(0, NULL, 0), 0);
}
END_TEST

static guint8 *
noise(gsize size)
{
	guint8 *bytes = g_malloc(size);
	guint32 state = 1;

	for (gsize i = 0; i < size; i++) {
		state = state * 1664525 + 1013904223;
		bytes[i] = (guint8)(state >> 24);
	}
	return bytes;
}

/* Every length, at every alignment. */
START_TEST(hardware_is_portable)
{
	g_autofree guint8 *bytes = noise(16384);

	for (gsize size = 0; size < 7000; size += size < 800 ? 1 : 37) {
		gsize at = size % 9;

		ck_assert_uint_eq(gbe_crc32c((guint32)size, bytes + at, size),
				  gbe_crc32c_portable((guint32)size, bytes + at, size));
	}
}
END_TEST

START_TEST(pieces_are_the_whole)
{
	g_autofree guint8 *bytes = noise(10000);
	guint32 whole = gbe_crc32c(7, bytes, 10000);

	for (gsize cut = 0; cut <= 10000; cut += 123)
		ck_assert_uint_eq(gbe_crc32c(gbe_crc32c(7, bytes, cut), bytes + cut, 10000 - cut),
				  whole);
}
END_TEST

/* Two streams with different beginnings and the same end. */
START_TEST(shift_tells_the_other_stream)
{
	g_autofree guint8 *bytes = noise(70000);

	for (gsize size = 0; size <= 70000; size = size * 3 + 1) {
		guint32 a = gbe_crc32c(0x12345678, bytes, size);
		guint32 b = gbe_crc32c(0x9abcdef0, bytes, size);

		ck_assert_uint_eq(b, a ^ gbe_crc32c_shift(0x12345678 ^ 0x9abcdef0, size));
	}
	ck_assert_uint_eq(gbe_crc32c_shift(0, G_MAXUINT64), 0);
	ck_assert_uint_eq(gbe_crc32c_shift(gbe_crc32c_shift(99, G_GUINT64_CONSTANT(1) << 40), 5),
			  gbe_crc32c_shift(99, (G_GUINT64_CONSTANT(1) << 40) + 5));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base-crc32c");
	TCase *sums = tcase_create("sums");

	tcase_add_test(sums, known_sums);
	tcase_add_test(sums, hardware_is_portable);
	tcase_add_test(sums, pieces_are_the_whole);
	tcase_add_test(sums, shift_tells_the_other_stream);
	suite_add_tcase(suite, sums);
	return gbe_unit_main(suite);
}
