/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What plans carry: stamps, manifests, names, grades, and what a failure of each action means. */
#include "lib/facts.h"
#include "lib/unit.h"

#include "core/decide.h"

#include <string.h>

static const GbeAction *
action(const GbePlan *plan, GbeActionKind kind)
{
	const GbeAction *found = gbe_plan_find(plan, kind);

	ck_assert_msg(found != NULL, "no %s in the plan of rule %s", gbe_action_to_string(kind),
		      gbe_rule_to_string(plan->rule));
	return found;
}

static void
no_action(const GbePlan *plan, GbeActionKind kind)
{
	ck_assert_msg(gbe_plan_find(plan, kind) == NULL, "%s in the plan of rule %s",
		      gbe_action_to_string(kind), gbe_rule_to_string(plan->rule));
}

static void
assert_rules(const GbePlan *plan, const char *expected)
{
	g_autofree char *text = gbe_plan_rules_to_text(plan);

	ck_assert_str_eq(text, expected);
	ck_assert_ptr_nonnull(plan->reason);
}

static void
assert_owner(const GbeDeployment *owner, char letter)
{
	g_autofree char *id = facts_id(letter);

	ck_assert_str_eq(owner->id, id);
}

/* The data is A's, green, and has a run record; @letter is booted in run 51. */
static GbeFacts *
after_green_a(char letter)
{
	GbeFacts *facts = facts_booted(letter, 51);

	(void)facts_list(facts, 'a', 1000);
	if (letter != 'a')
		(void)facts_list(facts, letter, 2000);
	(void)facts_stamp(facts, 'a', 50, 90);
	(void)facts_record(facts, 'a', 50, 90, GBE_VERDICT_GREEN);
	return facts;
}

/* B took A's data over, was judged and was not green; @letter is booted. */
static GbeFacts *
after_failed_b(char letter, GbeManifest **ret_previous)
{
	GbeFacts *facts = facts_booted(letter, 52);

	(void)facts_list(facts, 'a', 1000);
	(void)facts_list(facts, 'b', 2000);
	(void)facts_record(facts, 'a', 50, 90, GBE_VERDICT_GREEN);
	*ret_previous = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	(void)facts_trial(facts, 'b', 51, 92, (*ret_previous)->name);
	facts_record(facts, 'b', 51, 92, GBE_VERDICT_RED)->trial = GBE_YES;
	return facts;
}

/* Upgrades. */

START_TEST(an_upgrade_backs_up_and_begins_a_trial)
{
	g_autoptr(GbeFacts) facts = after_green_a('b');
	g_autoptr(GbePlan) plan = NULL;
	const GbeAction *backup;

	facts->stamp->lineage.line = 7;
	facts->stamp->previous = g_strdup("what-a-began-with");
	plan = gbe_decide(facts);
	assert_rules(plan, "11");
	no_action(plan, GBE_ACTION_RESTORE);

	backup = action(plan, GBE_ACTION_BACKUP);
	ck_assert_str_eq(backup->name, backup->manifest->name);
	assert_owner(&backup->manifest->deployment, 'a');
	ck_assert_str_eq(backup->manifest->run, facts->stamp->run);
	ck_assert_uint_eq(backup->manifest->sequence, 100);
	ck_assert_uint_eq(backup->manifest->lineage.line, 7);
	ck_assert_str_eq(backup->manifest->previous, "what-a-began-with");
	ck_assert_int_eq(backup->manifest->grade, GBE_GRADE_GOOD);
	ck_assert_int_eq(backup->manifest->verdict, GBE_VERDICT_GREEN);
	ck_assert_int_eq(backup->manifest->health, GBE_HEALTH_HEALTHY);
	ck_assert_int_eq(backup->manifest->origin, GBE_ORIGIN_AUTOMATIC);
	ck_assert_int_eq(backup->manifest->trial.on, GBE_NO);
	ck_assert_int_eq(backup->manifest->trial.used, 600);
	ck_assert_str_eq(backup->manifest->data_dir, FACTS_DIR);
	ck_assert(gbe_fingerprint_equal(&backup->manifest->fingerprint, &facts->fingerprint));

	assert_owner(&plan->stamp->deployment, 'b');
	ck_assert_str_eq(plan->stamp->run, facts->run);
	ck_assert_uint_eq(plan->stamp->sequence, 101);
	ck_assert_uint_eq(plan->last_sequence, 101);
	ck_assert_str_eq(plan->stamp->previous, backup->name);
	ck_assert_ptr_null(plan->stamp->restored_from);
	/* The data continues its line. */
	ck_assert_uint_eq(plan->stamp->lineage.line, 7);
	ck_assert_int_eq(plan->stamp->trial.on, GBE_YES);
	ck_assert_uint_eq(plan->stamp->trial.since, 101);
	ck_assert_int_eq(plan->stamp->trial.used, 0);
	ck_assert(!plan->stamp->trial.judged);
	ck_assert_int_eq(plan->stamp->trial.judges, GBE_YES);
	ck_assert_int_eq(plan->stamp->was_default, GBE_YES);
	ck_assert_int_eq(plan->stamp->stamped, facts->now);
	ck_assert(!plan->stamp->closing.present);

	ck_assert_uint_eq(plan->run->sequence, 101);
	assert_owner(&plan->run->deployment, 'b');
	ck_assert_int_eq(plan->run->trial, GBE_YES);
	ck_assert_int_eq(plan->run->verdict, GBE_VERDICT_NONE);
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
	ck_assert_str_eq(plan->stamp->previous, closing->name);
	ck_assert_uint_eq(plan->stamp->sequence, 100);
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
			facts->fingerprint.present = FALSE;
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
	closing->run = facts_run(49); /* of an earlier run: nobody wrote since, no verdict on it */
	foreign = gbe_decide(facts);
	no_action(foreign, GBE_ACTION_GRADE);
}
END_TEST

