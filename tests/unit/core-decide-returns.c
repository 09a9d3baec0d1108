/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the plans carry that restore something on their own: retries, returns, the gate, and data that
 * somebody without this program has written.
 */
#include "lib/plan.h"
#include "lib/unit.h"

START_TEST(a_retry_displaces_a_bad_backup_and_begins_a_line)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	const GbeAction *displaced;
	GbeManifest *previous;
	GbeAncestor *parent;

	facts = after_failed_b('b', &previous);
	facts->stamp->trial.used = 1000;
	plan = gbe_decide(facts);
	assert_rules(plan, "9");
	no_action(plan, GBE_ACTION_BACKUP);
	no_action(plan, GBE_ACTION_STAMP);
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, previous->name);

	displaced = action(plan, GBE_ACTION_DISPLACE);
	assert_owner(&displaced->manifest->deployment, 'b');
	ck_assert_int_eq(displaced->manifest->grade, GBE_GRADE_BAD);
	ck_assert_ptr_nonnull(displaced->manifest->grade_reason);
	ck_assert_int_eq(displaced->manifest->origin, GBE_ORIGIN_DISPLACED);
	ck_assert_int_eq(displaced->manifest->method, GBE_METHOD_RENAME);
	ck_assert(!displaced->manifest->set_aside);
	ck_assert_str_eq(displaced->name, displaced->manifest->name);

	assert_owner(&plan->stamp->deployment, 'b');
	ck_assert_str_eq(plan->stamp->previous, previous->name);
	ck_assert_str_eq(plan->stamp->restored_from, previous->name);
	ck_assert_int_eq(plan->stamp->trial.on, GBE_YES);
	ck_assert_int_eq(plan->stamp->trial.used, 0);
	ck_assert(plan->stamp->trial.judged);
	ck_assert_uint_eq(plan->stamp->lineage.line, plan->stamp->sequence);
	ck_assert_uint_eq(plan->stamp->lineage.ancestors->len, 1);
	parent = &g_array_index(plan->stamp->lineage.ancestors, GbeAncestor, 0);
	ck_assert_uint_eq(parent->line, previous->lineage.line);
	ck_assert_uint_eq(parent->sequence, previous->sequence);
}
END_TEST

START_TEST(after_a_failed_update_its_base_goes_on_as_it_was)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *previous;

	facts = after_failed_b('a', &previous);
	previous->previous = g_strdup("what-a-began-with");
	plan = gbe_decide(facts);
	assert_rules(plan, "10a, then 6");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, previous->name);
	ck_assert_int_eq(action(plan, GBE_ACTION_DISPLACE)->manifest->grade, GBE_GRADE_BAD);
	assert_owner(&action(plan, GBE_ACTION_DISPLACE)->manifest->deployment, 'b');
	no_action(plan, GBE_ACTION_BACKUP);
	assert_owner(&plan->stamp->deployment, 'a');
	ck_assert_str_eq(plan->stamp->previous, "what-a-began-with");
	ck_assert_int_eq(plan->stamp->trial.on, GBE_NO);
	ck_assert(!plan->hold);
}
END_TEST

/* Two deployments in what counts as one run: a container whose boot id does not change. */
START_TEST(a_base_that_comes_back_in_its_own_run_is_restored_with_a_stamp)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *previous;

	facts = after_failed_b('a', &previous);
	g_free(facts->run);
	facts->run = g_strdup(previous->run);
	plan = gbe_decide(facts);
	assert_rules(plan, "10a, then 5");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, previous->name);
	ck_assert_ptr_nonnull(plan->stamp);
	assert_owner(&plan->stamp->deployment, 'a');
	ck_assert_str_eq(plan->stamp->restored_from, previous->name);
}
END_TEST

START_TEST(p_that_does_not_validate_gives_way_to_the_candidate)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL, none = NULL;
	GbeManifest *previous, *older;

	facts = after_failed_b('a', &previous);
	older = facts_backup(facts, 'a', 40, 80, GBE_GRADE_GOOD);
	facts_reject(facts, previous->name);
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
	assert_owner(&none->stamp->deployment, 'a');
}
END_TEST

START_TEST(p_of_nobody_is_what_the_base_goes_on_with)
{
	g_autoptr(GbeFacts) facts = facts_booted('a', 52);
	GbeManifest *adopted = facts_backup(facts, '-', 0, 80, GBE_GRADE_UNPROVEN);
	g_autoptr(GbePlan) plan = NULL;

	(void)facts_record(facts, 'a', 30, 30, GBE_VERDICT_NONE);
	(void)facts_trial(facts, 'b', 51, 92, adopted->name);
	facts_record(facts, 'b', 51, 92, GBE_VERDICT_RED)->trial = GBE_YES;
	plan = gbe_decide(facts);
	assert_rules(plan, "10a");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, adopted->name);
	ck_assert_str_eq(plan->stamp->previous, adopted->name);
	assert_owner(&plan->stamp->deployment, 'a');
}
END_TEST

