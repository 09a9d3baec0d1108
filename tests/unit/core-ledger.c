/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The fold: the meaning of each kind of record, and of missing records. */
#include <stdbool.h>

#include "lib/ledger.h"
#include "lib/unit.h"

START_TEST(nothing_is_known_of_an_empty_one)
{
	g_autoptr(GbeLedger) ledger = gbe_ledger_new();
	g_autoptr(GbeFacts) facts = fold(ledger);

	ck_assert_int_eq(facts->ledger, GBE_NO);
	ck_assert_uint_eq(facts->take_overs->len, 0);
	ck_assert_uint_eq(facts->next_sequence, 1);
	ck_assert(!facts->holes && !facts->lost);
}
END_TEST

START_TEST(what_is_no_record)
{
	static const char *const cases[] = {
	    "{}",
	    "{\"kind\":\"start\"}",
	    "{\"sequence\":1}",
	    "{\"sequence\":0,\"kind\":\"start\"}",
	    "{\"sequence\":-1,\"kind\":\"start\"}",
	    "{\"sequence\":\"1\",\"kind\":\"start\"}",
	    "{\"sequence\":1.5,\"kind\":\"start\"}",
	    "{\"sequence\":1,\"kind\":7}",
	};
	g_autoptr(GbeLedger) ledger = gbe_ledger_new();

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(JsonObject) object = parse_json(cases[i]);
		g_autoptr(GError) error = NULL;

		ck_assert_msg(!gbe_ledger_add(ledger, object, &error), "taken: %s", cases[i]);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
	}
	ck_assert_uint_eq(ledger->records->len, 0);
	ck_assert_uint_eq(ledger->last, 0);
}
END_TEST

/* Sequence numbers come only from the fold; a number that an intent promised is used. */
START_TEST(numbers)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL;

	put(ledger, "{\"sequence\":9,\"kind\":\"start\",\"deployment\":\"x\"}");
	put(ledger, "{\"sequence\":10,\"kind\":\"intent\",\"operation\":\"restore\",\"staged\":11,"
		    "\"take_over\":{\"deployment\":{\"id\":null},\"run\":null,\"sequence\":12}}");
	facts = fold(ledger);
	ck_assert_uint_eq(ledger->last, 12);
	ck_assert_uint_eq(facts->next_sequence, 13);
	ck_assert_str_eq(facts->ledger_id, LEDGER_ID);
	ck_assert_int_eq(facts->ledger, GBE_YES);
	ck_assert_uint_eq(facts->intent->take_over->sequence, 12);
}
END_TEST

START_TEST(the_first_head_counts)
{
	g_autoptr(GbeLedger) ledger = ledger_new();

	put(ledger,
	    "{\"sequence\":7,\"kind\":\"ledger\",\"id\":\"0000000000000007\",\"format\":9}");
	ck_assert_str_eq(ledger->id, LEDGER_ID);
	ck_assert_uint_eq(ledger->last, 7);
	ck_assert_uint_eq(ledger->records->len, 0);
}
END_TEST

START_TEST(take_overs_are_runs)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL;
	const GbeRunRecord *a, *b;

	take_over(ledger, 10, 'a', "\"trial\":{\"on\":true}");
	put(ledger, "{\"sequence\":11,\"kind\":\"end\",\"of\":10,\"deployment\":\"x\"}");
	take_over(ledger, 12, 'b',
		  "\"after\":10,\"after_trial\":false,\"found\":{\"name\":\"x\",\"sequence\":11}");
	facts = fold(ledger);
	ck_assert_uint_eq(facts->take_overs->len, 2);
	ck_assert_uint_eq(facts->runs->len, 2);
	a = gbe_facts_run(facts, 10);
	b = gbe_facts_run(facts, 12);
	/* The second record tells the result of the first. */
	ck_assert_int_eq(a->trial, GBE_NO);
	ck_assert_str_eq(a->left.name, "x");
	ck_assert_uint_eq(a->left.sequence, 11);
	ck_assert(a->ended);
	ck_assert(!b->ended);
	ck_assert_ptr_null(b->left.name);
	ck_assert(!facts->lost);
}
END_TEST

