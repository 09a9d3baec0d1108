/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decision of a shutdown over its whole fact space, as core-rules does for a boot. It covers every combination of
 * the facts of the backup, every combination of those of the hand-back, and samples of all together. The device: B is
 * booted on the data of its own trial, whose base is a backup of A.
 */
#include "lib/facts.h"
#include "lib/unit.h"

#include "core/decide/shutdown.h"

#include <string.h>

#define LIMIT 3600
#define EARLIER 100 /* seconds that B used the data for in the run before */
#define SAMPLES 300000
#define SEED 20201120

typedef enum { OWN, OTHER_RUN, OTHER_DEPLOYMENT, NO_OWNER, RUN_UNKNOWN } Whose;
typedef enum { EQUAL_NONE, EQUAL_OWN, EQUAL_OF_OTHER } Equal;
typedef enum { SHORT, LONG, USED_UNKNOWN } Used;
typedef enum { GONE, VALID, BAD, OF_MEMBER, CONSUMED, ADOPTED } Base;
typedef enum { NOT_LOOKED, ONE, TWO, UNCLEAR } Voters;
typedef enum { LIST_UNKNOWN, NEXT_UNKNOWN, BOOTED, A, C, STAGED } Next;
typedef enum { ONLY_A, ONLY_C, A_AND_C } Others;
typedef enum { NO_INTENT, INTENT, INTENT_UNREADABLE } Intent;

/* One situation. Each fact is an int, for the walk. */
typedef struct {
	int data, open, whose, fingerprint;
	int when, clones, equal;				   /* for the backup */
	int trial, verdict, used, base;				   /* for both */
	int voters, allowed, next, others, newer, program, intent; /* for the hand-back */
} Cell;

typedef struct {
	const char *name;
	gsize offset;
	int count;
	int unknown; /* the value that says that the fact is not known; -1: none */
} Fact;

#define FACT(member, n, unknown)                                                                   \
	{                                                                                          \
#member, G_STRUCT_OFFSET(Cell, member), n, unknown                                 \
	}

static const Fact space[] = {
    FACT(data, 3, GBE_UNKNOWN),
    FACT(open, 3, GBE_UNKNOWN),
    FACT(whose, 5, NO_OWNER),
    FACT(fingerprint, 2, false),
    FACT(when, 3, -1),
    FACT(clones, 3, -1), /* decides nothing but the backup */
    FACT(equal, 3, -1),
    FACT(trial, 3, GBE_UNKNOWN),
    FACT(verdict, 4, -1),
    FACT(used, 3, USED_UNKNOWN),
    FACT(base, 6, -1),
    FACT(voters, 4, UNCLEAR),
    FACT(allowed, 2, -1),
    FACT(next, 6, NEXT_UNKNOWN),
    FACT(others, 3, -1),
    FACT(newer, 2, -1),
    FACT(program, 3, GBE_UNKNOWN),
    FACT(intent, 3, INTENT_UNREADABLE),
};

static const char *const branches[] = {
    "data open whose fingerprint",
    "fingerprint when clones equal trial verdict used base",
    "fingerprint trial verdict used base voters allowed next others newer program intent",
};

/* The base of each walk: what it does not walk through allows a hand-back. */
static const Cell plain = {
    .data = GBE_YES,
    .open = GBE_NO,
    .whose = OWN,
    .fingerprint = true,
    .when = GBE_WHEN_COW_ONLY,
    .clones = GBE_YES,
    .trial = GBE_YES,
    .verdict = GBE_VERDICT_RED,
    .base = VALID,
    .voters = ONE,
    .allowed = true,
    .next = A,
    .program = GBE_NO,
};

static int *
value(Cell *cell, const Fact *fact)
{
	return (int *)((char *)cell + fact->offset);
}

static const char *
describe(Cell cell)
{
	static char text[512];
	gsize at = 0;

	for (guint i = 0; i < G_N_ELEMENTS(space); i++)
		at += (gsize)g_snprintf(text + at, sizeof text - at, "%s=%d ", space[i].name,
					*value(&cell, &space[i]));
	return text;
}

static bool
is_walked(const char *branch, const Fact *fact)
{
	g_auto(GStrv) names = g_strsplit(branch, " ", -1);

	return g_strv_contains((const char *const *)names, fact->name);
}

/* The facts of all cells. Each cell overwrites its own facts, without an allocation. */
static struct {
	GbeFacts *facts;
	GbeTakeOver *owner;
	GbeRunRecord *run;
	GbeManifest *base, *equal;
	GbeListed *a, *b, *c, *staged;
	GbeIntent intent;
	char *run_id, *base_id, *own_id;
} device;

