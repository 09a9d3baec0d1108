/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of periodic backups. */
#include "lib/unit.h"

#include "core/json/parse.h"
#include "core/record/periodic.h"

/* A failure keeps the last success, and a success forgets the failure. */
START_TEST(what_is_noted)
{
	g_auto(GbePeriodic) periodic = {0};

	gbe_periodic_read(NULL, &periodic);
	ck_assert(!gbe_periodic_is_overdue(&periodic));
	gbe_periodic_note(&periodic, GBE_PERIODIC_TAKEN, NULL, 100);
	ck_assert(!gbe_periodic_is_overdue(&periodic));
	gbe_periodic_note(&periodic, GBE_PERIODIC_FAILED, "no room", 200);
	ck_assert(gbe_periodic_is_overdue(&periodic));
	ck_assert_int_eq(periodic.succeeded, 100);
	ck_assert_int_eq(periodic.attempted, 200);
	gbe_periodic_note(&periodic, GBE_PERIODIC_SKIPPED, "busy", 300);
	ck_assert(gbe_periodic_is_overdue(&periodic));
	ck_assert_int_eq(periodic.succeeded, 100);
	gbe_periodic_note(&periodic, GBE_PERIODIC_UNCHANGED, NULL, 400);
	ck_assert(!gbe_periodic_is_overdue(&periodic));
	ck_assert_int_eq(periodic.succeeded, 400);
	ck_assert_ptr_null(periodic.reason);
}
END_TEST

START_TEST(data_without_a_writer)
{
	static const char *const texts[] = {"{}", "{\"result\": 5, \"attempted\": \"x\"}",
					    "{\"result\": \"splendid\", \"backup\": []}"};

	for (guint i = 0; i <= G_N_ELEMENTS(texts); i++) {
		g_autoptr(JsonObject) object = NULL;
		g_auto(GbePeriodic) periodic = {0};

		if (i < G_N_ELEMENTS(texts))
			ck_assert(
			    gbe_json_parse_object(texts[i], strlen(texts[i]), "it", &object, NULL));
		gbe_periodic_read(object, &periodic);
		ck_assert_int_eq(periodic.result, GBE_PERIODIC_NONE);
		ck_assert_int_eq(periodic.attempted, -1);
		ck_assert_int_eq(periodic.applied, -1);
		ck_assert_ptr_null(periodic.backup);
		ck_assert(!gbe_periodic_is_overdue(&periodic));
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-periodic");
	TCase *record = tcase_create("record");

	tcase_add_test(record, what_is_noted);
	tcase_add_test(record, data_without_a_writer);
	suite_add_tcase(suite, record);
	return gbe_unit_main(suite);
}