START_TEST(the_tree_of_a_fresh_start)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL;
	const GbeTakeOver *t;

	take_over(ledger, 10, 'a', NULL);
	put(ledger,
	    "{\"sequence\":11,\"kind\":\"tree\",\"of\":10,\"tree\":\"f:1\",\"mount_point\":true}");
	put(ledger, "{\"sequence\":12,\"kind\":\"tree\",\"of\":99,\"tree\":\"f:2\"}");
	facts = fold(ledger);
	t = facts->take_overs->pdata[0];
	ck_assert_str_eq(t->tree, "f:1");
	ck_assert_int_eq(t->mount_point, GBE_YES);
}
END_TEST

START_TEST(verdicts)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL, after = NULL;

	take_over(ledger, 10, 'a', NULL);
	put(ledger, "{\"sequence\":11,\"kind\":\"verdict\",\"of\":10,\"verdict\":\"judging\"}");
	put(ledger, "{\"sequence\":12,\"kind\":\"verdict\",\"of\":10,\"verdict\":\"green\","
		    "\"health\":\"healthy\",\"etcd_version\":\"3.5.16\"}");
	put(ledger, "{\"sequence\":13,\"kind\":\"verdict\",\"of\":99,\"verdict\":\"red\"}");
	facts = fold(ledger);
	ck_assert_int_eq(gbe_facts_run(facts, 10)->verdict, GBE_VERDICT_GREEN);
	ck_assert_str_eq(gbe_facts_run(facts, 10)->etcd_version, "3.5.16");
	ck_assert(!facts->holes);
	/* A record that cannot be read may have been red. */
	put(ledger, "{\"sequence\":14,\"kind\":\"verdict\",\"of\":10,\"verdict\":7}");
	after = fold(ledger);
	ck_assert(after->holes);
	ck_assert_int_eq(gbe_facts_run(after, 10)->verdict, GBE_VERDICT_GREEN);
}
END_TEST

#define CLOSING                                                                                    \
	"\"kind\":\"closing\",\"used\":60,\"backup\":{\"name\":\"x\",\"sequence\":5},"             \
	"\"fingerprint\":{\"txid0\":\"0000000000000001\",\"txid1\":\"0000000000000002\","          \
	"\"wal\":null,\"wal_size\":0,\"wal_offset\":0,\"wal_crc\":0,\"snaps\":\"\",\"others\":"    \
	"\"\"}"

static bool
is_closed(const GbeLedger *ledger)
{
	g_autoptr(GbeFacts) facts = fold(ledger);
	const GbeTakeOver *t = facts->take_overs->pdata[0];

	return t->closing.present;
}

/* The records after which the data may have changed. */
START_TEST(a_closing_record_ends)
{
	static const char *const enders[] = {
	    "{\"sequence\":12,\"kind\":\"opened\",\"of\":10}",
	    "{\"sequence\":12,\"kind\":\"handed-back\",\"of\":10}",
	    "{\"sequence\":12,\"kind\":\"take-over\",\"deployment\":{\"id\":null},\"run\":null}",
	};
	/* An intent that is undone has changed nothing. */
	static const char *const others[] = {
	    "{\"sequence\":12,\"kind\":\"intent\",\"operation\":\"restore\",\"staged\":13}",
	    "{\"sequence\":12,\"kind\":\"start\",\"deployment\":\"x\"}",
	    "{\"sequence\":12,\"kind\":\"request\",\"request\":\"undo\"}",
	    "{\"sequence\":12,\"kind\":\"failure\",\"operation\":\"backup\"}",
	    "{\"sequence\":12,\"kind\":\"of-tomorrow\",\"of\":10}",
	};

	for (guint i = 0; i < G_N_ELEMENTS(enders) + G_N_ELEMENTS(others); i++) {
		bool ends = i < G_N_ELEMENTS(enders);
		const char *text = ends ? enders[i] : others[i - G_N_ELEMENTS(enders)];
		g_autoptr(GbeLedger) ledger = ledger_new();

		take_over(ledger, 10, 'a', NULL);
		put(ledger, "{\"sequence\":11,\"of\":10," CLOSING "}");
		ck_assert(is_closed(ledger));
		put(ledger, text);
		ck_assert_msg(is_closed(ledger) == !ends, "%s", text);
	}
}
END_TEST

