/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random histories of 5 to 40 steps of the deployments A, B and C, on the device of lib/world.h. They play the steps of
 * core-histories, and also skips, requests for the next boot and on the kernel command line, manual backups and
 * deletes. Further steps are restores by hand, keep-good=1 and cuts between the effects of prerun.
 *
 * HISTORIES=N plays so many (400); SEED=N begins with that one. A history that breaks a property is
 * printed with its seed: HISTORIES=1 SEED=N plays it again.
 */
#include "lib/history.h"
#include "lib/unit.h"

#include <stdbool.h>
#include <stdio.h>

#define FIRST_SEED 20201120
#define MOMENT 40	     /* seconds: no number of short runs here makes a long one */
#define NOT_KEPT G_MAXUINT64 /* with skip no backup was made */

typedef enum {
	A_REBOOT_KEEPS,
	AN_UPGRADE_KEEPS,
	THE_BASE_GETS_WHAT_IT_HAD,
	A_RETRY_STARTS_FROM_THE_BASE,
	ON_TOP_OF_A_FAILED_ONE,
	A_RETURN_HAS_ITS_OWN,
	NOT_DELIBERATE_NOT_REWOUND,
	A_REQUEST_IS_CARRIED_OUT,
	UNDO_BRINGS_IT_BACK,
	SKIP_TOUCHES_NOTHING,
	NOTHING_IS_LEFT_TO_DO,
	THE_FLOOR_HOLDS,
	ETCD_IS_NEVER_HELD,
	PROPERTIES
} Property;

static const char *const sentences[PROPERTIES] = {
    "a plain reboot of what is green, unjudged or long-used keeps its data",
    "an upgrade from what is green, unjudged or long-used keeps its data",
    "a failed update's base gets exactly what it had",
    "a failed update tried again at once starts from what its base had",
    "an update on top of a failed one starts from the newest state of no failed trial",
    "a return to a green deployment contains or restores what that deployment had",
    "not deliberate: data that contains what the deployment had is not rewound",
    "a request is applied, once",
    "undo brings back what was displaced",
    "with skip nothing is backed up or restored",
    "planning again after executing gives an empty plan",
    "one valid backup remains, for the store and for each green deployment",
    "with everything known, etcd is never held back",
};

static struct {
	guint64 cases;
	guint steps; /* of the shortest history that breaks it */
	char *broken;
} results[PROPERTIES];

/* One history. */
typedef struct {
	Node node;
	guint32 seed;
	guint steps;
	GRand *random;
	GString *text;
	Arena arena;
	Content asked_for; /* of the request that is due at the next boot */
	bool asked;
	bool cut;			/* the last run was */
	bool unkept[WORLD_DEPLOYMENTS]; /* no backup was made of its state */
	bool over;			/* what follows is not known from what has happened alone */
	const char *asked_name;
	Content deleted[64]; /* deleted by a person, so no property fails */
	guint n_deleted;
} History;

static guint
roll(History *h, guint sides)
{
	return (guint)g_rand_int_range(h->random, 0, (gint32)sides);
}

static void
property(const History *h, Property which, bool holds, const GbePlan *plan, Content before)
{
	g_autofree char *rules = plan != NULL ? plan_rules_to_text(plan) : g_strdup("-");

	results[which].cases++;
	if (holds || (results[which].broken != NULL && results[which].steps <= h->steps))
		return;
	g_free(results[which].broken);
	results[which].steps = h->steps;
	results[which].broken =
	    g_strdup_printf("HISTORIES=1 SEED=%u:%s: rule %s: data %" G_GINT64_MODIFIER
			    "x, before %" G_GINT64_MODIFIER "x",
			    h->seed, h->text->str, rules, h->node.world.content, before);
}

static guint
copies_of(const World *w, Content content)
{
	guint n = 0;

	for (guint i = 0; i < w->n_backups; i++)
		n += w->backups[i].content == content;
	return n;
}

static bool
was_deleted(const History *h, Content content)
{
	for (guint i = 0; i < h->n_deleted; i++)
		if (h->deleted[i] == content && copies_of(&h->node.world, content) == 0)
			return true;
	return content == NOT_KEPT;
}

