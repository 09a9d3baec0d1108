/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/parse.h"
#include "core/record/manifest.h"
#include "lib/unit.h"

#define C64 "35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"
#define RUN "0123456789abcdef0123456789abcdef"
#define ID "rhel_9.4-" C64 ".1"

static GbeManifest *
sample(void)
{
	GbeManifest *m = gbe_manifest_new();

	m->name = g_strdup(ID "_" RUN);
	m->sequence = 42;
	m->files_count = 2;
	gbe_manifest_add_file(m, "member/snap/db", 81230000, C64);
	return m;
}

static GbeManifest *
must_parse(const char *text)
{
	g_autoptr(GError) error = NULL;
	GbeManifest *manifest = NULL;
	bool ok = gbe_manifest_parse(text, strlen(text), &manifest, &error);

	ck_assert_msg(ok, "%s", ok ? "" : error->message);
	return manifest;
}

static void
is_made(GbeManifest *m, const char *expected)
{
	g_autofree char *why = gbe_manifest_why(m, NULL);

	ck_assert_pstr_eq(why, expected);
}

START_TEST(why_it_was_made)
{
	g_autoptr(GbeManifest) m = gbe_manifest_new();

	m->deployment.id = g_strdup("iot-" C64 ".0");
	m->name = g_strdup("mine");
	is_made(m, NULL);
	m->occasion = (char *)"shutdown";
	is_made(m, "at shutdown");
	m->occasion = (char *)"boot";
	is_made(m, "at boot");
	m->occasion = (char *)"hand";
	is_made(m, "by hand");
	m->occasion = (char *)"a newer word";
	is_made(m, NULL);
	m->before = g_strdup("iot-" C64 ".1");
	m->occasion = (char *)"rollback";
	is_made(m, "before rollback to 35d7aa0c9fe3");
	m->before_version = g_strdup("43.1");
	m->occasion = (char *)"update";
	is_made(m, "before update 43.1");
	m->occasion = NULL;
	m->origin = GBE_ORIGIN_DISPLACED;
	is_made(m, "set aside");
	m->grade = GBE_GRADE_BAD;
	m->trial.on = GBE_YES;
	is_made(m, "failed update, set aside");
	m->set_aside = true;
	is_made(m, "set aside");
	m->occasion = (char *)"restore";
	g_clear_pointer(&m->before, g_free);
	is_made(m, "before restore, set aside");
	m->occasion = NULL;
	m->set_aside = false;
	g_clear_pointer(&m->deployment.id, g_free);
	is_made(m, "written by another program");
	m->origin = GBE_ORIGIN_PERIODIC;
	is_made(m, "by the clock");
	m->origin = GBE_ORIGIN_MANUAL;
	is_made(m, "by hand: mine");
	m->outside = true;
	is_made(m, "imported");
}
END_TEST

START_TEST(size_of_the_database)
{
	static const char *const others[] = {"member/wal/0.wal", "member/snap/db.snap.db",
					     "xmember/snap/db"};
	static const char *const databases[] = {"member/snap/db", "default/member/snap/db"};

	for (guint i = 0; i < G_N_ELEMENTS(databases); i++) {
		g_autoptr(GbeManifest) manifest = gbe_manifest_new();

		for (guint k = 0; k < G_N_ELEMENTS(others); k++)
			gbe_manifest_add_file(manifest, others[k], 1, NULL);
		ck_assert_int_eq(gbe_manifest_db_size(manifest), -1);
		gbe_manifest_add_file(manifest, databases[i], 20480, NULL);
		ck_assert_int_eq(gbe_manifest_db_size(manifest), 20480);
	}
}
END_TEST

START_TEST(least_of_all)
{
	g_autoptr(GbeManifest) m = must_parse("{\"name\":\"before-update\",\"sequence\":3}");

	ck_assert_ptr_null(m->deployment.id);
	ck_assert_int_eq(m->grade, GBE_GRADE_UNPROVEN);
	ck_assert_int_eq(m->verdict, GBE_VERDICT_NONE);
	ck_assert_int_eq(m->verified, GBE_VERIFIED_NO);
	ck_assert_int_eq(m->revision, -1);
	ck_assert_int_eq(m->trial.used, -1);
	ck_assert_ptr_null(m->files);
	ck_assert_ptr_null(m->left_out);
	ck_assert(!m->fingerprint.present);
	ck_assert(!m->pinned && !m->discard);
}
END_TEST

