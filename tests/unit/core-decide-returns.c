/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plans that restore without a request: retries, returns, the gate, and data written by a system without this
 * program.
 */
#include <stdbool.h>

#include "lib/plan.h"
#include "lib/unit.h"

START_TEST(a_retry_displaces_a_bad_backup_and_begins_a_line)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	const GbeAction *displaced;
	GbeManifest *base;
	GbeAncestor *parent;

	facts = after_failed_b('b', &base);
	facts->owner->trial.used = 1000;
	plan = gbe_decide(facts);
	assert_rules(plan, "9");
	no_action(plan, GBE_ACTION_BACKUP);
	no_action(plan, GBE_ACTION_TAKE_OVER);
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, base->name);

	displaced = action(plan, GBE_ACTION_DISPLACE);
	assert_owner(&displaced->manifest->deployment, 'b');
	ck_assert_int_eq(displaced->manifest->grade, GBE_GRADE_BAD);
	ck_assert_ptr_nonnull(displaced->manifest->grade_reason);
	ck_assert_int_eq(displaced->manifest->origin, GBE_ORIGIN_DISPLACED);
	ck_assert_int_eq(displaced->manifest->method, GBE_METHOD_RENAME);
	ck_assert(!displaced->manifest->set_aside);
	ck_assert_str_eq(displaced->name, displaced->manifest->name);

	assert_owner(&plan->take_over->deployment, 'b');
	ck_assert_uint_eq(plan->take_over->chain->len, 1);
	ck_assert_str_eq(gbe_take_over_base(plan->take_over)->name, base->name);
	ck_assert_str_eq(plan->take_over->source, base->name);
	ck_assert_str_eq(plan->take_over->found.name, displaced->name);
	/* If the restore is impossible, B keeps the data permanently. */
	ck_assert(plan->instead->failed);
	ck_assert_ptr_null(plan->instead->source);
	ck_assert_uint_gt(plan->instead->sequence, plan->take_over->sequence);
	ck_assert_int_eq(plan->take_over->trial.on, GBE_YES);
	ck_assert_int_eq(plan->take_over->trial.used, 0);
	ck_assert(plan->take_over->trial.judged);
	ck_assert_uint_eq(plan->take_over->lineage.line, plan->take_over->sequence);
	ck_assert_uint_eq(plan->take_over->lineage.ancestors->len, 1);
	parent = &g_array_index(plan->take_over->lineage.ancestors, GbeAncestor, 0);
	ck_assert_uint_eq(parent->line, base->lineage.line);
	ck_assert_uint_eq(parent->sequence, base->sequence);
}
END_TEST

START_TEST(after_a_failed_update_its_base_continues_as_before)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *base;

	facts = after_failed_b('a', &base);
	plan = gbe_decide(facts);
	assert_rules(plan, "10a");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, base->name);
	ck_assert_int_eq(action(plan, GBE_ACTION_DISPLACE)->manifest->grade, GBE_GRADE_BAD);
	assert_owner(&action(plan, GBE_ACTION_DISPLACE)->manifest->deployment, 'b');
	no_action(plan, GBE_ACTION_BACKUP);
	assert_owner(&plan->take_over->deployment, 'a');
	ck_assert_ptr_null(gbe_take_over_base(plan->take_over));
	ck_assert_int_eq(plan->take_over->trial.on, GBE_NO);
	ck_assert(!plan->hold);
}
END_TEST

/* Two deployments in what counts as one run: a container whose boot id does not change. */
START_TEST(a_base_that_comes_back_in_its_own_run_takes_over)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *base;

	facts = after_failed_b('a', &base);
	g_free(facts->run);
	facts->run = g_strdup(base->run);
	plan = gbe_decide(facts);
	assert_rules(plan, "10a");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, base->name);
	ck_assert_ptr_nonnull(plan->take_over);
	assert_owner(&plan->take_over->deployment, 'a');
	ck_assert_str_eq(plan->take_over->source, base->name);
}
END_TEST