START_TEST(an_update_on_top_of_a_failed_one_starts_from_the_last_good_data)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) last_good = NULL, keep = NULL, refuse = NULL;
	GbeManifest *previous;

	facts = after_failed_b('c', &previous);
	(void)facts_list(facts, 'c', 3000);
	last_good = gbe_decide(facts);
	assert_rules(last_good, "12, then 11");
	ck_assert_str_eq(action(last_good, GBE_ACTION_RESTORE)->name, previous->name);
	ck_assert_str_eq(last_good->stamp->previous, previous->name);
	ck_assert_int_eq(last_good->stamp->trial.on, GBE_YES);
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
	ck_assert_ptr_null(refuse->stamp);
	ck_assert_ptr_nonnull(strstr(action(refuse, GBE_ACTION_HOLD)->reason, "greenboot-etcd "));
}
END_TEST

START_TEST(a_deliberate_return_displaces_what_keeps_its_grade)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	const GbeAction *displaced;
	GbeManifest *candidate;

	facts = deliberate_return(&candidate);
	candidate->previous = g_strdup("what-a-began-with");
	plan = gbe_decide(facts);
	assert_rules(plan, "10b");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, candidate->name);
	displaced = action(plan, GBE_ACTION_DISPLACE);
	assert_owner(&displaced->manifest->deployment, 'b');
	ck_assert_int_eq(displaced->manifest->grade, GBE_GRADE_GOOD);
	ck_assert_ptr_null(displaced->manifest->grade_reason);
	ck_assert_str_eq(plan->stamp->previous, "what-a-began-with");
	ck_assert_int_eq(plan->stamp->trial.on, GBE_NO);
	ck_assert_uint_eq(plan->stamp->lineage.line, plan->stamp->sequence);
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
	ck_assert_str_eq(plan->stamp->restored_from, older->name);

	older->grade = GBE_GRADE_BAD;
	hold = gbe_decide(facts);
	assert_rules(hold, "10b, then 14");
	ck_assert(hold->hold);
	no_action(hold, GBE_ACTION_RESTORE);
	no_action(hold, GBE_ACTION_DISPLACE);
	ck_assert_ptr_null(hold->stamp);
	ck_assert_ptr_nonnull(strstr(action(hold, GBE_ACTION_HOLD)->reason, "greenboot-etcd "));
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
	ck_assert_str_eq(plan->stamp->previous, "what-a-began-with");
	ck_assert_int_eq(plan->stamp->trial.on, GBE_NO);
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
			facts->last_write = facts->stamp->stamped + 100 + 3601;
		if (i == 2) {
			g_free(facts->stamp->closing.next);
			facts->stamp->closing.next = facts_id('a');
		}
		if (i == 3)
			closing->grade = GBE_GRADE_BAD;
		if (i == 4)
			g_clear_pointer(&facts->stamp->closing.next, g_free);
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
		ck_assert_str_eq(plan->stamp->previous, "adopted-100");
		/* A was green before. */
		ck_assert_int_eq(plan->stamp->trial.on, GBE_NO);
	}
}
END_TEST

START_TEST(what_others_wrote_is_nobodys_whatever_displaces_it)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL, gated = NULL;
	const GbeManifest *displaced;
	GbeManifest *closing;

	facts = written_by_others(&closing);
	facts->request.kind = GBE_REQUEST_LAST_GOOD;
	facts->request.from_cmdline = TRUE;
	plan = gbe_decide(facts);
	assert_rules(plan, "2");
	displaced = action(plan, GBE_ACTION_DISPLACE)->manifest;
	ck_assert_str_eq(displaced->name, "adopted-100");
	ck_assert_ptr_null(displaced->deployment.id);
	ck_assert_int_eq(displaced->grade, GBE_GRADE_UNPROVEN);
	ck_assert(displaced->set_aside);

	facts->request.kind = GBE_REQUEST_NONE;
	facts->last_write = facts->now + 100000;
	facts->etcd_version = gbe_version_parse("3.4.0");
	facts->cluster_version = gbe_version_parse("3.5.0");
	gated = gbe_decide(facts);
	assert_rules(gated, "4, then 14");
	displaced = action(gated, GBE_ACTION_DISPLACE)->manifest;
	ck_assert_str_eq(displaced->name, "adopted-100");
	ck_assert_int_eq(displaced->grade, GBE_GRADE_UNPROVEN);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-decide-returns");
	TCase *tcase = tcase_create("plans");

	tcase_add_test(tcase, a_retry_displaces_a_bad_backup_and_begins_a_line);
	tcase_add_test(tcase, after_a_failed_update_its_base_goes_on_as_it_was);
	tcase_add_test(tcase, a_base_that_comes_back_in_its_own_run_is_restored_with_a_stamp);
	tcase_add_test(tcase, p_that_does_not_validate_gives_way_to_the_candidate);
	tcase_add_test(tcase, p_of_nobody_is_what_the_base_goes_on_with);
	tcase_add_test(tcase, an_update_on_top_of_a_failed_one_starts_from_the_last_good_data);
	tcase_add_test(tcase, a_deliberate_return_displaces_what_keeps_its_grade);
	tcase_add_test(tcase, the_gate_takes_the_newest_that_this_etcd_reads);
	tcase_add_test(tcase, an_update_without_the_program_is_undone_by_rename);
	tcase_add_test(tcase, otherwise_it_is_adopted);
	tcase_add_test(tcase, what_others_wrote_is_nobodys_whatever_displaces_it);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