static GbeListed *
listed(char letter)
{
	GbeListed *entry = facts_list(device.facts, letter, 1000);

	entry->booted = letter == 'b';
	entry->staged = letter == 'd';
	return entry;
}

static void
device_setup(void)
{
	GbeFacts *facts = facts_booted('b', 51);

	device.facts = facts;
	device.base = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	device.equal = facts_backup(facts, 'b', 40, 80, GBE_GRADE_UNPROVEN);
	facts_set_fingerprint(&device.equal->fingerprint, 1);
	device.owner = facts_trial(facts, 'b', 51, 92, device.base);
	device.owner->trial.used = EARLIER;
	device.owner->uptime = 10;
	device.run = facts_record(facts, 'b', 51, 92, GBE_VERDICT_NONE);
	device.a = listed('a');
	device.b = listed('b');
	device.c = listed('c');
	device.staged = listed('d');
	device.run_id = facts_run(51);
	device.base_id = facts_id('a');
	device.own_id = facts_id('b');
	g_ptr_array_set_free_func(facts->listed, NULL);
	g_ptr_array_set_free_func(facts->backups, NULL);
}

static void
set_list(const Cell *cell, GbeFacts *facts)
{
	static GPtrArray *list;
	GbeListed *const nexts[] =
	    {[BOOTED] = device.b, [A] = device.a, [C] = device.c, [STAGED] = device.staged};

	list = list != NULL ? list : facts->listed;
	facts->listed = cell->next != LIST_UNKNOWN ? list : NULL;
	g_ptr_array_set_size(list, 0);
	if (cell->next == STAGED)
		g_ptr_array_add(list, device.staged);
	g_ptr_array_add(list, device.b);
	if (cell->others != ONLY_C)
		g_ptr_array_add(list, device.a);
	if (cell->others != ONLY_A)
		g_ptr_array_add(list, device.c);
	for (guint i = 0; i < list->len; i++) {
		GbeListed *entry = list->pdata[i];

		entry->has_program = GBE_YES;
		entry->timestamp = 1000;
	}
	facts->next = cell->next == LIST_UNKNOWN ? device.a->ref.id : NULL;
	if (cell->next >= BOOTED) {
		facts->next = nexts[cell->next]->ref.id;
		nexts[cell->next]->has_program = (GbeTri)cell->program;
		nexts[cell->next]->timestamp = cell->newer ? 1001 : 1000;
	}
}

static void
set_store(const Cell *cell, GbeFacts *facts)
{
	GbeManifest *base = device.base, *equal = device.equal;

	base->deployment.id = cell->base == ADOPTED ? NULL : device.base_id;
	base->grade = cell->base == BAD ? GBE_GRADE_BAD : GBE_GRADE_GOOD;
	base->voters = cell->base == OF_MEMBER ? 3 : 1;
	base->consumed = cell->base == CONSUMED;
	equal->deployment.id = cell->equal == EQUAL_OWN ? device.own_id : device.base_id;
	g_ptr_array_set_size(facts->backups, 0);
	if (cell->base != GONE)
		g_ptr_array_add(facts->backups, base);
	if (cell->equal != EQUAL_NONE)
		g_ptr_array_add(facts->backups, equal);
}

static void
set_run(const Cell *cell, GbeFacts *facts)
{
	static const gint64 used[] =
	    {[SHORT] = LIMIT - EARLIER, [LONG] = LIMIT - EARLIER + 1, [USED_UNKNOWN] = -1};
	GbeTakeOver *owner = device.owner;

	facts->owner = cell->whose == NO_OWNER ? NULL : owner;
	facts->run = cell->whose == RUN_UNKNOWN ? NULL : device.run_id;
	owner->run = cell->whose == OTHER_RUN ? (char *)"another" : device.run_id;
	owner->deployment.id = cell->whose == OTHER_DEPLOYMENT ? device.base_id : device.own_id;
	owner->trial.on = (GbeTri)cell->trial;
	device.run->verdict = (GbeVerdict)cell->verdict;
	device.run->trial = owner->trial.on;
	/* On the monotonic clock, else on the clock that was set back. */
	facts->uptime = used[cell->used] < 0 ? -1 : owner->uptime + used[cell->used];
	owner->at = facts->now + 1;
}

