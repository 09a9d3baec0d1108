/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/parse.h"
#include "core/record/take-over.h"
#include "lib/unit.h"

#define C64 "35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"
#define RUN "0123456789abcdef0123456789abcdef"
#define ID "rhel_9.4-" C64 ".1"
#define OTHER "rhel_9.4-" C64 ".0"

static bool
parse(const char *bytes, gsize size, GbeTakeOver **ret_take_over, GError **error)
{
	g_autoptr(JsonObject) object = NULL;

	return gbe_json_parse_object(bytes, size, "take-over", &object, error) &&
	       gbe_take_over_from_json(object, ret_take_over, error);
}

static GbeTakeOver *
must_parse(const char *text)
{
	g_autoptr(GError) error = NULL;
	GbeTakeOver *take_over = NULL;
	bool ok = parse(text, strlen(text), &take_over, &error);

	ck_assert_msg(ok, "%s", ok ? "" : error->message);
	return take_over;
}

static void
fill_closing(GbeClosing *closing)
{
	closing->present = true;
	closing->fingerprint.present = true;
	closing->fingerprint.txid[0] = 7;
	closing->fingerprint.wal_name = g_strdup("0-0.wal");
	closing->fingerprint.snaps = g_strdup("");
	closing->fingerprint.others = g_strdup("ab");
	closing->used = 3600;
	closing->at = 1732200000;
	closing->next = g_strdup(OTHER);
	gbe_backup_ref_set(&closing->backup,
			   (GbeBackupRef){.name = (char *)ID "_" RUN "~2", .sequence = 41});
}

/* An unreadable text is not a closing record: the program then cannot know if the data is unchanged. */
START_TEST(a_damaged_closing_record_is_ignored)
{
	static const char *const cases[] = {
	    "{}",
	    "{\"used\":1,\"fingerprint\":null}",
	    "{\"fingerprint\":{\"txid0\":\"0000000000000007\"}}",
	    "{\"backup\":{\"name\":\"a/b\",\"sequence\":1}}",
	    "{\"next\":\"x\"}",
	    "{\"used\":true}",
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(JsonObject) object = NULL;
		GbeClosing closing = {.used = -1};

		fill_closing(&closing);
		ck_assert(gbe_json_parse_object(cases[i], strlen(cases[i]), "x", &object, NULL));
		gbe_closing_from_json(object, &closing);
		ck_assert_msg(!closing.present, "taken: %s", cases[i]);
		gbe_closing_clear(&closing);
		ck_assert_int_eq(closing.used, -1);
	}
}
END_TEST

/* The required members of a take-over. */
START_TEST(least_of_all)
{
	g_autoptr(GbeTakeOver) t =
	    must_parse("{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\",\"sequence\":1}");

	ck_assert_ptr_null(t->deployment.handle);
	ck_assert_ptr_null(gbe_take_over_base(t));
	ck_assert_uint_eq(t->lineage.line, 0);
	ck_assert_int_eq(t->trial.on, GBE_UNKNOWN);
	ck_assert_int_eq(t->trial.used, -1);
	ck_assert_int_eq(t->mount_point, GBE_UNKNOWN);
	ck_assert_int_eq(t->was_default, GBE_UNKNOWN);
	ck_assert_int_eq(t->after_trial, GBE_UNKNOWN);
	ck_assert(!t->closing.present);
	ck_assert_uint_eq(t->voters, 0);
	ck_assert_ptr_null(t->tree);
	ck_assert_ptr_null(t->request);
}
END_TEST

/* Without ostree the owner is empty, and without a boot id the run is unknown: both are valid records. */
START_TEST(no_owner_and_no_run)
{
	g_autoptr(GbeTakeOver) t =
	    must_parse("{\"deployment\":{\"id\":null},\"run\":null,\"sequence\":1}");

	ck_assert_ptr_null(t->deployment.id);
	ck_assert_ptr_null(t->run);
}
END_TEST

#define HEAD "{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\",\"sequence\":7"

