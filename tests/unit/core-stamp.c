/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record.h"
#include "core/stamp.h"
#include "lib/mangle.h"
#include "lib/unit.h"

#define C64 "35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"
#define RUN "0123456789abcdef0123456789abcdef"
#define ID "rhel_9.4-" C64 ".1"
#define OTHER "rhel_9.4-" C64 ".0"

static GbeStamp *
sample(void)
{
	GbeStamp *stamp = gbe_stamp_new();
	GbeLineage from = {.line = 3};

	stamp->written_by = g_strdup("0.1.0");
	stamp->deployment.id = g_strdup(ID);
	stamp->deployment.handle = g_strdup("810000001f00");
	stamp->run = g_strdup(RUN "+1");
	stamp->sequence = 42;
	gbe_lineage_grow(&stamp->lineage, &from, 40, 41);
	stamp->previous = g_strdup(OTHER "_" RUN);
	stamp->restored_from = g_strdup("adopted-7");
	stamp->etcd_version = g_strdup("3.5.16");
	stamp->voters = 1;
	stamp->mount_point = GBE_NO;
	stamp->was_default = GBE_YES;
	stamp->trial.on = GBE_YES;
	stamp->trial.since = 41;
	stamp->trial.used = 0;
	stamp->trial.judged = TRUE;
	stamp->trial.judges = GBE_YES;
	stamp->stamped = 1732100000;
	stamp->store_path = g_strdup("/var/lib/greenboot-etcd/backups");
	stamp->store_fs = g_strdup("8a6a1f60-0d5e-4b7c-9d0e-0123456789ab");
	stamp->data_handle = g_strdup("0100ab");
	stamp->member_id = g_strdup("8e9e05c52164694d");
	stamp->cluster_id = g_strdup("cdf818194e3a8c32");
	stamp->closing.present = TRUE;
	stamp->closing.fingerprint.present = TRUE;
	stamp->closing.fingerprint.txid[0] = 7;
	stamp->closing.fingerprint.wal_name = g_strdup("0-0.wal");
	stamp->closing.fingerprint.snaps = g_strdup("");
	stamp->closing.fingerprint.others = g_strdup("ab");
	stamp->closing.used = 3600;
	stamp->closing.at = 1732200000;
	stamp->uptime = 12;
	stamp->closing.next = g_strdup(OTHER);
	stamp->closing.backup = g_strdup(ID "_" RUN "~2");
	return stamp;
}

static GbeStamp *
must_parse(const char *text)
{
	g_autoptr(GError) error = NULL;
	GbeStamp *stamp = NULL;
	bool ok = gbe_stamp_parse(text, strlen(text), &stamp, &error);

	ck_assert_msg(ok, "%s", ok ? "" : error->message);
	return stamp;
}

static void
check_sample(const GbeStamp *stamp)
{
	ck_assert_uint_eq(stamp->format, 1);
	ck_assert_str_eq(stamp->written_by, "0.1.0");
	ck_assert_str_eq(stamp->deployment.id, ID);
	ck_assert_str_eq(stamp->deployment.handle, "810000001f00");
	ck_assert_str_eq(stamp->run, RUN "+1");
	ck_assert_uint_eq(stamp->sequence, 42);
	ck_assert_uint_eq(stamp->lineage.line, 41);
	ck_assert_int_eq(gbe_lineage_contains(&stamp->lineage, 42, 3, 40), GBE_YES);
	ck_assert_int_eq(gbe_lineage_contains(&stamp->lineage, 42, 3, 41), GBE_NO);
	ck_assert(!stamp->lineage.truncated);
	ck_assert_str_eq(stamp->previous, OTHER "_" RUN);
	ck_assert_str_eq(stamp->restored_from, "adopted-7");
	ck_assert_str_eq(stamp->etcd_version, "3.5.16");
	ck_assert_uint_eq(stamp->voters, 1);
	ck_assert_int_eq(stamp->mount_point, GBE_NO);
	ck_assert_int_eq(stamp->was_default, GBE_YES);
	ck_assert_int_eq(stamp->trial.on, GBE_YES);
	ck_assert_uint_eq(stamp->trial.since, 41);
	ck_assert_int_eq(stamp->trial.used, 0);
	ck_assert(stamp->trial.judged);
	ck_assert_int_eq(stamp->trial.judges, GBE_YES);
	ck_assert_int_eq(stamp->stamped, 1732100000);
	ck_assert_int_eq(stamp->uptime, 12);
	ck_assert_str_eq(stamp->store_path, "/var/lib/greenboot-etcd/backups");
	ck_assert_str_eq(stamp->store_fs, "8a6a1f60-0d5e-4b7c-9d0e-0123456789ab");
	ck_assert_str_eq(stamp->data_handle, "0100ab");
	ck_assert_str_eq(stamp->member_id, "8e9e05c52164694d");
	ck_assert_str_eq(stamp->cluster_id, "cdf818194e3a8c32");
}

