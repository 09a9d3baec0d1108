/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/health/defrag.h"
#include "lib/unit.h"

#define MB G_GINT64_CONSTANT(1000000)

START_TEST(when_it_is_due)
{
	static const struct {
		gint64 size, in_use;
		guint64 min_size;
		guint max;
		GbeDefragNeed need;
		guint percent;
	} cases[] = {
	    /* The defaults, around their edges. */
	    {100 * MB, 55 * MB, 100 * MB, 45, GBE_DEFRAG_DUE, 45},
	    {100 * MB, 55 * MB + 1, 100 * MB, 45, GBE_DEFRAG_DENSE, 44},
	    {100 * MB - 1, 1 * MB, 100 * MB, 45, GBE_DEFRAG_SMALL, 98},
	    {8000 * MB, 100 * MB, 100 * MB, 45, GBE_DEFRAG_DUE, 98},
	    {100 * MB, 0, 100 * MB, 45, GBE_DEFRAG_DUE, 100},
	    /* Always, except where there is nothing to win. */
	    {20480, 16384, 0, 0, GBE_DEFRAG_DUE, 20},
	    {20480, 20480, 0, 0, GBE_DEFRAG_DENSE, 0},
	    {20480, 0, 0, 100, GBE_DEFRAG_DUE, 100},
	    {20480, 4096, 0, 100, GBE_DEFRAG_DENSE, 80},
	    /* The two figures are updated one after the other, so that one may exceed the other for a moment. */
	    {100 * MB, 101 * MB, 0, 0, GBE_DEFRAG_DENSE, 0},
	    /* Missing figures, and nonsense. */
	    {0, 0, 0, 0, GBE_DEFRAG_UNKNOWN, 0},
	    {-1, -1, 0, 0, GBE_DEFRAG_UNKNOWN, 0},
	    {100 * MB, -1, 0, 0, GBE_DEFRAG_UNKNOWN, 0},
	    {G_MAXINT64, 0, 0, 45, GBE_DEFRAG_DUE, 100},
	    {G_MAXINT64, G_MAXINT64 / 2, 0, 45, GBE_DEFRAG_DUE, 50},
	    {100 * MB, 1, G_MAXUINT64, 45, GBE_DEFRAG_SMALL, 99},
	};

	ck_assert_int_eq(
	    gbe_defrag_need(cases[_i].size, cases[_i].in_use, cases[_i].min_size, cases[_i].max),
	    cases[_i].need);
	ck_assert_uint_eq(gbe_defrag_fragmentation(cases[_i].size, cases[_i].in_use),
			  cases[_i].percent);
	ck_assert_int_lt(_i, G_N_ELEMENTS(cases));
}
END_TEST
#define N_CASES 16

START_TEST(room)
{
	ck_assert_uint_gt(gbe_defrag_room(200 * MB), 200 * MB + 64 * MB);
	ck_assert_uint_eq(gbe_defrag_room(200 * MB) - gbe_defrag_room(0), 200 * MB);
	ck_assert_uint_eq(gbe_defrag_room(-1), gbe_defrag_room(0));
	ck_assert_uint_gt(gbe_defrag_room(G_MAXINT64), G_MAXINT64);
}
END_TEST

START_TEST(words)
{
	ck_assert_str_eq(gbe_defrag_need_to_string(GBE_DEFRAG_UNKNOWN), "unknown");
	ck_assert_str_eq(gbe_defrag_need_to_string(GBE_DEFRAG_DUE), "due");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-defrag");
	TCase *tcase = tcase_create("defrag");

	tcase_add_loop_test(tcase, when_it_is_due, 0, N_CASES);
	tcase_add_test(tcase, room);
	tcase_add_test(tcase, words);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
