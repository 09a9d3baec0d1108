/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every history of 2 to 4 (LEVEL=full: 5) runs of the deployments A, B and C, played on a device in memory. Each
 * property that decisions.md promises has a test of its name. A comes first. A step is a way to a deployment and the
 * outcome of the run there. The ways are: plain reboot, staged upgrade, fallback, deliberate return, back to the
 * default entry.
 */
#include "lib/history.h"
#include "lib/unit.h"

#include <stdbool.h>
#include <string.h>

typedef enum {
	A_REBOOT_KEEPS,
	A_MATURE_REBOOT_KEEPS,
	AN_UPGRADE_KEEPS,
	THE_BASE_GETS_WHAT_IT_HAD,
	A_RETRY_STARTS_FROM_THE_BASE,
	AGAIN_AFTER_ITS_BASE,
	ON_TOP_OF_A_FAILED_ONE,
	A_RETURN_HAS_ITS_OWN,
	NOT_DELIBERATE_NOT_REWOUND,
	UNDO_BRINGS_IT_BACK,
	AN_UPDATE_WITHOUT_THE_PROGRAM,
	IT_IS_HANDED_BACK,
	NOTHING_ELSE_IS_HANDED_BACK,
	NOTHING_IS_LEFT_TO_DO,
	THE_FLOOR_HOLDS,
	ETCD_IS_NEVER_HELD,
	A_FEW_RULES_EXPLAIN_IT,
	PROPERTIES
} Property;

static const char *const sentences[PROPERTIES] = {
    "a plain reboot of what is green, unjudged or long-used keeps its data",
    "a plain reboot of what was ever green keeps its data, red or hung as its last run may be",
    "an upgrade from what is green, unjudged or long-used keeps its data",
    "a failed update's base gets exactly what it had",
    "a failed update tried again at once starts from what its base had",
    "a failed update tried again after its base starts from the data in between",
    "an update on top of a failed one starts from the newest state of no failed trial",
    "a return to a green deployment contains or restores what that deployment had",
    "not deliberate: data that contains what the deployment had is not rewound",
    "deliberate: the displaced data is a valid backup that undo brings back",
    "an update without this program that came and went is undone",
    "a failed update hands its base what that had, where the base has no program and boots next",
    "a shutdown leaves the data to everybody else as it is",
    "planning again after executing gives an empty plan",
    "one valid backup remains, for the store and for each green deployment",
    "with everything known, etcd is never held back",
    "a plan is explained by one rule, or by 10a and 12 followed by one",
};

static struct {
	guint64 cases;
	guint length; /* of the shortest history that breaks it; 0: none */
	char *broken;
} results[PROPERTIES];

static guint64 histories[6];

static void
property(const Node *node, Property which, bool holds, const char *detail)
{
	g_autofree char *history = NULL;

	results[which].cases++;
	if (holds || (results[which].length != 0 && results[which].length <= node->length))
		return;
	history = history_text(node);
	g_free(results[which].broken);
	results[which].length = node->length;
	results[which].broken = g_strdup_printf("%s: %s", history, detail);
}

/* The checks after each prerun. */

typedef struct {
	const Node *before; /* at the end of the run before */
	const Node *after;  /* after prerun */
	const GbePlan *plan;
	guint d, o;
	How how;
	char detail[200];
} Boot;

/* The last one that was seen to have the data was a trial that this boot undoes. */
static bool
seen_failed(const Truth *was, guint d)
{
	return was->ended &&
	       (was->ended_by == d ? was->ended_failed : !was->settled[was->ended_by]);
}

static void
check_same_owner(const Boot *b)
{
	const Truth *was = &b->before->truth;
	Outcome last = was->last[b->d];
	bool kept = b->after->world.content == b->before->world.content;

	/* A run without the program. Rule 13 applies if another deployment was to boot, and 9 and 10a after a failed
	 * trial. After a cut this is the known limit of decisions.md. */
	if (keeps(last) && (with_program(last) || (!was->unseen && !seen_failed(was, b->d) &&
						   (!was->ended || was->ended_for == b->d))))
		property(b->after, A_REBOOT_KEEPS, kept, b->detail);
	if (was->green[b->d] && !was->without)
		property(b->after, A_MATURE_REBOOT_KEEPS, kept, b->detail);
	if (failed_trial(was, b->d) && !was->without && was->n_chain > 0)
		property(b->after, A_RETRY_STARTS_FROM_THE_BASE,
			 b->after->world.content == was->chain[0].content, b->detail);
}