START_TEST(p_that_does_not_validate_gives_way_to_the_candidate)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL, none = NULL;
	GbeManifest *base, *older;

	facts = after_failed_b('a', &base);
	older = facts_backup(facts, 'a', 40, 80, GBE_GRADE_GOOD);
	facts_reject(facts, base->name);
	plan = gbe_decide(facts);
	assert_rules(plan, "10a");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, older->name);

	/* "None left: the data stays, backed up as O's where that is still due." */
	facts_reject(facts, older->name);
	none = gbe_decide(facts);
	assert_rules(none, "10a");
	no_action(none, GBE_ACTION_RESTORE);
	assert_owner(&action(none, GBE_ACTION_BACKUP)->manifest->deployment, 'b');
	ck_assert_int_eq(action(none, GBE_ACTION_BACKUP)->on_failure, GBE_FAILURE_REPORT);
	assert_owner(&none->take_over->deployment, 'a');
}
END_TEST

/* The data had no known owner: B is its own first. An older system that was green gets it back. */
START_TEST(an_older_green_system_gets_the_chains_end)
{
	g_autoptr(GbeFacts) facts = facts_booted('a', 52);
	GbeManifest *adopted = facts_backup(facts, '-', 0, 80, GBE_GRADE_UNPROVEN);
	g_autoptr(GbePlan) plan = NULL, asked = NULL;

	(void)facts_record(facts, 'a', 30, 30, GBE_VERDICT_GREEN);
	(void)facts_trial(facts, 'b', 51, 92, adopted);
	facts_record(facts, 'b', 51, 92, GBE_VERDICT_RED)->trial = GBE_YES;
	plan = gbe_decide(facts);
	assert_rules(plan, "10a, then 10b");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, adopted->name);
	ck_assert_int_eq(action(plan, GBE_ACTION_DISPLACE)->manifest->grade, GBE_GRADE_BAD);
	assert_owner(&plan->take_over->deployment, 'a');
	ck_assert(!plan->drop_request);

	/* A waiting request that cannot be applied is also dropped by this start. */
	facts->request.kind = GBE_REQUEST_RESTORE;
	facts->request.name = g_strdup("nothing-of-that-name");
	facts->request.run = facts_run(50);
	asked = gbe_decide(facts);
	assert_rules(asked, "10a, then 10b");
	ck_assert(asked->drop_request);
	ck_assert_ptr_nonnull(asked->request_failed);
}
END_TEST

START_TEST(an_update_on_top_of_a_failed_one_starts_from_the_last_good_data)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) last_good = NULL, keep = NULL, refuse = NULL;
	GbeManifest *base;

	facts = after_failed_b('c', &base);
	(void)facts_list(facts, 'c', 3000);
	last_good = gbe_decide(facts);
	assert_rules(last_good, "12");
	ck_assert_str_eq(action(last_good, GBE_ACTION_RESTORE)->name, base->name);
	ck_assert_str_eq(gbe_take_over_base(last_good->take_over)->name, base->name);
	ck_assert_int_eq(last_good->take_over->trial.on, GBE_YES);
	no_action(last_good, GBE_ACTION_BACKUP);

	facts->config->restore.on_upgrade_from_failed = GBE_FAILED_KEEP;
	keep = gbe_decide(facts);
	assert_rules(keep, "11");
	no_action(keep, GBE_ACTION_RESTORE);
	assert_owner(&action(keep, GBE_ACTION_BACKUP)->manifest->deployment, 'b');

	facts->config->restore.on_upgrade_from_failed = GBE_FAILED_REFUSE;
	refuse = gbe_decide(facts);
	assert_rules(refuse, "12");
	ck_assert(refuse->hold);
	ck_assert_ptr_null(refuse->take_over);
	ck_assert_ptr_nonnull(strstr(action(refuse, GBE_ACTION_HOLD)->reason, "failed"));
}
END_TEST

