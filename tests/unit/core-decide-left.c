/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state that a deployment left, the owner of the data, and runs of etcd on the data without a take-over. */
#include "lib/plan.h"
#include "lib/situation.h"
#include "lib/unit.h"

#include "core/decide/past.h"
#include "core/decide/retention.h"

/* Adds A's run at @sequence, which left @backup. */
static GbeRunRecord *
a_left(GbeFacts *facts, guint64 sequence, const GbeManifest *backup)
{
	GbeRunRecord *run = facts_record(facts, 'a', (guint)sequence, sequence, GBE_VERDICT_GREEN);

	gbe_backup_ref_set(&run->left, gbe_manifest_ref(backup));
	return run;
}

START_TEST(left_is_what_a_person_chose_last)
{
	g_autoptr(GbeFacts) facts = facts_booted('a', 51);
	GbeManifest *before = facts_backup(facts, 'a', 40, 41, GBE_GRADE_GOOD);
	GbeManifest *chosen = facts_backup(facts, 'a', 30, 31, GBE_GRADE_GOOD);
	GbeTakeOver *asked;
	GbeLeft left;

	(void)a_left(facts, 40, before);
	ck_assert_ptr_eq(gbe_situation_left(facts, &facts->booted).backup, before);
	/* A restore by hand, before etcd ran on it. */
	asked = facts_owner(facts, 'a', 50, 50);
	asked->asked = true;
	asked->source = g_strdup(chosen->name);
	(void)facts_recorded(facts);
	facts_record(facts, 'a', 50, 50, GBE_VERDICT_NONE)->ended = false;
	left = gbe_situation_left(facts, &facts->booted);
	ck_assert(left.known);
	ck_assert_ptr_eq(left.backup, chosen);
	/* An unfinished start without a request leaves nothing. */
	((GbeTakeOver *)facts->take_overs->pdata[0])->asked = false;
	ck_assert_ptr_eq(gbe_situation_left(facts, &facts->booted).backup, before);
}
END_TEST

START_TEST(what_was_set_aside_is_never_left)
{
	g_autoptr(GbeFacts) facts = facts_booted('a', 51);
	GbeManifest *aside = facts_backup(facts, 'a', 40, 41, GBE_GRADE_GOOD);
	GbeManifest *equal;

	(void)a_left(facts, 40, aside);
	aside->set_aside = true;
	ck_assert_ptr_null(gbe_situation_left(facts, &facts->booted).backup);
	ck_assert_ptr_null(gbe_situation_candidate(facts, false));
	/* Another backup of the same state was not set aside. */
	equal = facts_backup(facts, 'a', 40, 42, GBE_GRADE_GOOD);
	equal->lineage.at = 41;
	equal->sequence = 43;
	((GbeRunRecord *)facts->runs->pdata[0])->left.line = 1;
	((GbeRunRecord *)facts->runs->pdata[0])->left.place = 41;
	ck_assert_ptr_eq(gbe_situation_left(facts, &facts->booted).backup, equal);
}
END_TEST

/* A disk was full when B took over what A had left: no backup has it. A's older backup is on a line of its own. */
START_TEST(the_data_contains_what_was_left_without_a_backup)
{
	g_autoptr(GbeFacts) facts = facts_booted('a', 61);
	GbeSituation s;
	GbeView view;
	GbeManifest *older = facts_backup(facts, 'a', 30, 31, GBE_GRADE_UNPROVEN);
	GbeTakeOver *own;

	older->lineage.line = 30;
	own = facts_owner(facts, 'a', 40, 40);
	own->lineage.line = 40;
	(void)facts_recorded(facts);
	(void)facts_record(facts, 'a', 40, 40, GBE_VERDICT_GREEN);
	facts_owner(facts, 'b', 50, 50)->lineage.line = 40;
	(void)facts_recorded(facts);
	(void)facts_record(facts, 'b', 50, 50, GBE_VERDICT_GREEN);
	gbe_view_live(facts, &view);
	gbe_situation_derive(facts, &view, false, &s);
	ck_assert_int_eq(s.contains, GBE_YES);
	/* B's data is on another line: it does not contain what A left. */
	facts->owner->lineage.line = 50;
	gbe_view_live(facts, &view);
	gbe_situation_derive(facts, &view, false, &s);
	ck_assert_int_eq(s.contains, GBE_NO);
}
END_TEST

