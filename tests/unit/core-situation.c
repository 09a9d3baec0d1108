/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From facts to a situation: who is the same, who was green, what was used, what a restore would take. */
#include "lib/facts.h"
#include "lib/unit.h"

#include "core/situation.h"

#define LIMIT 3600

static void
derive(const GbeFacts *facts, GbeSituation *ret_s)
{
	GbeView view;

	gbe_view_live(facts, &view);
	gbe_situation_derive(facts, &view, FALSE, FALSE, ret_s);
}

/* B is booted in run 51 on data of A's run 50, which was green. */
static GbeFacts *
device(void)
{
	GbeFacts *facts = facts_booted('b', 51);

	(void)facts_list(facts, 'b', 2000);
	(void)facts_list(facts, 'a', 1000);
	(void)facts_stamp(facts, 'a', 50, 90);
	(void)facts_record(facts, 'a', 50, 90, GBE_VERDICT_GREEN);
	return facts;
}

/* The data is that of B's own trial, which is in run @run and has P. */
static GbeFacts *
own_trial(GbeVerdict verdict)
{
	GbeFacts *facts = facts_booted('b', 52);
	GbeManifest *previous = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);

	(void)facts_list(facts, 'b', 2000);
	(void)facts_list(facts, 'a', 1000);
	(void)facts_trial(facts, 'b', 51, 92, previous->name);
	facts_record(facts, 'b', 51, 92, verdict)->trial = GBE_YES;
	return facts;
}

/* The same deployment. */

static GbeOwnerIs
owner_when(const char *owner, const char *owner_handle, const char *booted, const char *handle)
{
	g_autoptr(GbeFacts) facts = device();
	GbeSituation s;

	gbe_deployment_clear(&facts->stamp->deployment);
	gbe_deployment_clear(&facts->booted);
	facts->stamp->deployment.id = g_strdup(owner);
	facts->stamp->deployment.handle = g_strdup(owner_handle);
	facts->booted.id = g_strdup(booted);
	facts->booted.handle = g_strdup(handle);
	derive(facts, &s);
	return s.owner;
}

#define SUM64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

START_TEST(ids_are_compared_whole)
{
	static const char *const ids[] = {
	    "os-" SUM64 ".1",  "os-" SUM64 ".10",   "os-" SUM64 ".0",	 "o_s-" SUM64 ".1",
	    "o.s-" SUM64 ".1", "o.s.1-" SUM64 ".1", "os-os-" SUM64 ".1", "my_os.-" SUM64 ".1",
	};

	for (guint i = 0; i < G_N_ELEMENTS(ids); i++)
		for (guint k = 0; k < G_N_ELEMENTS(ids); k++)
			ck_assert_int_eq(owner_when(ids[i], NULL, ids[k], NULL),
					 i == k ? GBE_OWNER_SAME : GBE_OWNER_OTHER);
}
END_TEST

START_TEST(an_equal_id_with_another_handle_is_another_deployment)
{
	const char *id = "os-" SUM64 ".0";

	ck_assert_int_eq(owner_when(id, "aa", id, "aa"), GBE_OWNER_SAME);
	ck_assert_int_eq(owner_when(id, "aa", id, "ab"), GBE_OWNER_OTHER);
	/* Where one is not known the id decides. */
	ck_assert_int_eq(owner_when(id, NULL, id, "ab"), GBE_OWNER_SAME);
	ck_assert_int_eq(owner_when(id, "aa", id, NULL), GBE_OWNER_SAME);
}
END_TEST

START_TEST(an_id_that_was_seen_missing_has_no_past_up_to_then)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	GbeSituation s;

	(void)facts_backup(facts, 'b', 40, 80, GBE_GRADE_GOOD);
	derive(facts, &s);
	ck_assert_int_eq(s.owner, GBE_OWNER_SAME);
	ck_assert(s.candidate);
	ck_assert(gbe_situation_was_green(facts, &facts->booted));

	facts_gone(facts, 'b', 91); /* the stamp is of 92 */
	derive(facts, &s);
	ck_assert_int_eq(s.owner, GBE_OWNER_SAME);
	ck_assert(!s.candidate);
	ck_assert(!gbe_situation_was_green(facts, &facts->booted));

	facts_gone(facts, 'b', 92);
	derive(facts, &s);
	ck_assert_int_eq(s.owner, GBE_OWNER_OTHER);
	ck_assert_int_eq(s.ran, GBE_NO);
}
END_TEST

START_TEST(a_missing_namesake_takes_nothing_from_others)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	GbeSituation s;

	facts_gone(facts, 'c', 1000);
	derive(facts, &s);
	ck_assert_int_eq(s.owner, GBE_OWNER_SAME);
}
END_TEST