START_TEST(a_deliberate_return_displaces_what_keeps_its_grade)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	const GbeAction *displaced;
	GbeManifest *candidate;

	facts = deliberate_return(&candidate);
	plan = gbe_decide(facts);
	assert_rules(plan, "10b");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, candidate->name);
	displaced = action(plan, GBE_ACTION_DISPLACE);
	assert_owner(&displaced->manifest->deployment, 'b');
	ck_assert_int_eq(displaced->manifest->grade, GBE_GRADE_GOOD);
	ck_assert_ptr_null(displaced->manifest->grade_reason);
	ck_assert_ptr_null(gbe_take_over_base(plan->take_over));
	ck_assert_int_eq(plan->take_over->trial.on, GBE_NO);
	ck_assert_uint_eq(plan->take_over->lineage.line, plan->take_over->sequence);
}
END_TEST

/* A's trial had ended by long use; the backup is from before that. */
START_TEST(an_older_state_does_not_begin_a_trial_again)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *candidate;

	facts = deliberate_return(&candidate);
	candidate->trial.on = GBE_YES;
	candidate->verdict = GBE_VERDICT_NONE;
	candidate->grade = GBE_GRADE_UNPROVEN;
	((GbeRunRecord *)facts->runs->pdata[0])->verdict = GBE_VERDICT_NONE;
	plan = gbe_decide(facts);
	assert_rules(plan, "10b");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, candidate->name);
	ck_assert_int_eq(plan->take_over->trial.on, GBE_NO);
}
END_TEST

/* Under the failed update a person went back to an older state of A's; A gets what it left. */
START_TEST(an_older_state_of_its_own_at_the_chains_end_gives_way)
{
	g_autoptr(GbeFacts) facts = facts_booted('a', 53);
	GbeManifest *old = facts_backup(facts, 'a', 40, 41, GBE_GRADE_GOOD);
	GbeManifest *left = facts_backup(facts, 'a', 50, 51, GBE_GRADE_GOOD);
	g_autoptr(GbePlan) plan = NULL;
	GbeRunRecord *run;

	(void)facts_record(facts, 'a', 40, 40, GBE_VERDICT_GREEN);
	run = facts_record(facts, 'a', 50, 50, GBE_VERDICT_GREEN);
	gbe_backup_ref_set(&run->left, gbe_manifest_ref(left));
	(void)facts_trial(facts, 'c', 52, 92, NULL);
	gbe_take_over_link(facts->owner,
			   &(GbeBackupRef){.name = old->name, .sequence = old->sequence},
			   &facts->owner->deployment, true);
	facts_record(facts, 'c', 52, 92, GBE_VERDICT_RED)->trial = GBE_YES;
	plan = gbe_decide(facts);
	assert_rules(plan, "10a, then 10b");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, left->name);
	ck_assert_int_eq(plan->take_over->trial.on, GBE_NO);
}
END_TEST

START_TEST(the_gate_takes_the_newest_that_this_etcd_reads)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL, hold = NULL;
	GbeManifest *candidate, *older;

	facts = deliberate_return(&candidate);
	facts->etcd_version = gbe_version_parse("3.4.30");
	facts->cluster_version = gbe_version_parse("3.5.0");
	candidate->etcd_version = g_strdup("3.5");
	older = facts_backup(facts, 'a', 40, 80, GBE_GRADE_GOOD);
	older->etcd_version = g_strdup("3.4");
	plan = gbe_decide(facts);
	assert_rules(plan, "10b, then 14");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, older->name);
	ck_assert_str_eq(plan->take_over->source, older->name);

	older->grade = GBE_GRADE_BAD;
	hold = gbe_decide(facts);
	assert_rules(hold, "10b, then 14");
	ck_assert(hold->hold);
	no_action(hold, GBE_ACTION_RESTORE);
	no_action(hold, GBE_ACTION_DISPLACE);
	ck_assert_ptr_null(hold->take_over);
	ck_assert_ptr_nonnull(
	    strstr(action(hold, GBE_ACTION_HOLD)->reason, "cannot read the data"));
	ck_assert_ptr_nonnull(
	    strstr(action(hold, GBE_ACTION_HOLD)->reason, "(etcd 3.4, the data is of 3.5)"));
}
END_TEST

