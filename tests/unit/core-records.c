/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The properties that all records share. Each record is a line of a table. The line has a structure with a value in every
 * member, and the text in tests/data/records that the structure prints. A call reads a record and prints it again.
 *
 * The texts are those of an earlier program: a text changes only by a new member. The suite of a record tests the rest.
 */
#include "core/json/parse.h"
#include "core/record/intent.h"
#include "core/record/manifest.h"
#include "core/record/offsite.h"
#include "core/record/periodic.h"
#include "core/record/rehearsal.h"
#include "core/record/request.h"
#include "core/record/run.h"
#include "core/record/take-over.h"
#include "core/record/update-lock.h"
#include "lib/mangle.h"
#include "lib/unit.h"

#define C64 "35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48"
#define RUN "0123456789abcdef0123456789abcdef"
#define ID "rhel_9.4-" C64 ".1"
#define OTHER "rhel_9.4-" C64 ".0"

/* ---- a structure with a value in every member ---- */

static JsonObject *
intent_sample(void)
{
	g_autoptr(GbeIntent) intent = gbe_intent_new();
	const char *const entries[] = {"name\xff", "member", NULL};

	intent->operation = GBE_OPERATION_RESTORE;
	intent->sequence = 42;
	intent->backup = g_strdup("adopted-7");
	intent->rule = g_strdup("10a");
	intent->staging = g_strdup("/var/lib/etcd/.greenboot-etcd/.restore-42");
	intent->tree_new = g_strdup("fs:01");
	intent->tree_old = g_strdup("fs:02");
	intent->entries = g_strdupv((char **)(gpointer)entries);
	intent->consume = true;
	intent->keep_existing = g_strdup("/var/old data");
	intent->displaced = gbe_manifest_new();
	intent->displaced->name = g_strdup(ID "_" RUN);
	intent->displaced->sequence = 41;
	intent->displaced->grade = GBE_GRADE_BAD;
	gbe_manifest_add_file(intent->displaced, "member/snap/db", 1, NULL);
	intent->take_over = gbe_take_over_new();
	intent->take_over->deployment.id = g_strdup(ID);
	intent->take_over->run = g_strdup(RUN);
	intent->take_over->sequence = 43;
	intent->take_over->source = g_strdup("adopted-7");
	intent->take_over->request = g_strdup("--next-boot");
	return gbe_intent_to_json(intent);
}

static JsonObject *
take_over_sample(void)
{
	g_autoptr(GbeTakeOver) t = gbe_take_over_new();
	GbeLineage from = {.line = 3};
	GbeDeployment other = {.id = (char *)OTHER};
	GbeBackupRef base = {.name = (char *)OTHER "_" RUN, .sequence = 40};

	t->deployment.id = g_strdup(ID);
	t->deployment.handle = g_strdup("810000001f00");
	t->run = g_strdup(RUN "+1");
	t->sequence = 42;
	t->tree = g_strdup("fs:0100ab");
	t->nonce = g_strdup("00112233445566aa");
	gbe_lineage_grow(&t->lineage, &from, 40, 41);
	gbe_take_over_link(t, &base, &other, true);
	gbe_take_over_link(t, NULL, NULL, false);
	t->after = 39;
	t->after_trial = GBE_NO;
	gbe_backup_ref_set(&t->found,
			   (GbeBackupRef){.name = (char *)OTHER "_" RUN "~2", .sequence = 38});
	t->source = g_strdup("adopted-7");
	t->asked = true;
	t->skipped = true;
	t->failed = true;
	t->request = g_strdup("--next-boot");
	t->etcd_version = g_strdup("3.5.16");
	t->voters = 1;
	t->mount_point = GBE_NO;
	t->was_default = GBE_YES;
	t->trial.on = GBE_YES;
	t->trial.since = 41;
	t->trial.used = 0;
	t->trial.judged = true;
	t->trial.judges = GBE_YES;
	t->at = 1732100000;
	t->uptime = 12;
	t->store_path = g_strdup("/var/lib/greenboot-etcd/backups");
	t->store_fs = g_strdup("8a6a1f60-0d5e-4b7c-9d0e-0123456789ab");
	t->late = true;
	t->began_empty = true;
	t->data_dir = g_strdup("/var/lib/etcd");
	t->store_tree = g_strdup("fs:0100ac");
	t->member_id = g_strdup("8e9e05c52164694d");
	t->cluster_id = g_strdup("cdf818194e3a8c32");
	return gbe_take_over_to_json(t);
}

