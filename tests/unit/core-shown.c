/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdbool.h>

#include "core/shown.h"

#include "lib/unit.h"

static const struct {
	const char *raw, *text, *line, *json;
} cases[] = {
    {"", "", "", ""},
    {"plain", "plain", "plain", "plain"},
    {"Größe", "Größe", "Größe", "Größe"},
    {"two\nlines\tand", "two\nlines\tand", "two lines and", "two\nlines\\u0009and"},
    {"\033[31mred\a", "?[31mred?", " [31mred ", "\\u001b[31mred\\u0007"},
    {"a\rb\x7f", "a?b?", "a b ", "a\\u000db\\u007f"},
    /* The 8-bit CSI. */
    {"\xc2\x9b"
     "31m",
     "?31m", " 31m", "\\u009b31m"},
    {"3.5.0\u202etxt.exe", "3.5.0?txt.exe", "3.5.0 txt.exe", "3.5.0\\u202etxt.exe"},
    {"\u061c\u200e\u200f\u202a\u202d\u2066\u2067\u2068\u2069", "?????????", "         ",
     "\\u061c\\u200e\\u200f\\u202a\\u202d\\u2066\\u2067\\u2068\\u2069"},
};

START_TEST(texts)
{
	g_autofree char *text = gbe_shown_text(cases[_i].raw);
	g_autofree char *line = gbe_shown_line(cases[_i].raw);
	g_autofree char *json = gbe_shown_json(cases[_i].raw);

	ck_assert_str_eq(text, cases[_i].text);
	ck_assert_str_eq(line, cases[_i].line);
	ck_assert_str_eq(json, cases[_i].json);
}
END_TEST

START_TEST(half_a_character)
{
	g_autofree char *text = gbe_shown_text("half \xc3");

	ck_assert(g_utf8_validate(text, -1, NULL));
	ck_assert(g_str_has_prefix(text, "half "));
}
END_TEST

static char *
mark(const char *key, const char *text)
{
	return g_strconcat(key != NULL ? key : "", "<", text, ">", NULL);
}

/* Every string in any place, and nothing else. */
START_TEST(nodes)
{
	static const char from[] =
	    "{\"a\":\"x\",\"b\":[\"y\",1,null,{\"c\":\"z\"}],\"d\":2.5,\"e\":true,\"f\":null}";
	g_autoptr(JsonNode) node = json_from_string(from, NULL);
	g_autoptr(JsonNode) shown = gbe_shown_node(node, mark);
	g_autofree char *text = json_to_string(shown, false);
	g_autofree char *before = json_to_string(node, false);

	ck_assert_str_eq(text, "{\"<a>\":\"a<x>\",\"<b>\":[\"<y>\",1,null,{\"<c>\":\"c<z>\"}],"
			       "\"<d>\":2.5,\"<e>\":true,\"<f>\":null}");
	ck_assert_str_eq(before, from);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-shown");
	TCase *tcase = tcase_create("shown");

	tcase_add_loop_test(tcase, texts, 0, G_N_ELEMENTS(cases));
	tcase_add_test(tcase, half_a_character);
	tcase_add_test(tcase, nodes);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