START_TEST(an_update_without_the_program_is_undone_by_rename)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	const GbeAction *displaced;
	GbeManifest *closing;

	facts = written_by_others(&closing);
	plan = gbe_decide(facts);
	assert_rules(plan, "13");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, closing->name);
	displaced = action(plan, GBE_ACTION_DISPLACE);
	ck_assert_str_eq(displaced->name, "adopted-100");
	ck_assert_int_eq(displaced->manifest->grade, GBE_GRADE_BAD);
	ck_assert_ptr_null(displaced->manifest->deployment.id);
	ck_assert_uint_eq(plan->take_over->after, 0);
	ck_assert_int_eq(plan->take_over->trial.on, GBE_NO);
}
END_TEST

START_TEST(otherwise_it_is_adopted)
{
	for (guint i = 0; i < 6; i++) {
		g_autoptr(GbeFacts) facts = NULL;
		g_autoptr(GbePlan) plan = NULL;
		const GbeAction *backup;
		GbeManifest *closing;

		facts = written_by_others(&closing);
		if (i == 0)
			facts->config->restore.on_rollback = GBE_ROLLBACK_NEVER;
		if (i == 1)
			facts->last_write = facts->owner->closing.at + 3601;
		if (i == 2) {
			g_free(facts->owner->closing.next);
			facts->owner->closing.next = facts_id('a');
		}
		if (i == 3)
			closing->grade = GBE_GRADE_BAD;
		if (i == 4)
			g_clear_pointer(&facts->owner->closing.next, g_free);
		if (i == 5)
			facts->last_write = -1;
		plan = gbe_decide(facts);
		assert_rules(plan, "4");
		no_action(plan, GBE_ACTION_RESTORE);
		backup = action(plan, GBE_ACTION_BACKUP);
		ck_assert_str_eq(backup->name, "adopted-100");
		ck_assert_int_eq(backup->manifest->grade, GBE_GRADE_UNPROVEN);
		ck_assert_int_eq(backup->manifest->verdict, GBE_VERDICT_NONE);
		ck_assert_int_eq(backup->on_failure, GBE_FAILURE_HOLD);
		ck_assert_str_eq(plan->take_over->found.name, "adopted-100");
		ck_assert_uint_eq(plan->take_over->after, 0);
		/* A was green before. */
		ck_assert_int_eq(plan->take_over->trial.on, GBE_NO);
	}
}
END_TEST

START_TEST(data_of_other_writers_has_no_owner_when_set_aside)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL, gated = NULL;
	const GbeManifest *displaced;
	GbeManifest *closing;

	facts = written_by_others(&closing);
	facts->request.kind = GBE_REQUEST_LAST_GOOD;
	facts->request.from_cmdline = true;
	plan = gbe_decide(facts);
	assert_rules(plan, "2");
	displaced = action(plan, GBE_ACTION_DISPLACE)->manifest;
	ck_assert_str_eq(displaced->name, "adopted-100");
	ck_assert_ptr_null(displaced->deployment.id);
	ck_assert_int_eq(displaced->grade, GBE_GRADE_BAD);
	ck_assert(!displaced->set_aside);

	facts->request.kind = GBE_REQUEST_NONE;
	facts->last_write = facts->now + 100000;
	facts->etcd_version = gbe_version_parse("3.4.0");
	facts->cluster_version = gbe_version_parse("3.5.0");
	gated = gbe_decide(facts);
	assert_rules(gated, "4, then 14");
	ck_assert(gated->hold);
	no_action(gated, GBE_ACTION_DISPLACE);
}
END_TEST

/* "After 4: hold etcd back only." */
START_TEST(the_gate_restores_nothing_over_data_without_an_owner)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL, unknown = NULL;
	GbeManifest *closing;

	facts = written_by_others(&closing);
	facts_set_deployment(&facts->booted, 'b');
	(void)facts_record(facts, 'b', 30, 30, GBE_VERDICT_GREEN);
	facts_backup(facts, 'b', 30, 31, GBE_GRADE_GOOD)->etcd_version = g_strdup("3.4");
	facts->etcd_version = gbe_version_parse("3.4.0");
	facts->cluster_version = gbe_version_parse("3.5.0");
	plan = gbe_decide(facts);
	assert_rules(plan, "4, then 14");
	ck_assert(plan->hold);
	no_action(plan, GBE_ACTION_RESTORE);
	g_clear_pointer(&facts->owner, gbe_take_over_free);
	unknown = gbe_decide(facts);
	assert_rules(unknown, "4, then 14");
	ck_assert(unknown->hold);
	no_action(unknown, GBE_ACTION_RESTORE);
}
END_TEST

