/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of deployments for people. */
#include "core/deployment-name.h"

#include "lib/unit.h"

#define A "iot-aaaaaaaaaaaa0123456789abcdef0123456789abcdef0123456789abcdef0123.0"
#define B "iot-bbbbbbbbbbbb0123456789abcdef0123456789abcdef0123456789abcdef0123.0"
#define B_AGAIN "iot-bbbbbbbbbbbb0123456789abcdef0123456789abcdef0123456789abcdef0123.1"
#define RUN "0123456789abcdef0123456789abcdef"

static GPtrArray *names;

static void
add(const char *id, const char *version, const char *place)
{
	GbeDeploymentName *name = g_new0(GbeDeploymentName, 1);

	name->id = g_strdup(id);
	name->version = g_strdup(version);
	name->place = g_strdup(place);
	g_ptr_array_add(names, name);
}

static void
set_up(void)
{
	names = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_deployment_name_free);
}

static void
tear_down(void)
{
	g_ptr_array_unref(names);
}

static void
is_named(const char *id, const char *version, const char *expected)
{
	g_autofree char *name = gbe_deployment_name(names, id, version);

	ck_assert_str_eq(name, expected);
}

static void
has_version(const char *os_release, const char *expected)
{
	g_autofree char *version = gbe_os_release_version(os_release);

	ck_assert_pstr_eq(version, expected);
}

START_TEST(os_release_has_the_version)
{
	has_version("ID=fedora\nVERSION=\"43.20261203.0 (IoT Edition)\"\nVERSION_ID=43\n"
		    "OSTREE_VERSION='43.20261203.1'\n",
		    "43.20261203.1");
	has_version("VERSION=\"43.20261203.0 (IoT Edition)\"\nVERSION_ID=43\n", "43.20261203.0");
	has_version("ID=x\nVERSION_ID=43", "43");
	has_version("VERSION=\nVERSION_ID=43\n", "43");
	has_version("XVERSION_ID=43\n#VERSION_ID=42\n", NULL);
	has_version("VERSION_ID=\"43\n", NULL);
	has_version("VERSION_ID=\xff\n", NULL);
	has_version("", NULL);
}
END_TEST

START_TEST(a_version_is_the_name)
{
	add(A, "42.1", "booted");
	add(B, NULL, "rollback");
	is_named(A, NULL, "42.1");
	is_named(B, NULL, "bbbbbbbbbbbb");
	is_named(B_AGAIN, "43.1", "43.1.1");
	is_named(NULL, NULL, "unknown");
	is_named("no id", NULL, "no id");
	g_ptr_array_remove_index(names, 1);
	is_named(B, "43.1", "43.1");
	is_named(B, "42.1", "42.1-bbbbbbb");
}
END_TEST

START_TEST(equal_versions_have_digits)
{
	add(A, "42.1", "booted");
	add(B, "42.1", "rollback");
	is_named(A, NULL, "42.1-aaaaaaa");
	is_named(B, NULL, "42.1-bbbbbbb");
	add(B_AGAIN, "42.1", NULL);
	is_named(B, NULL, "42.1-bbbbbbb.0");
	is_named(B_AGAIN, NULL, "42.1-bbbbbbb.1");
}
END_TEST

START_TEST(places)
{
	g_autofree char *booted = NULL, *gone = NULL;

	add(A, "42.1", "booted");
	booted = gbe_deployment_name_placed(names, A);
	gone = gbe_deployment_name_placed(names, B);
	ck_assert_str_eq(booted, "42.1 (booted)");
	ck_assert_str_eq(gone, "bbbbbbbbbbbb");
}
END_TEST

START_TEST(ids_in_text)
{
	g_autofree char *text = NULL, *same = NULL;

	add(A, "42.1", "booted");
	add(B, "43.1", "staged");
	text = gbe_deployment_names_in(names, "update " A " to " B ": " A "_" RUN " of " B "0, my" A
					      " and my-" A " stay");
	ck_assert_str_eq(text,
			 "update 42.1 to 43.1: " A "_" RUN " of " B "0, my" A " and my-" A " stay");
	same = gbe_deployment_names_in(NULL, A);
	ck_assert_str_eq(same, A);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-deployment-name");
	TCase *tcase = tcase_create("name");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, os_release_has_the_version);
	tcase_add_test(tcase, a_version_is_the_name);
	tcase_add_test(tcase, equal_versions_have_digits);
	tcase_add_test(tcase, places);
	tcase_add_test(tcase, ids_in_text);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
