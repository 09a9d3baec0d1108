/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/parse.h"
#include "lib/mangle.h"
#include "lib/unit.h"
#include "store/core/transfer.h"

#include <string.h>

/* As version 0.2.1 writes them: a snapshot that waits; one that was begun, and refused. */
#define WAITS                                                                                      \
	"{\n  \"sha256\": \"5f\",\n  \"stored_sha256\": null,\n  \"revision\": 71,\n"              \
	"  \"hash_kv\": null\n}"
#define REFUSED                                                                                    \
	"{\n  \"sha256\": \"5f\",\n  \"stored_sha256\": \"a0\",\n  \"revision\": 71,\n"            \
	"  \"hash_kv\": 4294967295,\n  \"store\": \"https://s3.example.org/etcd\",\n"              \
	"  \"upload\": \"VXBsb2Fk\",\n  \"part_size\": 8388608,\n  \"parts\": [\n"                 \
	"    \"\\\"e1\\\"\",\n    \"\\\"e2\\\"\"\n  ],\n"                                          \
	"  \"failed\": \"PUT x: the bucket is full (403)\",\n  \"failed_at\": 1764320000,\n"       \
	"  \"refused\": true\n}"

/* As this version of json-glib lays it out. */
static char *
laid_out(const char *text)
{
	g_autoptr(JsonObject) object = NULL;

	ck_assert(gbe_json_parse_object(text, strlen(text), "it", &object, NULL));
	return gbe_json_print_object(object);
}

START_TEST(of_0_2_1)
{
	g_auto(GbeTransfer) transfer = {0};
	g_autofree char *text = NULL, *expected = laid_out(REFUSED);

	gbe_transfer_read(REFUSED, strlen(REFUSED), &transfer);
	ck_assert_str_eq(transfer.sha256, "5f");
	ck_assert_str_eq(transfer.stored_sha256, "a0");
	ck_assert_int_eq(transfer.revision, 71);
	ck_assert_int_eq(transfer.hash_kv, 4294967295);
	ck_assert_str_eq(transfer.store, "https://s3.example.org/etcd");
	ck_assert_str_eq(transfer.upload, "VXBsb2Fk");
	ck_assert_int_eq(transfer.part_size, 8388608);
	ck_assert_uint_eq(transfer.parts->len, 2);
	ck_assert_str_eq(transfer.parts->pdata[1], "\"e2\"");
	ck_assert_str_eq(transfer.failed, "PUT x: the bucket is full (403)");
	ck_assert_int_eq(transfer.failed_at, 1764320000);
	ck_assert(transfer.refused);
	text = gbe_transfer_print(&transfer);
	ck_assert_str_eq(text, expected);
}
END_TEST

/* The calls by which 0.2.1 reads the file: gbe_json_string(), _int(), _bool(), _array(). */
START_TEST(for_0_2_1)
{
	g_auto(GbeTransfer) transfer = {0};
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *first = NULL, *second = NULL, *expected = laid_out(WAITS);
	JsonArray *parts;

	gbe_transfer_init(&transfer);
	transfer.sha256 = g_strdup("5f");
	transfer.revision = 71;
	first = gbe_transfer_print(&transfer);
	ck_assert_str_eq(first, expected);
	gbe_transfer_begin(&transfer, "https://s3.example.org/etcd");
	transfer.upload = g_strdup("VXBsb2Fk");
	transfer.part_size = 8388608;
	transfer.parts = g_ptr_array_new_with_free_func(g_free);
	second = gbe_transfer_print(&transfer);
	ck_assert(gbe_json_parse_object(second, strlen(second), "it", &object, NULL));
	ck_assert_str_eq(gbe_json_string(object, "store", ""), "https://s3.example.org/etcd");
	ck_assert_str_eq(gbe_json_string(object, "upload", ""), "VXBsb2Fk");
	ck_assert_int_eq(gbe_json_int(object, "part_size", 0), 8388608);
	ck_assert_int_eq(gbe_json_int(object, "revision", -1), 71);
	ck_assert_int_eq(gbe_json_int(object, "failed_at", -1), -1);
	ck_assert(!gbe_json_bool(object, "refused", false));
	/* 0.2.1 adds to this array: it is there, also without a part. */
	parts = gbe_json_array(object, "parts");
	ck_assert_ptr_nonnull(parts);
	ck_assert_uint_eq(json_array_get_length(parts), 0);
}
END_TEST

START_TEST(begun_elsewhere)
{
	g_auto(GbeTransfer) transfer = {0};
	g_autofree char *text = NULL;

	gbe_transfer_read(REFUSED, strlen(REFUSED), &transfer);
	gbe_transfer_begin(&transfer, "https://s3.example.org/etcd");
	ck_assert_str_eq(transfer.upload, "VXBsb2Fk");
	gbe_transfer_begin(&transfer, "/mnt/disk");
	ck_assert_str_eq(transfer.store, "/mnt/disk");
	ck_assert_ptr_null(transfer.upload);
	ck_assert_ptr_null(transfer.parts);
	text = gbe_transfer_print(&transfer);
	ck_assert_ptr_null(strstr(text, "upload"));
	ck_assert_ptr_null(strstr(text, "parts"));
}
END_TEST

START_TEST(of_a_newer_version)
{
	static const char bytes[] = "{\"sha256\": \"5f\", \"later\": 1, \"parts\": [\"a\", 2, {}]}";
	g_auto(GbeTransfer) transfer = {0};
	g_autofree char *text = NULL;

	gbe_transfer_read(bytes, strlen(bytes), &transfer);
	ck_assert_uint_eq(transfer.parts->len, 1);
	text = gbe_transfer_print(&transfer);
	ck_assert_ptr_nonnull(strstr(text, "\"later\""));
}
END_TEST

static void
mangled(const char *bytes, gsize size, bool complete G_GNUC_UNUSED)
{
	g_auto(GbeTransfer) transfer = {0};
	g_autofree char *text = NULL;

	gbe_transfer_read(bytes, size, &transfer);
	text = gbe_transfer_print(&transfer);
	ck_assert_ptr_nonnull(text);
}

START_TEST(any_bytes)
{
	gbe_mangle(REFUSED, mangled);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("store-transfer");
	TCase *records = tcase_create("records");

	tcase_set_timeout(records, 30);
	tcase_add_test(records, of_0_2_1);
	tcase_add_test(records, for_0_2_1);
	tcase_add_test(records, begun_elsewhere);
	tcase_add_test(records, of_a_newer_version);
	tcase_add_test(records, any_bytes);
	suite_add_tcase(suite, records);
	return gbe_unit_main(suite);
}
