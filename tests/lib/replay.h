/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a fuzzer's corpus has, once more: a program of the unit tests includes this and the target, and
 * says the corpus' name. */
#pragma once

#include "lib/unit.h"

#include <glib.h>

static const char *replay_corpus;

START_TEST(replay)
{
	const char *data = g_getenv("GBE_TEST_DATA");
	g_autofree char *dir = g_build_filename(data != NULL ? data : "tests/data",
						"../fuzz/corpus", replay_corpus, NULL);
	g_autoptr(GDir) files = g_dir_open(dir, 0, NULL);
	const char *name;
	guint count = 0;

	ck_assert_msg(files != NULL, "%s is not there", dir);
	while ((name = g_dir_read_name(files)) != NULL) {
		g_autofree char *path = g_build_filename(dir, name, NULL);
		g_autofree char *bytes = NULL;
		gsize size = 0;

		ck_assert_msg(g_file_get_contents(path, &bytes, &size, NULL), "%s", path);
		(void)fprintf(stderr, "%s\n", name);
		ck_assert_int_eq(LLVMFuzzerTestOneInput((const guint8 *)bytes, size), 0);
		/* And what a fuzzer would try next. */
		for (gsize i = 0; i < size; i += 1 + size / 64) {
			bytes[i] = (char)(bytes[i] ^ (1 << (i % 8)));
			ck_assert_int_eq(LLVMFuzzerTestOneInput((const guint8 *)bytes, size), 0);
			ck_assert_int_eq(LLVMFuzzerTestOneInput((const guint8 *)bytes, i), 0);
			bytes[i] = (char)(bytes[i] ^ (1 << (i % 8)));
		}
		count++;
	}
	ck_assert_uint_ge(count, 3);
}
END_TEST

/* The main of such a program. */
static inline int
replay_main(const char *corpus)
{
	g_autofree char *name = g_strconcat("fuzz-", corpus, NULL);
	Suite *suite = suite_create(name);
	TCase *cases = tcase_create("corpus");

	replay_corpus = corpus;
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, replay);
	suite_add_tcase(suite, cases);
	return gbe_unit_main(suite);
}
