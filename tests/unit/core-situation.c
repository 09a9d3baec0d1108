/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The owner of the data: the same deployment, deployments that ran before, and the take-over that counts. */
#include "lib/situation.h"
#include "lib/unit.h"

#include "core/decide/past.h"

static GbeOwnerIs
owner_when(const char *owner, const char *owner_handle, const char *booted, const char *handle)
{
	g_autoptr(GbeFacts) facts = device();
	GbeSituation s;

	gbe_deployment_clear(&facts->owner->deployment);
	gbe_deployment_clear(&facts->booted);
	facts->owner->deployment.id = g_strdup(owner);
	facts->owner->deployment.handle = g_strdup(owner_handle);
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

	ck_assert_int_eq(owner_when(id, "fs:aa", id, "fs:aa"), GBE_OWNER_SAME);
	ck_assert_int_eq(owner_when(id, "fs:aa", id, "fs:ab"), GBE_OWNER_OTHER);
	/* If one is unknown or on another file system, the id decides. */
	ck_assert_int_eq(owner_when(id, NULL, id, "fs:ab"), GBE_OWNER_SAME);
	ck_assert_int_eq(owner_when(id, "fs:aa", id, NULL), GBE_OWNER_SAME);
	ck_assert_int_eq(owner_when(id, "fs:aa", id, "other:ab"), GBE_OWNER_SAME);
	ck_assert_int_eq(owner_when(id, "aa", id, "ab"), GBE_OWNER_SAME);
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

	facts_gone(facts, 'b', 91); /* the take-over is of 92 */
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

/* An unmounted /boot empties the list once: where handles can be compared they alone decide. */
START_TEST(equal_handles_say_that_nothing_was_missing)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	GbeSituation s;

	facts_gone(facts, 'b', 92);
	facts_set_deployment(&facts->booted, 'b');
	derive(facts, &s);
	ck_assert_int_eq(s.owner, GBE_OWNER_SAME);
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

/* "The ledger says that this same deployment took the data over", and nothing else says so. */
START_TEST(a_member_that_has_others_is_held_without_its_log)
{
	for (guint n = 0; n < 16; n++) {
		g_autoptr(GbeFacts) facts = device();
		GbeSituation s;

		facts->member = n & 1;
		facts->began = n & 2;
		facts->voters = n & 4 ? 3 : 1;
		facts->log = n & 8 ? GBE_YES : GBE_NO;
		derive(facts, &s);
		ck_assert(!s.log_lost);
		facts->log_seen = true;
		derive(facts, &s);
		ck_assert_int_eq(s.log_lost, !(n & 8) && (n & 1 || (n & 2 && n & 4)));
		ck_assert(!s.emptied);
		facts->joining = true;
		derive(facts, &s);
		ck_assert(s.emptied);
		facts->leaving = g_strdup("cluster leave");
		derive(facts, &s);
		ck_assert(s.log_lost == !(n & 8));
		facts->log = GBE_UNKNOWN;
		derive(facts, &s);
		ck_assert(!s.log_lost);
		facts->data = GBE_NO;
		derive(facts, &s);
		ck_assert(s.log_lost);
	}
}
END_TEST

START_TEST(who_ran_before)
{
	static const struct {
		const char *what;
		GbeTri ran;
	} cases[] = {{"nothing", GBE_NO},    {"run", GBE_YES},	      {"backup", GBE_NO},
		     {"displaced", GBE_NO},  {"unfinished", GBE_YES}, {"no ledger", GBE_UNKNOWN},
		     {"a hole", GBE_UNKNOWN}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = device();
		GbeSituation s;

		if (i == 1 || i == 4)
			facts_record(facts, 'b', 10, 10, GBE_VERDICT_RED)->ended = i == 1;
		if (i == 2 || i == 3)
			facts_backup(facts, 'b', 10, 10, GBE_GRADE_UNPROVEN)->origin =
			    i == 2 ? GBE_ORIGIN_AUTOMATIC : GBE_ORIGIN_DISPLACED;
		if (i == 5)
			facts->ledger = GBE_UNKNOWN;
		facts->holes = i == 6;
		derive(facts, &s);
		ck_assert_msg(s.ran == cases[i].ran, "%s", cases[i].what);
	}
}
END_TEST

/* "What a deployment last left counts only take-overs whose prerun came to its end." */
START_TEST(what_a_deployment_left_is_of_a_run_that_began)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *first = facts_backup(facts, 'b', 10, 11, GBE_GRADE_GOOD);
	GbeManifest *second = facts_backup(facts, 'b', 12, 13, GBE_GRADE_GOOD);
	GbeRunRecord *run;

	run = facts_record(facts, 'b', 10, 10, GBE_VERDICT_RED);
	gbe_backup_ref_set(&run->left, gbe_manifest_ref(first));
	ck_assert_ptr_eq(gbe_situation_left(facts, &facts->booted).backup, first);
	run = facts_record(facts, 'b', 12, 12, GBE_VERDICT_NONE);
	gbe_backup_ref_set(&run->left, gbe_manifest_ref(second));
	ck_assert_ptr_eq(gbe_situation_left(facts, &facts->booted).backup, second);
	run->ended = false;
	ck_assert_ptr_eq(gbe_situation_left(facts, &facts->booted).backup, first);
	/* A name that was given out again. */
	first->sequence = 14;
	ck_assert_ptr_null(gbe_situation_left(facts, &facts->booted).backup);
}
END_TEST