static JsonObject *
closing_sample(void)
{
	GbeClosing closing = {.present = true,
			      .used = 3600,
			      .at = 1732200000,
			      .fingerprint = {.present = true,
					      .txid = {7, 6},
					      .wal_name = (char *)"0-0.wal",
					      .snaps = (char *)"",
					      .others = (char *)"ab"},
			      .next = (char *)OTHER,
			      .backup = {.name = (char *)ID "_" RUN "~2", .sequence = 41}};

	return gbe_closing_to_json(&closing);
}

static JsonObject *
verdict_sample(void)
{
	const GbeRunRecord run = {.sequence = 42,
				  .verdict = GBE_VERDICT_GREEN,
				  .by_hand = true,
				  .health = GBE_HEALTH_HEALTHY,
				  .reason = (char *)"it\nworks",
				  .etcd_version = (char *)"3.5.16",
				  .revision = 7,
				  .member_id = (char *)"8e9e05c52164694d",
				  .cluster_id = (char *)"cdf818194e3a8c32",
				  .voters = 3};

	return gbe_verdict_to_json(&run);
}

static JsonObject *
request_sample(void)
{
	const GbeRequest request = {.kind = GBE_REQUEST_RESTORE,
				    .name = (char *)"adopted-7",
				    .run = (char *)RUN "+1",
				    .force = true,
				    .from_cmdline = true};

	return gbe_request_to_json(&request);
}

static JsonObject *
last_sample(void)
{
	const GbeLastOperation last = {.operation = (char *)"restore",
				       .result = (char *)"done",
				       .rule = (char *)"10a",
				       .reason = (char *)"the update failed",
				       .backup = (char *)"adopted-7",
				       .run = (char *)RUN,
				       .started = 1732100000,
				       .duration_usec = 51234};

	return gbe_last_operation_to_json(&last);
}

static JsonObject *
periodic_sample(void)
{
	const GbePeriodic periodic = {.result = GBE_PERIODIC_SKIPPED,
				      .reason = (char *)"busy",
				      .backup = (char *)"b",
				      .member = (char *)"81",
				      .taken = 5,
				      .revision = 7,
				      .applied = 9,
				      .attempted = 11,
				      .succeeded = 10};

	return gbe_periodic_print(&periodic);
}

static JsonObject *
rehearsal_sample(void)
{
	const GbeRehearsal rehearsal = {
	    .deployment = {.id = (char *)"os-b.0", .handle = (char *)"1:2"},
	    .result = GBE_REHEARSAL_FAILED,
	    .reason = (char *)"etcd ended",
	    .from = (char *)"3.4.23",
	    .to = (char *)"3.5.9",
	    .duration_usec = 7,
	    .at = 9,
	    .goes_back = GBE_NO,
	    .going_back = (char *)"why",
	    .locked = true};

	return gbe_rehearsal_print(&rehearsal);
}

static JsonObject *
update_lock_sample(void)
{
	const GbeUpdateLock lock = {.id = (char *)"00112233445566aa",
				    .member = (char *)"south",
				    .deployment = {.id = (char *)ID, .handle = (char *)"1:2"},
				    .state = GBE_UPDATE_LOCK_FAILED,
				    .reason = (char *)"it is red",
				    .since = 1732100000,
				    .locked = true};

	return gbe_update_lock_to_json(&lock);
}

static JsonObject *
manifest_sample(void)
{
	g_autoptr(GbeManifest) m = gbe_manifest_new();
	const char *const left_out[] = {"member/sock", "odd\xff", NULL};

	m->written_by = g_strdup("0.1.0");
	m->name = g_strdup(ID "_" RUN);
	m->deployment.id = g_strdup(ID);
	m->run = g_strdup(RUN);
	m->sequence = 42;
	m->lineage.line = 41;
	m->trial.on = GBE_YES;
	m->trial.since = 41;
	m->trial.used = 60;
	m->trial.judges = GBE_NO;
	m->grade = GBE_GRADE_BAD;
	m->grade_reason = g_strdup("its trial failed");
	m->verdict = GBE_VERDICT_RED;
	m->health = GBE_HEALTH_UNHEALTHY;
	m->origin = GBE_ORIGIN_DISPLACED;
	m->verified = GBE_VERIFIED_SANITY;
	m->method = GBE_METHOD_RENAME;
	m->live = true;
	m->pinned = true;
	m->set_aside = true;
	m->discard = true;
	m->created = 1732100000;
	m->data_dir = g_strdup("/var/lib/etcd");
	m->description = g_strdup("a \"b\"\x1f\n\xff");
	m->size = 81234567;
	m->files_count = 2;
	gbe_manifest_add_file(m, "member/snap/db", 81230000, C64);
	gbe_manifest_add_file(m, "na\xefve \xff", 4567, NULL);
	m->left_out = g_strdupv((char **)(gpointer)left_out);
	m->fingerprint.present = true;
	m->fingerprint.snaps = g_strdup("");
	m->fingerprint.others = g_strdup("00");
	m->etcd_version = g_strdup("3.5.16");
	m->member_id = g_strdup("8e9e05c52164694d");
	m->revision = 40511;
	m->storage_version = g_strdup("3.6");
	m->consistent_index = 50622;
	m->compact_revision = 40000;
	m->total_keys = 1234;
	m->hash_kv = 4294967295;
	m->scrubbed = 1732200000;
	m->voters = 1;
	m->data_version = g_strdup("4.19.0");
	return gbe_manifest_to_json(m, true);
}