START_TEST(who_was_green_before_is_on_no_trial_again)
{
	g_autoptr(GbeFacts) facts = after_green_a('b');
	g_autoptr(GbePlan) plan = NULL;

	(void)facts_record(facts, 'b', 30, 30, GBE_VERDICT_GREEN);
	facts->stamp->was_default = GBE_NO;
	plan = gbe_decide(facts);
	assert_rules(plan, "10b");
	ck_assert_int_eq(plan->stamp->trial.on, GBE_NO);
	ck_assert_int_eq(plan->run->trial, GBE_NO);
	ck_assert_str_eq(plan->stamp->previous, action(plan, GBE_ACTION_BACKUP)->name);
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->on_failure, GBE_FAILURE_REPORT);
}
END_TEST

START_TEST(damaged_data_is_kept_as_bad_and_is_p_all_the_same)
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
	ck_assert_str_eq(plan->stamp->previous, backup->name);
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
	    {GBE_UPGRADE_FAIL_AUTO, GBE_UNKNOWN, GBE_FAILURE_REPORT},
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
		/* The stamp is the take-over: without one the next deployment has no past. */
		ck_assert_int_eq(action(upgrade, GBE_ACTION_STAMP)->on_failure, cases[i].expected);

		reboot->config->backup.on_upgrade_failure = cases[i].configured;
		reboot->can_roll_back = cases[i].can_roll_back;
		plain = gbe_decide(reboot);
		ck_assert_int_eq(action(plain, GBE_ACTION_BACKUP)->on_failure, GBE_FAILURE_REPORT);
		ck_assert_int_eq(action(plain, GBE_ACTION_STAMP)->on_failure, GBE_FAILURE_REPORT);
	}
}
END_TEST

/* Plain reboots. */

START_TEST(at_boot_says_when_a_plain_reboot_is_backed_up)
{
	static const struct {
		GbeWhen at_boot;
		GbeTri clones;
		gboolean backup, cow_only;
	} cases[] = {
	    {GBE_WHEN_COW_ONLY, GBE_YES, TRUE, TRUE},  {GBE_WHEN_COW_ONLY, GBE_UNKNOWN, TRUE, TRUE},
	    {GBE_WHEN_COW_ONLY, GBE_NO, FALSE, FALSE}, {GBE_WHEN_ALWAYS, GBE_NO, TRUE, FALSE},
	    {GBE_WHEN_ALWAYS, GBE_YES, TRUE, FALSE},   {GBE_WHEN_NEVER, GBE_YES, FALSE, FALSE},
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

START_TEST(a_plain_reboot_goes_on_with_trial_and_p)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	GbeManifest *previous;

	facts = after_failed_b('b', &previous);
	((GbeRunRecord *)facts->runs->pdata[1])->verdict = GBE_VERDICT_NONE;
	facts->stamp->trial.used = 1000;
	facts->stamp->trial.since = 70;
	plan = gbe_decide(facts);
	assert_rules(plan, "7");
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->manifest->grade, GBE_GRADE_UNPROVEN);
	ck_assert_str_eq(action(plan, GBE_ACTION_BACKUP)->manifest->previous, previous->name);
	ck_assert_str_eq(plan->stamp->previous, previous->name);
	ck_assert_int_eq(plan->stamp->trial.on, GBE_YES);
	ck_assert_uint_eq(plan->stamp->trial.since, 70);
	ck_assert_int_eq(plan->stamp->trial.used, 1600);
	ck_assert_uint_eq(plan->stamp->lineage.line, 1);
}
END_TEST