/* Invariant 3. */
typedef struct {
	guint valid[WORLD_DEPLOYMENTS + 1], good[WORLD_DEPLOYMENTS + 1];
} Floor;

static void
floor_of(const History *h, Floor *ret_floor)
{
	const World *w = &h->node.world;

	*ret_floor = (Floor){0};
	for (guint i = 0; i < w->n_backups; i++) {
		const GbeManifest *manifest = w->backups[i].manifest;
		bool good = manifest->grade == GBE_GRADE_GOOD;

		if (manifest->grade == GBE_GRADE_BAD)
			continue;
		ret_floor->valid[WORLD_DEPLOYMENTS]++;
		ret_floor->good[WORLD_DEPLOYMENTS] += good;
		for (guint d = 0; d < w->deployed; d++) {
			if (!h->node.truth.green[d] ||
			    g_strcmp0(manifest->deployment.id, world_deployment(d)) != 0)
				continue;
			ret_floor->valid[d]++;
			ret_floor->good[d] += good;
		}
	}
}

static void
prune(History *h)
{
	Floor before, after;
	bool holds = true;

	floor_of(h, &before);
	(void)world_prune(&h->node.world);
	floor_of(h, &after);
	for (guint i = 0; i <= WORLD_DEPLOYMENTS; i++)
		holds = holds && (before.valid[i] == 0 || after.valid[i] > 0) &&
			(before.good[i] == 0 || after.good[i] > 0);
	property(h, THE_FLOOR_HOLDS, holds, NULL, h->node.world.content);
}

/* The checks of a complete prerun. */

static void
check_request(History *h, const GbePlan *plan, bool cut, Content live)
{
	property(h, A_REQUEST_IS_CARRIED_OUT,
		 (cut || plan->rule == GBE_RULE_2) && h->node.world.content == h->asked_for &&
		     h->node.world.past->request.kind == GBE_REQUEST_NONE,
		 plan, live);
}

static void
check_same_owner(History *h, const GbePlan *plan, guint d, Content live)
{
	const Truth *was = &h->node.truth;
	Content got = h->node.world.content;

	if (keeps(was->last[d]) || was->settled[d])
		property(h, A_REBOOT_KEEPS, got == live, plan, live);
	if (failed_trial(was, d) && was->n_chain > 0 && !was_deleted(h, was->chain[0].content))
		property(h, A_RETRY_STARTS_FROM_THE_BASE, got == was->chain[0].content, plan, live);
}

static void
check_other_owner(History *h, const GbePlan *plan, const Step *step, guint o, Content live)
{
	const Truth *was = &h->node.truth;
	Content got = h->node.world.content;
	guint d = step->who;
	int at = in_chain(was, d), to = unwound(was);

	if (!was->with_program[d] && keeps(was->last[o]))
		property(h, AN_UPGRADE_KEEPS, got == live, plan, live);
	if (!was->settled[o] && at >= 0) {
		if (!was_deleted(h, was->chain[at].content))
			property(h, THE_BASE_GETS_WHAT_IT_HAD, got == was->chain[at].content, plan,
				 live);
		return;
	}
	if (is_update(was, d, o) && failed_trial(was, o) && to >= 0 &&
	    !was_deleted(h, was->chain[to].content))
		property(h, ON_TOP_OF_A_FAILED_ONE, got == was->chain[to].content, plan, live);
	if (!was->settled[d] || h->unkept[d] || was_deleted(h, was->had[d]))
		return;
	property(h, A_RETURN_HAS_ITS_OWN, contains(got, was->had[d]), plan, live);
	if (was->settled[o] && step->how != RETURN && contains(live, was->had[d]))
		property(h, NOT_DELIBERATE_NOT_REWOUND, got == live, plan, live);
}

static void
check_again(History *h)
{
	g_autoptr(GbeFacts) facts = world_observe(&h->node.world);
	g_autoptr(GbePlan) again = gbe_decide(facts);
	g_autoptr(GArray) removals = gbe_retention_apply(facts);
	bool empty = again->take_over == NULL && !again->opened && removals->len == 0;

	for (guint i = 0; i < again->actions->len; i++)
		empty = empty && ((GbeAction *)again->actions->pdata[i])->kind == GBE_ACTION_KEEP;
	property(h, NOTHING_IS_LEFT_TO_DO, empty, again, h->node.world.content);
}