/* After a failed update the backup of the chain counts; at a return only what D left does. */
START_TEST(a_state_that_cannot_be_read)
{
	for (guint n = 0; n < 8; n++) {
		bool failed = (n & 1) != 0, in_chain = (n & 2) != 0, left = (n & 4) != 0;
		g_autoptr(GbeFacts) facts = device();
		g_autoptr(GbeManifest) away = gbe_manifest_new();
		GbeRunRecord *run = facts_record(facts, 'b', 10, 10, GBE_VERDICT_GREEN);
		GbeSituation s;
		GbeView view;

		away->name = g_strdup("away");
		away->sequence = 12;
		gbe_deployment_copy(&away->deployment, &facts->booted);
		if (in_chain)
			facts_link(facts_owner(facts, 'c', 20, 20), away, false);
		if (left)
			gbe_backup_ref_set(&run->left, gbe_manifest_ref(away));
		for (guint unread = 0; unread < 2; unread++) {
			if (unread)
				facts->unread = g_strdup("away: Input/output error");
			gbe_view_live(facts, &view);
			view.trial.on = gbe_tri(failed);
			gbe_situation_derive(facts, &view, false, &s);
			ck_assert_msg(s.unseen == (unread && (failed && in_chain ? true : left)),
				      "%u", n);
		}
	}
}
END_TEST

/* The table of "Which data is it?": A had it last (90), B before that (80). */
static GbeFacts *
found(const char *tree, const char *ledger, guint64 nonce)
{
	GbeFacts *facts = device();

	(void)facts_owner(facts, 'b', 40, 80);
	(void)facts_recorded(facts);
	(void)facts_owner(facts, 'a', 50, 90);
	facts->owner->closing.present = true;
	(void)facts_recorded(facts);
	g_clear_pointer(&facts->owner, gbe_take_over_free);
	g_free(facts->tree);
	facts->tree = g_strdup(tree);
	facts->nonce.ledger = g_strdup(ledger);
	facts->nonce.sequence = nonce;
	if (ledger != NULL)
		facts->nonce.nonce =
		    g_strdup_printf("%016" G_GINT64_MODIFIER "x", nonce == 81 ? 80 : nonce);
	gbe_identify(facts);
	return facts;
}

