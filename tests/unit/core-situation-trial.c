/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the last run went: trial, judged, used, the same run; and what kind of return this is. */
#include <stdbool.h>

#include "lib/situation.h"
#include "lib/unit.h"

#define LIMIT 3600

START_TEST(a_trial_lasts_until_the_first_green_run)
{
	static const struct {
		GbeVerdict verdict;
		GbeTri trial;
		bool judged;
	} cases[] = {{GBE_VERDICT_NONE, GBE_YES, false},
		     {GBE_VERDICT_JUDGING, GBE_YES, true},
		     {GBE_VERDICT_RED, GBE_YES, true},
		     {GBE_VERDICT_GREEN, GBE_NO, true}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = own_trial(cases[i].verdict);
		GbeSituation s;

		derive(facts, &s);
		ck_assert_int_eq(s.trial, cases[i].trial);
		ck_assert_int_eq(s.own_trial, cases[i].trial);
		ck_assert_int_eq(s.judged, cases[i].judged);
		ck_assert_int_eq(s.verdict, cases[i].verdict);
	}
}
END_TEST

/* A record is lost: it may have been a green one of another; the owner's own take-over came after it. */
START_TEST(a_trial_is_unknown_where_the_past_is_not_whole)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	GbeSituation s;

	facts->holes = true;
	derive(facts, &s);
	ck_assert_int_eq(s.trial, GBE_YES);
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_UNKNOWN);
	/* But an earlier green one is enough. */
	(void)facts_record(facts, 'b', 20, 20, GBE_VERDICT_GREEN);
	derive(facts, &s);
	ck_assert_int_eq(s.trial, GBE_NO);
}
END_TEST

/* Any client of the update's etcd can add members. Without an earlier record, the data decides. */
START_TEST(voters_of_a_trial_are_those_before_it)
{
	static const struct {
		GbeVerdict verdict;
		guint before, now;
		bool one;
	} cases[] = {{GBE_VERDICT_RED, 1, 3, true},
		     {GBE_VERDICT_RED, 3, 1, false},
		     {GBE_VERDICT_RED, 0, 3, false},
		     {GBE_VERDICT_RED, 1, GBE_VOTERS_UNCLEAR, true},
		     {GBE_VERDICT_GREEN, 1, 3, false}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = own_trial(cases[i].verdict);
		GbeSituation s;

		facts->owner->voters = cases[i].before;
		facts->voters = cases[i].now;
		derive(facts, &s);
		ck_assert_int_eq(s.one_voter, cases[i].one);
	}
}
END_TEST

START_TEST(a_green_backup_also_ends_a_trial)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	GbeSituation s;

	(void)facts_backup(facts, 'b', 20, 20, GBE_GRADE_GOOD);
	derive(facts, &s);
	ck_assert_int_eq(s.trial, GBE_NO);
}
END_TEST

/* Without a verdict, the trial ends after its runs together have used the data for longer than trial-limit. */
START_TEST(long_use_ends_a_trial_without_a_verdict)
{
	static const struct {
		GbeTri judges;
		bool judged; /* one of its earlier runs was */
		gint64 earlier, last;
		GbeTri trial;
	} cases[] = {
	    {GBE_NO, false, 0, LIMIT, GBE_YES},	     {GBE_NO, false, 0, LIMIT + 1, GBE_NO},
	    {GBE_NO, false, LIMIT, 1, GBE_NO},	     {GBE_NO, false, LIMIT - 1, 1, GBE_YES},
	    {GBE_NO, true, 0, 10 * LIMIT, GBE_YES},  {GBE_YES, false, 0, 10 * LIMIT, GBE_YES},
	    {GBE_NO, false, -1, LIMIT, GBE_UNKNOWN}, {GBE_NO, false, 0, -1, GBE_UNKNOWN},
	    {GBE_YES, false, 0, -1, GBE_YES},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_NONE);
		GbeSituation s;

		facts->owner->trial.judges = cases[i].judges;
		facts->owner->trial.judged = cases[i].judged;
		facts->owner->trial.used = cases[i].earlier;
		facts->owner->closing.present = true;
		facts->owner->closing.used = cases[i].last;
		derive(facts, &s);
		ck_assert_msg(s.trial == cases[i].trial, "case %u: %s", i,
			      gbe_tri_to_string(s.trial));
	}
}
END_TEST