/* D ran before: state, stamp or an automatic backup names it. */
START_TEST(who_ran_before)
{
	static const struct {
		const char *what;
		GbeTri ran;
	} cases[] = {{"nothing", GBE_NO},	 {"run", GBE_YES},   {"backup", GBE_YES},
		     {"displaced", GBE_YES},	 {"manual", GBE_NO}, {"copy", GBE_YES},
		     {"lost store", GBE_UNKNOWN}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = device();
		GbeSituation s;

		if (i == 1)
			(void)facts_record(facts, 'b', 10, 10, GBE_VERDICT_RED);
		if (i >= 2 && i <= 4) {
			GbeManifest *backup = facts_backup(facts, 'b', 10, 10, GBE_GRADE_GOOD);

			if (i == 3)
				backup->origin = GBE_ORIGIN_DISPLACED;
			if (i == 4)
				facts_manual(backup, "mine");
		}
		if (i == 5) {
			facts->copy = g_steal_pointer(&facts->stamp);
			(void)facts_stamp(facts, 'b', 10, 10);
			{
				GbeStamp *b = facts->stamp;

				facts->stamp = facts->copy;
				facts->copy = b;
			}
		}
		if (i == 6)
			facts->store = GBE_NO;
		derive(facts, &s);
		ck_assert_msg(s.ran == cases[i].ran, "%s", cases[i].what);
	}
}
END_TEST

/* The state's copy of the stamp. */

static gboolean
believed(const char *copy_handle, const char *data_handle, char copy_owner, gboolean same_ids,
	 GbeTri data)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_stamp(facts, copy_owner, 50, 90);
	facts->copy = g_steal_pointer(&facts->stamp);
	facts->copy->data_handle = g_strdup(copy_handle);
	g_free(facts->data_handle);
	facts->data_handle = g_strdup(data_handle);
	if (!same_ids) {
		g_free(facts->member_id);
		facts->member_id = g_strdup("00000000000000ff");
	}
	facts->data = data;
	return gbe_situation_stamp(facts) == facts->copy;
}

START_TEST(the_copy_is_believed_for_its_own_directory)
{
	/* B is booted. */
	ck_assert(believed("d0", "d0", 'b', TRUE, GBE_YES));
	ck_assert(believed("d0", "d0", 'b', FALSE, GBE_YES));
	/* No data; and a fresh start, which had no directory yet. */
	ck_assert(believed("d0", NULL, 'b', FALSE, GBE_NO));
	ck_assert(believed(NULL, "d1", 'b', FALSE, GBE_YES));
	/* Another directory with the same ids: only of another deployment. */
	ck_assert(believed("d0", "d1", 'a', TRUE, GBE_YES));
	ck_assert(!believed("d0", "d1", 'b', TRUE, GBE_YES));
	ck_assert(!believed("d0", "d1", 'a', FALSE, GBE_YES));
	ck_assert(!believed("d0", NULL, 'b', TRUE, GBE_YES));
}
END_TEST

START_TEST(the_stamp_in_the_data_comes_first)
{
	g_autoptr(GbeFacts) facts = device();

	facts->copy = gbe_stamp_copy(facts->stamp);
	ck_assert_ptr_eq(gbe_situation_stamp(facts), facts->stamp);
	g_clear_pointer(&facts->stamp, gbe_stamp_free);
	g_clear_pointer(&facts->copy, gbe_stamp_free);
	ck_assert_ptr_null(gbe_situation_stamp(facts));
}
END_TEST

START_TEST(nobody_has_data_without_a_stamp)
{
	g_autoptr(GbeFacts) facts = device();
	GbeSituation s;

	g_clear_pointer(&facts->stamp, gbe_stamp_free);
	derive(facts, &s);
	ck_assert_int_eq(s.owner, GBE_OWNER_UNKNOWN);
	ck_assert_int_eq(s.closing, GBE_CLOSING_NONE);
	ck_assert_int_eq(s.same_run, GBE_UNKNOWN);
	ck_assert_int_eq(s.deliberate, GBE_UNKNOWN);
	ck_assert_int_eq(s.used_within, GBE_UNKNOWN);
	ck_assert(!s.judged);
}
END_TEST

/* Trial. */