START_TEST(which_data_it_is)
{
	static const char own[] = "00000000000000ff", other[] = "00000000000000fe";
	static const struct {
		const char *tree, *ledger;
		guint64 nonce;
		guint64 owner; /* 0: unknown */
		bool stranger, closing;
	} cases[] = {
	    {"fs0:d0", own, 90, 90, false, true},   {"fs0:d0", own, 80, 90, false, false},
	    {"fs0:d0", NULL, 0, 90, true, false},   {"fs0:d0", own, 81, 90, true, false},
	    {"fs0:d0", own, 100, 0, true, false},   {"fs0:d0", other, 90, 0, true, false},
	    {"fs1:d0", own, 90, 90, false, false},  {"fs1:d0", own, 80, 80, false, false},
	    {"fs1:d0", NULL, 0, 0, false, false},   {"fs1:d0", own, 81, 0, false, false},
	    {"fs1:d0", other, 90, 0, false, false}, {NULL, NULL, 0, 0, false, false},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = found(cases[i].tree, cases[i].ledger, cases[i].nonce);
		guint64 owner = facts->owner != NULL ? facts->owner->sequence : 0;

		ck_assert_msg(owner == cases[i].owner, "case %u: %" G_GUINT64_FORMAT, i, owner);
		ck_assert_msg(facts->stranger == cases[i].stranger, "case %u: stranger", i);
		ck_assert(owner != 0 || facts->owner_why != NULL);
		if (owner != 0)
			ck_assert_msg(facts->owner->closing.present == cases[i].closing,
				      "case %u: closing", i);
	}
}
END_TEST

START_TEST(the_owner_of_missing_and_of_handed_back_data)
{
	g_autoptr(GbeFacts) none = found("fs0:d0", NULL, 0), back = NULL, lost = NULL;

	none->data = GBE_NO;
	g_clear_pointer(&none->tree, g_free);
	gbe_identify(none);
	ck_assert_uint_eq(none->owner->sequence, 90);
	none->ledger = GBE_UNKNOWN;
	gbe_identify(none);
	ck_assert_ptr_null(none->owner);

	back = found("fs0:d0", "00000000000000ff", 90);
	back->handed_back = true;
	gbe_identify(back);
	ck_assert_ptr_null(back->owner);
	ck_assert_ptr_nonnull(strstr(back->owner_why, "handed back"));

	lost = found("fs0:d0", NULL, 0);
	g_ptr_array_set_size(lost->take_overs, 0);
	gbe_identify(lost);
	ck_assert_ptr_null(lost->owner);
}
END_TEST

START_TEST(data_unknown_to_the_ledger_has_no_owner)
{
	g_autoptr(GbeFacts) facts = device();
	GbeSituation s;

	g_clear_pointer(&facts->owner, gbe_take_over_free);
	derive(facts, &s);
	ck_assert_int_eq(s.owner, GBE_OWNER_UNKNOWN);
	ck_assert_int_eq(s.closing, GBE_CLOSING_NONE);
	ck_assert_int_eq(s.same_run, GBE_UNKNOWN);
	ck_assert_int_eq(s.deliberate, GBE_UNKNOWN);
	ck_assert_int_eq(s.used_within, GBE_UNKNOWN);
	ck_assert(!s.judged);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-situation");
	TCase *tcase = tcase_create("owner");

	tcase_add_test(tcase, ids_are_compared_whole);
	tcase_add_test(tcase, an_equal_id_with_another_handle_is_another_deployment);
	tcase_add_test(tcase, an_id_that_was_seen_missing_has_no_past_up_to_then);
	tcase_add_test(tcase, a_missing_namesake_takes_nothing_from_others);
	tcase_add_test(tcase, a_member_that_has_others_is_held_without_its_log);
	tcase_add_test(tcase, who_ran_before);
	tcase_add_test(tcase, what_a_deployment_left_is_of_a_run_that_began);
	tcase_add_test(tcase, a_state_that_cannot_be_read);
	tcase_add_test(tcase, which_data_it_is);
	tcase_add_test(tcase, the_owner_of_missing_and_of_handed_back_data);
	tcase_add_test(tcase, equal_handles_say_that_nothing_was_missing);
	tcase_add_test(tcase, data_unknown_to_the_ledger_has_no_owner);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