/* The displaced data is kept, with the name and number that undo uses. */
static void
check_undo(History *h, const GbePlan *plan, Content live)
{
	const World *w = &h->node.world;
	const GbeBackupRef *undo = &w->past->undo;
	int at = undo->name != NULL ? world_find(w, undo->name) : -1;

	if (gbe_plan_find(plan, GBE_ACTION_DISPLACE) == NULL)
		return;
	property(h, UNDO_BRINGS_IT_BACK,
		 at >= 0 && w->backups[at].manifest->sequence == undo->sequence &&
		     w->backups[at].content == live,
		 plan, live);
}

static void
check(History *h, const GbePlan *plan, const Step *step, guint o, bool cut, Content live)
{
	property(h, ETCD_IS_NEVER_HELD, !plan->hold, plan, live);
	if (h->node.world.skip)
		property(h, SKIP_TOUCHES_NOTHING, h->node.world.content == live, plan, live);
	else if (h->asked)
		check_request(h, plan, cut, live);
	else if (o == step->who)
		check_same_owner(h, plan, o, live);
	else
		check_other_owner(h, plan, step, o, live);
	if (!cut)
		check_undo(h, plan, live);
	/* The start's end lets go of what the last one that ended went by, which was kept in case this one is cut. */
	prune(h);
	check_again(h);
}

/* Playing. */

/* false: the power went. */
static bool
prerun_once(History *h, GbePlan **ret_plan)
{
	World *w = &h->node.world;
	g_autoptr(GbeFacts) facts = NULL;

	world_start(w, &h->arena);
	world_recover(w, &h->arena);
	facts = world_observe(w);
	g_clear_pointer(ret_plan, gbe_plan_free);
	*ret_plan = gbe_decide(facts);
	if (!world_execute(w, &h->arena, *ret_plan))
		return false;
	prune(h);
	if (!world_effect(w))
		return false;
	world_end(w, &h->arena);
	return true;
}

/* A boot. After a cut it starts again as another run. The checks compare with the data before the first start. */
static void
prerun(History *h, const Step *step, guint o)
{
	World *w = &h->node.world;
	Content live = w->content;
	g_autoptr(GbePlan) plan = NULL;
	g_autofree char *rules = NULL;
	bool cut = false;

	w->cut = roll(h, 6) == 0 ? (gint)roll(h, 7) : -1;
	if (!prerun_once(h, &plan)) {
		g_string_append_printf(h->text, " (cut in rule %s)",
				       gbe_rule_to_string(plan->rule));
		cut = true;
		w->cut = -1;
		w->run++;
		w->now += 60;
		(void)prerun_once(h, &plan);
	}
	w->cut = -1;
	rules = plan_rules_to_text(plan);
	g_string_append_printf(h->text, " [%s: %" G_GINT64_MODIFIER "x]", rules, w->content);
	check(h, plan, step, o, cut, live);
}

static void
manual_backup(History *h)
{
	World *w = &h->node.world;
	g_autoptr(GbeFacts) facts = NULL;
	g_autofree char *name = g_strdup_printf("mine-%u", w->writes % 5);
	g_autoptr(GbeManifest) manifest = NULL;
	GbeView view;

	if (world_find(w, name) >= 0)
		return;
	world_found(w, &h->arena);
	facts = world_observe(w);
	gbe_view_live(facts, &view);
	manifest = gbe_decide_manifest(facts, &view, name, false, facts->next_sequence);
	manifest->live = true;
	world_store(w, &h->arena, manifest, w->content);
	g_string_append(h->text, " +backup");
}

static void
delete_backup(History *h)
{
	World *w = &h->node.world;
	g_autoptr(GbeFacts) facts = world_observe(w);
	const char *why = NULL;
	guint at;

	if (w->n_backups == 0)
		return;
	at = roll(h, w->n_backups);
	if (gbe_retention_is_last_valid(facts, w->backups[at].manifest->name, &why) ||
	    copies_of(w, w->backups[at].content) > 1)
		return;
	if (h->n_deleted < G_N_ELEMENTS(h->deleted))
		h->deleted[h->n_deleted++] = w->backups[at].content;
	g_string_append_printf(h->text, " -%" G_GINT64_MODIFIER "x", w->backups[at].content);
	if (h->asked && g_str_equal(w->backups[at].manifest->name, h->asked_name))
		h->asked = false;
	world_delete(w, w->backups[at].manifest->name);
}

