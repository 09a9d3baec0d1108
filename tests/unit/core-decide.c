/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plans of upgrades and of plain reboots: take-overs, manifests, names, grades, and the meaning of a failure of
 * each action.
 */
#include <stdbool.h>

#include "lib/plan.h"
#include "lib/unit.h"

START_TEST(an_upgrade_backs_up_and_begins_a_trial)
{
	g_autoptr(GbeFacts) facts = after_green_a('b');
	g_autoptr(GbePlan) plan = NULL;
	const GbeAction *backup;

	facts->owner->lineage.line = 7;
	facts_link(facts->owner, facts_backup(facts, '-', 0, 10, GBE_GRADE_UNPROVEN), false);
	plan = gbe_decide(facts);
	assert_rules(plan, "11");
	no_action(plan, GBE_ACTION_RESTORE);

	backup = action(plan, GBE_ACTION_BACKUP);
	ck_assert_str_eq(backup->name, backup->manifest->name);
	assert_owner(&backup->manifest->deployment, 'a');
	ck_assert_str_eq(backup->manifest->run, facts->owner->run);
	ck_assert_uint_eq(backup->manifest->sequence, 100);
	ck_assert_uint_eq(backup->manifest->lineage.line, 7);
	ck_assert_int_eq(backup->manifest->grade, GBE_GRADE_GOOD);
	ck_assert_int_eq(backup->manifest->verdict, GBE_VERDICT_GREEN);
	ck_assert_int_eq(backup->manifest->health, GBE_HEALTH_HEALTHY);
	ck_assert_int_eq(backup->manifest->origin, GBE_ORIGIN_AUTOMATIC);
	ck_assert_int_eq(backup->manifest->trial.on, GBE_NO);
	ck_assert_int_eq(backup->manifest->trial.used, 0);
	ck_assert_str_eq(backup->manifest->data_dir, FACTS_DIR);
	ck_assert(gbe_fingerprint_equal(&backup->manifest->fingerprint, &facts->fingerprint));

	assert_owner(&plan->take_over->deployment, 'b');
	ck_assert_str_eq(plan->take_over->run, facts->run);
	ck_assert_uint_eq(plan->take_over->sequence, 101);
	ck_assert_uint_eq(plan->last_sequence, 101);
	/* The backup of A's data is the base; A was on no trial, so that the chain ends there. */
	ck_assert_uint_eq(plan->take_over->chain->len, 1);
	ck_assert_str_eq(gbe_take_over_base(plan->take_over)->name, backup->name);
	ck_assert_uint_eq(gbe_take_over_base(plan->take_over)->sequence, 100);
	assert_owner(&((GbeLink *)plan->take_over->chain->pdata[0])->owner, 'a');
	ck_assert_uint_eq(plan->take_over->after, 90);
	ck_assert_int_eq(plan->take_over->after_trial, GBE_NO);
	ck_assert_str_eq(plan->take_over->found.name, backup->name);
	ck_assert_ptr_null(plan->take_over->source);
	/* The data continues its line. */
	ck_assert_uint_eq(plan->take_over->lineage.line, 7);
	ck_assert_int_eq(plan->take_over->trial.on, GBE_YES);
	ck_assert_uint_eq(plan->take_over->trial.since, 101);
	ck_assert_int_eq(plan->take_over->trial.used, 0);
	ck_assert(!plan->take_over->trial.judged);
	ck_assert_int_eq(plan->take_over->trial.judges, GBE_YES);
	ck_assert_int_eq(plan->take_over->was_default, GBE_YES);
	ck_assert_int_eq(plan->take_over->at, facts->now);
	ck_assert(!plan->take_over->closing.present);
	ck_assert(!plan->take_over->asked);
	ck_assert_ptr_null(plan->instead);
}
END_TEST

START_TEST(an_equal_backup_of_the_owner_serves)
{
	g_autoptr(GbeFacts) facts = after_green_a('b');
	GbeManifest *closing = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	g_autoptr(GbePlan) plan = NULL;

	facts_set_fingerprint(&closing->fingerprint, 1);
	plan = gbe_decide(facts);
	assert_rules(plan, "11");
	no_action(plan, GBE_ACTION_BACKUP);
	no_action(plan, GBE_ACTION_GRADE);
	ck_assert_str_eq(action(plan, GBE_ACTION_KEEP)->name, closing->name);
	ck_assert_str_eq(gbe_take_over_base(plan->take_over)->name, closing->name);
	ck_assert_uint_eq(gbe_take_over_base(plan->take_over)->sequence, 91);
	ck_assert_uint_eq(plan->take_over->sequence, 100);
}
END_TEST