START_TEST(what_a_closing_record_leaves)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) closed = NULL, opened = NULL;

	take_over(ledger, 10, 'a', NULL);
	put(ledger, "{\"sequence\":11,\"of\":10," CLOSING "}");
	closed = fold(ledger);
	ck_assert_str_eq(gbe_facts_run(closed, 10)->left.name, "x");
	put(ledger, "{\"sequence\":12,\"kind\":\"opened\",\"of\":10}");
	opened = fold(ledger);
	ck_assert_ptr_null(gbe_facts_run(opened, 10)->left.name);
	ck_assert(gbe_facts_run(opened, 10)->ended);
}
END_TEST

START_TEST(used_and_handed_back)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL, after = NULL;

	take_over(ledger, 10, 'a', NULL);
	put(ledger, "{\"sequence\":11,\"kind\":\"used\",\"of\":10}");
	put(ledger, "{\"sequence\":12,\"kind\":\"handed-back\",\"of\":10}");
	facts = fold(ledger);
	ck_assert(((GbeTakeOver *)facts->take_overs->pdata[0])->used_beyond);
	ck_assert(facts->handed_back);
	take_over(ledger, 13, 'b', NULL);
	after = fold(ledger);
	ck_assert(!after->handed_back);
}
END_TEST

static guint
starts_of(const GbeLedger *ledger, const char *id)
{
	g_autoptr(GbeFacts) facts = fold(ledger);

	return GPOINTER_TO_UINT(g_hash_table_lookup(facts->starts, id));
}

/* B was cut twice; A's first start counts as its first. */
START_TEST(starts_are_counted_by_deployment)
{
	g_autoptr(GbeLedger) ledger = ledger_new();

	put(ledger, "{\"sequence\":2,\"kind\":\"start\",\"deployment\":\"b\"}");
	put(ledger, "{\"sequence\":3,\"kind\":\"start\",\"deployment\":\"b\"}");
	put(ledger, "{\"sequence\":4,\"kind\":\"start\",\"deployment\":\"a\"}");
	ck_assert_uint_eq(starts_of(ledger, "b"), 2);
	ck_assert_uint_eq(starts_of(ledger, "a"), 1);
	put(ledger, "{\"sequence\":5,\"kind\":\"end\",\"of\":0,\"deployment\":\"a\"}");
	/* An end ends the series of cut starts, also that of the other deployment. */
	ck_assert_uint_eq(starts_of(ledger, "b"), 0);
	ck_assert_uint_eq(starts_of(ledger, "a"), 0);
}
END_TEST

START_TEST(intents_end)
{
	static const char *const enders[] = {
	    "{\"sequence\":13,\"kind\":\"intent-ended\",\"staged\":11,\"result\":\"undone\"}",
	    "{\"sequence\":13,\"kind\":\"handed-back\",\"of\":1}",
	    "{\"sequence\":13,\"kind\":\"take-over\",\"deployment\":{\"id\":null},\"run\":null}",
	};

	for (guint i = 0; i < G_N_ELEMENTS(enders); i++) {
		g_autoptr(GbeLedger) ledger = ledger_new();
		g_autoptr(GbeFacts) open = NULL, ended = NULL;

		put(ledger, "{\"sequence\":10,\"kind\":\"intent\",\"operation\":\"restore\","
			    "\"staged\":11}");
		open = fold(ledger);
		ck_assert_ptr_nonnull(open->intent);
		put(ledger, enders[i]);
		ended = fold(ledger);
		ck_assert_ptr_null(ended->intent);
		ck_assert_ptr_null(ended->intent_why);
	}
}
END_TEST

START_TEST(an_intent_that_cannot_be_read_is_open)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL;

	put(ledger, "{\"sequence\":10,\"kind\":\"intent\",\"staged\":11}");
	facts = fold(ledger);
	ck_assert_ptr_null(facts->intent);
	ck_assert_ptr_nonnull(strstr(facts->intent_why, "\"operation\" is missing"));
}
END_TEST

