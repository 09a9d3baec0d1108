/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The whole fact space of the decision table. A situation has some 10^16 values, but no rule looks at all of it. The
 * space is divided into branches by the facts that select the rules. Each branch goes through every combination of the
 * facts that its rules read. Samples prove that the other facts do not matter: a random situation must be ruled like
 * its projection onto the branch's facts.
 */
#include "lib/fact-space.h"
#include "lib/unit.h"

#include "core/decide/rules.h"

#define SAMPLES 3000000
#define SEED 20201120

/* Does what the plan says in the end: the rule, then the gate on the same data. */
static void
rule(const GbeSituation *s, GbeRuling *ret_applied, GbeRuling *ret_ruling)
{
	gbe_rules_apply(s, ret_applied);
	*ret_ruling = *ret_applied;
	/* If the ruling restores other data, the gate looks at that data in another situation. */
	if (ret_ruling->rule != GBE_RULE_2 &&
	    (ret_ruling->move == GBE_DATA_KEEP || ret_ruling->move == GBE_DATA_USABLE))
		(void)gbe_rules_gate(s, ret_ruling);
}

static bool
restores(const GbeRuling *r)
{
	return r->move != GBE_DATA_KEEP && r->move != GBE_DATA_FRESH;
}

static bool
same_ruling(const GbeRuling *a, const GbeRuling *b)
{
	return a->rule == b->rule && a->move == b->move && a->displaced == b->displaced &&
	       a->backup == b->backup && a->adopt == b->adopt && a->upgrade == b->upgrade &&
	       a->again == b->again && a->take_over == b->take_over && a->hold == b->hold &&
	       a->began_empty == b->began_empty && a->wait == b->wait &&
	       g_str_equal(a->why, b->why);
}

/* The table of decisions.md once more, row by row in its own order, as conditions alone. */

static bool
failed_trial(const GbeSituation *s)
{
	return s->trial == GBE_YES && s->judged && s->verdict != GBE_VERDICT_GREEN &&
	       s->used_within == GBE_YES;
}

static bool
row_9(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_SAME && s->same_run == GBE_NO && failed_trial(s) &&
	       s->base == GBE_BASE_VALID && s->retry_trial && s->one_voter && s->ends;
}

static bool
unwinds(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_OTHER && s->own_trial == GBE_YES && failed_trial(s) &&
	       s->unwound != GBE_BASE_NONE && s->one_voter && s->on_failed != GBE_FAILED_KEEP;
}

static bool
row_12(const GbeSituation *s)
{
	/* An older state does not replace it. */
	return unwinds(s) && !(s->on_failed == GBE_FAILED_LAST_GOOD && s->unseen);
}

/* The cases in which 5a acts: etcd would not survive the data, and a replacement exists. */
static bool
row_5a(const GbeSituation *s)
{
	bool own = s->owner == GBE_OWNER_SAME;

	if (s->sound != GBE_NO || s->owner == GBE_OWNER_UNKNOWN || unwinds(s))
		return false;
	if (own && s->on_corrupt == GBE_CORRUPT_REFUSE)
		return true;
	return s->on_corrupt == GBE_CORRUPT_RESTORE && s->one_voter &&
	       (s->closing_backup ||
		(own && (s->candidate || (s->trial == GBE_YES && s->base == GBE_BASE_VALID))));
}

static bool
row_10a(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_OTHER && s->trial == GBE_YES &&
	       (s->in_chain || (s->ran == GBE_YES && s->own_trial == GBE_NO));
}

static bool
row_10b(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_OTHER && s->trial != GBE_YES && s->ran == GBE_YES &&
	       s->own_trial != GBE_YES;
}

/* 9, 10a, 5a, 13, 4, 6, 10b, 12, 11: the first that fits. */
static GbeRule
row_of_data(const GbeSituation *s)
{
	if (s->owner == GBE_OWNER_SAME && s->same_run == GBE_YES)
		return row_5a(s) ? GBE_RULE_5A : GBE_RULE_5;
	if (row_9(s))
		return GBE_RULE_9;
	if (row_10a(s))
		return GBE_RULE_10A;
	if (row_5a(s))
		return GBE_RULE_5A;
	/* Held: etcd may have its log elsewhere. */
	if (s->owner == GBE_OWNER_OTHER && s->no_log)
		return row_10b(s) ? GBE_RULE_10B : GBE_RULE_11;
	if (s->owner != GBE_OWNER_UNKNOWN && s->closing == GBE_CLOSING_DIFFERS)
		return GBE_RULE_13;
	if (s->owner == GBE_OWNER_UNKNOWN)
		return GBE_RULE_4;
	if (s->owner == GBE_OWNER_SAME)
		return s->sound == GBE_NO ? GBE_RULE_5A : GBE_RULE_6;
	if (row_10b(s))
		return GBE_RULE_10B;
	return row_12(s) ? GBE_RULE_12 : GBE_RULE_11;
}

