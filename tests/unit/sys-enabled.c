/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys-root.h"

#include "sys/enabled.h"

static GbeUnitFile
look(const char *unit)
{
	return gbe_unit_file(root_fd, unit);
}

START_TEST(where_units_lie)
{
	ck_assert_int_eq(look("etcd.service"), GBE_UNIT_ABSENT);
	root_write("usr/lib/systemd/system/etcd.service", "[Service]\n");
	ck_assert_int_eq(look("etcd.service"), GBE_UNIT_PRESENT);
	ck_assert_int_eq(look("etcd"), GBE_UNIT_ABSENT);
	root_write("run/systemd/system/other.service", "[Service]\n");
	ck_assert_int_eq(look("other.service"), GBE_UNIT_PRESENT);
}
END_TEST

/* The first directory that has the name decides. */
START_TEST(masks)
{
	root_write("usr/lib/systemd/system/a.service", "[Service]\n");
	root_write("run/systemd/system/a.service", "");
	ck_assert_int_eq(look("a.service"), GBE_UNIT_MASKED);
	root_write("etc/systemd/system/a.service", "[Service]\n");
	ck_assert_int_eq(look("a.service"), GBE_UNIT_PRESENT);
	root_write("run/systemd/system/a.service", "[Service]\n");
	root_link("etc/systemd/system/a.service", "/dev/null");
	ck_assert_int_eq(look("a.service"), GBE_UNIT_MASKED);
}
END_TEST

START_TEST(instances)
{
	root_write("usr/lib/systemd/system/etcd@.service", "[Service]\n");
	ck_assert_int_eq(look("etcd@one.service"), GBE_UNIT_PRESENT);
	ck_assert_int_eq(look("etcd@.service"), GBE_UNIT_PRESENT);
	ck_assert_int_eq(look("etcdd@one.service"), GBE_UNIT_ABSENT);
	root_write("etc/systemd/system/etcd@two.service", "");
	ck_assert_int_eq(look("etcd@two.service"), GBE_UNIT_MASKED);
	ck_assert_int_eq(look("etcd@one.service"), GBE_UNIT_PRESENT);
}
END_TEST

/* @why: a part of it; NULL where there must be none. */
static void
ck_enabled(GbeTri expected, const char *why)
{
	g_autofree char *got = NULL;

	ck_assert_int_eq(gbe_unit_enabled(root_fd, "a.service", &got), expected);
	if (why == NULL)
		ck_assert_ptr_null(got);
	else
		ck_assert_msg(got != NULL && strstr(got, why) != NULL, "%s", got);
}

/* An entry that is no directory says nothing about a unit, and is no error. */
START_TEST(no_directory_of_links)
{
	root_write("usr/lib/systemd/system/a.service", "[Service]\n");
	root_write("etc/systemd/system/file.wants", "");
	root_link("etc/systemd/system/loop.wants", "loop.wants");
	root_link("etc/systemd/system/dangling.wants", "nowhere");
	ck_enabled(GBE_NO, "not enabled");
	root_link("usr/lib/systemd/system/b.target.wants/a.service", "../a.service");
	ck_enabled(GBE_YES, NULL);
}
END_TEST

/* A directory that cannot be read might override all below it, so that a mask found there decides nothing. */
START_TEST(unknown)
{
	root_write("usr/lib/systemd/system/a.service", "[Service]\n");
	root_link("usr/lib/systemd/system/b.target.wants/a.service", "../a.service");
	root_link("run/systemd/system/a.service", "/dev/null");
	ck_enabled(GBE_NO, "masked");
	root_write("etc/systemd/system", "");
	ck_enabled(GBE_UNKNOWN, "/etc/systemd/system");
	root_remove("run/systemd/system/a.service");
	ck_enabled(GBE_UNKNOWN, "/etc/systemd/system");
	root_remove("etc/systemd/system");
	root_link("etc/systemd/system", "system");
	ck_enabled(GBE_UNKNOWN, "/etc/systemd/system");
	root_remove("etc/systemd/system");
	ck_enabled(GBE_YES, NULL);
	/* Above it, the mask decides in any case. */
	root_write("usr/local/lib/systemd/system", "");
	ck_enabled(GBE_UNKNOWN, "/usr/local/lib/systemd/system");
	root_link("run/systemd/system/a.service", "/dev/null");
	ck_enabled(GBE_NO, "masked");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-enabled");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_add_test(files, where_units_lie);
	tcase_add_test(files, masks);
	tcase_add_test(files, instances);
	tcase_add_test(files, no_directory_of_links);
	tcase_add_test(files, unknown);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
