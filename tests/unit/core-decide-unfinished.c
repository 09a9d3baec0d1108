/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The decisions where prerun does not come to its end: the supervisor's over all its facts, and the third start's. */
#include <stdbool.h>

#include "lib/plan.h"
#include "lib/situation.h"
#include "lib/unit.h"

typedef enum { NO_INTENT, INTENT, INTENT_UNREADABLE } Intent;
typedef enum { SERVICE, SERVICE_NONE } Service;
/* NEVER: no ledger knows of a take-over. OTHERS_TREE: the ledger knows who had the data last, which is not this tree. */
typedef enum { SAME, OTHER, NEVER, SAME_OTHER_TREE, OTHER_OTHER_TREE } Owner;

/* Facts of the supervisor; @n counts through all of them. */
typedef struct {
	GbeTri ledger, ostree;
	Intent intent;
	Service service;
	Owner owner;
	bool skip, booted, holes, unopened;
} Cell;

#define CELLS (3 * 3 * 3 * 2 * 5 * 2 * 2 * 2 * 2)

static guint
digit(guint *n, guint base)
{
	guint value = *n % base;

	*n /= base;
	return value;
}

static Cell
cell_of(guint n)
{
	return (Cell){.ledger = (GbeTri)digit(&n, 3),
		      .ostree = (GbeTri)digit(&n, 3),
		      .intent = (Intent)digit(&n, 3),
		      .service = (Service)digit(&n, 2),
		      .owner = (Owner)digit(&n, 5),
		      .skip = (bool)digit(&n, 2),
		      .booted = (bool)digit(&n, 2),
		      .holes = (bool)digit(&n, 2),
		      .unopened = (bool)digit(&n, 2)};
}

static GbeFacts *
facts_of(const Cell *cell)
{
	GbeFacts *facts = facts_booted('b', 51);

	facts->ledger = cell->ledger;
	facts->ledger_why = g_strdup("it is torn");
	facts->ostree = cell->ostree;
	facts->skip = cell->skip;
	if (cell->intent == INTENT)
		facts->intent = g_new0(GbeIntent, 1);
	else if (cell->intent == INTENT_UNREADABLE)
		facts->intent_why = g_strdup("of a newer program");
	g_free(facts->config->etcd.service);
	facts->config->etcd.service = cell->service == SERVICE ? g_strdup("etcd.service") : NULL;
	if (cell->owner != NEVER)
		(void)facts_owner(facts,
				  cell->owner == SAME || cell->owner == SAME_OTHER_TREE ? 'b' : 'a',
				  50, 90);
	if (cell->owner > NEVER) {
		(void)facts_recorded(facts);
		g_clear_pointer(&facts->owner, gbe_take_over_free);
	}
	if (cell->unopened)
		facts->unopened_why = g_strdup("it is a link");
	facts->holes = cell->holes;
	facts->owner_why = g_strdup("the ledger names no owner");
	if (!cell->booted)
		gbe_deployment_clear(&facts->booted);
	facts->booted_why = g_strdup("no ostree=");
	return facts;
}

/* "Mapped to 0 when the booted deployment is the recorded owner's and no intent is open". With an off switch, and on a
 * system without ostree, only an open operation holds etcd back. Data reached through a link is another owner's only if
 * the ledger knows one. */
static bool
may_start(const Cell *cell)
{
	if (cell->ledger == GBE_UNKNOWN || cell->intent != NO_INTENT)
		return false;
	return cell->ostree == GBE_NO || cell->skip || cell->service != SERVICE ||
	       (cell->booted && (cell->owner == SAME ||
				 (cell->unopened && !cell->holes &&
				  (cell->owner == NEVER || cell->owner == SAME_OTHER_TREE))));
}

/* The member would vote again on entries that it has already accepted. */
START_TEST(a_member_without_data_does_not_start)
{
	Cell cell = {.ledger = GBE_YES,
		     .ostree = GBE_YES,
		     .service = SERVICE,
		     .owner = SAME,
		     .booted = true};

	for (guint n = 0; n < 8; n++) {
		g_autoptr(GbeFacts) facts = facts_of(&cell);
		g_autofree char *objection = NULL;

		facts->member = n % 2 == 1;
		facts->data = n / 2 == 1 ? GBE_NO : GBE_YES;
		facts->log = GBE_NO;
		facts->log_seen = n / 2 == 2;
		objection = gbe_decide_fallback(facts);
		ck_assert_int_eq(objection != NULL, n == 3 || n == 5);
	}
}
END_TEST

