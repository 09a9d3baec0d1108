/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/health/defrag.h"
#include "lib/unit.h"

#define MIB (G_GINT64_CONSTANT(1) << 20)

START_TEST(compaction)
{
	static const struct {
		gint64 revision;
		guint64 keep;
		gint64 to;
	} cases[] = {
	    {81203, 1000, 80203},
	    {1001, 1000, 1},
	    {1000, 1000, 0},
	    {999, 1000, 0},
	    {1, 1, 0},
	    {2, 1, 1},
	    {0, 0, 0},
	    {-1, 1000, 0},
	    {5, 0, 5},
	    {G_MAXINT64, 1, G_MAXINT64 - 1},
	    {G_MAXINT64, G_MAXUINT64, 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_int_eq(gbe_alarm_compaction(cases[i].revision, cases[i].keep),
				 cases[i].to);
}
END_TEST

START_TEST(full)
{
	static const struct {
		gint64 size, quota;
		GbeTri full;
	} cases[] = {
	    {16 * MIB, 16 * MIB, GBE_YES}, {17 * MIB, 16 * MIB, GBE_YES},
	    {15 * MIB, 16 * MIB, GBE_YES}, {14 * MIB, 16 * MIB, GBE_NO},
	    {1, 2048 * MIB, GBE_NO},	   {20480, MIB, GBE_YES},
	    {0, 16 * MIB, GBE_UNKNOWN},	   {-1, 16 * MIB, GBE_UNKNOWN},
	    {16 * MIB, 0, GBE_UNKNOWN},	   {16 * MIB, -1, GBE_UNKNOWN},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_int_eq(gbe_alarm_is_full(cases[i].size, cases[i].quota), cases[i].full);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-alarm");
	TCase *tcase = tcase_create("alarm");

	tcase_add_test(tcase, compaction);
	tcase_add_test(tcase, full);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
