/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A rewritten ledger, read again, says the same of everything that is still needed. */
#include "core/decide/past.h"
#include "core/decide/situation.h"
#include "lib/ledger.h"
#include "lib/unit.h"

static guint64 last;

static void G_GNUC_PRINTF(2, 3) say(GbeLedger *ledger, const char *format, ...)
{
	g_autofree char *text = NULL, *record = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	record = g_strdup_printf("{\"sequence\":%" G_GUINT64_FORMAT ",%s}", ++last, text);
	put(ledger, record);
}

/* A run of its own: the take-over's sequence. */
static guint64
run(GbeLedger *ledger, char letter, guint64 after, const char *more)
{
	g_autofree char *id = deployment_id(letter);
	g_autofree char *text = g_strdup_printf("\"after\":%" G_GUINT64_FORMAT "%s%s", after,
						more != NULL ? "," : "", more != NULL ? more : "");
	guint64 of;

	say(ledger, "\"kind\":\"start\",\"deployment\":\"%s\"", id);
	of = ++last;
	take_over(ledger, of, letter, text);
	say(ledger, "\"kind\":\"end\",\"of\":%" G_GUINT64_FORMAT ",\"deployment\":\"%s\"", of, id);
	return of;
}

static void
green(GbeLedger *ledger, guint64 of)
{
	say(ledger, "\"kind\":\"verdict\",\"of\":%" G_GUINT64_FORMAT ",\"verdict\":\"green\"", of);
}

static void
list(GbeFacts *facts, const char *letters)
{
	facts->listed = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_listed_free);
	for (; *letters != '\0'; letters++) {
		GbeListed *listed = g_new0(GbeListed, 1);

		listed->ref.id = deployment_id(*letters);
		g_ptr_array_add(facts->listed, listed);
	}
}

/* Rewritten, and read again. */
static GbeLedger *
anew(const GbeLedger *ledger, const char *listed, const char *backup)
{
	g_autoptr(GbeFacts) facts = fold(ledger);
	g_autoptr(GPtrArray) needed = NULL;
	GbeLedger *again = ledger_new();

	list(facts, listed);
	if (backup != NULL) {
		GbeManifest *manifest = gbe_manifest_new();

		manifest->name = g_strdup(backup);
		g_ptr_array_add(facts->backups, manifest);
	}
	needed = gbe_ledger_needed(ledger, facts);
	for (guint i = 0; i < needed->len; i++)
		ck_assert(
		    gbe_ledger_add(again, ((GbeLedgerRecord *)needed->pdata[i])->object, NULL));
	return again;
}

/* So many runs of Z, and operations of the last run, that nothing before them is recent. */
static void
pass_time(GbeLedger *ledger)
{
	for (guint i = 0; i < 40; i++)
		(void)run(ledger, 'f', 0, NULL);
	for (guint i = 0; i < 130; i++)
		say(ledger, "\"kind\":\"operation\",\"operation\":\"backup\",\"started\":%u", i);
}

static guint
count(const GbeLedger *ledger, GbeLedgerKind kind)
{
	guint found = 0;

	for (guint i = 0; i < ledger->records->len; i++)
		found += ((GbeLedgerRecord *)ledger->records->pdata[i])->kind == kind;
	return found;
}

static void
setup(void)
{
	last = 1;
}

static bool
knows(const GbeLedger *ledger, guint64 sequence)
{
	g_autoptr(GbeFacts) facts = fold(ledger);

	for (guint i = 0; i < facts->take_overs->len; i++)
		if (((GbeTakeOver *)facts->take_overs->pdata[i])->sequence == sequence)
			return true;
	return false;
}

START_TEST(the_last_32_runs)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL;
	guint64 first = run(ledger, 'a', 0, NULL);

	pass_time(ledger);
	again = anew(ledger, "f", NULL);
	ck_assert_uint_eq(count(again, GBE_LEDGER_TAKE_OVER), 32);
	ck_assert_uint_eq(again->last, ledger->last);
	ck_assert_uint_eq(first, 3);
}
END_TEST