static void
check_upgrade(const Boot *b)
{
	const Truth *was = &b->before->truth;
	Outcome last = was->last[b->o];
	bool kept = b->after->world.content == b->before->world.content;

	if (!was->with_program[b->d] && keeps(last) && (with_program(last) || !was->unseen))
		property(b->after, AN_UPGRADE_KEEPS, kept, b->detail);
	/* Never green, its base ran again and did well: an upgrade again. */
	if (was->with_program[b->d] && !was->settled[b->d] && was->green[b->o] && keeps(last) &&
	    !was->without)
		property(b->after, AGAIN_AFTER_ITS_BASE, kept, b->detail);
	if (is_update(was, b->d, b->o) && failed_trial(was, b->o) && unwound(was) >= 0 &&
	    !was->without)
		property(b->after, ON_TOP_OF_A_FAILED_ONE,
			 b->after->world.content == was->chain[unwound(was)].content, b->detail);
}

static void
check_undo(const Boot *b)
{
	World world = b->after->world;
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	const GbeAction *restore;
	int at;

	/* The next run asks for it, on the kernel command line. */
	world.run++;
	world.cmdline = GBE_REQUEST_UNDO;
	facts = world_observe(&world);
	plan = gbe_decide(facts);
	restore = gbe_plan_find(plan, GBE_ACTION_RESTORE);
	at = restore != NULL ? world_find(&world, restore->name) : -1;
	property(b->after, UNDO_BRINGS_IT_BACK,
		 at >= 0 && world.backups[at].manifest->grade != GBE_GRADE_BAD &&
		     world.backups[at].content == b->before->world.content,
		 b->detail);
}

static void
check_return(const Boot *b)
{
	const Truth *was = &b->before->truth;
	Content live = b->before->world.content, got = b->after->world.content;

	if (!was->settled[b->d] || was->without)
		return;
	property(b->after, A_RETURN_HAS_ITS_OWN, contains(got, was->had[b->d]), b->detail);
	if (!was->settled[b->o])
		return;
	if (b->how != RETURN && contains(live, was->had[b->d]))
		property(b->after, NOT_DELIBERATE_NOT_REWOUND, got == live, b->detail);
	if (b->how == RETURN && got != live)
		check_undo(b);
}

static void
check_base(const Boot *b)
{
	const Truth *was = &b->before->truth;
	int at = in_chain(was, b->d);

	if (was->settled[b->o] || at < 0 || was->without)
		return;
	property(b->after, THE_BASE_GETS_WHAT_IT_HAD,
		 b->after->world.content == was->had[b->d] &&
		     was->had[b->d] == was->chain[at].content,
		 b->detail);
}

static void
check_without_program(const Boot *b)
{
	const Truth *was = &b->before->truth;

	/* Without a closing backup no state can be restored. */
	if (!b->before->world.clones || !was->ended || was->ended_by != b->d ||
	    was->ended_for == b->d || was->ended_for != b->o || was->foreign == 0 ||
	    was->foreign > 3000 || was->ended_failed)
		return;
	property(b->after, AN_UPDATE_WITHOUT_THE_PROGRAM,
		 b->after->world.content == was->ended_with, b->detail);
}

/* The backup that finalize made of the ended run's data, for the deployment that boots next. */
static void
check_hand_back(const Node *node, const Step *next, bool program)
{
	const World *w = &node->world;
	const Truth *t = &node->truth;
	const Step *step = &node->steps[node->length - 1];
	const Base *base = &t->chain[0];
	bool failed = step->outcome == RED && failed_trial(t, step->who) && t->n_chain > 0;
	/* Its owner, or where that is unknown the only older one. */
	bool comes_back = base->who == (int)next->who ||
			  (base->who < 0 && w->deployed == 2 && next->who < step->who);
	char detail[100];

	if (t->without)
		return;
	(void)g_snprintf(detail, sizeof detail,
			 "%c is next: data %" G_GINT64_MODIFIER "x, had %" G_GINT64_MODIFIER "x",
			 'A' + (int)next->who, w->content, t->had[step->who]);
	if (failed && !program && comes_back && w->by_default == next->who)
		property(node, IT_IS_HANDED_BACK, w->content == base->content, detail);
	else
		property(node, NOTHING_ELSE_IS_HANDED_BACK, w->content == t->had[step->who],
			 detail);
}

static void
check_data(const Boot *b)
{
	if (b->o == b->d) {
		check_same_owner(b);
		return;
	}
	check_upgrade(b);
	check_return(b);
	check_base(b);
	check_without_program(b);
}

