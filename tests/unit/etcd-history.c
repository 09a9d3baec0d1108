/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Beside a table that holds everything: histories at random, with some rows left out. */
#include "lib/unit.h"

#include "etcd/db/history.h"

#include <string.h>

typedef struct {
	gint64 create, version; /* version 0: deleted */
	guint32 ordinal;
} Last;

typedef struct {
	guint64 broken, live;
	GArray *superseded; /* of bool, by ordinal */
} Expected;

static guint64 state;

static guint64
random_number(guint64 below)
{
	state = state * G_GUINT64_CONSTANT(6364136223846793005) + 1442695040888963407;
	return (state >> 33) % below;
}

static guint64
hash_of(guint64 key)
{
	key = (key + 1) * G_GUINT64_CONSTANT(0x9E3779B97F4A7C15);
	key = (key ^ (key >> 30)) * G_GUINT64_CONSTANT(0xBF58476D1CE4E5B9);
	key = (key ^ (key >> 27)) * G_GUINT64_CONSTANT(0x94D049BB133111EB);
	return key ^ (key >> 31);
}

/* @lose: one of this many rows is left out; 0: none. */
static GArray *
make_rows(guint64 count, guint64 keys, gint64 compacted, guint64 lose)
{
	GArray *rows = g_array_sized_new(false, false, sizeof(GbeHistoryRow), (guint)count);
	Last *last = g_new0(Last, keys);
	guint32 ordinal = 0;

	for (guint64 i = 0; i < count; i++) {
		guint64 key = random_number(keys);
		GbeHistoryRow row = {.hash = hash_of(key), .main = (gint64)i + 2};
		Last *before = &last[key];

		row.tombstone = before->version > 0 && random_number(4) == 0;
		if (row.tombstone) {
			before->version = 0;
		} else {
			if (before->version == 0)
				before->create = row.main;
			row.create = before->create;
			row.version = ++before->version;
		}
		if (lose != 0 && random_number(lose) == 0)
			continue;
		row.ordinal = row.main <= compacted ? ordinal++ : GBE_ORDINAL_NONE;
		g_array_append_val(rows, row);
	}
	g_free(last);
	return rows;
}

static void
supersede(Expected *expected, guint32 ordinal)
{
	if (ordinal != GBE_ORDINAL_NONE)
		g_array_index(expected->superseded, bool, ordinal) = true;
}

static void
expect_row(Expected *expected, GHashTable *table, const GbeHistoryRow *row, gint64 compacted)
{
	Last *last = g_hash_table_lookup(table, &row->hash);
	bool lives = last != NULL && last->version > 0;
	bool bound = row->main > compacted;

	if (last == NULL) {
		last = g_new0(Last, 1);
		(void)g_hash_table_insert(table, g_memdup2(&row->hash, 8), last);
	}
	if (row->tombstone) {
		expected->broken += bound && !lives;
		supersede(expected, row->ordinal);
	} else if (lives) {
		expected->broken +=
		    bound && (row->create != last->create || row->version != last->version + 1);
	} else {
		expected->broken += bound && (row->version != 1 || row->create != row->main);
	}
	if (lives)
		supersede(expected, last->ordinal);
	expected->live += (guint64)!row->tombstone - (guint64)lives;
	*last = (Last){row->create, row->version, row->ordinal};
}

static Expected
expect_of(const GArray *rows, gint64 compacted)
{
	g_autoptr(GHashTable) table =
	    g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	Expected expected = {.superseded = g_array_new(false, true, sizeof(bool))};

	g_array_set_size(expected.superseded, rows->len);
	for (guint i = 0; i < rows->len; i++)
		expect_row(&expected, table, &g_array_index(rows, GbeHistoryRow, i), compacted);
	return expected;
}

/* *ret_passes: the number of passes. */
static void
compare(guint64 count, guint64 keys, gint64 compacted, guint64 lose, guint64 room,
	guint64 *ret_passes)
{
	g_autoptr(GArray) rows = make_rows(count, keys, compacted, lose);
	g_autoptr(GbeHistory) history = gbe_history_new(compacted, room);
	Expected expected = expect_of(rows, compacted);
	const GbeHistoryResult *result = gbe_history_result(history);

	do {
		for (guint i = 0; i < rows->len; i++)
			gbe_history_add(history, &g_array_index(rows, GbeHistoryRow, i));
	} while (gbe_history_end_pass(history));
	ck_assert_uint_eq(result->broken, expected.broken);
	ck_assert_uint_eq(result->live, expected.live);
	ck_assert(!result->incomplete);
	ck_assert(result->knows_superseded);
	if (lose == 0)
		ck_assert_uint_eq(expected.broken, 0);
	else
		ck_assert_uint_gt(expected.broken, 0);
	for (guint i = 0; i < rows->len; i++) {
		guint32 ordinal = g_array_index(rows, GbeHistoryRow, i).ordinal;

		if (ordinal != GBE_ORDINAL_NONE)
			ck_assert_int_eq(gbe_history_is_superseded(history, ordinal),
					 g_array_index(expected.superseded, bool, ordinal));
	}
	g_array_unref(expected.superseded);
	if (ret_passes != NULL)
		*ret_passes = result->passes;
}

START_TEST(small)
{
	guint64 passes = 0;

	state = 7;
	for (guint64 keys = 1; keys < 400; keys = keys * 3 + 1) {
		compare(2000, keys, 1, 0, 2000, &passes);
		ck_assert_uint_eq(passes, 1);
		compare(2000, keys, 900, 0, 2000, NULL);
		compare(2000, keys, 900, 50, 2000, NULL);
		compare(2000, keys, 1, 50, 2000, NULL);
	}
}
END_TEST

/* More keys than there are slots. */
START_TEST(in_parts)
{
	guint64 passes = 0;

	state = 8;
	compare(60000, 20000, 1, 0, 1, &passes);
	ck_assert_uint_gt(passes, 10);
	compare(60000, 20000, 30000, 0, 1, NULL);
	compare(60000, 20000, 30000, 700, 1, NULL);
}
END_TEST

/* More keys than any table takes, almost all with one row: the sketch finds those. */
START_TEST(with_a_sketch)
{
	guint64 passes = 0;

	state = 9;
	compare(1200000, 100000000, 500000, 0, 1200000, &passes);
	ck_assert_uint_eq(passes, 2);
	compare(1300000, 1250000, 500000, 100000, 1300000, &passes);
	ck_assert_uint_le(passes, 3);
}
END_TEST

/* Hashes that collide on purpose: the check ends, and reports that it is incomplete. */
START_TEST(collisions)
{
	g_autoptr(GbeHistory) history = gbe_history_new(1, 1);
	guint passes = 0;

	do {
		for (guint64 i = 0; i < 3000; i++) {
			GbeHistoryRow row = {.hash = i,
					     .main = (gint64)i + 2,
					     .create = (gint64)i + 2,
					     .version = 1,
					     .ordinal = GBE_ORDINAL_NONE};

			gbe_history_add(history, &row);
		}
		ck_assert_uint_lt(++passes, 30);
	} while (gbe_history_end_pass(history));
	ck_assert(gbe_history_result(history)->incomplete);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-history");
	TCase *rows = tcase_create("rows");

	tcase_set_timeout(rows, 240);
	tcase_add_test(rows, small);
	tcase_add_test(rows, in_parts);
	tcase_add_test(rows, with_a_sketch);
	tcase_add_test(rows, collisions);
	suite_add_tcase(suite, rows);
	return gbe_unit_main(suite);
}
