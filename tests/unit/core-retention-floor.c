/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The backups that retention removes last, and those that it never removes: the other half of "Retention". */
#include <stdbool.h>

#include "lib/retention.h"
#include "lib/unit.h"

/* "Adopted ones while a deployment's P; of gone deployments: removed once the booted one has a good one of its own." */

START_TEST(adopted_and_gone_ones_stay_until_the_booted_one_has_a_good_one)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *own;

	(void)facts_backup(facts, '-', 0, 1, GBE_GRADE_UNPROVEN);
	(void)facts_backup(facts, 'z', 2, 2, GBE_GRADE_GOOD);
	own = facts_backup(facts, 'a', 3, 3, GBE_GRADE_UNPROVEN);
	assert_removed(facts, "");
	own->grade = GBE_GRADE_GOOD;
	assert_removed(facts, "adopted-1 z2");
}
END_TEST

START_TEST(a_good_one_set_aside_is_not_a_good_one_of_its_own)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_backup(facts, 'z', 2, 2, GBE_GRADE_GOOD);
	facts_backup(facts, 'a', 3, 3, GBE_GRADE_GOOD)->set_aside = true;
	assert_removed(facts, "");
}
END_TEST

START_TEST(a_serial_given_out_again_is_another_deployment)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD);
	facts_gone(facts, 'a', 10);
	(void)facts_record(facts, 'a', 20, 20, GBE_VERDICT_GREEN);
	(void)facts_backup(facts, 'a', 20, 20, GBE_GRADE_UNPROVEN);
	assert_removed(facts, "");
	(void)facts_backup(facts, 'a', 21, 21, GBE_GRADE_GOOD);
	assert_removed(facts, "a1 a20");
}
END_TEST

/* One valid backup always remains, for the store and for each listed deployment that was green. Only a good backup
 * replaces a good one. */

START_TEST(the_last_valid_one_of_the_store_stays)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_backup(facts, 'z', 1, 1, GBE_GRADE_GOOD);
	(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_BAD);
	assert_removed(facts, "");
}
END_TEST

START_TEST(nothing_goes_while_something_could_not_be_read)
{
	g_autoptr(GbeFacts) facts = device();
	g_autoptr(GError) failed = g_error_new(GBE_ERROR, GBE_ERROR_FAILED, "read x");
	g_autoptr(GError) corrupt = g_error_new(GBE_ERROR, GBE_ERROR_CORRUPT, "y is no JSON");

	for (guint64 i = 1; i < 5; i++)
		(void)facts_backup(facts, 'a', i, (gint)i, GBE_GRADE_GOOD);
	ck_assert(!gbe_facts_note_unread(facts, corrupt));
	ck_assert_ptr_null(facts->unread);
	assert_removed(facts, "a1 a2");
	ck_assert(gbe_facts_note_unread(facts, failed));
	ck_assert_str_eq(facts->unread, "read x");
	assert_removed(facts, "");
}
END_TEST

START_TEST(the_last_valid_one_of_a_green_deployment_stays)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_list(facts, 'b', 900);
	(void)facts_record(facts, 'b', 2, 2, GBE_VERDICT_GREEN);
	(void)facts_backup(facts, 'b', 1, 1, GBE_GRADE_UNPROVEN);
	for (guint i = 2; i <= 4; i++)
		(void)facts_backup(facts, 'a', i, i, GBE_GRADE_GOOD);
	assert_removed(facts, "a2");
}
END_TEST

START_TEST(the_last_valid_one_stays_though_it_was_set_aside)
{
	g_autoptr(GbeFacts) facts = device();

	facts_backup(facts, 'z', 1, 1, GBE_GRADE_UNPROVEN)->set_aside = true;
	facts_backup(facts, 'z', 2, 2, GBE_GRADE_UNPROVEN)->set_aside = true;
	facts_backup(facts, 'a', 3, 3, GBE_GRADE_BAD)->set_aside = true;
	assert_removed(facts, "z1");
	/* The same for a listed deployment that was green. */
	(void)facts_list(facts, 'z', 900);
	(void)facts_backup(facts, 'a', 4, 4, GBE_GRADE_GOOD);
	assert_removed(facts, "z1 z2");
	(void)facts_record(facts, 'z', 1, 1, GBE_VERDICT_GREEN);
	assert_removed(facts, "z1");
}
END_TEST

