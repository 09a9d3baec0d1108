/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd-log.h"
#include "lib/samples.h"

#include "etcd/wal/snapfile.h"

#define NAME "0000000000000002-0000000000001b63.snap"

static GbeSnapfile *
read_path(const char *path, const char *name)
{
	g_autoptr(GError) error = NULL;
	GbeLook look = gbe_look_begin(0);
	GbeSnapfile *snapfile = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	ck_assert_int_ge(fd, 0);
	if (!gbe_snapfile_read(fd, name, &look, &snapfile, &error))
		ck_abort_msg("%s", error->message);
	(void)close(fd);
	return snapfile;
}

static GbeSnapfile *
read_bytes(const void *bytes, gsize size)
{
	g_autofree char *path = root_path(NAME);

	root_write_bytes(NAME, bytes, size);
	return read_path(path, NAME);
}

START_TEST(names)
{
	GbeRaftPoint point = {0};
	guint64 index = 0;

	ck_assert(gbe_snapfile_is_name(NAME, &point));
	ck_assert_uint_eq(point.term, 2);
	ck_assert_uint_eq(point.index, 0x1b63);
	ck_assert(!gbe_snapfile_is_name(NAME ".broken", &point));
	ck_assert(!gbe_snapfile_is_name("db", &point));
	ck_assert(!gbe_snapfile_is_name("", &point));
	ck_assert(!gbe_snapfile_is_name("0000000000000002-0000000000001B63.snap", &point));
	ck_assert(gbe_snapfile_is_db_name("0000000000001b63.snap.db", &index));
	ck_assert_uint_eq(index, 0x1b63);
	ck_assert(!gbe_snapfile_is_db_name(NAME, &index));
}
END_TEST

START_TEST(samples)
{
	g_autofree char *data = sample("etcd36-7k5-snapfiles");
	g_autofree char *path = g_build_filename(data, "member/snap", NAME, NULL);
	g_autoptr(GbeSnapfile) snapfile = read_path(path, NAME);

	ck_assert_ptr_null(snapfile->fault);
	ck_assert(!snapfile->unknown);
	ck_assert_uint_eq(snapfile->point.index, 0x1b63);
	ck_assert_uint_eq(snapfile->point.term, 2);
	ck_assert_uint_eq(snapfile->conf.voters->len, 1);
	ck_assert_uint_eq(g_array_index(snapfile->conf.voters, guint64, 0), MEMBER);
}
END_TEST

/* Cut anywhere, or with any bit flipped, it never passes for whole. */
START_TEST(every_byte)
{
	static const guint64 voters[] = {MEMBER, 2, 3};
	g_autoptr(GByteArray) file = snap_bytes(5000, 3, voters, 3);

	{
		g_autoptr(GbeSnapfile) snapfile = read_bytes(file->data, file->len);

		ck_assert_ptr_null(snapfile->fault);
		ck_assert_uint_eq(snapfile->conf.voters->len, 3);
		ck_assert_uint_eq(snapfile->point.index, 5000);
	}
	for (guint i = 0; i < file->len; i++) {
		g_autoptr(GbeSnapfile) cut = read_bytes(file->data, i);
		g_autoptr(GbeSnapfile) flipped = NULL;

		file->data[i] ^= 0x20;
		flipped = read_bytes(file->data, file->len);
		file->data[i] ^= 0x20;
		ck_assert_msg(cut->fault != NULL, "%u", i);
		/* The checksum has 32 bits: etcd also drops the bits beyond. */
		ck_assert_msg(flipped->fault != NULL || i == 5, "%u", i);
	}
	g_byte_array_append(file, (const guint8 *)"", 1);
	{
		g_autoptr(GbeSnapfile) longer = read_bytes(file->data, file->len);

		ck_assert_ptr_nonnull(longer->fault);
	}
}
END_TEST

/* The v2 store may be larger than any buffer. */
START_TEST(large)
{
	g_autoptr(GByteArray) snapshot = g_byte_array_new();
	g_autoptr(GByteArray) metadata = g_byte_array_new();
	g_autoptr(GByteArray) file = g_byte_array_new();
	g_autofree char *store = g_strnfill(3 * 1024 * 1024 + 17, 'x');
	g_autoptr(GbeSnapfile) snapfile = NULL;

	gbe_protobuf_put_varint(metadata, 2, 77);
	gbe_protobuf_put_varint(metadata, 3, 5);
	gbe_protobuf_put_string(snapshot, 1, store);
	gbe_protobuf_put_bytes(snapshot, 2, metadata->data, metadata->len);
	gbe_protobuf_put_varint(file, 1, gbe_crc32c(0, snapshot->data, snapshot->len));
	gbe_protobuf_put_bytes(file, 2, snapshot->data, snapshot->len);
	snapfile = read_bytes(file->data, file->len);
	ck_assert_ptr_null(snapfile->fault);
	ck_assert(!snapfile->unknown);
	ck_assert_uint_eq(snapfile->point.index, 77);
	ck_assert_uint_eq(snapfile->point.term, 5);
	ck_assert_uint_eq(snapfile->conf.voters->len, 0);
}
END_TEST

/* A right checksum over other content: not damage, but unknown. */
/* Its fields are right, except size and checksum. */
START_TEST(a_hole)
{
	static const guint64 size = (guint64)1 << 40;
	g_autofree char *path = root_path(NAME);
	/* A checksum, and 2^40 - 9 bytes after its tag and length. */
	static const guint8 head[] = {0x08, 5, 0x12, 0xf7, 0xff, 0xff, 0xff, 0xff, 0x1f};
	gint64 begin = g_get_monotonic_time();
	g_autoptr(GbeSnapfile) snapfile = NULL;

	root_write_bytes(NAME, head, sizeof(head));
	ck_assert_int_eq(truncate(path, (off_t)size), 0);
	snapfile = read_path(path, NAME);
	ck_assert_ptr_null(snapfile->fault);
	ck_assert_ptr_nonnull(snapfile->unread);
	ck_assert_uint_eq(snapfile->point.index, snapfile->named.index);
	ck_assert_int_lt(g_get_monotonic_time() - begin, 20 * G_USEC_PER_SEC);
}
END_TEST

START_TEST(other_format)
{
	g_autoptr(GByteArray) file = g_byte_array_new();
	g_autoptr(GbeSnapfile) snapfile = NULL;

	gbe_protobuf_put_varint(file, 1, gbe_crc32c(0, "something new", 13));
	gbe_protobuf_put_string(file, 2, "something new");
	snapfile = read_bytes(file->data, file->len);
	ck_assert_ptr_null(snapfile->fault);
	ck_assert(snapfile->unknown);
}
END_TEST

START_TEST(no_file)
{
	g_autofree char *path = root_path(NAME);
	g_autoptr(GbeSnapfile) snapfile = NULL;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	snapfile = read_path(path, NAME);
	ck_assert_ptr_nonnull(snapfile->fault);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-snapfile");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 60);
	tcase_add_test(files, names);
	tcase_add_test(files, samples);
	tcase_add_test(files, every_byte);
	tcase_add_test(files, large);
	tcase_add_test(files, a_hole);
	tcase_add_test(files, other_format);
	tcase_add_test(files, no_file);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