START_TEST(a_trial_lasts_until_the_first_green_run)
{
	static const struct {
		GbeVerdict verdict;
		GbeTri trial;
		gboolean judged;
	} cases[] = {{GBE_VERDICT_NONE, GBE_YES, FALSE},
		     {GBE_VERDICT_JUDGING, GBE_YES, TRUE},
		     {GBE_VERDICT_RED, GBE_YES, TRUE},
		     {GBE_VERDICT_GREEN, GBE_NO, TRUE}};

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

START_TEST(a_trial_without_a_record_of_its_run_is_unknown)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	GbeSituation s;

	g_ptr_array_set_size(facts->runs, 0);
	derive(facts, &s);
	ck_assert_int_eq(s.trial, GBE_UNKNOWN);
	/* But an earlier green one is enough. */
	(void)facts_record(facts, 'b', 20, 20, GBE_VERDICT_GREEN);
	derive(facts, &s);
	ck_assert_int_eq(s.trial, GBE_NO);
}
END_TEST

START_TEST(a_green_backup_ends_a_trial_too)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	GbeSituation s;

	(void)facts_backup(facts, 'b', 20, 20, GBE_GRADE_GOOD);
	derive(facts, &s);
	ck_assert_int_eq(s.trial, GBE_NO);
}
END_TEST

/* "Where nobody judges, the trial ends once its runs together have used the data for longer than
 * trial-limit." */
START_TEST(long_use_ends_a_trial_that_nobody_judges)
{
	static const struct {
		GbeTri judges;
		gboolean judged; /* one of its earlier runs was */
		gint64 earlier, last;
		GbeTri trial;
	} cases[] = {
	    {GBE_NO, FALSE, 0, LIMIT, GBE_YES},	     {GBE_NO, FALSE, 0, LIMIT + 1, GBE_NO},
	    {GBE_NO, FALSE, LIMIT, 1, GBE_NO},	     {GBE_NO, FALSE, LIMIT - 1, 1, GBE_YES},
	    {GBE_NO, TRUE, 0, 10 * LIMIT, GBE_YES},  {GBE_YES, FALSE, 0, 10 * LIMIT, GBE_YES},
	    {GBE_NO, FALSE, -1, LIMIT, GBE_UNKNOWN}, {GBE_NO, FALSE, 0, -1, GBE_UNKNOWN},
	    {GBE_YES, FALSE, 0, -1, GBE_YES},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_NONE);
		GbeSituation s;

		facts->stamp->trial.judges = cases[i].judges;
		facts->stamp->trial.judged = cases[i].judged;
		facts->stamp->trial.used = cases[i].earlier;
		facts->stamp->closing.present = TRUE;
		facts->stamp->closing.used = cases[i].last;
		derive(facts, &s);
		ck_assert_msg(s.trial == cases[i].trial, "case %u: %s", i,
			      gbe_tri_to_string(s.trial));
	}
}
END_TEST

START_TEST(the_trial_of_another_is_what_records_tell)
{
	g_autoptr(GbeFacts) facts = device();

	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_UNKNOWN);
	facts_record(facts, 'b', 10, 10, GBE_VERDICT_RED)->trial = GBE_YES;
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_YES);
	/* The newest tells: use had ended it by then. */
	facts_backup(facts, 'b', 11, 11, GBE_GRADE_UNPROVEN)->trial.on = GBE_NO;
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_NO);
	facts_record(facts, 'b', 12, 12, GBE_VERDICT_NONE)->trial = GBE_YES;
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_YES);
	/* A manual one says nothing of runs. */
	facts_manual(facts_backup(facts, 'b', 13, 13, GBE_GRADE_UNPROVEN), "mine");
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_YES);
	(void)facts_record(facts, 'b', 9, 9, GBE_VERDICT_GREEN);
	ck_assert_int_eq(gbe_situation_trial_of(facts, &facts->booted), GBE_NO);
}
END_TEST