static const GbeFacts *
observe(const Cell *cell)
{
	static const guint voters[] =
	    {[NOT_LOOKED] = 0, [ONE] = 1, [TWO] = 2, [UNCLEAR] = GBE_VOTERS_UNCLEAR};
	GbeFacts *facts = device.facts;

	facts->data = (GbeTri)cell->data;
	facts->data_open = (GbeTri)cell->open;
	facts->fingerprint.present = cell->fingerprint;
	facts->config->backup.at_shutdown = (GbeWhen)cell->when;
	facts->config->restore.hand_back = cell->allowed;
	facts->config->restore.trial_limit = LIMIT;
	facts->clones = (GbeTri)cell->clones;
	facts->voters = voters[cell->voters];
	facts->intent = cell->intent == INTENT ? &device.intent : NULL;
	facts->intent_why = cell->intent == INTENT_UNREADABLE ? (char *)"of a newer program" : NULL;
	set_list(cell, facts);
	set_store(cell, facts);
	set_run(cell, facts);
	return facts;
}

/* The sentences of decisions.md, as conditions alone. */

static bool
is_closed(const Cell *c)
{
	return c->data != GBE_NO && c->whose == OWN && c->open == GBE_NO;
}

static bool
failed(const Cell *c)
{
	return c->trial == GBE_YES && c->used == SHORT &&
	       (c->verdict == GBE_VERDICT_JUDGING || c->verdict == GBE_VERDICT_RED);
}

static bool
has_base(const Cell *c)
{
	return c->base == VALID || c->base == BAD || c->base == ADOPTED;
}

static bool
takes_backup(const Cell *c)
{
	return is_closed(c) && c->fingerprint && c->equal != EQUAL_OWN &&
	       (c->when == GBE_WHEN_ALWAYS ||
		(c->when == GBE_WHEN_COW_ONLY && c->clones == GBE_YES)) &&
	       !(failed(c) && has_base(c));
}

static bool
hands_back(const Cell *c)
{
	bool lists_a = c->others != ONLY_C, lists_c = c->others != ONLY_A;
	bool lacks = (c->next == A && lists_a) || (c->next == C && lists_c) || c->next == STAGED;

	if (!is_closed(c) || c->data != GBE_YES || !c->fingerprint || !failed(c) || !has_base(c) ||
	    !c->allowed || c->intent != NO_INTENT || c->voters == TWO || c->voters == UNCLEAR ||
	    !lacks || c->program != GBE_NO)
		return false;
	/* Known to be its owner, or the only older deployment. */
	if (c->base == ADOPTED)
		return c->others != A_AND_C && c->next != STAGED && !c->newer;
	return c->next == A;
}

/* The checks of every cell. */