START_TEST(the_supervisors_answer_over_all_facts)
{
	guint starts = 0;

	for (guint n = 0; n < CELLS; n++) {
		Cell cell = cell_of(n);
		g_autoptr(GbeFacts) facts = facts_of(&cell);
		g_autofree char *objection = gbe_decide_fallback(facts);

		ck_assert_msg((objection == NULL) == may_start(&cell),
			      "ledger %u, ostree %u, intent %u, service %u, owner %u, skip %d, "
			      "booted %d: %s",
			      cell.ledger, cell.ostree, cell.intent, cell.service, cell.owner,
			      cell.skip, cell.booted, objection != NULL ? objection : "starts");
		starts += objection == NULL;
	}
	ck_assert_uint_gt(starts, 0);
	ck_assert_uint_lt(starts, CELLS);
}
END_TEST

/* The plan after two starts in a row that did not end. */
static GbePlan *
third_start(GbeFacts *facts)
{
	g_autoptr(GbePlan) second = NULL;

	g_hash_table_insert(facts->starts, g_strdup(facts->booted.id), GUINT_TO_POINTER(2));
	second = gbe_decide(facts);
	ck_assert(!second->unfinished);
	g_hash_table_insert(facts->starts, g_strdup(facts->booted.id), GUINT_TO_POINTER(3));
	return gbe_decide(facts);
}

START_TEST(an_upgrade_is_held_at_the_third_start)
{
	g_autoptr(GbeFacts) facts = device();
	g_autoptr(GbePlan) plan = gbe_decide(facts);
	g_autoptr(GbePlan) undone = third_start(facts);

	assert_rules(plan, "11");
	ck_assert(plan->forward);
	ck_assert(undone->hold && undone->unfinished);
	ck_assert_ptr_nonnull(strstr(action(undone, GBE_ACTION_HOLD)->reason, "two starts"));
	ck_assert_ptr_null(undone->take_over);
}
END_TEST

START_TEST(a_plain_reboot_continues_at_the_third_start)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_GREEN);
	g_autoptr(GbePlan) plan = gbe_decide(facts);
	g_autoptr(GbePlan) undone = third_start(facts);

	assert_rules(plan, "6");
	ck_assert(!plan->forward);
	ck_assert(!undone->hold);
	ck_assert_uint_eq(undone->actions->len, 1);
	(void)action(undone, GBE_ACTION_TAKE_OVER);
	ck_assert_uint_eq(undone->take_over->sequence, plan->take_over->sequence);
	/* The backup that the plan would have taken. */
	ck_assert_ptr_nonnull(plan->take_over->found.name);
	ck_assert_ptr_null(undone->take_over->found.name);
}
END_TEST

START_TEST(a_restore_is_undone_at_the_third_start)
{
	g_autoptr(GbeFacts) facts = own_trial(GBE_VERDICT_RED);
	g_autoptr(GbePlan) plan = gbe_decide(facts);
	g_autoptr(GbePlan) undone = third_start(facts);

	assert_rules(plan, "9");
	(void)action(plan, GBE_ACTION_RESTORE);
	no_action(undone, GBE_ACTION_RESTORE);
	/* As a restore that cannot be done: no later start rewinds it. */
	ck_assert(undone->take_over->failed);
	ck_assert_uint_eq(undone->take_over->sequence, plan->instead->sequence);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-decide-unfinished");
	TCase *tcase = tcase_create("unfinished");

	tcase_add_test(tcase, a_member_without_data_does_not_start);
	tcase_add_test(tcase, the_supervisors_answer_over_all_facts);
	tcase_add_test(tcase, an_upgrade_is_held_at_the_third_start);
	tcase_add_test(tcase, a_plain_reboot_continues_at_the_third_start);
	tcase_add_test(tcase, a_restore_is_undone_at_the_third_start);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
