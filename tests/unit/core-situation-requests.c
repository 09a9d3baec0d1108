/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The time at which a request is due, its meaning, and the reasons against it. */
#include <stdbool.h>

#include "lib/situation.h"
#include "lib/unit.h"

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
	gbe_view_backup(facts, backup, &view);
	gbe_situation_derive(facts, &view, true, &s);
	ck_assert_int_eq(s.request, GBE_REQUEST_IS_NONE);

	g_free(facts->request.run);
	facts->request.run = g_strdup(facts->run);
	ck_assert_int_eq(request_is(facts), GBE_REQUEST_IS_NONE);
	facts->request.from_cmdline = true;
	ck_assert_int_eq(request_is(facts), GBE_REQUEST_IS_READY);
	facts->request.from_cmdline = false;
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
	    {"the request has a reason against it", GBE_REQUEST_IS_IMPOSSIBLE},
	    {"it is bad", GBE_REQUEST_IS_READY},
	    {"it is a cluster's", GBE_REQUEST_IS_READY},
	    {"the data is a cluster's", GBE_REQUEST_IS_READY},
	    {"it is of another directory", GBE_REQUEST_IS_READY},
	    {"this etcd cannot read it", GBE_REQUEST_IS_READY},
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
		if (i == 8) {
			facts->etcd_version = gbe_version_parse("3.4.0");
			backup->storage_version = g_strdup("3.6");
		}
		ck_assert_msg(request_is(facts) == GBE_REQUEST_IS_IMPOSSIBLE, "%s", cases[i].what);
		facts->request.force = true;
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
	/* The request does not matter: here a backup by its name. */
	ck_assert_ptr_eq(gbe_situation_last_good(facts), own);
	facts->request.kind = GBE_REQUEST_LAST_GOOD;
	ck_assert_ptr_eq(gbe_situation_request(facts), own);
	own->grade = GBE_GRADE_UNPROVEN;
	ck_assert_ptr_eq(gbe_situation_request(facts), others);
	others->consumed = true;
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
	gbe_backup_ref_set(&facts->undo, gbe_manifest_ref(backup));
	backup->set_aside = true;
	ck_assert_int_eq(request_is(facts), GBE_REQUEST_IS_READY);
	ck_assert_ptr_eq(gbe_situation_request(facts), backup);
	/* Another one that was given the name. */
	backup->sequence++;
	ck_assert_int_eq(request_is(facts), GBE_REQUEST_IS_IMPOSSIBLE);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-situation-requests");
	TCase *tcase = tcase_create("requests");

	tcase_add_test(tcase, a_request_is_due_in_a_later_run);
	tcase_add_test(tcase, what_makes_a_request_impossible_and_what_force_overrides);
	tcase_add_test(tcase, last_good_is_the_booted_ones_own_first);
	tcase_add_test(tcase, undo_is_what_the_last_restore_displaced);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