START_TEST(the_same_run_only_clears_the_closing_record)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL, again = NULL;

	g_free(facts->run);
	facts->run = facts_run(50);
	facts->stamp->closing.present = TRUE;
	facts->stamp->closing.used = 600;
	facts_set_fingerprint(&facts->stamp->closing.fingerprint, 1);
	plan = gbe_decide(facts);
	assert_rules(plan, "5");
	ck_assert(plan->clear_closing);
	ck_assert_ptr_null(plan->stamp);
	ck_assert_ptr_null(plan->run);
	ck_assert(gbe_plan_is_idle(plan));

	facts->stamp->closing.present = FALSE;
	again = gbe_decide(facts);
	ck_assert(!again->clear_closing);
}
END_TEST

START_TEST(a_newer_etcd_in_the_same_run_is_backed_up_first)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GbePlan) plan = NULL;

	g_free(facts->run);
	facts->run = facts_run(50);
	facts->stamp->etcd_version = g_strdup("3.5.9");
	facts->etcd_version = gbe_version_parse("3.6.0");
	facts->config->backup.on_upgrade_failure = GBE_UPGRADE_FAIL_REFUSE;
	plan = gbe_decide(facts);
	assert_rules(plan, "5");
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->on_failure, GBE_FAILURE_HOLD);
	ck_assert_str_eq(plan->stamp->etcd_version, "3.6");
}
END_TEST

/* Names. */

START_TEST(a_taken_name_gets_an_ordinal)
{
	g_autoptr(GbeFacts) facts = after_green_a('b');
	GbeManifest *first = facts_backup(facts, 'a', 50, 91, GBE_GRADE_UNPROVEN);
	g_autofree char *second = g_strdup_printf("%s~2", first->name);
	g_autofree char *third = g_strdup_printf("%s~3", first->name);
	g_autoptr(GbePlan) plan = gbe_decide(facts), next = NULL;

	ck_assert_str_eq(action(plan, GBE_ACTION_BACKUP)->name, second);
	/* Whatever it is that has the name. */
	facts->taken = g_hash_table_new(g_str_hash, g_str_equal);
	g_hash_table_add(facts->taken, second);
	next = gbe_decide(facts);
	ck_assert_str_eq(action(next, GBE_ACTION_BACKUP)->name, third);
}
END_TEST

START_TEST(data_of_nobody_is_adopted)
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
		ck_assert_str_eq(plan->stamp->previous, "adopted-100");
		ck_assert_int_eq(plan->stamp->trial.on, GBE_YES);
		ck_assert_uint_eq(plan->stamp->lineage.line, plan->stamp->sequence);
	}
}
END_TEST

/* Returns. */

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

/* B is green and has the data; A, green once, is booted: the default entry was moved. */
static GbeFacts *
deliberate_return(GbeManifest **ret_candidate)
{
	GbeFacts *facts = facts_booted('a', 60);

	(void)facts_list(facts, 'a', 1000);
	(void)facts_list(facts, 'b', 2000);
	(void)facts_record(facts, 'a', 50, 90, GBE_VERDICT_GREEN);
	*ret_candidate = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	(void)facts_stamp(facts, 'b', 59, 95);
	(void)facts_record(facts, 'b', 59, 95, GBE_VERDICT_GREEN);
	return facts;
}

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
}
END_TEST

/* Written by others. */

static GbeFacts *
written_by_others(GbeManifest **ret_closing)
{
	GbeFacts *facts = after_green_a('a');
	GbeStamp *stamp = facts->stamp;

	*ret_closing = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	stamp->closing.present = TRUE;
	facts_set_fingerprint(&stamp->closing.fingerprint, 77);
	stamp->closing.used = 100;
	stamp->closing.next = facts_id('z');
	stamp->closing.backup = g_strdup((*ret_closing)->name);
	(*ret_closing)->previous = g_strdup("what-a-began-with");
	return facts;
}

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

/* Requests. */

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

/* Hands off. */

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

/* No data. */

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

/* Grades, and what is done by hand. */

