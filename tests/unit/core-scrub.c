/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/retention.h"
#include "lib/facts.h"
#include "lib/unit.h"

#define DAY (24 * 3600)

/* a is green; its three backups were never read again. */
static GbeFacts *
device(void)
{
	GbeFacts *facts = facts_booted('a', 10);

	(void)facts_owner(facts, 'a', 10, 50);
	(void)facts_record(facts, 'a', 10, 50, GBE_VERDICT_GREEN);
	(void)facts_backup(facts, 'a', 1, 1, GBE_GRADE_GOOD);
	(void)facts_backup(facts, 'a', 2, 2, GBE_GRADE_UNPROVEN);
	(void)facts_backup(facts, 'a', 3, 3, GBE_GRADE_GOOD);
	return facts;
}

static GbeManifest *
backup(GbeFacts *facts, guint index)
{
	return g_ptr_array_index(facts->backups, index);
}

/* The sequences to read, in order: "3 2 1". */
static void
assert_plan(const GbeFacts *facts, const char *expected)
{
	g_autoptr(GPtrArray) plan = gbe_scrub_plan(facts);
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < plan->len; i++)
		g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, i > 0 ? " " : "",
				       ((GbeManifest *)g_ptr_array_index(plan, i))->sequence);
	ck_assert_str_eq(text->str, expected);
}

START_TEST(new_ones_come_first_then_the_longest_unread)
{
	g_autoptr(GbeFacts) facts = device();

	assert_plan(facts, "3 2 1");
	backup(facts, 2)->scrubbed = facts->now - 8 * DAY;
	backup(facts, 1)->scrubbed = facts->now - 9 * DAY;
	assert_plan(facts, "1 2 3");
	backup(facts, 0)->scrubbed = facts->now;
	assert_plan(facts, "2 3");
	backup(facts, 1)->scrubbed = facts->now - 7 * DAY + 1;
	assert_plan(facts, "3");
	backup(facts, 2)->scrubbed = facts->now - 7 * DAY;
	assert_plan(facts, "3");
}
END_TEST

/* Devices boot in 1970. */
START_TEST(a_clock_that_went_back_makes_one_reading_too_many)
{
	g_autoptr(GbeFacts) facts = device();

	for (guint i = 0; i < 3; i++)
		backup(facts, i)->scrubbed = facts->now;
	assert_plan(facts, "");
	facts->now = 60;
	assert_plan(facts, "3 2 1");
}
END_TEST

START_TEST(what_is_bad_or_without_data_is_not_read)
{
	g_autoptr(GbeFacts) facts = device();

	backup(facts, 0)->grade = GBE_GRADE_BAD;
	backup(facts, 2)->consumed = true;
	assert_plan(facts, "2");
}
END_TEST

START_TEST(a_run_that_is_not_green_yet_has_other_work)
{
	static const GbeVerdict verdicts[] = {GBE_VERDICT_NONE, GBE_VERDICT_JUDGING,
					      GBE_VERDICT_RED};

	for (guint i = 0; i < G_N_ELEMENTS(verdicts); i++) {
		g_autoptr(GbeFacts) facts = device();

		((GbeRunRecord *)facts->runs->pdata[0])->verdict = verdicts[i];
		assert_plan(facts, "");
		facts->judges = GBE_UNKNOWN;
		assert_plan(facts, "");
		facts->judges = GBE_NO;
		assert_plan(facts, "3 2 1");
	}
}
END_TEST

START_TEST(the_green_run_is_this_one)
{
	g_autoptr(GbeFacts) facts = device();

	g_free(facts->run);
	facts->run = facts_run(11);
	assert_plan(facts, "");
	g_clear_pointer(&facts->run, g_free);
	assert_plan(facts, "");
}
END_TEST

START_TEST(verify_none_reads_nothing)
{
	g_autoptr(GbeFacts) facts = device();

	facts->config->backup.verify = GBE_BACKUP_VERIFY_NONE;
	assert_plan(facts, "");
	facts->config->backup.verify = GBE_BACKUP_VERIFY_SANITY;
	assert_plan(facts, "3 2 1");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-scrub");
	TCase *tcase = tcase_create("plan");

	tcase_add_test(tcase, new_ones_come_first_then_the_longest_unread);
	tcase_add_test(tcase, a_clock_that_went_back_makes_one_reading_too_many);
	tcase_add_test(tcase, what_is_bad_or_without_data_is_not_read);
	tcase_add_test(tcase, a_run_that_is_not_green_yet_has_other_work);
	tcase_add_test(tcase, the_green_run_is_this_one);
	tcase_add_test(tcase, verify_none_reads_nothing);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
