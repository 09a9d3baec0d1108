/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/sha256.h"
#include "lib/unit.h"

static char *
sum_in_pieces(const GbeSha256Backend *backend, const void *bytes, gsize size, gsize piece)
{
	g_auto(GbeSha256) sum = {0};
	guint8 digest[GBE_SHA256_SIZE];

	gbe_sha256_use(backend);
	gbe_sha256_init(&sum);
	for (gsize at = 0; at < size; at += piece)
		gbe_sha256_push(&sum, (const guint8 *)bytes + at, MIN(piece, size - at));
	ck_assert(gbe_sha256_end(&sum, digest, NULL));
	return gbe_sha256_text(digest);
}

/* FIPS 180-4's examples. */
START_TEST(known_sums)
{
	static const struct {
		const char *text, *sum;
	} cases[] = {
	    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		gsize size = strlen(cases[i].text);
		g_autofree char *sum =
		    sum_in_pieces(&gbe_sha256_libcrypto, cases[i].text, size, size + 1);
		g_autofree char *without = sum_in_pieces(NULL, cases[i].text, size, size + 1);

		ck_assert_str_eq(sum, cases[i].sum);
		ck_assert_str_eq(without, cases[i].sum);
	}
}
END_TEST

/* Pieces around the block of 64 bytes. */
START_TEST(pieces_are_the_whole)
{
	static const gsize pieces[] = {1, 3, 55, 56, 63, 64, 65, 127, 1000, 4097, 20000};
	g_autofree guint8 *bytes = g_malloc(10007);
	g_autofree char *whole = NULL;

	for (gsize i = 0; i < 10007; i++)
		bytes[i] = (guint8)(i * 131 + i / 251);
	for (gsize size = 0; size <= 10007; size += size < 130 ? 1 : 1411) {
		whole = g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes, size);
		for (gsize i = 0; i < G_N_ELEMENTS(pieces); i++) {
			g_autofree char *sum =
			    sum_in_pieces(&gbe_sha256_libcrypto, bytes, size, pieces[i]);
			g_autofree char *without = sum_in_pieces(NULL, bytes, size, pieces[i]);

			ck_assert_str_eq(sum, whole);
			ck_assert_str_eq(without, whole);
		}
		g_clear_pointer(&whole, g_free);
	}
}
END_TEST

/* libcrypto is what the tests are built with, so that it is there. */
START_TEST(libcrypto_is_used)
{
	g_auto(GbeSha256) sum = {0};

	gbe_sha256_use(&gbe_sha256_libcrypto);
	gbe_sha256_init(&sum);
	ck_assert_ptr_nonnull(sum.digest);
	ck_assert_ptr_null(sum.checksum);
	gbe_sha256_clear(&sum);
	ck_assert_ptr_null(sum.digest);
	/* A second time does nothing. */
	gbe_sha256_clear(&sum);
}
END_TEST

/* Digits of one place have a zero before them. */
START_TEST(text)
{
	guint8 digest[GBE_SHA256_SIZE] = {0, 1, 0xab, 0xff};
	g_autofree char *hex = gbe_sha256_text(digest);

	ck_assert_str_eq(hex, "0001abff00000000000000000000000000000000000000000000000000000000");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base-sha256");
	TCase *sums = tcase_create("sums");

	tcase_add_test(sums, known_sums);
	tcase_add_test(sums, pieces_are_the_whole);
	tcase_add_test(sums, libcrypto_is_used);
	tcase_add_test(sums, text);
	suite_add_tcase(suite, sums);
	return gbe_unit_main(suite);
}