#define ASKED                                                                                      \
	"{\"sequence\":10,\"kind\":\"request\",\"request\":\"restore\",\"name\":\"x\",\"run\":"    \
	"\"" RUN "\"}"

START_TEST(requests_end)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) asked = NULL, ended = NULL;

	put(ledger, ASKED);
	asked = fold(ledger);
	ck_assert_int_eq(asked->request.kind, GBE_REQUEST_RESTORE);
	ck_assert_str_eq(asked->request.name, "x");
	ck_assert_str_eq(asked->request.text, GBE_NEXT_BOOT);
	/* A take-over for another reason: the request waits. */
	take_over(ledger, 11, 'a', NULL);
	gbe_facts_free(asked);
	asked = fold(ledger);
	ck_assert_int_eq(asked->request.kind, GBE_REQUEST_RESTORE);
	put(ledger, "{\"sequence\":12,\"kind\":\"request-ended\",\"result\":\"cancelled\"}");
	ended = fold(ledger);
	ck_assert_int_eq(ended->request.kind, GBE_REQUEST_NONE);
}
END_TEST

/* The take-over that carried it out ends it, however it was requested. */
START_TEST(requests_are_completed)
{
	static const struct {
		const char *request, *done, *rd_done;
	} cases[] = {
	    {"--next-boot", NULL, NULL},
	    {"greenboot-etcd.restore=last-good", "last-good", NULL},
	    {"rd.greenboot-etcd.restore=x", NULL, "x"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeLedger) ledger = ledger_new();
		g_autoptr(GbeFacts) facts = NULL, forgotten = NULL;
		g_autofree char *more = g_strdup_printf(
		    "\"request\":\"%s\",\"source\":\"x\",\"found\":{\"name\":\"y\",\"sequence\":9}",
		    cases[i].request);

		put(ledger, ASKED);
		take_over(ledger, 11, 'a', more);
		facts = fold(ledger);
		ck_assert_int_eq(facts->request.kind, GBE_REQUEST_NONE);
		ck_assert_int_eq(g_strcmp0(facts->cmdline_done, cases[i].done), 0);
		ck_assert_int_eq(g_strcmp0(facts->rd_cmdline_done, cases[i].rd_done), 0);
		ck_assert_str_eq(facts->undo.name, "y");
		ck_assert_uint_eq(facts->undo.sequence, 9);
		/* A boot whose command line lacks it. */
		put(ledger,
		    "{\"sequence\":12,\"kind\":\"cmdline\",\"restore\":null,\"rd_restore\":null}");
		forgotten = fold(ledger);
		ck_assert_ptr_null(forgotten->cmdline_done);
		ck_assert_ptr_null(forgotten->rd_cmdline_done);
	}
}
END_TEST

START_TEST(gone_operation_and_failure)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL, after = NULL;

	put(ledger, "{\"sequence\":10,\"kind\":\"gone\",\"deployment\":\"b\",\"upto\":9}");
	put(ledger, "{\"sequence\":11,\"kind\":\"operation\",\"operation\":\"restore\","
		    "\"result\":\"done\"}");
	put(ledger, "{\"sequence\":12,\"kind\":\"failure\",\"operation\":\"backup\","
		    "\"reason\":\"no space\"}");
	facts = fold(ledger);
	ck_assert_uint_eq(facts->gone->len, 1);
	ck_assert_str_eq(((GbeGone *)facts->gone->pdata[0])->id, "b");
	ck_assert_uint_eq(((GbeGone *)facts->gone->pdata[0])->sequence, 9);
	ck_assert_str_eq(facts->last.operation, "restore");
	ck_assert_str_eq(facts->failure, "backup");
	ck_assert_str_eq(facts->failure_why, "no space");
	/* The next start has reported it. */
	put(ledger, "{\"sequence\":13,\"kind\":\"start\",\"deployment\":\"a\"}");
	after = fold(ledger);
	ck_assert_ptr_null(after->failure);
}
END_TEST