static void
check_plan(const Boot *b)
{
	g_autoptr(GbeFacts) facts = world_observe(&b->after->world);
	g_autoptr(GbePlan) again = gbe_decide(facts);
	g_autoptr(GArray) removals = gbe_retention_apply(facts);
	bool empty = again->take_over == NULL && !again->opened && removals->len == 0;
	bool explained = b->plan->also->len <= 2;
	g_autofree char *detail = NULL;

	for (guint i = 0; i < again->actions->len; i++)
		empty = empty && ((GbeAction *)again->actions->pdata[i])->kind == GBE_ACTION_KEEP;
	if (!empty)
		detail = g_strdup_printf(
		    "%s; then rule %s, %s, removes %u", b->detail, gbe_rule_to_string(again->rule),
		    gbe_action_to_string(((GbeAction *)again->actions->pdata[0])->kind),
		    removals->len);
	property(b->after, NOTHING_IS_LEFT_TO_DO, empty, detail);
	property(b->after, ETCD_IS_NEVER_HELD, !b->plan->hold, b->detail);
	for (guint i = 0; i < b->plan->also->len; i++) {
		/* Every rule but the last one. */
		GbeRule rule =
		    i == 0 ? b->plan->rule : g_array_index(b->plan->also, GbeRule, i - 1);

		explained = explained && (rule == GBE_RULE_10A || rule == GBE_RULE_12);
	}
	property(b->after, A_FEW_RULES_EXPLAIN_IT, explained, b->detail);
}

/* Invariant 3. */

typedef struct {
	guint valid, good;
} Floor;

static void
floor_of(const Node *node, Floor *of_store, Floor *of_green)
{
	const World *w = &node->world;

	memset(of_store, 0, sizeof *of_store);
	memset(of_green, 0, sizeof *of_green * WORLD_DEPLOYMENTS);
	for (guint i = 0; i < w->n_backups; i++) {
		const GbeManifest *manifest = w->backups[i].manifest;

		if (manifest->grade == GBE_GRADE_BAD)
			continue;
		of_store->valid++;
		of_store->good += manifest->grade == GBE_GRADE_GOOD;
		for (guint d = 0; d < w->deployed; d++) {
			if (!node->truth.green[d] ||
			    g_strcmp0(manifest->deployment.id, world_deployment(d)) != 0)
				continue;
			of_green[d].valid++;
			of_green[d].good += manifest->grade == GBE_GRADE_GOOD;
		}
	}
}

static bool
floor_kept(const Floor *before, const Floor *after)
{
	return (before->valid == 0 || after->valid > 0) && (before->good == 0 || after->good > 0);
}

static void
prune(Node *node)
{
	Floor store, greens[WORLD_DEPLOYMENTS], store_after, greens_after[WORLD_DEPLOYMENTS];
	bool holds;

	floor_of(node, &store, greens);
	(void)world_prune(&node->world);
	floor_of(node, &store_after, greens_after);
	holds = floor_kept(&store, &store_after);
	for (guint d = 0; d < WORLD_DEPLOYMENTS; d++)
		holds = holds && floor_kept(&greens[d], &greens_after[d]);
	property(node, THE_FLOOR_HOLDS, holds, "");
}

/* Playing. */

static void
prerun(const Node *before, Node *node, Arena *arena)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbePlan) plan = NULL;
	g_autofree char *rules = NULL;
	const Step *step = &node->steps[node->length - 1];
	Boot b = {.before = before, .after = node, .d = step->who, .how = step->how};

	facts = world_observe(&node->world);
	b.plan = plan = gbe_decide(facts);
	rules = plan_rules_to_text(plan);
	world_require(world_execute(&node->world, arena, plan));
	prune(node);
	world_end(&node->world, arena);
	b.o = before != NULL ? before->steps[before->length - 1].who : b.d;
	(void)g_snprintf(b.detail, sizeof b.detail,
			 "rule %s, %s: data %" G_GINT64_MODIFIER "x, had %" G_GINT64_MODIFIER
			 "x, before %" G_GINT64_MODIFIER "x",
			 rules, plan->reason, node->world.content, node->truth.had[b.d],
			 before != NULL ? before->world.content : 0);
	check_plan(&b);
	if (before != NULL)
		check_data(&b);
}

static void
boot(const Node *before, Node *node, const Step *step, Arena *arena)
{
	World *w = &node->world;
	Content live = w->content;

	node->steps[node->length++] = *step;
	world_own(w, arena);
	w->run = node->length;
	w->booted = step->who;
	w->upgrading = false;
	w->now += 60;
	w->judges = step->outcome != UNJUDGED_SHORT && step->outcome != UNJUDGED_LONG;
	if (with_program(step->outcome))
		prerun(before, node, arena);
	take(before, node, step, live);
}

