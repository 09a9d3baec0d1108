/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd-real.h"
#include "lib/samples.h"

#include <sys/un.h>

#include "core/record/take-over.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "fs/tree.h"

#define SEGMENT "0000000000000000-0000000000000000.wal"
#define NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" /* of "" */

static void
expect_located(const char *member_dir, const char *expected)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = NULL;

	if (!gbe_member_locate(root_fd, member_dir, &path, &error))
		ck_abort_msg("%s", error->message);
	ck_assert_str_eq(path, expected);
}

static void
expect_not_located(const char *member_dir, GbeErrorCode code)
{
	g_autoptr(GError) error = NULL;
	char *path = NULL;

	ck_assert_msg(!gbe_member_locate(root_fd, member_dir, &path, &error), "%s", member_dir);
	ck_assert_error(error, code);
	ck_assert_ptr_null(path);
}

START_TEST(locate)
{
	expect_not_located("auto", GBE_ERROR_NOT_FOUND);
	/* Entries that are not etcd's: other directories, files, links, and this program's own. */
	root_mkdir("certs");
	root_write("config", "A=b\n");
	root_mkdir(".greenboot-etcd/member");
	root_link("link", ".greenboot-etcd");
	root_write("file/member", "no directory");
	expect_not_located("auto", GBE_ERROR_NOT_FOUND);
	root_mkdir("etcd/member");
	expect_located("auto", "etcd");
	root_mkdir("default/member");
	expect_not_located("auto", GBE_ERROR_UNSAFE_SOURCE);
	root_mkdir("member");
	expect_located("auto", "");
	/* The opener reports the fault; no data is a different answer. */
	root_remove("member");
	root_link("member", "etcd/member");
	expect_located("auto", "");
}
END_TEST

START_TEST(locate_as_configured)
{
	static const char *const bad[] = {"", "/etcd", "etcd/", "../etcd", "a/../b", "a//b", "./a"};

	expect_located(".", "");
	expect_located("etcd", "etcd");
	expect_located("db/etcd", "db/etcd");
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
		expect_not_located(bad[i], GBE_ERROR_INVALID_CONFIG);
}
END_TEST

static bool
has_data(const char *member_path)
{
	g_autoptr(GError) error = NULL;
	bool has = false;

	if (!gbe_member_has_data(root_fd, member_path, &has, &error))
		ck_abort_msg("%s", error->message);
	return has;
}

START_TEST(what_is_data)
{
	bool has = false;

	ck_assert(!has_data(""));
	root_mkdir("member");
	ck_assert(!has_data(""));
	root_mkdir("member/snap");
	root_mkdir("member/wal");
	root_write("member/wal/0.tmp", "");
	root_write("member/snap/0000000000000002-0000000000000001.snap", "");
	ck_assert(!has_data(""));
	root_write("member/wal/" SEGMENT, "");
	ck_assert(has_data(""));
	root_remove("member/wal");
	ck_assert(!has_data(""));
	root_write("member/snap/db", "");
	ck_assert(has_data(""));
	ck_assert(!has_data("etcd"));
	root_write("etcd/member/snap/db", "");
	ck_assert(has_data("etcd"));
	/* A link instead of the directory is not data, and not "no data". */
	root_remove("member");
	root_link("member", "etcd/member");
	{
		g_autoptr(GError) error = NULL;

		ck_assert(!gbe_member_has_data(root_fd, "", &has, &error));
		ck_assert_error(error, GBE_ERROR_UNSAFE_SOURCE);
	}
}
END_TEST

START_TEST(wal_through_a_link)
{
	g_autoptr(GError) error = NULL;
	bool has = false;

	root_write("elsewhere/" SEGMENT, "");
	root_mkdir("data/member");
	root_link("data/member/wal", "../../elsewhere");
	ck_assert(has_data("data"));
	root_remove("data/member/wal");
	root_link("data/member/wal", "/etc");
	ck_assert(!gbe_member_has_data(root_fd, "data", &has, &error));
	ck_assert_error(error, GBE_ERROR_REFUSED);
	ck_assert_ptr_nonnull(strstr(error->message, "data-dir"));
}
END_TEST

