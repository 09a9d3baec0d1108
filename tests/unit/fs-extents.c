/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/extents.h"
#include "unit/fs-place.h"

#include "fs/copy/clone.h"

static GbeExtents
count(const char *path, bool fiemap)
{
	gbe_autofd int fd = openat(place, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_autoptr(GError) error = NULL;
	GbeExtents extents = {0};

	ck_assert_int_eq(syncfs(place), 0);
	assert_ok(gbe_extents_of_tree(fd, fiemap, &extents, &error), error);
	return extents;
}

static void
clone_tree(const char *src, const char *dst)
{
	const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK};
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;

	assert_ok(gbe_clone_tree_at(place, src, place, dst, &options, &result, &error), error);
}

START_TEST(sums_are_right)
{
	GbeExtents extents;

	put_dir("tree", 0700);
	put_dir("tree/dir", 0700);
	/* XFS allocates blocks after the end of a growing file. */
	put_size("tree/dir/sparse", 20 * MIB);
	put_data("tree/dir/sparse", 0, MIB, 1);
	put_data("tree/dir/sparse", 10 * MIB, MIB, 2);
	put_size("tree/hole", 5 * MIB);
	ck_assert_int_eq(linkat(place, "tree/dir/sparse", place, "tree/again", 0), 0);
	ck_assert_int_eq(symlinkat("dir/sparse", place, "tree/link"), 0);
	extents = count("tree", false);
	ck_assert_uint_ge(extents.allocated, 2 * MIB);
	ck_assert_uint_le(extents.allocated, 2 * MIB + 65536);
	ck_assert_uint_eq(extents.exclusive, extents.allocated);
	if (!place_is_known())
		return;
	extents = count("tree", true);
	ck_assert_uint_eq(extents.exclusive, 2 * MIB);
}
END_TEST

START_TEST(what_is_allocated_counts)
{
	GbeExtents extents;

	if (!place_is_known())
		return;
	put_dir("tree", 0700);
	put_allocated("tree/wal", 8 * MIB);
	put_data("tree/wal", 0, 4096, 1);
	extents = count("tree", true);
	ck_assert_uint_eq(extents.allocated, 8 * MIB);
	ck_assert_uint_eq(extents.exclusive, 8 * MIB);
}
END_TEST

START_TEST(what_is_shared_frees_nothing)
{
	GbeExtents source, copy;

	if (!place_is_known())
		return;
	put_dir("tree", 0700);
	put_data("tree/db", 0, 4 * MIB, 1);
	clone_tree("tree", "copy");
	source = count("tree", true);
	copy = count("copy", true);
	ck_assert_uint_eq(source.allocated, 4 * MIB);
	ck_assert_uint_eq(copy.allocated, 4 * MIB);
	ck_assert_uint_eq(source.exclusive, place_clones() ? 0 : 4 * MIB);
	ck_assert_uint_eq(copy.exclusive, place_clones() ? 0 : 4 * MIB);
	if (!place_clones())
		return;
	/* The overwritten part belongs to the copy alone. btrfs keeps an extent as a whole while any part of it is
	 * used. */
	put_data("tree/db", MIB, MIB, 2);
	copy = count("copy", true);
	ck_assert_uint_eq(copy.exclusive, place_is_btrfs() ? 0 : MIB);
}
END_TEST

/* More extents than one batch. */
START_TEST(many_extents)
{
	GbeExtents extents;

	if (!place_is_known())
		return;
	put_dir("tree", 0700);
	for (guint i = 0; i < 1000; i++)
		put_data("tree/db", (guint64)i * 2 * 65536, 65536, i);
	extents = count("tree", true);
	ck_assert_uint_eq(extents.exclusive, 1000 * 65536);
}
END_TEST

START_TEST(the_limit_is_over_the_whole_tree)
{
	static const char *const exclude[] = {"store", NULL};
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = -1;
	bool exceed = false;

	if (!place_is_known())
		return;
	put_dir("tree", 0700);
	put_dir("tree/store", 0700);
	for (guint i = 0; i < 300; i++) {
		put_data("tree/db", (guint64)i * 2 * 65536, 65536, i);
		put_data("tree/wal", (guint64)i * 2 * 65536, 65536, i);
		put_data("tree/store/db", (guint64)i * 2 * 65536, 65536, i);
	}
	put_size("tree/hole", MIB);
	ck_assert_int_eq(syncfs(place), 0);
	fd = openat(place, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* There may be more: btrfs splits a range into as many extents as it likes. */
	for (guint limit = 0; limit < 600; limit += 100) {
		exceed = false;
		assert_ok(gbe_extents_exceed(fd, exclude, limit, &exceed, &error), error);
		ck_assert(exceed);
	}
	assert_ok(gbe_extents_exceed(fd, exclude, 100000, &exceed, &error), error);
	ck_assert(!exceed);
}
END_TEST

START_TEST(mounts_are_not_counted)
{
	g_autoptr(GError) error = NULL;
	GbeExtents extents = {.allocated = 77};
	g_autofree char *dir = at("sub");

	put_dir("sub", 0700);
	if (!own_mounts("mounts_are_not_counted"))
		return;
	ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", 0, NULL), 0);
	assert_fails(gbe_extents_of_tree(place, true, &extents, &error), error,
		     GBE_ERROR_UNSAFE_SOURCE, "sub is a mount point");
	ck_assert_uint_eq(extents.allocated, 77);
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-extents");
	TCase *tcase = place_case(suite, "extents");

	tcase_add_test(tcase, sums_are_right);
	tcase_add_test(tcase, what_is_allocated_counts);
	tcase_add_test(tcase, what_is_shared_frees_nothing);
	tcase_add_test(tcase, many_extents);
	tcase_add_test(tcase, the_limit_is_over_the_whole_tree);
	tcase_add_test(tcase, mounts_are_not_counted);
	return gbe_unit_main(suite);
}