START_TEST(an_equal_backup_that_does_not_serve)
{
	for (guint i = 0; i < 5; i++) {
		g_autoptr(GbeFacts) facts = after_green_a('b');
		GbeManifest *closing =
		    facts_backup(facts, i == 0 ? 'c' : 'a', 50, 91, GBE_GRADE_GOOD);
		g_autoptr(GbePlan) plan = NULL;

		facts_set_fingerprint(&closing->fingerprint, 1);
		closing->consumed = i == 1;
		if (i == 2)
			closing->grade = GBE_GRADE_BAD;
		if (i == 3) {
			g_free(closing->data_dir);
			closing->data_dir = g_strdup("/elsewhere");
		}
		if (i == 4)
			facts->fingerprint.present = false;
		plan = gbe_decide(facts);
		ck_assert_str_ne(action(plan, GBE_ACTION_BACKUP)->name, closing->name);
	}
}
END_TEST

/* finalize took it before the verdict was there. */
START_TEST(a_verdict_that_came_later_goes_into_the_equal_backup)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	GbeManifest *closing = facts_backup(facts, 'a', 50, 91, GBE_GRADE_UNPROVEN);
	g_autoptr(GbePlan) plan = NULL, foreign = NULL, bad = NULL;
	const GbeAction *grade;

	facts_set_fingerprint(&closing->fingerprint, 1);
	plan = gbe_decide(facts);
	assert_rules(plan, "6");
	grade = action(plan, GBE_ACTION_GRADE);
	ck_assert_str_eq(grade->name, closing->name);
	ck_assert_int_eq(grade->manifest->grade, GBE_GRADE_GOOD);
	ck_assert_int_eq(grade->manifest->verdict, GBE_VERDICT_GREEN);
	ck_assert_uint_eq(grade->manifest->sequence, closing->sequence);

	closing->grade = GBE_GRADE_UNPROVEN;
	closing->verified = GBE_VERIFIED_NO;
	bad = gbe_decide(facts); /* not verified: it does not serve */
	no_action(bad, GBE_ACTION_GRADE);
	(void)action(bad, GBE_ACTION_BACKUP);

	closing->verified = GBE_VERIFIED_SANITY;
	g_free(closing->run);
	closing->run = facts_run(49); /* of an earlier run: no write since, no verdict on it */
	foreign = gbe_decide(facts);
	no_action(foreign, GBE_ACTION_GRADE);
}
END_TEST

START_TEST(who_was_green_before_is_on_no_trial_again)
{
	g_autoptr(GbeFacts) facts = after_green_a('b');
	g_autoptr(GbePlan) plan = NULL;

	(void)facts_record(facts, 'b', 30, 30, GBE_VERDICT_GREEN);
	facts->owner->was_default = GBE_NO;
	plan = gbe_decide(facts);
	assert_rules(plan, "10b");
	ck_assert_int_eq(plan->take_over->trial.on, GBE_NO);
	/* Without a trial there is nothing to go back to. The state that A left is known anyway. */
	ck_assert_ptr_null(gbe_take_over_base(plan->take_over));
	ck_assert_str_eq(plan->take_over->found.name, action(plan, GBE_ACTION_BACKUP)->name);
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->on_failure, GBE_FAILURE_REPORT);
}
END_TEST

START_TEST(damaged_data_is_kept_as_bad_and_still_is_p)
{
	g_autoptr(GbeFacts) facts = after_green_a('b');
	g_autoptr(GbePlan) plan = NULL;
	const GbeAction *backup;

	facts->sound = GBE_NO;
	facts->sound_why = g_strdup("page 7 of db is torn");
	plan = gbe_decide(facts);
	assert_rules(plan, "11");
	backup = action(plan, GBE_ACTION_BACKUP);
	ck_assert_int_eq(backup->manifest->grade, GBE_GRADE_BAD);
	ck_assert_str_eq(backup->manifest->grade_reason, "page 7 of db is torn");
	ck_assert_str_eq(gbe_take_over_base(plan->take_over)->name, backup->name);
}
END_TEST