static GbeRule
row(const GbeSituation *s)
{
	if (s->data == GBE_UNKNOWN || s->data_open != GBE_NO)
		return GBE_RULE_0;
	if (s->skip)
		return GBE_RULE_SKIP;
	if (untouchable(s))
		return GBE_RULE_0;
	if (s->request == GBE_REQUEST_IS_READY)
		return GBE_RULE_2;
	if (s->ostree == GBE_NO)
		return GBE_RULE_1;
	/* After 10a, of what comes in the data's place. */
	if (s->last_pass)
		return s->owner == GBE_OWNER_SAME && s->contains != GBE_NO ? GBE_RULE_6
									   : GBE_RULE_10B;
	return s->data == GBE_NO || s->log_lost ? GBE_RULE_3 : row_of_data(s);
}

/* Rule 3 hands over to the rules that would restore; 13 says "otherwise rule 4". */
static bool
row_allows(const GbeSituation *s, GbeRule applied)
{
	GbeRule expected = row(s);

	if (expected == GBE_RULE_3)
		return applied == GBE_RULE_3 || (applied == GBE_RULE_9 && row_9(s)) ||
		       (applied == GBE_RULE_10A && row_10a(s)) ||
		       (applied == GBE_RULE_10B && row_10b(s)) ||
		       (applied == GBE_RULE_12 && row_12(s));
	if (expected == GBE_RULE_13)
		return applied == (s->owner == GBE_OWNER_SAME && s->closing_back && s->one_voter &&
					   s->on_rollback != GBE_ROLLBACK_NEVER
				       ? GBE_RULE_13
				       : GBE_RULE_4);
	return applied == expected;
}

/* The checks of every cell. */

#define require(condition, s, r)                                                                   \
	do {                                                                                       \
		if (!(condition))                                                                  \
			ck_abort_msg("rule %s (%s), move %u: " #condition ": %s",                  \
				     gbe_rule_to_string((r)->rule), (r)->why, (guint)(r)->move,    \
				     describe(s));                                                 \
	} while (0)

static void
check_total(const GbeSituation *s, const GbeRuling *applied, const GbeRuling *r)
{
	require(row_allows(s, applied->rule), s, applied);
	require(r->rule <= GBE_RULE_SKIP, s, r);
	require(r->why != NULL && r->why[0] != '\0', s, r);
	require(gbe_rule_to_string(r->rule)[0] != '?', s, r);
	/* A plan that holds etcd back takes nothing over, and moves nothing. */
	require(r->hold == GBE_HOLD_NO || (!r->take_over && r->move == GBE_DATA_KEEP), s, r);
	/* One more pass only where one may follow, and only after 10a. */
	require(!r->again || (r->rule == GBE_RULE_10A && !s->last_pass), s, r);
}

