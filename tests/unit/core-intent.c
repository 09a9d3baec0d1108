/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/parse.h"
#include "core/record/intent.h"
#include "lib/unit.h"

#define C64 "35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"
#define RUN "0123456789abcdef0123456789abcdef"
#define ID "rhel_9.4-" C64 ".1"

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

#define HEAD "{\"operation\":\"restore\",\"staged\":3"

/* A hand-back takes nothing over, and a fresh tree displaces nothing. */
START_TEST(least_of_all)
{
	g_autoptr(GbeIntent) intent = must_parse(HEAD "}");

	ck_assert_int_eq(intent->operation, GBE_OPERATION_RESTORE);
	ck_assert_ptr_null(intent->take_over);
	ck_assert_ptr_null(intent->displaced);
	ck_assert_ptr_null(intent->tree_old);
	ck_assert_ptr_null(intent->entries);
}
END_TEST

/* An operation that this program does not know is left alone. */
START_TEST(newer_operations_are_not_ours)
{
	g_autoptr(GbeIntent) intent =
	    must_parse("{\"operation\":\"merge\",\"staged\":3,\"step\":\"half-way\",\"with\":{}}");

	ck_assert_int_eq(intent->operation, GBE_OPERATION_UNKNOWN);
	ck_assert_uint_eq(intent->sequence, 3);
}
END_TEST

START_TEST(damaged)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"{\"staged\":3}", "\"operation\" is missing"},
	    {"{\"operation\":\"restore\"}", "\"staged\" is missing"},
	    {"{\"operation\":\"restore\",\"staged\":0}", "is zero"},
	    {HEAD ",\"staging\":\"x\"}", "absolute path"},
	    {HEAD ",\"keep_existing\":\"x\"}", "absolute path"},
	    {HEAD ",\"backup\":\"../x\"}", "name of a backup"},
	    {HEAD ",\"entries\":[\"a/b\"]}", "array of names"},
	    {HEAD ",\"entries\":[\"..\"]}", "array of names"},
	    {HEAD ",\"entries\":[\"\"]}", "array of names"},
	    {HEAD ",\"displaced\":{\"name\":\"x\"}}", "\"displaced\": manifest: \"sequence\""},
	    {HEAD ",\"take_over\":{\"run\":null}}", "\"take_over\": take-over: \"deployment\""},
	    {HEAD ",\"take_over\":7}", "\"take_over\" is not an object"},
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
	g_autoptr(GbeIntent) intent = gbe_intent_new(), again = NULL;
	g_autofree char *text = NULL;

	intent->operation = GBE_OPERATION_RESTORE;
	intent->sequence = 42;
	intent->displaced = gbe_manifest_new();
	intent->displaced->name = g_strdup(ID "_" RUN);
	intent->displaced->sequence = 41;
	gbe_manifest_add_file(intent->displaced, "member/snap/db", 1, NULL);
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

int
main(void)
{
	Suite *suite = suite_create("core-intent");
	TCase *intent = tcase_create("intent");

	tcase_set_timeout(intent, 60);
	tcase_add_test(intent, least_of_all);
	tcase_add_test(intent, newer_operations_are_not_ours);
	tcase_add_test(intent, damaged);
	tcase_add_test(intent, never_too_large_to_read);
	suite_add_tcase(suite, intent);
	return gbe_unit_main(suite);
}
