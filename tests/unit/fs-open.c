/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/open.h"
#include "unit/fs-place.h"

static int root = -1; /* "root" in the place */

static void
setup(void)
{
	place_setup();
	put("outside", "outside");
	put_dir("root", 0755);
	put_dir("root/etc", 0755);
	put("root/etc/file", "inside");
	ck_assert_int_eq(symlinkat("../../../../outside", place, "root/up"), 0);
	ck_assert_int_eq(symlinkat("/etc", place, "root/absolute"), 0);
	ck_assert_int_eq(symlinkat("/outside", place, "root/dangling"), 0);
	ck_assert_int_eq(symlinkat("/proc/self/root", place, "root/magic"), 0);
	root = openat(place, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
teardown(void)
{
	gbe_close_fd(&root);
	place_teardown();
}

static void
check_reads(const char *path, const char *wanted)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	assert_ok(gbe_read_in_root(root, path, 100, &bytes, &size, &error), error);
	ck_assert_str_eq(bytes, wanted);
	ck_assert_uint_eq(size, strlen(wanted));
}

START_TEST(a_root_has_no_way_out)
{
	static const char *const paths[] = {"/up", "/dangling", "/../../outside",
					    "/etc/../../outside", "/magic/etc/passwd"};
	g_autoptr(GError) error = NULL;
	int fd = -77;

	check_reads("/etc/file", "inside");
	check_reads("/absolute/file", "inside");
	check_reads("//absolute//../etc/file", "inside");
	for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
		assert_fails(gbe_open_in_root(root, paths[i], O_RDONLY, &fd, &error), error,
			     GBE_ERROR_NOT_FOUND, paths[i]);
		ck_assert_int_eq(fd, -77);
	}
}
END_TEST

START_TEST(magic_links_are_not_followed)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int real = -1;
	int fd = -1;

	assert_ok(gbe_open_root("/", &real, &error), error);
	assert_fails(gbe_open_in_root(real, "/proc/self/root/etc", O_RDONLY, &fd, &error), error,
		     GBE_ERROR_FAILED, "/proc/self/root/etc");
}
END_TEST

START_TEST(descriptors_are_closed_on_exec)
{
	g_autoptr(GError) error = NULL;
	static const int flags[] = {O_RDONLY, O_PATH, O_RDONLY | O_DIRECTORY, O_PATH | O_NOFOLLOW};

	for (gsize i = 0; i < G_N_ELEMENTS(flags); i++) {
		gbe_autofd int fd = -1;

		assert_ok(gbe_open_in_root(root, "/etc", flags[i], &fd, &error), error);
		ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	}
}
END_TEST

START_TEST(parents_are_opened_names_are_not)
{
	static const struct {
		const char *path;
		const char *name;
	} good[] = {{"/etc/file", "file"},  {"/etc/none", "none"}, {"/etc", "etc"},
		    {"/absolute/x//", "x"}, {"etc/y", "y"},	   {"/up", "up"},
		    {"name", "name"}};
	static const char *const bad[] = {"/", "", "//", "/etc/..", "/etc/.", "."};
	g_autoptr(GError) error = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
		g_autofree char *name = NULL;
		gbe_autofd int fd = -1;

		assert_ok(gbe_open_parent_in_root(root, good[i].path, &fd, &name, &error), error);
		ck_assert_str_eq(name, good[i].name);
		/* An fd that can be synced, unlike O_PATH. */
		ck_assert_int_eq(fsync(fd), 0);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		char *name = NULL;
		int fd = -1;

		assert_fails(gbe_open_parent_in_root(root, bad[i], &fd, &name, &error), error,
			     GBE_ERROR_USAGE, "no last name");
		ck_assert_ptr_null(name);
	}
}
END_TEST

START_TEST(a_directory_is_no_symlink)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = -1;

	assert_fails(gbe_open_dir_at(root, "absolute", &fd, &error), error, GBE_ERROR_UNSAFE_SOURCE,
		     "absolute is a symlink");
	assert_fails(gbe_open_dir_at(root, "none", &fd, &error), error, GBE_ERROR_NOT_FOUND,
		     "none");
	assert_fails(gbe_open_dir_at(place, "outside", &fd, &error), error, GBE_ERROR_FAILED,
		     "Not a directory");
	ck_assert_int_eq(mkfifoat(root, "fifo", 0600), 0);
	assert_fails(gbe_open_dir_at(root, "fifo", &fd, &error), error, GBE_ERROR_FAILED,
		     "Not a directory");
	assert_ok(gbe_open_dir_at(root, "etc", &fd, &error), error);
}
END_TEST