/* Invariant 4 at the level of rulings: who may put what in the data's place. */
static void
check_sources(const GbeSituation *s, const GbeRuling *r)
{
	switch (r->move) {
	case GBE_DATA_KEEP:
		break;
	case GBE_DATA_FRESH:
		require(r->rule == GBE_RULE_3 && s->data == GBE_NO && !s->log_lost, s, r);
		break;
	case GBE_DATA_BASE:
		require(s->base == GBE_BASE_VALID, s, r);
		require(r->rule == GBE_RULE_5A || r->rule == GBE_RULE_9, s, r);
		break;
	case GBE_DATA_CHAIN_OWN: /* whatever its grade */
		require(s->in_chain && s->chain_own != GBE_BASE_NONE, s, r);
		require(r->rule == GBE_RULE_10A, s, r);
		break;
	case GBE_DATA_CHAIN_END:
		require(!s->in_chain && s->chain_end != GBE_BASE_NONE && r->again, s, r);
		break;
	case GBE_DATA_UNWOUND:
		require(s->unwound != GBE_BASE_NONE && r->rule == GBE_RULE_12, s, r);
		break;
	case GBE_DATA_CANDIDATE:
		require(s->candidate, s, r);
		break;
	case GBE_DATA_USABLE:
		require(s->usable_candidate && s->usable == GBE_NO, s, r);
		break;
	case GBE_DATA_CLOSING:
		require((r->rule == GBE_RULE_13 && s->closing_back) ||
			    (r->rule == GBE_RULE_5A && s->closing_backup && s->sound == GBE_NO),
			s, r);
		break;
	case GBE_DATA_OWNER_LEFT:
		require(r->rule == GBE_RULE_3 && s->owner_left && s->owner == GBE_OWNER_OTHER &&
			    s->data == GBE_NO && s->on_missing == GBE_MISSING_RESTORE,
			s, r);
		break;
	case GBE_DATA_REQUESTED:
		require(r->rule == GBE_RULE_2 && s->request == GBE_REQUEST_IS_READY, s, r);
		break;
	default:
		ck_abort_msg("move %u", (guint)r->move);
	}
	/* Invariant 5. */
	require(!restores(r) || r->backup == GBE_BACKUP_NONE, s, r);
	/* A backup of another writer's data, or of data with an unknown owner, is adopted: it never gets the owner's
	 * name. */
	if (s->data == GBE_YES && r->move == GBE_DATA_KEEP && r->backup != GBE_BACKUP_NONE &&
	    r->rule != GBE_RULE_0 && !s->last_pass &&
	    (s->owner == GBE_OWNER_UNKNOWN || s->closing == GBE_CLOSING_DIFFERS) &&
	    r->rule != GBE_RULE_10A && s->same_run != GBE_YES)
		require(r->adopt, s, r);
}

/* etcd is held back in the listed cases only. */
static void
check_hold(const GbeSituation *s, const GbeRuling *r)
{
	switch (r->hold) {
	case GBE_HOLD_NO:
		break;
	case GBE_HOLD_MOUNT:
		require(r->rule == GBE_RULE_3 && s->mount_lost && s->data == GBE_NO, s, r);
		break;
	case GBE_HOLD_ELSEWHERE:
		require(r->rule == GBE_RULE_3 && s->left_elsewhere && s->data == GBE_NO &&
			    !s->emptied,
			s, r);
		break;
	case GBE_HOLD_MEMBER:
		require(r->rule == GBE_RULE_3 && s->log_lost, s, r);
		break;
	case GBE_HOLD_CORRUPT:
		require(r->rule == GBE_RULE_5A && s->sound == GBE_NO &&
			    s->on_corrupt == GBE_CORRUPT_REFUSE,
			s, r);
		break;
	case GBE_HOLD_LOG:
		require(s->owner == GBE_OWNER_OTHER && s->no_log, s, r);
		break;
	case GBE_HOLD_FAILED:
		require(r->rule == GBE_RULE_12 && s->on_failed == GBE_FAILED_REFUSE, s, r);
		break;
	case GBE_HOLD_UNUSABLE:
		require(r->rule == GBE_RULE_14 && s->usable == GBE_NO, s, r);
		/* "Never within a run." */
		require(s->owner != GBE_OWNER_SAME || s->same_run != GBE_YES, s, r);
		break;
	case GBE_HOLD_OPEN:
		require(r->rule == GBE_RULE_0 && s->data_open != GBE_NO, s, r);
		require(s->owner == GBE_OWNER_OTHER, s, r);
		break;
	case GBE_HOLD_UNREAD:
		require(r->rule == GBE_RULE_0 && s->data == GBE_UNKNOWN && s->hold_without_backup,
			s, r);
		require(s->owner == GBE_OWNER_OTHER, s, r);
		break;
	/* No rule decides these. */
	case GBE_HOLD_DEFORMED:
	case GBE_HOLD_LINKED:
	case GBE_HOLD_LEAVING:
	case GBE_HOLD_ROOM:
	case GBE_HOLD_BACKUP:
	case GBE_HOLD_RECORD:
	case GBE_HOLD_RESTORE:
	case GBE_HOLD_HALF:
	case GBE_HOLD_UNFINISHED:
	case GBE_HOLD_CRASH:
	case GBE_N_HOLDS:
	default:
		ck_abort_msg("hold %u", (guint)r->hold);
	}
}