START_TEST(a_rollback_may_follow_until_the_trial_is_over)
{
	static const struct {
		GbeTri can;
		GbeVerdict verdict;
		bool follows;
	} cases[] = {{GBE_YES, GBE_VERDICT_RED, true},	  {GBE_YES, GBE_VERDICT_NONE, true},
		     {GBE_YES, GBE_VERDICT_GREEN, false}, {GBE_UNKNOWN, GBE_VERDICT_NONE, true},
		     {GBE_NO, GBE_VERDICT_NONE, false},	  {GBE_UNKNOWN, GBE_VERDICT_GREEN, false}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_NONE);

		facts_record(facts, 'b', 10, 10, cases[i].verdict)->trial = GBE_YES;
		facts->can_roll_back = cases[i].can;
		ck_assert_msg(gbe_situation_rollback_may_follow(facts) == cases[i].follows,
			      "case %u", i);
		if (cases[i].verdict != GBE_VERDICT_GREEN)
			continue;
		/* The booted deployment is not known: it may be one on trial. */
		g_clear_pointer(&facts->booted.id, g_free);
		ck_assert(gbe_situation_rollback_may_follow(facts));
	}
}
END_TEST

START_TEST(the_trial_of_another_is_what_the_ledger_tells)
{
	g_autoptr(GbeFacts) facts = device();

	/* "A deployment that never took the data over counts as on trial." */
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_YES);
	facts->holes = true;
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_UNKNOWN);
	facts->holes = false;
	facts_record(facts, 'b', 10, 10, GBE_VERDICT_RED)->trial = GBE_YES;
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_YES);
	/* The newest tells: use had ended it by then. Backups say nothing of it. */
	facts_record(facts, 'b', 11, 11, GBE_VERDICT_NONE)->trial = GBE_NO;
	facts_backup(facts, 'b', 11, 12, GBE_GRADE_UNPROVEN)->trial.on = GBE_YES;
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_NO);
	facts_record(facts, 'b', 13, 13, GBE_VERDICT_NONE)->trial = GBE_YES;
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_YES);
	(void)facts_record(facts, 'b', 9, 9, GBE_VERDICT_GREEN);
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_NO);
}
END_TEST

/* "The closing record's time; else whether the record used beyond trial-limit is there." */
START_TEST(use_is_the_closing_records_time_else_what_the_timer_said)
{
	static const struct {
		bool closing;
		gint64 closing_used;
		bool beyond;
		gint64 earlier;
		gint64 used;
	} cases[] = {
	    {true, 300, false, 0, 300},	    {true, 300, true, 0, 300},
	    {true, -1, false, 0, -1},	    {false, 300, false, 0, 0},
	    {false, 0, true, 0, LIMIT + 1}, {false, 0, false, 50, 50},
	    {false, 0, false, -1, -1},	    {true, 700, false, 50, 750},
	    {true, LIMIT, false, 0, LIMIT},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
		GbeSituation s;
		GbeView view;

		facts->owner->closing.present = cases[i].closing;
		facts->owner->closing.used = cases[i].closing_used;
		facts->owner->used_beyond = cases[i].beyond;
		facts->owner->trial.used = cases[i].earlier;
		/* The times of the data's files are not used. */
		facts->last_write = 1000000000;
		gbe_view_live(facts, &view);
		ck_assert_msg(view.used == cases[i].used, "case %u: %" G_GINT64_FORMAT, i,
			      view.used);
		derive(facts, &s);
		ck_assert_int_eq(s.used_within,
				 cases[i].used < 0 ? GBE_UNKNOWN : gbe_tri(cases[i].used <= LIMIT));
	}
}
END_TEST

START_TEST(the_same_run_is_known_to_be_it)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_NONE);
	GbeSituation s;
	GbeView view;

	derive(facts, &s);
	ck_assert_int_eq(s.same_run, GBE_NO);
	g_free(facts->run);
	facts->run = g_strdup(facts->owner->run);
	derive(facts, &s);
	ck_assert_int_eq(s.same_run, GBE_YES);
	/* A backup of this run has older data, so a restore of it is not the same run. */
	gbe_view_backup(facts, facts_backup(facts, 'b', 51, 93, GBE_GRADE_UNPROVEN), &view);
	gbe_situation_derive(facts, &view, false, &s);
	ck_assert_int_eq(s.owner, GBE_OWNER_SAME);
	ck_assert_int_eq(s.same_run, GBE_UNKNOWN);
	g_free(facts->run);
	facts->run = g_strdup_printf("%s+1", facts->owner->run); /* a soft reboot */
	derive(facts, &s);
	ck_assert_int_eq(s.same_run, GBE_NO);
	g_clear_pointer(&facts->run, g_free);
	derive(facts, &s);
	ck_assert_int_eq(s.same_run, GBE_UNKNOWN);
	/* Two runs that could not be told are not the same one. */
	g_free(facts->owner->run);
	facts->owner->run = g_strdup("unknown");
	facts->run = g_strdup("unknown");
	derive(facts, &s);
	ck_assert_int_eq(s.same_run, GBE_UNKNOWN);
}
END_TEST