START_TEST(directories_are_made)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = -1;
	gbe_autofd int again = -1;
	struct stat st, st_again;

	(void)umask(077);
	assert_ok(gbe_make_dirs(root, "/absolute//new/store/", 0751, &fd, &error), error);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode, S_IFDIR | 0751);
	ck_assert_uint_eq(stat_of("root/etc/new/store").st_ino, st.st_ino);
	ck_assert_uint_eq(stat_of("root/etc/new").st_mode, S_IFDIR | 0755);
	/* An existing directory keeps its mode. */
	assert_ok(gbe_make_dirs(root, "/etc/new/store", 0700, &again, &error), error);
	ck_assert_int_eq(fstat(again, &st_again), 0);
	ck_assert_uint_eq(st_again.st_ino, st.st_ino);
	ck_assert_uint_eq(st_again.st_mode, S_IFDIR | 0751);
	ck_assert(!is_there("new"));
}
END_TEST

START_TEST(directories_are_not_made_elsewhere)
{
	g_autoptr(GError) error = NULL;
	int fd = -1;

	assert_fails(gbe_make_dirs(root, "/etc/file/dir", 0700, &fd, &error), error,
		     GBE_ERROR_FAILED, "/etc/file");
	assert_fails(gbe_make_dirs(root, "/dangling/dir", 0700, &fd, &error), error,
		     GBE_ERROR_NOT_FOUND, "/dangling");
	assert_fails(gbe_make_dirs(root, "/up", 0700, &fd, &error), error, GBE_ERROR_NOT_FOUND,
		     "/up");
	assert_ok(gbe_make_dirs(root, "/../made", 0700, &fd, &error), error);
	(void)close(fd);
	ck_assert(is_there("root/made"));
	ck_assert(!is_there("made"));
}
END_TEST

START_TEST(files_are_read_whole)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	put_bytes("zeros", "a\0b", 3);
	assert_ok(gbe_read_file_at(place, "zeros", 3, &bytes, &size, &error), error);
	ck_assert_uint_eq(size, 3);
	ck_assert_mem_eq(bytes, "a\0b\0", 4);
	g_clear_pointer(&bytes, g_free);
	put("empty", "");
	assert_ok(gbe_read_file_at(place, "empty", 0, &bytes, &size, &error), error);
	ck_assert_uint_eq(size, 0);
	ck_assert_str_eq(bytes, "");
	g_clear_pointer(&bytes, g_free);
	put_data("large", 0, 300000, 1);
	assert_ok(gbe_read_file_at(place, "large", 300000, &bytes, &size, &error), error);
	ck_assert_uint_eq(size, 300000);
	{
		g_autofree char *wanted = content_of("large");

		ck_assert_mem_eq(bytes, wanted, size);
	}
}
END_TEST

START_TEST(proc_is_read_whole)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *bytes = NULL;
	g_autofree char *wanted = NULL;
	gbe_autofd int real = -1;
	gsize size = 0;

	assert_ok(gbe_open_root("/", &real, &error), error);
	assert_ok(gbe_read_in_root(real, "/proc/self/mountinfo", MIB, &bytes, &size, &error),
		  error);
	ck_assert(g_file_get_contents("/proc/self/mountinfo", &wanted, NULL, NULL));
	ck_assert_str_eq(bytes, wanted);
	ck_assert_uint_eq(size, strlen(wanted));
	assert_fails(gbe_read_in_root(real, "/proc/self/mountinfo", 10, &wanted, &size, &error),
		     error, GBE_ERROR_CORRUPT, "longer");
}
END_TEST

