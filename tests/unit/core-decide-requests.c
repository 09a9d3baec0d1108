/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plans of requests, of a start that has to keep its hands off, and of one without data; and what is done
 * by hand.
 */
#include <stdbool.h>

#include "lib/plan.h"
#include "lib/unit.h"

static void
ask(GbeFacts *facts, const GbeManifest *backup, guint run)
{
	facts->request.kind = GBE_REQUEST_RESTORE;
	facts->request.name = g_strdup(backup->name);
	facts->request.run = facts_run(run);
	facts->request.text = g_strdup(GBE_NEXT_BOOT);
}

/* Issue 20, 4: D takes the requested data over itself, and what O had is O's backup. */
START_TEST(a_request_is_ds_own_act)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	const GbeManifest *displaced;
	GbeManifest *asked;

	facts = deliberate_return(&asked);
	ask(facts, asked, 59);
	plan = gbe_decide(facts);
	assert_rules(plan, "2");
	ck_assert(!plan->again);
	ck_assert_ptr_null(plan->request_failed);
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, asked->name);
	displaced = action(plan, GBE_ACTION_DISPLACE)->manifest;
	assert_owner(&displaced->deployment, 'b');
	ck_assert(!displaced->set_aside);
	ck_assert_int_eq(displaced->grade, GBE_GRADE_GOOD);

	ck_assert(plan->take_over->asked);
	ck_assert_str_eq(plan->take_over->request, GBE_NEXT_BOOT);
	assert_owner(&plan->take_over->deployment, 'a');
	ck_assert_str_eq(plan->take_over->run, facts->run);
	ck_assert_uint_eq(plan->take_over->sequence, 101);
	ck_assert_uint_eq(plan->take_over->lineage.line, 101);
	ck_assert_uint_eq(plan->take_over->after, 95);
	ck_assert_str_eq(plan->take_over->found.name, displaced->name);
	ck_assert_uint_eq(plan->take_over->found.sequence, displaced->sequence);
}
END_TEST

/* "Where 9, 10a or 12 would have, what is displaced is graded bad as they do." */
START_TEST(what_a_request_displaces_is_graded_as_without_it)
{
	static const struct {
		char booted;
		GbeVerdict verdict;
		GbeGrade grade;
	} cases[] = {
	    {'a', GBE_VERDICT_RED, GBE_GRADE_BAD},
	    {'b', GBE_VERDICT_RED, GBE_GRADE_BAD},
	    {'c', GBE_VERDICT_RED, GBE_GRADE_BAD},
	    {'c', GBE_VERDICT_NONE, GBE_GRADE_UNPROVEN},
	    {'b', GBE_VERDICT_NONE, GBE_GRADE_UNPROVEN},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = NULL;
		g_autoptr(GbePlan) plan = NULL;
		GbeManifest *base, *asked;

		facts = after_failed_b(cases[i].booted, &base);
		((GbeRunRecord *)facts->runs->pdata[1])->verdict = cases[i].verdict;
		asked = facts_backup(facts, 'a', 30, 30, GBE_GRADE_GOOD);
		ask(facts, asked, 51);
		plan = gbe_decide(facts);
		assert_rules(plan, "2");
		ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, asked->name);
		ck_assert_int_eq(action(plan, GBE_ACTION_DISPLACE)->manifest->grade,
				 cases[i].grade);
	}
}
END_TEST

/* Issue 20, 4: who goes forward to O again gets what O left, not what was asked for. */
START_TEST(who_goes_forward_again_gets_what_it_left)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *asked, *left;
	GbeRunRecord *run;

	facts = deliberate_return(&asked);
	left = facts_backup(facts, 'b', 59, 100, GBE_GRADE_UNPROVEN);
	run = facts->runs->pdata[1];
	gbe_backup_ref_set(&run->left, gbe_manifest_ref(left));
	(void)facts_owner(facts, 'a', 60, 101);
	facts->owner->lineage.line = 101;
	facts->owner->asked = true;
	(void)facts_record(facts, 'a', 60, 101, GBE_VERDICT_GREEN);
	facts_set_deployment(&facts->booted, 'b');
	g_free(facts->run);
	facts->run = facts_run(61);
	plan = gbe_decide(facts);
	assert_rules(plan, "10b");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, left->name);
}
END_TEST