static void
check_refusals(const GbeSituation *s, const GbeRuling *applied, const GbeRuling *r)
{
	/* A request is ready against a cluster only where --force said so. */
	require(s->one_voter || !restores(r) || r->rule == GBE_RULE_2, s, r);
	if (s->on_rollback == GBE_ROLLBACK_NEVER)
		require(!restores(r) || (r->rule != GBE_RULE_10A && r->rule != GBE_RULE_10B &&
					 r->rule != GBE_RULE_13 && r->rule != GBE_RULE_14),
			s, r);
	/* The gate restores only for a returning deployment, and never over data without an owner. */
	if (r->rule == GBE_RULE_14 && restores(r))
		require(s->owner == GBE_OWNER_OTHER && applied->rule != GBE_RULE_4, s, r);
	if (untouchable(s) || s->skip)
		require(!restores(r), s, r);
	if (untouchable(s))
		require(!r->take_over, s, r);
	if (s->skip)
		require(r->hold == GBE_HOLD_NO && r->backup == GBE_BACKUP_NONE, s, r);
	/* No older state in the place of one that is only out of sight. */
	if (r->rule == GBE_RULE_10A && s->unseen)
		require(r->move != GBE_DATA_CANDIDATE && (restores(r) || r->wait || !s->one_voter ||
							  s->on_rollback == GBE_ROLLBACK_NEVER),
			s, r);
	/* An upgrade's backup is required, whatever the configuration of plain reboots. */
	if (r->rule == GBE_RULE_11 && r->hold == GBE_HOLD_NO)
		require(r->backup == GBE_BACKUP_REQUIRED && r->upgrade && !r->adopt, s, r);
}

/*
 * Invariant 1. An unknown fact never makes the program replace existing data. A restore while the fact is unknown must
 * also happen with each known value. For some facts decisions.md defines how "unknown" is read; the ruling must then
 * equal the ruling of that reading. The gate acts because D's etcd is known not to read the data: D must not get that
 * data in any case. Without data nothing is destroyed.
 */
static bool
acts_alike(const GbeRuling *unknown, const GbeRuling *known)
{
	if (unknown->rule == GBE_RULE_14)
		return restores(known) || known->hold != GBE_HOLD_NO;
	/* Data of other writers is undone by 9 and 10a as by 13; the unknown fact only decides which of them. */
	if (unknown->rule == GBE_RULE_13)
		return restores(known);
	/* The closing backup is the very state that was left, in sound files. */
	if (unknown->rule == GBE_RULE_5A && unknown->move == GBE_DATA_CLOSING)
		return true;
	/* The newest, or the newest that is readable: D's own. */
	if (unknown->move == GBE_DATA_USABLE)
		return known->move == GBE_DATA_USABLE || known->move == GBE_DATA_CANDIDATE;
	return unknown->move == known->move;
}

static void
check_unknown(const GbeSituation *s, const GbeRuling *r)
{
	if (!restores(r) || s->data == GBE_NO)
		return;
	for (guint i = 0; i < G_N_ELEMENTS(facts); i++) {
		const GbeTri *reads = &facts[i].reads;

		if (!facts[i].tri || get(s, &facts[i]) != GBE_UNKNOWN)
			continue;
		for (GbeTri known = GBE_NO; known <= GBE_YES; known++) {
			GbeSituation other = *s;
			GbeRuling applied, then;

			if (*reads != GBE_UNKNOWN && *reads != known)
				continue;
			set(&other, &facts[i], (int)known);
			rule(&other, &applied, &then);
			if (!acts_alike(r, &then))
				ck_abort_msg(
				    "%s unknown: rule %s restores, %s: rule %s does not: %s",
				    facts[i].name, gbe_rule_to_string(r->rule),
				    gbe_tri_to_string(known), gbe_rule_to_string(then.rule),
				    describe(s));
		}
	}
}

static void
check_cell(const GbeSituation *s)
{
	GbeRuling applied, r;

	rule(s, &applied, &r);
	check_total(s, &applied, &r);
	check_sources(s, &r);
	check_hold(s, &r);
	check_refusals(s, &applied, &r);
	check_unknown(s, &r);
}

START_TEST(every_cell)
{
	const Branch *branch = &branches[_i];
	Walked walked[G_N_ELEMENTS(facts)];
	guint n = walked_facts(branch, walked);
	guint64 cells = 0;
	GbeSituation s;

	base_of(branch, &s);
	for (guint i = 0; i < n; i++)
		first_value(&s, &walked[i]);
	do {
		if (branch_of(&s) != branch)
			continue;
		check_cell(&s);
		cells++;
	} while (next_cell(&s, walked, n));
	ck_assert_uint_gt(cells, 0);
	(void)dprintf(STDOUT_FILENO, "core-rules: %s: %" G_GUINT64_FORMAT " cells\n", branch->name,
		      cells);
}
END_TEST