START_TEST(a_good_one_that_was_set_aside_is_evicted_only_by_a_good_one)
{
	g_autoptr(GbeFacts) facts = device();

	facts_backup(facts, 'z', 1, 1, GBE_GRADE_GOOD)->set_aside = true;
	facts_backup(facts, 'z', 2, 2, GBE_GRADE_UNPROVEN)->set_aside = true;
	facts_backup(facts, 'a', 3, 3, GBE_GRADE_UNPROVEN)->set_aside = true;
	assert_removed(facts, "z2");
	(void)facts_backup(facts, 'a', 4, 4, GBE_GRADE_GOOD);
	assert_removed(facts, "z1 z2");
}
END_TEST

START_TEST(a_good_one_is_evicted_only_by_a_good_one)
{
	g_autoptr(GbeFacts) facts = device();

	facts->clones = GBE_NO;
	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD);
	for (guint i = 2; i <= 5; i++)
		(void)facts_backup(facts, 'a', i, i, GBE_GRADE_UNPROVEN);
	assert_removed(facts, "a2 a3 a4");
	(void)facts_backup(facts, 'a', 6, 6, GBE_GRADE_GOOD);
	assert_removed(facts, "a1 a2 a3 a4 a5");
}
END_TEST

START_TEST(a_consumed_one_counts_for_nothing)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD);
	facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD)->consumed = true;
	facts->clones = GBE_NO;
	/* "Its entry stays as consumed until D has a new good one." */
	assert_removed(facts, "a2");
	((GbeManifest *)facts->backups->pdata[0])->grade = GBE_GRADE_UNPROVEN;
	assert_removed(facts, "");
}
END_TEST

/* "Not when ostree's list is unknown." And a store that is not there is unknown, never empty. */
START_TEST(nothing_goes_while_something_is_unknown)
{
	g_autoptr(GbeFacts) facts = device();
	g_autoptr(GPtrArray) listed = NULL;

	facts->clones = GBE_NO;
	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD);
	(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD);
	assert_removed(facts, "a1");
	facts->store = GBE_NO;
	assert_removed(facts, "");
	facts->store = GBE_YES;
	listed = g_steal_pointer(&facts->listed);
	assert_removed(facts, "");
	facts->listed = g_steal_pointer(&listed);
	gbe_deployment_clear(&facts->booted);
	assert_removed(facts, "");
}
END_TEST

START_TEST(by_hand_the_last_valid_one_is_named)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *a = facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD);
	GbeManifest *bad = facts_backup(facts, 'a', 2, 2, GBE_GRADE_BAD);
	const char *why = NULL;

	ck_assert(gbe_retention_is_last_valid(facts, a->name, &why));
	ck_assert_str_eq(why, "of the store");
	ck_assert(!gbe_retention_is_last_valid(facts, bad->name, &why));
	ck_assert(!gbe_retention_is_last_valid(facts, "nothing", &why));

	(void)facts_backup(facts, 'b', 3, 3, GBE_GRADE_GOOD);
	ck_assert(gbe_retention_is_last_valid(facts, a->name, &why));
	ck_assert_str_eq(why, "of a deployment that is still listed");
	(void)facts_backup(facts, 'a', 4, 4, GBE_GRADE_UNPROVEN);
	ck_assert(!gbe_retention_is_last_valid(facts, a->name, &why));
}
END_TEST