/* Issue 20, 18. */
START_TEST(a_request_for_what_this_etcd_cannot_read_is_refused)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL, forced = NULL;
	GbeManifest *asked;

	facts = deliberate_return(&asked);
	facts->etcd_version = gbe_version_parse("3.4.0");
	facts->owner->was_default = GBE_NO;
	asked->storage_version = g_strdup("3.6");
	ask(facts, asked, 59);
	plan = gbe_decide(facts);
	ck_assert_int_eq(plan->rule, GBE_RULE_10B);
	ck_assert(plan->drop_request);
	ck_assert_ptr_nonnull(plan->request_failed);
	no_action(plan, GBE_ACTION_RESTORE);
	facts->request.force = true;
	forced = gbe_decide(facts);
	assert_rules(forced, "2");
}
END_TEST

/* Issue 20, 8: a name is given out again, a number is not. */
START_TEST(undo_of_a_deleted_name_is_nothing)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	GbeManifest *namesake = facts_backup(facts, 'b', 40, 80, GBE_GRADE_GOOD);
	g_autoptr(GbePlan) plan = NULL, right = NULL;

	gbe_backup_ref_set(&facts->undo, (GbeBackupRef){.name = namesake->name, .sequence = 70});
	facts->request.kind = GBE_REQUEST_UNDO;
	facts->request.run = facts_run(50);
	plan = gbe_decide(facts);
	assert_rules(plan, "6");
	ck_assert(plan->drop_request);
	no_action(plan, GBE_ACTION_RESTORE);
	facts->undo.sequence = namesake->sequence;
	right = gbe_decide(facts);
	ck_assert_str_eq(action(right, GBE_ACTION_RESTORE)->name, namesake->name);
}
END_TEST

/* A second request on a trial takes the place of the first: an update on top of it starts from the second. */
START_TEST(the_last_request_on_a_trial_counts)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *base, *asked;
	GbeLink *link;

	facts = after_failed_b('b', &base);
	link = facts->owner->chain->pdata[0];
	facts_set_deployment(&link->owner, 'b');
	link->failed = true;
	asked = facts_backup(facts, 'b', 30, 30, GBE_GRADE_UNPROVEN);
	ask(facts, asked, 51);
	plan = gbe_decide(facts);
	assert_rules(plan, "2");
	ck_assert_uint_eq(plan->take_over->chain->len, 1);
	ck_assert_str_eq(gbe_take_over_base(plan->take_over)->name, asked->name);
}
END_TEST

/* Issue 20, 21: what was asked for while B is on trial is what each attempt starts from again. */
START_TEST(what_a_trial_was_given_is_what_it_is_tried_again_with)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL, retry = NULL, back = NULL;
	GbeManifest *base, *asked;

	facts = after_failed_b('b', &base);
	asked = facts_backup(facts, 'a', 30, 30, GBE_GRADE_GOOD);
	ask(facts, asked, 51);
	plan = gbe_decide(facts);
	assert_rules(plan, "2");
	ck_assert_int_eq(plan->take_over->trial.on, GBE_YES);
	gbe_request_clear(&facts->request);
	gbe_take_over_free(facts->owner);
	facts->owner = gbe_take_over_copy(plan->take_over);
	facts_record(facts, 'b', 52, plan->take_over->sequence, GBE_VERDICT_RED)->trial = GBE_YES;
	g_free(facts->run);
	facts->run = facts_run(53);
	retry = gbe_decide(facts);
	assert_rules(retry, "9");
	ck_assert_str_eq(action(retry, GBE_ACTION_RESTORE)->name, asked->name);
	/* And its base gets what it left, as ever. */
	facts_set_deployment(&facts->booted, 'a');
	back = gbe_decide(facts);
	assert_rules(back, "10a");
	ck_assert_str_eq(action(back, GBE_ACTION_RESTORE)->name, base->name);
}
END_TEST