/* The pinned A: its green verdict, and the data that it left, which only the next take-over records. */
START_TEST(what_a_listed_deployment_left)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL, gone = NULL;
	g_autoptr(GbeFacts) facts = NULL, without = NULL;
	guint64 a = run(ledger, 'a', 0, "\"trial\":{\"on\":true}");
	const GbeRunRecord *seen;

	green(ledger, a);
	(void)run(ledger, 'b', a,
		  "\"after_trial\":false,\"found\":{\"name\":\"kept\",\"sequence\":4}");
	pass_time(ledger);
	again = anew(ledger, "af", NULL);
	facts = fold(again);
	seen = gbe_facts_run(facts, a);
	ck_assert_ptr_nonnull(seen);
	ck_assert_int_eq(seen->verdict, GBE_VERDICT_GREEN);
	ck_assert_int_eq(seen->trial, GBE_NO);
	ck_assert(seen->ended);
	ck_assert_str_eq(seen->left.name, "kept");
	/* It is not listed any more, so it is not needed. */
	gone = anew(ledger, "f", NULL);
	without = fold(gone);
	ck_assert_ptr_null(gbe_facts_run(without, a));
}
END_TEST

/* Green once, many runs ago, and never since. */
START_TEST(that_it_was_green)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL;
	g_autoptr(GbeFacts) facts = NULL;
	GbeDeployment a = {.id = deployment_id('a')};

	green(ledger, run(ledger, 'a', 0, NULL));
	for (guint i = 0; i < 5; i++)
		(void)run(ledger, 'a', 0, NULL);
	pass_time(ledger);
	again = anew(ledger, "af", NULL);
	facts = fold(again);
	ck_assert(gbe_situation_was_green(facts, &a));
	gbe_deployment_clear(&a);
}
END_TEST

/* A completed request does not come back, however long ago it was. */
START_TEST(a_completed_request_stays_completed)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL, twice = NULL;
	g_autoptr(GbeFacts) facts = NULL;

	say(ledger, "\"kind\":\"request\",\"request\":\"undo\",\"run\":null");
	(void)run(ledger, 'c', 0, "\"request\":\"--next-boot\",\"source\":\"x\"");
	(void)run(ledger, 'c', 0, "\"request\":\"greenboot-etcd.restore=y\",\"source\":\"y\"");
	pass_time(ledger);
	again = anew(ledger, "f", NULL);
	twice = anew(again, "f", NULL);
	facts = fold(twice);
	ck_assert_int_eq(facts->request.kind, GBE_REQUEST_NONE);
	ck_assert_str_eq(facts->cmdline_done, "y");
}
END_TEST

START_TEST(a_request_still_waits)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL;
	g_autoptr(GbeFacts) facts = NULL;

	say(ledger, "\"kind\":\"request\",\"request\":\"undo\",\"run\":null");
	pass_time(ledger);
	again = anew(ledger, "f", NULL);
	facts = fold(again);
	ck_assert_int_eq(facts->request.kind, GBE_REQUEST_UNDO);
}
END_TEST

START_TEST(undo_stays_known)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL;
	g_autoptr(GbeFacts) facts = NULL;

	(void)run(ledger, 'c', 0, "\"source\":\"x\",\"found\":{\"name\":\"older\",\"sequence\":1}");
	(void)run(ledger, 'c', 0, "\"source\":\"y\",\"found\":{\"name\":\"newer\",\"sequence\":2}");
	pass_time(ledger);
	again = anew(ledger, "f", NULL);
	facts = fold(again);
	ck_assert_str_eq(facts->undo.name, "newer");
}
END_TEST

