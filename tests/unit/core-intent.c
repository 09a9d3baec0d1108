/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/intent.h"
#include "core/record.h"
#include "lib/mangle.h"
#include "lib/unit.h"

#define C64 "35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"
#define RUN "0123456789abcdef0123456789abcdef"
#define ID "rhel_9.4-" C64 ".1"

static GbeIntent *
sample(void)
{
	GbeIntent *intent = gbe_intent_new();
	const char *const entries[] = {"name\xff", "member", NULL};

	intent->written_by = g_strdup("0.1.0");
	intent->operation = GBE_OPERATION_RESTORE;
	intent->step = GBE_STEP_ENTRIES;
	intent->sequence = 42;
	intent->run = g_strdup(RUN);
	intent->backup = g_strdup("adopted-7");
	intent->rule = g_strdup("10a");
	intent->staging = g_strdup("/var/lib/etcd/.greenboot-etcd/.restore-42");
	intent->entries = g_strdupv((char **)(gpointer)entries);
	intent->consume = TRUE;
	intent->keep_existing = g_strdup("/var/old data");
	intent->displaced = gbe_manifest_new();
	intent->displaced->name = g_strdup(ID "_" RUN);
	intent->displaced->sequence = 41;
	intent->displaced->grade = GBE_GRADE_BAD;
	gbe_manifest_add_file(intent->displaced, "member/snap/db", 1, NULL);
	return intent;
}

static char *
print(const GbeIntent *intent)
{
	g_autoptr(JsonObject) object = gbe_intent_to_json(intent);

	return gbe_json_print_object(object);
}

static bool
parse(const char *bytes, gsize size, GbeIntent **ret_intent, GError **error)
{
	g_autoptr(JsonObject) object = NULL;

	return gbe_json_parse_object(bytes, size, "intent", &object, error) &&
	       gbe_intent_from_json(object, ret_intent, error);
}

static GbeIntent *
must_parse(const char *text)
{
	g_autoptr(GError) error = NULL;
	GbeIntent *intent = NULL;
	bool ok = parse(text, strlen(text), &intent, &error);

	ck_assert_msg(ok, "%s", ok ? "" : error->message);
	return intent;
}

START_TEST(round_trip)
{
	g_autoptr(GbeIntent) intent = sample(), again = NULL;
	g_autofree char *text = print(intent), *second = NULL;

	again = must_parse(text);
	ck_assert_int_eq(again->operation, GBE_OPERATION_RESTORE);
	ck_assert_str_eq(again->operation_name, "restore");
	ck_assert_int_eq(again->step, GBE_STEP_ENTRIES);
	ck_assert_uint_eq(again->sequence, 42);
	ck_assert_str_eq(again->run, RUN);
	ck_assert_str_eq(again->backup, "adopted-7");
	ck_assert_str_eq(again->rule, "10a");
	ck_assert_str_eq(again->staging, "/var/lib/etcd/.greenboot-etcd/.restore-42");
	/* These are renamed: each byte counts. */
	ck_assert_str_eq(again->entries[0], "name\xff");
	ck_assert_str_eq(again->entries[1], "member");
	ck_assert_ptr_null(again->entries[2]);
	ck_assert(again->consume);
	ck_assert_str_eq(again->keep_existing, "/var/old data");
	ck_assert_str_eq(again->displaced->name, ID "_" RUN);
	ck_assert_int_eq(again->displaced->grade, GBE_GRADE_BAD);
	ck_assert_uint_eq(again->displaced->files->len, 1);
	second = print(again);
	ck_assert_str_eq(text, second);
}
END_TEST

START_TEST(steps)
{
	for (GbeStep step = GBE_STEP_STAGED; step <= GBE_STEP_EXCHANGED; step++) {
		g_autoptr(GbeIntent) intent = sample(), again = NULL;
		g_autofree char *text = NULL;

		intent->step = step;
		g_clear_pointer(&intent->displaced, gbe_manifest_free);
		text = print(intent);
		again = must_parse(text);
		ck_assert_int_eq(again->step, step);
		ck_assert_ptr_null(again->displaced);
	}
}
END_TEST

#define HEAD "{\"operation\":\"restore\",\"step\":\"staged\",\"sequence\":3"

