/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/core/renewal.h"
#include "lib/unit.h"

#include <string.h>

#define HOUR 3600
#define DAY (24 * HOUR)
#define YEAR (365 * (gint64)DAY)
/* 2026-01-01 */
#define NOW 1767225600
#define LIFE (90 * DAY)

static GbeLeafFacts
sound(void)
{
	return (
	    GbeLeafFacts){.signed_by_authority = true, .not_before = NOW, .not_after = NOW + LIFE};
}

static void
is_due(const GbeLeafFacts *leaf, gint64 now, const char *why)
{
	g_autofree char *reason = gbe_renewal_reason(leaf, now);

	if (why == NULL)
		ck_assert_msg(reason == NULL, "%s", reason);
	else
		ck_assert_msg(reason != NULL && strstr(reason, why) != NULL, "%s, not %s", reason,
			      why);
}

START_TEST(each_rule)
{
	GbeLeafFacts leaf = sound();

	is_due(&leaf, NOW, NULL);
	/* The first rule that is broken is said: what a person can see comes first. */
	leaf.not_after = NOW - 1;
	is_due(&leaf, NOW, "expired");
	leaf.lacks = "etcd.example";
	is_due(&leaf, NOW, "not for etcd.example");
	leaf.signed_by_authority = false;
	is_due(&leaf, NOW, "another authority");
	leaf.problem = "it is missing or damaged";
	is_due(&leaf, NOW, "it is missing or damaged");
}
END_TEST

START_TEST(by_the_clock)
{
	GbeLeafFacts leaf = sound();

	leaf.not_before = NOW + DAY;
	is_due(&leaf, NOW, "later");
	leaf.not_before = NOW;
	is_due(&leaf, NOW, NULL);
	is_due(&leaf, NOW + LIFE / 3 * 2 - 1, NULL);
	is_due(&leaf, NOW + LIFE / 3 * 2, "two thirds");
	is_due(&leaf, NOW + LIFE - 1, "two thirds");
	is_due(&leaf, NOW + LIFE, "expired");
	/* A device without a battery, and one whose clock is years ahead. */
	is_due(&leaf, 0, NULL);
	is_due(&leaf, NOW - 1, NULL);
	leaf.not_before = leaf.authority_not_before = NOW + DAY;
	is_due(&leaf, NOW, NULL);
	leaf = sound();
	is_due(&leaf, NOW + 30 * YEAR, "expired");
	/* A life of no length, and one that ends before it begins, as a foreign file may say. */
	leaf.not_after = leaf.not_before;
	is_due(&leaf, NOW, "expired");
	leaf.not_after = leaf.not_before - DAY;
	is_due(&leaf, NOW, "expired");
	/* Dates that cannot be read are -1. */
	leaf.not_before = leaf.not_after = -1;
	is_due(&leaf, NOW, "expired");
	/* No end (RFC 5280): the year 9999. */
	leaf = sound();
	leaf.not_after = 253402300799;
	is_due(&leaf, NOW + 30 * YEAR, NULL);
}
END_TEST

static void
refused(gint64 now, gint64 from, gint64 to, const char *why)
{
	g_autoptr(GError) error = NULL;
	gint64 not_before = 7, not_after = 7;

	ck_assert(!gbe_renewal_times(now, DAY, from, to, &not_before, &not_after, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED));
	ck_assert_msg(strstr(error->message, why) != NULL, "%s", error->message);
	ck_assert_int_eq(not_before, 7);
	ck_assert_int_eq(not_after, 7);
}

START_TEST(never_beyond_the_authority)
{
	static const gint64 moments[] = {
	    0, 1, HOUR - 1, HOUR, HOUR + 1, YEAR, 10 * YEAR - DAY, 10 * YEAR - HOUR, 10 * YEAR - 1};
	static const guint64 lives[] = {60, HOUR, DAY, 365 * DAY, 3650ULL * DAY};

	for (guint i = 0; i < G_N_ELEMENTS(moments); i++)
		for (guint k = 0; k < G_N_ELEMENTS(lives); k++) {
			gint64 now = NOW + moments[i], from = -1, to = -1;

			ck_assert(gbe_renewal_times(now, lives[k], NOW, NOW + 10 * YEAR, &from, &to,
						    NULL));
			ck_assert_int_ge(from, NOW);
			ck_assert_int_le(to, NOW + 10 * YEAR);
			/* Valid now, and for as long as was asked where the authority is. */
			ck_assert_int_le(from, now);
			ck_assert_int_gt(to, now);
			ck_assert_int_eq(to, MIN(now + (gint64)lives[k], NOW + 10 * YEAR));
			ck_assert_int_eq(from, MAX(now - HOUR, NOW));
		}
}
END_TEST

START_TEST(wrong_clocks)
{
	refused(0, NOW, NOW + YEAR, "1970-01-01 00:00 UTC");
	refused(0, NOW, NOW + YEAR, "set the clock");
	refused(NOW - 1, NOW, NOW + YEAR, "set the clock");
	refused(NOW, NOW + 1, NOW + YEAR, "valid only from");
	/* An authority that is older than this program. */
	refused(YEAR, 0, NOW + YEAR, "cannot be right");
	refused(NOW + YEAR, NOW, NOW + YEAR, "rotate-ca");
	refused(NOW + 30 * YEAR, NOW, NOW + YEAR, "expired on");
	/* Dates that cannot be read are -1; no date that GLib has a word for. */
	refused(NOW, -1, -1, "expired");
	refused(G_MAXINT64, NOW, NOW + YEAR, "expired");
}
END_TEST

START_TEST(of_an_authority)
{
	g_autoptr(GError) error = NULL;
	gint64 from = 7, to = 7;

	ck_assert(!gbe_renewal_authority_times(0, YEAR, &from, &to, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED));
	ck_assert(strstr(error->message, "1970-01-01") != NULL);
	ck_assert_int_eq(from, 7);
	ck_assert(gbe_renewal_authority_times(NOW, YEAR, &from, &to, NULL));
	/* Members whose clock is late also trust it. */
	ck_assert_int_eq(from, NOW - DAY);
	ck_assert_int_eq(to, NOW + YEAR);
	/* A certificate that it issues at that moment is valid. */
	ck_assert(gbe_renewal_times(NOW, DAY, from, to, &from, &to, NULL));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("certs-renewal");
	TCase *tcase = tcase_create("renewal");

	tcase_add_test(tcase, each_rule);
	tcase_add_test(tcase, by_the_clock);
	tcase_add_test(tcase, never_beyond_the_authority);
	tcase_add_test(tcase, wrong_clocks);
	tcase_add_test(tcase, of_an_authority);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
