/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Periodic backups come and go by the clock, and nothing else goes or stays for them. */
#include "lib/retention.h"
#include "lib/unit.h"

#include "core/decide/decide.h"
#include "core/decide/situation.h"

#define HOUR 3600
#define DAY (24 * HOUR)
/* A midnight. */
#define BEGAN ((gint64)20000 * DAY)

static GbeManifest *
periodic(GbeFacts *facts, char letter, guint64 sequence, gint64 created, GbeGrade grade)
{
	GbeManifest *backup = facts_backup(facts, letter, 50, sequence, grade);

	backup->origin = GBE_ORIGIN_PERIODIC;
	backup->created = BEGAN + created;
	backup->live = true;
	backup->fingerprint.present = false;
	return backup;
}

START_TEST(hours_and_days)
{
	g_autoptr(GbeFacts) facts = device();

	facts->config->backup.hourly = 2;
	facts->config->backup.daily = 2;
	(void)periodic(facts, 'a', 1, 0, GBE_GRADE_GOOD);
	(void)periodic(facts, 'a', 2, HOUR, GBE_GRADE_GOOD);
	(void)periodic(facts, 'a', 3, DAY, GBE_GRADE_GOOD);
	(void)periodic(facts, 'a', 4, DAY + HOUR, GBE_GRADE_GOOD);
	(void)periodic(facts, 'a', 5, DAY + 2 * HOUR, GBE_GRADE_GOOD);
	(void)periodic(facts, 'a', 6, DAY + 3 * HOUR, GBE_GRADE_GOOD);
	/* a1 and a3 begin days, a5 and a6 hours. */
	assert_removed(facts, "a2 a4");
}
END_TEST

/* Scheduled backups do not change which of the others are removed. */
START_TEST(nothing_else_goes_for_them)
{
	static const GbeGrade grades[] = {GBE_GRADE_GOOD, GBE_GRADE_UNPROVEN, GBE_GRADE_BAD};

	for (guint i = 0; i < G_N_ELEMENTS(grades); i++) {
		g_autoptr(GbeFacts) facts = device();

		facts->config->backup.hourly = facts->config->backup.daily = 1000;
		(void)facts_backup(facts, 'z', 1, 1, GBE_GRADE_GOOD); /* gone */
		(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_GOOD);
		(void)facts_backup(facts, 'a', 3, 3, GBE_GRADE_GOOD);
		(void)facts_backup(facts, 'a', 4, 4, GBE_GRADE_GOOD);
		(void)facts_backup(facts, 'a', 5, 5, GBE_GRADE_BAD);
		(void)facts_backup(facts, 'a', 6, 6, GBE_GRADE_UNPROVEN);
		assert_removed(facts, "z1 a2");
		for (guint k = 10; k < 15; k++)
			(void)periodic(facts, 'a', k, (gint64)k * HOUR, grades[i]);
		assert_removed(facts,
			       grades[i] == GBE_GRADE_BAD ? "z1 a2 a10 a11 a12 a13 a14" : "z1 a2");
	}
}
END_TEST

START_TEST(a_good_scheduled_one_is_not_a_good_one_of_its_own)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_backup(facts, 'z', 1, 1, GBE_GRADE_GOOD);
	(void)periodic(facts, 'a', 3, 0, GBE_GRADE_GOOD);
	assert_removed(facts, "");
}
END_TEST

START_TEST(the_last_valid_one_stays)
{
	g_autoptr(GbeFacts) facts = device();

	facts->config->backup.hourly = facts->config->backup.daily = 0;
	(void)periodic(facts, 'a', 1, 0, GBE_GRADE_GOOD);
	(void)periodic(facts, 'a', 2, 5 * HOUR, GBE_GRADE_UNPROVEN);
	/* A good one is evicted only by a good one. */
	assert_removed(facts, "");
	(void)periodic(facts, 'a', 3, 9 * HOUR, GBE_GRADE_GOOD);
	assert_removed(facts, "a1 a2");
}
END_TEST

START_TEST(of_a_green_deployment_one_stays)
{
	g_autoptr(GbeFacts) facts = device();

	(void)facts_list(facts, 'b', 900);
	(void)facts_record(facts, 'b', 2, 2, GBE_VERDICT_GREEN);
	facts->config->backup.hourly = facts->config->backup.daily = 0;
	(void)periodic(facts, 'b', 1, 0, GBE_GRADE_GOOD);
	(void)periodic(facts, 'a', 2, 5 * HOUR, GBE_GRADE_GOOD);
	(void)periodic(facts, 'a', 3, 9 * HOUR, GBE_GRADE_GOOD);
	assert_removed(facts, "a2");
}
END_TEST