START_TEST(newer_operations_survive)
{
	g_autoptr(GbeIntent) intent = must_parse(
	    "{\"operation\":\"merge\",\"step\":\"half-way\",\"sequence\":3,\"with\":{\"a\":1}}");
	g_autofree char *text = NULL;
	g_autoptr(GbeIntent) again = NULL;

	ck_assert_int_eq(intent->operation, GBE_OPERATION_UNKNOWN);
	ck_assert_int_eq(intent->step, GBE_STEP_UNKNOWN);
	ck_assert_str_eq(intent->operation_name, "merge");
	text = print(intent);
	again = must_parse(text);
	ck_assert_str_eq(again->operation_name, "merge");
	ck_assert_str_eq(gbe_json_string(again->unknown, "step", ""), "half-way");
	ck_assert_int_eq(gbe_json_int(gbe_json_object(again->unknown, "with"), "a", 0), 1);
}
END_TEST

START_TEST(damaged)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"{\"step\":\"staged\",\"sequence\":3}", "\"operation\" is missing"},
	    {"{\"operation\":\"restore\",\"sequence\":3}", "\"step\" is missing"},
	    {"{\"operation\":\"restore\",\"step\":\"staged\"}", "\"sequence\" is missing"},
	    {HEAD ",\"staging\":\"x\"}", "absolute path"},
	    {HEAD ",\"keep_existing\":\"x\"}", "absolute path"},
	    {HEAD ",\"backup\":\"../x\"}", "name of a backup"},
	    {HEAD ",\"entries\":[\"a/b\"]}", "array of names"},
	    {HEAD ",\"entries\":[\"..\"]}", "array of names"},
	    {HEAD ",\"entries\":[\"\"]}", "array of names"},
	    {HEAD ",\"displaced\":{\"name\":\"x\"}}", "\"displaced\": manifest: \"sequence\""},
	    {"{\"operation\":\"restore\",\"step\":\"entries\",\"sequence\":3}",
	     "\"entries\" is missing"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		GbeIntent *intent = NULL;

		ck_assert_msg(!parse(cases[i].text, strlen(cases[i].text), &intent, &error),
			      "taken: %s", cases[i].text);
		ck_assert_ptr_null(intent);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s", error->message);
	}
}
END_TEST

START_TEST(never_too_large_to_read)
{
	g_autofree char *tail = g_strnfill(300, 'y');
	g_autoptr(GbeIntent) intent = sample(), again = NULL;
	g_autofree char *text = NULL;

	while (intent->displaced->files->len < GBE_MANIFEST_FILES_MAX) {
		g_autofree char *path =
		    g_strdup_printf("%u/%s", intent->displaced->files->len, tail);

		gbe_manifest_add_file(intent->displaced, path, 1, C64);
	}
	text = print(intent);
	ck_assert_uint_le(strlen(text), GBE_JSON_MAX_SIZE);
	again = must_parse(text);
	ck_assert_str_eq(again->displaced->name, ID "_" RUN);
	ck_assert_ptr_null(again->displaced->files);
}
END_TEST

/* What is taken prints as something that is taken and prints the same. */
static void
mangled(const char *bytes, gsize size, gboolean complete)
{
	g_autoptr(GbeIntent) intent = NULL, again = NULL;
	g_autofree char *first = NULL, *second = NULL;
	g_autoptr(GError) error = NULL;

	if (!parse(bytes, size, &intent, &error)) {
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		return;
	}
	ck_assert_msg(complete || bytes[size - 1] == '}', "half an intent was taken");
	first = print(intent);
	again = must_parse(first);
	second = print(again);
	ck_assert_str_eq(first, second);
}

START_TEST(any_bytes)
{
	gbe_mangle("{\"format\":1,\"operation\":\"restore\",\"step\":\"entries\",\"sequence\":42,"
		   "\"run\":\"" RUN "+1\",\"backup\":\"adopted-7\",\"staging\":\"/a/b\","
		   "\"entries\":[\"x\",{\"hex\":\"61ff\"}],\"consume\":false,"
		   "\"displaced\":{\"name\":\"y\",\"sequence\":1,\"files\":[]}}",
		   mangled);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-intent");
	TCase *intent = tcase_create("intent");

	tcase_set_timeout(intent, 60);
	tcase_add_test(intent, round_trip);
	tcase_add_test(intent, steps);
	tcase_add_test(intent, newer_operations_survive);
	tcase_add_test(intent, damaged);
	tcase_add_test(intent, never_too_large_to_read);
	tcase_add_test(intent, any_bytes);
	suite_add_tcase(suite, intent);
	return gbe_unit_main(suite);
}
