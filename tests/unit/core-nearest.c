/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/words.h"
#include "lib/unit.h"

#include <glib.h>

static const char *const words[] = {"status", "list",	     "show",   "restore",
				    "pin",    "--last-good", "--full", NULL};

START_TEST(the_nearest_word_or_none)
{
	static const struct {
		const char *word, *nearest;
	} cases[] = {
	    {"staus", "status"},
	    {"satus", "status"},
	    {"lsit", "list"},
	    {"restroe", "restore"},
	    {"stat", "status"},
	    {"--lastgood", "--last-good"},
	    {"--fulll", "--full"},
	    {"pni", "pin"},
	    {"frobnicate", NULL},
	    {"x", NULL},
	    {"", NULL},
	    {"zzz", NULL},
	    {"--frob", NULL},
	    {"a-word-that-is-longer-than-any-word-of-this-program", NULL},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_msg(g_strcmp0(gbe_nearest_word(cases[i].word, words), cases[i].nearest) ==
				  0,
			      "%s: %s", cases[i].word, gbe_nearest_word(cases[i].word, words));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-nearest");
	TCase *tcase = tcase_create("nearest");

	tcase_add_test(tcase, the_nearest_word_or_none);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