/* Damage that etcd survives does not cause a restore, and does not make a backup good. */
START_TEST(a_fault_that_etcd_survives_makes_a_bad_backup_and_nothing_else)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL;
	const GbeAction *backup;

	facts->damage = g_strdup("the term is ahead");
	plan = gbe_decide(facts);
	assert_rules(plan, "6");
	backup = action(plan, GBE_ACTION_BACKUP);
	ck_assert_int_eq(backup->manifest->grade, GBE_GRADE_BAD);
	ck_assert_str_eq(backup->manifest->grade_reason, "the term is ahead");
}
END_TEST

START_TEST(a_backup_of_sound_data_says_so_and_what_is_inside)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL;
	const GbeManifest *manifest;

	facts->sound = GBE_YES;
	facts->consistent_index = 4711;
	facts->revision = 4700;
	facts->storage_version = gbe_version_parse("3.6.0");
	facts->cluster_version = gbe_version_parse("3.7.1");
	plan = gbe_decide(facts);
	manifest = action(plan, GBE_ACTION_BACKUP)->manifest;
	ck_assert_int_eq(manifest->grade, GBE_GRADE_GOOD);
	ck_assert_int_eq(manifest->verified, GBE_VERIFIED_SANITY);
	ck_assert_int_eq(manifest->consistent_index, 4711);
	ck_assert_int_eq(manifest->revision, 4700);
	ck_assert_str_eq(manifest->storage_version, "3.6");
	ck_assert_str_eq(manifest->etcd_version, "3.7");
}
END_TEST

/* on-upgrade-failure: auto refuses where greenboot can bring the old system back. */
START_TEST(a_missing_backup_holds_or_is_said)
{
	static const struct {
		GbeOnUpgradeFailure configured;
		GbeTri can_roll_back;
		GbeOnFailure expected;
	} cases[] = {
	    {GBE_UPGRADE_FAIL_AUTO, GBE_YES, GBE_FAILURE_HOLD},
	    {GBE_UPGRADE_FAIL_AUTO, GBE_NO, GBE_FAILURE_REPORT},
	    {GBE_UPGRADE_FAIL_AUTO, GBE_UNKNOWN, GBE_FAILURE_HOLD},
	    {GBE_UPGRADE_FAIL_REFUSE, GBE_NO, GBE_FAILURE_HOLD},
	    {GBE_UPGRADE_FAIL_REFUSE, GBE_UNKNOWN, GBE_FAILURE_HOLD},
	    {GBE_UPGRADE_FAIL_CONTINUE, GBE_YES, GBE_FAILURE_REPORT},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = after_green_a('b');
		g_autoptr(GbeFacts) reboot = after_green_a('a');
		g_autoptr(GbePlan) upgrade = NULL, plain = NULL;

		facts->config->backup.on_upgrade_failure = cases[i].configured;
		facts->can_roll_back = cases[i].can_roll_back;
		upgrade = gbe_decide(facts);
		ck_assert_int_eq(action(upgrade, GBE_ACTION_BACKUP)->on_failure, cases[i].expected);
		/* Without a take-over the next deployment has no past. */
		ck_assert_int_eq(action(upgrade, GBE_ACTION_TAKE_OVER)->on_failure,
				 cases[i].expected);

		reboot->config->backup.on_upgrade_failure = cases[i].configured;
		reboot->can_roll_back = cases[i].can_roll_back;
		plain = gbe_decide(reboot);
		ck_assert_int_eq(action(plain, GBE_ACTION_BACKUP)->on_failure, GBE_FAILURE_REPORT);
		ck_assert_int_eq(action(plain, GBE_ACTION_TAKE_OVER)->on_failure,
				 GBE_FAILURE_REPORT);
	}
}
END_TEST

