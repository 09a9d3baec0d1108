/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/lineage.h"
#include "lib/unit.h"

START_TEST(contains_its_own_past)
{
	GbeLineage data = {.line = 5};

	ck_assert_int_eq(gbe_lineage_contains(&data, 9, 5, 9), GBE_YES);
	ck_assert_int_eq(gbe_lineage_contains(&data, 9, 5, 7), GBE_YES);
	ck_assert_int_eq(gbe_lineage_contains(&data, 9, 5, 10), GBE_NO);
	ck_assert_int_eq(gbe_lineage_contains(&data, 9, 4, 4), GBE_NO);
}
END_TEST

/* Line 1 up to 7; restored from 4 as line 8; that at 10 restored as line 12. */
START_TEST(contains_what_it_grew_from)
{
	GbeLineage first = {.line = 1};
	GbeLineage second = {0}, third = {0};

	gbe_lineage_grow(&second, &first, 4, 8);
	gbe_lineage_grow(&third, &second, 10, 12);
	ck_assert_uint_eq(third.line, 12);
	ck_assert_uint_eq(third.ancestors->len, 2);
	ck_assert_int_eq(gbe_lineage_contains(&third, 20, 1, 4), GBE_YES);
	ck_assert_int_eq(gbe_lineage_contains(&third, 20, 1, 3), GBE_YES);
	ck_assert_int_eq(gbe_lineage_contains(&third, 20, 1, 5), GBE_NO);
	ck_assert_int_eq(gbe_lineage_contains(&third, 20, 8, 10), GBE_YES);
	ck_assert_int_eq(gbe_lineage_contains(&third, 20, 8, 11), GBE_NO);
	ck_assert_int_eq(gbe_lineage_contains(&third, 20, 12, 20), GBE_YES);
	ck_assert_int_eq(gbe_lineage_contains(&third, 20, 7, 1), GBE_NO);
	/* The lineage that it grew from is unchanged. */
	ck_assert_uint_eq(second.ancestors->len, 1);
	ck_assert_ptr_null(first.ancestors);
	gbe_lineage_clear(&second);
	gbe_lineage_clear(&third);
	ck_assert_uint_eq(third.line, 0);
}
END_TEST

START_TEST(unknown_is_unknown)
{
	GbeLineage none = {0}, grown = {0}, known = {.line = 3};

	ck_assert_int_eq(gbe_lineage_contains(&none, 9, 3, 3), GBE_UNKNOWN);
	ck_assert_int_eq(gbe_lineage_contains(&known, 9, 0, 3), GBE_UNKNOWN);
	/* From an unknown origin: never "no". */
	gbe_lineage_grow(&grown, &none, 4, 8);
	ck_assert_int_eq(gbe_lineage_contains(&grown, 9, 3, 3), GBE_UNKNOWN);
	ck_assert_int_eq(gbe_lineage_contains(&grown, 9, 8, 9), GBE_YES);
	gbe_lineage_clear(&grown);
}
END_TEST

START_TEST(forgets_the_oldest)
{
	GbeLineage lineage = {.line = 1};
	guint64 last = 1;

	for (guint i = 0; i < GBE_LINEAGE_MAX; i++) {
		gbe_lineage_grow(&lineage, &lineage, last + 1, last + 2);
		last += 2;
	}
	ck_assert(!lineage.truncated);
	ck_assert_int_eq(gbe_lineage_contains(&lineage, last, 1, 2), GBE_YES);
	ck_assert_int_eq(gbe_lineage_contains(&lineage, last, 1000, 1), GBE_NO);
	gbe_lineage_grow(&lineage, &lineage, last + 1, last + 2);
	ck_assert(lineage.truncated);
	ck_assert_uint_eq(lineage.ancestors->len, GBE_LINEAGE_MAX);
	ck_assert_int_eq(gbe_lineage_contains(&lineage, last, 1, 2), GBE_UNKNOWN);
	ck_assert_int_eq(gbe_lineage_contains(&lineage, last, 3, 4), GBE_YES);
	gbe_lineage_clear(&lineage);
}
END_TEST

START_TEST(copies_are_their_own)
{
	GbeLineage from = {.line = 1}, to = {0};

	gbe_lineage_grow(&from, &from, 4, 8);
	gbe_lineage_copy(&to, &from);
	gbe_lineage_copy(&to, &to);
	gbe_lineage_grow(&from, &from, 9, 10);
	ck_assert_uint_eq(to.line, 8);
	ck_assert_uint_eq(to.ancestors->len, 1);
	ck_assert_uint_eq(g_array_index(to.ancestors, GbeAncestor, 0).sequence, 4);
	gbe_lineage_clear(&from);
	gbe_lineage_clear(&to);
}
END_TEST

START_TEST(related_lines_share_an_ancestor)
{
	GbeLineage root = {.line = 1}, a = {0}, b = {0}, other = {.line = 9}, unknown = {0};

	gbe_lineage_grow(&a, &root, 4, 5);
	gbe_lineage_grow(&b, &root, 6, 7);
	ck_assert(gbe_lineage_related(&a, &root));
	ck_assert(gbe_lineage_related(&root, &a));
	ck_assert(gbe_lineage_related(&a, &b));
	ck_assert(!gbe_lineage_related(&a, &other));
	ck_assert(!gbe_lineage_related(&other, &a));
	/* An unknown line is related to no line, whatever a damaged manifest names as its ancestors. */
	gbe_lineage_copy(&unknown, &a);
	unknown.line = 0;
	ck_assert(!gbe_lineage_related(&unknown, &b));
	ck_assert(!gbe_lineage_related(&b, &unknown));
	gbe_lineage_clear(&a);
	gbe_lineage_clear(&b);
	gbe_lineage_clear(&unknown);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-lineage");
	TCase *lines = tcase_create("lines");

	tcase_add_test(lines, contains_its_own_past);
	tcase_add_test(lines, contains_what_it_grew_from);
	tcase_add_test(lines, unknown_is_unknown);
	tcase_add_test(lines, forgets_the_oldest);
	tcase_add_test(lines, copies_are_their_own);
	tcase_add_test(lines, related_lines_share_an_ancestor);
	suite_add_tcase(suite, lines);
	return gbe_unit_main(suite);
}
