/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of a store of snapshots. */
#include "lib/unit.h"

#include "core/json/parse.h"
#include "core/record/offsite.h"

#include <string.h>

#define DAY ((gint64)24 * 60 * 60)

static void
must_be_new(const GbeOffsite *offsite)
{
	ck_assert_ptr_null(offsite->newest);
	ck_assert_ptr_null(offsite->pushed);
	ck_assert_ptr_null(offsite->proved);
	ck_assert_ptr_null(offsite->damaged);
	ck_assert_ptr_null(offsite->damaged_why);
	ck_assert_ptr_null(offsite->failed_why);
	ck_assert_ptr_null(offsite->sha256);
	ck_assert_ptr_null(offsite->stored_sha256);
	ck_assert_int_eq(offsite->first_pushed_at, -1);
	ck_assert_int_eq(offsite->pushed_at, -1);
	ck_assert_int_eq(offsite->pushed_revision, -1);
	ck_assert_int_eq(offsite->looked_at, -1);
	ck_assert_int_eq(offsite->size, -1);
	ck_assert_int_eq(offsite->sent, -1);
	ck_assert_int_eq(offsite->requests, -1);
	ck_assert_int_eq(offsite->usec, -1);
	ck_assert_int_eq(offsite->hash_kv, -1);
	ck_assert_int_eq(offsite->proved_at, -1);
	ck_assert_int_eq(offsite->proved_revision, -1);
	ck_assert_int_eq(offsite->failed_at, -1);
}

START_TEST(a_new_record)
{
	g_auto(GbeOffsite) offsite = {0}, again = {0};
	g_autoptr(JsonObject) object = NULL;

	gbe_offsite_read(NULL, &offsite);
	must_be_new(&offsite);
	object = json_object_new();
	gbe_offsite_print(&offsite, object);
	/* Unknown is null. */
	ck_assert(JSON_NODE_HOLDS_NULL(json_object_get_member(object, "pushed_at")));
	ck_assert(JSON_NODE_HOLDS_NULL(json_object_get_member(object, "pushed")));
	gbe_offsite_read(object, &again);
	must_be_new(&again);
}
END_TEST

/* Members of a later program, and members of another kind, hide no other. */
START_TEST(foreign_members)
{
	static const char *const texts[] = {
	    "{}",
	    "{\"colour\": \"blue\", \"later\": {\"a\": [1]}}",
	    "{\"newest\": 5, \"pushed\": [], \"proved\": {}, \"damaged\": true, "
	    "\"pushed_at\": \"x\", \"proved_at\": null, \"size\": {}, \"sha256\": 1, "
	    "\"failed_at\": \"1\", \"failed_why\": [\"a\"]}",
	};
	static const char mixed[] = "{\"colour\": 1, \"newest\": \"n\", \"pushed_at\": \"x\", "
				    "\"proved_at\": 7, \"failed_why\": \"away\"}";
	g_autoptr(JsonObject) object = NULL;
	g_auto(GbeOffsite) offsite = {0};

	for (gsize i = 0; i <= G_N_ELEMENTS(texts); i++) {
		g_autoptr(JsonObject) each = NULL;
		g_auto(GbeOffsite) read = {0};

		if (i < G_N_ELEMENTS(texts))
			ck_assert(
			    gbe_json_parse_object(texts[i], strlen(texts[i]), "it", &each, NULL));
		gbe_offsite_read(each, &read);
		must_be_new(&read);
	}
	ck_assert(gbe_json_parse_object(mixed, strlen(mixed), "it", &object, NULL));
	gbe_offsite_read(object, &offsite);
	ck_assert_str_eq(offsite.newest, "n");
	ck_assert_str_eq(offsite.failed_why, "away");
	ck_assert_int_eq(offsite.pushed_at, -1);
	ck_assert_int_eq(offsite.proved_at, 7);
}
END_TEST

START_TEST(overdue)
{
	static const struct {
		gint64 first_pushed_at, pushed_at, proved_at;
		guint64 warn;
		gint64 now;
		bool overdue;
	} cases[] = {
	    /* If nothing was pushed, no proof can be missing. */
	    {-1, -1, -1, DAY, 1000 * DAY, false},
	    {100 * DAY, 100 * DAY, -1, 14 * DAY, 100 * DAY, false},
	    {100 * DAY, 100 * DAY, -1, 14 * DAY, 114 * DAY, false},
	    {100 * DAY, 100 * DAY, -1, 14 * DAY, 114 * DAY + 1, true},
	    /* Each day's push is no proof. */
	    {100 * DAY, 120 * DAY, -1, 14 * DAY, 120 * DAY, true},
	    {1, 120 * DAY, 100 * DAY, 14 * DAY, 121 * DAY, true},
	    {1, 1, 100 * DAY, 14 * DAY, 110 * DAY, false},
	    /* A snapshot of another device was pulled and proved. */
	    {-1, -1, 100 * DAY, 14 * DAY, 110 * DAY, false},
	    {-1, -1, 100 * DAY, 14 * DAY, 130 * DAY, true},
	    /* No warning is wanted. */
	    {1, 1, -1, 0, 1000 * DAY, false},
	    {1, 1, 1, 0, 1000 * DAY, false},
	    /* The clock was set back. */
	    {100 * DAY, 100 * DAY, 100 * DAY, 1, 50 * DAY, false},
	    {20500 * DAY, 20500 * DAY, 20500 * DAY, 1, 10000 * DAY, false},
	    /* The clock was far ahead at the last proof, and is right now. */
	    {20500 * DAY, 20500 * DAY, 25000 * DAY, 14 * DAY, 20600 * DAY, true},
	    {25000 * DAY, 25000 * DAY, -1, 14 * DAY, 20600 * DAY, true},
	    {25000 * DAY, 25000 * DAY, 20590 * DAY, 14 * DAY, 20600 * DAY, false},
	    {20500 * DAY, 20500 * DAY, 25000 * DAY, 0, 20600 * DAY, false},
	    /* It was a little ahead. */
	    {20500 * DAY, 20500 * DAY, 20601 * DAY, 1, 20600 * DAY, false},
	    {0, 0, 0, DAY, G_MAXINT64, true},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GbeOffsite) offsite = {0};

		gbe_offsite_read(NULL, &offsite);
		offsite.first_pushed_at = cases[i].first_pushed_at;
		offsite.pushed_at = cases[i].pushed_at;
		offsite.proved_at = cases[i].proved_at;
		ck_assert_msg(gbe_offsite_is_overdue(&offsite, cases[i].warn, cases[i].now) ==
				  cases[i].overdue,
			      "case %" G_GSIZE_FORMAT, i);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-offsite");
	TCase *record = tcase_create("record");

	tcase_add_test(record, a_new_record);
	tcase_add_test(record, foreign_members);
	tcase_add_test(record, overdue);
	suite_add_tcase(suite, record);
	return gbe_unit_main(suite);
}
