/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/tree.h"
#include "unit/fs-place.h"

static bool
note(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
     GError **error)
{
	struct stat there;

	ck_assert_int_eq(fstatat(dir_fd, name, &there, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_uint_eq(there.st_ino, st->st_ino);
	ck_assert_uint_eq(there.st_dev, st->st_dev);
	ck_assert_uint_eq(there.st_mode, st->st_mode);
	ck_assert_uint_eq(there.st_nlink, st->st_nlink);
	ck_assert_int_eq(there.st_size, st->st_size);
	ck_assert_int_eq(there.st_blocks, st->st_blocks);
	ck_assert_int_eq(there.st_mtim.tv_sec, st->st_mtim.tv_sec);
	ck_assert_int_eq(there.st_mtim.tv_nsec, st->st_mtim.tv_nsec);
	g_string_append_printf(data, "%s\n", path);
	return true;
}

static void
make_some(void)
{
	put_dir("a", 0700);
	put_dir("a/z", 0700);
	put("a/z/1", "one");
	put("a.", "after a, before aa");
	put_dir("aa", 0700);
	put("B", "capitals first");
	put("\xc3\xa4", "x");
	ck_assert_int_eq(symlinkat("a", place, "link"), 0);
	ck_assert_int_eq(mkfifoat(place, "a/fifo", 0600), 0);
}

START_TEST(a_walk_goes_in_order)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) seen = g_string_new(NULL);

	make_some();
	assert_ok(gbe_tree_walk(place, NULL, NULL, note, seen, &error), error);
	ck_assert_str_eq(seen->str, "B\na\na/fifo\na/z\na/z/1\na.\naa\nlink\n\xc3\xa4\n");
}
END_TEST

START_TEST(excluded_names_are_at_the_top)
{
	static const char *const exclude[] = {"a", "1", NULL};
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) seen = g_string_new(NULL);

	make_some();
	put("aa/a", "not at the top");
	assert_ok(gbe_tree_walk(place, exclude, NULL, note, seen, &error), error);
	ck_assert_str_eq(seen->str, "B\na.\naa\naa/a\nlink\n\xc3\xa4\n");
}
END_TEST

static bool
stop_at_aa(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	   GError **error)
{
	guint *calls = data;

	(*calls)++;
	return !g_str_equal(path, "aa") || gbe_throw(error, GBE_ERROR_BUSY, "enough");
}

START_TEST(a_visit_can_stop)
{
	g_autoptr(GError) error = NULL;
	guint calls = 0;

	make_some();
	assert_fails(gbe_tree_walk(place, NULL, NULL, stop_at_aa, &calls, &error), error,
		     GBE_ERROR_BUSY, "enough");
	ck_assert_uint_eq(calls, 7);
}
END_TEST

START_TEST(a_scan_counts)
{
	g_autoptr(GError) error = NULL;
	g_auto(GbeTreeInfo) info = {0};

	put_dir("dir", 0700);
	put("dir/1", "12345");
	ck_assert_int_eq(linkat(place, "dir/1", place, "2", 0), 0);
	put_size("hole", 10 * MIB);
	put_allocated("full", MIB);
	ck_assert_int_eq(symlinkat("hole", place, "link"), 0);
	put_socket("dir/a\ns");
	assert_ok(gbe_tree_scan(place, NULL, NULL, &info, &error), error);
	ck_assert_uint_eq(info.files, 3);
	ck_assert_uint_eq(info.directories, 1);
	ck_assert_uint_eq(info.bytes, 11 * MIB + 5);
	ck_assert_uint_ge(info.allocated, MIB);
	ck_assert_uint_le(info.allocated, MIB + 65536);
	ck_assert_uint_eq(info.left_out->len, 1);
	ck_assert_str_eq(info.left_out->pdata[0], "dir/a\\x0as");
}
END_TEST

START_TEST(only_100_sockets_are_named)
{
	g_autoptr(GError) error = NULL;
	g_auto(GbeTreeInfo) info = {0};

	for (guint i = 0; i < 105; i++) {
		g_autofree char *name = g_strdup_printf("s%u", i);

		put_socket(name);
	}
	assert_ok(gbe_tree_scan(place, NULL, NULL, &info, &error), error);
	ck_assert_uint_eq(info.left_out->len, 100);
}
END_TEST

static void
check_refused(const char *text)
{
	g_autoptr(GError) error = NULL;
	GbeTreeInfo info = {.files = 77};

	assert_fails(gbe_tree_scan(place, NULL, NULL, &info, &error), error,
		     GBE_ERROR_UNSAFE_SOURCE, text);
	ck_assert_uint_eq(info.files, 77);
}

START_TEST(a_fifo_is_refused)
{
	put_dir("dir", 0700);
	ck_assert_int_eq(mkfifoat(place, "dir/a\nfifo", 0600), 0);
	check_refused("dir/a\\x0afifo is a FIFO");
}
END_TEST