START_TEST(a_deployment_that_never_ran_left_nothing)
{
	g_autoptr(GbeFacts) facts = facts_booted('c', 51);

	(void)a_left(facts, 40, facts_backup(facts, 'a', 40, 41, GBE_GRADE_GOOD));
	ck_assert(!gbe_situation_left(facts, &facts->booted).known);
}
END_TEST

START_TEST(an_uncounted_trial_is_not_rewound)
{
	static const struct {
		GbeTri counted;
		const char *next; /* NULL: B itself */
		const char *rule;
	} cases[] = {{GBE_YES, NULL, "9"},
		     {GBE_NO, NULL, "6"},
		     {GBE_UNKNOWN, NULL, "6"},
		     {GBE_NO, "a", "9"}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
		g_autoptr(GbePlan) plan = NULL;

		facts->counted = cases[i].counted;
		facts->next = facts_id(cases[i].next != NULL ? cases[i].next[0] : 'b');
		plan = gbe_decide(facts);
		assert_rules(plan, cases[i].rule);
		if (g_str_equal(cases[i].rule, "6"))
			ck_assert_ptr_nonnull(strstr(plan->reason, "counts"));
	}
}
END_TEST

/* A closed in order with a valid backup, and etcd would not survive the data now. */
static GbeFacts *
damaged(char booted, GbeManifest **ret_closing)
{
	GbeFacts *facts = written_by_others(ret_closing);

	facts_set_deployment(&facts->booted, booted);
	facts->owner->closing.next = NULL;
	facts->sound = GBE_NO;
	return facts;
}

START_TEST(damage_comes_before_ownership)
{
	for (guint n = 0; n < 8; n++) {
		bool other = (n & 1) != 0, written = (n & 2) != 0, bad = (n & 4) != 0;
		GbeManifest *closing;
		g_autoptr(GbeFacts) facts = damaged(other ? 'b' : 'a', &closing);
		g_autoptr(GbePlan) plan = NULL;

		if (!written)
			facts_set_fingerprint(&facts->owner->closing.fingerprint, 1);
		if (bad)
			closing->grade = GBE_GRADE_BAD;
		plan = gbe_decide(facts);
		if (bad) {
			no_action(plan, GBE_ACTION_RESTORE);
			continue;
		}
		assert_rules(plan, "5a");
		ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name, closing->name);
		ck_assert_int_eq(action(plan, GBE_ACTION_DISPLACE)->manifest->grade, GBE_GRADE_BAD);
		ck_assert(g_str_has_prefix(action(plan, GBE_ACTION_DISPLACE)->name, "adopted-") ==
			  written);
		/* The state that A left is the base of the update. */
		if (other)
			ck_assert_str_eq(gbe_take_over_base(plan->take_over)->name, closing->name);
	}
}
END_TEST

START_TEST(a_log_that_is_gone)
{
	for (guint n = 0; n < 4; n++) {
		bool other = (n & 1) != 0, since = (n & 2) != 0;
		GbeManifest *closing;
		g_autoptr(GbeFacts) facts = damaged(other ? 'b' : 'a', &closing);
		g_autoptr(GbePlan) plan = NULL;

		facts->sound = GBE_UNKNOWN;
		facts->log = GBE_NO;
		facts_set_fingerprint(&facts->fingerprint, since ? 77 : 78);
		g_clear_pointer(&facts->fingerprint.wal_name, g_free);
		plan = gbe_decide(facts);
		/* The log was there at the end, and nothing was written since: it was removed by hand. */
		if (since)
			assert_rules(plan, "5a");
		else if (other)
			ck_assert(plan->hold);
		else
			no_action(plan, GBE_ACTION_RESTORE);
	}
}
END_TEST