/* Used. */
START_TEST(use_is_the_closing_records_time_else_to_the_last_write)
{
	static const struct {
		gboolean closing;
		gint64 closing_used, stamped, last_write, earlier;
		gint64 used;
	} cases[] = {
	    {TRUE, 300, 1000, 900000, 0, 300},
	    {TRUE, -1, 1000, 2000, 0, -1},
	    {FALSE, 0, 1000, 1700, 0, 700},
	    {FALSE, 0, 1000, 1700, 50, 750},
	    {FALSE, 0, 1000, 999, 0, -1},
	    {FALSE, 0, 1000, -1, 0, -1},
	    {FALSE, 0, 0, 1700, 0, -1},
	    {FALSE, 0, 1000, 1700, -1, -1},
	    {FALSE, 0, 1000, 1000 + LIMIT, 0, LIMIT},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
		GbeSituation s;
		GbeView view;

		facts->stamp->closing.present = cases[i].closing;
		facts->stamp->closing.used = cases[i].closing_used;
		facts->stamp->stamped = cases[i].stamped;
		facts->stamp->trial.used = cases[i].earlier;
		facts->last_write = cases[i].last_write;
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

	derive(facts, &s);
	ck_assert_int_eq(s.same_run, GBE_NO);
	g_free(facts->run);
	facts->run = g_strdup(facts->stamp->run);
	derive(facts, &s);
	ck_assert_int_eq(s.same_run, GBE_YES);
	g_free(facts->run);
	facts->run = g_strdup_printf("%s+1", facts->stamp->run); /* a soft reboot */
	derive(facts, &s);
	ck_assert_int_eq(s.same_run, GBE_NO);
	g_clear_pointer(&facts->run, g_free);
	derive(facts, &s);
	ck_assert_int_eq(s.same_run, GBE_UNKNOWN);
	/* Two runs that could not be told are not the same one. */
	g_free(facts->stamp->run);
	facts->stamp->run = g_strdup("unknown");
	facts->run = g_strdup("unknown");
	derive(facts, &s);
	ck_assert_int_eq(s.same_run, GBE_UNKNOWN);
}
END_TEST

/* A return. */

START_TEST(deliberate_is_the_default_entry_moved_from_o_to_d)
{
	static const GbeTri all[] = {GBE_UNKNOWN, GBE_NO, GBE_YES};

	for (guint i = 0; i < 3; i++)
		for (guint k = 0; k < 3; k++) {
			g_autoptr(GbeFacts) facts = device();
			GbeSituation s;
			GbeTri expected = GBE_UNKNOWN;

			facts->stamp->was_default = all[i];
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

	facts->stamp->lineage.line = 50;
	derive(facts, &s);
	ck_assert_int_eq(s.contains, GBE_NO);

	facts->stamp->lineage.ancestors = g_array_new(FALSE, FALSE, sizeof(GbeAncestor));
	g_array_append_val(facts->stamp->lineage.ancestors, parent);
	derive(facts, &s); /* it left line 1 before the candidate */
	ck_assert_int_eq(s.contains, GBE_NO);
	g_array_index(facts->stamp->lineage.ancestors, GbeAncestor, 0).sequence = 10;
	derive(facts, &s);
	ck_assert_int_eq(s.contains, GBE_YES);

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
	facts->booted.id = g_strdup(facts->stamp->deployment.id);
	facts->booted.id[strlen(facts->booted.id) - 1] = '1';
	derive(facts, &s);
	ck_assert(s.same_commit);
	ck_assert_int_eq(s.owner, GBE_OWNER_OTHER);
}
END_TEST

/* Candidates. */

static void
assert_candidate(const GbeFacts *facts, const GbeManifest *expected)
{
	const GbeManifest *got = gbe_situation_candidate(facts, FALSE);

	ck_assert_msg(got == expected, "%s instead of %s", got != NULL ? got->name : "none",
		      expected != NULL ? expected->name : "none");
}

START_TEST(the_newest_automatic_one_comes_first)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *old = facts_backup(facts, 'b', 10, 10, GBE_GRADE_GOOD);
	GbeManifest *unproven = facts_backup(facts, 'b', 12, 12, GBE_GRADE_UNPROVEN);
	GbeManifest *manual = facts_backup(facts, 'b', 13, 13, GBE_GRADE_GOOD);

	facts_manual(manual, "mine");
	(void)facts_backup(facts, 'a', 14, 14, GBE_GRADE_GOOD);
	(void)facts_backup(facts, '-', 0, 15, GBE_GRADE_GOOD);
	facts_backup(facts, 'b', 16, 16, GBE_GRADE_BAD)->created = 99999999;
	assert_candidate(facts, unproven);
	facts_reject(facts, unproven->name);
	assert_candidate(facts, old);
	old->grade = GBE_GRADE_BAD;
	assert_candidate(facts, manual); /* after the automatic ones */
	manual->grade = GBE_GRADE_BAD;
	assert_candidate(facts, NULL);
}
END_TEST

START_TEST(what_is_never_a_candidate)
{
	for (guint i = 0; i < 8; i++) {
		g_autoptr(GbeFacts) facts = device();
		GbeManifest *backup = facts_backup(facts, 'b', 10, 10, GBE_GRADE_GOOD);

		assert_candidate(facts, backup);
		if (i == 0)
			backup->set_aside = TRUE;
		if (i == 1)
			backup->consumed = TRUE;
		if (i == 2)
			backup->voters = 3;
		if (i == 3) {
			g_free(backup->data_dir);
			backup->data_dir = g_strdup("/elsewhere");
		}
		if (i == 4)
			facts_attempts(facts, backup->name, 'b', GBE_ATTEMPTS_MAX);
		if (i == 5)
			facts_gone(facts, 'b', 10);
		if (i == 6) {
			g_free(backup->deployment.handle);
			backup->deployment.handle = g_strdup("another");
		}
		if (i == 7)
			facts_reject(facts, backup->name);
		assert_candidate(facts, NULL);
	}
}
END_TEST

START_TEST(attempts_are_of_a_backup_and_a_deployment)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *backup = facts_backup(facts, 'b', 10, 10, GBE_GRADE_GOOD);

	facts_attempts(facts, backup->name, 'b', GBE_ATTEMPTS_MAX - 1);
	facts_attempts(facts, backup->name, 'a', GBE_ATTEMPTS_MAX);
	facts_attempts(facts, "another", 'b', GBE_ATTEMPTS_MAX);
	assert_candidate(facts, backup);
}
END_TEST

