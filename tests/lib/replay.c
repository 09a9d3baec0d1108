/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The main of a fuzz target as a unit test, fuzz-NAME or PROGRAM-fuzz-NAME. It runs each file of the corpus in
 * $TOP/tests/fuzz/[PROGRAM/]NAME/, and each of its prefixes. Each input that a fuzzer found is thus tested again in
 * every run.
 */
#include "unit.h"

#include <glib.h>

int LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size);

/* A prefix of a longer file is more of the same. */
#define PREFIXES_OF 4096

static GPtrArray *files;

START_TEST(replay)
{
	g_autofree char *bytes = NULL;
	gsize size;

	ck_assert(g_file_get_contents(files->pdata[_i], &bytes, &size, NULL));
	for (gsize length = size > PREFIXES_OF ? size : 0; length <= size; length++) {
		/* The copy ends where its memory does, so that a sanitizer sees a read beyond it. */
		g_autofree guint8 *exact = g_memdup2(bytes, length);

		ck_assert_int_eq(LLVMFuzzerTestOneInput(exact, length), 0);
	}
}
END_TEST

int
main(int argc, char **argv)
{
	g_autofree char *program = g_path_get_basename(argv[0]);
	g_auto(GStrv) words = g_strsplit(program, "fuzz-", 2);
	const char *top = g_getenv("TOP");
	g_autofree char *corpus =
	    g_build_filename(top != NULL ? top : ".", "tests/fuzz",
			     g_strdelimit(words[0], "-", '/'), words[1], NULL);
	g_autoptr(GDir) dir = g_dir_open(corpus, 0, NULL);
	Suite *suite = suite_create(program);
	TCase *tests = tcase_create("corpus");
	const char *name;

	if (dir == NULL) {
		(void)fprintf(stderr, "%s: there is no corpus\n", corpus);
		return EXIT_FAILURE;
	}
	files = g_ptr_array_new_with_free_func(g_free);
	while ((name = g_dir_read_name(dir)) != NULL)
		g_ptr_array_add(files, g_build_filename(corpus, name, NULL));
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, replay, 0, (int)files->len);
	suite_add_tcase(suite, tests);
	return gbe_unit_main(suite);
}
