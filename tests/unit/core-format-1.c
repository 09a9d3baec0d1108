/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Yesterday's program reads today's files": the golden files of format 1, and what has to be found in them. */
#include "base/crc32c.h"
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

/* What was read without its JSON prints from what is known alone: each key is this program's. */
START_TEST(manifest_golden)
{
	g_autofree char *text = golden("manifest"), *again = NULL;
	g_autoptr(GbeManifest) manifest = NULL;

	ck_assert(gbe_manifest_parse(text, strlen(text), &manifest, NULL));
	g_clear_pointer(&manifest->unknown, json_object_unref);
	again = gbe_manifest_print(manifest);
	ck_assert_str_eq(again, text);
}
END_TEST

/* Up to the first line that holds @last, all of them without one. */
static GbeLedger *
read_ledger(const char *last)
{
	g_autofree char *text = golden("ledger");
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	GbeLedger *ledger = gbe_ledger_new();

	for (guint i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++) {
		const char *json = lines[i] + 9;

		ck_assert_uint_eq(g_ascii_strtoull(lines[i], NULL, 16),
				  gbe_crc32c(0, json, strlen(json)));
		put(ledger, json);
		if (last != NULL && strstr(json, last) != NULL)
			break;
	}
	return ledger;
}

START_TEST(there_is_one_of_each_kind)
{
	g_autoptr(GbeLedger) ledger = read_ledger(NULL);

	ck_assert_str_eq(ledger->id, "5ca1ab1e0ddba115");
	for (guint kind = GBE_LEDGER_TAKE_OVER; kind < GBE_LEDGER_KINDS; kind++) {
		gboolean found = FALSE;

		for (guint i = 0; i < ledger->records->len; i++)
			found =
			    found || ((GbeLedgerRecord *)ledger->records->pdata[i])->kind == kind;
		ck_assert_msg(found, "no %s", gbe_ledger_kind_to_string((GbeLedgerKind)kind));
	}
}
END_TEST

START_TEST(a_run_of_it)
{
	g_autoptr(GbeLedger) ledger = read_ledger("\"kind\":\"closing\"");
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
	ck_assert(t->used_beyond && t->ended);
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
	g_autoptr(GbeLedger) ledger = read_ledger("\"kind\":\"intent\"");
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
	g_autoptr(GbeLedger) asked = read_ledger("\"kind\":\"request\""), all = read_ledger(NULL);
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

	tcase_add_test(golden_files, manifest_golden);
	tcase_add_test(golden_files, there_is_one_of_each_kind);
	tcase_add_test(golden_files, a_run_of_it);
	tcase_add_test(golden_files, an_open_operation_of_it);
	tcase_add_test(golden_files, what_people_asked_of_it);
	suite_add_tcase(suite, golden_files);
	return gbe_unit_main(suite);
}
