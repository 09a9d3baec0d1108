/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/deployment.h"
#include "lib/mangle.h"
#include "lib/unit.h"

#define C64 "35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"
#define OTHER "45d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"

START_TEST(reads_what_ostree_writes)
{
	static const struct {
		const char *id, *stateroot;
		guint serial;
	} cases[] = {
	    {"fedora-iot-" C64 ".0", "fedora-iot", 0},
	    {"default-" C64 ".1", "default", 1},
	    {"default-" C64 ".10", "default", 10},
	    {"rhel_9.4-" C64 ".2147483647", "rhel_9.4", 2147483647},
	    {"a-" C64 ".0-" C64 ".1", "a-" C64 ".0", 1},
	    {"--" C64 ".0", "-", 0},
	    {"gerät-" C64 ".0", "gerät", 0},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *stateroot = NULL, *again = NULL;
		const char *checksum = NULL;
		guint serial = 99;

		ck_assert(gbe_deployment_id_parse(cases[i].id, &stateroot, &checksum, &serial));
		ck_assert_str_eq(stateroot, cases[i].stateroot);
		ck_assert_uint_eq(serial, cases[i].serial);
		ck_assert_int_eq(strncmp(checksum, C64 ".", 65), 0);
		again = gbe_deployment_id_format(stateroot, C64, serial);
		ck_assert_str_eq(again, cases[i].id);
	}
}
END_TEST

START_TEST(refuses_the_rest)
{
	static const char *const cases[] = {
	    NULL,
	    "",
	    "default",
	    "default-" C64,
	    "default-" C64 ".",
	    "default-" C64 ".00",
	    "default-" C64 ".01",
	    "default-" C64 ".-1",
	    "default-" C64 ".1 ",
	    "default-" C64 ".2147483648",
	    "default-" C64 ".99999999999999999999999",
	    "default-" C64 ".1x",
	    "default-35D7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48.0",
	    "default-5d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48.0",
	    "default" C64 ".0",
	    "-" C64 ".0",
	    C64 ".0",
	    "a/b-" C64 ".0",
	    "a\nb-" C64 ".0",
	    "a\x7f-" C64 ".0",
	    "a\xff-" C64 ".0",
	    ".partial-x-" C64 ".0",
	};
	g_autofree char *stateroot = NULL;
	g_autofree char *too_long = g_strnfill(256 - 67 - 1 + 1, 'a');
	g_autofree char *id = g_strconcat(too_long, "-", C64, ".0", NULL);

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_msg(!gbe_deployment_id_parse(cases[i], &stateroot, NULL, NULL),
			      "taken: %s", cases[i]);
	ck_assert_uint_eq(strlen(id), 256);
	ck_assert(!gbe_deployment_id_parse(id, &stateroot, NULL, NULL));
	ck_assert(gbe_deployment_id_parse(id + 1, NULL, NULL, NULL));
	ck_assert_ptr_null(stateroot);
}
END_TEST

START_TEST(short_for_people)
{
	g_autofree char *text = gbe_deployment_id_short("rhel-" C64 ".10");
	g_autofree char *other = gbe_deployment_id_short("no id");

	ck_assert_str_eq(text, "rhel-35d7aa0c9fe3.10");
	ck_assert_str_eq(other, "no id");
}
END_TEST

START_TEST(same_is_exact)
{
	GbeDeployment one = {(char *)"a-" C64 ".1", NULL}, ten = {(char *)"a-" C64 ".10", NULL};
	GbeDeployment none = {NULL, NULL};
	GbeDeployment here = {(char *)"a-" C64 ".1", (char *)"fs:00ff"};
	GbeDeployment there = {(char *)"a-" C64 ".1", (char *)"fs:00fe"};

	ck_assert(gbe_deployment_same(&one, &one));
	ck_assert(!gbe_deployment_same(&one, &ten));
	ck_assert(!gbe_deployment_same(&one, &none));
	ck_assert(!gbe_deployment_same(&none, &none));
	/* The serial was used again: another directory. One handle alone says nothing. */
	ck_assert(!gbe_deployment_same(&here, &there));
	ck_assert(gbe_deployment_same(&here, &here));
	ck_assert(gbe_deployment_same(&here, &one));
	ck_assert(gbe_deployment_same(&one, &there));
}
END_TEST

START_TEST(same_commit)
{
	ck_assert(gbe_deployment_same_commit("a-" C64 ".1", "b-" C64 ".7"));
	ck_assert(!gbe_deployment_same_commit("a-" C64 ".1", "a-" OTHER ".1"));
	ck_assert(!gbe_deployment_same_commit("a-" C64 ".1", NULL));
	ck_assert(!gbe_deployment_same_commit("x", "x"));
}
END_TEST

START_TEST(copies_are_their_own)
{
	GbeDeployment from = {g_strdup("a-" C64 ".1"), g_strdup("00ff")};
	GbeDeployment to = {g_strdup("old"), NULL};

	gbe_deployment_copy(&to, &from);
	gbe_deployment_copy(&to, &to);
	gbe_deployment_clear(&from);
	ck_assert_ptr_null(from.id);
	ck_assert_str_eq(to.id, "a-" C64 ".1");
	ck_assert_str_eq(to.handle, "00ff");
	gbe_deployment_clear(&to);
}
END_TEST

/* Every accepted id is what format makes from its parts. */
static void
mangled(const char *bytes, gsize size, bool complete)
{
	g_autofree char *id = g_strndup(bytes, size), *stateroot = NULL, *again = NULL;
	g_autofree char *digits = NULL;
	const char *checksum;
	guint serial;

	if (!gbe_deployment_id_parse(id, &stateroot, &checksum, &serial))
		return;
	digits = g_strndup(checksum, GBE_CHECKSUM_LEN);
	again = gbe_deployment_id_format(stateroot, digits, serial);
	ck_assert_str_eq(again, id);
}

START_TEST(any_bytes)
{
	gbe_mangle("fedora_x.y-" C64 ".10", mangled);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-deployment");
	TCase *id = tcase_create("id");

	tcase_add_test(id, reads_what_ostree_writes);
	tcase_add_test(id, refuses_the_rest);
	tcase_add_test(id, short_for_people);
	tcase_add_test(id, same_is_exact);
	tcase_add_test(id, same_commit);
	tcase_add_test(id, copies_are_their_own);
	tcase_add_test(id, any_bytes);
	suite_add_tcase(suite, id);
	return gbe_unit_main(suite);
}
