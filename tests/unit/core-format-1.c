/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Yesterday's program reads today's files": the golden files of format 1 and their expected content. This program must
 * find the same content in the files that a later version may write. */
#include "base/crc32c.h"
#include "core/decide/past.h"
#include "core/record/offsite.h"
#include "core/record/periodic.h"
#include "lib/ledger.h"
#include "lib/unit.h"

#define ID "rhel_9.4-35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48.1"
#define OTHER "rhel_9.4-35d7aa0c9fe3b4c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a09a48.0"

static char *
golden(const char *name)
{
	const char *data = g_getenv("GBE_TEST_DATA");
	g_autofree char *path = NULL;
	char *text = NULL;
	g_autoptr(GError) error = NULL;
	bool ok;

	path = g_build_filename(data != NULL ? data : "tests/data", "format-1", name, NULL);
	ok = g_file_get_contents(path, &text, NULL, &error);
	ck_assert_msg(ok, "%s", ok ? "" : error->message);
	return text;
}

/* ---- a later version ---- */

#define ELSE "of-a-later-version"

static void make_later(JsonNode *node);

static void
make_member_later(JsonObject *object, const char *name, JsonNode *node, gpointer data)
{
	/* The lists of a manifest are the exception: CONTRIBUTING.md, "Formats". */
	if (!g_str_equal(name, "files") && !g_str_equal(name, "left_out"))
		make_later(node);
}

static void
make_element_later(JsonArray *array, guint index, JsonNode *node, gpointer data)
{
	make_later(node);
}

/* Adds unknown keys to each object, however deep, and raises the format. */
static void
make_later(JsonNode *node)
{
	if (JSON_NODE_HOLDS_ARRAY(node)) {
		json_array_foreach_element(json_node_get_array(node), make_element_later, NULL);
	} else if (JSON_NODE_HOLDS_OBJECT(node)) {
		JsonObject *object = json_node_get_object(node);

		json_object_foreach_member(object, make_member_later, NULL);
		json_object_set_object_member(object, ELSE, parse_json("{\"a\":[{\"b\":null}]}"));
		if (json_object_has_member(object, "format"))
			json_object_set_int_member(object, "format", 2);
	}
}

static JsonObject *
parse_later(const char *text)
{
	JsonObject *object = parse_json(text);
	g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);

	json_node_set_object(node, object);
	make_later(node);
	return object;
}

/* The golden file, or (@later) a later version of it. */
static char *
golden_json(const char *name, bool later)
{
	g_autofree char *text = golden(name);
	g_autoptr(JsonObject) object = NULL;

	if (!later)
		return g_steal_pointer(&text);
	object = parse_later(text);
	return gbe_json_print_object(object);
}

/* ---- manifests ---- */

/* A record without its JSON prints only the known members: each key is this program's. */
START_TEST(manifest_golden)
{
	const char *name = _i < 2 ? "manifest" : "manifest-signed";
	g_autofree char *text = golden(name), *read = golden_json(name, _i % 2), *again = NULL;
	g_autoptr(GbeManifest) manifest = NULL;

	ck_assert(gbe_manifest_parse(read, strlen(read), &manifest, NULL));
	g_clear_pointer(&manifest->unknown, json_object_unref);
	ck_assert_int_eq(manifest->format, 1 + _i % 2);
	manifest->format = 1;
	again = gbe_manifest_print(manifest);
	ck_assert_str_eq(again, text);
}
END_TEST

/* Written again, as a change of its grade does, it has lost nothing of a later version's. */
START_TEST(manifest_of_a_later_version_is_kept)
{
	g_autofree char *text = golden_json("manifest", true), *written = NULL;
	g_autoptr(JsonObject) was = parse_json(text), is = NULL;
	g_autoptr(GbeManifest) manifest = NULL;

	ck_assert(gbe_manifest_parse(text, strlen(text), &manifest, NULL));
	written = gbe_manifest_print(manifest);
	is = parse_json(written);
	ck_assert_msg(json_object_equal(was, is), "%s", written);
}
END_TEST

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"

/* The digest that was made once stays right: the signed text never changes. */
START_TEST(manifest_signed)
{
	g_autofree char *text = golden("manifest-signed");
	g_autoptr(GbeManifest) manifest = NULL;
	g_autoptr(GbeKeys) keys = NULL;

	ck_assert(gbe_keys_parse(KEY, strlen(KEY), &keys, NULL));
	ck_assert(gbe_manifest_parse(text, strlen(text), &manifest, NULL));
	gbe_manifest_check_seal(manifest, keys);
	ck_assert_int_eq(manifest->seal, GBE_SEAL_RIGHT);
}
END_TEST