#define require(condition, cell)                                                                   \
	do {                                                                                       \
		if (!(condition))                                                                  \
			ck_abort_msg(#condition ": %s", describe(*(cell)));                        \
	} while (0)

static guint outcomes[3][2][2]; /* step, backup, hand-back */

static void
check_backup(const Cell *cell, const GbeFacts *facts, const GbeShutdown *s)
{
	require((s->backup != NULL) == takes_backup(cell), cell);
	if (s->step == GBE_SHUTDOWN_CLOSE)
		require((s->why == NULL) == (s->backup != NULL), cell);
	require((s->equal != NULL) ==
		    (is_closed(cell) && cell->equal == EQUAL_OWN && cell->fingerprint),
		cell);
	if (s->backup == NULL)
		return;
	require(gbe_facts_backup(facts, s->backup->name) == NULL, cell);
	require(gbe_deployment_same(&s->backup->deployment, &facts->booted), cell);
	require(s->backup->sequence == facts->next_sequence, cell);
	require(s->cow_only == (cell->when == GBE_WHEN_COW_ONLY), cell);
	/* As the next start would have taken it. */
	require(s->backup->trial.used == (s->used < 0 ? -1 : EARLIER + s->used), cell);
}

static void
check_hand_back(const Cell *cell, const GbeFacts *facts, const GbeShutdown *s)
{
	require((s->hand_back != NULL) == hands_back(cell), cell);
	require((s->displaced != NULL) == (s->hand_back != NULL), cell);
	if (s->hand_back == NULL)
		return;
	/* One number, one name, one thing at a time. */
	require(s->backup == NULL, cell);
	require(s->hand_back == device.base, cell);
	require(gbe_facts_backup(facts, s->displaced->name) == NULL, cell);
	require(s->displaced->grade == GBE_GRADE_BAD, cell);
	require(s->displaced->origin == GBE_ORIGIN_DISPLACED, cell);
	require(gbe_deployment_same(&s->displaced->deployment, &facts->booted), cell);
	for (guint i = 0; i < G_N_ELEMENTS(space); i++) {
		Cell copy = *cell;

		if (space[i].unknown >= 0 && *value(&copy, &space[i]) == space[i].unknown)
			ck_abort_msg("%s is unknown: %s", space[i].name, describe(*cell));
	}
}

static void
check_cell(const Cell *cell)
{
	const GbeFacts *facts = observe(cell);
	g_autoptr(GbeShutdown) s = gbe_decide_shutdown(facts);

	require((s->step == GBE_SHUTDOWN_CLOSE) == is_closed(cell), cell);
	require((s->step == GBE_SHUTDOWN_WAIT) ==
		    (cell->data != GBE_NO && cell->whose == OWN && cell->open != GBE_NO),
		cell);
	require((s->used >= 0) == (is_closed(cell) && cell->used != USED_UNKNOWN), cell);
	check_backup(cell, facts, s);
	check_hand_back(cell, facts, s);
	outcomes[s->step][s->backup != NULL][s->hand_back != NULL]++;
}

START_TEST(every_cell)
{
	const Fact *walked[G_N_ELEMENTS(space)];
	Cell cell = plain;
	guint n = 0, i = 0, cells = 0;

	device_setup();
	for (guint k = 0; k < G_N_ELEMENTS(space); k++) {
		if (!is_walked(branches[_i], &space[k]))
			continue;
		walked[n++] = &space[k];
		*value(&cell, &space[k]) = 0;
	}
	while (i < n) {
		check_cell(&cell);
		cells++;
		for (i = 0; i < n && ++*value(&cell, walked[i]) == walked[i]->count; i++)
			*value(&cell, walked[i]) = 0;
	}
	(void)dprintf(STDOUT_FILENO, "core-shutdown: %s: %u cells\n", branches[_i], cells);
}
END_TEST

/* The facts of one walk decide nothing in the other: together they are as they are apart. */
START_TEST(samples_of_all)
{
	g_autoptr(GRand) random = g_rand_new_with_seed(SEED);

	device_setup();
	for (guint k = 0; k < SAMPLES; k++) {
		Cell cell = plain;

		/* Two facts in three as in the plain cell: most of the space is no failed trial. */
		for (guint i = 0; i < G_N_ELEMENTS(space); i++)
			if (g_rand_int_range(random, 0, 3) == 0)
				*value(&cell, &space[i]) =
				    g_rand_int_range(random, 0, space[i].count);
		check_cell(&cell);
	}
	ck_assert_uint_gt(outcomes[GBE_SHUTDOWN_NOTHING][false][false], 0);
	ck_assert_uint_gt(outcomes[GBE_SHUTDOWN_WAIT][false][false], 0);
	ck_assert_uint_gt(outcomes[GBE_SHUTDOWN_CLOSE][false][false], 0);
	ck_assert_uint_gt(outcomes[GBE_SHUTDOWN_CLOSE][true][false], 0);
	ck_assert_uint_gt(outcomes[GBE_SHUTDOWN_CLOSE][false][true], 0);
}
END_TEST

/* By the clock of the day only where the other one does not tell. */
START_TEST(the_use_is_measured_by_the_monotonic_clock)
{
	static const struct {
		gint64 uptime_then, uptime, then, now, used;
	} cases[] = {
	    {10, 70, 5000, 9000, 60},	{-1, 70, 5000, 9000, 4000}, {10, -1, 5000, 9000, 4000},
	    {90, 70, 5000, 9000, 4000}, {-1, -1, 9000, 5000, -1},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GbeFacts) facts = facts_booted('b', 51);
		GbeTakeOver *owner = facts_owner(facts, 'b', 51, 92);
		g_autoptr(GbeShutdown) shutdown = NULL;

		owner->uptime = cases[i].uptime_then;
		owner->at = cases[i].then;
		facts->uptime = cases[i].uptime;
		facts->now = cases[i].now;
		shutdown = gbe_decide_shutdown(facts);
		ck_assert_int_eq(shutdown->used, cases[i].used);
	}
}
END_TEST

/* "What a rule displaces is set aside, not bad": the data may have been put there by hand. */
START_TEST(a_strangers_data_is_set_aside)
{
	Cell cell = plain;
	GbeFacts *facts;
	g_autoptr(GbeShutdown) shutdown = NULL;

	device_setup();
	facts = device.facts;
	(void)observe(&cell);
	facts->stranger = true;
	shutdown = gbe_decide_shutdown(facts);
	ck_assert_ptr_eq(shutdown->hand_back, device.base);
	ck_assert(shutdown->displaced->set_aside);
	ck_assert_int_ne(shutdown->displaced->grade, GBE_GRADE_BAD);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-shutdown");
	TCase *tcase = tcase_create("fact space");

	tcase_set_timeout(tcase, 300);
	tcase_add_loop_test(tcase, every_cell, 0, (int)G_N_ELEMENTS(branches));
	tcase_add_test(tcase, samples_of_all);
	tcase_add_test(tcase, the_use_is_measured_by_the_monotonic_clock);
	tcase_add_test(tcase, a_strangers_data_is_set_aside);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