/* Of a fact that is named with "~", each value but the one that stands apart has the same ruling. */
static void
check_alike(const GbeSituation *s, const GbeRuling *r, const Walked *walked, guint n)
{
	for (guint i = 0; i < n; i++) {
		const Fact *fact = walked[i].fact;
		int value = get(s, fact);

		for (int k = 0; walked[i].alike && value != fact->apart && k < (int)fact->count;
		     k++) {
			GbeSituation other = *s;
			GbeRuling applied, then;

			if (k == value || k == fact->apart)
				continue;
			set(&other, fact, k);
			rule(&other, &applied, &then);
			if (!same_ruling(r, &then))
				ck_abort_msg("%s: %d and %d are not ruled alike: %s", fact->name,
					     value, k, describe(s));
		}
	}
}

/* Facts that a branch leaves out decide nothing in it. */
START_TEST(the_rest_decides_nothing)
{
	g_autoptr(GRand) random = g_rand_new_with_seed(SEED);
	Walked walked[G_N_ELEMENTS(branches)][G_N_ELEMENTS(facts)];
	guint n[G_N_ELEMENTS(branches)];
	guint seen[G_N_ELEMENTS(branches)] = {0};
	bool ruled[GBE_RULE_SKIP + 1] = {false};

	for (guint i = 0; i < G_N_ELEMENTS(branches); i++)
		n[i] = walked_facts(&branches[i], walked[i]);
	for (guint k = 0; k < SAMPLES; k++) {
		GbeSituation s = {0}, projected;
		const Branch *branch = &branches[k % G_N_ELEMENTS(branches)];
		GbeRuling applied, whole, part;
		gsize b;

		/* Most of the space is hands off: pull the sample into a branch, and take what it
		 * really is. */
		for (guint i = 0; i < G_N_ELEMENTS(facts); i++)
			set(&s, &facts[i], g_rand_int_range(random, 0, (gint32)facts[i].count));
		if (branch->fits != is_hands_off) {
			s.ostree = (GbeTri)branch->ostree;
			s.booted_known = true;
			s.data = (GbeTri)branch->data;
			s.data_open = GBE_NO;
			s.skip = false;
			s.owner = (GbeOwnerIs)branch->owner;
		}
		if (branch->fits == is_no_data_on_failed) {
			s.trial = s.own_trial = s.used_within = GBE_YES;
			s.judged = true;
			s.in_chain = false;
		}
		branch = branch_of(&s);
		b = (gsize)(branch - branches);
		seen[b]++;
		base_of(branch, &projected);
		for (guint i = 0; i < n[b]; i++)
			set(&projected, walked[b][i].fact, get(&s, walked[b][i].fact));
		rule(&s, &applied, &whole);
		rule(&projected, &applied, &part);
		if (!same_ruling(&whole, &part))
			ck_abort_msg("%s: something that it does not walk through decides: %s",
				     branch->name, describe(&s));
		check_alike(&s, &whole, walked[b], n[b]);
		check_cell(&s);
		ruled[whole.rule] = true;
	}
	/* Each rule is some situation's: none is there for show. */
	for (guint i = 0; i < G_N_ELEMENTS(ruled); i++)
		ck_assert_msg(ruled[i], "no sample has rule %s", gbe_rule_to_string((GbeRule)i));
	for (guint i = 0; i < G_N_ELEMENTS(branches); i++)
		ck_assert_msg(seen[i] > 1000, "%s: %u samples", branches[i].name, seen[i]);
	(void)dprintf(STDOUT_FILENO, "core-rules: %d samples, seed %d\n", SAMPLES, SEED);
}
END_TEST

/* A new fact of the situation must be added to the space. */
START_TEST(every_fact_is_known_here)
{
	gsize size = 0;

	for (guint i = 0; i < G_N_ELEMENTS(facts); i++) {
		/* Each follows the one before, but for the padding. */
		size = (size + facts[i].size - 1) / facts[i].size * facts[i].size;
		ck_assert_msg(facts[i].offset == size, "before %s", facts[i].name);
		size += facts[i].size;
	}
	ck_assert_uint_eq(sizeof(GbeSituation),
			  (size + sizeof(int) - 1) / sizeof(int) * sizeof(int));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-rules");
	TCase *tcase = tcase_create("fact space");

	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, every_fact_is_known_here);
	tcase_add_loop_test(tcase, every_cell, 0, (int)G_N_ELEMENTS(branches));
	tcase_add_test(tcase, the_rest_decides_nothing);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
