/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/samples.h"

#include "etcd/db/bbolt.h"

#define PAGE 4096

typedef struct {
	bool valid;
	guint64 txid[2];
} Meta;

static Meta
read_file(const char *path)
{
	Meta meta = {false, {77, 78}};
	g_autoptr(GError) error = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (!gbe_bbolt_read_txids(fd, "db", meta.txid, &meta.valid, &error))
		ck_abort_msg("%s", error->message);
	(void)close(fd);
	return meta;
}

static Meta
read_bytes(const void *bytes, gsize size)
{
	g_autofree char *path = root_path("db");

	root_write_bytes("db", bytes, size);
	return read_file(path);
}

static char *
small_db(gsize *ret_size)
{
	g_autofree char *data = sample("etcd34-small-stopped");
	g_autofree char *path = g_build_filename(data, "member/snap/db", NULL);
	char *bytes = NULL;

	ck_assert(g_file_get_contents(path, &bytes, ret_size, NULL));
	return bytes;
}

START_TEST(samples)
{
	static const struct {
		const char *name;
		guint64 first, second;
	} cases[] = {
	    {"etcd34-small-stopped", 0xa, 0xb},
	    {"etcd35-wal3segments-compacted", 0x2, 0x3},
	    {"etcd36-7k5-snapfiles", 0x24, 0x23},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *data = sample(cases[i].name);
		g_autofree char *path = g_build_filename(data, "member/snap/db", NULL);
		Meta meta = read_file(path);

		ck_assert(meta.valid);
		ck_assert_uint_eq(meta.txid[0], cases[i].first);
		ck_assert_uint_eq(meta.txid[1], cases[i].second);
		ck_assert_int_eq(RUN("rm", "-rf", data), 0);
	}
}
END_TEST

/* Every bit of either meta counts: a page with one flipped bit is invalid, the other page stays valid. */
START_TEST(every_flipped_byte_is_seen)
{
	g_autofree char *bytes = NULL;
	gsize size = 0;

	bytes = small_db(&size);
	for (gsize i = 16; i < 80; i++) {
		Meta meta;

		bytes[i] = (char)(bytes[i] ^ 0x10);
		meta = read_bytes(bytes, size);
		ck_assert(meta.valid);
		ck_assert_uint_eq(meta.txid[0], 0);
		ck_assert_uint_eq(meta.txid[1], 0xb);
		bytes[i] = (char)(bytes[i] ^ 0x10);
		bytes[PAGE + i] = (char)(bytes[PAGE + i] ^ 0x10);
		meta = read_bytes(bytes, size);
		ck_assert(meta.valid);
		ck_assert_uint_eq(meta.txid[0], 0xa);
		ck_assert_uint_eq(meta.txid[1], 0);
		bytes[PAGE + i] = (char)(bytes[PAGE + i] ^ 0x10);
	}
}
END_TEST

START_TEST(both_gone)
{
	g_autofree char *bytes = NULL;
	gsize size = 0;
	Meta meta;

	bytes = small_db(&size);
	memset(bytes, 0, 80);
	memset(bytes + PAGE, 0, 80);
	meta = read_bytes(bytes, size);
	ck_assert(!meta.valid);
	ck_assert_uint_eq(meta.txid[0], 0);
	ck_assert_uint_eq(meta.txid[1], 0);
}
END_TEST

START_TEST(cut_at_every_length)
{
	g_autofree char *bytes = NULL;
	gsize size = 0;

	bytes = small_db(&size);
	ck_assert(!read_bytes("", 0).valid);
	for (gsize cut = 1; cut < 2 * PAGE;
	     cut += cut < 100 || (cut > PAGE && cut < PAGE + 100) ? 1 : 97) {
		Meta meta = read_bytes(bytes, cut);

		ck_assert(meta.valid == (cut >= 80));
		ck_assert_uint_eq(meta.txid[0], cut >= 80 ? 0xa : 0);
		ck_assert_uint_eq(meta.txid[1], cut >= PAGE + 80 ? 0xb : 0);
	}
}
END_TEST

/* The page size is that of the machine that made the file. At the place for another page size, a copy of the second
 * page counts only if its own page size agrees. */
START_TEST(second_page_by_its_own_word)
{
	g_autofree char *bytes = NULL;
	g_autofree char *other = g_malloc0(65536 * 2);
	gsize size = 0;
	Meta meta;

	bytes = small_db(&size);
	memcpy(other + 65536, bytes + PAGE, 80);
	meta = read_bytes(other, 65536 * 2);
	ck_assert(!meta.valid);
	memcpy(other + PAGE, bytes + PAGE, 80);
	meta = read_bytes(other, 65536 * 2);
	ck_assert(meta.valid);
	ck_assert_uint_eq(meta.txid[0], 0);
	ck_assert_uint_eq(meta.txid[1], 0xb);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-bbolt-meta");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 120);
	tcase_add_test(files, samples);
	tcase_add_test(files, every_flipped_byte_is_seen);
	tcase_add_test(files, both_gone);
	tcase_add_test(files, cut_at_every_length);
	tcase_add_test(files, second_page_by_its_own_word);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