START_TEST(backups_that_are_there)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL;

	say(ledger, "\"kind\":\"backup\",\"backup\":\"there\",\"number\":5,\"grade\":\"good\"");
	say(ledger, "\"kind\":\"graded\",\"backup\":\"there\",\"number\":5,\"grade\":\"bad\"");
	say(ledger, "\"kind\":\"backup\",\"backup\":\"gone\",\"number\":6,\"grade\":\"good\"");
	say(ledger, "\"kind\":\"removed\",\"backup\":\"gone\",\"number\":6");
	pass_time(ledger);
	again = anew(ledger, "f", "there");
	ck_assert_uint_eq(count(again, GBE_LEDGER_BACKUP), 1);
	ck_assert_uint_eq(count(again, GBE_LEDGER_GRADED), 1);
	ck_assert_uint_eq(count(again, GBE_LEDGER_REMOVED), 0);
}
END_TEST

START_TEST(newer_kinds_and_what_is_gone)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL;
	g_autoptr(GbeFacts) facts = NULL;

	say(ledger, "\"kind\":\"of-tomorrow\",\"x\":[1,{\"y\":2}]");
	say(ledger, "\"kind\":\"gone\",\"deployment\":\"b\",\"upto\":2");
	pass_time(ledger);
	again = anew(ledger, "f", NULL);
	ck_assert_uint_eq(count(again, GBE_LEDGER_OTHER), 1);
	facts = fold(again);
	ck_assert_uint_eq(facts->gone->len, 1);
}
END_TEST

static guint
starts(const GbeLedger *ledger, char letter)
{
	g_autoptr(GbeFacts) facts = fold(ledger);
	g_autofree char *id = deployment_id(letter);

	return GPOINTER_TO_UINT(g_hash_table_lookup(facts->starts, id));
}

/* In one boot a service fails ten thousand times: starts and their ends do not stay, but a start without an end
 * stays counted. */
START_TEST(starts_do_not_pile_up)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL;
	g_autofree char *a = deployment_id('a'), *b = deployment_id('b');
	g_autoptr(GbeFacts) facts = NULL;
	guint64 of;

	of = run(ledger, 'a', 0, NULL);
	for (guint i = 0; i < 3000; i++) {
		say(ledger, "\"kind\":\"start\",\"deployment\":\"%s\"", a);
		say(ledger, "\"kind\":\"end\",\"of\":0,\"deployment\":\"%s\"", a);
		say(ledger, "\"kind\":\"operation\",\"operation\":\"backup\",\"started\":%u", i);
	}
	say(ledger, "\"kind\":\"start\",\"deployment\":\"%s\"", b);
	say(ledger, "\"kind\":\"start\",\"deployment\":\"%s\"", a);
	again = anew(ledger, "ab", NULL);
	ck_assert_uint_lt(again->records->len, 140);
	ck_assert_uint_eq(starts(again, 'a'), 1);
	ck_assert_uint_eq(starts(again, 'b'), 1);
	facts = fold(again);
	ck_assert(gbe_facts_run(facts, of)->ended);
	ck_assert_int_eq(facts->last.started, 2999);
}
END_TEST

/* A first start that was not the default's and was held back; then its service is started again all day. */
START_TEST(that_it_fell_back)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL, taken = NULL;
	g_autofree char *a = deployment_id('a');
	g_autoptr(GbeFacts) facts = NULL, after = NULL;

	(void)run(ledger, 'b', 0, NULL);
	say(ledger, "\"kind\":\"end\",\"of\":0,\"deployment\":\"%s\",\"fell_back\":true", a);
	for (guint i = 0; i < 300; i++)
		say(ledger, "\"kind\":\"end\",\"of\":0,\"deployment\":\"%s\"", a);
	again = anew(ledger, "ab", NULL);
	ck_assert_uint_lt(again->records->len, 140);
	facts = fold(again);
	ck_assert_str_eq(facts->fell_back, a);
	(void)run(ledger, 'a', 0, NULL);
	taken = anew(ledger, "ab", NULL);
	after = fold(taken);
	ck_assert_ptr_null(after->fell_back);
}
END_TEST

