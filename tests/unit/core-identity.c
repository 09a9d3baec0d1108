/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Identifies the data: each row of the table in decisions.md, "Who is believed". */
#include "core/decide/past.h"
#include "lib/ledger.h"
#include "lib/unit.h"

#define TREE "f:1"
#define OTHER_TREE "f:2"
#define NONCE_A "aaaaaaaaaaaaaaaa"
#define NONCE_B "bbbbbbbbbbbbbbbb"
#define STRANGE_LEDGER "ffffffffffffffff"

/* A had the data first, then B; both closed it. */
static GbeFacts *
device(void)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	GbeFacts *facts;

	take_over(ledger, 10, 'a', "\"tree\":\"" TREE "\",\"nonce\":\"" NONCE_A "\"");
	take_over(ledger, 12, 'b', "\"tree\":\"" TREE "\",\"nonce\":\"" NONCE_B "\"");
	put(ledger, "{\"sequence\":14,\"kind\":\"closing\",\"of\":12,\"used\":60,"
		    "\"fingerprint\":{\"txid0\":\"0000000000000001\","
		    "\"txid1\":\"0000000000000002\",\"wal\":null,\"wal_size\":0,\"wal_offset\":0,"
		    "\"wal_crc\":0,\"snaps\":\"\",\"others\":\"\"}}");
	facts = fold(ledger);
	facts->data = GBE_YES;
	facts->tree = g_strdup(TREE);
	return facts;
}

static void
set_nonce(GbeFacts *facts, const char *ledger, guint64 sequence, const char *nonce)
{
	gbe_nonce_clear(&facts->nonce);
	facts->nonce = (GbeNonce){g_strdup(ledger), sequence, g_strdup(nonce)};
}

static void
move_tree(GbeFacts *facts, const char *tree)
{
	g_free(facts->tree);
	facts->tree = g_strdup(tree);
}

static void
check_owner(GbeFacts *facts, guint64 sequence, bool stranger, bool closed)
{
	gbe_identify(facts);
	ck_assert_msg(facts->owner != NULL, "nobody: %s", facts->owner_why);
	ck_assert_uint_eq(facts->owner->sequence, sequence);
	ck_assert_int_eq(facts->stranger, stranger);
	ck_assert_int_eq(facts->owner->closing.present, closed);
}

static void
check_nobody(GbeFacts *facts, const char *why)
{
	gbe_identify(facts);
	ck_assert_ptr_null(facts->owner);
	ck_assert_msg(strstr(facts->owner_why, why) != NULL, "%s", facts->owner_why);
}

START_TEST(its_tree_and_its_nonce)
{
	g_autoptr(GbeFacts) facts = device();

	set_nonce(facts, LEDGER_ID, 12, NONCE_B);
	check_owner(facts, 12, false, true);
}
END_TEST

/* A file in the tree proves nothing; the closing record requires its own nonce there. Without a nonce of this ledger
 * the data may have been put in by hand. */
START_TEST(its_tree_and_a_file_that_argues)
{
	static const struct {
		const char *ledger;
		guint64 sequence;
		const char *nonce;
		bool stranger;
	} cases[] = {
	    {LEDGER_ID, 10, NONCE_A, false}, /* an earlier one, which the tree's owner put back */
	    {LEDGER_ID, 10, NONCE_B, true},  /* made up */
	    {LEDGER_ID, 11, NONCE_A, true},  /* made up */
	    {NULL, 0, NULL, true},	     /* none, or unreadable */
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = device();

		set_nonce(facts, cases[i].ledger, cases[i].sequence, cases[i].nonce);
		check_owner(facts, 12, cases[i].stranger, false);
	}
}
END_TEST

START_TEST(its_tree_and_a_ledger_that_went_back)
{
	g_autoptr(GbeFacts) newer = device(), other = device();

	set_nonce(newer, LEDGER_ID, 99, NONCE_B);
	check_nobody(newer, "older than the data");
	set_nonce(other, STRANGE_LEDGER, 3, NONCE_B);
	check_nobody(other, "older than the data");
}
END_TEST

START_TEST(another_tree_and_the_last_nonce)
{
	g_autoptr(GbeFacts) facts = device();

	move_tree(facts, OTHER_TREE);
	set_nonce(facts, LEDGER_ID, 12, NONCE_B);
	check_owner(facts, 12, false, false);
}
END_TEST

START_TEST(another_tree_and_an_earlier_nonce)
{
	g_autoptr(GbeFacts) facts = device();

	move_tree(facts, OTHER_TREE);
	set_nonce(facts, LEDGER_ID, 10, NONCE_A);
	check_owner(facts, 10, false, false);
}
END_TEST

START_TEST(another_tree_and_no_nonce_of_ours)
{
	g_autoptr(GbeFacts) none = device(), made_up = device(), strange = device();
	GbeFacts *const all[] = {none, made_up, strange};

	set_nonce(made_up, LEDGER_ID, 12, NONCE_A);
	set_nonce(strange, STRANGE_LEDGER, 12, NONCE_B);
	for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
		move_tree(all[i], OTHER_TREE);
		check_nobody(all[i], "does not know this data directory");
	}
}
END_TEST

