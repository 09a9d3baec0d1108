/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/manifest.h"
#include "core/version.h"
#include "lib/mangle.h"
#include "lib/unit.h"

START_TEST(reads_numbers)
{
	static const struct {
		const char *text;
		guint major, minor;
	} cases[] = {
	    {"3.5.16", 3, 5},	   {"3.6.0-rc.1", 3, 6},  {"v3.4.23", 3, 4},  {"4.19", 4, 19},
	    {"4.19.0~rc2", 4, 19}, {"3.10.1+git", 3, 10}, {" 3.5.1\n", 3, 5},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		GbeVersion version = gbe_version_parse(cases[i].text);

		ck_assert_msg(version.known, "%s", cases[i].text);
		ck_assert_uint_eq(version.major, cases[i].major);
		ck_assert_uint_eq(version.minor, cases[i].minor);
	}
}
END_TEST

START_TEST(nonsense_is_not_known)
{
	static const char *const cases[] = {
	    NULL,   "",		"3",	 "3.",	 "3.x",	      ".5",	      "3.5x",
	    "-3.5", "etcd 3.5", "vv3.5", "3 .5", "9999999.1", "1.99999999999"};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_msg(!gbe_version_parse(cases[i]).known, "%s", cases[i]);
}
END_TEST

START_TEST(only_x_and_y_decide)
{
	GbeVersion a = gbe_version_parse("3.10.0"), b = gbe_version_parse("3.9.99");
	GbeVersion c = gbe_version_parse("4.0.0"), d = gbe_version_parse("3.10.7");
	GbeVersion none = {0};

	ck_assert_int_gt(gbe_version_compare(a, b), 0);
	ck_assert_int_lt(gbe_version_compare(b, a), 0);
	ck_assert_int_lt(gbe_version_compare(a, c), 0);
	ck_assert_int_eq(gbe_version_compare(a, d), 0);
	ck_assert_int_eq(gbe_version_above(a, b), GBE_YES);
	ck_assert_int_eq(gbe_version_above(d, a), GBE_NO);
	ck_assert_int_eq(gbe_version_above(b, a), GBE_NO);
	ck_assert_int_eq(gbe_version_above(none, a), GBE_UNKNOWN);
	ck_assert_int_eq(gbe_version_above(a, none), GBE_UNKNOWN);
}
END_TEST

static GbeVersion
from_file(const char *text)
{
	return gbe_version_from_file(text, strlen(text));
}

START_TEST(version_files)
{
	static const char json[] = "{\"version\":\"4.19.2\",\"deployment_id\":\"x\"}";

	ck_assert_uint_eq(from_file("4.18.3\nrest\n").minor, 18);
	ck_assert_uint_eq(from_file("\n  4.17").minor, 17);
	ck_assert_uint_eq(from_file(json).minor, 19);
	ck_assert(!from_file("").known);
	ck_assert(!from_file("{\"version\":4.19}").known);
	ck_assert(!from_file("{\"other\":\"4.19.2\"}").known);
	ck_assert(!from_file("{\"version\":\"4.19.2\"").known);
	ck_assert(!from_file("words\n4.19\n").known);
	ck_assert(!gbe_version_from_file("4.1\0.9", 6).known);
	ck_assert(!gbe_version_from_file(NULL, 0).known);
}
END_TEST

static void
mangled(const char *bytes, gsize size, bool complete)
{
	GbeVersion version = gbe_version_from_file(bytes, size);

	if (version.known)
		ck_assert(version.major < 1000000 && version.minor < 1000000);
}

START_TEST(any_bytes)
{
	gbe_mangle("{\"version\":\"4.19.2\",\"boot_id\":[1,{\"a\":null}]}\n", mangled);
	gbe_mangle("4.19.2\n", mangled);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-version");
	TCase *versions = tcase_create("versions");

	tcase_add_test(versions, reads_numbers);
	tcase_add_test(versions, nonsense_is_not_known);
	tcase_add_test(versions, only_x_and_y_decide);
	tcase_add_test(versions, version_files);
	tcase_add_test(versions, any_bytes);
	suite_add_tcase(suite, versions);
	return gbe_unit_main(suite);
}