static void
shut_down(Node *node, const Step *next, Arena *arena)
{
	World *w = &node->world;
	Truth *t = &node->truth;
	const Step *step = &node->steps[node->length - 1];
	gint64 seconds = is_long(step->outcome) ? WORLD_LONG : WORLD_SHORT;

	world_own(w, arena);
	world_etcd(w, seconds);
	if (is_long(step->outcome) && with_program(step->outcome))
		world_used_beyond(w, arena);
	if (step->outcome == GREEN) {
		world_verdict(w, arena, GBE_VERDICT_GREEN);
		t->green[step->who] = true;
		prune(node);
	} else if (step->outcome == RED || step->outcome == RED_FOR_WEEKS) {
		world_verdict(w, arena, GBE_VERDICT_RED);
	} else if (step->outcome == HANG) {
		world_verdict(w, arena, GBE_VERDICT_JUDGING);
	}
	w->upgrading = next != NULL && next->how == UPGRADE;
	w->deployed += w->upgrading;
	if (next != NULL && (next->how == UPGRADE || next->how == RETURN))
		w->by_default = next->who;

	remember(node, seconds);
	if (step->outcome != HANG && with_program(step->outcome))
		(void)world_finalize(w, arena);
}

static void play(const Node *node, guint depth);

/* In the last run only what prerun is asked matters: whether anybody judges, and whether it runs at all. */
static guint
stands_for(Outcome outcome, bool last)
{
	if (!last)
		return 1;
	switch (outcome) {
	case GREEN:
		return 4; /* red, hang, red for weeks */
	case UNJUDGED_SHORT:
	case WITHOUT_SHORT:
		return 2; /* and the long one */
	case RED:
	case HANG:
	case RED_FOR_WEEKS:
	case UNJUDGED_LONG:
	case WITHOUT_LONG:
	case OUTCOMES:
	default:
		return 0;
	}
}

static void
play_step(const Node *before, const Step *step, guint depth)
{
	Node after = *before;
	guint count = stands_for(step->outcome, depth == 1);
	Arena arena;

	if (count == 0)
		return;
	arena_init(&arena);
	boot(before, &after, step, &arena);
	histories[after.length] += count;
	if (depth > 1)
		play(&after, depth - 1);
	else if (step->outcome == GREEN)
		shut_down(&after, NULL, &arena);
	if (depth == 1 && histories[after.length] % 97 == 0)
		world_check_fold(&after.world);
	arena_clear(&arena);
}

/* @program: the deployment that boots next carries it, which finalize looks at. */
static void
play_way(const Node *node, const Step *way, bool program, guint depth)
{
	Node before = *node;
	Arena arena;

	arena_init(&arena);
	before.world.without &= ~(1u << way->who);
	before.world.without |= program ? 0 : 1u << way->who;
	shut_down(&before, way, &arena);
	check_hand_back(&before, way, program);
	for (guint outcome = 0; outcome < OUTCOMES; outcome++) {
		Step step = *way;

		step.outcome = (Outcome)outcome;
		if (with_program(step.outcome) == program)
			play_step(&before, &step, depth);
	}
	arena_clear(&arena);
}

static void
play(const Node *node, guint depth)
{
	Step steps[2 * WORLD_DEPLOYMENTS + 2];
	guint n = ways_on(node, steps);

	for (guint i = 0; i < n; i++) {
		play_way(node, &steps[i], true, depth);
		play_way(node, &steps[i], false, depth);
	}
}

/* A comes first: on data that was there before the program, or on none. */
static void
play_all(guint depth, bool clones, bool data)
{
	for (guint outcome = 0; outcome < OUTCOMES; outcome++) {
		Step first = {0, FIRST, (Outcome)outcome};
		Node node = {0};
		Arena arena;

		arena_init(&arena);
		node.world.clones = clones;
		node.world.cut = -1;
		node.world.deployed = 1;
		node.world.now = 1000;
		if (data)
			world_etcd(&node.world, 1);
		boot(NULL, &node, &first, &arena);
		play(&node, depth - 1);
		arena_clear(&arena);
	}
}

/* Once for all tests: they are forked from here. Five runs take a minute or more on each kind of device: LEVEL=full
 * has them on the first, nightly on all. Under a sanitizer four do, for there the code is what is looked at. */
