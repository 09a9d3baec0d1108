/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/exchange.h"
#include "unit/fs-place.h"

static void
make_pair(void)
{
	put_dir("a", 0700);
	put("a/file", "from a");
	put_dir("b", 0700);
	put("b/file", "from b");
}

START_TEST(names_change_places)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *a = NULL;
	g_autofree char *b = NULL;

	make_pair();
	assert_ok(gbe_exchange_at(place, "a", place, "b", &error), error);
	a = content_of("a/file");
	b = content_of("b/file");
	ck_assert_str_eq(a, "from b");
	ck_assert_str_eq(b, "from a");
}
END_TEST

START_TEST(both_must_be_there)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *a = NULL;

	make_pair();
	assert_fails(gbe_exchange_at(place, "a", place, "c", &error), error, GBE_ERROR_NOT_FOUND,
		     "a and c");
	a = content_of("a/file");
	ck_assert_str_eq(a, "from a");
}
END_TEST

START_TEST(a_mount_point_stays)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = NULL;
	g_autofree char *b = NULL;

	make_pair();
	if (!own_mounts("a_mount_point_stays"))
		return;
	dir = at("a");
	ck_assert_int_eq(mount(dir, dir, NULL, MS_BIND, NULL), 0);
	assert_fails(gbe_exchange_at(place, "a", place, "b", &error), error, GBE_ERROR_UNSUPPORTED,
		     "mount point");
	b = content_of("b/file");
	ck_assert_str_eq(b, "from b");
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

START_TEST(other_file_systems_are_out_of_reach)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = NULL;
	gbe_autofd int other = -1;

	make_pair();
	put_dir("mnt", 0700);
	if (!own_mounts("other_file_systems_are_out_of_reach"))
		return;
	dir = at("mnt");
	ck_assert_int_eq(mount("tmpfs", dir, "tmpfs", 0, NULL), 0);
	other = openat(place, "mnt", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_dir("mnt/b", 0700);
	assert_fails(gbe_exchange_at(place, "a", other, "b", &error), error, GBE_ERROR_UNSUPPORTED,
		     "different file systems");
	assert_fails(gbe_rename_new_at(place, "a", other, "c", &error), error,
		     GBE_ERROR_UNSUPPORTED, "different file systems");
	ck_assert(!gbe_probe_rename(place, other));
	ck_assert(is_there("a/file"));
	gbe_close_fd(&other);
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

START_TEST(a_rename_replaces_nothing)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *b = NULL;

	make_pair();
	put_dir("empty", 0700);
	assert_fails(gbe_rename_new_at(place, "a", place, "b", &error), error, GBE_ERROR_BUSY,
		     "cannot rename a to b");
	assert_fails(gbe_rename_new_at(place, "a", place, "empty", &error), error, GBE_ERROR_BUSY,
		     "empty");
	assert_fails(gbe_rename_new_at(place, "none", place, "c", &error), error,
		     GBE_ERROR_NOT_FOUND, "none");
	assert_ok(gbe_rename_new_at(place, "a", place, "c", &error), error);
	b = content_of("c/file");
	ck_assert_str_eq(b, "from a");
	ck_assert(!is_there("a"));
}
END_TEST

START_TEST(the_probe_leaves_nothing)
{
	g_autofree char *names = NULL;
	gbe_autofd int dir = -1;

	put_dir("dir", 0700);
	put_dir("dir/.gbe-tmp.rename-b", 0700); /* left by a program that was killed */
	dir = openat(place, "dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert(gbe_probe_rename(place, dir));
	ck_assert(gbe_probe_rename(place, place));
	names = names_in(".");
	ck_assert_str_eq(names, "dir\n");
	g_free(names);
	names = names_in("dir");
	ck_assert_str_eq(names, "");
}
END_TEST

/* A directory cannot be renamed from one subvolume to another. */
START_TEST(the_probe_sees_subvolumes)
{
	gbe_autofd int dir = -1;

	if (!place_is_btrfs())
		return;
	put_subvolume("vol");
	dir = openat(place, "vol", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert(!gbe_probe_rename(place, dir));
	ck_assert(gbe_probe_rename(dir, dir));
	gbe_close_fd(&dir);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-exchange");
	TCase *tcase = place_case(suite, "exchange");

	tcase_add_test(tcase, names_change_places);
	tcase_add_test(tcase, both_must_be_there);
	tcase_add_test(tcase, a_mount_point_stays);
	tcase_add_test(tcase, other_file_systems_are_out_of_reach);
	tcase_add_test(tcase, a_rename_replaces_nothing);
	tcase_add_test(tcase, the_probe_leaves_nothing);
	tcase_add_test(tcase, the_probe_sees_subvolumes);
	return gbe_unit_main(suite);
}