/* The digest of a later version also covers the keys that only that version knows. */
START_TEST(manifest_signed_by_a_later_version)
{
	g_autofree char *text = golden_json("manifest-signed", true), *all = NULL, *digest = NULL;
	g_autoptr(JsonObject) object = parse_json(text), sorted = json_object_new();
	g_autoptr(GbeManifest) manifest = NULL;
	g_autoptr(GbeKeys) keys = NULL;
	g_autoptr(GList) names = json_object_get_members(object);

	ck_assert(gbe_keys_parse(KEY, strlen(KEY), &keys, NULL));
	names = g_list_sort(names, (GCompareFunc)strcmp);
	for (GList *item = names; item != NULL; item = item->next)
		if (!g_str_equal(item->data, "hmac"))
			json_object_set_member(sorted, item->data,
					       json_object_dup_member(object, item->data));
	all = gbe_json_print_object(sorted);
	digest = gbe_keys_sign(keys, GBE_KEYED_MANIFEST, all);
	json_object_set_string_member(object, "hmac", digest);
	g_free(text);
	text = gbe_json_print_object(object);
	ck_assert(gbe_manifest_parse(text, strlen(text), &manifest, NULL));
	gbe_manifest_check_seal(manifest, keys);
	ck_assert_int_eq(manifest->seal, GBE_SEAL_RIGHT);
}
END_TEST

/* ---- small records ---- */

START_TEST(nonce_golden)
{
	g_autofree char *text = golden_json("nonce", _i);
	GbeNonce nonce = {0};

	gbe_nonce_parse(text, strlen(text), &nonce);
	ck_assert_str_eq(nonce.ledger, "5ca1ab1e0ddba115");
	ck_assert_uint_eq(nonce.sequence, 8);
	ck_assert_str_eq(nonce.nonce, "00112233445566aa");
	gbe_nonce_clear(&nonce);
}
END_TEST

/* Sealed with its digest, as all of the small files of the state. Opens the golden file, or (@later) a later version of
 * it. */
static JsonObject *
golden_record(const char *name, bool later)
{
	g_autofree char *sealed = golden(name);
	JsonObject *object = NULL;

	if (later) {
		g_autofree char *text =
		    g_strndup(sealed, (gsize)(g_strrstr(sealed, "sha256 ") - sealed));
		g_autoptr(JsonObject) changed = parse_later(text);
		g_autofree char *json = gbe_json_print_object(changed);

		g_free(sealed);
		sealed = gbe_record_seal(json);
	}
	ck_assert(gbe_record_open(sealed, strlen(sealed), name, &object, NULL));
	return object;
}

START_TEST(periodic_golden)
{
	g_autoptr(JsonObject) object = golden_record("periodic", _i > 0);
	g_auto(GbePeriodic) periodic = {0};

	gbe_periodic_read(object, &periodic);
	ck_assert_int_eq(periodic.result, GBE_PERIODIC_SKIPPED);
	ck_assert_str_eq(periodic.reason, "etcd defragments its database");
	ck_assert_int_eq(periodic.attempted, 1732100030);
	ck_assert_int_eq(periodic.succeeded, 1732100020);
	ck_assert_str_eq(periodic.backup, "periodic-21");
	ck_assert_int_eq(periodic.taken, 1732100010);
	ck_assert_str_eq(periodic.member, "8a6a1f60:02");
	ck_assert_int_eq(periodic.revision, 40511);
	ck_assert_int_eq(periodic.applied, 40700);
}
END_TEST

START_TEST(stores_golden)
{
	static const char store[] = "https://s3.example/bucket/site-1";
	g_autoptr(JsonObject) object = golden_record("stores", _i > 0);
	JsonObject *stores = gbe_json_object(object, "stores");
	g_auto(GbeOffsite) offsite = {0};

	ck_assert_ptr_nonnull(stores);
	gbe_offsite_read(gbe_json_object(stores, store), &offsite);
	ck_assert_str_eq(gbe_json_string(gbe_json_object(object, "newest"), store, NULL),
			 "2026-11-25T03:04:05Z-000012");
	ck_assert_str_eq(offsite.newest, "2026-11-25T03:04:05Z-000012");
	ck_assert_str_eq(offsite.pushed, "2026-11-25T03:04:05Z-000012");
	ck_assert_int_eq(offsite.first_pushed_at, 1760000000);
	ck_assert_int_eq(offsite.pushed_at, 1764039845);
	ck_assert_int_eq(offsite.pushed_revision, 40511);
	ck_assert_int_eq(offsite.looked_at, 1764043445);
	ck_assert_int_eq(offsite.size, 4096);
	ck_assert_int_eq(offsite.sent, 4200);
	ck_assert_int_eq(offsite.requests, 3);
	ck_assert_int_eq(offsite.usec, 125000);
	ck_assert(g_str_has_prefix(offsite.sha256, "ba7816bf"));
	ck_assert(g_str_has_prefix(offsite.stored_sha256, "e3b0c442"));
	ck_assert_int_eq(offsite.hash_kv, 3735928559);
	ck_assert_str_eq(offsite.proved, "2026-11-23T03:04:05Z-000010");
	ck_assert_int_eq(offsite.proved_at, 1763870000);
	ck_assert_int_eq(offsite.proved_revision, 40000);
	ck_assert_str_eq(offsite.damaged, "2026-11-24T03:04:05Z-000011");
	ck_assert_str_eq(offsite.damaged_why, "its checksum is wrong");
	ck_assert_int_eq(offsite.failed_at, 1764040000);
	ck_assert_str_eq(offsite.failed_why, "the server cannot be reached");
}
END_TEST