static void
play_once(void)
{
	const char *level = g_getenv("LEVEL"), *sanitizers = g_getenv("SANITIZERS");
	bool slow = sanitizers != NULL && sanitizers[0] != '\0';
	bool all = g_strcmp0(level, "nightly") == 0 && !slow;
	bool first = all || (g_strcmp0(level, "full") == 0 && !slow);

	play_all(first ? 5 : 4, true, true);
	play_all(all ? 5 : 4, false, true);
	play_all(all ? 5 : 4, true, false);
	play_all(all ? 5 : 4, false, false);
	for (guint i = 2; i < G_N_ELEMENTS(histories); i++)
		(void)dprintf(STDOUT_FILENO,
			      "core-histories: %" G_GUINT64_FORMAT " histories of %u runs\n",
			      histories[i], i);
	for (guint i = 0; i < PROPERTIES; i++)
		(void)dprintf(STDOUT_FILENO, "core-histories: %" G_GUINT64_FORMAT " cases: %s\n",
			      results[i].cases, sentences[i]);
}

static void
holds(Property which)
{
	ck_assert_msg(results[which].broken == NULL, "%s: broken by %s", sentences[which],
		      results[which].broken);
	ck_assert_msg(results[which].cases > 0, "%s: no history has such a case", sentences[which]);
}

#define PROPERTY_TEST(name, which)                                                                 \
	START_TEST(name)                                                                           \
	{                                                                                          \
		holds(which);                                                                      \
	}                                                                                          \
	END_TEST

PROPERTY_TEST(a_plain_reboot_keeps_its_data, A_REBOOT_KEEPS)
PROPERTY_TEST(a_mature_reboot_keeps_its_data, A_MATURE_REBOOT_KEEPS)
PROPERTY_TEST(an_upgrade_keeps_the_data, AN_UPGRADE_KEEPS)
PROPERTY_TEST(a_failed_updates_base_gets_exactly_what_it_had, THE_BASE_GETS_WHAT_IT_HAD)
PROPERTY_TEST(a_failed_update_at_once_starts_from_its_base, A_RETRY_STARTS_FROM_THE_BASE)
PROPERTY_TEST(a_failed_update_again_starts_from_the_data_in_between, AGAIN_AFTER_ITS_BASE)
PROPERTY_TEST(an_update_on_top_of_a_failed_one_unwinds, ON_TOP_OF_A_FAILED_ONE)
PROPERTY_TEST(a_return_has_what_the_deployment_had, A_RETURN_HAS_ITS_OWN)
PROPERTY_TEST(an_accidental_return_does_not_rewind, NOT_DELIBERATE_NOT_REWOUND)
PROPERTY_TEST(undo_brings_back_what_a_return_displaced, UNDO_BRINGS_IT_BACK)
PROPERTY_TEST(an_update_without_the_program_is_undone, AN_UPDATE_WITHOUT_THE_PROGRAM)
PROPERTY_TEST(a_failed_update_is_handed_back, IT_IS_HANDED_BACK)
PROPERTY_TEST(nothing_else_is_handed_back, NOTHING_ELSE_IS_HANDED_BACK)
PROPERTY_TEST(planning_again_gives_an_empty_plan, NOTHING_IS_LEFT_TO_DO)
PROPERTY_TEST(the_last_valid_backup_stays, THE_FLOOR_HOLDS)
PROPERTY_TEST(etcd_is_never_held_back, ETCD_IS_NEVER_HELD)
PROPERTY_TEST(a_few_rules_explain_a_plan, A_FEW_RULES_EXPLAIN_IT)

int
main(void)
{
	Suite *suite = suite_create("core-histories");
	TCase *tcase = tcase_create("properties");

	tcase_add_unchecked_fixture(tcase, play_once, NULL);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_plain_reboot_keeps_its_data);
	tcase_add_test(tcase, a_mature_reboot_keeps_its_data);
	tcase_add_test(tcase, an_upgrade_keeps_the_data);
	tcase_add_test(tcase, a_failed_updates_base_gets_exactly_what_it_had);
	tcase_add_test(tcase, a_failed_update_at_once_starts_from_its_base);
	tcase_add_test(tcase, a_failed_update_again_starts_from_the_data_in_between);
	tcase_add_test(tcase, an_update_on_top_of_a_failed_one_unwinds);
	tcase_add_test(tcase, a_return_has_what_the_deployment_had);
	tcase_add_test(tcase, an_accidental_return_does_not_rewind);
	tcase_add_test(tcase, undo_brings_back_what_a_return_displaced);
	tcase_add_test(tcase, an_update_without_the_program_is_undone);
	tcase_add_test(tcase, a_failed_update_is_handed_back);
	tcase_add_test(tcase, nothing_else_is_handed_back);
	tcase_add_test(tcase, planning_again_gives_an_empty_plan);
	tcase_add_test(tcase, the_last_valid_backup_stays);
	tcase_add_test(tcase, etcd_is_never_held_back);
	tcase_add_test(tcase, a_few_rules_explain_a_plan);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