START_TEST(an_update_without_data)
{
	for (guint n = 0; n < 4; n++) {
		bool restore = (n & 1) != 0, backup = (n & 2) != 0;
		g_autoptr(GbeFacts) facts = device();
		g_autoptr(GbePlan) plan = NULL;
		GbeManifest *left;

		facts->data = GBE_NO;
		facts->config->restore.on_missing_data =
		    restore ? GBE_MISSING_RESTORE : GBE_MISSING_FRESH;
		(void)facts_recorded(facts);
		left = facts_backup(facts, 'a', 50, 95, GBE_GRADE_GOOD);
		if (!backup)
			left->grade = GBE_GRADE_BAD;
		plan = gbe_decide(facts);
		assert_rules(plan, "3");
		ck_assert_int_eq(gbe_plan_find(plan, GBE_ACTION_RESTORE) != NULL,
				 restore && backup);
		ck_assert_int_eq(plan->take_over->began_empty, !(restore && backup));
		ck_assert_int_eq(plan->take_over->trial.on, GBE_YES);
		if (restore && backup)
			ck_assert_str_eq(gbe_take_over_base(plan->take_over)->name, left->name);
	}
}
END_TEST

START_TEST(an_empty_beginning_is_remembered)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_NONE);
	g_autoptr(GbePlan) next = NULL;
	g_autoptr(GbePlan) accepted = NULL;
	GbeRunRecord *run = facts->runs->pdata[0];

	facts->owner->began_empty = true;
	next = gbe_decide(facts);
	ck_assert(gbe_situation_began_empty(facts));
	ck_assert(next->take_over->began_empty);
	/* greenboot's verdict does not accept it, a person's does. */
	run->verdict = GBE_VERDICT_GREEN;
	ck_assert(gbe_situation_began_empty(facts));
	run->by_hand = true;
	ck_assert(!gbe_situation_began_empty(facts));
	accepted = gbe_decide(facts);
	ck_assert(!accepted->take_over->began_empty);
}
END_TEST

/* B failed and closed in order; A's etcd ran on that data without a take-over. */
static GbeFacts *
stray(char booted)
{
	GbeManifest *base;
	GbeFacts *facts = after_failed_b(booted, &base);

	facts->data_open = GBE_YES;
	facts->uptime = 1000;
	return facts;
}

START_TEST(a_late_take_over_is_of_a_run_with_the_data)
{
	for (guint n = 0; n < 8; n++) {
		g_autoptr(GbeFacts) facts = stray('a');
		g_autoptr(GbeTakeOver) late = NULL;
		bool due = n == 0 || n == 6 || n == 7;

		if (n == 1)
			facts->data_open = GBE_UNKNOWN;
		if (n == 2)
			g_clear_pointer(&facts->run, g_free);
		if (n == 3)
			facts->intent_why = g_strdup("of a newer version");
		if (n == 4)
			facts->data = GBE_NO;
		if (n >= 5)
			facts->data_open = GBE_NO;
		/* Written before this boot, after it, and after the end of B's run. */
		facts->last_write = n == 6 ? facts->now - 10 : facts->now - 5000;
		if (n == 7) {
			facts->owner->closing.present = true;
			facts_set_fingerprint(&facts->owner->closing.fingerprint, 77);
		}
		late = gbe_decide_late(facts);
		ck_assert_msg((late != NULL) == due, "case %u", n);
	}
}
END_TEST

/* The rule at the next boot of @booted, after the late take-over, with the data written on. */
static GbePlan *
after_late(char stray_of, char booted, GbeFacts **ret_facts)
{
	GbeFacts *facts = stray(stray_of);
	GbeTakeOver *late = gbe_decide_late(facts);

	ck_assert_ptr_nonnull(late);
	(void)facts_recorded(facts);
	gbe_past_add(facts, late);
	gbe_take_over_free(facts->owner);
	facts->owner = gbe_take_over_copy(late);
	facts->data_open = GBE_NO;
	facts_set_deployment(&facts->booted, booted);
	g_free(facts->run);
	facts->run = facts_run(60);
	facts->next_sequence++;
	*ret_facts = facts;
	return gbe_decide(facts);
}