/* A's data is on line 1. Z's data is on line 7, which only a green run proves. */
START_TEST(the_last_backup_of_a_green_line_is_named)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *z = facts_backup(facts, 'z', 4, 4, GBE_GRADE_UNPROVEN);
	GbeTakeOver *began = facts_recorded(facts);
	GbeRunRecord *run = facts_record(facts, 'z', 4, 4, GBE_VERDICT_RED);
	const char *why = NULL;

	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD);
	z->lineage.line = began->lineage.line = 7;
	began->sequence = 4;
	ck_assert(!gbe_retention_is_last_valid(facts, z->name, &why));
	run->verdict = GBE_VERDICT_GREEN;
	run->health = GBE_HEALTH_HEALTHY;
	ck_assert(gbe_retention_is_last_valid(facts, z->name, &why));
	ck_assert_str_eq(why, "of data that was green and that no other backup comes from");
	began->lineage.line = 8;
	ck_assert(!gbe_retention_is_last_valid(facts, z->name, &why));
	began->lineage.line = 7;
	began->sequence = 5; /* the record of its run is lost */
	ck_assert(!gbe_retention_is_last_valid(facts, z->name, &why));
}
END_TEST

static void
assert_least(const GbeFacts *facts, const GbeManifest *expected, bool expected_last)
{
	bool last = !expected_last;

	ck_assert_ptr_eq(gbe_retention_least(facts, &last), expected);
	if (expected != NULL)
		ck_assert_int_eq(last, expected_last);
}

START_TEST(the_backup_that_a_person_needs_least)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *other, *set_aside, *bad;

	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD);
	/* The booted deployment may need its last one. */
	assert_least(facts, NULL, false);
	(void)facts_list(facts, 'b', 2000);
	(void)facts_record(facts, 'b', 2, 2, GBE_VERDICT_GREEN);
	other = facts_backup(facts, 'b', 2, 2, GBE_GRADE_GOOD);
	assert_least(facts, other, true);
	/* Without a booted deployment, any last one may be needed. */
	{
		g_autofree char *booted = g_steal_pointer(&facts->booted.id);

		assert_least(facts, NULL, false);
		facts->booted.id = g_steal_pointer(&booted);
	}
	(void)facts_backup(facts, 'b', 3, 3, GBE_GRADE_GOOD);
	assert_least(facts, other, false);
	set_aside = facts_backup(facts, 'b', 4, 4, GBE_GRADE_GOOD);
	set_aside->set_aside = true;
	assert_least(facts, set_aside, false);
	bad = facts_backup(facts, 'a', 5, 5, GBE_GRADE_BAD);
	assert_least(facts, bad, false);
	(void)facts_backup(facts, 'a', 6, 6, GBE_GRADE_BAD); /* the oldest of its kind goes first */
	assert_least(facts, bad, false);
	bad->sequence = 7;
	ck_assert_ptr_ne(gbe_retention_least(facts, &(bool){false}), bad);
	/* A consumed backup is not offered. */
	bad->sequence = 5;
	bad->consumed = true;
	ck_assert_ptr_ne(gbe_retention_least(facts, &(bool){false}), bad);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-retention-floor");
	TCase *tcase = tcase_create("retention");

	tcase_add_test(tcase, adopted_and_gone_ones_stay_until_the_booted_one_has_a_good_one);
	tcase_add_test(tcase, a_good_one_set_aside_is_not_a_good_one_of_its_own);
	tcase_add_test(tcase, a_serial_given_out_again_is_another_deployment);
	tcase_add_test(tcase, the_last_valid_one_of_the_store_stays);
	tcase_add_test(tcase, nothing_goes_while_something_could_not_be_read);
	tcase_add_test(tcase, the_last_valid_one_of_a_green_deployment_stays);
	tcase_add_test(tcase, the_last_valid_one_stays_though_it_was_set_aside);
	tcase_add_test(tcase, a_good_one_that_was_set_aside_is_evicted_only_by_a_good_one);
	tcase_add_test(tcase, a_good_one_is_evicted_only_by_a_good_one);
	tcase_add_test(tcase, a_consumed_one_counts_for_nothing);
	tcase_add_test(tcase, nothing_goes_while_something_is_unknown);
	tcase_add_test(tcase, by_hand_the_last_valid_one_is_named);
	tcase_add_test(tcase, the_last_backup_of_a_green_line_is_named);
	tcase_add_test(tcase, the_backup_that_a_person_needs_least);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