START_TEST(a_usable_candidate_is_one_that_this_etcd_reads)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *old = facts_backup(facts, 'b', 10, 10, GBE_GRADE_GOOD);
	GbeManifest *new = facts_backup(facts, 'b', 11, 11, GBE_GRADE_GOOD);
	GbeSituation s;

	old->etcd_version = g_strdup("3.4");
	new->etcd_version = g_strdup("3.5");
	ck_assert_ptr_eq(gbe_situation_candidate(facts, TRUE), new); /* unknown passes */
	facts->etcd_version = gbe_version_parse("3.5.16");
	ck_assert_ptr_eq(gbe_situation_candidate(facts, TRUE), new);
	facts->etcd_version = gbe_version_parse("3.4.30");
	ck_assert_ptr_eq(gbe_situation_candidate(facts, TRUE), old);
	ck_assert_ptr_eq(gbe_situation_candidate(facts, FALSE), new);
	facts->etcd_version = gbe_version_parse("3.3.0");
	ck_assert_ptr_null(gbe_situation_candidate(facts, TRUE));
	derive(facts, &s);
	ck_assert(s.candidate);
	ck_assert(!s.usable_candidate);
}
END_TEST

START_TEST(what_d_can_use)
{
	static const struct {
		const char *etcd, *cluster, *data, *candidate;
		GbeTri usable;
	} cases[] = {
	    {"3.5.16", "3.5.0", NULL, NULL, GBE_YES},
	    {"3.4.30", "3.5.0", NULL, NULL, GBE_NO},
	    {"3.6.1", "3.5.0", NULL, NULL, GBE_YES},
	    {NULL, "3.5.0", NULL, NULL, GBE_UNKNOWN},
	    {"3.5.16", NULL, NULL, NULL, GBE_UNKNOWN},
	    {"3.5.16", "3.5.0", "4.20", "4.19", GBE_NO},
	    {"3.5.16", "3.5.0", "4.19", "4.19", GBE_YES},
	    {"3.5.16", "3.5.0", "4.20", NULL, GBE_YES},
	    {NULL, NULL, "4.20", "4.19", GBE_NO},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = device();
		GbeManifest *candidate = facts_backup(facts, 'b', 10, 10, GBE_GRADE_GOOD);
		GbeSituation s;

		facts->etcd_version = gbe_version_parse(cases[i].etcd);
		facts->cluster_version = gbe_version_parse(cases[i].cluster);
		facts->data_version = gbe_version_parse(cases[i].data);
		candidate->data_version = g_strdup(cases[i].candidate);
		derive(facts, &s);
		ck_assert_msg(s.usable == cases[i].usable, "case %u", i);
	}
}
END_TEST

/* P(O). */
START_TEST(what_p_is)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	GbeManifest *previous = facts->backups->pdata[0];
	GbeSituation s;

	derive(facts, &s);
	ck_assert_int_eq(s.previous, GBE_PREVIOUS_OWNED);
	ck_assert(s.previous_valid);
	previous->grade = GBE_GRADE_BAD; /* 10a takes it all the same */
	derive(facts, &s);
	ck_assert_int_eq(s.previous, GBE_PREVIOUS_OWNED);
	ck_assert(!s.previous_valid);
	facts_reject(facts, previous->name);
	derive(facts, &s);
	ck_assert_int_eq(s.previous, GBE_PREVIOUS_REJECTED);
	g_clear_pointer(&facts->rejected, g_hash_table_unref);
	gbe_deployment_clear(&previous->deployment);
	derive(facts, &s);
	ck_assert_int_eq(s.previous, GBE_PREVIOUS_ADOPTED);
	facts_attempts(facts, previous->name, 'b', GBE_ATTEMPTS_MAX);
	derive(facts, &s);
	ck_assert_int_eq(s.previous, GBE_PREVIOUS_NONE);
	g_ptr_array_set_size(facts->attempts, 0);
	previous->consumed = TRUE;
	derive(facts, &s);
	ck_assert_int_eq(s.previous, GBE_PREVIOUS_NONE);
	g_ptr_array_set_size(facts->backups, 0);
	derive(facts, &s);
	ck_assert_int_eq(s.previous, GBE_PREVIOUS_NONE);
	ck_assert(!s.previous_valid);
}
END_TEST

