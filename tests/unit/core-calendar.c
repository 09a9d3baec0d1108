/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calendar events: tests/integration/schedule.sh compares with systemd's own parser. */
#include "lib/unit.h"

#include "core/calendar.h"

static const char *const events[] = {
    "minutely",
    "DAILY",
    "semi-annually",
    "Mon",
    "Mon..Fri",
    "mon-fri",
    "Mon,Wed..Fri,Sunday 10:00",
    "*:0/15",
    "9..17:0/30",
    "12:00:00.5",
    "*-*-* 03:30",
    "*-1,4,7,10-1",
    "2026-02-29..31/2",
    "10-15",
    "*-*~3",
    "05~07/1",
    "Fri 12:00,15:00",
    "@1395716396",
    "Mon *-*-* 00:00:00 Europe/Berlin",
    "daily UTC",
};

static const char *const others[] = {
    "",
    " ",
    "never",
    "12",
    "12:",
    "24:00",
    "00:60",
    "23:59:60",
    "17..9:30",
    "*:0/0",
    "*/2:00",
    "1,2,:0",
    "*,2:0",
    "1..2..3:0",
    "*-*-32",
    "*-13-1",
    "1969-01-01",
    "2200-01-01",
    "*-*-~1",
    "*~*-1",
    "Mon,,Tue",
    "Fri..Mon",
    "Mon..Wed..Fri",
    "2026-01-01 Mon",
    "12:00 12:00",
    "99999999999999999999:00",
    "@x",
    "daily\n[Service]",
    "daily\tUTC",
};

START_TEST(what_systemd_takes)
{
	ck_assert_msg(gbe_calendar_valid(events[_i]), "\"%s\" is none", events[_i]);
}
END_TEST

START_TEST(what_it_does_not_take)
{
	ck_assert_msg(!gbe_calendar_valid(others[_i]), "\"%s\" is one", others[_i]);
}
END_TEST

/* Whatever is cut off at its end ends there. */
START_TEST(cut_off)
{
	const char *whole = events[_i];

	for (gsize have = 0; have < strlen(whole); have++) {
		g_autofree char *text = g_strndup(whole, have);

		(void)gbe_calendar_valid(text);
	}
}
END_TEST

START_TEST(longer_than_any)
{
	g_autoptr(GString) text = g_string_new("0");

	for (guint i = 0; i < 200; i++)
		g_string_append(text, ",1");
	g_string_append(text, ":00");
	ck_assert(!gbe_calendar_valid(text->str));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-calendar");
	TCase *calendar = tcase_create("calendar");

	tcase_add_loop_test(calendar, what_systemd_takes, 0, G_N_ELEMENTS(events));
	tcase_add_loop_test(calendar, what_it_does_not_take, 0, G_N_ELEMENTS(others));
	tcase_add_loop_test(calendar, cut_off, 0, G_N_ELEMENTS(events));
	tcase_add_test(calendar, longer_than_any);
	suite_add_tcase(suite, calendar);
	return gbe_unit_main(suite);
}