START_TEST(damaged)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"", "empty"},
	    {"{}", "\"deployment\" is missing"},
	    {"{\"deployment\":{\"id\":\"x\"},\"run\":\"" RUN "\",\"sequence\":1}", "deployment id"},
	    {"{\"deployment\":\"" ID "\",\"run\":\"" RUN "\",\"sequence\":1}", "not an object"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"sequence\":1}", "\"run\" is missing"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"x\",\"sequence\":1}", "run id"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\"}", "\"sequence\" is missing"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\",\"sequence\":0}", "is zero"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\",\"sequence\":-1}",
	     "negative"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN "\",\"sequence\":\"1\"}",
	     "not an integer"},
	    {"{\"deployment\":{\"id\":\"" ID "\"},\"run\":\"" RUN
	     "\",\"sequence\":9007199254740992}",
	     "too large"},
	    {HEAD ",\"found\":{\"name\":\"../../etc\"}}",
	     "\"found.name\" is not the name of a backup"},
	    {HEAD ",\"chain\":[{\"backup\":{\"name\":\"a/b\"}}]}", "is not the name of a backup"},
	    {HEAD ",\"chain\":[{\"deployment\":{\"id\":\"x\"}}]}", "deployment id"},
	    {HEAD ",\"chain\":[7]}", "\"chain\" is not an array of links"},
	    {HEAD ",\"chain\":{}}", "\"chain\" is not an array"},
	    {HEAD ",\"source\":7}", "\"source\" is not a string"},
	    {HEAD ",\"nonce\":\"x\"}", "16 hex digits"},
	    {HEAD ",\"asked\":\"yes\"}", "\"asked\" is "},
	    {HEAD ",\"store_path\":\"/var/../etc\"}", "absolute path"},
	    {HEAD ",\"store_path\":\"backups\"}", "absolute path"},
	    {HEAD ",\"member_id\":\"8E9E05C52164694D\"}", "16 hex digits"},
	    {HEAD ",\"voters\":-1}", "negative"},
	    {HEAD ",\"voters\":4294967296}", "too large"},
	    {HEAD ",\"ancestors\":[1]}", "\"ancestors\""},
	    {HEAD ",\"ancestors\":\"0@1\"}", "\"ancestors\" is not a list"},
	    {HEAD ",\"ancestors\":\"1@0\"}", "\"ancestors\" is not a list"},
	    {HEAD ",\"ancestors\":\"1@-1\"}", "\"ancestors\" is not a list"},
	    {HEAD ",\"ancestors\":\"1@1,2@2\"}", "\"ancestors\" is not a list"},
	    {HEAD ",\"ancestors\":\"1@1 2\"}", "\"ancestors\" is not a list"},
	    {HEAD ",\"ancestors\":\" 1@1\"}", "\"ancestors\" is not a list"},
	    {HEAD ",\"trial\":{\"on\":\"yes\"}}", "\"trial.on\" is not true"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		GbeTakeOver *t = NULL;

		ck_assert_msg(!parse(cases[i].text, strlen(cases[i].text), &t, &error), "taken: %s",
			      cases[i].text);
		ck_assert_ptr_null(t);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		ck_assert(g_str_has_prefix(error->message, "take-over: "));
		ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s", error->message);
	}
}
END_TEST

START_TEST(deep_chains_lose_their_oldest_links)
{
	g_autoptr(GbeTakeOver) t = gbe_take_over_new();

	for (guint i = 0; i <= GBE_CHAIN_MAX; i++) {
		g_autofree char *name = g_strdup_printf("adopted-%u", i + 1);
		GbeBackupRef backup = {.name = name, .sequence = i + 1};

		gbe_take_over_link(t, &backup, NULL, true);
	}
	ck_assert_uint_eq(t->chain->len, GBE_CHAIN_MAX);
	ck_assert_str_eq(gbe_take_over_base(t)->name, "adopted-1");
}
END_TEST

/* A backup that is restored sixty times is one link, and the older links stay. */
START_TEST(a_link_is_not_repeated)
{
	g_autoptr(GbeTakeOver) t = gbe_take_over_new();
	GbeBackupRef base = {.name = (char *)"base", .sequence = 6};
	GbeBackupRef other = {.name = (char *)"base", .sequence = 7};
	GbeDeployment a = {.id = (char *)"a"}, b = {.id = (char *)"b"};

	gbe_take_over_link(t, &base, &a, true);
	gbe_take_over_link(t, &base, &a, true);
	ck_assert_uint_eq(t->chain->len, 1);
	gbe_take_over_link(t, &base, &b, true);
	gbe_take_over_link(t, &base, &b, false);
	gbe_take_over_link(t, &other, &b, false);
	ck_assert_uint_eq(t->chain->len, 4);
	gbe_take_over_link(t, NULL, NULL, true);
	gbe_take_over_link(t, NULL, NULL, true);
	ck_assert_uint_eq(t->chain->len, 6);
}
END_TEST

START_TEST(long_chains_are_cut)
{
	g_autoptr(GString) text = g_string_new(HEAD ",\"line\":900,\"ancestors\":\"");
	g_autoptr(GbeTakeOver) t = NULL;

	for (guint i = 1; i <= 100; i++)
		g_string_append_printf(text, "%s%u@%u", i > 1 ? " " : "", i, i);
	g_string_append(text, "\"}");
	t = must_parse(text->str);
	ck_assert_uint_eq(t->lineage.ancestors->len, GBE_LINEAGE_MAX);
	ck_assert(t->lineage.truncated);
	ck_assert_int_eq(gbe_lineage_contains(&t->lineage, 901, 100, 100), GBE_YES);
	ck_assert_int_eq(gbe_lineage_contains(&t->lineage, 901, 1, 1), GBE_UNKNOWN);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-take-over");
	TCase *tcase = tcase_create("take-over");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_damaged_closing_record_is_ignored);
	tcase_add_test(tcase, least_of_all);
	tcase_add_test(tcase, no_owner_and_no_run);
	tcase_add_test(tcase, damaged);
	tcase_add_test(tcase, deep_chains_lose_their_oldest_links);
	tcase_add_test(tcase, a_link_is_not_repeated);
	tcase_add_test(tcase, long_chains_are_cut);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
