/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/snapshot/name.h"
#include "lib/unit.h"

#include <string.h>

/* From etcd-manager's document. */
#define DOCUMENTED "2018-01-30T01:02:03Z-000009"
#define DOCUMENTED_TIME 1517274123

START_TEST(documented)
{
	GbeSnapshotName name = {0};
	g_autofree char *text = NULL;

	ck_assert(gbe_snapshot_name_parse(DOCUMENTED, &name));
	ck_assert_int_eq(name.time, DOCUMENTED_TIME);
	ck_assert_uint_eq(name.sequence, 9);
	text = gbe_snapshot_name_print(&name);
	ck_assert_str_eq(text, DOCUMENTED);
}
END_TEST

START_TEST(other_suffixes)
{
	static const struct {
		const char *text;
		guint64 sequence;
	} names[] = {
	    {"2018-01-30T01:02:03Z-a", 0},
	    {"2018-01-30T01:02:03Z-7", 7},
	    {"2018-01-30T01:02:03Z-000007.node-1_x+", 7},
	    {"2018-01-30T01:02:03Z-999999999999999", 999999999999999},
	    /* Not one of our numbers: it sorts, but is never counted on from. */
	    {"2018-01-30T01:02:03Z-9999999999999999999999", 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		GbeSnapshotName name = {0};

		ck_assert(gbe_snapshot_name_parse(names[i].text, &name));
		ck_assert_int_eq(name.time, DOCUMENTED_TIME);
		ck_assert_uint_eq(name.sequence, names[i].sequence);
	}
}
END_TEST

START_TEST(foreign)
{
	static const char *const names[] = {
	    "",
	    "control",
	    "lost+found",
	    "2018-01-30T01:02:03Z",
	    "2018-01-30T01:02:03Z-",
	    "2018-01-30T01:02:03Z_000009",
	    "2018-01-30T01:02:03Z-../x",
	    "2018-01-30T01:02:03Z-a b",
	    "2018-01-30T01:02:03Z-\033[2J",
	    "2018-02-30T01:02:03Z-000009",
	    "2018-01-30T24:02:03Z-000009",
	    "2018-01-30T01:02:60Z-000009",
	    "2018-01-30 01:02:03Z-000009",
	    "2018-01-30T01:02:03+-000009",
	    "2018-W05-2T01:02:03Z-000009",
	    "0018-01-30T01:02:03Z-00009x/",
	    "18-01-30T01:02:03Z-000009",
	    ".partial-2018-01-30T01:02:03Z-000009",
	};

	g_autofree char *digits = g_strnfill(GBE_SNAPSHOT_NAME_MAX - 21, '7');
	g_autofree char *longest = g_strconcat("2018-01-30T01:02:03Z-", digits, NULL);
	g_autofree char *longer = g_strconcat(longest, "7", NULL);

	ck_assert(gbe_snapshot_name_parse(longest, NULL));
	ck_assert(!gbe_snapshot_name_parse(longer, NULL));
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		GbeSnapshotName name = {.time = -7};

		ck_assert_msg(!gbe_snapshot_name_parse(names[i], &name), "%s", names[i]);
		ck_assert_int_eq(name.time, -7);
	}
}
END_TEST

/* A printed name is valid and sorts bytewise, as in other tools, after the previous one. */
static GbeSnapshotName
next_after(const GbeSnapshotName *newest, gint64 now)
{
	GbeSnapshotName next = gbe_snapshot_name_next(newest, now), again = {0};
	g_autofree char *text = gbe_snapshot_name_print(&next);
	g_autofree char *before = NULL;

	ck_assert(gbe_snapshot_name_parse(text, &again));
	ck_assert_int_eq(again.time, next.time);
	ck_assert_uint_eq(again.sequence, next.sequence);
	ck_assert_int_eq(again.undated, next.undated);
	if (newest == NULL)
		return next;
	before = gbe_snapshot_name_print(newest);
	ck_assert_int_lt(gbe_snapshot_name_compare(newest, &next), 0);
	ck_assert_int_gt(gbe_snapshot_name_compare(&next, newest), 0);
	ck_assert_msg(strcmp(before, text) < 0, "%s after %s", text, before);
	return next;
}

START_TEST(order)
{
	GbeSnapshotName name = next_after(NULL, DOCUMENTED_TIME);

	ck_assert_int_eq(name.time, DOCUMENTED_TIME);
	ck_assert_uint_eq(name.sequence, 1);
	ck_assert_int_eq(gbe_snapshot_name_compare(&name, &name), 0);
	/* Twice in a second, then a clock that starts at or before 1970 at each boot. */
	name = next_after(&name, DOCUMENTED_TIME);
	ck_assert_uint_eq(name.sequence, 2);
	ck_assert(!name.undated);
	name = next_after(&name, 300);
	ck_assert_int_eq(name.time, DOCUMENTED_TIME);
	ck_assert(name.undated);
	name = next_after(&name, -300);
	ck_assert_int_eq(name.time, DOCUMENTED_TIME);
	ck_assert_uint_eq(name.sequence, 4);
	name = next_after(&name, DOCUMENTED_TIME + 1);
	ck_assert_int_eq(name.time, DOCUMENTED_TIME + 1);
	ck_assert_uint_eq(name.sequence, 5);
	ck_assert(!name.undated);
	/* The counter restarts in the next second. */
	name.sequence = GBE_SNAPSHOT_SEQUENCE_MAX;
	name = next_after(&name, DOCUMENTED_TIME);
	ck_assert_int_eq(name.time, DOCUMENTED_TIME + 2);
	ck_assert_uint_eq(name.sequence, 1);
	/* From a clock that was never set. */
	name = next_after(NULL, G_MININT64);
	ck_assert_int_eq(name.time, 0);
	name = next_after(NULL, G_MAXINT64);
	ck_assert_uint_eq(name.sequence, 1);
	name = next_after(&name, G_MAXINT64);
	ck_assert_uint_eq(name.sequence, 2);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-snapshot-name");
	TCase *names = tcase_create("names");

	tcase_add_test(names, documented);
	tcase_add_test(names, other_suffixes);
	tcase_add_test(names, foreign);
	tcase_add_test(names, order);
	suite_add_tcase(suite, names);
	return gbe_unit_main(suite);
}