/* The new request is due at the next boot, unless its backup is deleted until then. */
static void
ask(History *h)
{
	World *w = &h->node.world;
	GbeRequest request = {.kind = GBE_REQUEST_RESTORE};
	guint at;

	if (w->n_backups == 0 || w->past->request.kind != GBE_REQUEST_NONE)
		return;
	at = roll(h, w->n_backups);
	if (w->backups[at].manifest->grade == GBE_GRADE_BAD)
		return;
	request.name = (char *)w->backups[at].manifest->name;
	request.run = world_run_id(w);
	world_append(w, &h->arena, GBE_LEDGER_REQUEST, gbe_request_to_json(&request));
	g_free(request.run);
	h->asked = true;
	h->asked_name = w->backups[at].manifest->name;
	h->asked_for = w->backups[at].content;
	g_string_append_printf(h->text, " ask=%" G_GINT64_MODIFIER "x", h->asked_for);
}

static void
push(Truth *t, int who, Content content, bool failed)
{
	if (t->n_chain == TRUTH_CHAIN)
		t->n_chain--;
	memmove(t->chain + 1, t->chain, t->n_chain * sizeof t->chain[0]);
	t->chain[0] = (Base){who, content, failed};
	t->n_chain++;
}

/* A backup that a person chose for a deployment on trial is its base from then on. */
static void
chosen(History *h, Content content)
{
	Truth *t = &h->node.truth;
	guint d = h->node.world.booted;

	if (t->settled[d])
		return;
	t->weeks[d] = false; /* it has not used that data yet */
	push(t, (int)d, content, true);
}

/* A verdict belongs to the data that it judged: after a restore in the middle of a run, the new data gets its own
 * verdict. */
static void
restore_by_hand(History *h, GbeVerdict verdict)
{
	World *w = &h->node.world;
	g_autoptr(GbeFacts) facts = world_observe(w);
	g_autoptr(GbePlan) plan = NULL;
	Content live = w->content;
	guint at;

	if (w->n_backups == 0 || h->asked)
		return;
	at = roll(h, w->n_backups);
	if (w->backups[at].manifest->grade == GBE_GRADE_BAD)
		return;
	g_string_append_printf(h->text, " restore=%" G_GINT64_MODIFIER "x", w->backups[at].content);
	plan = gbe_decide_by_hand(facts, w->backups[at].manifest->name, false);
	world_require(world_execute(w, &h->arena, plan));
	world_end(w, &h->arena);
	check_undo(h, plan, live);
	chosen(h, w->content);
	world_etcd(w, MOMENT);
	if (verdict != GBE_VERDICT_NONE)
		world_verdict(w, &h->arena, verdict);
}

/* The owner of the data from now on. */
static void
take_requested(History *h, guint d, guint o, Content live)
{
	Truth *t = &h->node.truth;
	int at = t->settled[o] ? -1 : in_chain(t, d);

	if (d != o) {
		bool failed = failed_trial(t, o);

		t->judged[d] = t->weeks[d] = false;
		if (at >= 0) {
			cut_chain(t, (guint)at + 1);
		} else {
			if (t->settled[o])
				t->n_chain = 0;
			push(t, (int)o, live, failed);
		}
	}
	chosen(h, h->node.world.content);
}

/* The newest state that is there of no failed trial, at the latest the last that is there. */
static int
whole_unwound(const History *h)
{
	const Truth *t = &h->node.truth;
	int last = -1;

	for (guint i = 0; i < t->n_chain; i++) {
		if (was_deleted(h, t->chain[i].content))
			continue;
		last = (int)i;
		if (!t->chain[i].failed)
			return last;
	}
	return last;
}

