/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The MOTD has at most 3 lines of 80 columns, whatever the names in it. */
#include "core/motd.h"

#include "lib/unit.h"

#include <string.h>

#define LONG_NAME                                                                                  \
	"fedora-iot-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.0-"           \
	"0123456789abcdef0123456789abcdef"

static char *
motd_of(const char *const *problems, const char *command)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new();

	for (guint i = 0; problems[i] != NULL; i++)
		g_ptr_array_add(list, (gpointer)problems[i]);
	return gbe_motd_text(list, command);
}

static void
check_size(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	guint count = g_strv_length(lines);

	ck_assert(g_utf8_validate(text, -1, NULL));
	/* The last line ends with a newline. */
	ck_assert_uint_le(count, GBE_MOTD_LINES + 1);
	ck_assert_str_eq(lines[count - 1], "");
	for (guint i = 0; i < count; i++)
		ck_assert_int_le(g_utf8_strlen(lines[i], -1), GBE_MOTD_COLUMNS);
}

START_TEST(no_problem_no_text)
{
	const char *const none[] = {NULL};
	g_autofree char *text = motd_of(none, NULL);

	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(one_problem_with_its_command)
{
	const char *const one[] = {"etcd is held back: the mount is missing", NULL};
	g_autofree char *text = motd_of(one, "systemctl start etcd.service");

	ck_assert_str_eq(text, "greenboot-etcd: etcd is held back: the mount is missing\n"
			       "  Run `systemctl start etcd.service`\n");
}
END_TEST

START_TEST(a_long_command_becomes_status)
{
	const char *const one[] = {"etcd is held back", NULL};
	g_autofree char *text = motd_of(one, "greenboot-etcd restore " LONG_NAME " --stop");

	ck_assert_str_eq(text,
			 "greenboot-etcd: etcd is held back\n  Run `greenboot-etcd status`\n");
}
END_TEST

START_TEST(long_names_fit)
{
	static const char *const texts[] = {
	    "the manifest of backup " LONG_NAME " cannot be read, and " LONG_NAME " is next to it",
	    LONG_NAME,
	    LONG_NAME " " LONG_NAME " " LONG_NAME,
	    "a problem of many short words that does not fit into one line of eighty columns, and "
	    "not into two lines of that length either, because it does not come to an end soon",
	    "\303\244\303\266\303\274\303\244\303\266\303\274\303\244\303\266\303\274\303\244\303"
	    "\266\303\274\303\244\303\266\303\274\303\244\303\266\303\274\303\244\303\266\303\274"
	    "\303\244\303\266\303\274\303\244\303\266\303\274\303\244\303\266\303\274\303\244\303"
	    "\266\303\274\303\244\303\266\303\274\303\244\303\266\303\274\303\244\303\266\303\274"
	    "\303\244\303\266\303\274\303\244\303\266\303\274\303\244\303\266\303\274\303\244\303"
	    "\266\303\274\303\244\303\266\303\274\303\244\303\266\303\274\303\244\303\266\303\274",
	    "\377 is not UTF-8",
	    "short",
	};

	for (guint count = 1; count <= 4; count++)
		for (guint from = 0; from < G_N_ELEMENTS(texts); from++) {
			const char *problems[5] = {NULL};
			g_autofree char *text = NULL;

			for (guint i = 0; i < count; i++)
				problems[i] = texts[(from + i) % G_N_ELEMENTS(texts)];
			text = motd_of(problems, "greenboot-etcd log");
			check_size(text);
			ck_assert_ptr_nonnull(strstr(text, count > 2 ? "greenboot-etcd status`"
								     : "greenboot-etcd log`"));
		}
}
END_TEST

START_TEST(many_problems_are_counted)
{
	const char *const many[] = {"a", "b", "c", "d", NULL};
	g_autofree char *text = motd_of(many, "greenboot-etcd log");

	ck_assert_str_eq(text, "greenboot-etcd: a\ngreenboot-etcd: b\n"
			       "  2 more; run `greenboot-etcd status`\n");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-motd");
	TCase *tcase = tcase_create("motd");

	tcase_add_test(tcase, no_problem_no_text);
	tcase_add_test(tcase, one_problem_with_its_command);
	tcase_add_test(tcase, a_long_command_becomes_status);
	tcase_add_test(tcase, long_names_fit);
	tcase_add_test(tcase, many_problems_are_counted);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