START_TEST(deliberate_is_the_default_entry_moved_from_o_to_d)
{
	static const GbeTri all[] = {GBE_UNKNOWN, GBE_NO, GBE_YES};

	for (guint i = 0; i < 3; i++)
		for (guint k = 0; k < 3; k++) {
			g_autoptr(GbeFacts) facts = device();
			GbeSituation s;
			GbeTri expected = GBE_UNKNOWN;

			facts->owner->was_default = all[i];
			facts->booted_is_default = all[k];
			if (all[i] == GBE_NO || all[k] == GBE_NO)
				expected = GBE_NO;
			else if (all[i] == GBE_YES && all[k] == GBE_YES)
				expected = GBE_YES;
			derive(facts, &s);
			ck_assert_int_eq(s.deliberate, expected);
		}
}
END_TEST

START_TEST(data_contains_what_it_grew_from)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *candidate = facts_backup(facts, 'b', 10, 10, GBE_GRADE_GOOD);
	GbeAncestor parent = {1, 9};
	GbeSituation s;

	derive(facts, &s); /* line 1, at 90 */
	ck_assert_int_eq(s.contains, GBE_YES);

	facts->owner->lineage.line = 50;
	derive(facts, &s);
	ck_assert_int_eq(s.contains, GBE_NO);

	facts->owner->lineage.ancestors = g_array_new(false, false, sizeof(GbeAncestor));
	g_array_append_val(facts->owner->lineage.ancestors, parent);
	derive(facts, &s); /* it left line 1 before the candidate */
	ck_assert_int_eq(s.contains, GBE_NO);
	g_array_index(facts->owner->lineage.ancestors, GbeAncestor, 0).sequence = 10;
	derive(facts, &s);
	ck_assert_int_eq(s.contains, GBE_YES);

	/* "Unknown before here": what began later is not from before. */
	facts->owner->lineage.truncated = true;
	candidate->lineage.line = 2;
	derive(facts, &s);
	ck_assert_int_eq(s.contains, GBE_NO);
	g_array_index(facts->owner->lineage.ancestors, GbeAncestor, 0).line = 3;
	derive(facts, &s);
	ck_assert_int_eq(s.contains, GBE_UNKNOWN);

	candidate->lineage.line = 0;
	derive(facts, &s);
	ck_assert_int_eq(s.contains, GBE_UNKNOWN);

	facts->data = GBE_NO;
	derive(facts, &s);
	ck_assert_int_eq(s.contains, GBE_NO);
}
END_TEST

START_TEST(the_same_commit_is_the_checksum_alone)
{
	g_autoptr(GbeFacts) facts = device();
	GbeSituation s;

	derive(facts, &s);
	ck_assert(!s.same_commit);
	g_free(facts->booted.id);
	facts->booted.id = g_strdup(facts->owner->deployment.id);
	facts->booted.id[strlen(facts->booted.id) - 1] = '1';
	derive(facts, &s);
	ck_assert(s.same_commit);
	ck_assert_int_eq(s.owner, GBE_OWNER_OTHER);
}
END_TEST

START_TEST(the_booted_deployment_is_on_trial_until_a_green_run)
{
	g_autoptr(GbeFacts) update = device(), red = own_trial(GBE_VERDICT_RED);
	g_autoptr(GbeFacts) green = own_trial(GBE_VERDICT_GREEN), lost = device();
	g_autoptr(GbeFacts) own = own_trial(GBE_VERDICT_RED);

	ck_assert(gbe_situation_booted_on_trial(update));
	ck_assert(gbe_situation_booted_on_trial(red));
	ck_assert(!gbe_situation_booted_on_trial(green));
	/* If the ledger has lost records, the owner of the data decides. */
	lost->holes = true;
	ck_assert_int_eq(gbe_situation_trial_of(lost, &lost->booted), GBE_UNKNOWN);
	ck_assert(gbe_situation_booted_on_trial(lost));
	own->holes = true;
	ck_assert_int_eq(gbe_situation_trial_of(own, &own->booted), GBE_UNKNOWN);
	ck_assert(!gbe_situation_booted_on_trial(own));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-situation-trial");
	TCase *tcase = tcase_create("trial");

	tcase_add_test(tcase, a_trial_lasts_until_the_first_green_run);
	tcase_add_test(tcase, a_trial_is_unknown_where_the_past_is_not_whole);
	tcase_add_test(tcase, voters_of_a_trial_are_those_before_it);
	tcase_add_test(tcase, a_green_backup_also_ends_a_trial);
	tcase_add_test(tcase, long_use_ends_a_trial_without_a_verdict);
	tcase_add_test(tcase, a_rollback_may_follow_until_the_trial_is_over);
	tcase_add_test(tcase, the_trial_of_another_is_what_the_ledger_tells);
	tcase_add_test(tcase, use_is_the_closing_records_time_else_what_the_timer_said);
	tcase_add_test(tcase, the_same_run_is_known_to_be_it);
	tcase_add_test(tcase, deliberate_is_the_default_entry_moved_from_o_to_d);
	tcase_add_test(tcase, data_contains_what_it_grew_from);
	tcase_add_test(tcase, the_same_commit_is_the_checksum_alone);
	tcase_add_test(tcase, the_booted_deployment_is_on_trial_until_a_green_run);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