/* A newer program's records say nothing here, whatever keys they have. */
START_TEST(unknown_kinds)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL;

	take_over(ledger, 10, 'a', "\"format\":7,\"mood\":{\"x\":[1]}");
	put(ledger, "{\"sequence\":11,\"kind\":\"of-tomorrow\",\"of\":10,\"verdict\":\"red\","
		    "\"deployment\":7}");
	/* The name of a hole in memory is no kind in a file. */
	put(ledger, "{\"sequence\":12,\"kind\":\"unreadable\"}");
	put(ledger, "{\"sequence\":13,\"kind\":\"other\"}");
	facts = fold(ledger);
	ck_assert_uint_eq(ledger->records->len, 4);
	ck_assert_uint_eq(facts->next_sequence, 14);
	ck_assert_int_eq(gbe_facts_run(facts, 10)->verdict, GBE_VERDICT_NONE);
	ck_assert(!facts->holes && !facts->lost);
}
END_TEST

/* A hole before a take-over makes the past incomplete; one after the last take-over may have been another. */
START_TEST(holes)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) before = NULL, behind = NULL, after = NULL;

	gbe_ledger_add_hole(ledger, 2, "its checksum does not match");
	take_over(ledger, 10, 'a', NULL);
	before = fold(ledger);
	ck_assert(before->holes);
	ck_assert(!before->lost);
	gbe_ledger_add_hole(ledger, 4, "its checksum does not match");
	gbe_ledger_add_hole(ledger, 5, "too long");
	ck_assert_uint_eq(ledger->records->len, 3);
	put(ledger, "{\"sequence\":12,\"kind\":\"start\",\"deployment\":\"a\"}");
	behind = fold(ledger);
	ck_assert(behind->holes && behind->lost);
	ck_assert_uint_eq(behind->take_overs->len, 1);
	take_over(ledger, 13, 'b', NULL);
	after = fold(ledger);
	ck_assert(after->holes);
	ck_assert(!after->lost);
}
END_TEST

START_TEST(a_take_over_that_says_nothing_is_a_hole)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL;

	take_over(ledger, 10, 'a', NULL);
	put(ledger, "{\"sequence\":11,\"kind\":\"take-over\",\"deployment\":{\"id\":\"../"
		    "x\"},\"run\":null}");
	facts = fold(ledger);
	ck_assert(facts->holes && facts->lost);
	ck_assert_uint_eq(facts->take_overs->len, 1);
}
END_TEST

/* With any length, memory is bounded, and the oldest past is unknown. */
START_TEST(more_than_fits)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL;

	take_over(ledger, 2, 'a', NULL);
	for (guint i = 3; i < 40000; i++) {
		g_autoptr(JsonObject) object = json_object_new();

		json_object_set_int_member(object, "sequence", i);
		json_object_set_string_member(object, "kind", "used");
		ck_assert(gbe_ledger_add(ledger, object, NULL));
	}
	ck_assert_uint_lt(ledger->records->len, 20000);
	ck_assert(ledger->holes);
	facts = fold(ledger);
	ck_assert(facts->holes && facts->lost);
	ck_assert_uint_eq(facts->next_sequence, 40000);
	ck_assert_str_eq(facts->ledger_id, LEDGER_ID);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-ledger");
	TCase *tcase = tcase_create("fold");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, nothing_is_known_of_an_empty_one);
	tcase_add_test(tcase, what_is_no_record);
	tcase_add_test(tcase, numbers);
	tcase_add_test(tcase, the_first_head_counts);
	tcase_add_test(tcase, take_overs_are_runs);
	tcase_add_test(tcase, the_tree_of_a_fresh_start);
	tcase_add_test(tcase, verdicts);
	tcase_add_test(tcase, a_closing_record_ends);
	tcase_add_test(tcase, what_a_closing_record_leaves);
	tcase_add_test(tcase, used_and_handed_back);
	tcase_add_test(tcase, starts_are_counted_by_deployment);
	tcase_add_test(tcase, intents_end);
	tcase_add_test(tcase, an_intent_that_cannot_be_read_is_open);
	tcase_add_test(tcase, requests_end);
	tcase_add_test(tcase, requests_are_completed);
	tcase_add_test(tcase, gone_operation_and_failure);
	tcase_add_test(tcase, unknown_kinds);
	tcase_add_test(tcase, holes);
	tcase_add_test(tcase, a_take_over_that_says_nothing_is_a_hole);
	tcase_add_test(tcase, more_than_fits);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