START_TEST(at_boot_says_when_a_plain_reboot_is_backed_up)
{
	static const struct {
		GbeWhen at_boot;
		GbeTri clones;
		bool backup, cow_only;
	} cases[] = {
	    {GBE_WHEN_COW_ONLY, GBE_YES, true, true},  {GBE_WHEN_COW_ONLY, GBE_UNKNOWN, true, true},
	    {GBE_WHEN_COW_ONLY, GBE_NO, false, false}, {GBE_WHEN_ALWAYS, GBE_NO, true, false},
	    {GBE_WHEN_ALWAYS, GBE_YES, true, false},   {GBE_WHEN_NEVER, GBE_YES, false, false},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = after_green_a('a');
		g_autoptr(GbeFacts) upgraded = after_green_a('b');
		g_autoptr(GbePlan) plan = NULL, upgrade = NULL;

		facts->config->backup.at_boot = cases[i].at_boot;
		facts->clones = cases[i].clones;
		plan = gbe_decide(facts);
		assert_rules(plan, "6");
		if (cases[i].backup)
			ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->cow_only,
					 cases[i].cow_only);
		else
			no_action(plan, GBE_ACTION_BACKUP);

		/* "An upgrade's backup is always taken." */
		upgraded->config->backup.at_boot = cases[i].at_boot;
		upgraded->clones = cases[i].clones;
		upgrade = gbe_decide(upgraded);
		ck_assert(!action(upgrade, GBE_ACTION_BACKUP)->cow_only);
	}
}
END_TEST

/* etcd of an update had the data while this program was off: no file system, and no wish, leaves out the backup. */
START_TEST(a_late_take_over_is_backed_up)
{
	for (guint another = 0; another < 2; another++) {
		g_autoptr(GbeFacts) facts = after_green_a('a');
		g_autoptr(GbePlan) plan = NULL;

		facts->clones = GBE_NO;
		facts->owner->late = true;
		facts->owner->lineage.truncated = another != 0;
		plan = gbe_decide(facts);
		assert_rules(plan, "6");
		ck_assert_int_eq(gbe_plan_find(plan, GBE_ACTION_BACKUP) != NULL, another != 0);
		ck_assert(!plan->hold);
	}
}
END_TEST

START_TEST(a_plain_reboot_continues_its_trial_and_chain)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *base;

	facts = after_failed_b('b', &base);
	((GbeRunRecord *)facts->runs->pdata[1])->verdict = GBE_VERDICT_NONE;
	facts->owner->trial.used = 1000;
	facts->owner->trial.since = 70;
	facts_link(facts->owner, facts_backup(facts, '-', 0, 10, GBE_GRADE_UNPROVEN), true);
	facts->owner->closing.present = true;
	facts->owner->closing.used = 600;
	facts_set_fingerprint(&facts->owner->closing.fingerprint, 1);
	plan = gbe_decide(facts);
	assert_rules(plan, "6");
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->manifest->grade, GBE_GRADE_UNPROVEN);
	ck_assert_uint_eq(plan->take_over->chain->len, 2);
	ck_assert_str_eq(gbe_take_over_base(plan->take_over)->name, base->name);
	ck_assert(((GbeLink *)plan->take_over->chain->pdata[1])->failed);
	ck_assert_int_eq(plan->take_over->trial.on, GBE_YES);
	ck_assert_uint_eq(plan->take_over->trial.since, 70);
	ck_assert_int_eq(plan->take_over->trial.used, 1600);
	ck_assert_uint_eq(plan->take_over->lineage.line, 1);
}
END_TEST

START_TEST(the_same_run_only_ends_the_closing_record)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL, again = NULL;

	g_free(facts->run);
	facts->run = facts_run(50);
	facts->owner->closing.present = true;
	facts->owner->closing.used = 600;
	facts_set_fingerprint(&facts->owner->closing.fingerprint, 1);
	plan = gbe_decide(facts);
	assert_rules(plan, "5");
	ck_assert(plan->opened);
	ck_assert_ptr_null(plan->take_over);
	ck_assert(gbe_plan_is_idle(plan));
	ck_assert_ptr_null(action(plan, GBE_ACTION_KEEP)->name);
	ck_assert_ptr_nonnull(action(plan, GBE_ACTION_KEEP)->reason);

	facts->owner->closing.present = false;
	again = gbe_decide(facts);
	ck_assert(!again->opened);
}
END_TEST

START_TEST(a_newer_etcd_in_the_same_run_is_backed_up_first)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL;

	g_free(facts->run);
	facts->run = facts_run(50);
	facts->owner->etcd_version = g_strdup("3.5.9");
	facts->etcd_version = gbe_version_parse("3.6.0");
	facts->config->backup.on_upgrade_failure = GBE_UPGRADE_FAIL_REFUSE;
	plan = gbe_decide(facts);
	assert_rules(plan, "5");
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->on_failure, GBE_FAILURE_HOLD);
	ck_assert_str_eq(plan->take_over->etcd_version, "3.6");
}
END_TEST