/* Rule 3 asks who had the missing data. */
/* A fresh start: finalize could not record the tree that etcd has made since. */
START_TEST(a_tree_that_appeared_after_a_fresh_start)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL;

	take_over(ledger, 10, 'a', "\"tree\":\"" TREE "\",\"nonce\":\"" NONCE_A "\"");
	take_over(ledger, 12, 'b', NULL);
	facts = fold(ledger);
	facts->data = GBE_YES;
	move_tree(facts, OTHER_TREE);
	check_owner(facts, 12, true, false);
	/* The nonce decides for data with a nonce. */
	set_nonce(facts, LEDGER_ID, 10, NONCE_A);
	check_owner(facts, 10, false, false);
	set_nonce(facts, STRANGE_LEDGER, 10, NONCE_A);
	check_nobody(facts, "does not know");
}
END_TEST

START_TEST(no_tree)
{
	g_autoptr(GbeFacts) facts = device(), empty = device();

	move_tree(facts, NULL);
	facts->data = GBE_NO;
	check_owner(facts, 12, false, true);
	move_tree(empty, OTHER_TREE);
	empty->data = GBE_NO;
	check_owner(empty, 12, false, true);
}
END_TEST

/* There is data, but its directory cannot be identified: no file in it decides. */
START_TEST(a_tree_without_an_identity)
{
	g_autoptr(GbeFacts) facts = device();

	move_tree(facts, NULL);
	check_nobody(facts, "does not know this data directory");
}
END_TEST

START_TEST(handed_back)
{
	g_autoptr(GbeFacts) same = device(), moved = device(), none = device();

	same->handed_back = moved->handed_back = none->handed_back = true;
	set_nonce(same, LEDGER_ID, 12, NONCE_B);
	check_nobody(same, "handed back");
	set_nonce(moved, LEDGER_ID, 12, NONCE_B);
	move_tree(moved, OTHER_TREE);
	check_nobody(moved, "does not know");
	none->data = GBE_NO;
	move_tree(none, NULL);
	check_nobody(none, "handed back");
}
END_TEST

START_TEST(without_a_ledger)
{
	g_autoptr(GbeFacts) empty = gbe_facts_new(), unreadable = device(), lost = device();

	empty->ledger = GBE_NO;
	empty->data = GBE_YES;
	empty->tree = g_strdup(TREE);
	set_nonce(empty, LEDGER_ID, 12, NONCE_B);
	check_nobody(empty, "names no owner");
	unreadable->ledger = GBE_UNKNOWN;
	unreadable->ledger_why = g_strdup("Input/output error");
	check_nobody(unreadable, "Input/output error");
	/* An unreadable record may have been another deployment's take-over. */
	lost->holes = lost->lost = true;
	set_nonce(lost, LEDGER_ID, 12, NONCE_B);
	check_nobody(lost, "cannot be read");
}
END_TEST

START_TEST(nonce_round_trip)
{
	g_autoptr(GbeTakeOver) take_over = gbe_take_over_new();
	g_autofree char *text = NULL;
	GbeNonce nonce = {0};

	take_over->deployment.id = deployment_id('a');
	take_over->run = g_strdup(RUN);
	take_over->sequence = 42;
	take_over->nonce = g_strdup(NONCE_A);
	text = gbe_nonce_print(LEDGER_ID, take_over);
	ck_assert_ptr_nonnull(strstr(text, "\"summary\""));
	gbe_nonce_parse(text, strlen(text), &nonce);
	ck_assert_str_eq(nonce.ledger, LEDGER_ID);
	ck_assert_uint_eq(nonce.sequence, 42);
	ck_assert_str_eq(nonce.nonce, NONCE_A);
	/* Reading an invalid text clears the earlier result. */
	gbe_nonce_parse("{", 1, &nonce);
	ck_assert_ptr_null(nonce.ledger);
	ck_assert_uint_eq(nonce.sequence, 0);
}
END_TEST

START_TEST(what_is_no_nonce)
{
	static const char *const cases[] = {
	    "",
	    "{}",
	    "{\"ledger\":\"" LEDGER_ID "\",\"nonce\":\"" NONCE_A "\"}",
	    "{\"ledger\":\"" LEDGER_ID "\",\"nonce\":\"" NONCE_A "\",\"sequence\":0}",
	    "{\"ledger\":\"" LEDGER_ID "\",\"nonce\":\"" NONCE_A
	    "\",\"sequence\":9007199254740992}",
	    "{\"ledger\":\"x\",\"nonce\":\"" NONCE_A "\",\"sequence\":1}",
	    "{\"ledger\":\"" LEDGER_ID "\",\"nonce\":null,\"sequence\":1}",
	    "{\"nonce\":\"" NONCE_A "\",\"sequence\":1}",
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		GbeNonce nonce = {0};

		gbe_nonce_parse(cases[i], strlen(cases[i]), &nonce);
		ck_assert_msg(nonce.ledger == NULL && nonce.nonce == NULL && nonce.sequence == 0,
			      "taken: %s", cases[i]);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-identity");
	TCase *tcase = tcase_create("identity");

	tcase_add_test(tcase, its_tree_and_its_nonce);
	tcase_add_test(tcase, its_tree_and_a_file_that_argues);
	tcase_add_test(tcase, its_tree_and_a_ledger_that_went_back);
	tcase_add_test(tcase, another_tree_and_the_last_nonce);
	tcase_add_test(tcase, another_tree_and_an_earlier_nonce);
	tcase_add_test(tcase, another_tree_and_no_nonce_of_ours);
	tcase_add_test(tcase, a_tree_that_appeared_after_a_fresh_start);
	tcase_add_test(tcase, no_tree);
	tcase_add_test(tcase, a_tree_without_an_identity);
	tcase_add_test(tcase, handed_back);
	tcase_add_test(tcase, without_a_ledger);
	tcase_add_test(tcase, nonce_round_trip);
	tcase_add_test(tcase, what_is_no_nonce);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
