/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/space.h"
#include "lib/unit.h"

START_TEST(fits_with_its_margin)
{
	GbeSpace space = {.would_write = 1000, .available = 1000 + GBE_SPACE_MARGIN};

	ck_assert(gbe_space_fits(&space));
	ck_assert_uint_eq(gbe_space_missing(&space), 0);
	ck_assert_uint_eq(gbe_space_missing(&space), 0);
	space.available--;
	ck_assert(!gbe_space_fits(&space));
	ck_assert_uint_gt(gbe_space_missing(&space), 0);
	ck_assert_uint_eq(gbe_space_missing(&space), 1);
	space.reclaimable = 1;
	ck_assert(!gbe_space_fits(&space));
	ck_assert_uint_eq(gbe_space_missing(&space), 0);
	ck_assert_uint_eq(gbe_space_missing(&space), 0);
}
END_TEST

START_TEST(absurd_numbers)
{
	GbeSpace all = {G_MAXUINT64, 0, 0}, none = {0, G_MAXUINT64, G_MAXUINT64};

	ck_assert(!gbe_space_fits(&all));
	ck_assert_uint_eq(gbe_space_missing(&all), G_MAXUINT64);
	ck_assert(gbe_space_fits(&none));
	ck_assert_uint_eq(gbe_space_missing(&none), 0);
}
END_TEST

START_TEST(sizes_for_people)
{
	static const struct {
		guint64 bytes;
		const char *text;
	} cases[] = {
	    {0, "0 bytes"},
	    {1, "1 byte"},
	    {1023, "1023 bytes"},
	    {1024, "1.0 KiB"},
	    {1536, "1.5 KiB"},
	    {43306189, "41.2 MiB"},
	    {G_GUINT64_CONSTANT(1048576) - 1, "1023.9 KiB"},
	    {G_GUINT64_CONSTANT(1048576), "1.0 MiB"},
	    {G_GUINT64_CONSTANT(2147483648), "2.0 GiB"},
	    {G_GUINT64_CONSTANT(1) << 62, "4.0 EiB"},
	    {G_MAXUINT64, "15.9 EiB"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = gbe_size_to_text(cases[i].bytes);

		ck_assert_str_eq(text, cases[i].text);
	}
}
END_TEST

START_TEST(durations_for_people)
{
	static const struct {
		guint64 seconds;
		const char *text;
	} cases[] = {
	    {0, "0 s"},
	    {59, "59 s"},
	    {60, "1 min"},
	    {61, "1 min 1 s"},
	    {3599, "59 min 59 s"},
	    {3600, "1 h"},
	    {11040, "3 h 4 min"},
	    {86400, "1 day"},
	    {86400 + 7200, "1 day 2 h"},
	    {172800, "2 days"},
	    {12 * 86400 + 5, "12 days"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = gbe_duration_to_text(cases[i].seconds);

		ck_assert_str_eq(text, cases[i].text);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-space");
	TCase *space = tcase_create("space");

	tcase_add_test(space, fits_with_its_margin);
	tcase_add_test(space, absurd_numbers);
	tcase_add_test(space, sizes_for_people);
	tcase_add_test(space, durations_for_people);
	suite_add_tcase(suite, space);
	return gbe_unit_main(suite);
}
