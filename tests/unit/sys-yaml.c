/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/error.h"
#include "sys/installed.h"

#include "lib/unit.h"

static void
put(const char *path, const char *value, gpointer data)
{
	g_string_append_printf(data, "%s=%s;", path, value);
}

static const struct {
	const char *text, *values;
} documents[] = {
    {"", ""},
    {"# nothing\n", ""},
    {"a: b", "a=b;"},
    {"a : b\n'c d':\n- e\n- \"f\\tg\"\n", "a=b;c d=e;c d=f\tg;"},
    {"{a: {b: [1, {c: 2}]}, d: }", "a.b=1;a.b.c=2;d=;"},
    {"a: Yes\nb: 'Yes'\nc: OFF\nd: ~\ne: null\nf: nullx\n", "a=true;b=Yes;c=false;d=;e=;f=nullx;"},
    {"a: |\n  one\n  two\nb: >-\n  one\n  two\n", "a=one\ntwo\n;b=one two;"},
    {"base: &base\n  a: 1\n  b: 2\nmine:\n  <<: *base\n  b: 3\n",
     "base.a=1;base.b=2;mine.a=1;mine.b=2;mine.b=3;"},
    {"a: &x 1\nb: *x\n", "a=1;b=1;"},
    {"? [a, b]\n: c\nd: e\n", "d=e;"},
    {"a: 1\n---\na: 2\n", "a=1;"},
    {"- a\n- b: c\n", "=a;b=c;"},
};

START_TEST(reads)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;

	ck_assert_msg(
	    gbe_yaml_read(documents[_i].text, strlen(documents[_i].text), "x", put, text, &error),
	    "%s", error != NULL ? error->message : "");
	ck_assert_str_eq(text->str, documents[_i].values);
}
END_TEST

static const struct {
	const char *text, *what;
} wrong[] = {
    {"a: b\n\tc: d\n", "f.yaml:2:"},
    {"a: [\n", "f.yaml:2:"},
    {"a: *b\n", "f.yaml:1: found undefined alias"},
    {"a: 'b\n", "f.yaml:"},
    {"a: \xff\xfe\n", "f.yaml:"},
    {"a: b: c\n", "f.yaml:1:"},
};

START_TEST(named_by_line)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;

	ck_assert(
	    !gbe_yaml_read(wrong[_i].text, strlen(wrong[_i].text), "f.yaml", put, text, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_INVALID_CONFIG));
	ck_assert_msg(strstr(error->message, wrong[_i].what) != NULL, "%s", error->message);
	ck_assert_str_eq(text->str, "");
}
END_TEST

/* @piece, as often as the size allows. */
static char *
repeat(const char *piece, gsize size)
{
	GString *text = g_string_new(NULL);

	while (text->len + strlen(piece) <= size)
		g_string_append(text, piece);
	return g_string_free(text, false);
}

static const char *const pieces[] = {
    "[",   "{", "- ", "? ", "a: &a [", "{a: ", "- &a ", "[[],",
    "a\n", "'", "\"", "%",  "!a ",     "&a ",  "*a ",	"a: 1\n",
};

/* None of them takes long, or much of a stack. */
START_TEST(hostile)
{
	g_autofree char *text = repeat(pieces[_i], GBE_YAML_MAX);
	g_autoptr(GString) values = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	gint64 began = g_get_monotonic_time();

	/* Some of them are YAML. */
	ck_assert(gbe_yaml_read(text, strlen(text), "x", put, values, &error) == (error == NULL));
	ck_assert_uint_le(values->len, 2 * GBE_YAML_MAX);
	ck_assert_int_lt(g_get_monotonic_time() - began, 10 * G_USEC_PER_SEC);
}
END_TEST

START_TEST(limits)
{
	/* Each level stands for ten of the one before. */
	static const char laughs[] =
	    "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n"
	    "c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c]\n"
	    "e: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e]\n";
	static const char itself[] = "a: &a {b: *a}\n";
	g_autofree char *deep = repeat("[", 33);
	g_autofree char *large = repeat(" ", GBE_YAML_MAX + 1);
	const char *const texts[] = {laughs, itself, deep, large};

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GString) values = g_string_new(NULL);
		g_autoptr(GError) error = NULL;

		ck_assert(!gbe_yaml_read(texts[i], strlen(texts[i]), "x", put, values, &error));
		ck_assert_msg(g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED), "%s",
			      error->message);
		ck_assert_uint_lt(values->len, 1024 * 1024);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-yaml");
	TCase *tcase = tcase_create("yaml");

	tcase_add_loop_test(tcase, reads, 0, G_N_ELEMENTS(documents));
	tcase_add_loop_test(tcase, named_by_line, 0, G_N_ELEMENTS(wrong));
	tcase_add_loop_test(tcase, hostile, 0, G_N_ELEMENTS(pieces));
	tcase_add_test(tcase, limits);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