static bool
wal_inside(const char *data, const char *wal_dir)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *data_path = root_path(data);
	g_autofree char *wal_path = wal_dir != NULL ? root_path(wal_dir) : NULL;
	gbe_autofd int data_fd = open(data_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	gbe_autofd int wal_fd =
	    wal_path != NULL ? open(wal_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	bool inside = false;

	if (!gbe_layout_wal_inside(data_fd, "", wal_fd, &inside, &error))
		ck_abort_msg("%s", error->message);
	return inside;
}

/* With any names that lead there. */
START_TEST(wal_inside_or_not)
{
	g_autoptr(GError) error = NULL;
	bool inside = false;

	root_mkdir("data/member");
	ck_assert(!gbe_layout_wal_inside(root_fd, "data", -1, &inside, &error));
	ck_assert_error(error, GBE_ERROR_NOT_FOUND);
	root_write("data/member/wal/" SEGMENT, "");
	root_write("data/other/wal/" SEGMENT, "");
	root_write("data-of-others/wal/" SEGMENT, "");
	root_link("link", "data/other");
	ck_assert(wal_inside("data", NULL));
	ck_assert(wal_inside("data", "data/other/wal"));
	ck_assert(wal_inside("data", "link/wal"));
	ck_assert(wal_inside("data", "data"));
	ck_assert(!wal_inside("data", "data-of-others/wal"));
	ck_assert(!wal_inside("data/member", "data/other/wal"));
}
END_TEST

START_TEST(last_write)
{
	static const struct timespec times[2] = {{1000000000, 0}, {1900000000, 5}};
	g_autofree char *file = root_path("member/snap/db");
	gint64 seconds = 5;

	ck_assert(gbe_member_last_write(root_fd, "", &seconds, NULL));
	ck_assert_int_eq(seconds, -1);
	root_write("member/snap/db", "x");
	root_write("newer-and-beside", "x");
	ck_assert_int_eq(utimensat(AT_FDCWD, file, times, 0), 0);
	ck_assert(gbe_member_last_write(root_fd, "", &seconds, NULL));
	ck_assert_int_eq(seconds, 1900000000);
}
END_TEST

static void
take(const char *data, const char *member_path, int wal_fd, GbeFingerprint *fp)
{
	g_autoptr(GError) error = NULL;
	int fd = open_dir(data);

	if (!gbe_member_fingerprint(fd, member_path, wal_fd, fp, &error))
		ck_abort_msg("%s", error->message);
	(void)close(fd);
}

START_TEST(fingerprint_of_samples)
{
	static const struct {
		const char *name;
		guint64 first, second, offset;
		guint32 crc;
		const char *segment, *others;
	} cases[] = {
	    {"etcd34-small-stopped", 0xa, 0xb, 2472, 3328101054U, SEGMENT, NOTHING},
	    {"etcd35-wal3segments-compacted", 2, 3, 12001480, 83688999U,
	     "0000000000000002-0000000000000085.wal",
	     "441a22928902ceba935a8fc19e01bb43ebcde2caff24ba44e5f1ddc08e8349c0"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *data = sample(cases[i].name);
		GbeFingerprint fp = {0};

		take(data, "", -1, &fp);
		ck_assert(fp.present);
		ck_assert_uint_eq(fp.txid[0], cases[i].first);
		ck_assert_uint_eq(fp.txid[1], cases[i].second);
		ck_assert_str_eq(fp.wal_name, cases[i].segment);
		ck_assert_uint_eq(fp.wal_size, 64000000);
		ck_assert_uint_eq(fp.wal_offset, cases[i].offset);
		ck_assert_uint_eq(fp.wal_crc, cases[i].crc);
		ck_assert_str_eq(fp.snaps, "");
		ck_assert_str_eq(fp.others, cases[i].others);
		gbe_fingerprint_clear(&fp);
		ck_assert_int_eq(RUN("rm", "-rf", data), 0);
	}
}
END_TEST

START_TEST(snap_files_by_name)
{
	g_autofree char *data = sample("etcd36-7k5-snapfiles");
	g_autofree char *snap =
	    g_build_filename(data, "member/snap", "0000000000000002-0000000000001b63.snap", NULL);
	GbeFingerprint before = {0};
	GbeFingerprint after = {0};

	take(data, "", -1, &before);
	ck_assert_str_eq(before.others, NOTHING);
	ck_assert_str_eq(before.snaps, "0000000000000002-00000000000003eb.snap "
				       "0000000000000002-00000000000007d6.snap "
				       "0000000000000002-0000000000000bbf.snap "
				       "0000000000000002-0000000000000fa8.snap "
				       "0000000000000002-0000000000001391.snap "
				       "0000000000000002-000000000000177a.snap "
				       "0000000000000002-0000000000001b63.snap");
	ck_assert_int_eq(unlink(snap), 0);
	take(data, "", -1, &after);
	ck_assert(!gbe_fingerprint_equal(&before, &after));
	gbe_fingerprint_clear(&before);
	gbe_fingerprint_clear(&after);
}
END_TEST

/* Names that a record cannot hold: JSON is text, and a blank separates names. */
START_TEST(snap_files_with_other_names)
{
	g_autofree char *data = sample("etcd34-small-stopped");
	g_autofree char *odd = g_build_filename(data, "member/snap", "\xff\xfe.snap", NULL);
	g_autofree char *blank = g_build_filename(data, "member/snap", "a b.snap", NULL);
	g_autoptr(JsonObject) object = json_object_new();
	GbeFingerprint fp = {0};
	GbeFingerprint same = {0};

	ck_assert(g_file_set_contents(odd, "x", 1, NULL));
	ck_assert(g_file_set_contents(blank, "x", 1, NULL));
	take(data, "", -1, &fp);
	ck_assert_str_eq(fp.snaps, "");
	ck_assert_str_ne(fp.others, NOTHING);
	gbe_fingerprint_to_json(&fp, object);
	gbe_fingerprint_from_json(&same, object);
	ck_assert(gbe_fingerprint_equal(&fp, &same));
	gbe_fingerprint_clear(&fp);
	gbe_fingerprint_clear(&same);
}
END_TEST

/* Does @change, run in a shell in the data directory, change the fingerprint? */
static void
expect_change(const char *change, bool is_change)
{
	g_autofree char *data = g_build_filename(root, "etcd34-small-stopped", NULL);
	g_autofree char *script = g_strdup_printf("cd %s; %s", data, change);
	GbeFingerprint before = {0};
	GbeFingerprint after = {0};

	take(data, "", -1, &before);
	ck_assert_int_eq(RUN("bash", "-euc", script), 0);
	take(data, "", -1, &after);
	ck_assert_msg(gbe_fingerprint_equal(&before, &after) == !is_change, "%s", change);
	gbe_fingerprint_clear(&before);
	gbe_fingerprint_clear(&after);
}

START_TEST(what_is_a_change)
{
	g_autofree char *data = sample("etcd34-small-stopped");

	expect_change("true", false);
	expect_change("touch member/snap/db member/wal/*.wal member", false);
	expect_change("echo '{}' >" GBE_NONCE_NAME, false);
	expect_change("mkdir -p .greenboot-etcd/backups; echo x >.greenboot-etcd/backups/y", false);
	expect_change("echo x >.gbe-tmp.leftover", false);
	expect_change("mkdir empty", false);
	expect_change("python3 -c 'import socket as s; s.socket(s.AF_UNIX).bind(\"s\")'", false);
	expect_change("echo A=b >config", true);
	expect_change("touch -d @1 config", true);
	expect_change("ln -s x link", true);
	expect_change("echo x >member/snap/0000000000000001.snap.db", true);
	expect_change("echo x >member/snap/0000000000000001-0000000000000001.snap", true);
	expect_change("touch member/wal/0.tmp", true);
	expect_change("mkdir member/wal/sub; echo x >member/wal/sub/" SEGMENT, true);
	expect_change("truncate -s 64000001 member/wal/*.wal", true);
	/* One record more, as a crash in the middle of a write would not leave it. */
	expect_change("printf '\\004\\0\\0\\0\\0\\0\\0\\204\\010\\004\\020\\007\\0\\0\\0\\0' | "
		      "dd of=member/wal/" SEGMENT " bs=1 conv=notrunc seek=$(python3 -c '\n"
		      "import struct\n"
		      "b = open(\"member/wal/" SEGMENT "\", \"rb\").read()\n"
		      "o = 0\n"
		      "while True:\n"
		      "    f = struct.unpack_from(\"<Q\", b, o)[0]\n"
		      "    if f == 0: break\n"
		      "    o += 8 + (f & ((1 << 56) - 1)) + ((f >> 56) & 7 if f >> 63 else 0)\n"
		      "print(o)\n') 2>/dev/null",
		      true);
	expect_change("printf '\\377' | dd of=member/snap/db bs=1 seek=4160 conv=notrunc "
		      "2>/dev/null",
		      true);
	expect_change("mv member/wal/" SEGMENT " member/wal/0000000000000001-0000000000000001.wal",
		      true);
	ck_assert_ptr_nonnull(data);
}
END_TEST

/* A file that cannot be read as expected counts by size and time. */
START_TEST(unreadable_files_count_as_others)
{
	g_autofree char *data = root_path("etcd34-small-stopped");
	GbeFingerprint fp = {0};

	root_write("etcd34-small-stopped/member/snap/db", "garbage");
	root_write("etcd34-small-stopped/member/wal/" SEGMENT, "garbage");
	take(data, "", -1, &fp);
	ck_assert(fp.present);
	ck_assert_uint_eq(fp.txid[0] | fp.txid[1] | fp.wal_offset | fp.wal_crc, 0);
	ck_assert_str_eq(fp.wal_name, SEGMENT);
	ck_assert_str_ne(fp.others, NOTHING);
	gbe_fingerprint_clear(&fp);
	expect_change("touch -d @5 member/snap/db", true);
	expect_change("touch -d @6 member/wal/*.wal", true);
	expect_change("true", false);
}
END_TEST

START_TEST(no_data_no_fingerprint)
{
	GbeFingerprint fp = {0};

	take(root, "", -1, &fp);
	ck_assert(!fp.present);
	root_mkdir("etcd/member/snap");
	root_mkdir("etcd/member/wal");
	take(root, "etcd", -1, &fp);
	ck_assert(!fp.present);
	ck_assert(!gbe_fingerprint_equal(&fp, &fp));
	gbe_fingerprint_clear(&fp);
}
END_TEST

/* A member one level down, and a separate WAL directory. */
START_TEST(other_layouts)
{
	g_autofree char *data = sample("etcd34-small-stopped");
	g_autofree char *wal = root_path("wal");
	GbeFingerprint plain = {0};
	GbeFingerprint nested = {0};
	GbeFingerprint apart = {0};
	GbeFingerprint touched = {0};
	int wal_fd;

	take(data, "", -1, &plain);
	ck_assert_int_eq(
	    RUN("bash", "-euc", "cd $0; mkdir data; mv etcd34-small-stopped data/x", root), 0);
	g_free(data);
	data = root_path("data");
	take(data, "x", -1, &nested);
	ck_assert(gbe_fingerprint_equal(&plain, &nested));
	ck_assert_int_eq(RUN("bash", "-euc", "cd $0; mv data/x/member/wal wal", root), 0);
	wal_fd = open_dir(wal);
	take(data, "x", wal_fd, &apart);
	ck_assert_uint_eq(apart.wal_offset, plain.wal_offset);
	ck_assert(gbe_fingerprint_equal(&plain, &apart));
	root_write("wal/0000000000000000-0000000000000000.wal.broken", "x");
	take(data, "x", wal_fd, &touched);
	ck_assert(!gbe_fingerprint_equal(&apart, &touched));
	(void)close(wal_fd);
	gbe_fingerprint_clear(&plain);
	gbe_fingerprint_clear(&nested);
	gbe_fingerprint_clear(&apart);
	gbe_fingerprint_clear(&touched);
}
END_TEST

/* The fingerprint's promise: it changes when etcd starts, does nothing and stops; it does not change when no etcd
 * starts. */
START_TEST(a_run_of_etcd_is_seen)
{
	g_autofree char *data = root_path("data");
	GbeFingerprint first = {0};
	GbeFingerprint again = {0};
	GbeFingerprint idle = {0};
	GbeFingerprint killed = {0};
	gint64 seconds = 0;
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	Etcd etcd;
	int fd;

	if (!have_etcd("a-run-of-etcd-is-seen"))
		return;
	etcd_start(&etcd, data);
	etcd_put(&etcd, "a", "b");
	etcd_end(&etcd, SIGTERM);
	take(data, "", -1, &first);
	ck_assert_uint_ne(first.txid[0], 0);
	ck_assert_uint_gt(first.wal_offset, 0);
	take(data, "", -1, &again);
	ck_assert(gbe_fingerprint_equal(&first, &again));
	etcd_start(&etcd, data);
	etcd_end(&etcd, SIGTERM);
	take(data, "", -1, &idle);
	ck_assert(!gbe_fingerprint_equal(&first, &idle));
	etcd_start(&etcd, data);
	etcd_put(&etcd, "a", "c");
	etcd_end(&etcd, SIGKILL);
	take(data, "", -1, &killed);
	ck_assert(!gbe_fingerprint_equal(&idle, &killed));
	ck_assert_uint_gt(killed.wal_offset, idle.wal_offset);
	fd = open_dir(data);
	ck_assert(gbe_member_last_write(fd, "", &seconds, NULL));
	ck_assert_int_ge(seconds, now - 1);
	ck_assert_int_le(seconds, now + 60);
	(void)close(fd);
	gbe_fingerprint_clear(&first);
	gbe_fingerprint_clear(&again);
	gbe_fingerprint_clear(&idle);
	gbe_fingerprint_clear(&killed);
}
END_TEST

/* The directory's owner decides how much there is to read: beyond the limit there is no answer. */
START_TEST(too_much_to_look_at)
{
	g_autoptr(GString) path = g_string_new("member");
	GbeFingerprint fp = {0};
	g_autoptr(GError) error = NULL;
	gint64 newest = 7;
	gint64 begin;
	int fd;

	root_mkdir("member/snap");
	root_mkdir("member/wal");
	root_write("member/snap/db", "");
	for (guint i = 0; _i == 0 && i < 70; i++) {
		g_string_append(path, "/d");
		root_mkdir(path->str);
	}
	for (guint i = 0; _i == 1 && i <= GBE_TREE_MAX_ENTRIES; i++) {
		g_autofree char *name = g_strdup_printf("member/%u", i);
		g_autofree char *full = root_path(name);

		ck_assert_int_eq(mknod(full, S_IFREG | 0600, 0), 0);
	}
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	begin = g_get_monotonic_time();
	ck_assert(!gbe_member_last_write(fd, "", &newest, &error));
	ck_assert_int_eq(newest, 7);
	g_clear_error(&error);
	ck_assert(!gbe_member_fingerprint(fd, "", -1, &fp, &error));
	ck_assert(!fp.present);
	ck_assert_msg(g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSAFE_SOURCE), "%s",
		      error->message);
	ck_assert_int_lt(g_get_monotonic_time() - begin, 2 * 10 * G_USEC_PER_SEC);
	(void)close(fd);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-member");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 120);
	tcase_add_test(files, locate);
	tcase_add_test(files, locate_as_configured);
	tcase_add_test(files, what_is_data);
	tcase_add_test(files, wal_through_a_link);
	tcase_add_test(files, wal_inside_or_not);
	tcase_add_test(files, last_write);
	tcase_add_test(files, fingerprint_of_samples);
	tcase_add_test(files, snap_files_by_name);
	tcase_add_test(files, snap_files_with_other_names);
	tcase_add_test(files, what_is_a_change);
	tcase_add_test(files, unreadable_files_count_as_others);
	tcase_add_test(files, no_data_no_fingerprint);
	tcase_add_test(files, other_layouts);
	tcase_add_test(files, a_run_of_etcd_is_seen);
	tcase_add_loop_test(files, too_much_to_look_at, 0, 2);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
