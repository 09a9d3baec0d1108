/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/manifest.h"
#include "core/tri.h"
#include "core/words.h"
#include "lib/unit.h"

/* Each word is the interface's, and reads back as the same verdict. */
START_TEST(words_round_trip)
{
	static const char *const verdicts[] = {"none", "judging", "green", "red"};
	static const char *const shown[] = {"none", "none", "green", "red"};
	static const char *const healths[] = {"not-asked", "healthy", "unhealthy", "cannot-tell"};
	static const char *const grades[] = {"unproven", "good", "bad"};
	static const char *const methods[] = {"snapshot", "reflink", "copy", "rename"};
	static const char *const origins[] = {"automatic", "displaced", "manual"};
	static const char *const verified[] = {"no", "copy", "sanity", "full"};

	for (guint i = 0; i < 4; i++) {
		ck_assert_str_eq(gbe_verdict_to_string((GbeVerdict)i), verdicts[i]);
		ck_assert_uint_eq(gbe_verdict_from_string(verdicts[i]), i);
		ck_assert_str_eq(gbe_verdict_to_public((GbeVerdict)i), shown[i]);
		ck_assert_str_eq(gbe_health_to_string((GbeHealth)i), healths[i]);
		ck_assert_uint_eq(gbe_words_find(&gbe_health_words, healths[i]), i);
		ck_assert_str_eq(gbe_method_to_string((GbeMethod)i), methods[i]);
		ck_assert_uint_eq(gbe_words_find(&gbe_method_words, methods[i]), i);
		ck_assert_str_eq(gbe_words_get(&gbe_verified_words, i), verified[i]);
		ck_assert_uint_eq(gbe_words_find(&gbe_verified_words, verified[i]), i);
	}
	for (guint i = 0; i < 3; i++) {
		ck_assert_str_eq(gbe_grade_to_string((GbeGrade)i), grades[i]);
		ck_assert_uint_eq(gbe_words_find(&gbe_grade_words, grades[i]), i);
		ck_assert_str_eq(gbe_words_get(&gbe_origin_words, i), origins[i]);
		ck_assert_uint_eq(gbe_words_find(&gbe_origin_words, origins[i]), i);
	}
}
END_TEST

START_TEST(words_of_a_newer_program)
{
	static const char *const others[] = {NULL, "", "excellent", "GREEN", "good ", "healthyish"};

	for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
		ck_assert_int_eq(gbe_verdict_from_string(others[i]), GBE_VERDICT_NONE);
		ck_assert_int_ne(gbe_words_find(&gbe_health_words, others[i]), GBE_HEALTH_HEALTHY);
		ck_assert_int_ne(gbe_words_find(&gbe_health_words, others[i]),
				 GBE_HEALTH_UNHEALTHY);
		ck_assert_int_eq(gbe_words_find(&gbe_grade_words, others[i]), GBE_GRADE_UNPROVEN);
		ck_assert_int_eq(gbe_words_find(&gbe_method_words, others[i]), GBE_METHOD_COPY);
		ck_assert_int_eq(gbe_words_find(&gbe_origin_words, others[i]), GBE_ORIGIN_MANUAL);
		ck_assert_int_eq(gbe_words_find(&gbe_verified_words, others[i]), GBE_VERIFIED_NO);
	}
}
END_TEST

START_TEST(tri_words)
{
	ck_assert_int_eq(gbe_tri(true), GBE_YES);
	ck_assert_int_eq(gbe_tri(false), GBE_NO);
	ck_assert_str_eq(gbe_tri_to_string(GBE_UNKNOWN), "unknown");
	ck_assert_str_eq(gbe_tri_to_string(GBE_YES), "yes");
	ck_assert_str_eq(gbe_tri_to_string(GBE_NO), "no");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-verdict");
	TCase *words = tcase_create("words");

	tcase_add_test(words, words_round_trip);
	tcase_add_test(words, words_of_a_newer_program);
	tcase_add_test(words, tri_words);
	suite_add_tcase(suite, words);
	return gbe_unit_main(suite);
}