/* Voters. */
START_TEST(who_is_a_cluster)
{
	static const struct {
		guint looked, stamp;
		gboolean one;
	} cases[] = {
	    {0, 0, TRUE},
	    {0, 1, TRUE},
	    {0, 3, FALSE},
	    {1, 3, TRUE},
	    {3, 1, FALSE},
	    {GBE_VOTERS_UNCLEAR, 0, FALSE},
	    {GBE_VOTERS_UNCLEAR, 1, TRUE},
	    {GBE_VOTERS_UNCLEAR, 3, FALSE},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = device();
		GbeSituation s;

		facts->voters = cases[i].looked;
		facts->stamp->voters = cases[i].stamp;
		derive(facts, &s);
		ck_assert_msg(s.one_voter == cases[i].one, "case %u", i);
	}
}
END_TEST

/* The closing record. */
START_TEST(the_closing_record_is_equal_or_not_or_not_there)
{
	g_autoptr(GbeFacts) facts = device();
	GbeSituation s;

	derive(facts, &s);
	ck_assert_int_eq(s.closing, GBE_CLOSING_NONE);
	facts->stamp->closing.present = TRUE;
	facts_set_fingerprint(&facts->stamp->closing.fingerprint, 1);
	derive(facts, &s);
	ck_assert_int_eq(s.closing, GBE_CLOSING_EQUAL);
	facts_set_fingerprint(&facts->stamp->closing.fingerprint, 2);
	derive(facts, &s);
	ck_assert_int_eq(s.closing, GBE_CLOSING_DIFFERS);
	/* What cannot be computed now is never "somebody else wrote". */
	facts->fingerprint.present = FALSE;
	derive(facts, &s);
	ck_assert_int_eq(s.closing, GBE_CLOSING_NONE);
}
END_TEST

START_TEST(older_is_told_by_the_commits_time)
{
	g_autoptr(GbeFacts) facts = device(); /* b of 2000, a of 1000 */
	GbeListed *a = facts->listed->pdata[1];
	GbeSituation s;

	derive(facts, &s);
	ck_assert_int_eq(s.older_listed, GBE_YES);
	a->timestamp = 3000;
	derive(facts, &s);
	ck_assert_int_eq(s.older_listed, GBE_NO);
	a->timestamp = 2000; /* the same commit: the boot order tells */
	derive(facts, &s);
	ck_assert_int_eq(s.older_listed, GBE_YES);
	a->timestamp = 1000;
	a->staged = TRUE;
	derive(facts, &s);
	ck_assert_int_eq(s.older_listed, GBE_NO);
	g_ptr_array_remove_index(facts->listed, 0);
	derive(facts, &s);
	ck_assert_int_eq(s.older_listed, GBE_UNKNOWN);
	g_clear_pointer(&facts->listed, g_ptr_array_unref);
	derive(facts, &s);
	ck_assert_int_eq(s.older_listed, GBE_UNKNOWN);
}
END_TEST

START_TEST(a_mount_is_lost_where_there_was_one)
{
	static const struct {
		GbeTri was, is;
		gboolean lost;
	} cases[] = {{GBE_YES, GBE_NO, TRUE},
		     {GBE_YES, GBE_YES, FALSE},
		     {GBE_NO, GBE_NO, FALSE},
		     {GBE_UNKNOWN, GBE_NO, FALSE}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = device();
		GbeSituation s;

		facts->stamp->mount_point = cases[i].was;
		facts->mount_point = cases[i].is;
		derive(facts, &s);
		ck_assert_int_eq(s.mount_lost, cases[i].lost);
	}
}
END_TEST

/* Requests. */

static GbeFacts *
requested(GbeManifest **ret_backup)
{
	GbeFacts *facts = device();

	*ret_backup = facts_backup(facts, 'b', 10, 10, GBE_GRADE_GOOD);
	facts->request.kind = GBE_REQUEST_RESTORE;
	facts->request.name = g_strdup((*ret_backup)->name);
	facts->request.run = facts_run(50);
	return facts;
}

static GbeRequestIs
request_is(const GbeFacts *facts)
{
	GbeSituation s;

	derive(facts, &s);
	return s.request;
}

