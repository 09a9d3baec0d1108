/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The etcd and the data of a rehearsal, and its record. */
#include "lib/unit.h"

#include "core/json/parse.h"
#include "core/record/rehearsal.h"
#include "core/version.h"

#define MINORS 9

static GbeVersion
v3(guint minor)
{
	return (GbeVersion){3, minor, true};
}

/* Every update on every data: the same minor and the next one start, nothing else does. */
START_TEST(every_pair)
{
	for (guint data = 0; data < MINORS; data++)
		for (guint update = 0; update < MINORS; update++) {
			const GbeRehearseVersions all[] = {
			    {v3(update), v3(data), {0}, {0}},
			    {v3(update), {0}, v3(data), {0}},
			    {v3(update), {0}, {0}, v3(data)},
			    {v3(update), v3(data), v3(data), v3(data)},
			};

			for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
				g_autofree char *why = NULL;
				GbeTri starts = gbe_rehearse_starts(&all[i], &why);

				ck_assert_int_eq(starts,
						 gbe_tri(update == data || update == data + 1));
				ck_assert_int_eq(why != NULL, starts != GBE_YES);
			}
		}
}
END_TEST

/* A rollback needs the backup exactly where the minor rises. */
START_TEST(every_way_back)
{
	for (guint server = 0; server < MINORS; server++)
		for (guint update = 0; update < MINORS; update++) {
			const GbeRehearseVersions versions = {v3(update), v3(server), {0}, {0}};
			g_autofree char *why = NULL;
			GbeTri back = gbe_rehearse_goes_back(&versions, &why);

			ck_assert_int_eq(back, gbe_tri(update <= server));
			ck_assert_int_eq(why != NULL, back != GBE_YES);
		}
}
END_TEST

static char *
why_of(const char *update, const char *server, const char *cluster, const char *storage,
       GbeTri wanted)
{
	const GbeRehearseVersions versions = {gbe_version_parse(update), gbe_version_parse(server),
					      gbe_version_parse(cluster),
					      gbe_version_parse(storage)};
	char *why = NULL;

	ck_assert_int_eq(gbe_rehearse_starts(&versions, &why), wanted);
	return why;
}

START_TEST(says_what_to_do)
{
	g_autofree char *left_out = why_of("3.6.1", "3.4.23", "3.4.0", NULL, GBE_NO);
	g_autofree char *older = why_of("3.4.30", "3.5.9", "3.5.0", NULL, GBE_NO);
	g_autofree char *storage = why_of("3.5.9", "3.6.0", "3.5.0", "3.6.0", GBE_NO);
	g_autofree char *cluster = why_of("3.4.1", "3.4.1", "3.5.0", NULL, GBE_NO);
	g_autofree char *major = why_of("4.0.0", "3.6.0", "3.6.0", "3.6.0", GBE_UNKNOWN);
	g_autofree char *none = why_of(NULL, "3.6.0", "3.6.0", "3.6.0", GBE_UNKNOWN);
	g_autofree char *no_data = why_of("3.6.0", NULL, NULL, NULL, GBE_UNKNOWN);

	ck_assert_ptr_nonnull(strstr(left_out, "boot an update with etcd 3.5 first"));
	ck_assert_ptr_nonnull(strstr(older, "refuses data of etcd 3.5; stage an update"));
	ck_assert_ptr_nonnull(strstr(storage, "refuses data of etcd 3.6"));
	ck_assert_ptr_nonnull(strstr(cluster, "refuses data of etcd 3.5"));
	ck_assert_ptr_nonnull(strstr(major, "not known"));
	ck_assert_ptr_nonnull(strstr(none, "version of the update's etcd"));
	ck_assert_ptr_nonnull(strstr(no_data, "version of today's data"));
}
END_TEST

/* A record answers for its deployment and the etcd that it began with. */
START_TEST(answers)
{
	GbeRehearsal rehearsal = {.deployment = {.id = (char *)"os-b.0", .handle = (char *)"1:2"},
				  .result = GBE_REHEARSAL_FAILED,
				  .from = (char *)"3.4.23"};
	const GbeDeployment other = {.id = (char *)"os-b.1"};
	g_auto(GbeRehearsal) empty = {{0}};

	gbe_rehearsal_read(NULL, &empty);
	ck_assert_int_eq(empty.at, -1);
	ck_assert(gbe_rehearsal_answers(&rehearsal, &rehearsal.deployment, "3.4.23"));
	ck_assert(!gbe_rehearsal_answers(&rehearsal, &rehearsal.deployment, "3.4.24"));
	ck_assert(!gbe_rehearsal_answers(&rehearsal, &rehearsal.deployment, NULL));
	ck_assert(!gbe_rehearsal_answers(&rehearsal, &other, "3.4.23"));
	rehearsal.result = GBE_REHEARSAL_NOT_REHEARSED;
	ck_assert(!gbe_rehearsal_answers(&rehearsal, &rehearsal.deployment, "3.4.23"));
}
END_TEST

/* A later version's word never counts as failed, and nonsense is unknown. */
START_TEST(other_records)
{
	static const struct {
		const char *text;
		GbeRehearsalResult result;
	} cases[] = {
	    {"{}", GBE_REHEARSAL_NONE},
	    {"{\"result\":\"passed\",\"at\":\"x\"}", GBE_REHEARSAL_PASSED},
	    {"{\"result\":\"doubtful\"}", GBE_REHEARSAL_NOT_REHEARSED},
	    {"{\"result\":null,\"deployment\":5}", GBE_REHEARSAL_NONE},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(JsonObject) object = NULL;
		g_auto(GbeRehearsal) rehearsal = {{0}};

		ck_assert(gbe_json_parse_object(cases[i].text, strlen(cases[i].text), "x", &object,
						NULL));
		gbe_rehearsal_read(object, &rehearsal);
		ck_assert_int_eq(rehearsal.result, cases[i].result);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-rehearse");
	TCase *cases = tcase_create("rehearse");

	tcase_add_test(cases, every_pair);
	tcase_add_test(cases, every_way_back);
	tcase_add_test(cases, says_what_to_do);
	tcase_add_test(cases, answers);
	tcase_add_test(cases, other_records);
	suite_add_tcase(suite, cases);
	return gbe_unit_main(suite);
}