/* A run of a year, with a periodic backup each hour, a few of which are kept. */
START_TEST(periodic_backups_do_not_pile_up)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL;

	(void)run(ledger, 'a', 0, NULL);
	say(ledger, "\"kind\":\"backup\",\"backup\":\"there\",\"number\":5,\"grade\":\"good\"");
	for (guint i = 0; i < 3000; i++) {
		say(ledger,
		    "\"kind\":\"backup\",\"backup\":\"p%u\",\"number\":%u,\"grade\":\"unproven\"",
		    i, i + 10);
		say(ledger,
		    "\"kind\":\"graded\",\"backup\":\"p%u\",\"number\":%u,\"grade\":\"good\"", i,
		    i + 10);
		say(ledger, "\"kind\":\"removed\",\"backup\":\"p%u\",\"number\":%u", i, i + 10);
		say(ledger, "\"kind\":\"operation\",\"operation\":\"backup\",\"started\":%u", i);
	}
	again = anew(ledger, "a", "there");
	ck_assert_uint_lt(again->records->len, 140);
	ck_assert_uint_eq(count(again, GBE_LEDGER_TAKE_OVER), 1);
	ck_assert_uint_eq(count(again, GBE_LEDGER_BACKUP), 1 + 32);
}
END_TEST

/* A hole matters until as many later runs exist as are kept. */
START_TEST(holes_heal)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL;

	ck_assert(!gbe_ledger_has_healed(ledger));
	(void)run(ledger, 'a', 0, NULL);
	gbe_ledger_add_hole(ledger, 5, "its checksum does not match");
	for (guint i = 0; i < 31; i++)
		(void)run(ledger, 'f', 0, NULL);
	ck_assert(!gbe_ledger_has_healed(ledger));
	(void)run(ledger, 'f', 0, NULL);
	ck_assert(gbe_ledger_has_healed(ledger));
	again = anew(ledger, "f", NULL);
	ck_assert(!again->holes);
	ck_assert_uint_eq(count(again, GBE_LEDGER_HOLE), 0);
}
END_TEST

/* A configuration of long ago had the store elsewhere: the backups there are found by its take-over alone. */
START_TEST(where_stores_were)
{
	g_autoptr(GbeLedger) ledger = ledger_new(), again = NULL;
	guint64 first = run(ledger, 'a', 0, "\"store_path\":\"/var/one\""), second;

	second = run(ledger, 'b', 0, "\"store_path\":\"/var/one\"");
	pass_time(ledger);
	again = anew(ledger, "f", NULL);
	ck_assert(!knows(again, first));
	ck_assert(knows(again, second));
}
END_TEST

/* Without ostree there is no list, and only the last owner has the data. */
START_TEST(without_a_list)
{
	g_autoptr(GbeLedger) ledger = ledger_new();
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GPtrArray) needed = NULL;

	pass_time(ledger);
	facts = fold(ledger);
	needed = gbe_ledger_needed(ledger, facts);
	ck_assert_uint_lt(needed->len, ledger->records->len);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-ledger-needed");
	TCase *tcase = tcase_create("needed");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, the_last_32_runs);
	tcase_add_test(tcase, what_a_listed_deployment_left);
	tcase_add_test(tcase, that_it_was_green);
	tcase_add_test(tcase, a_completed_request_stays_completed);
	tcase_add_test(tcase, a_request_still_waits);
	tcase_add_test(tcase, undo_stays_known);
	tcase_add_test(tcase, backups_that_are_there);
	tcase_add_test(tcase, newer_kinds_and_what_is_gone);
	tcase_add_test(tcase, starts_do_not_pile_up);
	tcase_add_test(tcase, that_it_fell_back);
	tcase_add_test(tcase, periodic_backups_do_not_pile_up);
	tcase_add_test(tcase, holes_heal);
	tcase_add_test(tcase, where_stores_were);
	tcase_add_test(tcase, without_a_list);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
