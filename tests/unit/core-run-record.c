/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record.h"
#include "core/run-record.h"
#include "lib/mangle.h"
#include "lib/unit.h"

#define C64 "35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"
#define RUN "0123456789abcdef0123456789abcdef"
#define ID "rhel_9.4-" C64 ".1"

START_TEST(names)
{
	g_autofree char *name = gbe_run_record_name(42, GBE_VERDICT_GREEN);

	ck_assert_str_eq(name, "00000000000000000042.green");
	for (guint i = GBE_VERDICT_NONE; i <= GBE_VERDICT_RED; i++) {
		g_autofree char *each = gbe_run_record_name(9007199254740991, (GbeVerdict)i);
		GbeVerdict verdict = GBE_VERDICT_NONE;
		guint64 sequence = 0;

		ck_assert(gbe_run_record_name_parse(each, &sequence, &verdict));
		ck_assert_uint_eq(sequence, 9007199254740991);
		ck_assert_uint_eq(verdict, i);
	}
}
END_TEST

START_TEST(other_names)
{
	static const char *const cases[] = {
	    "",
	    ".",
	    "42.green",
	    "00000000000000000042",
	    "00000000000000000042.",
	    "00000000000000000042.amber",
	    "00000000000000000042.green.tmp",
	    "00000000000000000042.Green",
	    "000000000000000000042.green",
	    "00000000000000000000.green",
	    "-0000000000000000042.green",
	    "00000000000000000042-green",
	    "00009007199254740992.green",
	    "99999999999999999999.green",
	};
	guint64 sequence = 7;

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_msg(!gbe_run_record_name_parse(cases[i], &sequence, NULL), "taken: %s",
			      cases[i]);
	ck_assert_uint_eq(sequence, 7);
}
END_TEST

static GbeRunRecord *
sample(void)
{
	GbeRunRecord *record = gbe_run_record_new();

	record->sequence = 42;
	record->deployment.id = g_strdup(ID);
	record->deployment.handle = g_strdup("00ff");
	record->run = g_strdup(RUN);
	record->trial = GBE_NO;
	record->by_hand = TRUE;
	record->health = GBE_HEALTH_HEALTHY;
	record->reason = g_strdup("it\nworks");
	record->etcd_version = g_strdup("3.5.16");
	record->revision = 0;
	record->member_id = g_strdup("8e9e05c52164694d");
	return record;
}

static void
check_sample(const GbeRunRecord *record)
{
	ck_assert_str_eq(record->deployment.id, ID);
	ck_assert_str_eq(record->deployment.handle, "00ff");
	ck_assert_str_eq(record->run, RUN);
	ck_assert_int_eq(record->trial, GBE_NO);
	ck_assert(record->by_hand);
	ck_assert_int_eq(record->health, GBE_HEALTH_HEALTHY);
	ck_assert_str_eq(record->reason, "it\nworks");
	ck_assert_str_eq(record->etcd_version, "3.5.16");
	ck_assert_int_eq(record->revision, 0);
	ck_assert_str_eq(record->member_id, "8e9e05c52164694d");
	ck_assert_ptr_null(record->cluster_id);
}

START_TEST(round_trip)
{
	g_autoptr(GbeRunRecord) record = sample(), again = NULL, copy = NULL;
	g_autoptr(JsonObject) object = gbe_run_record_to_json(record);

	ck_assert(gbe_run_record_from_json(object, &again, NULL));
	check_sample(again);
	copy = gbe_run_record_copy(again);
	g_clear_pointer(&again, gbe_run_record_free);
	check_sample(copy);
}
END_TEST

static GbeRunRecord *
from_text(const char *text, GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	GbeRunRecord *record = NULL;

	ck_assert(gbe_json_parse_object(text, strlen(text), "x", &object, NULL));
	if (!gbe_run_record_from_json(object, &record, error))
		ck_assert_ptr_null(record);
	return record;
}

