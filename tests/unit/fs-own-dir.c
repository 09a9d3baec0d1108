/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/own-dir.h"
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
	expect_refused(GBE_ERROR_FAILED, "hidden");
	ck_assert_int_eq(unlinkat(place, "hidden", 0), 0);
	ck_assert_int_eq(mkfifoat(place, "hidden", 0600), 0);
	expect_refused(GBE_ERROR_FAILED, "hidden");
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
	return gbe_unit_main(suite);
}