#define HEAD "{\"name\":\"x\",\"sequence\":3"

START_TEST(damaged)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"{}", "\"name\" is missing"},
	    {"{\"name\":\"x\"}", "\"sequence\" is missing"},
	    {"{\"name\":\"../x\",\"sequence\":3}", "not the name of a backup"},
	    {"{\"name\":\".partial-x\",\"sequence\":3}", "not the name of a backup"},
	    {HEAD ",\"deployment\":{\"id\":\"x\"}}", "deployment id"},
	    {HEAD ",\"pinned\":\"yes\"}", "\"pinned\" is not true or false"},
	    {HEAD ",\"grade\":1}", "\"grade\" is not a string"},
	    {HEAD ",\"data_dir\":\"var\"}", "absolute path"},
	    {HEAD ",\"files\":{}}", "not an array"},
	    {HEAD ",\"files\":[1]}", "array of objects"},
	    {HEAD ",\"files\":[{\"size\":1}]}", "\"files[].path\" is missing"},
	    {HEAD ",\"files\":[{\"path\":\"a\"}]}", "\"files[].size\" is missing"},
	    {HEAD ",\"files\":[{\"path\":\"/a\",\"size\":1}]}", "below data/"},
	    {HEAD ",\"files\":[{\"path\":\"a/../../b\",\"size\":1}]}", "below data/"},
	    {HEAD ",\"files\":[{\"path\":\"a\",\"path_hex\":\"2e2e\",\"size\":1}]}", "below data/"},
	    {HEAD ",\"files\":[{\"path\":\"a\",\"path_hex\":\"610062\",\"size\":1}]}",
	     "below data/"},
	    {HEAD ",\"files\":[{\"path\":\"a\",\"path_hex\":\"6\",\"size\":1}]}", "below data/"},
	    {HEAD ",\"files\":[{\"path\":\"a\",\"size\":1,\"sha256\":\"ab\"}]}", "SHA-256"},
	    {HEAD ",\"left_out\":[1]}", "array of strings"},
	    {HEAD ",\"left_out\":[{\"hex\":\"zz\"}]}", "array of strings"},
	    {HEAD ",\"size\":-1}", "negative"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		GbeManifest *manifest = NULL;

		ck_assert_msg(
		    !gbe_manifest_parse(cases[i].text, strlen(cases[i].text), &manifest, &error),
		    "taken: %s", cases[i].text);
		ck_assert_ptr_null(manifest);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s", error->message);
	}
}
END_TEST

static void
check_member(const char *text, const char *key, const char *value)
{
	g_autoptr(JsonObject) object = NULL;

	ck_assert(gbe_json_parse_object(text, strlen(text), "x", &object, NULL));
	ck_assert_str_eq(gbe_json_string(object, key, "(none)"), value);
}

/* A newer program's grade evicts nothing here, and is still there when that program comes back. */
START_TEST(newer_words_survive)
{
	g_autoptr(GbeManifest) m =
	    must_parse(HEAD ",\"format\":3,\"grade\":\"excellent\",\"method\":\"teleport\","
			    "\"verdict\":\"amber\",\"health\":\"sleepy\",\"origin\":\"gift\","
			    "\"verified\":\"twice\",\"shelf\":\"top\"}");
	g_autofree char *kept = NULL, *changed = NULL;

	ck_assert_int_eq(m->grade, GBE_GRADE_UNPROVEN);
	ck_assert_int_eq(m->method, GBE_METHOD_COPY);
	ck_assert_int_eq(m->origin, GBE_ORIGIN_MANUAL);
	m->pinned = true;
	kept = gbe_manifest_print(m);
	check_member(kept, "grade", "excellent");
	check_member(kept, "method", "teleport");
	check_member(kept, "verdict", "amber");
	check_member(kept, "health", "sleepy");
	check_member(kept, "origin", "gift");
	check_member(kept, "verified", "twice");
	check_member(kept, "shelf", "top");
	ck_assert_ptr_nonnull(strstr(kept, "\"format\" : 3"));
	ck_assert_ptr_nonnull(strstr(kept, "\"pinned\" : true"));
	m->grade = GBE_GRADE_BAD;
	m->health = GBE_HEALTH_HEALTHY;
	changed = gbe_manifest_print(m);
	check_member(changed, "grade", "bad");
	check_member(changed, "health", "healthy");
	check_member(changed, "verdict", "amber");
}
END_TEST