/* Issue 20, 15: the grade of the run's own backup is not of what a restore made of the run. */
START_TEST(a_restore_of_the_runs_own_backup_keeps_its_grade)
{
	for (guint by_hand = 0; by_hand < 2; by_hand++) {
		g_autoptr(GbeFacts) facts = after_green_a('a');
		GbeManifest *own = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
		g_autoptr(GbePlan) plan = NULL, next = NULL;

		if (by_hand)
			facts->run = (g_free(facts->run), facts_run(50));
		else
			ask(facts, own, 50);
		plan = by_hand ? gbe_decide_by_hand(facts, own->name, false) : gbe_decide(facts);
		assert_rules(plan, "2");
		gbe_request_clear(&facts->request);
		/* Restored, not used yet, and booted again: the data is equal to its source. */
		facts_set_fingerprint(&facts->fingerprint, 1000 + own->sequence);
		gbe_take_over_free(facts->owner);
		facts->owner = gbe_take_over_copy(plan->take_over);
		(void)facts_record(facts, 'a', by_hand ? 50 : 51, plan->take_over->sequence,
				   GBE_VERDICT_NONE);
		g_free(facts->run);
		facts->run = facts_run(52);
		next = gbe_decide(facts);
		assert_rules(next, "6");
		no_action(next, GBE_ACTION_GRADE);
		ck_assert_str_eq(action(next, GBE_ACTION_KEEP)->name, own->name);
	}
}
END_TEST

/* A green B comes from nowhere: what A on trial displaces by a request is A's base, and B gets it back. */
START_TEST(a_green_deployment_has_no_chain)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *base, *asked;

	facts = after_failed_b('a', &base);
	((GbeRunRecord *)facts->runs->pdata[0])->verdict = GBE_VERDICT_RED;
	((GbeRunRecord *)facts->runs->pdata[0])->trial = GBE_YES;
	base->grade = GBE_GRADE_UNPROVEN;
	base->verdict = GBE_VERDICT_RED;
	((GbeRunRecord *)facts->runs->pdata[1])->verdict = GBE_VERDICT_GREEN;
	asked = facts_backup(facts, '-', 0, 30, GBE_GRADE_UNPROVEN);
	ask(facts, asked, 51);
	plan = gbe_decide(facts);
	assert_rules(plan, "2");
	ck_assert_int_eq(plan->take_over->trial.on, GBE_YES);
	ck_assert_uint_eq(plan->take_over->chain->len, 2);
	ck_assert_str_eq(gbe_take_over_base(plan->take_over)->name, asked->name);
	assert_owner(&((GbeLink *)plan->take_over->chain->pdata[1])->owner, 'b');
	ck_assert_str_eq(((GbeLink *)plan->take_over->chain->pdata[1])->backup.name,
			 action(plan, GBE_ACTION_DISPLACE)->name);
}
END_TEST

START_TEST(an_impossible_request_is_dropped_and_the_table_continues)
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
	(void)action(gone, GBE_ACTION_TAKE_OVER);

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
			 "the backup does not validate, or could not be examined");
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

