/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/unpack.h"
#include "unit/fs-place.h"

#define SUM 148

static void
set_sum(guint8 *block)
{
	guint sum = 0;
	char text[8];

	memset(block + SUM, ' ', 8);
	for (gsize i = 0; i < GBE_TAR_BLOCK; i++)
		sum += block[i];
	(void)g_snprintf(text, sizeof(text), "%06o", sum);
	memcpy(block + SUM, text, 7);
}

static void
make_header(guint8 block[GBE_TAR_BLOCK], const char *name, guint8 type, const char *size)
{
	memset(block, 0, GBE_TAR_BLOCK);
	memcpy(block, name, strlen(name));
	memcpy(block + 124, size, strlen(size));
	block[156] = type;
	memcpy(block + 257,
	       "ustar\0"
	       "00",
	       8);
	set_sum(block);
}

START_TEST(headers)
{
	static const struct {
		guint8 type;
		GbeTarKind kind;
	} kinds[] = {
	    {'0', GBE_TAR_FILE},  {'\0', GBE_TAR_FILE}, {'5', GBE_TAR_DIRECTORY},
	    {'1', GBE_TAR_OTHER}, {'2', GBE_TAR_OTHER}, {'3', GBE_TAR_OTHER},
	    {'6', GBE_TAR_OTHER}, {'x', GBE_TAR_ABOUT}, {'L', GBE_TAR_ABOUT},
	    {'S', GBE_TAR_OTHER}, {'M', GBE_TAR_OTHER},
	};
	guint8 block[GBE_TAR_BLOCK];
	GbeTarHeader header;

	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
		make_header(block, "dir/file", kinds[i].type, "00000001750");
		gbe_tar_header_read(block, &header);
		ck_assert_int_eq(header.kind, kinds[i].kind);
		ck_assert_uint_eq(header.size, 1000);
		ck_assert_str_eq(header.name, "dir/file");
	}
	/* Any byte that changes is seen, but for what ends the sum itself. */
	make_header(block, "file", '0', "00000000001");
	for (gsize at = 0; at < GBE_TAR_BLOCK; at++) {
		if (at == SUM + 7)
			continue;
		block[at] ^= 0x41;
		gbe_tar_header_read(block, &header);
		ck_assert_msg(header.kind == GBE_TAR_BAD, "byte %zu", at);
		block[at] ^= 0x41;
	}
	memset(block, 0, sizeof(block));
	gbe_tar_header_read(block, &header);
	ck_assert_int_eq(header.kind, GBE_TAR_END);
}
END_TEST

START_TEST(large_sizes)
{
	static const guint8 large[12] = {0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0};
	static const guint8 absurd[12] = {0xff, 255, 255, 255, 255, 255,
					  255,	255, 255, 255, 255, 255};
	guint8 block[GBE_TAR_BLOCK];
	GbeTarHeader header;

	make_header(block, "file", '0', "");
	memcpy(block + 124, large, sizeof(large));
	set_sum(block);
	gbe_tar_header_read(block, &header);
	ck_assert_int_eq(header.kind, GBE_TAR_FILE);
	ck_assert_uint_eq(header.size, G_GUINT64_CONSTANT(1) << 33);
	memcpy(block + 124, absurd, sizeof(absurd));
	set_sum(block);
	gbe_tar_header_read(block, &header);
	ck_assert_int_eq(header.kind, GBE_TAR_BAD);
	make_header(block, "file", '0', "12x");
	gbe_tar_header_read(block, &header);
	ck_assert_int_eq(header.kind, GBE_TAR_BAD);
}
END_TEST

START_TEST(names)
{
	ck_assert(gbe_tar_name_is_safe("file"));
	ck_assert(gbe_tar_name_is_safe("./dir/file"));
	ck_assert(gbe_tar_name_is_safe("dir/"));
	ck_assert(gbe_tar_name_is_safe("..file"));
	ck_assert(!gbe_tar_name_is_safe(""));
	ck_assert(!gbe_tar_name_is_safe("/file"));
	ck_assert(!gbe_tar_name_is_safe("../file"));
	ck_assert(!gbe_tar_name_is_safe("dir/../../file"));
	ck_assert(!gbe_tar_name_is_safe("dir/.."));
}
END_TEST

static bool
take(const void *bytes, gsize size, gpointer data, GError **error)
{
	(void)g_byte_array_append(data, bytes, (guint)size);
	return true;
}

/* What is no archive and not packed is itself, of any size. */
START_TEST(plain)
{
	static const gsize sizes[] = {0, 1, 511, 512, 513, 65536, 200001};

	for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autofree char *bytes = g_malloc(sizes[i] + 1);
		g_autoptr(GByteArray) got = g_byte_array_new();
		g_autoptr(GError) error = NULL;
		gbe_autofd int fd = -1;

		for (gsize at = 0; at < sizes[i]; at++)
			bytes[at] = (char)('a' + at % 23);
		bytes[sizes[i]] = '\0';
		put("plain", bytes);
		fd = openat(place, "plain", O_RDONLY | O_CLOEXEC);
		assert_ok(gbe_unpack_one(fd, "plain", take, got, &error), error);
		ck_assert_uint_eq(got->len, sizes[i]);
		if (sizes[i] > 0)
			ck_assert_mem_eq(got->data, bytes, sizes[i]);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-unpack");
	TCase *tcase = place_case(suite, "unpack");

	tcase_add_test(tcase, headers);
	tcase_add_test(tcase, large_sizes);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, plain);
	return gbe_unit_main(suite);
}
