/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The time that libcurl signs with. */
#include "lib/unit.h"

#include "sys/bucket/clock.h"

#include <time.h>

/* The margin: a slow machine between two looks at the clock. */
#define MARGIN 60

static gint64
device(void)
{
	struct timespec now;

	ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &now), 0);
	return now.tv_sec;
}

static void
must_be_ahead(gint64 seconds)
{
	time_t now = 0;

	ck_assert_int_le(ABS(time(NULL) - device() - seconds), MARGIN);
	ck_assert_int_eq(time(&now), now);
	ck_assert_int_le(ABS(now - device() - seconds), MARGIN);
}

/* The device's own clock stays as it is, and so does GLib's. */
START_TEST(moves_time_alone)
{
	static const gint64 seconds[] = {0, 86400, -86400, 1000000000, -1700000000, 0};
	gint64 before = device();

	for (gsize i = 0; i < G_N_ELEMENTS(seconds); i++) {
		gbe_bucket_set_clock(seconds[i]);
		must_be_ahead(seconds[i]);
		ck_assert_int_le(ABS(device() - before), MARGIN);
		ck_assert_int_le(ABS(g_get_real_time() / G_USEC_PER_SEC - before), MARGIN);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-bucket-clock");
	TCase *tcase = tcase_create("clock");

	tcase_add_test(tcase, moves_time_alone);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