/* Issue 20, 13: an unlocked /usr, apply-live, or a mended version file in the middle of a run. */
START_TEST(the_gate_never_acts_within_a_run_and_holds_where_d_had_the_data)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) within = NULL, later = NULL;

	facts_backup(facts, 'a', 40, 80, GBE_GRADE_GOOD)->etcd_version = g_strdup("3.4");
	facts->etcd_version = gbe_version_parse("3.4.0");
	facts->storage_version = gbe_version_parse("3.6.0");
	g_free(facts->run);
	facts->run = facts_run(50);
	within = gbe_decide(facts);
	assert_rules(within, "5");
	ck_assert(!within->hold);
	no_action(within, GBE_ACTION_RESTORE);

	g_free(facts->run);
	facts->run = facts_run(51);
	later = gbe_decide(facts);
	assert_rules(later, "6, then 14");
	ck_assert(later->hold);
	no_action(later, GBE_ACTION_RESTORE);
}
END_TEST

/* Issue 20, 14. */
START_TEST(a_fault_within_the_run_is_mended)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	GbeManifest *candidate = facts_backup(facts, 'a', 40, 80, GBE_GRADE_GOOD);
	g_autoptr(GbePlan) plan = NULL, alive = NULL;

	g_free(facts->run);
	facts->run = facts_run(50);
	facts->sound = GBE_NO;
	facts->sound_why = g_strdup("the log ends in the middle");
	ck_assert(gbe_decide_needs_inside(facts));
	plan = gbe_decide(facts);
	assert_rules(plan, "5a");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, candidate->name);
	ck_assert_ptr_nonnull(plan->take_over);
	facts->sound = GBE_YES;
	alive = gbe_decide(facts);
	assert_rules(alive, "5");
}
END_TEST

/* Issue 20, 7: three updates on top of each other, none of them ever green, and then the pinned A. */
START_TEST(the_whole_chain_is_walked)
{
	g_autoptr(GbeFacts) facts = facts_booted('a', 54);
	GbeManifest *of_a = facts_backup(facts, 'a', 50, 91, GBE_GRADE_UNPROVEN);
	GbeManifest *of_b = facts_backup(facts, 'b', 51, 93, GBE_GRADE_UNPROVEN);
	GbeManifest *of_c = facts_backup(facts, 'c', 52, 95, GBE_GRADE_UNPROVEN);
	g_autoptr(GbePlan) plan = NULL;

	of_a->trial.on = GBE_YES;
	facts_record(facts, 'a', 50, 90, GBE_VERDICT_NONE)->trial = GBE_YES;
	facts_record(facts, 'b', 51, 92, GBE_VERDICT_NONE)->trial = GBE_YES;
	facts_record(facts, 'c', 52, 94, GBE_VERDICT_NONE)->trial = GBE_YES;
	facts_record(facts, 'd', 53, 96, GBE_VERDICT_NONE)->trial = GBE_YES;
	(void)facts_trial(facts, 'd', 53, 96, of_c);
	facts_link(facts->owner, of_b, false);
	facts_link(facts->owner, of_a, false);
	plan = gbe_decide(facts);
	assert_rules(plan, "10a");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, of_a->name);
	assert_owner(&action(plan, GBE_ACTION_DISPLACE)->manifest->deployment, 'd');
	/* It continues its own trial, which has no base. */
	ck_assert_int_eq(plan->take_over->trial.on, GBE_YES);
	ck_assert_ptr_null(gbe_take_over_base(plan->take_over));
}
END_TEST