static JsonObject *
offsite_sample(void)
{
	const GbeOffsite offsite = {.newest = (char *)"n",
				    .pushed = (char *)"p",
				    .first_pushed_at = 0,
				    .pushed_at = 1,
				    .pushed_revision = 2,
				    .looked_at = 3,
				    .size = 4,
				    .sent = 0,
				    .requests = 6,
				    .usec = 7,
				    .sha256 = (char *)"s",
				    .stored_sha256 = (char *)"t",
				    .hash_kv = 4294967295,
				    .proved = (char *)"q",
				    .proved_at = 8,
				    .proved_revision = 9,
				    .damaged = (char *)"d",
				    .damaged_why = (char *)"why",
				    .failed_at = 10,
				    .failed_why = (char *)"away"};
	JsonObject *object = json_object_new();

	gbe_offsite_print(&offsite, object);
	return object;
}

/* ---- a record is read and printed again; NULL with @error: it is refused ---- */

static JsonObject *
intent_again(JsonObject *object, GError **error)
{
	g_autoptr(GbeIntent) intent = NULL;

	if (!gbe_intent_from_json(object, &intent, error))
		return NULL;
	/* A newer program's intent is never written again. */
	if (intent->operation == GBE_OPERATION_UNKNOWN) {
		(void)gbe_throw(error, GBE_ERROR_CORRUPT, "an unknown operation");
		return NULL;
	}
	return gbe_intent_to_json(intent);
}

/* Also by a copy, which owns what it points to. */
static JsonObject *
take_over_again(JsonObject *object, GError **error)
{
	g_autoptr(GbeTakeOver) t = NULL, copy = NULL;

	if (!gbe_take_over_from_json(object, &t, error))
		return NULL;
	copy = gbe_take_over_copy(t);
	g_clear_pointer(&t, gbe_take_over_free);
	return gbe_take_over_to_json(copy);
}

static JsonObject *
closing_again(JsonObject *object, GError **error)
{
	GbeClosing closing = {.used = -1};
	JsonObject *again;

	gbe_closing_from_json(object, &closing);
	again = closing.present ? gbe_closing_to_json(&closing) : NULL;
	if (again == NULL)
		(void)gbe_throw(error, GBE_ERROR_CORRUPT, "the data may have changed");
	gbe_closing_clear(&closing);
	return again;
}

static JsonObject *
verdict_again(JsonObject *object, GError **error)
{
	g_autoptr(GbeRunRecord) run = gbe_run_record_new();

	if (!gbe_verdict_from_json(object, run, error))
		return NULL;
	run->sequence = (guint64)gbe_json_int(object, "of", 0);
	return gbe_verdict_to_json(run);
}

static JsonObject *
request_again(JsonObject *object, GError **error)
{
	GbeRequest request = {0};
	JsonObject *again;

	if (!gbe_request_from_json(object, &request, error))
		return NULL;
	again = gbe_request_to_json(&request);
	gbe_request_clear(&request);
	return again;
}

static JsonObject *
manifest_again(JsonObject *object, GError **error)
{
	g_autoptr(GbeManifest) m = NULL, copy = NULL;

	if (!gbe_manifest_from_json(object, &m, error))
		return NULL;
	copy = gbe_manifest_copy(m);
	g_clear_pointer(&m, gbe_manifest_free);
	return gbe_manifest_to_json(copy, true);
}