/* Issue 20, 6: no backup and no restore; the previous owner stays known. */
START_TEST(skip_takes_over_and_the_chain_stays)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL, same = NULL, later = NULL;
	GbeManifest *base;

	facts = after_failed_b('c', &base);
	facts->skip = true;
	plan = gbe_decide(facts);
	assert_rules(plan, "skip");
	ck_assert(!plan->hold);
	no_action(plan, GBE_ACTION_BACKUP);
	no_action(plan, GBE_ACTION_RESTORE);
	ck_assert(plan->take_over->skipped);
	ck_assert_uint_eq(plan->take_over->chain->len, 2);
	ck_assert_ptr_null(gbe_take_over_base(plan->take_over)->name);
	ck_assert_str_eq(((GbeLink *)plan->take_over->chain->pdata[1])->backup.name, base->name);
	ck_assert_int_eq(action(plan, GBE_ACTION_TAKE_OVER)->on_failure, GBE_FAILURE_REPORT);

	/* B itself continues its trial. */
	facts_set_deployment(&facts->booted, 'b');
	same = gbe_decide(facts);
	assert_rules(same, "skip");
	ck_assert_int_eq(same->take_over->trial.on, GBE_YES);
	ck_assert_str_eq(gbe_take_over_base(same->take_over)->name, base->name);

	/* The failed update is undone, though there was a boot with skip in between. */
	facts->skip = false;
	facts_set_deployment(&facts->booted, 'a');
	gbe_take_over_free(facts->owner);
	facts->owner = gbe_take_over_copy(same->take_over);
	facts_record(facts, 'b', 52, facts->owner->sequence, GBE_VERDICT_RED)->trial = GBE_YES;
	g_free(facts->run);
	facts->run = facts_run(53);
	later = gbe_decide(facts);
	assert_rules(later, "10a");
	ck_assert_str_eq(action(later, GBE_ACTION_RESTORE)->name, base->name);
}
END_TEST

START_TEST(skip_of_data_without_an_owner_begins_a_line_unknown_before_here)
{
	g_autoptr(GbeFacts) facts = facts_booted('a', 51);
	g_autoptr(GbePlan) plan = NULL;

	facts->skip = true;
	plan = gbe_decide(facts);
	assert_rules(plan, "skip");
	ck_assert(plan->take_over->lineage.truncated);
	ck_assert_uint_eq(plan->take_over->lineage.line, plan->take_over->sequence);
	ck_assert_uint_eq(plan->take_over->after, 0);
}
END_TEST

START_TEST(no_take_over_while_the_booted_one_is_unknown)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL, open = NULL;

	gbe_deployment_clear(&facts->booted);
	plan = gbe_decide(facts);
	assert_rules(plan, "0");
	ck_assert_ptr_null(plan->take_over);
	ck_assert(action(plan, GBE_ACTION_BACKUP)->cow_only);
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->on_failure, GBE_FAILURE_REPORT);

	facts->data_open = GBE_YES;
	open = gbe_decide(facts);
	assert_rules(open, "0");
	ck_assert(gbe_plan_is_idle(open));
}
END_TEST

START_TEST(a_fresh_start_is_a_take_over_without_a_tree)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL, again = NULL;

	facts->data = GBE_NO;
	g_clear_pointer(&facts->tree, g_free);
	plan = gbe_decide(facts);
	assert_rules(plan, "3");
	ck_assert_ptr_null(action(plan, GBE_ACTION_FRESH)->name);
	no_action(plan, GBE_ACTION_TAKE_OVER);
	ck_assert_uint_eq(plan->take_over->lineage.line, plan->take_over->sequence);
	ck_assert_ptr_null(plan->take_over->lineage.ancestors);
	ck_assert_uint_eq(plan->take_over->voters, 0);
	ck_assert_ptr_null(plan->take_over->tree);

	/* Started again in this run, before etcd had made any data: it is recorded. */
	gbe_take_over_free(facts->owner);
	facts->owner = gbe_take_over_copy(plan->take_over);
	again = gbe_decide(facts);
	assert_rules(again, "3");
	ck_assert_ptr_null(again->take_over);
	ck_assert(gbe_plan_is_idle(again));
}
END_TEST