START_TEST(what_ran_late_is_not_taken_back)
{
	static const struct {
		char stray, booted;
		const char *rule;
	} cases[] = {{'a', 'a', "6"}, {'a', 'b', "11"}, {'a', 'c', "11"}, {'b', 'b', "6"}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = NULL;
		g_autoptr(GbePlan) plan = after_late(cases[i].stray, cases[i].booted, &facts);

		assert_rules(plan, cases[i].rule);
		no_action(plan, GBE_ACTION_RESTORE);
		(void)action(plan, GBE_ACTION_BACKUP);
	}
}
END_TEST

/* B's own trial continues, and its base comes back. */
START_TEST(a_trial_that_ran_late_still_fails)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = after_late('b', 'a', &facts);

	assert_rules(plan, "10a");
	ck_assert_str_eq(action(plan, GBE_ACTION_RESTORE)->name,
			 ((GbeManifest *)facts->backups->pdata[0])->name);
}
END_TEST

START_TEST(recovery_finishes_what_was_exchanged)
{
	for (guint n = 0; n < 3; n++) {
		GbeManifest *base;
		g_autoptr(GbeFacts) facts = after_failed_b('a', &base);
		g_autoptr(GbePlan) plan = gbe_decide(facts);
		guint backups = facts->backups->len;
		bool done = n == 0;

		facts->intent = gbe_intent_new();
		facts->intent->operation = GBE_OPERATION_RESTORE;
		facts->intent->tree_new = g_strdup(done ? facts->tree : "fs0:d9");
		facts->intent->tree_old = g_strdup(n == 1 ? facts->tree : "fs0:d8");
		facts->intent->backup = g_strdup(base->name);
		facts->intent->displaced =
		    gbe_manifest_copy(action(plan, GBE_ACTION_DISPLACE)->manifest);
		facts->intent->take_over = gbe_take_over_copy(plan->take_over);
		gbe_decide_recovered(facts);
		ck_assert_ptr_null(facts->intent);
		ck_assert_uint_eq(facts->backups->len, backups + done);
		assert_owner(&facts->owner->deployment, done ? 'a' : 'b');
	}
}
END_TEST

/* etcd started with new data, and its backups are good. Backups of the data before do not block them. */
START_TEST(the_last_valid_backup_of_a_lineage_stays)
{
	g_autoptr(GbeFacts) facts = after_green_a('a');
	g_autoptr(GArray) removals = NULL;
	GbeManifest *lost = facts_backup(facts, 'a', 40, 41, GBE_GRADE_GOOD);
	GbeManifest *older = facts_backup(facts, 'a', 30, 31, GBE_GRADE_GOOD);

	facts->owner->lineage.line = 60;
	facts->config->backup.keep_good = 1;
	for (guint64 i = 0; i < 4; i++)
		facts_backup(facts, 'a', 50, 91 + i, GBE_GRADE_GOOD)->lineage.line = 60;
	facts_backup(facts, 'c', 50, 99, GBE_GRADE_GOOD)->lineage.line = 60;
	removals = gbe_retention_apply(facts);
	for (guint i = 0; i < removals->len; i++)
		ck_assert_ptr_ne(g_array_index(removals, GbeRemoval, i).backup, lost);
	ck_assert_uint_gt(removals->len, 0);
	(void)older;
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-decide-left");
	TCase *tcase = tcase_create("left");

	tcase_add_test(tcase, left_is_what_a_person_chose_last);
	tcase_add_test(tcase, what_was_set_aside_is_never_left);
	tcase_add_test(tcase, the_data_contains_what_was_left_without_a_backup);
	tcase_add_test(tcase, a_deployment_that_never_ran_left_nothing);
	tcase_add_test(tcase, an_uncounted_trial_is_not_rewound);
	tcase_add_test(tcase, damage_comes_before_ownership);
	tcase_add_test(tcase, a_log_that_is_gone);
	tcase_add_test(tcase, an_update_without_data);
	tcase_add_test(tcase, an_empty_beginning_is_remembered);
	tcase_add_test(tcase, a_late_take_over_is_of_a_run_with_the_data);
	tcase_add_test(tcase, what_ran_late_is_not_taken_back);
	tcase_add_test(tcase, a_trial_that_ran_late_still_fails);
	tcase_add_test(tcase, recovery_finishes_what_was_exchanged);
	tcase_add_test(tcase, the_last_valid_backup_of_a_lineage_stays);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
