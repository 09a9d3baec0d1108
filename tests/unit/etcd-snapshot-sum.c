/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/unit.h"

#include "etcd/db/snapshot-file.h"

#include <string.h>

#define DB (4 * 4096)

/* A database of a few pages, and its checksum. */
static void
make_file(guint8 file[DB + GBE_SNAPSHOT_SUM])
{
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
	gsize length = GBE_SNAPSHOT_SUM;

	for (gsize i = 0; i < DB; i++)
		file[i] = (guint8)(i * 31 + i / 4096);
	g_checksum_update(checksum, file, DB);
	g_checksum_get_digest(checksum, file + DB, &length);
}

/* In pieces of @piece bytes. */
static bool
is_right(const guint8 *file, gsize size, gsize piece)
{
	g_auto(GbeSnapshotSum) sum = {0};
	g_autoptr(GError) error = NULL;
	bool right;

	gbe_snapshot_sum_init(&sum);
	for (gsize at = 0; at < size; at += piece)
		gbe_snapshot_sum_push(&sum, file + at, MIN(piece, size - at));
	ck_assert_uint_eq(sum.size, size);
	right = gbe_snapshot_sum_check(&sum, &error);
	ck_assert(right || g_error_matches(error, GBE_ERROR, GBE_ERROR_VERIFY_FAILED));
	return right;
}

START_TEST(any_pieces)
{
	static const gsize pieces[] = {1, 7, 31, 32, 33, 63, 64, 65, 512, 4096, DB, DB + 32};
	guint8 file[DB + GBE_SNAPSHOT_SUM];

	make_file(file);
	for (gsize i = 0; i < G_N_ELEMENTS(pieces); i++) {
		ck_assert(is_right(file, sizeof(file), pieces[i]));
		file[0] ^= 1;
		ck_assert(!is_right(file, sizeof(file), pieces[i]));
		file[0] ^= 1;
	}
}
END_TEST

START_TEST(every_byte_counts)
{
	guint8 file[DB + GBE_SNAPSHOT_SUM];

	make_file(file);
	for (gsize at = 0; at < sizeof(file); at += at < DB - 64 ? 509 : 1) {
		file[at] ^= 0x80;
		ck_assert_msg(!is_right(file, sizeof(file), 4096), "byte %zu", at);
		file[at] ^= 0x80;
	}
}
END_TEST

START_TEST(cut_off)
{
	guint8 file[DB + GBE_SNAPSHOT_SUM];

	make_file(file);
	ck_assert(!is_right(file, 0, 1));
	ck_assert(!is_right(file, GBE_SNAPSHOT_SUM, 32));
	for (gsize less = 1; less <= GBE_SNAPSHOT_SUM + 1; less++)
		ck_assert(!is_right(file, sizeof(file) - less, 4096));
	/* The right size, but the checksum is in another place. */
	ck_assert(!is_right(file, sizeof(file) - 512, 4096));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-snapshot-sum");
	TCase *tcase = tcase_create("sum");

	tcase_add_test(tcase, any_pieces);
	tcase_add_test(tcase, every_byte_counts);
	tcase_add_test(tcase, cut_off);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
