/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The backups that are kept: each sentence of "Retention" in decisions.md is a case here or in core-retention-floor. */
#include <stdbool.h>

#include "lib/retention.h"
#include "lib/unit.h"

/* An unmounted /boot empties ostree's list, or leaves an old one: no backup is of a deployment that is gone. */
START_TEST(nothing_goes_by_a_list_without_the_booted_deployment)
{
	g_autoptr(GbeFacts) facts = device();

	for (guint i = 1; i <= 4; i++) {
		(void)facts_backup(facts, 'a', i, i, GBE_GRADE_GOOD);
		(void)facts_backup(facts, 'b', 10 + i, 10 + i, GBE_GRADE_GOOD);
	}
	assert_removed(facts, "a1 a2 b11 b12 b13 b14");
	g_ptr_array_set_size(facts->listed, 0);
	assert_removed(facts, "");
	(void)facts_list(facts, 'b', 900);
	assert_removed(facts, "");
	g_clear_pointer(&facts->listed, g_ptr_array_unref);
	assert_removed(facts, "");
}
END_TEST

/* "Per listed deployment that was green: the newest keep-good good ones ([2] where copies are clones,
 * else 1), and the newest unproven one if newer." */

START_TEST(two_good_ones_stay_where_copies_are_clones)
{
	g_autoptr(GbeFacts) facts = device();

	for (guint i = 1; i <= 4; i++)
		(void)facts_backup(facts, 'a', i, i, GBE_GRADE_GOOD);
	assert_removed(facts, "a1 a2");
}
END_TEST

START_TEST(one_good_one_stays_elsewhere)
{
	g_autoptr(GbeFacts) facts = device();

	facts->clones = GBE_NO;
	for (guint i = 1; i <= 3; i++)
		(void)facts_backup(facts, 'a', i, i, GBE_GRADE_GOOD);
	assert_removed(facts, "a1 a2");
	facts->clones = GBE_UNKNOWN;
	assert_removed(facts, "a1 a2");
}
END_TEST

START_TEST(keep_good_says_how_many)
{
	g_autoptr(GbeFacts) facts = device();

	facts->config->backup.keep_good = 3;
	for (guint i = 1; i <= 5; i++)
		(void)facts_backup(facts, 'a', i, i, GBE_GRADE_GOOD);
	assert_removed(facts, "a1 a2");
}
END_TEST

START_TEST(each_listed_deployment_has_its_own)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_list(facts, 'b', 900);
	(void)facts_record(facts, 'b', 2, 2, GBE_VERDICT_GREEN);
	for (guint i = 1; i <= 3; i++) {
		(void)facts_backup(facts, 'b', i, i, GBE_GRADE_GOOD);
		(void)facts_backup(facts, 'a', 10 + i, 10 + i, GBE_GRADE_GOOD);
	}
	assert_removed(facts, "b1 a11");
}
END_TEST

START_TEST(the_newest_unproven_one_stays_if_newer)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_UNPROVEN);
	(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD);
	(void)facts_backup(facts, 'a', 3, 3, GBE_GRADE_GOOD);
	(void)facts_backup(facts, 'a', 4, 4, GBE_GRADE_UNPROVEN);
	(void)facts_backup(facts, 'a', 5, 5, GBE_GRADE_UNPROVEN);
	assert_removed(facts, "a1 a4");
}
END_TEST

START_TEST(an_older_unproven_one_goes)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_UNPROVEN);
	(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD);
	assert_removed(facts, "a1");
}
END_TEST

START_TEST(sequence_orders_and_not_the_clock)
{
	g_autoptr(GbeFacts) facts = device();

	facts->clones = GBE_NO;
	facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD)->created = 2000000;
	facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD)->created = 5; /* 1970 */
	assert_removed(facts, "a1");
}
END_TEST

/* "At most keep-bad bad backups are kept in all." */
START_TEST(bad_backups_are_counted_in_all)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_list(facts, 'b', 900);
	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD);
	(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_BAD);
	(void)facts_backup(facts, 'b', 3, 3, GBE_GRADE_BAD);
	(void)facts_backup(facts, 'c', 4, 4, GBE_GRADE_BAD);
	assert_removed(facts, "a2 b3");
	facts->config->backup.keep_bad = 2;
	assert_removed(facts, "a2");
	facts->config->backup.keep_bad = 0;
	assert_removed(facts, "a2 b3 c4");
}
END_TEST

/* "The whole chain of bases of every listed deployment on trial ...: always." */

/* B is booted on trial, and comes from the oldest backup of A. */
static GbeFacts *
trial_of_b(GbeRunRecord **ret_run)
{
	GbeFacts *facts = device();
	GbeManifest *base = facts_backup(facts, 'a', 1, 1, GBE_GRADE_UNPROVEN);

	(void)facts_list(facts, 'b', 2000);
	facts_set_deployment(&facts->booted, 'b');
	(void)facts_trial(facts, 'b', 50, 90, base);
	*ret_run = facts_record(facts, 'b', 50, 90, GBE_VERDICT_NONE);
	(*ret_run)->trial = GBE_YES;
	(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD);
	(void)facts_backup(facts, 'a', 3, 3, GBE_GRADE_GOOD);
	return facts;
}