START_TEST(missing_data_is_restored_only_where_that_is_asked_for)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	GbeManifest *candidate = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	g_autoptr(GbePlan) plan = NULL;

	facts->data = GBE_NO;
	facts->config->restore.on_missing_data = GBE_MISSING_RESTORE;
	plan = gbe_decide(facts);
	assert_rules(plan, "3");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, candidate->name);
	no_action(plan, GBE_ACTION_DISPLACE);
	ck_assert_int_eq(plan->take_over->trial.on, GBE_NO);
}
END_TEST

START_TEST(a_missing_mount_holds_and_says_how_to_go_on)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL;

	facts->data = GBE_NO;
	facts->owner->mount_point = GBE_YES;
	plan = gbe_decide(facts);
	assert_rules(plan, "3");
	ck_assert(plan->hold);
	ck_assert_ptr_null(plan->take_over);
	ck_assert_ptr_nonnull(strstr(action(plan, GBE_ACTION_HOLD)->reason, "mount is missing"));
}
END_TEST

START_TEST(a_restore_by_hand_takes_over_for_the_booted_one_and_the_present_run)
{
	g_autoptr(GbeFacts) facts = NULL, trial = NULL, nobody = NULL;
	g_autoptr(GbePlan) plan = NULL, own = NULL, none = NULL;
	GbeManifest *candidate, *base, *asked;

	facts = deliberate_return(&candidate);
	plan = gbe_decide_by_hand(facts, candidate->name, false);
	assert_rules(plan, "2");
	assert_owner(&plan->take_over->deployment, 'a');
	ck_assert_str_eq(plan->take_over->run, facts->run);
	ck_assert_str_eq(plan->take_over->source, candidate->name);
	ck_assert_int_eq(plan->take_over->trial.on, GBE_NO);
	ck_assert(plan->take_over->asked);
	ck_assert_ptr_null(plan->take_over->request);
	ck_assert(action(plan, GBE_ACTION_DISPLACE)->manifest->set_aside);

	/* The restored backup is the base of that take-over, and the chain before it stays. */
	trial = after_failed_b('b', &base);
	asked = facts_backup(trial, 'a', 30, 30, GBE_GRADE_GOOD);
	own = gbe_decide_by_hand(trial, asked->name, false);
	ck_assert_int_eq(own->take_over->trial.on, GBE_YES);
	ck_assert_int_eq(own->take_over->trial.used, 0);
	ck_assert_uint_eq(own->take_over->chain->len, 2);
	ck_assert_str_eq(gbe_take_over_base(own->take_over)->name, asked->name);
	ck_assert_str_eq(((GbeLink *)own->take_over->chain->pdata[1])->backup.name, base->name);

	/* Without ostree: for no deployment. */
	nobody = after_green_a('a');
	gbe_deployment_clear(&nobody->booted);
	nobody->ostree = GBE_NO;
	asked = facts_backup(nobody, '-', 0, 30, GBE_GRADE_UNPROVEN);
	none = gbe_decide_by_hand(nobody, asked->name, false);
	assert_rules(none, "2");
	ck_assert_ptr_null(none->take_over->deployment.id);
}
END_TEST

/* There is no data in the next run. */
static void
next_run_without_data(GbeFacts *facts, const GbePlan *plan)
{
	gbe_request_clear(&facts->request);
	facts->request = (GbeRequest){0};
	facts->data = GBE_NO;
	gbe_take_over_free(facts->owner);
	facts->owner = gbe_take_over_copy(plan->take_over);
	g_ptr_array_add(facts->take_overs, gbe_take_over_copy(plan->take_over));
	g_free(facts->run);
	facts->run = g_strdup("ffffffffffffffffffffffffffffffff");
	facts->config->restore.on_missing_data = GBE_MISSING_RESTORE;
}

