/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config/lists.h"
#include "core/unit-name.h"
#include "lib/unit.h"

#include <string.h>

typedef bool (*Parse)(const char *text, char ***ret_words, GError **error);

/* @expected: words with "|" between them; NULL: an error that names @key. */
static void
check(Parse parse, const char *key, const char *text, const char *expected)
{
	g_auto(GStrv) words = NULL;
	g_autofree char *seen = NULL;
	g_autoptr(GError) error = NULL;

	if (!parse(text, &words, &error)) {
		ck_assert_msg(expected == NULL, "%s: %s", text, error->message);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_INVALID_CONFIG));
		ck_assert_msg(strstr(error->message, key) != NULL, "%s", error->message);
		ck_assert_ptr_null(words);
		return;
	}
	seen = g_strjoinv("|", words);
	ck_assert_msg(expected != NULL && g_str_equal(seen, expected), "%s: %s", text, seen);
}

START_TEST(lists)
{
	check(gbe_run_args, "args", NULL, "");
	check(gbe_run_args, "args", "  ", "");
	check(gbe_run_args, "args", "--logger=zap --name 'a b'", "--logger=zap|--name|a b");
	check(gbe_run_args, "args", "--name 'a b", NULL);

	check(gbe_run_files, "env-file", NULL, "");
	check(gbe_run_files, "env-file", "/etc/etcd.env -/run/more \"/with blank\"",
	      "/etc/etcd.env|-/run/more|/with blank");
	check(gbe_run_files, "env-file", "etcd.env", NULL);
	check(gbe_run_files, "env-file", "/a -b", NULL);
	check(gbe_run_files, "env-file", "-", NULL);

	check(gbe_run_credentials, "credentials", "", "");
	check(gbe_run_credentials, "credentials", "ca.crt:/etc/ca key:'/a b:c'",
	      "ca.crt:/etc/ca|key:/a b:c");
	check(gbe_run_credentials, "credentials", "ca", NULL);
	check(gbe_run_credentials, "credentials", "ca:", NULL);
	check(gbe_run_credentials, "credentials", "ca:relative", NULL);
	check(gbe_run_credentials, "credentials", ":/a", NULL);
	check(gbe_run_credentials, "credentials", "a/b:/a", NULL);
	check(gbe_run_credentials, "credentials", ".a:/a", NULL);
}
END_TEST

START_TEST(environment_files)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
	    {"", "OLD=1"},
	    {"A=b\n", "OLD=1|A=b"},
	    {"  A = b c  \r\nB=\n", "OLD=1|A=b c|B="},
	    {"# A=1\n; B=2\nno line\n=x\n1A=x\nA B=x\nC=3", "OLD=1|C=3"},
	    {"A=\"b 'c'\"\nB='d \"e\" \\f'\nC=g\\ h\\\\", "OLD=1|A=b 'c'|B=d \"e\" \\f|C=g h\\"},
	    {"OLD=2\nOLD=3\n", "OLD=3"},
	    {"A=b=c\nexport B=1\n", "OLD=1|A=b=c"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GStrv) variables = g_environ_setenv(NULL, "OLD", "1", true);
		g_autofree char *seen = NULL;

		variables = gbe_run_environment(variables, cases[i].text);
		seen = g_strjoinv("|", variables);
		ck_assert_msg(g_str_equal(seen, cases[i].expected), "case %u: %s", i, seen);
	}
}
END_TEST

START_TEST(unit_names)
{
	static const struct {
		const char *text, *name, *service;
	} cases[] = {
	    {"etcd", "etcd.service", "etcd.service"},
	    {"etcd.service", "etcd.service", "etcd.service"},
	    {"a@b", "a@b.service", "a@b.service"},
	    {"a.b", "a.b.service", "a.b.service"},
	    {"run-r1.scope", "run-r1.scope", NULL},
	    {"multi-user.target", "multi-user.target", NULL},
	    {"", NULL, NULL},
	    {"a/b", NULL, NULL},
	    {"../x", NULL, NULL},
	    {"a b", NULL, NULL},
	    {"a@", NULL, NULL},
	    {"@a.service", NULL, NULL},
	    {".service", NULL, NULL},
	    {"\xc3\xa4", NULL, NULL},
	};
	g_autofree char *longest = g_strnfill(255 - strlen(".service"), 'a');
	g_autofree char *longer = g_strnfill(256 - strlen(".service"), 'a');
	char *name = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *complete = NULL;
		g_autofree char *service = NULL;
		g_autoptr(GError) error = NULL;

		ck_assert(gbe_unit_name_complete("--x", cases[i].text, &complete, &error) ==
			  (cases[i].name != NULL));
		if (cases[i].name == NULL) {
			ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_USAGE));
			ck_assert_ptr_nonnull(strstr(error->message, "--x"));
		}
		ck_assert_str_eq(complete != NULL ? complete : "-",
				 cases[i].name != NULL ? cases[i].name : "-");
		ck_assert(gbe_unit_name_service("--x", cases[i].text, &service, NULL) ==
			  (cases[i].service != NULL));
	}
	ck_assert(gbe_unit_name_complete("--x", longest, &name, NULL));
	g_free(name);
	ck_assert(!gbe_unit_name_complete("--x", longer, &name, NULL));
}
END_TEST

START_TEST(parents)
{
	static const struct {
		const char *unit;
		bool parent;
	} cases[] = {
	    {NULL, false},
	    {"etcd-user.service", true},
	    {"run-r1.scope", true},
	    {"session-c1.scope", false},
	    {"session-keeper.service", true},
	    {"user@1000.service", false},
	    {"init.scope", false},
	    {"system.slice", false},
	    {"-.slice", false},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_msg(gbe_unit_is_parent(cases[i].unit) == cases[i].parent, "%s",
			      cases[i].unit);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-run-words");
	TCase *tcase = tcase_create("run-words");

	tcase_add_test(tcase, lists);
	tcase_add_test(tcase, environment_files);
	tcase_add_test(tcase, unit_names);
	tcase_add_test(tcase, parents);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
