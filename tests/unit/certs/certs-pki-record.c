/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/core/pki-record.h"
#include "core/json/parse.h"
#include "lib/mangle.h"
#include "lib/unit.h"

#include <stdio.h>

static const char golden[] = "{\n"
			     "  \"format\" : 1,\n"
			     "  \"written_by\" : \"0.2.0\",\n"
			     "  \"sequence\" : 42,\n"
			     "  \"made_by\" : \"certs rotate-ca\",\n"
			     "  \"made_at\" : 1767225600,\n"
			     "  \"rotation\" : \"trusted\",\n"
			     "  \"restart\" : true,\n"
			     "  \"was_healthy\" : true\n"
			     "}\n"
			     "sha256 "
			     "9d6967a71c187ad31a44c3d9afcd3e80640b8a1f3320463dc46b81fe3ed21c57\n";

static GbePkiRecord
sample(void)
{
	return (GbePkiRecord){.sequence = 42,
			      .made_by = g_strdup("certs rotate-ca"),
			      .made_at = 1767225600,
			      .rotation = GBE_ROTATION_TRUSTED,
			      .restart = true,
			      .was_healthy = GBE_YES};
}

START_TEST(golden_text)
{
	g_auto(GbePkiRecord) record = sample(), again = {0};
	g_autofree char *text = gbe_pki_record_print(&record);
	g_auto(GStrv) parts = g_strsplit(golden, "\"0.2.0\"", 2);
	g_autofree char *body = g_strconcat(parts[0], "\"" GBE_VERSION "\"", parts[1], NULL);
	g_autofree char *sealed = NULL;

	/* Of this version, with its checksum. */
	*strstr(body, "sha256 ") = '\0';
	sealed = gbe_record_seal(body);
	ck_assert_str_eq(text, sealed);
	ck_assert(gbe_pki_record_read(golden, strlen(golden), "x", &again, NULL));
	ck_assert_uint_eq(again.sequence, 42);
	ck_assert_str_eq(again.made_by, "certs rotate-ca");
	ck_assert_int_eq(again.made_at, 1767225600);
	ck_assert_int_eq(again.rotation, GBE_ROTATION_TRUSTED);
	ck_assert(again.restart);
	ck_assert_int_eq(again.was_healthy, GBE_YES);
}
END_TEST

/* A key of later than the first version of format 1. */
START_TEST(was_taken)
{
	g_auto(GbePkiRecord) record = sample(), with = {0}, without = {0};
	g_autofree char *text = gbe_pki_record_print(&record);
	g_autofree char *more = NULL;

	ck_assert(strstr(text, "was_taken") == NULL);
	ck_assert(gbe_pki_record_read(text, strlen(text), "x", &without, NULL));
	ck_assert(!without.was_taken);
	record.was_taken = true;
	more = gbe_pki_record_print(&record);
	ck_assert(strstr(more, "\"was_taken\" : true") != NULL);
	ck_assert(gbe_pki_record_read(more, strlen(more), "x", &with, NULL));
	ck_assert(with.was_taken);
}
END_TEST

static bool
read_text(const char *json, GbePkiRecord *ret_record, GError **error)
{
	g_autofree char *sealed = gbe_record_seal(json);

	return gbe_pki_record_read(sealed, strlen(sealed), "the record", ret_record, error);
}

#define HEAD "{\"format\":1,"

/* Of a later version of this program: what it says more is not read. A rotation that is not known decides who is
 * trusted, and is refused. */
START_TEST(newer)
{
	g_auto(GbePkiRecord) record = {0};
	GbePkiRecord other = {0};
	g_autoptr(GError) error = NULL;

	ck_assert(read_text(HEAD "\"sequence\":3,\"made_by\":\"x\",\"made_at\":1,\"rotation\":"
				 "\"none\",\"restart\":false,\"was_healthy\":null,\"more\":"
				 "{\"a\":[1]}}\n",
			    &record, NULL));
	ck_assert_uint_eq(record.sequence, 3);
	ck_assert_int_eq(record.rotation, GBE_ROTATION_NONE);
	ck_assert_int_eq(record.was_healthy, GBE_UNKNOWN);
	ck_assert(!read_text(HEAD "\"sequence\":3,\"rotation\":\"sideways\"}\n", &other, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
}
END_TEST

START_TEST(damaged)
{
	static const char *const cases[] = {
	    "",
	    "{}",
	    HEAD "\"made_by\":\"x\"}",
	    HEAD "\"sequence\":0}",
	    HEAD "\"sequence\":-1}",
	    HEAD "\"sequence\":\"3\"}",
	    HEAD "\"sequence\":3,\"rotation\":7}",
	    HEAD "\"sequence\":3,\"restart\":\"yes\"}",
	    HEAD "\"sequence\":3,\"was_healthy\":2}",
	    HEAD "\"sequence\":3,\"made_by\":[]}",
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		GbePkiRecord record = {.sequence = 7};
		g_autoptr(GError) error = NULL;

		ck_assert_msg(!read_text(cases[i], &record, &error), "taken: %s", cases[i]);
		ck_assert_msg(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT), "%s",
			      error->message);
		ck_assert_msg(strstr(error->message, "the record") != NULL, "%s", error->message);
		ck_assert_uint_eq(record.sequence, 7);
	}
}
END_TEST

static void
mangled(const char *bytes, gsize size, bool complete)
{
	GbePkiRecord record = {.sequence = 7};
	g_autoptr(GError) error = NULL;

	(void)complete;
	/* Its checksum tells. */
	if (size == strlen(golden) && memcmp(bytes, golden, size) == 0)
		return;
	ck_assert_msg(!gbe_pki_record_read(bytes, size, "x", &record, &error), "taken: %.*s",
		      (int)size, bytes);
	ck_assert_uint_eq(record.sequence, 7);
}

START_TEST(any_bytes)
{
	gbe_mangle(golden, mangled);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("certs-pki-record");
	TCase *tcase = tcase_create("record");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, golden_text);
	tcase_add_test(tcase, was_taken);
	tcase_add_test(tcase, newer);
	tcase_add_test(tcase, damaged);
	tcase_add_test(tcase, any_bytes);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
