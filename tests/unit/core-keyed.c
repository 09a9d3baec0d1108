/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/parse.h"
#include "core/record/keyed.h"
#include "core/record/manifest.h"
#include "lib/unit.h"

#include <string.h>

#define KEY_A "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define KEY_B "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eAA"

static GbeKeys *
keys_of(const char *text)
{
	g_autoptr(GError) error = NULL;
	GbeKeys *keys = NULL;
	bool ok = gbe_keys_parse(text, strlen(text), &keys, &error);

	ck_assert_msg(ok, "%s", ok ? "" : error->message);
	return keys;
}

START_TEST(files)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
	    {"", "no key"},
	    {"# nothing\n\n", "no key"},
	    {"secret\n", "line 1 is not a key"},
	    {"\n" KEY_A "0\n", "line 2 is not a key"},
	    {KEY_A KEY_A "00", "line 1 is not a key"},
	    {KEY_A " " KEY_A, "line 1 is not a key"},
	    {"00010203040506070809", "line 1 is not a key"},
	};
	g_autoptr(GString) many = g_string_new(NULL);
	GbeKeys *none = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert(!gbe_keys_parse(bad[i].text, strlen(bad[i].text), &none, &error));
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_INVALID_CONFIG));
		ck_assert_msg(strstr(error->message, bad[i].says) != NULL, "%s", error->message);
		ck_assert_msg(strstr(error->message, "secret") == NULL, "%s", error->message);
	}
	ck_assert(!gbe_keys_parse(KEY_A "\n\0x", strlen(KEY_A) + 3, &none, NULL));
	for (guint i = 0; i <= GBE_KEYS_MAX; i++)
		g_string_append(many, KEY_A "\n");
	ck_assert(!gbe_keys_parse(many->str, many->len, &none, NULL));
	ck_assert_ptr_null(none);
	gbe_keys_free(keys_of("# of the fleet\r\n " KEY_A " \r\n\n" KEY_B));
}
END_TEST

/* The value from `openssl mac -digest SHA256 -macopt hexkey:KEY HMAC`. */
START_TEST(known)
{
	g_autoptr(GbeKeys) keys = keys_of(KEY_A);
	g_autofree char *digest = gbe_keys_sign(keys, GBE_KEYED_FILE, "abc");

	ck_assert_str_eq(digest,
			 "177e12b74829c41f0c933474bd8fc6de1b83117b6b03b5a4b63da31b9bd11cf4");
}
END_TEST

START_TEST(rotation)
{
	g_autoptr(GbeKeys) old = keys_of(KEY_A), both = keys_of(KEY_B "\n" KEY_A),
			   next = keys_of(KEY_B);
	g_autofree char *by_old = gbe_keys_sign(old, GBE_KEYED_MANIFEST, "text");
	g_autofree char *by_both = gbe_keys_sign(both, GBE_KEYED_MANIFEST, "text");

	ck_assert_uint_eq(strlen(by_old), GBE_KEYED_LENGTH);
	ck_assert_str_ne(by_old, by_both);
	ck_assert(gbe_keys_prove(both, GBE_KEYED_MANIFEST, "text", by_old));
	ck_assert(gbe_keys_prove(both, GBE_KEYED_MANIFEST, "text", by_both));
	ck_assert(gbe_keys_prove(next, GBE_KEYED_MANIFEST, "text", by_both));
	ck_assert(!gbe_keys_prove(next, GBE_KEYED_MANIFEST, "text", by_old));
	ck_assert(!gbe_keys_prove(old, GBE_KEYED_MANIFEST, "text", by_both));
	/* Of nothing else, and nothing else. */
	ck_assert(!gbe_keys_prove(old, GBE_KEYED_MANIFEST, "texT", by_old));
	ck_assert(!gbe_keys_prove(old, GBE_KEYED_STORED, "text", by_old));
	ck_assert(!gbe_keys_prove(old, GBE_KEYED_FILE, "text", by_old));
	ck_assert(!gbe_keys_prove(old, GBE_KEYED_MANIFEST, "text", NULL));
	ck_assert(!gbe_keys_prove(old, GBE_KEYED_MANIFEST, "text", ""));
	by_old[GBE_KEYED_LENGTH - 1] ^= 1;
	ck_assert(!gbe_keys_prove(old, GBE_KEYED_MANIFEST, "text", by_old));
	by_old[GBE_KEYED_LENGTH - 1] = '\0';
	ck_assert(!gbe_keys_prove(old, GBE_KEYED_MANIFEST, "text", by_old));
}
END_TEST