START_TEST(data_that_is_set_aside_by_hand_comes_back_by_hand_only)
{
	g_autoptr(GbeFacts) facts = after_green_a('a'), trial = NULL, nobody = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL, next = NULL, own = NULL, retry = NULL, none = NULL;
	GbeManifest *base;

	plan = gbe_decide_by_hand(facts, NULL, true);
	assert_rules(plan, "2");
	ck_assert_ptr_null(gbe_plan_find(plan, GBE_ACTION_RESTORE));
	ck_assert(action(plan, GBE_ACTION_DISPLACE)->manifest->set_aside);
	ck_assert_str_eq(plan->take_over->found.name, action(plan, GBE_ACTION_DISPLACE)->name);
	ck_assert(gbe_take_over_empties(plan->take_over));
	ck_assert_uint_eq(plan->take_over->lineage.line, plan->take_over->sequence);
	ck_assert_uint_eq(plan->take_over->voters, 0);
	ck_assert_ptr_null(plan->take_over->member_id);
	next_run_without_data(facts, plan);
	next = gbe_decide(facts);
	assert_rules(next, "3");
	ck_assert_ptr_null(action(next, GBE_ACTION_FRESH)->name);

	/* A trial would get its base again. */
	trial = after_failed_b('b', &base);
	own = gbe_decide_by_hand(trial, NULL, true);
	ck_assert_uint_eq(own->take_over->chain->len, 0);
	next_run_without_data(trial, own);
	retry = gbe_decide(trial);
	assert_rules(retry, "3");
	ck_assert_ptr_null(gbe_plan_find(retry, GBE_ACTION_RESTORE));

	/* Without ostree: for no deployment. */
	gbe_deployment_clear(&nobody->booted);
	nobody->ostree = GBE_NO;
	none = gbe_decide_by_hand(nobody, NULL, true);
	ck_assert_ptr_nonnull(none->take_over);
	ck_assert_ptr_null(none->take_over->deployment.id);
}
END_TEST

START_TEST(a_manual_backup_has_its_name_and_the_owners_past)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbeManifest) manifest = NULL;
	GbeView view;

	gbe_view_live(facts, &view);
	manifest = gbe_decide_manifest(facts, &view, "before-the-move", false, 100);
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

	tcase_add_test(tcase, a_request_is_ds_own_act);
	tcase_add_test(tcase, what_a_request_displaces_is_graded_as_without_it);
	tcase_add_test(tcase, who_goes_forward_again_gets_what_it_left);
	tcase_add_test(tcase, a_request_for_what_this_etcd_cannot_read_is_refused);
	tcase_add_test(tcase, a_green_deployment_has_no_chain);
	tcase_add_test(tcase, undo_of_a_deleted_name_is_nothing);
	tcase_add_test(tcase, the_last_request_on_a_trial_counts);
	tcase_add_test(tcase, what_a_trial_was_given_is_what_it_is_tried_again_with);
	tcase_add_test(tcase, a_restore_of_the_runs_own_backup_keeps_its_grade);
	tcase_add_test(tcase, an_impossible_request_is_dropped_and_the_table_continues);
	tcase_add_test(tcase, a_request_whose_backup_was_tried_says_so);
	tcase_add_test(tcase, a_request_is_not_due_in_its_own_run);
	tcase_add_test(tcase, skip_takes_over_and_the_chain_stays);
	tcase_add_test(tcase, skip_of_data_without_an_owner_begins_a_line_unknown_before_here);
	tcase_add_test(tcase, no_take_over_while_the_booted_one_is_unknown);
	tcase_add_test(tcase, a_fresh_start_is_a_take_over_without_a_tree);
	tcase_add_test(tcase, missing_data_is_restored_only_where_that_is_asked_for);
	tcase_add_test(tcase, a_missing_mount_holds_and_says_how_to_go_on);
	tcase_add_test(tcase, a_restore_by_hand_takes_over_for_the_booted_one_and_the_present_run);
	tcase_add_test(tcase, data_that_is_set_aside_by_hand_comes_back_by_hand_only);
	tcase_add_test(tcase, a_manual_backup_has_its_name_and_the_owners_past);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