START_TEST(the_base_of_the_live_trial_stays)
{
	g_autoptr(GbeFacts) facts = NULL;
	GbeRunRecord *run;

	facts = trial_of_b(&run);
	assert_removed(facts, "");
	run->trial = GBE_UNKNOWN; /* it may be needed yet */
	assert_removed(facts, "");
	run->trial = GBE_NO;
	assert_removed(facts, "a1");
}
END_TEST

START_TEST(the_base_of_a_green_one_may_go)
{
	g_autoptr(GbeFacts) facts = NULL;
	GbeRunRecord *run;

	facts = trial_of_b(&run);
	run->verdict = GBE_VERDICT_GREEN;
	assert_removed(facts, "a1");
}
END_TEST

START_TEST(the_base_of_a_listed_trial_stays_though_another_is_booted)
{
	g_autoptr(GbeFacts) facts = NULL;
	GbeRunRecord *run;

	facts = trial_of_b(&run);
	(void)facts_recorded(facts);
	facts_set_deployment(&facts->booted, 'a');
	(void)facts_owner(facts, 'a', 51, 92);
	(void)facts_recorded(facts);
	(void)facts_record(facts, 'a', 51, 92, GBE_VERDICT_NONE);
	assert_removed(facts, "");
	/* After it left the list, it cannot be tried again. */
	g_ptr_array_set_size(facts->listed, 1);
	assert_removed(facts, "a1");
}
END_TEST

START_TEST(the_whole_chain_stays)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *first = facts_backup(facts, '-', 0, 1, GBE_GRADE_UNPROVEN);
	GbeManifest *second = facts_backup(facts, 'b', 2, 2, GBE_GRADE_UNPROVEN);
	GbeManifest *own = facts_backup(facts, 'c', 5, 5, GBE_GRADE_UNPROVEN);
	GbeRunRecord *run;

	(void)facts_backup(facts, 'b', 4, 4, GBE_GRADE_UNPROVEN);
	(void)facts_list(facts, 'c', 3000);
	(void)facts_list(facts, 'b', 2000);
	facts_set_deployment(&facts->booted, 'c');
	(void)facts_trial(facts, 'c', 50, 90, second);
	facts_link(facts->owner, first, false);
	run = facts_record(facts, 'c', 50, 90, GBE_VERDICT_NONE);
	run->trial = GBE_YES;
	assert_removed(facts, "");
	/* By name and number: what was given the name is not kept for it. */
	second->sequence = 3;
	assert_removed(facts, "b3");
	second->sequence = 2;
	/* The base of a green deployment is its past. */
	run->verdict = GBE_VERDICT_GREEN;
	own->grade = GBE_GRADE_GOOD;
	assert_removed(facts, "adopted-1 b2");
}
END_TEST

/* "The last state that a listed deployment left." */
START_TEST(what_a_listed_deployment_left_stays)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *left = facts_backup(facts, '-', 0, 1, GBE_GRADE_UNPROVEN);
	GbeRunRecord *run;

	(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD);
	(void)facts_list(facts, 'b', 900);
	(void)facts_owner(facts, 'b', 40, 80);
	(void)facts_recorded(facts);
	run = facts_record(facts, 'b', 40, 80, GBE_VERDICT_GREEN);
	(void)facts_owner(facts, 'a', 50, 90);
	assert_removed(facts, "adopted-1");
	gbe_backup_ref_set(&run->left, gbe_manifest_ref(left));
	assert_removed(facts, "");
	g_ptr_array_set_size(facts->listed, 1);
	(void)facts_recorded(facts);
	assert_removed(facts, "adopted-1");
}
END_TEST

/* "What the last restore displaced, pinned and manual ones: always." */

START_TEST(pinned_and_manual_ones_stay)
{
	g_autoptr(GbeFacts) facts = device();

	facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD)->pinned = true;
	facts_manual(facts_backup(facts, 'a', 2, 2, GBE_GRADE_UNPROVEN), "before-the-move");
	facts_backup(facts, 'z', 3, 3, GBE_GRADE_BAD)->pinned = true;
	for (guint i = 4; i <= 7; i++)
		(void)facts_backup(facts, 'a', i, i, GBE_GRADE_GOOD);
	assert_removed(facts, "a4 a5");
}
END_TEST

START_TEST(what_the_last_restore_displaced_stays)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *displaced = facts_backup(facts, 'b', 1, 1, GBE_GRADE_BAD);

	(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD);
	(void)facts_backup(facts, 'a', 3, 3, GBE_GRADE_BAD);
	assert_removed(facts, "b1");
	gbe_backup_ref_set(&facts->undo, gbe_manifest_ref(displaced));
	assert_removed(facts, "");
}
END_TEST