START_TEST(an_etcd_of_a_container_gets_a_clone_first)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL, without = NULL;

	g_free(facts->run);
	facts->run = facts_run(50);
	facts->etcd_here = GBE_NO;
	facts->clones = GBE_YES;
	plan = gbe_decide(facts);
	assert_rules(plan, "5");
	ck_assert(action(plan, GBE_ACTION_BACKUP)->cow_only);
	ck_assert_ptr_null(plan->take_over);

	facts->clones = GBE_NO;
	without = gbe_decide(facts);
	assert_rules(without, "5");
	ck_assert(gbe_plan_is_idle(without));
}
END_TEST

START_TEST(a_taken_name_gets_an_ordinal)
{
	g_autoptr(GbeFacts) facts = after_green_a('b');
	GbeManifest *first = facts_backup(facts, 'a', 50, 91, GBE_GRADE_UNPROVEN);
	g_autofree char *second = g_strdup_printf("%s~2", first->name);
	g_autofree char *third = g_strdup_printf("%s~3", first->name);
	g_autoptr(GbePlan) plan = gbe_decide(facts), next = NULL;

	ck_assert_str_eq(action(plan, GBE_ACTION_BACKUP)->name, second);
	/* Any file may have the name. */
	facts->taken = g_hash_table_new(g_str_hash, g_str_equal);
	g_hash_table_add(facts->taken, second);
	next = gbe_decide(facts);
	ck_assert_str_eq(action(next, GBE_ACTION_BACKUP)->name, third);
}
END_TEST

START_TEST(data_without_an_owner_is_adopted)
{
	static const struct {
		GbeTri older; /* ostree lists an older one */
		GbeOnFailure expected;
	} cases[] = {{GBE_YES, GBE_FAILURE_HOLD}, {GBE_NO, GBE_FAILURE_REPORT}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = facts_booted('b', 51);
		g_autoptr(GbePlan) plan = NULL;
		const GbeAction *backup;

		(void)facts_list(facts, 'b', 2000);
		(void)facts_list(facts, 'a', cases[i].older == GBE_YES ? 1000 : 3000);
		plan = gbe_decide(facts);
		assert_rules(plan, "4");
		backup = action(plan, GBE_ACTION_BACKUP);
		ck_assert_str_eq(backup->name, "adopted-100");
		ck_assert_ptr_null(backup->manifest->deployment.id);
		ck_assert_int_eq(backup->manifest->grade, GBE_GRADE_UNPROVEN);
		ck_assert_uint_eq(backup->manifest->lineage.line, 100);
		ck_assert_int_eq(backup->manifest->trial.used, -1);
		ck_assert_int_eq(backup->on_failure, cases[i].expected);
		ck_assert_str_eq(gbe_take_over_base(plan->take_over)->name, "adopted-100");
		ck_assert_int_eq(plan->take_over->trial.on, GBE_YES);
		ck_assert_uint_eq(plan->take_over->after, 0);
		ck_assert(plan->take_over->lineage.truncated);
		ck_assert_uint_eq(plan->take_over->lineage.line, plan->take_over->sequence);
	}
}
END_TEST

START_TEST(a_grade_is_of_verdict_health_and_verification)
{
	for (int verdict = GBE_VERDICT_NONE; verdict <= GBE_VERDICT_RED; verdict++)
		for (int health = GBE_HEALTH_NOT_ASKED; health <= GBE_HEALTH_CANNOT_TELL; health++)
			for (int verified = GBE_VERIFIED_NO; verified <= GBE_VERIFIED_FULL;
			     verified++) {
				bool good = verdict == GBE_VERDICT_GREEN &&
					    health == GBE_HEALTH_HEALTHY &&
					    verified != GBE_VERIFIED_NO;

				ck_assert_int_eq(gbe_decide_grade((GbeVerdict)verdict,
								  (GbeHealth)health,
								  (GbeVerified)verified),
						 good ? GBE_GRADE_GOOD : GBE_GRADE_UNPROVEN);
			}
}
END_TEST

START_TEST(without_verification_nothing_is_good)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL;

	facts->config->backup.verify = GBE_BACKUP_VERIFY_NONE;
	plan = gbe_decide(facts);
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->manifest->verified, GBE_VERIFIED_NO);
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->manifest->grade, GBE_GRADE_UNPROVEN);
}
END_TEST