/* A member that cannot be read is not known: these refuse nothing. */
#define AGAIN(name, type, read, print, clear)                                                      \
	static JsonObject *name##_again(JsonObject *object, GError **error)                        \
	{                                                                                          \
		type record = {0};                                                                 \
		JsonObject *again;                                                                 \
                                                                                                   \
		(void)error;                                                                       \
		read(object, &record);                                                             \
		again = print(&record);                                                            \
		clear(&record);                                                                    \
		return again;                                                                      \
	}
AGAIN(last, GbeLastOperation, gbe_last_operation_from_json, gbe_last_operation_to_json,
      gbe_last_operation_clear)
AGAIN(periodic, GbePeriodic, gbe_periodic_read, gbe_periodic_print, gbe_periodic_clear)
AGAIN(rehearsal, GbeRehearsal, gbe_rehearsal_read, gbe_rehearsal_print, gbe_rehearsal_clear)
AGAIN(update_lock, GbeUpdateLock, gbe_update_lock_from_json, gbe_update_lock_to_json,
      gbe_update_lock_clear)

/* An existing record keeps the members of a later version. */
static JsonObject *
offsite_again(JsonObject *object, GError **error)
{
	g_auto(GbeOffsite) offsite = {0};

	(void)error;
	gbe_offsite_read(object, &offsite);
	gbe_offsite_print(&offsite, object);
	return json_object_ref(object);
}

/* ---- the table ---- */

static const struct {
	const char *name;
	JsonObject *(*sample)(void);
	JsonObject *(*again)(JsonObject *object, GError **error);
} records[] = {
    {"intent", intent_sample, intent_again},
    {"take-over", take_over_sample, take_over_again},
    {"closing", closing_sample, closing_again},
    {"verdict", verdict_sample, verdict_again},
    {"request", request_sample, request_again},
    {"last", last_sample, last_again},
    {"manifest", manifest_sample, manifest_again},
    {"offsite", offsite_sample, offsite_again},
    {"periodic", periodic_sample, periodic_again},
    {"rehearsal", rehearsal_sample, rehearsal_again},
    {"update-lock", update_lock_sample, update_lock_again},
};

static int now; /* the record that is played */

static char *
text_of(int record)
{
	g_autofree char *path =
	    g_build_filename(g_getenv("GBE_TEST_DATA"), "records", records[record].name, NULL);
	char *text = NULL;

	ck_assert_msg(g_file_get_contents(path, &text, NULL, NULL), "%s is missing", path);
	return text;
}

/* The text that @object prints after it was read; NULL: it is refused, as corrupt. */
static char *
reprint(JsonObject *object)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(JsonObject) again = records[now].again(object, &error);

	ck_assert_msg(again != NULL || g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT),
		      "%s: %s", records[now].name, error != NULL ? error->message : "no error");
	return again != NULL ? gbe_json_print_object(again) : NULL;
}

static char *
reprint_text(const char *bytes, gsize size)
{
	g_autoptr(JsonObject) object = NULL;

	return gbe_json_parse_object(bytes, size, "record", &object, NULL) ? reprint(object) : NULL;
}

/* An accepted record prints as an accepted record that prints the same. */
static void
require_stable(const char *first)
{
	g_autofree char *second = reprint_text(first, strlen(first));

	ck_assert_msg(g_strcmp0(first, second) == 0, "%s: %s became %s", records[now].name, first,
		      second != NULL ? second : "a corrupt one");
}

START_TEST(prints_the_text)
{
	g_autofree char *text = NULL, *printed = NULL;
	g_autoptr(JsonObject) object = NULL;

	object = records[_i].sample();
	printed = gbe_json_print_object(object);
	text = text_of(_i);
	ck_assert_msg(g_str_equal(printed, text), "%s prints another text", records[_i].name);
}
END_TEST

START_TEST(reads_the_text)
{
	g_autofree char *text = text_of(_i), *printed = NULL;

	now = _i;
	printed = reprint_text(text, strlen(text));
	ck_assert_msg(g_strcmp0(printed, text) == 0, "%s reads another text", records[_i].name);
}
END_TEST

/* Removes each member "later" of @node. */
static void
drop_later(JsonNode *node)
{
	if (JSON_NODE_HOLDS_ARRAY(node)) {
		for (guint i = 0; i < json_array_get_length(json_node_get_array(node)); i++)
			drop_later(json_array_get_element(json_node_get_array(node), i));
	} else if (JSON_NODE_HOLDS_OBJECT(node)) {
		JsonObject *object = json_node_get_object(node);
		g_autoptr(GList) members = NULL;

		json_object_remove_member(object, "later");
		members = json_object_get_values(object);
		for (GList *member = members; member != NULL; member = member->next)
			drop_later(member->data);
	}
}