static GbeManifest *
read_again(const char *text, const GbeKeys *keys)
{
	g_autoptr(GError) error = NULL;
	GbeManifest *manifest = NULL;
	bool ok = gbe_manifest_parse(text, strlen(text), &manifest, &error);

	ck_assert_msg(ok, "%s", ok ? "" : error->message);
	if (keys != NULL)
		gbe_manifest_check_seal(manifest, keys);
	return manifest;
}

static GbeManifest *
sample(void)
{
	GbeManifest *manifest = gbe_manifest_new();

	manifest->name = g_strdup("mine");
	manifest->sequence = 7;
	manifest->description = g_strdup("odd \xff");
	gbe_manifest_add_file(manifest, "member/snap/db\xfe", 9, NULL);
	manifest->files_count = 1;
	return manifest;
}

START_TEST(manifests)
{
	g_autoptr(GbeKeys) keys = keys_of(KEY_A), other = keys_of(KEY_B);
	g_autoptr(GbeManifest) manifest = sample(), again = NULL, wrong = NULL, changed = NULL;
	g_autofree char *text = gbe_manifest_print_signed(manifest, keys), *second = NULL,
			*third = NULL;
	char *sequence;

	again = read_again(text, keys);
	ck_assert_int_eq(again->seal, GBE_SEAL_RIGHT);
	/* A manifest with a right signature is signed again after a change. */
	again->pinned = true;
	second = gbe_manifest_print_signed(again, keys);
	changed = read_again(second, keys);
	ck_assert_int_eq(changed->seal, GBE_SEAL_RIGHT);
	ck_assert_str_ne(changed->hmac, again->hmac);
	/* A changed manifest is not signed again. */
	sequence = strstr(text, "\"sequence\" : 7");
	ck_assert_ptr_nonnull(sequence);
	sequence[strlen("\"sequence\" : ")] = '8';
	wrong = read_again(text, keys);
	ck_assert_int_eq(wrong->seal, GBE_SEAL_WRONG);
	third = gbe_manifest_print_signed(wrong, keys);
	g_clear_pointer(&wrong, gbe_manifest_free);
	wrong = read_again(third, keys);
	ck_assert_int_eq(wrong->seal, GBE_SEAL_WRONG);
	g_clear_pointer(&wrong, gbe_manifest_free);
	wrong = read_again(second, other);
	ck_assert_int_eq(wrong->seal, GBE_SEAL_WRONG);
	/* The signature was not checked. */
	g_clear_pointer(&wrong, gbe_manifest_free);
	wrong = read_again(second, NULL);
	ck_assert_int_eq(wrong->seal, GBE_SEAL_WRONG);
}
END_TEST

/* A manifest from before there was a key is not signed when it is written again. Without a key, no signature stays. */
START_TEST(unsigned_ones)
{
	g_autoptr(GbeKeys) keys = keys_of(KEY_A);
	g_autoptr(GbeManifest) manifest = sample(), again = NULL, later = NULL;
	g_autofree char *text = gbe_manifest_print_signed(manifest, NULL), *second = NULL,
			*third = NULL;

	ck_assert_ptr_null(strstr(text, "hmac"));
	again = read_again(text, keys);
	ck_assert_int_eq(again->seal, GBE_SEAL_NONE);
	second = gbe_manifest_print_signed(again, keys);
	ck_assert_str_eq(second, text);
	g_clear_pointer(&again, gbe_manifest_free);
	g_free(second);
	second = gbe_manifest_print_signed(manifest, keys);
	again = read_again(second, keys);
	third = gbe_manifest_print_signed(again, NULL);
	ck_assert_str_eq(third, text);
	later = read_again(third, keys);
	ck_assert_int_eq(later->seal, GBE_SEAL_NONE);
}
END_TEST

/* A list of files is left out for its size: the signature covers what is written. */
START_TEST(too_many_files)
{
	g_autoptr(GbeKeys) keys = keys_of(KEY_A);
	g_autofree char *text = NULL, *path = g_strnfill(2000, 'x');
	g_autoptr(GbeManifest) manifest = sample(), again = NULL;

	for (guint i = 0; i < GBE_MANIFEST_FILES_MAX - 1; i++)
		gbe_manifest_add_file(manifest, path, i, NULL);
	text = gbe_manifest_print_signed(manifest, keys);
	ck_assert_uint_le(strlen(text), GBE_JSON_MAX_SIZE);
	again = read_again(text, keys);
	ck_assert_ptr_null(again->files);
	ck_assert_int_eq(again->seal, GBE_SEAL_RIGHT);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-keyed");
	TCase *tcase = tcase_create("keyed");

	tcase_add_test(tcase, files);
	tcase_add_test(tcase, known);
	tcase_add_test(tcase, rotation);
	tcase_add_test(tcase, manifests);
	tcase_add_test(tcase, unsigned_ones);
	tcase_add_test(tcase, too_many_files);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
