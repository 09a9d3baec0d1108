/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The candidates for a restore, the chain of bases, and the reasons against a restore. */
#include <stdbool.h>

#include "lib/situation.h"
#include "lib/unit.h"

static void
assert_candidate(const GbeFacts *facts, const GbeManifest *expected)
{
	const GbeManifest *got = gbe_situation_candidate(facts, false);

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
			backup->set_aside = true;
		if (i == 1)
			backup->consumed = true;
		if (i == 2)
			backup->voters = 3;
		if (i == 3) {
			g_free(backup->data_dir);
			backup->data_dir = g_strdup("/elsewhere");
		}
		if (i == 4)
			backup->origin = GBE_ORIGIN_PERIODIC, backup->grade = GBE_GRADE_UNPROVEN,
			backup->trial.on = GBE_YES;
		if (i == 5)
			facts_gone(facts, 'b', 10);
		if (i == 6) {
			g_free(backup->deployment.handle);
			backup->deployment.handle = g_strdup("fs0:another");
		}
		if (i == 7)
			facts_reject(facts, backup->name);
		assert_candidate(facts, NULL);
	}
}
END_TEST

/* Then the state in which D last left the data, no matter which deployment made that backup. */
START_TEST(what_d_left_comes_before_what_is_newer)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *left = facts_backup(facts, 'b', 10, 11, GBE_GRADE_UNPROVEN);
	GbeManifest *newer = facts_backup(facts, 'b', 10, 12, GBE_GRADE_GOOD);
	GbeRunRecord *run = facts_record(facts, 'b', 10, 10, GBE_VERDICT_GREEN);

	assert_candidate(facts, newer);
	gbe_backup_ref_set(&run->left, gbe_manifest_ref(left));
	assert_candidate(facts, left);
	facts_manual(left, "mine");
	gbe_backup_ref_set(&run->left,
			   (GbeBackupRef){.name = (char *)"mine", .sequence = left->sequence});
	assert_candidate(facts, left);
	left->grade = GBE_GRADE_BAD;
	assert_candidate(facts, newer);
	left->grade = GBE_GRADE_GOOD;
	facts_reject(facts, "mine");
	assert_candidate(facts, newer);
}
END_TEST

/* Two backups hold the same state, and the newer one was deleted by hand. */
START_TEST(what_d_left_is_found_in_an_equal_backup)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *equal = facts_backup(facts, 'b', 10, 11, GBE_GRADE_UNPROVEN);
	GbeManifest *newer = facts_backup(facts, 'b', 10, 13, GBE_GRADE_GOOD);
	GbeRunRecord *run = facts_record(facts, 'b', 10, 10, GBE_VERDICT_GREEN);
	GbeBackupRef deleted = gbe_manifest_ref(equal);

	facts_manual(equal, "mine");
	deleted.name = (char *)"deleted";
	deleted.sequence = 12;
	gbe_backup_ref_set(&run->left, deleted);
	assert_candidate(facts, equal);
	equal->grade = GBE_GRADE_BAD;
	assert_candidate(facts, newer);
	equal->grade = GBE_GRADE_UNPROVEN;
	equal->lineage.at = 9; /* an older state */
	assert_candidate(facts, newer);
	equal->lineage.at = 0;
	run->left.line = 0; /* not known: then its name alone counts */
	assert_candidate(facts, newer);
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
	ck_assert_ptr_eq(gbe_situation_candidate(facts, true), new); /* unknown passes */
	facts->etcd_version = gbe_version_parse("3.5.16");
	ck_assert_ptr_eq(gbe_situation_candidate(facts, true), new);
	facts->etcd_version = gbe_version_parse("3.4.30");
	ck_assert_ptr_eq(gbe_situation_candidate(facts, true), old);
	ck_assert_ptr_eq(gbe_situation_candidate(facts, false), new);
	/* The data itself knows better than the records. */
	new->storage_version = g_strdup("3.4");
	ck_assert_ptr_eq(gbe_situation_candidate(facts, true), new);
	facts->etcd_version = gbe_version_parse("3.3.0");
	ck_assert_ptr_null(gbe_situation_candidate(facts, true));
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
		const char *storage;
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
	    {"3.5.16", "3.6.1", NULL, NULL, GBE_YES, "3.5.0"},
	    {"3.5.16", "3.5.16", NULL, NULL, GBE_NO, "3.6.0"},
	    {"3.5.16", NULL, NULL, NULL, GBE_NO, "3.6.0"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = device();
		GbeManifest *candidate = facts_backup(facts, 'b', 10, 10, GBE_GRADE_GOOD);
		GbeSituation s;

		facts->etcd_version = gbe_version_parse(cases[i].etcd);
		facts->cluster_version = gbe_version_parse(cases[i].cluster);
		facts->data_version = gbe_version_parse(cases[i].data);
		facts->storage_version = gbe_version_parse(cases[i].storage);
		candidate->data_version = g_strdup(cases[i].candidate);
		derive(facts, &s);
		ck_assert_msg(s.usable == cases[i].usable, "case %u", i);
	}
}
END_TEST