/* If the chain names a missing backup, the history continues with the state that prerun chose. */
static void
take_what_is_left(History *h, guint d, guint o, Content live)
{
	Truth *t = &h->node.truth;
	Content got = h->node.world.content;
	bool failed = failed_trial(t, o);
	int at = in_chain(t, d);

	if (t->settled[d]) {
		t->n_chain = 0;
	} else if (at >= 0 && !t->settled[o]) {
		/* With whatever of its own there was, and what had become of its trial by then. */
		h->over = got != live;
		t->judged[d] = t->weeks[d] = false;
		push(t, (int)o, live, failed);
	} else {
		t->judged[d] = t->weeks[d] = false;
		if (failed && whole_unwound(h) >= 0) {
			cut_chain(t, (guint)whole_unwound(h));
			return;
		}
		if (t->settled[o])
			t->n_chain = 0;
		push(t, (int)o, live, failed);
	}
}

static bool
chain_is_whole(const History *h)
{
	const Truth *t = &h->node.truth;

	for (guint i = 0; i < t->n_chain; i++)
		if (was_deleted(h, t->chain[i].content))
			return false;
	return true;
}

/* No backup was kept of @o's data, but its owner stays known. */
static void
take_skipped(History *h, guint d, guint o)
{
	Truth *t = &h->node.truth;

	if (d == o)
		return;
	if (t->settled[o])
		t->n_chain = 0;
	push(t, (int)o, NOT_KEPT, failed_trial(t, o));
	t->judged[d] = t->weeks[d] = false;
	h->unkept[o] = h->cut || copies_of(&h->node.world, t->had[o]) == 0;
}

static void
boot(History *h, const Step *step, bool first)
{
	World *w = &h->node.world;
	Truth *t = &h->node.truth;
	Content live = w->content;
	guint o = first ? step->who : w->booted;
	Node before = h->node;

	before.steps[0].who = o;
	before.length = 1;
	w->run++;
	w->booted = step->who;
	w->upgrading = false;
	w->now += 60;
	w->judges = step->outcome != UNJUDGED_SHORT && step->outcome != UNJUDGED_LONG;
	w->skip = !first && roll(h, 12) == 0;
	g_string_append_printf(h->text, " | %s%c %s%s",
			       (const char *[]){"", "", "staged ", "falls back to ", "returns to ",
						"back to "}[step->how],
			       'A' + (int)step->who, w->skip ? "skip, " : "",
			       outcome_text(step->outcome));
	prerun(h, step, o);
	if (w->skip)
		take_skipped(h, step->who, o);
	else if (h->asked)
		take_requested(h, step->who, o, live);
	else if (step->who != o && !t->settled[o] && in_chain(t, step->who) >= 0 &&
		 t->chain[in_chain(t, step->who)].content != t->had[step->who])
		h->over = true; /* a state that a person chose, with what the trial was then */
	else if (step->who != o && !chain_is_whole(h))
		take_what_is_left(h, step->who, o, live);
	else
		take(first ? NULL : &before, &h->node, step, live);
	t->with_program[step->who] = true;
	if (!w->skip)
		h->asked = false;
	if (first)
		t->n_chain = live != 0;
}

static GbeVerdict
verdict_of(Outcome outcome)
{
	switch (outcome) {
	case GREEN:
		return GBE_VERDICT_GREEN;
	case RED:
	case RED_FOR_WEEKS:
		return GBE_VERDICT_RED;
	case HANG:
		return GBE_VERDICT_JUDGING;
	case UNJUDGED_SHORT:
	case UNJUDGED_LONG:
	case WITHOUT_SHORT:
	case WITHOUT_LONG:
	case OUTCOMES:
	default:
		return GBE_VERDICT_NONE;
	}
}

static void
run(History *h, Outcome outcome)
{
	World *w = &h->node.world;
	GbeVerdict verdict = verdict_of(outcome);

	world_etcd(w, is_long(outcome) ? WORLD_LONG : MOMENT);
	if (is_long(outcome))
		world_used_beyond(w, &h->arena);
	if (verdict != GBE_VERDICT_NONE)
		world_verdict(w, &h->arena, verdict);
	if (outcome == GREEN) {
		h->node.truth.green[w->booted] = true;
		prune(h);
	}
	if (roll(h, 6) == 0)
		manual_backup(h);
	if (!is_long(outcome) && roll(h, 12) == 0)
		restore_by_hand(h, verdict);
	if (roll(h, 10) == 0)
		delete_backup(h);
	if (roll(h, 10) == 0)
		ask(h);
}