START_TEST(what_is_no_file_is_not_read)
{
	g_autoptr(GError) error = NULL;
	char *bytes = NULL;
	gsize size = 77;

	/* Without O_NONBLOCK, open() would wait for a writer. */
	ck_assert_int_eq(mkfifoat(place, "fifo", 0600), 0);
	put("long", "12345");
	ck_assert_int_eq(symlinkat("long", place, "link"), 0);
	assert_fails(gbe_read_file_at(place, "fifo", 10, &bytes, &size, &error), error,
		     GBE_ERROR_CORRUPT, "fifo is not a regular file");
	assert_fails(gbe_read_file_at(place, "root", 10, &bytes, &size, &error), error,
		     GBE_ERROR_CORRUPT, "root is not a regular file");
	assert_fails(gbe_read_file_at(place, "link", 10, &bytes, &size, &error), error,
		     GBE_ERROR_CORRUPT, "link is a symlink");
	assert_fails(gbe_read_file_at(place, "long", 4, &bytes, &size, &error), error,
		     GBE_ERROR_CORRUPT, "long has 5 bytes");
	assert_fails(gbe_read_file_at(place, "none", 4, &bytes, &size, &error), error,
		     GBE_ERROR_NOT_FOUND, "none");
	ck_assert_ptr_null(bytes);
	ck_assert_uint_eq(size, 77);
}
END_TEST

/* ---- gbe_check_parents ---- */

START_TEST(parents_of_root_alone_are_fine)
{
	g_autoptr(GError) error = NULL;

	put_dir("root/var", 0755);
	put_dir("root/var/data", 0777); /* not checked: it is the last component */
	ck_assert_int_eq(symlinkat("../var", place, "root/etc/link"), 0);
	assert_ok(gbe_check_parents(root, "/var/data", &error), error);
	assert_ok(gbe_check_parents(root, "/var/none", &error), error);
	assert_ok(gbe_check_parents(root, "/etc/link/data", &error), error);
	assert_ok(gbe_check_parents(root, "/absolute/../../var/data", &error), error);
	/* Like /tmp: a user cannot replace another user's entries. */
	put_dir("root/tmp", 01777);
	put_dir("root/tmp/mine", 0755);
	assert_ok(gbe_check_parents(root, "/tmp/mine/data", &error), error);
	assert_fails(gbe_check_parents(root, "/none/data", &error), error, GBE_ERROR_NOT_FOUND,
		     "none");
	assert_fails(gbe_check_parents(root, "/etc/file/data", &error), error, GBE_ERROR_FAILED,
		     "file");
}
END_TEST

START_TEST(writable_parents_are_named)
{
	g_autoptr(GError) error = NULL;

	put_dir("root/var", 0755);
	put_dir("root/var/open", _i == 0 ? 0757 : _i == 1 ? 0775 : 0755);
	put_dir("root/var/open/dir", 0755);
	ck_assert_int_eq(symlinkat("/var/open/dir", place, "root/way"), 0);
	if (_i == 2) {
		if (!have_root("writable_parents_are_named"))
			return;
		ck_assert_int_eq(fchownat(place, "root/var/open", 4711, 0, 0), 0);
	}
	assert_fails(gbe_check_parents(root, "/var/open/dir/data", &error), error,
		     GBE_ERROR_UNSAFE_SOURCE, "\"open\" on the way to /var/open/dir/data");
	assert_fails(gbe_check_parents(root, "/way/data", &error), error, GBE_ERROR_UNSAFE_SOURCE,
		     "\"open\" on the way to /way/data");
}
END_TEST

START_TEST(another_users_symlink_is_named)
{
	g_autoptr(GError) error = NULL;

	if (!have_root("another_users_symlink_is_named"))
		return;
	put_dir("root/tmp", 01777);
	ck_assert_int_eq(symlinkat("/etc", place, "root/tmp/way"), 0);
	assert_ok(gbe_check_parents(root, "/tmp/way/data", &error), error);
	ck_assert_int_eq(fchownat(place, "root/tmp/way", 4711, 0, AT_SYMLINK_NOFOLLOW), 0);
	assert_fails(gbe_check_parents(root, "/tmp/way/data", &error), error,
		     GBE_ERROR_UNSAFE_SOURCE, "\"way\"");
}
END_TEST

START_TEST(a_loop_of_symlinks_ends)
{
	g_autoptr(GError) error = NULL;

	ck_assert_int_eq(symlinkat("loop/x", place, "root/loop"), 0);
	assert_fails(gbe_check_parents(root, "/loop/data", &error), error, GBE_ERROR_FAILED,
		     "/loop/data");
}
END_TEST