START_TEST(a_request_is_due_in_a_later_run)
{
	g_autoptr(GbeFacts) facts = NULL;
	GbeManifest *backup;
	GbeSituation s;
	GbeView view;

	facts = requested(&backup);
	ck_assert_int_eq(request_is(facts), GBE_REQUEST_IS_READY);
	ck_assert_ptr_eq(gbe_situation_request(facts), backup);
	/* Not again in the pass that looks at what it put in place. */
	gbe_view_live(facts, &view);
	gbe_situation_derive(facts, &view, TRUE, FALSE, &s);
	ck_assert_int_eq(s.request, GBE_REQUEST_IS_NONE);
	ck_assert(s.requested);

	g_free(facts->request.run);
	facts->request.run = g_strdup(facts->run);
	ck_assert_int_eq(request_is(facts), GBE_REQUEST_IS_NONE);
	facts->request.from_cmdline = TRUE;
	ck_assert_int_eq(request_is(facts), GBE_REQUEST_IS_READY);
	facts->request.from_cmdline = FALSE;
	g_clear_pointer(&facts->run, g_free);
	ck_assert_int_eq(request_is(facts), GBE_REQUEST_IS_NONE);
}
END_TEST

START_TEST(what_makes_a_request_impossible_and_what_force_overrides)
{
	static const struct {
		const char *what;
		GbeRequestIs forced;
	} cases[] = {
	    {"it is not there", GBE_REQUEST_IS_IMPOSSIBLE},
	    {"it was consumed", GBE_REQUEST_IS_IMPOSSIBLE},
	    {"it did not validate", GBE_REQUEST_IS_IMPOSSIBLE},
	    {"somebody said why not", GBE_REQUEST_IS_IMPOSSIBLE},
	    {"it is bad", GBE_REQUEST_IS_READY},
	    {"it is a cluster's", GBE_REQUEST_IS_READY},
	    {"the data is a cluster's", GBE_REQUEST_IS_READY},
	    {"it is of another directory", GBE_REQUEST_IS_READY},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = NULL;
		GbeManifest *backup;

		facts = requested(&backup);
		if (i == 0)
			facts_rename(backup, "another");
		backup->consumed = i == 1;
		if (i == 2)
			facts_reject(facts, backup->name);
		if (i == 3)
			facts->request_why = g_strdup("its manifest is damaged");
		if (i == 4)
			backup->grade = GBE_GRADE_BAD;
		if (i == 5)
			backup->voters = 3;
		if (i == 6)
			facts->voters = 3;
		if (i == 7) {
			g_free(backup->data_dir);
			backup->data_dir = g_strdup("/elsewhere");
		}
		ck_assert_msg(request_is(facts) == GBE_REQUEST_IS_IMPOSSIBLE, "%s", cases[i].what);
		facts->request.force = TRUE;
		ck_assert_msg(request_is(facts) == cases[i].forced, "forced: %s", cases[i].what);
	}
}
END_TEST

START_TEST(last_good_is_the_booted_ones_own_first)
{
	g_autoptr(GbeFacts) facts = NULL;
	GbeManifest *own, *others;

	facts = requested(&own);
	others = facts_backup(facts, 'a', 12, 12, GBE_GRADE_GOOD);
	(void)facts_backup(facts, 'b', 13, 13, GBE_GRADE_UNPROVEN);
	facts->request.kind = GBE_REQUEST_LAST_GOOD;
	ck_assert_ptr_eq(gbe_situation_request(facts), own);
	own->grade = GBE_GRADE_UNPROVEN;
	ck_assert_ptr_eq(gbe_situation_request(facts), others);
	others->consumed = TRUE;
	ck_assert_ptr_null(gbe_situation_request(facts));
	ck_assert_int_eq(request_is(facts), GBE_REQUEST_IS_IMPOSSIBLE);
}
END_TEST

START_TEST(undo_is_what_the_last_restore_displaced)
{
	g_autoptr(GbeFacts) facts = NULL;
	GbeManifest *backup;

	facts = requested(&backup);
	facts->request.kind = GBE_REQUEST_UNDO;
	ck_assert_int_eq(request_is(facts), GBE_REQUEST_IS_IMPOSSIBLE);
	facts->undo = g_strdup(backup->name);
	backup->set_aside = TRUE;
	ck_assert_int_eq(request_is(facts), GBE_REQUEST_IS_READY);
	ck_assert_ptr_eq(gbe_situation_request(facts), backup);
}
END_TEST