START_TEST(a_nested_subvolume_is_refused)
{
	if (!place_is_btrfs())
		return;
	put_subvolume("nested");
	check_refused("nested is a btrfs subvolume");
}
END_TEST

START_TEST(a_mount_is_refused)
{
	g_autofree char *dir = NULL;

	put_dir("dir", 0700);
	put_dir("dir/mnt", 0700);
	if (!own_mounts("a_mount_is_refused"))
		return;
	dir = at("dir/mnt");
	ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", 0, NULL), 0);
	check_refused("dir/mnt is a mount point");
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

START_TEST(there_is_a_last_level)
{
	g_autoptr(GError) error = NULL;
	g_auto(GbeTreeInfo) info = {0};
	g_autoptr(GString) path = g_string_new("d");

	/* The top counts as a level. */
	put_dir(path->str, 0700);
	for (guint i = 2; i < GBE_TREE_MAX_DEPTH; i++) {
		g_string_append(path, "/d");
		put_dir(path->str, 0700);
	}
	g_string_append(path, "/file");
	put(path->str, "x");
	assert_ok(gbe_tree_scan(place, NULL, NULL, &info, &error), error);
	ck_assert_uint_eq(info.directories, GBE_TREE_MAX_DEPTH - 1);
	ck_assert_uint_eq(info.files, 1);
	g_string_truncate(path, path->len - strlen("file"));
	g_string_append(path, "d");
	put_dir(path->str, 0700);
	check_refused("deeper");
}
END_TEST

/* A directory's owner can make names faster than we read them. */
START_TEST(there_is_a_last_name)
{
	g_autofree char *filler = g_strnfill(240, 'n');

	if (!own_mounts("there_is_a_last_name"))
		return;
	ck_assert_int_eq(mount("tmpfs", place_path, "tmpfs", 0, "nr_inodes=0"), 0);
	gbe_close_fd(&place);
	place = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_dir("dir", 0700);
	for (guint i = 0; i <= GBE_TREE_MAX_ENTRIES; i++) {
		g_autofree char *name = g_strdup_printf("dir/%06u%s", i, filler);

		ck_assert_int_eq(symlinkat("x", place, name), 0);
	}
	check_refused("dir makes more than the 100000 entries that a tree may have");
	gbe_close_fd(&place);
	ck_assert_int_eq(umount2(place_path, MNT_DETACH), 0);
	place = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
END_TEST

static bool
ignore(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
       GError **error)
{
	(void)path, (void)dir_fd, (void)name, (void)st, (void)error;
	if (data != NULL)
		g_usleep(*(gulong *)data);
	return true;
}

/* For who does not need to know at any price. */
START_TEST(a_walk_has_a_price)
{
	GbeTreeLimits limits = gbe_tree_look_limits();
	g_autoptr(GError) error = NULL;
	gulong wait = 20000;

	ck_assert_uint_eq(limits.entries, GBE_TREE_MAX_ENTRIES);
	ck_assert_int_gt(limits.deadline, g_get_monotonic_time());
	put_dir("dir", 0700);
	for (guint i = 0; i < 100; i++) {
		g_autofree char *name = g_strdup_printf("dir/%u", i);

		put(name, "x");
	}
	limits.entries = 101;
	assert_ok(gbe_tree_walk(place, NULL, &limits, ignore, NULL, &error), error);
	limits.entries = 100;
	assert_fails(gbe_tree_walk(place, NULL, &limits, ignore, NULL, &error), error,
		     GBE_ERROR_UNSAFE_SOURCE, "dir makes more than the 100 entries");
	limits.entries = 101;
	limits.deadline = g_get_monotonic_time() + G_USEC_PER_SEC / 5;
	assert_fails(gbe_tree_walk(place, NULL, &limits, ignore, &wait, &error), error,
		     GBE_ERROR_UNSAFE_SOURCE, "the time for listing the tree was up");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-tree");
	TCase *tcase = place_case(suite, "tree");

	tcase_add_test(tcase, a_walk_goes_in_order);
	tcase_add_test(tcase, excluded_names_are_at_the_top);
	tcase_add_test(tcase, a_visit_can_stop);
	tcase_add_test(tcase, a_scan_counts);
	tcase_add_test(tcase, only_100_sockets_are_named);
	tcase_add_test(tcase, a_fifo_is_refused);
	tcase_add_test(tcase, a_nested_subvolume_is_refused);
	tcase_add_test(tcase, a_mount_is_refused);
	tcase_add_test(tcase, there_is_a_last_level);
	tcase_add_test(tcase, there_is_a_last_name);
	tcase_add_test(tcase, a_walk_has_a_price);
	return gbe_unit_main(suite);
}