START_TEST(bound_stores_golden)
{
	g_autoptr(JsonObject) object = golden_record("stores-bound", _i > 0);
	JsonObject *stores = gbe_json_object(object, "stores");
	g_auto(GbeOffsite) offsite = {0};

	ck_assert_ptr_nonnull(stores);
	gbe_offsite_read(gbe_json_object(stores, "https://s3.example/bucket/site-1"), &offsite);
	ck_assert_str_eq(offsite.newest, "2026-11-25T03:04:05Z-000012");
	ck_assert_str_eq(offsite.bound, "2026-11-22T03:04:05Z-000009");
	ck_assert_str_eq(offsite.failed_why, "the server cannot be reached");
}
END_TEST

/* ---- the ledger ---- */

/* A record of an unknown kind, at each free sequence number. */
static void
put_else(GbeLedger *ledger, guint64 sequence)
{
	g_autofree char *text =
	    g_strdup_printf("{\"sequence\":%" G_GUINT64_FORMAT ",\"kind\":\"" ELSE
			    "\",\"time\":1732100000,\"of\":8,\"held\":true,\"verdict\":\"red\"}",
			    sequence);

	put(ledger, text);
}

/* The lines up to the first one with @last; all lines if none has it. @later: as a later version writes them. */
static GbeLedger *
read_ledger(const char *last, bool later)
{
	g_autofree char *text = golden("ledger");
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	GbeLedger *ledger = gbe_ledger_new();

	for (guint i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++) {
		const char *json = lines[i] + 9;
		g_autoptr(JsonObject) object = NULL;
		g_autofree char *changed = NULL;

		ck_assert_uint_eq(g_ascii_strtoull(lines[i], NULL, 16),
				  gbe_crc32c(0, json, strlen(json)));
		object = later ? parse_later(json) : parse_json(json);
		if (later && ledger->last > 0 &&
		    gbe_ledger_number(object, "sequence") > ledger->last + 1)
			put_else(ledger, ledger->last + 1);
		changed = gbe_json_print_line(object);
		put(ledger, changed);
		if (last != NULL && strstr(json, last) != NULL)
			break;
	}
	return ledger;
}

START_TEST(there_is_one_of_each_kind)
{
	g_autoptr(GbeLedger) ledger = read_ledger(NULL, _i);

	ck_assert_str_eq(ledger->id, "5ca1ab1e0ddba115");
	for (guint kind = GBE_LEDGER_TAKE_OVER; kind < GBE_LEDGER_KINDS; kind++) {
		bool found = false;

		for (guint i = 0; i < ledger->records->len; i++)
			found =
			    found || ((GbeLedgerRecord *)ledger->records->pdata[i])->kind == kind;
		ck_assert_msg(found, "no %s", gbe_ledger_kind_to_string((GbeLedgerKind)kind));
	}
}
END_TEST