static void
check_closing(const GbeClosing *closing)
{
	g_autoptr(GbeStamp) as_made = sample();

	ck_assert(closing->present);
	ck_assert(gbe_fingerprint_equal(&closing->fingerprint, &as_made->closing.fingerprint));
	ck_assert_int_eq(closing->used, 3600);
	ck_assert_int_eq(closing->at, 1732200000);
	ck_assert_str_eq(closing->next, OTHER);
	ck_assert_str_eq(closing->backup, ID "_" RUN "~2");
}

START_TEST(round_trip)
{
	g_autoptr(GbeStamp) stamp = sample(), again = NULL, copy = NULL;
	g_autofree char *text = gbe_stamp_print(stamp), *second = NULL, *third = NULL;

	again = must_parse(text);
	check_sample(again);
	check_closing(&again->closing);
	second = gbe_stamp_print(again);
	ck_assert_str_eq(text, second);
	copy = gbe_stamp_copy(again);
	g_clear_pointer(&again, gbe_stamp_free);
	check_sample(copy);
	check_closing(&copy->closing);
	third = gbe_stamp_print(copy);
	ck_assert_str_eq(text, third);
}
END_TEST

/* prerun clears the closing record: null, and nothing of it comes back. */
START_TEST(closing_is_cleared)
{
	g_autoptr(GbeStamp) stamp = sample(), read = NULL, again = NULL;
	g_autofree char *text = gbe_stamp_print(stamp), *cleared = NULL;

	read = must_parse(text);
	read->closing.present = FALSE;
	cleared = gbe_stamp_print(read);
	ck_assert_ptr_nonnull(strstr(cleared, "\"closing\" : null"));
	again = must_parse(cleared);
	ck_assert(!again->closing.present);
	ck_assert_int_eq(again->closing.used, -1);
	check_sample(again);
}
END_TEST

/* All that a stamp has to have. */
START_TEST(least_of_all)
{
	g_autoptr(GbeStamp) stamp =
	    must_parse("{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\",\"sequence\":1}");

	ck_assert_uint_eq(stamp->format, GBE_FORMAT);
	ck_assert_ptr_null(stamp->deployment.handle);
	ck_assert_ptr_null(stamp->previous);
	ck_assert_uint_eq(stamp->lineage.line, 0);
	ck_assert_int_eq(stamp->trial.on, GBE_UNKNOWN);
	ck_assert_int_eq(stamp->trial.used, -1);
	ck_assert_int_eq(stamp->mount_point, GBE_UNKNOWN);
	ck_assert_int_eq(stamp->was_default, GBE_UNKNOWN);
	ck_assert(!stamp->closing.present);
	ck_assert_uint_eq(stamp->voters, 0);
}
END_TEST

START_TEST(unknown_run_is_known_to_be_so)
{
	g_autoptr(GbeStamp) stamp =
	    must_parse("{\"deployment\":{\"id\":\"" ID "\"},\"run\":null,\"sequence\":1}");

	ck_assert_ptr_null(stamp->run);
}
END_TEST

#define HEAD "{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\",\"sequence\":7"

START_TEST(damaged)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"", "empty"},
	    {"{}", "\"deployment\" is missing"},
	    {"{\"deployment\":{},\"run\":\"" RUN "\",\"sequence\":1}",
	     "\"deployment.id\" is missing"},
	    {"{\"deployment\":{\"id\":\"x\"},\"run\":\"" RUN "\",\"sequence\":1}", "deployment id"},
	    {"{\"deployment\":\"" ID "\",\"run\":\"" RUN "\",\"sequence\":1}", "not an object"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"sequence\":1}", "\"run\" is missing"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"x\",\"sequence\":1}", "run id"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\"}", "\"sequence\" is missing"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\",\"sequence\":0}", "is zero"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\",\"sequence\":-1}",
	     "negative"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\",\"sequence\":\"1\"}",
	     "not an integer"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN
	     "\",\"sequence\":9007199254740992}",
	     "too large"},
	    {HEAD ",\"previous\":\"../../etc\"}", "\"previous\" is not the name of a backup"},
	    {HEAD ",\"restored_from\":7}", "\"restored_from\" is not a string"},
	    {HEAD ",\"store_path\":\"/var/../etc\"}", "absolute path"},
	    {HEAD ",\"store_path\":\"backups\"}", "absolute path"},
	    {HEAD ",\"member_id\":\"8E9E05C52164694D\"}", "16 hex digits"},
	    {HEAD ",\"voters\":-1}", "negative"},
	    {HEAD ",\"voters\":4294967296}", "too large"},
	    {HEAD ",\"ancestors\":[1]}", "\"ancestors\""},
	    {HEAD ",\"ancestors\":[{\"line\":0,\"sequence\":1}]}", "\"ancestors\""},
	    {HEAD ",\"trial\":{\"on\":\"yes\"}}", "\"trial.on\" is neither"},
	    {HEAD ",\"closing\":[]}", "\"closing\" is not an object"},
	    {HEAD ",\"closing\":{\"backup\":\"a/b\"}}", "\"closing.backup\""},
	    {HEAD ",\"run\":\"" RUN "\"}", "there twice"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		GbeStamp *stamp = NULL;

		ck_assert_msg(
		    !gbe_stamp_parse(cases[i].text, strlen(cases[i].text), &stamp, &error),
		    "taken: %s", cases[i].text);
		ck_assert_ptr_null(stamp);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		ck_assert(g_str_has_prefix(error->message, "stamp: "));
		ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s", error->message);
	}
}
END_TEST

