/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/retention.h"
#include "lib/unit.h"

#define HOUR 3600
#define DAY (24 * HOUR)
#define MIDNIGHT G_GINT64_CONSTANT(1790899200) /* 2026-10-02 */
#define MOST 1000

static GbePeriodPoint points[MOST];

/* "+" for what is kept, "-" for what goes, the oldest first. */
static char *
kept(gsize n, guint hourly, guint daily)
{
	char *text = g_malloc0(n + 1);

	gbe_retention_periods(points, n, hourly, daily);
	for (gsize i = 0; i < n; i++)
		text[i] = points[i].keep ? '+' : '-';
	return text;
}

/* Of two times that are equal, the second is undated. */
static void
expect(const gint64 *times, gsize n, guint hourly, guint daily, const char *wanted)
{
	g_autofree char *got = NULL;

	for (gsize i = 0; i < n; i++)
		points[i] =
		    (GbePeriodPoint){times[i], i > 0 && times[i] == times[i - 1], i % 2 == 0};
	got = kept(n, hourly, daily);
	ck_assert_str_eq(got, wanted);
}
#define EXPECT(times, hourly, daily, wanted)                                                       \
	expect(times, G_N_ELEMENTS(times), hourly, daily, wanted)

START_TEST(none)
{
	gbe_retention_periods(NULL, 0, 7, 7);
}
END_TEST

START_TEST(hours_and_days)
{
	const gint64 times[] = {
	    MIDNIGHT - DAY,		 /* the first of its day */
	    MIDNIGHT - DAY + 60,	 /* of the same hour */
	    MIDNIGHT - HOUR,		 /* the first of its hour */
	    MIDNIGHT - 1,		 /* of the same */
	    MIDNIGHT + 1,		 /* the first of hour and day */
	    MIDNIGHT + 10 * HOUR,	 /* of its hour */
	    MIDNIGHT + 10 * HOUR + 60,	 /* within an hour of the newest */
	    MIDNIGHT + 10 * HOUR + 3600, /* the newest */
	};

	EXPECT(times, 0, 0, "------++");
	EXPECT(times, 2, 0, "-----+++");
	EXPECT(times, 3, 0, "----++++");
	EXPECT(times, 4, 0, "--+-++++");
	EXPECT(times, 5, 0, "+-+-++++");
	EXPECT(times, 0, 1, "----+-++");
	EXPECT(times, 0, 2, "+---+-++");
	EXPECT(times, 1, 2, "+---+-++");
	EXPECT(times, 1000, 1000, "+-+-++++");
}
END_TEST

/* An unset clock starts in 1970 at each boot, or is late: each such date is a period. */
START_TEST(clocks)
{
	const gint64 unset[] = {0, 100, 200, 300, 400};
	const gint64 behind[] = {MIDNIGHT, MIDNIGHT, MIDNIGHT, MIDNIGHT, MIDNIGHT};
	const gint64 set_at_last[] = {100, 200, MIDNIGHT, MIDNIGHT + 7200, MIDNIGHT + 9000};

	EXPECT(unset, 3, 0, "--+++");
	EXPECT(unset, 0, 2, "---++");
	EXPECT(unset, 0, 0, "----+");
	EXPECT(behind, 3, 0, "+-+++");
	EXPECT(behind, 0, 0, "+---+");
	EXPECT(set_at_last, 1, 0, "---++");
	EXPECT(set_at_last, 3, 0, "-++++");
	EXPECT(set_at_last, 4, 0, "+++++");
}
END_TEST

/* With any times, the newest stays, a larger number never keeps less, and a second call removes nothing. */
START_TEST(any_times)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);

	for (guint round = 0; round < 2000; round++) {
		gsize n = 1 + (gsize)g_rand_int_range(rand, 0, 30);
		guint hourly = (guint)g_rand_int_range(rand, 0, 6);
		guint daily = (guint)g_rand_int_range(rand, 0, 6);
		gint64 time = g_rand_boolean(rand) ? MIDNIGHT : 0;
		g_autofree char *few = NULL, *more = NULL;
		gsize left = 0, again = 0;

		for (gsize i = 0; i < n; i++, time += g_rand_int_range(rand, 0, 2) *
						      g_rand_int_range(rand, 0, 20 * HOUR))
			points[i] =
			    (GbePeriodPoint){time, g_rand_int_range(rand, 0, 4) == 0, false};
		more = kept(n, hourly + 1, daily + 1);
		few = kept(n, hourly, daily);
		ck_assert_int_eq(few[n - 1], '+');
		for (gsize i = 0; i < n; i++) {
			ck_assert(few[i] == '-' || more[i] == '+');
			if (few[i] == '+')
				points[left++] = points[i];
		}
		gbe_retention_periods(points, left, hourly, daily);
		for (gsize i = 0; i < left; i++)
			again += points[i].keep ? 1 : 0;
		ck_assert_uint_eq(again, left);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-retention-periods");
	TCase *periods = tcase_create("periods");

	tcase_add_test(periods, none);
	tcase_add_test(periods, hours_and_days);
	tcase_add_test(periods, clocks);
	tcase_add_test(periods, any_times);
	suite_add_tcase(suite, periods);
	return gbe_unit_main(suite);
}
