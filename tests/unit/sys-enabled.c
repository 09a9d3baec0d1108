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
	root_remove("etc/systemd/system/a.service");
	root_link("/dev/null", "etc/systemd/system/a.service");
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

int
main(void)
{
	Suite *suite = suite_create("sys-enabled");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_add_test(files, where_units_lie);
	tcase_add_test(files, masks);
	tcase_add_test(files, instances);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