/* P(O). */
START_TEST(what_the_base_is)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	GbeManifest *base = facts->backups->pdata[0];
	GbeSituation s;

	derive(facts, &s);
	ck_assert_int_eq(s.base, GBE_BASE_VALID);
	base->grade = GBE_GRADE_BAD; /* 10a uses it anyway */
	derive(facts, &s);
	ck_assert_int_eq(s.base, GBE_BASE_BAD);
	ck_assert_int_eq(s.chain_end, GBE_BASE_BAD);
	facts_reject(facts, base->name);
	derive(facts, &s);
	ck_assert_int_eq(s.base, GBE_BASE_NONE);
	g_clear_pointer(&facts->rejected, g_hash_table_unref);
	base->consumed = true;
	derive(facts, &s);
	ck_assert_int_eq(s.base, GBE_BASE_NONE);
	base->consumed = false;
	base->sequence++; /* another one that was given the name */
	derive(facts, &s);
	ck_assert_int_eq(s.base, GBE_BASE_NONE);
	g_ptr_array_set_size(facts->backups, 0);
	derive(facts, &s);
	ck_assert_int_eq(s.base, GBE_BASE_NONE);
	g_ptr_array_set_size(facts->owner->chain, 0);
	derive(facts, &s);
	ck_assert_int_eq(s.base, GBE_BASE_NONE);
	ck_assert(!s.in_chain);
}
END_TEST

/* C is on trial on top of B's failed trial, which is on top of A's good data. */
START_TEST(what_the_chain_names)
{
	g_autoptr(GbeFacts) facts = facts_booted('a', 53);
	GbeManifest *of_a = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	GbeManifest *of_b = facts_backup(facts, 'b', 51, 93, GBE_GRADE_BAD);
	GbeSituation s;
	GbeView view;

	(void)facts_trial(facts, 'c', 52, 94, NULL);
	facts_link(facts->owner, of_b, true);
	facts_link(facts->owner, of_a, false);
	gbe_view_live(facts, &view);
	derive(facts, &s);
	ck_assert_int_eq(s.base, GBE_BASE_BAD);
	ck_assert(s.in_chain);
	ck_assert_int_eq(s.chain_own, GBE_BASE_VALID);
	ck_assert_int_eq(s.chain_end, GBE_BASE_VALID);
	ck_assert_int_eq(s.unwound, GBE_BASE_VALID);
	ck_assert_ptr_eq(gbe_chain_backup(facts, &view, gbe_chain_unwound(facts, &view)), of_a);

	/* A deleted backup is still a link. */
	facts_set_deployment(&facts->booted, 'b');
	g_ptr_array_remove(facts->backups, of_b);
	derive(facts, &s);
	ck_assert_int_eq(s.base, GBE_BASE_NONE);
	ck_assert(s.in_chain);
	ck_assert_int_eq(s.chain_own, GBE_BASE_NONE);
	ck_assert_int_eq(s.chain_end, GBE_BASE_VALID);

	facts_set_deployment(&facts->booted, 'd');
	derive(facts, &s);
	ck_assert(!s.in_chain);
	ck_assert_int_eq(gbe_chain_own(facts, &view), -1);
	/* Failed trials all the way: at the latest the chain's end. */
	((GbeLink *)facts->owner->chain->pdata[1])->failed = true;
	ck_assert_ptr_eq(gbe_chain_backup(facts, &view, gbe_chain_unwound(facts, &view)), of_a);
}
END_TEST

