/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whose data it is: who is the same deployment, who ran before, and which stamp is believed. */
#include "lib/situation.h"
#include "lib/unit.h"

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

int
main(void)
{
	Suite *suite = suite_create("core-situation");
	TCase *tcase = tcase_create("owner");

	tcase_add_test(tcase, ids_are_compared_whole);
	tcase_add_test(tcase, an_equal_id_with_another_handle_is_another_deployment);
	tcase_add_test(tcase, an_id_that_was_seen_missing_has_no_past_up_to_then);
	tcase_add_test(tcase, a_missing_namesake_takes_nothing_from_others);
	tcase_add_test(tcase, who_ran_before);
	tcase_add_test(tcase, the_copy_is_believed_for_its_own_directory);
	tcase_add_test(tcase, the_stamp_in_the_data_comes_first);
	tcase_add_test(tcase, nobody_has_data_without_a_stamp);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