static void
shut_down(History *h, const Step *step, const Step *next)
{
	World *w = &h->node.world;
	Truth *t = &h->node.truth;

	w->upgrading = next->how == UPGRADE;
	w->deployed += w->upgrading;
	if (next->how == UPGRADE || next->how == RETURN)
		w->by_default = next->who;
	h->node.steps[0] = *step;
	h->node.length = 1;
	remember(&h->node, 0);
	h->unkept[step->who] = false;
	t->without = false;
	/* A fresh start that no program sees before the power cut has no owner. */
	if (step->outcome == HANG || (world_last(w)->tree != NULL && roll(h, 8) == 0))
		g_string_append(h->text, ", cut");
	h->cut = g_str_has_suffix(h->text->str, ", cut");
	if (!h->cut)
		world_require(world_finalize(w, &h->arena));
}

static Outcome
some_outcome(History *h)
{
	static const Outcome all[] = {
	    GREEN,	   GREEN,	   GREEN,	   RED,		 RED, HANG,
	    RED_FOR_WEEKS, UNJUDGED_SHORT, UNJUDGED_SHORT, UNJUDGED_LONG};

	return all[roll(h, G_N_ELEMENTS(all))];
}

static void
play(guint32 seed)
{
	History h = {.seed = seed, .random = g_rand_new_with_seed(seed)};
	Step step = {0, FIRST, GREEN};
	World *w = &h.node.world;
	guint length;

	h.text = g_string_new(NULL);
	arena_init(&h.arena);
	w->cut = -1;
	w->deployed = 1;
	w->now = 1000;
	w->clones = roll(&h, 2);
	w->keep_good = roll(&h, 2);
	length = 5 + roll(&h, 36);
	world_own(w, &h.arena);
	if (roll(&h, 2) != 0)
		world_etcd(w, 1);
	g_string_append_printf(h.text, " (%s, keep-good=%u)", w->clones ? "clones" : "copies",
			       w->keep_good);
	for (guint i = 0; i < length && w->writes < 60 && !h.over; i++) {
		Step ways[2 * WORLD_DEPLOYMENTS + 2];
		guint n;

		h.steps = i + 1;
		step.outcome = some_outcome(&h);
		boot(&h, &step, i == 0);
		/* Its trial continues as if the boot had no verdict. */
		if (w->skip)
			step.outcome = UNJUDGED_SHORT;
		run(&h, step.outcome);
		n = ways_on(&h.node, ways);
		n = roll(&h, n);
		shut_down(&h, &step, &ways[n]);
		step = ways[n];
	}
	world_check_fold(w);
	arena_clear(&h.arena);
	g_string_free(h.text, true);
	g_rand_free(h.random);
}

static guint64
number(const char *name, guint64 otherwise)
{
	const char *text = g_getenv(name);

	return text != NULL && text[0] != '\0' ? g_ascii_strtoull(text, NULL, 10) : otherwise;
}

/* Once for all tests: they are forked from here. */
static void
play_once(void)
{
	guint64 histories = number("HISTORIES", 400), seed = number("SEED", FIRST_SEED);

	for (guint64 i = 0; i < histories; i++)
		play((guint32)(seed + i));
	(void)dprintf(STDOUT_FILENO,
		      "core-random-histories: %" G_GUINT64_FORMAT
		      " histories, seeds from %" G_GUINT64_FORMAT "\n",
		      histories, seed);
	for (guint i = 0; i < PROPERTIES; i++)
		(void)dprintf(STDOUT_FILENO,
			      "core-random-histories: %" G_GUINT64_FORMAT " cases: %s\n",
			      results[i].cases, sentences[i]);
}

START_TEST(every_random_history)
{
	ck_assert_msg(results[_i].broken == NULL, "%s: broken by %s", sentences[_i],
		      results[_i].broken);
	ck_assert_msg(results[_i].cases > 0 || g_getenv("HISTORIES") != NULL,
		      "%s: no history has such a case", sentences[_i]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-random-histories");
	TCase *tcase = tcase_create("properties");

	play_once();
	tcase_add_loop_test(tcase, every_random_history, 0, PROPERTIES);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