/* Views. */
START_TEST(a_view_of_a_backup_is_its_owner_then)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	GbeManifest *previous = facts->backups->pdata[0];
	GbeSituation s;
	GbeView view;

	previous->previous = g_strdup("before-that");
	facts->data = GBE_NO;
	gbe_view_backup(facts, previous, &view);
	gbe_situation_derive(facts, &view, FALSE, FALSE, &s);
	ck_assert_int_eq(s.data, GBE_YES);
	ck_assert_int_eq(s.owner, GBE_OWNER_OTHER);
	ck_assert_int_eq(s.verdict, GBE_VERDICT_GREEN);
	ck_assert(s.healthy);
	ck_assert_int_eq(s.trial, GBE_NO);
	ck_assert_int_eq(s.closing, GBE_CLOSING_NONE);
	ck_assert_int_eq(s.sound, GBE_UNKNOWN);
	ck_assert_str_eq(view.previous, "before-that");
	ck_assert_uint_eq(view.sequence, previous->sequence);
}
END_TEST

START_TEST(on_upgrade_failure_auto_asks_whether_anybody_can_roll_back)
{
	static const GbeTri all[] = {GBE_UNKNOWN, GBE_NO, GBE_YES};

	for (guint i = 0; i < 3; i++) {
		g_autoptr(GbeFacts) facts = device();
		GbeSituation s;

		facts->can_roll_back = all[i];
		derive(facts, &s);
		ck_assert_int_eq(s.hold_without_backup, all[i] == GBE_YES);
		facts->config->backup.on_upgrade_failure = GBE_UPGRADE_FAIL_REFUSE;
		derive(facts, &s);
		ck_assert(s.hold_without_backup);
		facts->config->backup.on_upgrade_failure = GBE_UPGRADE_FAIL_CONTINUE;
		derive(facts, &s);
		ck_assert(!s.hold_without_backup);
	}
}
END_TEST

static void
add_deployments(TCase *tcase)
{
	tcase_add_test(tcase, ids_are_compared_whole);
	tcase_add_test(tcase, an_equal_id_with_another_handle_is_another_deployment);
	tcase_add_test(tcase, an_id_that_was_seen_missing_has_no_past_up_to_then);
	tcase_add_test(tcase, a_missing_namesake_takes_nothing_from_others);
	tcase_add_test(tcase, who_ran_before);
	tcase_add_test(tcase, the_copy_is_believed_for_its_own_directory);
	tcase_add_test(tcase, the_stamp_in_the_data_comes_first);
	tcase_add_test(tcase, nobody_has_data_without_a_stamp);
}

static void
add_trial(TCase *tcase)
{
	tcase_add_test(tcase, a_trial_lasts_until_the_first_green_run);
	tcase_add_test(tcase, a_trial_without_a_record_of_its_run_is_unknown);
	tcase_add_test(tcase, a_green_backup_ends_a_trial_too);
	tcase_add_test(tcase, long_use_ends_a_trial_that_nobody_judges);
	tcase_add_test(tcase, the_trial_of_another_is_what_records_tell);
	tcase_add_test(tcase, use_is_the_closing_records_time_else_to_the_last_write);
	tcase_add_test(tcase, the_same_run_is_known_to_be_it);
	tcase_add_test(tcase, deliberate_is_the_default_entry_moved_from_o_to_d);
	tcase_add_test(tcase, data_contains_what_it_grew_from);
	tcase_add_test(tcase, the_same_commit_is_the_checksum_alone);
}

static void
add_backups(TCase *tcase)
{
	tcase_add_test(tcase, the_newest_automatic_one_comes_first);
	tcase_add_test(tcase, what_is_never_a_candidate);
	tcase_add_test(tcase, attempts_are_of_a_backup_and_a_deployment);
	tcase_add_test(tcase, a_usable_candidate_is_one_that_this_etcd_reads);
	tcase_add_test(tcase, what_d_can_use);
	tcase_add_test(tcase, what_p_is);
	tcase_add_test(tcase, who_is_a_cluster);
	tcase_add_test(tcase, the_closing_record_is_equal_or_not_or_not_there);
	tcase_add_test(tcase, older_is_told_by_the_commits_time);
	tcase_add_test(tcase, a_mount_is_lost_where_there_was_one);
	tcase_add_test(tcase, a_view_of_a_backup_is_its_owner_then);
	tcase_add_test(tcase, on_upgrade_failure_auto_asks_whether_anybody_can_roll_back);
}

static void
add_requests(TCase *tcase)
{
	tcase_add_test(tcase, a_request_is_due_in_a_later_run);
	tcase_add_test(tcase, what_makes_a_request_impossible_and_what_force_overrides);
	tcase_add_test(tcase, last_good_is_the_booted_ones_own_first);
	tcase_add_test(tcase, undo_is_what_the_last_restore_displaced);
}

int
main(void)
{
	Suite *suite = suite_create("core-situation");
	TCase *tcase = tcase_create("derivation");

	add_deployments(tcase);
	add_trial(tcase);
	add_backups(tcase);
	add_requests(tcase);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