START_TEST(newer_and_damaged)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GbeRunRecord) record =
	    from_text("{\"deployment\":{\"id\":\"" ID "\"},\"health\":\"sleepy\",\"x\":1,"
		      "\"format\":4}",
		      NULL);
	g_autoptr(JsonObject) printed = gbe_run_record_to_json(record);

	ck_assert_int_eq(record->health, GBE_HEALTH_CANNOT_TELL);
	ck_assert_int_eq(record->trial, GBE_UNKNOWN);
	ck_assert_int_eq(record->revision, -1);
	ck_assert_ptr_null(record->run);
	ck_assert_str_eq(gbe_json_string(printed, "health", ""), "sleepy");
	ck_assert_int_eq(gbe_json_int(printed, "x", 0), 1);
	ck_assert_int_eq(gbe_json_int(printed, "format", 0), 4);
	ck_assert_ptr_null(from_text("{}", &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
	ck_assert_ptr_null(from_text("{\"deployment\":{\"id\":\"x\"}}", NULL));
	ck_assert_ptr_null(
	    from_text("{\"deployment\":{\"id\":\"" ID "\"},\"revision\":true}", NULL));
}
END_TEST

START_TEST(gone_round_trip)
{
	g_autoptr(GPtrArray) gone = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_gone_free);
	g_autoptr(GPtrArray) again = NULL;
	g_autoptr(JsonObject) object = NULL;

	for (guint i = 0; i < 3; i++) {
		GbeGone *one = g_new0(GbeGone, 1);

		one->id = g_strdup_printf("r-" C64 ".%u", i);
		one->sequence = 40 + i;
		g_ptr_array_add(gone, one);
	}
	object = gbe_gone_to_json(gone);
	again = gbe_gone_from_json(object);
	ck_assert_uint_eq(again->len, 3);
	ck_assert_str_eq(((GbeGone *)again->pdata[2])->id, "r-" C64 ".2");
	ck_assert_uint_eq(((GbeGone *)again->pdata[2])->sequence, 42);
}
END_TEST

START_TEST(gone_skips_what_it_cannot_read)
{
	static const char text[] = "{\"gone\":[1,null,{},{\"id\":\"a\"},{\"id\":7,\"sequence\":1},"
				   "{\"id\":\"b\",\"sequence\":-1},{\"id\":\"c\",\"sequence\":2}]}";
	g_autoptr(JsonObject) object = NULL, none = json_object_new();
	g_autoptr(GPtrArray) gone = NULL, empty = gbe_gone_from_json(none);

	ck_assert(gbe_json_parse_object(text, strlen(text), "x", &object, NULL));
	gone = gbe_gone_from_json(object);
	ck_assert_uint_eq(gone->len, 1);
	ck_assert_str_eq(((GbeGone *)gone->pdata[0])->id, "c");
	ck_assert_uint_eq(empty->len, 0);
}
END_TEST

static void
mangled_name(const char *bytes, gsize size, gboolean complete)
{
	g_autofree char *name = g_strndup(bytes, size), *again = NULL;
	guint64 sequence;
	GbeVerdict verdict;

	if (!gbe_run_record_name_parse(name, &sequence, &verdict))
		return;
	again = gbe_run_record_name(sequence, verdict);
	ck_assert_str_eq(again, name);
}

START_TEST(any_bytes)
{
	gbe_mangle("00000000000000000042.judging", mangled_name);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-run-record");
	TCase *records = tcase_create("records");

	tcase_add_test(records, names);
	tcase_add_test(records, other_names);
	tcase_add_test(records, round_trip);
	tcase_add_test(records, newer_and_damaged);
	tcase_add_test(records, gone_round_trip);
	tcase_add_test(records, gone_skips_what_it_cannot_read);
	tcase_add_test(records, any_bytes);
	suite_add_tcase(suite, records);
	return gbe_unit_main(suite);
}