/* The list of files is dropped, and the manifest can still be read. */
START_TEST(never_too_large_to_read)
{
	g_autofree char *tail = g_strnfill(4000, 'y');
	g_autoptr(GbeManifest) m = sample(), again = NULL, many = NULL;
	g_autofree char *text = NULL, *most = NULL;

	for (guint i = 0; i < 300; i++) {
		g_autofree char *path = g_strdup_printf("member/%u/%s", i, tail);

		gbe_manifest_add_file(m, path, 1, NULL);
	}
	text = gbe_manifest_print(m);
	ck_assert_uint_le(strlen(text), GBE_JSON_MAX_SIZE);
	again = must_parse(text);
	ck_assert_ptr_null(again->files);
	ck_assert_uint_eq(again->files_count, 2);
	/* The allowed number of files with names of usual length is no reason to drop it. */
	many = sample();
	tail[100] = '\0';
	while (many->files->len < GBE_MANIFEST_FILES_MAX) {
		g_autofree char *path = g_strdup_printf("member/%u/%s", many->files->len, tail);

		gbe_manifest_add_file(many, path, 1, C64);
	}
	most = gbe_manifest_print(many);
	gbe_manifest_free(g_steal_pointer(&again));
	again = must_parse(most);
	ck_assert_uint_eq(again->files->len, GBE_MANIFEST_FILES_MAX);
}
END_TEST

/* Any names and sizes: what is written can be read, and says that it is not listed. */
START_TEST(never_beyond_its_reader)
{
	g_autoptr(GbeManifest) sockets = sample(), huge = sample(), snaps = sample();
	g_autoptr(GbeManifest) again = NULL;
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	g_autofree char *text = NULL, *holes = NULL, *bare = NULL;

	for (guint i = 0; i < 6000; i++) {
		g_autofree char *name = g_strdup_printf("%0250u", i);

		g_strv_builder_add(names, name);
	}
	g_strfreev(sockets->left_out);
	sockets->left_out = g_strv_builder_end(names);
	text = gbe_manifest_print(sockets);
	again = must_parse(text);
	ck_assert(again->left_out == NULL || again->left_out[0] == NULL);
	ck_assert_ptr_null(again->files);
	ck_assert_uint_eq(again->files_count, sockets->files_count);
	gbe_manifest_free(g_steal_pointer(&again));
	huge->size = G_GUINT64_CONSTANT(1) << 53;
	holes = gbe_manifest_print(huge);
	again = must_parse(holes);
	ck_assert_ptr_null(again->files);
	ck_assert_uint_eq(again->files_count, 0);
	ck_assert_uint_eq(again->size, 0);
	gbe_manifest_free(g_steal_pointer(&again));
	g_free(snaps->fingerprint.snaps);
	snaps->fingerprint.present = true;
	snaps->fingerprint.snaps = g_strnfill(GBE_JSON_MAX_SIZE, 's');
	bare = gbe_manifest_print(snaps);
	again = must_parse(bare);
	ck_assert(!again->fingerprint.present);
	ck_assert_str_eq(again->name, snaps->name);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-manifest");
	TCase *manifest = tcase_create("manifest");

	tcase_set_timeout(manifest, 120);
	tcase_add_test(manifest, why_it_was_made);
	tcase_add_test(manifest, size_of_the_database);
	tcase_add_test(manifest, least_of_all);
	tcase_add_test(manifest, damaged);
	tcase_add_test(manifest, newer_words_survive);
	tcase_add_test(manifest, never_too_large_to_read);
	tcase_add_test(manifest, never_beyond_its_reader);
	suite_add_tcase(suite, manifest);
	return gbe_unit_main(suite);
}
