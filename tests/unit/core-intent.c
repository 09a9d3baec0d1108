/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/parse.h"
#include "core/record/intent.h"
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

	intent->operation = GBE_OPERATION_RESTORE;
	intent->sequence = 42;
	intent->backup = g_strdup("adopted-7");
	intent->rule = g_strdup("10a");
	intent->staging = g_strdup("/var/lib/etcd/.greenboot-etcd/.restore-42");
	intent->tree_new = g_strdup("fs:01");
	intent->tree_old = g_strdup("fs:02");
	intent->entries = g_strdupv((char **)(gpointer)entries);
	intent->consume = true;
	intent->keep_existing = g_strdup("/var/old data");
	intent->displaced = gbe_manifest_new();
	intent->displaced->name = g_strdup(ID "_" RUN);
	intent->displaced->sequence = 41;
	intent->displaced->grade = GBE_GRADE_BAD;
	gbe_manifest_add_file(intent->displaced, "member/snap/db", 1, NULL);
	intent->take_over = gbe_take_over_new();
	intent->take_over->deployment.id = g_strdup(ID);
	intent->take_over->run = g_strdup(RUN);
	intent->take_over->sequence = 43;
	intent->take_over->source = g_strdup("adopted-7");
	intent->take_over->request = g_strdup("--next-boot");
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
	ck_assert_uint_eq(again->sequence, 42);
	ck_assert_str_eq(again->backup, "adopted-7");
	ck_assert_str_eq(again->rule, "10a");
	ck_assert_str_eq(again->staging, "/var/lib/etcd/.greenboot-etcd/.restore-42");
	ck_assert_str_eq(again->tree_new, "fs:01");
	ck_assert_str_eq(again->tree_old, "fs:02");
	ck_assert_uint_eq(g_strv_length(again->entries), 2);
	ck_assert_str_eq(again->entries[0], "name\xff");
	ck_assert_str_eq(again->entries[1], "member");
	ck_assert(again->consume);
	ck_assert_str_eq(again->keep_existing, "/var/old data");
	ck_assert_str_eq(again->displaced->name, ID "_" RUN);
	ck_assert_uint_eq(again->displaced->sequence, 41);
	ck_assert_int_eq(again->displaced->grade, GBE_GRADE_BAD);
	ck_assert_int_eq(again->displaced->seal, GBE_SEAL_NEW);
	ck_assert_uint_eq(again->take_over->sequence, 43);
	ck_assert_str_eq(again->take_over->source, "adopted-7");
	ck_assert_str_eq(again->take_over->request, "--next-boot");
	second = print(again);
	ck_assert_str_eq(text, second);
}
END_TEST

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

/* Every accepted intent prints as one that is accepted and prints the same. */
static void
mangled(const char *bytes, gsize size, bool complete)
{
	g_autoptr(GbeIntent) intent = NULL, again = NULL;
	g_autofree char *first = NULL, *second = NULL;
	g_autoptr(GError) error = NULL;

	if (!parse(bytes, size, &intent, &error)) {
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		return;
	}
	ck_assert_msg(complete || bytes[size - 1] == '}', "half an intent was taken");
	/* A newer program's intent is never written again. */
	if (intent->operation != GBE_OPERATION_RESTORE)
		return;
	first = print(intent);
	again = must_parse(first);
	second = print(again);
	ck_assert_str_eq(first, second);
}

START_TEST(any_bytes)
{
	gbe_mangle(
	    "{\"operation\":\"restore\",\"staged\":42,\"backup\":\"adopted-7\","
	    "\"staging\":\"/a/b\",\"tree_new\":\"f:1\",\"entries\":[\"x\",{\"hex\":\"61ff\"}],"
	    "\"consume\":false,\"displaced\":{\"name\":\"y\",\"sequence\":1,\"files\":[]},"
	    "\"take_over\":{\"deployment\":{\"id\":null},\"run\":null,\"sequence\":1}}",
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
	tcase_add_test(intent, least_of_all);
	tcase_add_test(intent, newer_operations_are_not_ours);
	tcase_add_test(intent, damaged);
	tcase_add_test(intent, never_too_large_to_read);
	tcase_add_test(intent, any_bytes);
	suite_add_tcase(suite, intent);
	return gbe_unit_main(suite);
}
