/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/samples.h"

#include "etcd/layout.h"
#include "etcd/wal/read.h"

#define SEGMENT "0000000000000000-0000000000000000.wal"

START_TEST(names)
{
	static const char *const bad[] = {
	    "",
	    "0.tmp",
	    "0000000000000000-0000000000000000.wal.broken",
	    "0000000000000000-0000000000000000.wa",
	    "0000000000000000-000000000000000.wal",
	    "0000000000000000_0000000000000000.wal",
	    "000000000000000A-0000000000000000.wal",
	    "000000000000000g-0000000000000000.wal",
	    "0000000000000000-00000000000000000.wal",
	    "0000000000000000-0000000000000000",
	    "-",
	};

	ck_assert(gbe_layout_is_segment(SEGMENT));
	ck_assert(gbe_layout_is_segment("00000000000000ff-0123456789abcdef.wal"));
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
		ck_assert_msg(!gbe_layout_is_segment(bad[i]), "%s", bad[i]);
}
END_TEST

typedef struct {
	bool found;
	guint64 offset;
	guint32 crc;
} Last;

static Last
last_of_fd(int fd)
{
	Last last = {false, 77, 78};
	g_autoptr(GError) error = NULL;

	if (!gbe_wal_last_record(fd, "wal", &last.found, &last.offset, &last.crc, &error))
		ck_abort_msg("%s", error->message);
	return last;
}

static Last
last_of(const void *bytes, gsize size)
{
	g_autofree char *path = root_path("segment");
	Last last;
	int fd;

	root_write_bytes("segment", bytes, size);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	last = last_of_fd(fd);
	(void)close(fd);
	return last;
}

/* Offset and checksum of the last record in logs that these versions of etcd wrote, noted with an independent
 * reader. */
START_TEST(samples)
{
	static const struct {
		const char *name, *segment;
		guint64 offset;
		guint32 crc;
	} cases[] = {
	    {"etcd34-small-stopped", SEGMENT, 2472, 3328101054U},
	    {"etcd36-7k5-snapfiles", SEGMENT, 1420240, 1783004147U},
	    {"etcd35-wal3segments-compacted", "0000000000000002-0000000000000085.wal", 12001480,
	     83688999U},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *data = sample(cases[i].name);
		g_autofree char *path =
		    g_build_filename(data, "member/wal", cases[i].segment, NULL);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		Last last = last_of_fd(fd);

		(void)close(fd);
		ck_assert(last.found);
		ck_assert_uint_eq(last.offset, cases[i].offset);
		ck_assert_uint_eq(last.crc, cases[i].crc);
		ck_assert_int_eq(RUN("rm", "-rf", data), 0);
	}
}
END_TEST

/* A record as etcd writes it: type, checksum, and @size bytes; padded to eight. */
static void
append_record(GByteArray *bytes, guint8 crc, gsize size)
{
	gsize length = 4 + size;
	gsize padding = (8 - length % 8) % 8;
	guint64 field = length | (padding != 0 ? (guint64)(0x80 | padding) << 56 : 0);
	guint64 little = GUINT64_TO_LE(field);
	const guint8 head[] = {0x08, 0x02, 0x10, crc};
	g_autofree guint8 *rest = g_malloc0(size + padding);

	g_byte_array_append(bytes, (const guint8 *)&little, sizeof(little));
	g_byte_array_append(bytes, head, sizeof(head));
	g_byte_array_append(bytes, rest, (guint)(size + padding));
}

START_TEST(records_of_any_size)
{
	static const gsize sizes[] = {0, 1, 3, 4, 5, 100, 131064, 131072, 300000, 8, 0};
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	guint before = 0;

	for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
		Last last;

		before = bytes->len;
		append_record(bytes, (guint8)(i + 1), sizes[i]);
		last = last_of(bytes->data, bytes->len);
		ck_assert(last.found);
		ck_assert_uint_eq(last.offset, before);
		ck_assert_uint_eq(last.crc, i + 1);
	}
	/* The preallocated tail. */
	g_byte_array_set_size(bytes, bytes->len + 200000);
	memset(bytes->data + bytes->len - 200000, 0, 200000);
	ck_assert_uint_eq(last_of(bytes->data, bytes->len).offset, before);
}
END_TEST

/* A power cut may leave any part of the last record. The record before it is then the last complete one. */
START_TEST(torn_at_every_byte)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	guint first;

	append_record(bytes, 1, 20);
	first = bytes->len;
	append_record(bytes, 2, 30);
	for (guint size = first; size < bytes->len; size++) {
		Last last = last_of(bytes->data, size);

		ck_assert(last.found);
		ck_assert_uint_eq(last.offset, 0);
		ck_assert_uint_eq(last.crc, 1);
	}
	for (guint size = 0; size < first; size++) {
		Last last = last_of(bytes->data, size);

		ck_assert(!last.found);
		ck_assert_uint_eq(last.offset, 77);
		ck_assert_uint_eq(last.crc, 78);
	}
}
END_TEST

START_TEST(any_bytes)
{
	static const guint8 huge[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x08, 0x02};
	static const guint8 endless[] = {0x0c, 0,    0,	   0,	 0,    0,    0,
					 0,    0x08, 0xff, 0xff, 0xff, 0xff, 0xff,
					 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const guint8 other[] = {4, 0, 0, 0, 0, 0, 0, 0x84, 0x10, 2, 8, 0, 0, 0, 0, 0};
	static const guint8 wide[] = {8,    0,	  0,	0,    0,    0,	  0,	0,
				      0x08, 0x04, 0x10, 0xff, 0xff, 0xff, 0xff, 0x7f};
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autofree guint8 *copy = NULL;

	ck_assert(!last_of(huge, sizeof(huge)).found);
	ck_assert(!last_of(endless, sizeof(endless)).found);
	ck_assert(!last_of(other, sizeof(other)).found);
	/* A checksum has 32 bits. */
	ck_assert(!last_of(wide, sizeof(wide)).found);
	append_record(bytes, 1, 20);
	append_record(bytes, 2, 30);
	copy = g_memdup2(bytes->data, bytes->len);
	for (guint i = 0; i < bytes->len; i++) {
		Last last;

		copy[i] = (guint8)~copy[i];
		last = last_of(copy, bytes->len);
		ck_assert(!last.found || last.offset < bytes->len);
		copy[i] = bytes->data[i];
	}
}
END_TEST

START_TEST(unreadable_is_an_error)
{
	g_autoptr(GError) error = NULL;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	guint64 offset = 0;
	guint32 crc = 0;
	bool found = false;

	ck_assert(!gbe_wal_last_record(fd, "the wal", &found, &offset, &crc, &error));
	ck_assert_error(error, GBE_ERROR_FAILED);
	ck_assert_ptr_nonnull(strstr(error->message, "the wal"));
	(void)close(fd);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-wal");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 120);
	tcase_add_test(files, names);
	tcase_add_test(files, samples);
	tcase_add_test(files, records_of_any_size);
	tcase_add_test(files, torn_at_every_byte);
	tcase_add_test(files, any_bytes);
	tcase_add_test(files, unreadable_is_an_error);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
