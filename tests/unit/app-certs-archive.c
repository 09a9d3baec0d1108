/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of an archive of certificates, with real files below a root of this test. */
#include "app/certs/archive.h"

#include <fcntl.h>
#include <glib/gstdio.h>

#include "app/state/state.h"
#include "core/json/parse.h"
#include "lib/app-root.h"

/* As version 0.2.1 writes it; the seal is the digest of the text. */
#define RECORD                                                                                     \
	"{\n  \"format\": 1,\n  \"written_by\": \"0.2.1\",\n"                                      \
	"  \"directories\": [\n    \"/etc/etcd/tls\",\n    \"/etc/other\"\n  ],\n"                 \
	"  \"regenerated\": [\n    \"*.crt\",\n    \"/etc/other/key\"\n  ]\n}"

START_TEST(of_0_2_1)
{
	g_autoptr(GbeCertsArchive) made = NULL, found = NULL;
	char *directories[] = {(char *)"/etc/a", NULL}, *patterns[] = {(char *)"*", NULL};
	g_autofree char *sealed = gbe_record_seal(RECORD);
	g_autofree char *path = g_build_filename(root, GBE_STATE_DIR, "certs/1.open/record", NULL);
	g_autofree char *bytes = NULL;
	g_autoptr(JsonObject) object = NULL;
	JsonArray *array;
	gsize size = 0;

	/* 0.2.1 reads the file of this version: two arrays of texts, sealed. */
	ck_assert(gbe_certs_archive_make(app, directories, patterns, &made, NULL));
	ck_assert(g_file_get_contents(path, &bytes, &size, NULL));
	ck_assert(gbe_record_open(bytes, size, "it", &object, NULL));
	ck_assert_int_eq(gbe_json_int(object, "format", 0), 1);
	array = gbe_json_array(object, "directories");
	ck_assert_uint_eq(json_array_get_length(array), 1);
	ck_assert_str_eq(json_array_get_string_element(array, 0), "/etc/a");
	array = gbe_json_array(object, "regenerated");
	ck_assert_str_eq(json_array_get_string_element(array, 0), "*");
	/* And the reverse. */
	ck_assert(g_file_set_contents(path, sealed, -1, NULL));
	ck_assert(gbe_certs_archive_newest(app, &found, NULL));
	ck_assert(found->open);
	ck_assert_uint_eq(found->number, 1);
	ck_assert_uint_eq(g_strv_length(found->directories), 2);
	ck_assert_str_eq(found->directories[1], "/etc/other");
	ck_assert_uint_eq(g_strv_length(found->patterns), 2);
	ck_assert_str_eq(found->patterns[0], "*.crt");
}
END_TEST

/* A record that says nothing has empty lists, and a damaged one is refused. */
START_TEST(odd)
{
	g_autoptr(GbeCertsArchive) made = NULL, found = NULL, none = NULL;
	char *directories[] = {(char *)"/etc/a", NULL}, *patterns[] = {(char *)"*", NULL};
	g_autofree char *path = g_build_filename(root, GBE_STATE_DIR, "certs/1.open/record", NULL);
	g_autofree char *sealed = gbe_record_seal("{\"format\": 1}");

	ck_assert(gbe_certs_archive_make(app, directories, patterns, &made, NULL));
	ck_assert(g_file_set_contents(path, sealed, -1, NULL));
	ck_assert(gbe_certs_archive_newest(app, &found, NULL));
	ck_assert_ptr_null(found->directories[0]);
	ck_assert_ptr_null(found->patterns[0]);
	ck_assert(g_file_set_contents(path, RECORD, -1, NULL));
	ck_assert(!gbe_certs_archive_newest(app, &none, NULL));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("app-certs-archive");
	TCase *records = tcase_create("records");

	tcase_add_checked_fixture(records, app_setup, app_teardown);
	tcase_add_test(records, of_0_2_1);
	tcase_add_test(records, odd);
	suite_add_tcase(suite, records);
	return gbe_unit_main(suite);
}