/* Voters. */
START_TEST(who_is_a_cluster)
{
	static const struct {
		guint looked, told;
		bool one;
	} cases[] = {
	    {0, 0, true},
	    {0, 1, true},
	    {0, 3, false},
	    {1, 3, true},
	    {3, 1, false},
	    {GBE_VOTERS_UNCLEAR, 0, false},
	    {GBE_VOTERS_UNCLEAR, 1, true},
	    {GBE_VOTERS_UNCLEAR, 3, false},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = device();
		GbeSituation s;

		facts->voters = cases[i].looked;
		facts->owner->voters = cases[i].told;
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
	facts->owner->closing.present = true;
	facts_set_fingerprint(&facts->owner->closing.fingerprint, 1);
	derive(facts, &s);
	ck_assert_int_eq(s.closing, GBE_CLOSING_EQUAL);
	facts_set_fingerprint(&facts->owner->closing.fingerprint, 2);
	derive(facts, &s);
	ck_assert_int_eq(s.closing, GBE_CLOSING_DIFFERS);
	/* A fact that cannot be computed now never means "another writer". */
	facts->fingerprint.present = false;
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
	a->staged = true;
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
		bool lost;
	} cases[] = {{GBE_YES, GBE_NO, true},
		     {GBE_YES, GBE_YES, false},
		     {GBE_NO, GBE_NO, false},
		     {GBE_UNKNOWN, GBE_NO, false}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = device();
		GbeSituation s;

		facts->owner->mount_point = cases[i].was;
		facts->mount_point = cases[i].is;
		derive(facts, &s);
		ck_assert_int_eq(s.mount_lost, cases[i].lost);
	}
}
END_TEST

/* Views. */
START_TEST(a_view_of_a_backup_is_its_owner_then)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	GbeManifest *base = facts->backups->pdata[0];
	GbeSituation s;
	GbeView view;

	facts->data = GBE_NO;
	gbe_view_backup(facts, base, &view);
	gbe_situation_derive(facts, &view, false, &s);
	ck_assert_int_eq(s.data, GBE_YES);
	ck_assert_int_eq(s.owner, GBE_OWNER_OTHER);
	ck_assert_int_eq(s.verdict, GBE_VERDICT_GREEN);
	ck_assert(s.healthy);
	ck_assert_int_eq(s.trial, GBE_NO);
	ck_assert_int_eq(s.closing, GBE_CLOSING_NONE);
	ck_assert_int_eq(s.sound, GBE_UNKNOWN);
	ck_assert_uint_eq(view.sequence, base->sequence);
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
		ck_assert_int_eq(s.hold_without_backup, all[i] != GBE_NO);
		facts->config->backup.on_upgrade_failure = GBE_UPGRADE_FAIL_REFUSE;
		derive(facts, &s);
		ck_assert(s.hold_without_backup);
		facts->config->backup.on_upgrade_failure = GBE_UPGRADE_FAIL_CONTINUE;
		derive(facts, &s);
		ck_assert(!s.hold_without_backup);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-situation-backups");
	TCase *tcase = tcase_create("backups");

	tcase_add_test(tcase, the_newest_automatic_one_comes_first);
	tcase_add_test(tcase, what_is_never_a_candidate);
	tcase_add_test(tcase, what_d_left_comes_before_what_is_newer);
	tcase_add_test(tcase, what_d_left_is_found_in_an_equal_backup);
	tcase_add_test(tcase, a_usable_candidate_is_one_that_this_etcd_reads);
	tcase_add_test(tcase, what_d_can_use);
	tcase_add_test(tcase, what_the_base_is);
	tcase_add_test(tcase, what_the_chain_names);
	tcase_add_test(tcase, who_is_a_cluster);
	tcase_add_test(tcase, the_closing_record_is_equal_or_not_or_not_there);
	tcase_add_test(tcase, older_is_told_by_the_commits_time);
	tcase_add_test(tcase, a_mount_is_lost_where_there_was_one);
	tcase_add_test(tcase, a_view_of_a_backup_is_its_owner_then);
	tcase_add_test(tcase, on_upgrade_failure_auto_asks_whether_anybody_can_roll_back);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