START_TEST(pinned_ones_stay)
{
	g_autoptr(GbeFacts) facts = device();

	facts->config->backup.hourly = facts->config->backup.daily = 0;
	periodic(facts, 'a', 1, 0, GBE_GRADE_GOOD)->pinned = true;
	(void)periodic(facts, 'a', 2, 5 * HOUR, GBE_GRADE_GOOD);
	(void)periodic(facts, 'a', 3, 9 * HOUR, GBE_GRADE_GOOD);
	assert_removed(facts, "a2");
}
END_TEST

START_TEST(where_the_clock_is_not_known)
{
	g_autoptr(GbeFacts) facts = device();

	facts->config->backup.hourly = 2;
	facts->config->backup.daily = 1;
	for (guint i = 1; i <= 4; i++)
		periodic(facts, 'a', i, 0, GBE_GRADE_GOOD)->created = 60 * (gint64)i; /* 1970 */
	/* Each is a period of its own. */
	assert_removed(facts, "a1 a2");
}
END_TEST

START_TEST(without_ostree_they_alone_go)
{
	g_autoptr(GbeFacts) facts = facts_booted('a', 50);

	facts->config->backup.hourly = facts->config->backup.daily = 1;
	(void)facts_backup(facts, '-', 0, 1, GBE_GRADE_BAD);
	(void)facts_backup(facts, '-', 0, 2, GBE_GRADE_UNPROVEN);
	for (guint i = 10; i < 13; i++)
		(void)periodic(facts, '-', i, (gint64)i * DAY, GBE_GRADE_UNPROVEN);
	gbe_deployment_clear(&facts->booted);
	g_clear_pointer(&facts->listed, g_ptr_array_unref);
	facts->ostree = GBE_NO;
	assert_removed(facts, "adopted-10 adopted-11");
	/* An unknown fact does not count as "without ostree". */
	facts->ostree = GBE_UNKNOWN;
	assert_removed(facts, "");
	facts->ostree = GBE_YES;
	assert_removed(facts, "");
	facts->ostree = GBE_NO;
	facts->store = GBE_NO;
	assert_removed(facts, "");
}
END_TEST

/* Only a person can restore data that an update on trial has written. */
START_TEST(no_candidate_of_a_trial)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *backup = periodic(facts, 'a', 5, 0, GBE_GRADE_UNPROVEN);

	backup->trial.on = GBE_YES;
	ck_assert_ptr_null(gbe_situation_candidate(facts, false));
	backup->trial.on = GBE_UNKNOWN;
	ck_assert_ptr_null(gbe_situation_candidate(facts, false));
	backup->trial.on = GBE_NO;
	ck_assert_ptr_eq(gbe_situation_candidate(facts, false), backup);
	backup->trial.on = GBE_YES;
	backup->grade = GBE_GRADE_GOOD;
	ck_assert_ptr_eq(gbe_situation_candidate(facts, false), backup);
}
END_TEST

/* A backup before an update is one that stays. */
START_TEST(none_stands_for_a_backup_before_an_update)
{
	g_autoptr(GbeFacts) facts = device();
	GbeManifest *backup = facts_backup(facts, 'a', 50, 5, GBE_GRADE_GOOD);

	gbe_fingerprint_copy(&facts->fingerprint, &backup->fingerprint);
	ck_assert_ptr_eq(gbe_situation_unchanged(facts), backup);
	backup->origin = GBE_ORIGIN_PERIODIC;
	ck_assert_ptr_null(gbe_situation_unchanged(facts));
}
END_TEST

START_TEST(no_name_twice)
{
	g_autoptr(GbeFacts) facts = device();
	GbeView view;

	gbe_view_live(facts, &view);
	for (guint64 sequence = 91; sequence < 94; sequence++) {
		g_autoptr(GbeManifest) manifest =
		    gbe_decide_manifest(facts, &view, NULL, false, sequence);
		g_autofree char *ending = g_strdup_printf("~%u", (guint)sequence);

		gbe_decide_make_periodic(facts, manifest);
		ck_assert_int_eq(manifest->origin, GBE_ORIGIN_PERIODIC);
		ck_assert(g_str_has_suffix(manifest->name, ending));
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-retention-scheduled");
	TCase *stays = tcase_create("what-stays");

	tcase_add_test(stays, hours_and_days);
	tcase_add_test(stays, nothing_else_goes_for_them);
	tcase_add_test(stays, a_good_scheduled_one_is_not_a_good_one_of_its_own);
	tcase_add_test(stays, the_last_valid_one_stays);
	tcase_add_test(stays, of_a_green_deployment_one_stays);
	tcase_add_test(stays, pinned_ones_stay);
	tcase_add_test(stays, where_the_clock_is_not_known);
	tcase_add_test(stays, without_ostree_they_alone_go);
	tcase_add_test(stays, no_candidate_of_a_trial);
	tcase_add_test(stays, none_stands_for_a_backup_before_an_update);
	tcase_add_test(stays, no_name_twice);
	suite_add_tcase(suite, stays);
	return gbe_unit_main(suite);
}