/* The judged run is 50 of A, from sequence 90. */
START_TEST(a_later_verdict_changes_the_backups_of_its_run_alone)
{
	enum { OWN, SET_ASIDE, EARLIER, OTHER_RUN, OTHER_DEPLOYMENT, BAD, LIVE, CASES };

	for (int i = 0; i < CASES; i++) {
		g_autoptr(GbeFacts) facts = after_green_a('a');
		GbeRunRecord *run = facts->runs->pdata[0];
		GbeManifest *backup =
		    facts_backup(facts, i == OTHER_DEPLOYMENT ? 'c' : 'a', i == OTHER_RUN ? 49 : 50,
				 i == EARLIER ? 89 : 90, GBE_GRADE_UNPROVEN);
		bool changes = i == OWN || i == BAD || i == LIVE;

		backup->set_aside = i == SET_ASIDE;
		backup->live = i == LIVE;
		if (i == BAD)
			backup->grade = GBE_GRADE_BAD;
		ck_assert_int_eq(gbe_decide_regrade(run, backup), changes);
		ck_assert_int_eq(backup->verdict, changes ? GBE_VERDICT_GREEN : GBE_VERDICT_NONE);
		ck_assert_int_eq(backup->health,
				 changes ? GBE_HEALTH_HEALTHY : GBE_HEALTH_NOT_ASKED);
		ck_assert_int_eq(backup->grade, i == OWN   ? GBE_GRADE_GOOD
						: i == BAD ? GBE_GRADE_BAD
							   : GBE_GRADE_UNPROVEN);
		/* The same verdict again changes nothing; the health alone does. */
		ck_assert(!gbe_decide_regrade(run, backup));
		run->health = GBE_HEALTH_UNHEALTHY;
		ck_assert_int_eq(gbe_decide_regrade(run, backup), changes);
		ck_assert_int_ne(backup->grade, GBE_GRADE_GOOD);
	}
}
END_TEST

/* The verdict and the health are known, but the backup was unproven when it was taken. */
START_TEST(an_equal_backup_with_a_lower_grade_is_upgraded)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	GbeManifest *closing = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	g_autoptr(GbePlan) plan = NULL;

	facts_set_fingerprint(&closing->fingerprint, 1);
	closing->grade = GBE_GRADE_UNPROVEN;
	plan = gbe_decide(facts);
	ck_assert_int_eq(action(plan, GBE_ACTION_GRADE)->manifest->grade, GBE_GRADE_GOOD);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-decide");
	TCase *tcase = tcase_create("plans");

	tcase_add_test(tcase, an_upgrade_backs_up_and_begins_a_trial);
	tcase_add_test(tcase, an_equal_backup_of_the_owner_serves);
	tcase_add_test(tcase, an_equal_backup_that_does_not_serve);
	tcase_add_test(tcase, a_verdict_that_came_later_goes_into_the_equal_backup);
	tcase_add_test(tcase, who_was_green_before_is_on_no_trial_again);
	tcase_add_test(tcase, damaged_data_is_kept_as_bad_and_still_is_p);
	tcase_add_test(tcase, a_fault_that_etcd_survives_makes_a_bad_backup_and_nothing_else);
	tcase_add_test(tcase, a_backup_of_sound_data_says_so_and_what_is_inside);
	tcase_add_test(tcase, a_missing_backup_holds_or_is_said);
	tcase_add_test(tcase, at_boot_says_when_a_plain_reboot_is_backed_up);
	tcase_add_test(tcase, a_late_take_over_is_backed_up);
	tcase_add_test(tcase, a_plain_reboot_continues_its_trial_and_chain);
	tcase_add_test(tcase, the_same_run_only_ends_the_closing_record);
	tcase_add_test(tcase, a_newer_etcd_in_the_same_run_is_backed_up_first);
	tcase_add_test(tcase, an_etcd_of_a_container_gets_a_clone_first);
	tcase_add_test(tcase, a_taken_name_gets_an_ordinal);
	tcase_add_test(tcase, data_without_an_owner_is_adopted);
	tcase_add_test(tcase, a_grade_is_of_verdict_health_and_verification);
	tcase_add_test(tcase, without_verification_nothing_is_good);
	tcase_add_test(tcase, a_later_verdict_changes_the_backups_of_its_run_alone);
	tcase_add_test(tcase, an_equal_backup_with_a_lower_grade_is_upgraded);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