START_TEST(a_grade_is_of_verdict_health_and_verification)
{
	for (int verdict = GBE_VERDICT_NONE; verdict <= GBE_VERDICT_RED; verdict++)
		for (int health = GBE_HEALTH_NOT_ASKED; health <= GBE_HEALTH_CANNOT_TELL; health++)
			for (int verified = GBE_VERIFIED_NO; verified <= GBE_VERIFIED_FULL;
			     verified++) {
				gboolean good = verdict == GBE_VERDICT_GREEN &&
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

	facts->config->backup.verify = GBE_VERIFY_NONE;
	plan = gbe_decide(facts);
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->manifest->verified, GBE_VERIFIED_NO);
	ck_assert_int_eq(action(plan, GBE_ACTION_BACKUP)->manifest->grade, GBE_GRADE_UNPROVEN);
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

static void
add_upgrades(TCase *tcase)
{
	tcase_add_test(tcase, an_upgrade_backs_up_and_begins_a_trial);
	tcase_add_test(tcase, an_equal_backup_of_the_owner_serves);
	tcase_add_test(tcase, an_equal_backup_that_does_not_serve);
	tcase_add_test(tcase, a_verdict_that_came_later_goes_into_the_equal_backup);
	tcase_add_test(tcase, who_was_green_before_is_on_no_trial_again);
	tcase_add_test(tcase, damaged_data_is_kept_as_bad_and_is_p_all_the_same);
	tcase_add_test(tcase, a_missing_backup_holds_or_is_said);
	tcase_add_test(tcase, at_boot_says_when_a_plain_reboot_is_backed_up);
	tcase_add_test(tcase, a_plain_reboot_goes_on_with_trial_and_p);
	tcase_add_test(tcase, the_same_run_only_clears_the_closing_record);
	tcase_add_test(tcase, a_newer_etcd_in_the_same_run_is_backed_up_first);
	tcase_add_test(tcase, a_taken_name_gets_an_ordinal);
	tcase_add_test(tcase, data_of_nobody_is_adopted);
}

static void
add_returns(TCase *tcase)
{
	tcase_add_test(tcase, a_retry_displaces_a_bad_backup_and_begins_a_line);
	tcase_add_test(tcase, after_a_failed_update_its_base_goes_on_as_it_was);
	tcase_add_test(tcase, p_that_does_not_validate_gives_way_to_the_candidate);
	tcase_add_test(tcase, p_of_nobody_is_what_the_base_goes_on_with);
	tcase_add_test(tcase, an_update_on_top_of_a_failed_one_starts_from_the_last_good_data);
	tcase_add_test(tcase, a_deliberate_return_displaces_what_keeps_its_grade);
	tcase_add_test(tcase, the_gate_takes_the_newest_that_this_etcd_reads);
	tcase_add_test(tcase, an_update_without_the_program_is_undone_by_rename);
	tcase_add_test(tcase, otherwise_it_is_adopted);
	tcase_add_test(tcase, what_others_wrote_is_nobodys_whatever_displaces_it);
}

static void
add_rest(TCase *tcase)
{
	tcase_add_test(tcase, a_request_is_the_last_act_of_the_owners_run);
	tcase_add_test(tcase, after_a_request_d_goes_on_with_it);
	tcase_add_test(tcase,
		       a_request_that_cannot_be_carried_out_is_dropped_and_the_table_goes_on);
	tcase_add_test(tcase, a_request_is_not_due_in_its_own_run);
	tcase_add_test(tcase, skip_forgets_the_owner);
	tcase_add_test(tcase, nothing_is_stamped_while_the_booted_one_cannot_be_told);
	tcase_add_test(tcase, a_fresh_start_begins_a_chain_in_the_state_alone);
	tcase_add_test(tcase, missing_data_is_restored_only_where_that_is_asked_for);
	tcase_add_test(tcase, a_missing_mount_holds_and_says_how_to_go_on);
	tcase_add_test(tcase, a_grade_is_of_verdict_health_and_verification);
	tcase_add_test(tcase, without_verification_nothing_is_good);
	tcase_add_test(tcase, a_restore_by_hand_stamps_the_booted_one_and_the_present_run);
	tcase_add_test(tcase, a_manual_backup_has_its_name_and_the_owners_past);
}

int
main(void)
{
	Suite *suite = suite_create("core-decide");
	TCase *tcase = tcase_create("plans");

	add_upgrades(tcase);
	add_returns(tcase);
	add_rest(tcase);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