/* What tomorrow's program wrote is read, and is there when this one has written. */
START_TEST(newer_format_survives)
{
	static const char text[] =
	    HEAD ",\"format\":7,\"written_by\":\"9.0\",\"later\":{\"x\":[1,2.5,null]},"
		 "\"closing\":{\"used\":5,\"mood\":\"fine\",\"fingerprint\":{\"txid9\":\"1\"}},"
		 "\"trial\":{\"on\":true,\"jury\":12}}";
	g_autoptr(GbeStamp) stamp = must_parse(text), again = NULL;
	g_autofree char *printed = NULL;
	JsonObject *inner;

	ck_assert_uint_eq(stamp->format, 7);
	ck_assert(stamp->closing.present);
	ck_assert(!stamp->closing.fingerprint.present);
	stamp->sequence = 8;
	printed = gbe_stamp_print(stamp);
	again = must_parse(printed);
	ck_assert_uint_eq(again->format, 7);
	ck_assert_uint_eq(again->sequence, 8);
	inner = gbe_json_object(again->unknown, "later");
	ck_assert_ptr_nonnull(inner);
	ck_assert_uint_eq(json_array_get_length(gbe_json_array(inner, "x")), 3);
	inner = gbe_json_object(again->unknown, "closing");
	ck_assert_str_eq(gbe_json_string(inner, "mood", ""), "fine");
	inner = gbe_json_object(again->unknown, "trial");
	ck_assert_int_eq(gbe_json_int(inner, "jury", 0), 12);
	/* What was read is as it was read. */
	ck_assert_int_eq(gbe_json_int(stamp->unknown, "sequence", 0), 7);
}
END_TEST

START_TEST(long_chains_are_cut)
{
	g_autoptr(GString) text = g_string_new(HEAD ",\"line\":900,\"ancestors\":[");
	g_autoptr(GbeStamp) stamp = NULL;

	for (guint i = 1; i <= 100; i++)
		g_string_append_printf(text, "%s{\"line\":%u,\"sequence\":%u}", i > 1 ? "," : "", i,
				       i);
	g_string_append(text, "]}");
	stamp = must_parse(text->str);
	ck_assert_uint_eq(stamp->lineage.ancestors->len, GBE_LINEAGE_MAX);
	ck_assert(stamp->lineage.truncated);
	ck_assert_int_eq(gbe_lineage_contains(&stamp->lineage, 901, 100, 100), GBE_YES);
	ck_assert_int_eq(gbe_lineage_contains(&stamp->lineage, 901, 1, 1), GBE_UNKNOWN);
}
END_TEST

/* What is taken prints as something that is taken and prints the same. */
static void
mangled(const char *bytes, gsize size, gboolean complete)
{
	g_autoptr(GbeStamp) stamp = NULL, again = NULL;
	g_autofree char *first = NULL, *second = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_stamp_parse(bytes, size, &stamp, &error)) {
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		return;
	}
	/* Without the newline at its end it says the same. */
	ck_assert_msg(complete || bytes[size - 1] == '}', "half a stamp was taken");
	first = gbe_stamp_print(stamp);
	again = must_parse(first);
	second = gbe_stamp_print(again);
	ck_assert_str_eq(first, second);
}

START_TEST(any_bytes)
{
	g_autoptr(GbeStamp) stamp = sample();
	g_autofree char *text = gbe_stamp_print(stamp);

	gbe_mangle(text, mangled);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-stamp");
	TCase *stamp = tcase_create("stamp");

	tcase_set_timeout(stamp, 120);
	tcase_add_test(stamp, round_trip);
	tcase_add_test(stamp, closing_is_cleared);
	tcase_add_test(stamp, least_of_all);
	tcase_add_test(stamp, unknown_run_is_known_to_be_so);
	tcase_add_test(stamp, damaged);
	tcase_add_test(stamp, newer_format_survives);
	tcase_add_test(stamp, long_chains_are_cut);
	tcase_add_test(stamp, any_bytes);
	suite_add_tcase(suite, stamp);
	return gbe_unit_main(suite);
}