START_TEST(a_run_of_it)
{
	g_autoptr(GbeLedger) ledger = read_ledger("\"kind\":\"closing\"", _i);
	g_autoptr(GbeFacts) facts = fold(ledger);
	const GbeTakeOver *t = facts->take_overs->pdata[0];
	const GbeRunRecord *run = gbe_facts_run(facts, t->sequence);

	ck_assert_str_eq(t->deployment.id, ID);
	ck_assert_str_eq(t->deployment.handle, "810000001f00");
	ck_assert_str_eq(t->run, RUN "+1");
	ck_assert_str_eq(t->tree, "8a6a1f60:01");
	ck_assert_int_eq(t->mount_point, GBE_YES);
	ck_assert_str_eq(t->nonce, "00112233445566aa");
	ck_assert_str_eq(gbe_take_over_base(t)->name, "adopted-7");
	ck_assert_uint_eq(gbe_take_over_base(t)->sequence, 7);
	ck_assert_str_eq(((GbeLink *)t->chain->pdata[0])->owner.id, OTHER);
	ck_assert(((GbeLink *)t->chain->pdata[0])->failed);
	ck_assert_str_eq(t->found.name, "adopted-7");
	ck_assert_str_eq(t->source, "before-update");
	ck_assert(t->asked && t->failed && !t->skipped);
	ck_assert_int_eq(t->trial.on, GBE_YES);
	ck_assert(t->used_beyond);
	ck_assert(t->closing.present);
	ck_assert_uint_eq(t->closing.fingerprint.txid[1], 8);
	ck_assert_str_eq(t->closing.next, OTHER);
	ck_assert_int_eq(t->closing.used, 3600);
	ck_assert_int_eq(run->verdict, GBE_VERDICT_RED);
	ck_assert_int_eq(run->health, GBE_HEALTH_UNHEALTHY);
	ck_assert_int_eq(run->revision, 40511);
	ck_assert_str_eq(run->left.name, "closing-one");
	ck_assert_str_eq(facts->undo.name, "adopted-7");
}
END_TEST

START_TEST(an_open_operation_of_it)
{
	g_autoptr(GbeLedger) ledger = read_ledger("\"kind\":\"intent\"", _i);
	g_autoptr(GbeFacts) facts = fold(ledger);

	ck_assert_ptr_nonnull(facts->intent);
	ck_assert_int_eq(facts->intent->operation, GBE_OPERATION_RESTORE);
	ck_assert_uint_eq(facts->intent->sequence, 20);
	ck_assert_str_eq(facts->intent->staging, "/var/lib/etcd/.greenboot-etcd/.restore-20");
	ck_assert_str_eq(facts->intent->tree_new, "8a6a1f60:02");
	ck_assert_str_eq(facts->intent->tree_old, "8a6a1f60:01");
	ck_assert_str_eq(facts->intent->entries[1], "member");
	ck_assert_str_eq(facts->intent->displaced->name, "was-displaced");
	ck_assert_uint_eq(facts->intent->take_over->sequence, 21);
	ck_assert_str_eq(facts->intent->take_over->request, "--next-boot");
	ck_assert_uint_ge(facts->ledger_last, 21);
}
END_TEST

START_TEST(what_people_asked_of_it)
{
	g_autoptr(GbeLedger) asked = read_ledger("\"kind\":\"request\"", _i),
			     all = read_ledger(NULL, _i);
	g_autoptr(GbeFacts) waiting = fold(asked), facts = fold(all);

	ck_assert_int_eq(waiting->request.kind, GBE_REQUEST_RESTORE);
	ck_assert_str_eq(waiting->request.name, "before-update");
	ck_assert(waiting->request.force);
	ck_assert_int_eq(facts->request.kind, GBE_REQUEST_NONE);
	ck_assert_str_eq(facts->cmdline_done, "last-good");
	ck_assert_ptr_null(facts->rd_cmdline_done);
	ck_assert_ptr_null(facts->intent);
	ck_assert(facts->handed_back);
	ck_assert_str_eq(((GbeGone *)facts->gone->pdata[0])->id, OTHER);
	ck_assert_uint_eq(((GbeGone *)facts->gone->pdata[0])->sequence, 29);
	ck_assert_str_eq(facts->last.rule, "10a");
	ck_assert_int_eq(facts->last.duration_usec, 51234);
	ck_assert_str_eq(facts->failure_why, "no space");
	ck_assert(!facts->holes);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-format-1");
	TCase *golden_files = tcase_create("golden");

	/* 0: the golden files; 1: as a later version may write them. */
	tcase_add_loop_test(golden_files, manifest_golden, 0, 4);
	tcase_add_test(golden_files, manifest_of_a_later_version_is_kept);
	tcase_add_test(golden_files, manifest_signed);
	tcase_add_test(golden_files, manifest_signed_by_a_later_version);
	tcase_add_loop_test(golden_files, nonce_golden, 0, 2);
	tcase_add_loop_test(golden_files, periodic_golden, 0, 2);
	tcase_add_loop_test(golden_files, stores_golden, 0, 2);
	tcase_add_loop_test(golden_files, bound_stores_golden, 0, 2);
	tcase_add_loop_test(golden_files, there_is_one_of_each_kind, 0, 2);
	tcase_add_loop_test(golden_files, a_run_of_it, 0, 2);
	tcase_add_loop_test(golden_files, an_open_operation_of_it, 0, 2);
	tcase_add_loop_test(golden_files, what_people_asked_of_it, 0, 2);
	suite_add_tcase(suite, golden_files);
	return gbe_unit_main(suite);
}