/* "Set aside: outside keep-good, ... kept until the next one." */
START_TEST(what_was_set_aside_stays_until_the_next_one)
{
	g_autoptr(GbeFacts) facts = device();

	facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD)->set_aside = true;
	facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD)->set_aside = true;
	(void)facts_backup(facts, 'a', 3, 3, GBE_GRADE_GOOD);
	(void)facts_backup(facts, 'a', 4, 4, GBE_GRADE_GOOD);
	assert_removed(facts, "a1");
}
END_TEST

/* restore --skip-backup: unwanted data is removed after etcd was healthy, and its run green, on the restored data. */
START_TEST(what_is_discarded_goes_after_a_green_run)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *displaced = facts_backup(facts, 'a', 5, 91, GBE_GRADE_UNPROVEN);
	GbeRunRecord *run;

	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD);
	displaced->set_aside = true;
	displaced->discard = true;
	gbe_backup_ref_set(&facts->undo, gbe_manifest_ref(displaced));
	/* The green run of device() was before. */
	assert_removed(facts, "");
	run = facts_record(facts, 'a', 50, 92, GBE_VERDICT_RED);
	assert_removed(facts, "");
	run->verdict = GBE_VERDICT_GREEN;
	run->health = GBE_HEALTH_CANNOT_TELL;
	assert_removed(facts, "");
	run->health = GBE_HEALTH_HEALTHY;
	assert_removed(facts, "a91");
	displaced->pinned = true;
	assert_removed(facts, "");
	displaced->pinned = false;
	displaced->discard = false;
	assert_removed(facts, "");
}
END_TEST

START_TEST(what_is_discarded_stays_as_the_last_valid_one)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *displaced = facts_backup(facts, 'a', 5, 91, GBE_GRADE_UNPROVEN);

	displaced->set_aside = true;
	displaced->discard = true;
	(void)facts_record(facts, 'a', 50, 92, GBE_VERDICT_GREEN);
	assert_removed(facts, "");
	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_BAD);
	assert_removed(facts, "");
}
END_TEST

START_TEST(what_is_asked_for_stays)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *asked = facts_backup(facts, 'a', 1, 1, GBE_GRADE_UNPROVEN);

	(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD);
	assert_removed(facts, "a1");
	facts->request.kind = GBE_REQUEST_RESTORE;
	facts->request.name = g_strdup(asked->name);
	assert_removed(facts, "");
}
END_TEST

/* By the start that adopted it; and what a person chose, while that is what etcd has. */
START_TEST(what_the_take_over_found_stays)
{
	for (guint asked = 0; asked < 2; asked++) {
		g_autoptr(GbeFacts) facts = device();
		GbeManifest *adopted = facts_backup(facts, '-', 0, 1, GBE_GRADE_UNPROVEN);

		(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD);
		assert_removed(facts, "adopted-1");
		facts->owner->asked = asked != 0;
		if (asked)
			facts->owner->source = g_strdup("adopted-1");
		else
			gbe_backup_ref_set(&facts->owner->found, gbe_manifest_ref(adopted));
		assert_removed(facts, "");
	}
}
END_TEST

START_TEST(the_closing_backup_stays)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *closing = facts_backup(facts, 'a', 1, 1, GBE_GRADE_UNPROVEN);

	(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD);
	facts->owner->closing.present = true;
	gbe_backup_ref_set(&facts->owner->closing.backup, gbe_manifest_ref(closing));
	assert_removed(facts, "");
	facts->owner->closing.present = false;
	assert_removed(facts, "a1");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-retention");
	TCase *tcase = tcase_create("retention");

	tcase_add_test(tcase, nothing_goes_by_a_list_without_the_booted_deployment);
	tcase_add_test(tcase, two_good_ones_stay_where_copies_are_clones);
	tcase_add_test(tcase, one_good_one_stays_elsewhere);
	tcase_add_test(tcase, keep_good_says_how_many);
	tcase_add_test(tcase, each_listed_deployment_has_its_own);
	tcase_add_test(tcase, the_newest_unproven_one_stays_if_newer);
	tcase_add_test(tcase, an_older_unproven_one_goes);
	tcase_add_test(tcase, sequence_orders_and_not_the_clock);
	tcase_add_test(tcase, bad_backups_are_counted_in_all);
	tcase_add_test(tcase, the_base_of_the_live_trial_stays);
	tcase_add_test(tcase, the_base_of_a_green_one_may_go);
	tcase_add_test(tcase, the_base_of_a_listed_trial_stays_though_another_is_booted);
	tcase_add_test(tcase, the_whole_chain_stays);
	tcase_add_test(tcase, what_a_listed_deployment_left_stays);
	tcase_add_test(tcase, pinned_and_manual_ones_stay);
	tcase_add_test(tcase, what_the_last_restore_displaced_stays);
	tcase_add_test(tcase, what_was_set_aside_stays_until_the_next_one);
	tcase_add_test(tcase, what_is_discarded_goes_after_a_green_run);
	tcase_add_test(tcase, what_is_discarded_stays_as_the_last_valid_one);
	tcase_add_test(tcase, what_is_asked_for_stays);
	tcase_add_test(tcase, what_the_take_over_found_stays);
	tcase_add_test(tcase, the_closing_backup_stays);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
