/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/own-dir.h"

#include <fcntl.h>

#include "fs/probe.h"
#include "unit/fs-place.h"

static const char *const names[] = {"hidden", "below", NULL};

static void
expect_refused(GbeErrorCode code, const char *text)
{
	g_autoptr(GError) error = NULL;
	int fd = -7;

	assert_fails(gbe_own_dir_open_at(place, names, true, &fd, &error), error, code, text);
	ck_assert_int_eq(fd, -7);
}

START_TEST(made_when_asked)
{
	g_autoptr(GError) error = NULL;
	mode_t mask = umask(0);
	gbe_autofd int fd = -1;
	struct stat st;

	assert_fails(gbe_own_dir_open_at(place, names, false, &fd, &error), error,
		     GBE_ERROR_NOT_FOUND, "hidden");
	ck_assert(!is_there("hidden"));
	assert_ok(gbe_own_dir_open_at(place, names, true, &fd, &error), error);
	ck_assert_int_eq(stat_of("hidden").st_mode & 07777, 0700);
	ck_assert_int_eq(stat_of("hidden/below").st_mode & 07777, 0700);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_ino, stat_of("hidden/below").st_ino);
	gbe_close_fd(&fd);
	assert_ok(gbe_own_dir_open_at(place, names, false, &fd, &error), error);
	(void)umask(mask);
}
END_TEST

START_TEST(never_through_a_link)
{
	put_dir("elsewhere", 0700);
	ck_assert_int_eq(symlinkat("elsewhere", place, "hidden"), 0);
	expect_refused(GBE_ERROR_UNSAFE_SOURCE, "hidden is a symlink");
	ck_assert_int_eq(unlinkat(place, "hidden", 0), 0);
	put_dir("hidden", 0700);
	ck_assert_int_eq(symlinkat("../elsewhere", place, "hidden/below"), 0);
	expect_refused(GBE_ERROR_UNSAFE_SOURCE, "below is a symlink");
	ck_assert(!is_there("elsewhere/below"));
}
END_TEST

START_TEST(never_what_others_can_write)
{
	put_dir("hidden", 0700);
	put_dir("hidden/below", 0770);
	expect_refused(GBE_ERROR_UNSAFE_SOURCE, "below can be written");
	ck_assert_int_eq(fchmodat(place, "hidden/below", 0755, 0), 0);
	ck_assert_int_eq(fchmodat(place, "hidden", 01777, 0), 0);
	expect_refused(GBE_ERROR_UNSAFE_SOURCE, "hidden can be written");
	ck_assert_int_eq(fchmodat(place, "hidden", 0700, 0), 0);
	if (!have_root("never_what_others_can_write"))
		return;
	ck_assert_int_eq(fchownat(place, "hidden", 65534, 0, 0), 0);
	expect_refused(GBE_ERROR_UNSAFE_SOURCE, "user 65534");
}
END_TEST

START_TEST(no_directory)
{
	put("hidden", "a file");
	expect_refused(GBE_ERROR_UNSAFE_SOURCE, "hidden is no directory");
	ck_assert_int_eq(unlinkat(place, "hidden", 0), 0);
	ck_assert_int_eq(mkfifoat(place, "hidden", 0600), 0);
	expect_refused(GBE_ERROR_UNSAFE_SOURCE, "hidden is no directory");
}
END_TEST

static char *
identity_of(const char *name)
{
	gbe_autofd int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return gbe_tree_identity(fd);
}

/* The owner renamed it, and put something else there. A reader finds the renamed directory; a writer moves it back. */
START_TEST(found_by_what_it_is)
{
	static const char *const decoys[] = {NULL, "file", "link", "directory"};
	g_autoptr(GError) error = NULL;
	g_autofree char *identity = NULL;
	g_autofree char *name = NULL;

	put_dir("hidden", 0700);
	put("hidden/mine", "text");
	identity = identity_of("hidden");
	ck_assert_ptr_nonnull(identity);
	ck_assert_int_eq(renameat(place, "hidden", place, "other"), 0);
	if (_i == 1)
		put("hidden", "not mine");
	else if (_i == 2)
		ck_assert_int_eq(symlinkat("other", place, "hidden"), 0);
	else if (_i == 3)
		put_dir("hidden", 0700);
	assert_ok(gbe_own_dir_find_at(place, "hidden", identity, false, &name, &error), error);
	ck_assert_str_eq(name, "other");
	g_clear_pointer(&name, g_free);
	assert_ok(gbe_own_dir_find_at(place, "hidden", identity, true, &name, &error), error);
	ck_assert_str_eq(name, "hidden");
	ck_assert(is_there("hidden/mine"));
	ck_assert_int_eq(is_there("other"), decoys[_i] != NULL);
	g_clear_pointer(&name, g_free);
	assert_ok(gbe_own_dir_find_at(place, "hidden", "another:00", true, &name, &error), error);
	ck_assert_ptr_null(name);
	ck_assert(is_there("hidden/mine"));
}
END_TEST

START_TEST(way_is_made)
{
	g_autoptr(GError) error = NULL;

	assert_ok(gbe_own_dir_make_way_at(place, "hidden", &error), error);
	put("hidden", "a file");
	assert_ok(gbe_own_dir_make_way_at(place, "hidden", &error), error);
	ck_assert(!is_there("hidden") && is_there("hidden.not-ours-1"));
	ck_assert_int_eq(mkfifoat(place, "hidden", 0600), 0);
	assert_ok(gbe_own_dir_make_way_at(place, "hidden", &error), error);
	ck_assert(!is_there("hidden") && !is_there("hidden.not-ours-2"));
	/* Ours stays, whatever became of its mode and its owner. */
	put_dir("hidden", 0777);
	assert_ok(gbe_own_dir_make_way_at(place, "hidden", &error), error);
	ck_assert(is_there("hidden"));
	if (!have_root("way_is_made"))
		return;
	put_dir("hidden/backups", 0700);
	ck_assert_int_eq(fchownat(place, "hidden", 65534, 0, 0), 0);
	assert_ok(gbe_own_dir_make_way_at(place, "hidden", &error), error);
	ck_assert(is_there("hidden/backups"));
	ck_assert_int_eq(unlinkat(place, "hidden/backups", AT_REMOVEDIR), 0);
	assert_ok(gbe_own_dir_make_way_at(place, "hidden", &error), error);
	ck_assert(!is_there("hidden") && is_there("hidden.not-ours-2"));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-own-dir");
	TCase *tcase = place_case(suite, "own-dir");

	tcase_add_test(tcase, made_when_asked);
	tcase_add_test(tcase, never_through_a_link);
	tcase_add_test(tcase, never_what_others_can_write);
	tcase_add_test(tcase, no_directory);
	tcase_add_loop_test(tcase, found_by_what_it_is, 0, 4);
	tcase_add_test(tcase, way_is_made);
	return gbe_unit_main(suite);
}
