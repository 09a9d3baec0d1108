/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/parse.h"
#include "core/record/run.h"
#include "lib/unit.h"

#define C64 "35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"
#define RUN "0123456789abcdef0123456789abcdef"
#define ID "rhel_9.4-" C64 ".1"

START_TEST(of_a_take_over)
{
	g_autoptr(GbeTakeOver) take_over = gbe_take_over_new();
	g_autoptr(GbeRunRecord) record = NULL;

	take_over->sequence = 42;
	take_over->deployment.id = g_strdup(ID);
	take_over->deployment.handle = g_strdup("00ff");
	take_over->run = g_strdup(RUN);
	take_over->trial.on = GBE_YES;
	record = gbe_run_record_of(take_over);
	ck_assert_uint_eq(record->sequence, 42);
	ck_assert_str_eq(record->deployment.id, ID);
	ck_assert_str_eq(record->deployment.handle, "00ff");
	ck_assert_str_eq(record->run, RUN);
	ck_assert_int_eq(record->trial, GBE_YES);
	ck_assert_int_eq(record->verdict, GBE_VERDICT_NONE);
	ck_assert_int_eq(record->revision, -1);
	ck_assert(!record->ended);
	ck_assert_ptr_null(record->left.name);
}
END_TEST

static GbeRunRecord *
sample(void)
{
	GbeRunRecord *record = gbe_run_record_new();

	record->sequence = 42;
	record->deployment.id = g_strdup(ID);
	record->run = g_strdup(RUN);
	record->trial = GBE_NO;
	record->verdict = GBE_VERDICT_GREEN;
	record->by_hand = true;
	record->health = GBE_HEALTH_HEALTHY;
	record->reason = g_strdup("it\nworks");
	record->etcd_version = g_strdup("3.5.16");
	record->revision = 0;
	record->member_id = g_strdup("8e9e05c52164694d");
	record->voters = 3;
	record->ended = true;
	gbe_backup_ref_set(&record->left,
			   (GbeBackupRef){.name = (char *)ID "_" RUN, .sequence = 41});
	return record;
}

static void
check_verdict(const GbeRunRecord *record)
{
	ck_assert_int_eq(record->verdict, GBE_VERDICT_GREEN);
	ck_assert(record->by_hand);
	ck_assert_int_eq(record->health, GBE_HEALTH_HEALTHY);
	ck_assert_str_eq(record->reason, "it\nworks");
	ck_assert_str_eq(record->etcd_version, "3.5.16");
	ck_assert_int_eq(record->revision, 0);
	ck_assert_str_eq(record->member_id, "8e9e05c52164694d");
	ck_assert_ptr_null(record->cluster_id);
	ck_assert_uint_eq(record->voters, 3);
}

START_TEST(copies)
{
	g_autoptr(GbeRunRecord) record = sample(), copy = gbe_run_record_copy(record);

	g_clear_pointer(&record, gbe_run_record_free);
	check_verdict(copy);
	ck_assert_str_eq(copy->deployment.id, ID);
	ck_assert_str_eq(copy->run, RUN);
	ck_assert_int_eq(copy->trial, GBE_NO);
	ck_assert(copy->ended);
	ck_assert_str_eq(copy->left.name, ID "_" RUN);
	ck_assert_uint_eq(copy->left.sequence, 41);
}
END_TEST

/* A verdict names its take-over, and says nothing of what the take-over said. */
START_TEST(verdict_round_trip)
{
	g_autoptr(GbeRunRecord) record = sample(), again = gbe_run_record_new();
	g_autoptr(JsonObject) object = gbe_verdict_to_json(record);

	ck_assert_int_eq(gbe_json_int(object, "of", 0), 42);
	again->reason = g_strdup("old");
	again->cluster_id = g_strdup("cdf818194e3a8c32");
	again->trial = GBE_YES;
	again->sequence = 7;
	ck_assert(gbe_verdict_from_json(object, again, NULL));
	check_verdict(again);
	ck_assert_int_eq(again->trial, GBE_YES);
	ck_assert_uint_eq(again->sequence, 7);
}
END_TEST

START_TEST(newer_words_and_keys)
{
	static const char text[] = "{\"verdict\":\"amber\",\"health\":\"sleepy\",\"x\":{\"y\":1}}";
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GbeRunRecord) record = sample();

	ck_assert(gbe_json_parse_object(text, strlen(text), "x", &object, NULL));
	ck_assert(gbe_verdict_from_json(object, record, NULL));
	ck_assert_int_eq(record->verdict, GBE_VERDICT_NONE);
	ck_assert_int_eq(record->health, GBE_HEALTH_CANNOT_TELL);
	ck_assert_ptr_null(record->reason);
	ck_assert_int_eq(record->revision, -1);
}
END_TEST

START_TEST(damaged_changes_nothing)
{
	static const char *const cases[] = {
	    "{\"verdict\":7}",
	    "{\"verdict\":\"red\",\"by_hand\":1}",
	    "{\"verdict\":\"red\",\"revision\":true}",
	    "{\"verdict\":\"red\",\"reason\":{}}",
	    "{\"verdict\":\"red\",\"member_id\":\"x\"}",
	    "{\"verdict\":\"red\",\"voters\":-1}",
	};
	g_autoptr(GbeRunRecord) record = sample();

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(JsonObject) object = NULL;
		g_autoptr(GError) error = NULL;

		ck_assert(gbe_json_parse_object(cases[i], strlen(cases[i]), "x", &object, NULL));
		ck_assert_msg(!gbe_verdict_from_json(object, record, &error), "taken: %s",
			      cases[i]);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		ck_assert(g_str_has_prefix(error->message, "verdict: "));
		check_verdict(record);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-run-record");
	TCase *records = tcase_create("records");

	tcase_set_timeout(records, 60);
	tcase_add_test(records, of_a_take_over);
	tcase_add_test(records, copies);
	tcase_add_test(records, verdict_round_trip);
	tcase_add_test(records, newer_words_and_keys);
	tcase_add_test(records, damaged_changes_nothing);
	suite_add_tcase(suite, records);
	return gbe_unit_main(suite);
}
