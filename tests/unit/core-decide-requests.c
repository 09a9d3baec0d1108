/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plans of requests, of a start that has to keep its hands off, and of one without data; and what is done
 * by hand.
 */
#include "lib/plan.h"
#include "lib/unit.h"

START_TEST(a_request_is_the_last_act_of_the_owners_run)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *asked;

	facts = deliberate_return(&asked);
	facts->request.kind = GBE_REQUEST_RESTORE;
	facts->request.name = g_strdup(asked->name);
	facts->request.run = facts_run(59);
	plan = gbe_decide(facts);
	assert_rules(plan, "2");
	ck_assert(plan->drop_request);
	ck_assert(plan->again);
	ck_assert_ptr_null(plan->request_failed);
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, asked->name);
	ck_assert(action(plan, GBE_ACTION_DISPLACE)->manifest->set_aside);
	ck_assert_int_eq(action(plan, GBE_ACTION_DISPLACE)->manifest->grade, GBE_GRADE_GOOD);

	ck_assert(plan->stamp->by_request);
	assert_owner(&plan->stamp->deployment, 'b');
	ck_assert_str_eq(plan->stamp->run, facts->stamp->run);
	ck_assert_uint_eq(plan->stamp->sequence, 101);
	ck_assert_uint_eq(plan->stamp->lineage.line, 101);
	ck_assert_int_eq(plan->stamp->trial.used, 0);
	ck_assert_int_eq(plan->run->verdict, GBE_VERDICT_NONE);
}
END_TEST

START_TEST(after_a_request_d_goes_on_with_it)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *candidate;

	facts = deliberate_return(&candidate);
	facts->stamp->by_request = TRUE;
	plan = gbe_decide(facts);
	assert_rules(plan, "10b");
	no_action(plan, GBE_ACTION_RESTORE);
	assert_owner(&plan->stamp->deployment, 'a');
	ck_assert(!plan->stamp->by_request);
}
END_TEST

START_TEST(a_request_that_cannot_be_carried_out_is_dropped_and_the_table_goes_on)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) gone = NULL, told = NULL;

	facts->request.kind = GBE_REQUEST_RESTORE;
	facts->request.name = g_strdup("nothing-of-that-name");
	facts->request.run = facts_run(50);
	gone = gbe_decide(facts);
	assert_rules(gone, "6");
	ck_assert(gone->drop_request);
	ck_assert_ptr_nonnull(gone->request_failed);
	ck_assert(!gone->again);
	(void)action(gone, GBE_ACTION_STAMP);

	facts->request_why = g_strdup("its file is damaged");
	told = gbe_decide(facts);
	ck_assert_str_eq(told->request_failed, "its file is damaged");
}
END_TEST

START_TEST(a_request_whose_backup_was_tried_says_so)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	GbeManifest *asked = facts_backup(facts, 'a', 40, 80, GBE_GRADE_GOOD);
	g_autoptr(GbePlan) plan = NULL;

	facts->request.kind = GBE_REQUEST_RESTORE;
	facts->request.name = g_strdup(asked->name);
	facts->request.run = facts_run(50);
	facts->rejected = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_hash_table_add(facts->rejected, g_strdup(asked->name));
	plan = gbe_decide(facts);
	assert_rules(plan, "6");
	ck_assert(plan->drop_request);
	ck_assert_str_eq(plan->request_failed,
			 "the backup does not validate, or nobody could look");
}
END_TEST

START_TEST(a_request_is_not_due_in_its_own_run)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	GbeManifest *asked = facts_backup(facts, 'a', 40, 80, GBE_GRADE_GOOD);
	g_autoptr(GbePlan) plan = NULL;

	facts->request.kind = GBE_REQUEST_RESTORE;
	facts->request.name = g_strdup(asked->name);
	facts->request.run = g_strdup(facts->run);
	plan = gbe_decide(facts);
	assert_rules(plan, "6");
	ck_assert(!plan->drop_request);
	no_action(plan, GBE_ACTION_RESTORE);
}
END_TEST

START_TEST(skip_forgets_the_owner)
{
	g_autoptr(GbeFacts) facts = after_green_a('b');
	g_autoptr(GbePlan) plan = NULL, nobody = NULL;

	facts->skip = TRUE;
	plan = gbe_decide(facts);
	assert_rules(plan, "skip");
	ck_assert(action(plan, GBE_ACTION_STAMP)->forget);
	ck_assert_ptr_null(plan->stamp);
	ck_assert_ptr_null(plan->run);
	ck_assert(!plan->hold);
	no_action(plan, GBE_ACTION_BACKUP);
	ck_assert_uint_eq(plan->last_sequence, 99);

	g_clear_pointer(&facts->stamp, gbe_stamp_free);
	nobody = gbe_decide(facts);
	no_action(nobody, GBE_ACTION_STAMP);
	(void)action(nobody, GBE_ACTION_KEEP);
}
END_TEST

START_TEST(nothing_is_stamped_while_the_booted_one_cannot_be_told)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL, open = NULL;

	gbe_deployment_clear(&facts->booted);
	plan = gbe_decide(facts);
	assert_rules(plan, "0");
	ck_assert_ptr_null(plan->stamp);
	ck_assert(action(plan, GBE_ACTION_BACKUP)->cow_only);
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->on_failure, GBE_FAILURE_REPORT);

	facts->data_open = GBE_YES;
	open = gbe_decide(facts);
	assert_rules(open, "0");
	ck_assert(gbe_plan_is_idle(open));
}
END_TEST

