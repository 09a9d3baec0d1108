/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Yesterday's program reads today's files": the golden files of format 1, read and written back. */
#include "core/intent.h"
#include "core/record.h"
#include "core/request.h"
#include "core/run-record.h"
#include "lib/unit.h"

static char *
golden(const char *name)
{
	const char *data = g_getenv("GBE_TEST_DATA");
	g_autofree char *path = NULL;
	char *text = NULL;
	g_autoptr(GError) error = NULL;
	bool ok;

	path = g_build_filename(data != NULL ? data : "tests/data", "format-1", name, NULL);
	ok = g_file_get_contents(path, &text, NULL, &error);
	ck_assert_msg(ok, "%s", ok ? "" : error->message);
	return text;
}

static JsonObject *
open_record(const char *text)
{
	JsonObject *object = NULL;
	g_autoptr(GError) error = NULL;
	bool ok = gbe_record_open(text, strlen(text), "golden", &object, &error);

	ck_assert_msg(ok, "%s", ok ? "" : error->message);
	return object;
}

/* Takes @object. */
static void
check_record(const char *text, JsonObject *object)
{
	g_autofree char *json = gbe_json_print_object(object), *again = gbe_record_seal(json);

	ck_assert_str_eq(again, text);
	json_object_unref(object);
}

/* What was read without its JSON prints from what is known alone: each key is this program's. */
START_TEST(stamp_golden)
{
	g_autofree char *text = golden("stamp"), *again = NULL;
	g_autoptr(GbeStamp) stamp = NULL;

	ck_assert(gbe_stamp_parse(text, strlen(text), &stamp, NULL));
	g_clear_pointer(&stamp->unknown, json_object_unref);
	again = gbe_stamp_print(stamp);
	ck_assert_str_eq(again, text);
}
END_TEST

START_TEST(manifest_golden)
{
	g_autofree char *text = golden("manifest"), *again = NULL;
	g_autoptr(GbeManifest) manifest = NULL;

	ck_assert(gbe_manifest_parse(text, strlen(text), &manifest, NULL));
	g_clear_pointer(&manifest->unknown, json_object_unref);
	again = gbe_manifest_print(manifest);
	ck_assert_str_eq(again, text);
}
END_TEST

START_TEST(intent_golden)
{
	g_autofree char *text = golden("intent");
	g_autoptr(JsonObject) object = open_record(text);
	g_autoptr(GbeIntent) intent = NULL;

	ck_assert(gbe_intent_from_json(object, &intent, NULL));
	g_clear_pointer(&intent->unknown, json_object_unref);
	g_clear_pointer(&intent->displaced->unknown, json_object_unref);
	check_record(text, gbe_intent_to_json(intent));
}
END_TEST

START_TEST(run_golden)
{
	g_autofree char *text = golden("run");
	g_autoptr(JsonObject) object = open_record(text);
	g_autoptr(GbeRunRecord) record = NULL;

	ck_assert(gbe_run_record_from_json(object, &record, NULL));
	g_clear_pointer(&record->unknown, json_object_unref);
	check_record(text, gbe_run_record_to_json(record));
}
END_TEST

START_TEST(request_golden)
{
	g_autofree char *text = golden("request");
	g_autoptr(JsonObject) object = open_record(text);
	GbeRequest read = {0};

	ck_assert(gbe_request_from_json(object, &read, NULL));
	check_record(text, gbe_request_to_json(&read));
	gbe_request_clear(&read);
}
END_TEST

START_TEST(lists_golden)
{
	g_autofree char *attempts_text = golden("attempts"), *gone_text = golden("gone");
	g_autoptr(JsonObject) attempts_object = open_record(attempts_text);
	g_autoptr(JsonObject) gone_object = open_record(gone_text);
	g_autoptr(GPtrArray) attempts = gbe_attempts_from_json(attempts_object);
	g_autoptr(GPtrArray) gone = gbe_gone_from_json(gone_object);

	check_record(attempts_text, gbe_attempts_to_json(attempts));
	check_record(gone_text, gbe_gone_to_json(gone));
}
END_TEST

START_TEST(last_operation_golden)
{
	g_autofree char *text = golden("last-operation");
	g_autoptr(JsonObject) object = open_record(text);
	GbeLastOperation last = {0};

	gbe_last_operation_from_json(object, &last);
	check_record(text, gbe_last_operation_to_json(&last));
	gbe_last_operation_clear(&last);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-format-1");
	TCase *golden_files = tcase_create("golden");

	tcase_add_test(golden_files, stamp_golden);
	tcase_add_test(golden_files, manifest_golden);
	tcase_add_test(golden_files, intent_golden);
	tcase_add_test(golden_files, run_golden);
	tcase_add_test(golden_files, request_golden);
	tcase_add_test(golden_files, lists_golden);
	tcase_add_test(golden_files, last_operation_golden);
	suite_add_tcase(suite, golden_files);
	return gbe_unit_main(suite);
}
