/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config/lists.h"
#include "lib/unit.h"

typedef bool (*Parse)(const char *text, char ***ret_words, GError **error);

/* @expected: words with "|" between them; NULL: an error. */
static void
check(Parse parse, const char *text, const char *expected)
{
	g_auto(GStrv) words = NULL;
	g_autofree char *seen = NULL;
	g_autoptr(GError) error = NULL;

	if (!parse(text, &words, &error)) {
		ck_assert_msg(expected == NULL, "%s: %s", text, error->message);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_INVALID_CONFIG));
		ck_assert_ptr_null(words);
		return;
	}
	seen = g_strjoinv("|", words);
	ck_assert_msg(expected != NULL && g_str_equal(seen, expected), "%s: %s", text, seen);
}

START_TEST(lists)
{
	check(gbe_certs_directories, NULL, "");
	check(gbe_certs_directories, " /a//b/  '/c d/../e' ", "/a/b|/e");
	check(gbe_certs_directories, "/a b", NULL);
	check(gbe_certs_directories, "/", NULL);
	check(gbe_certs_directories, "/a/..", NULL);
	check(gbe_certs_directories, "''", NULL);
	check(gbe_certs_directories, "'/a", NULL);

	check(gbe_certs_patterns, NULL, "");
	check(gbe_certs_patterns, "* server/*.crt '/a b/*'", "*|server/*.crt|/a b/*");
	check(gbe_certs_patterns, "../x", NULL);
	check(gbe_certs_patterns, "a/../*", NULL);
	check(gbe_certs_patterns, "a ''", NULL);
	check(gbe_certs_patterns, "a..b", "a..b");
}
END_TEST

static const struct {
	const char *patterns, *path;
	bool matches;
} matches[] = {
    {"*", "ca.crt", true},
    {"*", "a/b/ca.crt", true},
    {"*", ".hidden", true},
    {"server/*", "server/a/b.key", true},
    {"server/*", "servers/b.key", false},
    {"server/*", "a/server/b.key", false},
    {"*.crt", "server/b.crt", true},
    {"*.crt", "server/b.crt.old", false},
    {"ca.crt", "ca.crt", true},
    {"ca.crt", "a/ca.crt", false},
    {"x y", "y", true},
    {"x y", "z", false},
    {"/pki/*", "ca.crt", true},
    {"/pki/ca.crt", "ca.crt", true},
    {"/other/*", "ca.crt", false},
    {"/pk*", "ca.crt", true},
    {"[ab].crt", "b.crt", true},
    {"'\\*'", "a", false},
    {"'\\*'", "*", true},
    {"", "a", false},
};

START_TEST(patterns)
{
	g_auto(GStrv) words = NULL;

	ck_assert(gbe_certs_patterns(matches[_i].patterns, &words, NULL));
	ck_assert_msg(gbe_certs_match(words, "/pki", matches[_i].path) == matches[_i].matches,
		      "%s: %s", matches[_i].patterns, matches[_i].path);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-certs");
	TCase *tcase = tcase_create("certs");

	tcase_add_test(tcase, lists);
	tcase_add_loop_test(tcase, patterns, 0, G_N_ELEMENTS(matches));
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