START_TEST(a_fresh_start_begins_a_chain_in_the_state_alone)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL, again = NULL;

	facts->data = GBE_NO;
	facts->copy = g_steal_pointer(&facts->stamp);
	facts->copy->data_handle = g_strdup("d0");
	plan = gbe_decide(facts);
	assert_rules(plan, "3");
	(void)action(plan, GBE_ACTION_FRESH);
	no_action(plan, GBE_ACTION_STAMP);
	ck_assert_uint_eq(plan->stamp->lineage.line, plan->stamp->sequence);
	ck_assert_ptr_null(plan->stamp->lineage.ancestors);
	ck_assert_uint_eq(plan->stamp->voters, 0);
	ck_assert_ptr_nonnull(plan->run);

	/* Started again in this run, before etcd had made any data: it is recorded. */
	gbe_stamp_free(facts->copy);
	facts->copy = gbe_stamp_copy(plan->stamp);
	again = gbe_decide(facts);
	assert_rules(again, "3");
	ck_assert_ptr_null(again->stamp);
	ck_assert(gbe_plan_is_idle(again));
}
END_TEST

START_TEST(missing_data_is_restored_only_where_that_is_asked_for)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	GbeManifest *candidate = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	g_autoptr(GbePlan) plan = NULL;

	facts->data = GBE_NO;
	facts->copy = g_steal_pointer(&facts->stamp);
	facts->config->restore.on_missing_data = GBE_MISSING_RESTORE;
	plan = gbe_decide(facts);
	assert_rules(plan, "3");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, candidate->name);
	no_action(plan, GBE_ACTION_DISPLACE);
	ck_assert_int_eq(plan->stamp->trial.on, GBE_NO);
}
END_TEST

START_TEST(a_missing_mount_holds_and_says_how_to_go_on)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL;

	facts->data = GBE_NO;
	facts->copy = g_steal_pointer(&facts->stamp);
	facts->copy->mount_point = GBE_YES;
	plan = gbe_decide(facts);
	assert_rules(plan, "3");
	ck_assert(plan->hold);
	ck_assert_ptr_null(plan->stamp);
	ck_assert_ptr_nonnull(strstr(action(plan, GBE_ACTION_HOLD)->reason, "mount it"));
}
END_TEST

START_TEST(a_restore_by_hand_stamps_the_booted_one_and_the_present_run)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbeStamp) stamp = NULL, own = NULL;
	GbeManifest *candidate, *previous;
	g_autoptr(GbeFacts) trial = NULL;
	GbeView view;

	facts = deliberate_return(&candidate);
	gbe_view_live(facts, &view);
	stamp = gbe_decide_stamp_by_hand(facts, &view, candidate, 101);
	assert_owner(&stamp->deployment, 'a');
	ck_assert_str_eq(stamp->run, facts->run);
	ck_assert_uint_eq(stamp->sequence, 101);
	ck_assert_uint_eq(stamp->lineage.line, 101);
	ck_assert_str_eq(stamp->restored_from, candidate->name);
	ck_assert_int_eq(stamp->trial.on, GBE_NO);
	ck_assert(!stamp->by_request);

	/* The owner's own trial goes on with its P. */
	trial = after_failed_b('b', &previous);
	gbe_view_live(trial, &view);
	own = gbe_decide_stamp_by_hand(trial, &view, previous, 101);
	ck_assert_int_eq(own->trial.on, GBE_YES);
	ck_assert_str_eq(own->previous, previous->name);
	ck_assert_int_eq(own->trial.used, 0);
}
END_TEST

START_TEST(a_manual_backup_has_its_name_and_the_owners_past)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbeManifest) manifest = NULL;
	GbeView view;

	gbe_view_live(facts, &view);
	manifest = gbe_decide_manifest(facts, &view, "before-the-move", FALSE, 100);
	ck_assert_str_eq(manifest->name, "before-the-move");
	ck_assert_int_eq(manifest->origin, GBE_ORIGIN_MANUAL);
	assert_owner(&manifest->deployment, 'a');
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-decide-requests");
	TCase *tcase = tcase_create("plans");

	tcase_add_test(tcase, a_request_is_the_last_act_of_the_owners_run);
	tcase_add_test(tcase, after_a_request_d_goes_on_with_it);
	tcase_add_test(tcase,
		       a_request_that_cannot_be_carried_out_is_dropped_and_the_table_goes_on);
	tcase_add_test(tcase, a_request_whose_backup_was_tried_says_so);
	tcase_add_test(tcase, a_request_is_not_due_in_its_own_run);
	tcase_add_test(tcase, skip_forgets_the_owner);
	tcase_add_test(tcase, nothing_is_stamped_while_the_booted_one_cannot_be_told);
	tcase_add_test(tcase, a_fresh_start_begins_a_chain_in_the_state_alone);
	tcase_add_test(tcase, missing_data_is_restored_only_where_that_is_asked_for);
	tcase_add_test(tcase, a_missing_mount_holds_and_says_how_to_go_on);
	tcase_add_test(tcase, a_restore_by_hand_stamps_the_booted_one_and_the_present_run);
	tcase_add_test(tcase, a_manual_backup_has_its_name_and_the_owners_past);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