/* Issue 20, 19: after the closing record a file next to etcd's own changed, or even etcd's own. */
START_TEST(a_failed_update_is_undone_also_after_other_writers)
{
	for (guint own = 0; own < 2; own++) {
		g_autoptr(GbeFacts) facts = NULL;
		g_autoptr(GbePlan) plan = NULL;
		GbeManifest *base;

		facts = after_failed_b('a', &base);
		facts->owner->closing.present = true;
		facts->owner->closing.used = 60;
		facts_set_fingerprint(&facts->owner->closing.fingerprint, own ? 77 : 1);
		g_free(facts->fingerprint.others);
		facts->fingerprint.others = g_strdup("another");
		plan = gbe_decide(facts);
		assert_rules(plan, "10a");
		ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, base->name);
	}
}
END_TEST

START_TEST(a_file_that_is_not_etcds_does_not_make_it_rule_13)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL;

	facts->owner->closing.present = true;
	facts_set_fingerprint(&facts->owner->closing.fingerprint, 1);
	g_free(facts->fingerprint.others);
	facts->fingerprint.others = g_strdup("another");
	plan = gbe_decide(facts);
	assert_rules(plan, "6");
	assert_owner(&action(plan, GBE_ACTION_BACKUP)->manifest->deployment, 'a');
}
END_TEST

/* Issue 20, 5: a manual backup equals what A left, so that no automatic one was taken. */
START_TEST(a_manual_backup_of_what_d_left_is_its_candidate)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL, upgrade = NULL;
	g_autoptr(GbeFacts) before = after_green_a('b');
	GbeManifest *older, *manual;

	facts = deliberate_return(&older);
	manual = facts_backup(facts, 'a', 50, 94, GBE_GRADE_GOOD);
	facts_manual(manual, "mine");
	gbe_backup_ref_set(&((GbeRunRecord *)facts->runs->pdata[0])->left,
			   (GbeBackupRef){.name = (char *)"mine", .sequence = 94});
	plan = gbe_decide(facts);
	assert_rules(plan, "10b");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, "mine");

	/* That it is what A left is what the update's take-over says. */
	manual = facts_backup(before, 'a', 50, 94, GBE_GRADE_GOOD);
	facts_manual(manual, "mine");
	facts_set_fingerprint(&manual->fingerprint, 1);
	upgrade = gbe_decide(before);
	assert_rules(upgrade, "11");
	no_action(upgrade, GBE_ACTION_BACKUP);
	ck_assert_str_eq(upgrade->take_over->found.name, "mine");
	ck_assert_str_eq(gbe_take_over_base(upgrade->take_over)->name, "mine");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-decide-returns");
	TCase *tcase = tcase_create("plans");

	tcase_add_test(tcase, a_retry_displaces_a_bad_backup_and_begins_a_line);
	tcase_add_test(tcase, after_a_failed_update_its_base_continues_as_before);
	tcase_add_test(tcase, a_base_that_comes_back_in_its_own_run_takes_over);
	tcase_add_test(tcase, p_that_does_not_validate_gives_way_to_the_candidate);
	tcase_add_test(tcase, an_older_green_system_gets_the_chains_end);
	tcase_add_test(tcase, an_update_on_top_of_a_failed_one_starts_from_the_last_good_data);
	tcase_add_test(tcase, a_deliberate_return_displaces_what_keeps_its_grade);
	tcase_add_test(tcase, an_older_state_does_not_begin_a_trial_again);
	tcase_add_test(tcase, an_older_state_of_its_own_at_the_chains_end_gives_way);
	tcase_add_test(tcase, the_gate_takes_the_newest_that_this_etcd_reads);
	tcase_add_test(tcase, an_update_without_the_program_is_undone_by_rename);
	tcase_add_test(tcase, otherwise_it_is_adopted);
	tcase_add_test(tcase, data_of_other_writers_has_no_owner_when_set_aside);
	tcase_add_test(tcase, the_gate_restores_nothing_over_data_without_an_owner);
	tcase_add_test(tcase, the_gate_never_acts_within_a_run_and_holds_where_d_had_the_data);
	tcase_add_test(tcase, a_fault_within_the_run_is_mended);
	tcase_add_test(tcase, the_whole_chain_is_walked);
	tcase_add_test(tcase, a_failed_update_is_undone_also_after_other_writers);
	tcase_add_test(tcase, a_file_that_is_not_etcds_does_not_make_it_rule_13);
	tcase_add_test(tcase, a_manual_backup_of_what_d_left_is_its_candidate);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