/* A later version also adds a member to the objects inside. Only a manifest's lists may have none. */
START_TEST(reads_a_later_version_inside)
{
	g_autofree char *text = text_of(_i), *more = NULL, *printed = NULL;
	g_autoptr(JsonNode) ours = NULL, known = NULL;
	g_auto(GStrv) parts = NULL;

	now = _i;
	if (g_str_equal(records[_i].name, "manifest"))
		return;
	parts = g_strsplit(text, "{\n", -1);
	more = g_strjoinv("{\"later\":{\"x\":[1,2.5,null]},\n", parts);
	printed = reprint_text(more, strlen(more));
	ck_assert_msg(printed != NULL, "%s: refused with %s", records[_i].name, more);
	require_stable(printed);
	ours = json_from_string(printed, NULL);
	drop_later(ours);
	known = json_from_string(text, NULL);
	ck_assert_msg(json_node_equal(ours, known), "%s became %s", text, printed);
}
END_TEST

/* A later version adds a member of any type. The known members stay as they are. */
START_TEST(reads_a_later_version)
{
	static const char *const values[] = {"1",  "\"word\"", "null", "{\"x\":[1,2.5,null]}",
					     "[]", "true"};
	g_autofree char *text = text_of(_i);
	g_autoptr(JsonObject) known = NULL;
	g_autoptr(GList) keys = NULL;

	now = _i;
	ck_assert(gbe_json_parse_object(text, strlen(text), "record", &known, NULL));
	keys = json_object_get_members(known);
	for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
		g_autofree char *more = g_strdup_printf("{\"later\":%s,%s", values[i], text + 1);
		g_autofree char *printed = reprint_text(more, strlen(more));
		g_autoptr(JsonObject) object = NULL;

		ck_assert_msg(printed != NULL, "%s: refused with %s", records[_i].name, more);
		ck_assert(gbe_json_parse_object(printed, strlen(printed), "record", &object, NULL));
		for (GList *key = keys; key != NULL; key = key->next)
			ck_assert_msg(json_node_equal(json_object_get_member(object, key->data),
						      json_object_get_member(known, key->data)),
				      "%s: %s changed", records[_i].name, (char *)key->data);
		require_stable(printed);
	}
}
END_TEST

/* Each member is absent, or of another type. The record is corrupt, or the other members stay as they are. */
START_TEST(reads_other_members)
{
	static const char *const values[] = {NULL,   "null",  "-1", "7",  "true",
					     "\"\"", "\"x\"", "[]", "{}", "[7]"};
	g_autofree char *text = text_of(_i);
	g_autoptr(JsonObject) known = NULL;
	g_autoptr(GList) keys = NULL;

	now = _i;
	ck_assert(gbe_json_parse_object(text, strlen(text), "record", &known, NULL));
	keys = json_object_get_members(known);
	for (GList *key = keys; key != NULL; key = key->next)
		for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
			g_autoptr(JsonObject) object = NULL;
			g_autofree char *printed = NULL;

			ck_assert(
			    gbe_json_parse_object(text, strlen(text), "record", &object, NULL));
			if (values[i] != NULL)
				json_object_set_member(object, key->data,
						       json_from_string(values[i], NULL));
			else
				json_object_remove_member(object, key->data);
			printed = reprint(object);
			if (printed != NULL)
				require_stable(printed);
		}
}
END_TEST

static void
mangled(const char *bytes, gsize size, bool complete)
{
	g_autofree char *printed = reprint_text(bytes, size);

	if (printed == NULL)
		return;
	/* Without the newline at its end it says the same. */
	ck_assert_msg(complete || bytes[size - 1] == '}', "half a record was taken");
	require_stable(printed);
}

START_TEST(any_bytes)
{
	g_autofree char *text = text_of(_i);

	now = _i;
	gbe_mangle(text, mangled);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-records");
	TCase *tcase = tcase_create("records");
	const int n = G_N_ELEMENTS(records);

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, prints_the_text, 0, n);
	tcase_add_loop_test(tcase, reads_the_text, 0, n);
	tcase_add_loop_test(tcase, reads_a_later_version, 0, n);
	tcase_add_loop_test(tcase, reads_a_later_version_inside, 0, n);
	tcase_add_loop_test(tcase, reads_other_members, 0, n);
	tcase_add_loop_test(tcase, any_bytes, 0, n);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