/* ---- paths as text ---- */

START_TEST(symlinks_are_followed_as_far_as_they_go)
{
	static const struct {
		const char *path, *resolved;
	} cases[] = {
	    {"/etc/file", "/etc/file"},	   {"/absolute/file", "/etc/file"},
	    {"/up/data", "/outside/data"}, {"/dangling/data", "/outside/data"},
	    {"/none/data", "/none/data"},  {"/ends", "/"},
	    {"/chain/data", "/etc/data"},  {"/loop/data", "/loop/data"},
	};

	ck_assert_int_eq(symlinkat("etc/..", place, "root/ends"), 0);
	ck_assert_int_eq(symlinkat("./absolute/", place, "root/chain"), 0);
	ck_assert_int_eq(symlinkat("loop", place, "root/loop"), 0);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *resolved = gbe_path_resolve(root, cases[i].path);

		ck_assert_str_eq(resolved, cases[i].resolved);
	}
}
END_TEST

START_TEST(paths_are_normalized)
{
	static const struct {
		const char *path;
		const char *wanted;
	} good[] = {{"/", "/"},
		    {"//", "/"},
		    {"/var/lib/etcd", "/var/lib/etcd"},
		    {"//var///lib/etcd//", "/var/lib/etcd"},
		    {"/..a/b..", "/..a/b.."},
		    {"/\xc3\xa4 b", "/\xc3\xa4 b"}};
	static const char *const bad[] = {"",	   "var",    "./var", "/var/..",     "/./var",
					  "/a\nb", "/a\x7f", "/\xff", "/var/../../x"};
	g_autofree char *long_path = g_strnfill(5000, '/');
	g_autoptr(GError) error = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
		g_autofree char *path = NULL;

		assert_ok(gbe_path_normalize(good[i].path, "data-dir", &path, &error), error);
		ck_assert_str_eq(path, good[i].wanted);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		char *path = NULL;

		assert_fails(gbe_path_normalize(bad[i], "data-dir", &path, &error), error,
			     GBE_ERROR_USAGE, "data-dir: ");
		ck_assert_ptr_null(path);
	}
	assert_fails(gbe_path_normalize(long_path, "data-dir", &long_path, &error), error,
		     GBE_ERROR_USAGE, "longer");
}
END_TEST

START_TEST(any_name_is_one_line_of_text)
{
	static const struct {
		const char *path;
		const char *wanted;
	} names[] = {{"a/b.c", "a/b.c"},
		     {"a\nb\x1b[2J\x7f", "a\\x0ab\\x1b[2J\\x7f"},
		     {"back\\slash", "back\\\\slash"},
		     {"back\\x0a", "back\\\\x0a"},
		     {"\xc3\xa4\xff\xc3", "\xc3\xa4\\xff\\xc3"},
		     {"\xc2\x9b", "\\xc2\\x9b"},
		     {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		     {"", ""}};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *text = gbe_path_to_text(names[i].path);

		ck_assert_str_eq(text, names[i].wanted);
		ck_assert(g_utf8_validate(text, -1, NULL));
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-open");
	TCase *tcase = tcase_create("open");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_root_has_no_way_out);
	tcase_add_test(tcase, magic_links_are_not_followed);
	tcase_add_test(tcase, descriptors_are_closed_on_exec);
	tcase_add_test(tcase, parents_are_opened_names_are_not);
	tcase_add_test(tcase, a_directory_is_no_symlink);
	tcase_add_test(tcase, directories_are_made);
	tcase_add_test(tcase, directories_are_not_made_elsewhere);
	tcase_add_test(tcase, files_are_read_whole);
	tcase_add_test(tcase, proc_is_read_whole);
	tcase_add_test(tcase, what_is_no_file_is_not_read);
	tcase_add_test(tcase, parents_of_root_alone_are_fine);
	tcase_add_loop_test(tcase, writable_parents_are_named, 0, 3);
	tcase_add_test(tcase, another_users_symlink_is_named);
	tcase_add_test(tcase, a_loop_of_symlinks_ends);
	tcase_add_test(tcase, symlinks_are_followed_as_far_as_they_go);
	tcase_add_test(tcase, paths_are_normalized);
	tcase_add_test(tcase, any_name_is_one_line_of_text);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
