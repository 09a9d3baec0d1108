/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The space of all situations, for core-rules. It lists every fact with the number of its values, and the branches that
 * divide the space into parts of a feasible size.
 *
 * Most rules only ask of a verdict, a request or a state of the chain whether it has one certain value. A branch that
 * names such a fact with "~" walks through that value and, in turn, one of the others. core-rules proves with samples
 * that the others are ruled alike.
 */
#pragma once

#include "core/decide/situation.h"

#include <check.h>
#include <string.h>

typedef struct {
	const char *name;
	gsize offset;
	gsize size; /* of an enumeration, which is an int, or of a bool */
	guint count;
	bool tri;     /* may be unknown */
	GbeTri reads; /* how decisions.md reads unknown; itself: as no value at all */
	int apart;    /* the value that rules ask for, if a branch names the fact with "~" */
} Fact;

/* A fact as a branch walks through it. */
typedef struct {
	const Fact *fact;
	bool alike; /* named with "~" */
	int next;   /* of the values that are alike */
} Walked;

#define FACT_OR(member, n, value)                                                                  \
	{                                                                                          \
#member, G_STRUCT_OFFSET(GbeSituation, member),                                    \
		    sizeof(((GbeSituation *)0)->member), n, false, GBE_UNKNOWN, (int)(value)       \
	}
#define FACT(member, n) FACT_OR(member, n, -1)
#define TRI_AS(member, as)                                                                         \
	{                                                                                          \
#member, G_STRUCT_OFFSET(GbeSituation, member),                                    \
		    sizeof(((GbeSituation *)0)->member), 3, true, as, -1                           \
	}
#define TRI(member) TRI_AS(member, GBE_UNKNOWN)

/* clang-format off */
static const Fact facts[] = {
	TRI(ostree), FACT(booted_known, 2), TRI(data), TRI(data_open), FACT(skip, 2),
	FACT_OR(request, 3, GBE_REQUEST_IS_READY), FACT(last_pass, 2), FACT(emptied, 2), FACT(log_lost, 2), FACT(mount_lost, 2), FACT(left_elsewhere, 2),
	FACT(one_voter, 2),
	FACT(owner, 3), FACT(closing, 3), FACT(closing_back, 2),
	TRI_AS(same_run, GBE_NO) /* "never the same run" */, FACT(higher_minor, 2), FACT(etcd_elsewhere, 2),
	TRI_AS(sound, GBE_YES) /* "never corrupt" */,
	FACT_OR(verdict, 4, GBE_VERDICT_GREEN), FACT(healthy, 2), FACT(judged, 2),
	TRI_AS(trial, GBE_NO) /* "unknown counts as no" */, TRI(used_within),
	FACT(ends, 2), FACT(closing_backup, 2), FACT(no_log, 2), FACT(known_before, 2),
	FACT(owner_left, 2),
	FACT_OR(base, 3, GBE_BASE_VALID), FACT(in_chain, 2), FACT_OR(chain_own, 3, GBE_BASE_NONE),
	FACT_OR(chain_end, 3, GBE_BASE_NONE), FACT_OR(unwound, 3, GBE_BASE_NONE),
	FACT(unseen, 2), TRI(ran), TRI_AS(own_trial, GBE_NO) /* the same */,
	FACT(candidate, 2), TRI(contains), FACT(usable_candidate, 2),
	TRI_AS(usable, GBE_YES) /* "unknown passes" */, TRI(deliberate), FACT(same_commit, 2),
	TRI(older_listed), FACT(retry_trial, 2), FACT(on_rollback, 3), FACT(on_corrupt, 3),
	FACT(on_missing, 2), FACT(on_failed, 3), FACT(hold_without_backup, 2),
};
/* clang-format on */

static inline int
get(const GbeSituation *s, const Fact *fact)
{
	const char *at = (const char *)s + fact->offset;

	return fact->size == sizeof(bool) ? *(const bool *)at : *(const int *)at;
}

static inline void
set(GbeSituation *s, const Fact *fact, int value)
{
	char *at = (char *)s + fact->offset;

	if (fact->size == sizeof(bool))
		*(bool *)at = value != 0;
	else
		*(int *)at = value;
}

static inline const Fact *
fact_named(const char *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(facts); i++)
		if (g_str_equal(facts[i].name, name))
			return &facts[i];
	ck_abort_msg("no fact %s", name);
	return NULL;
}

static inline const char *
describe(const GbeSituation *s)
{
	static char text[2048];
	gsize at = 0;

	for (guint i = 0; i < G_N_ELEMENTS(facts); i++)
		at += (gsize)g_snprintf(text + at, sizeof text - at, "%s=%d ", facts[i].name,
					get(s, &facts[i]));
	return text;
}

static inline bool
untouchable(const GbeSituation *s)
{
	return s->data == GBE_UNKNOWN || s->data_open != GBE_NO || s->ostree == GBE_UNKNOWN ||
	       (s->ostree == GBE_YES && !s->booted_known);
}

/* The branches. */

typedef struct {
	const char *name;
	bool (*fits)(const GbeSituation *s);
	int owner, data, closing, request, ostree; /* of the base where the walk starts */
	const char *walked;			   /* separated by blanks */
} Branch;

static inline bool
is_hands_off(const GbeSituation *s)
{
	return untouchable(s) || s->skip;
}

static inline bool
is_not_ostree(const GbeSituation *s)
{
	return s->ostree == GBE_NO;
}

static inline bool
is_no_data_of_nobody(const GbeSituation *s)
{
	return s->data == GBE_NO && s->owner == GBE_OWNER_UNKNOWN;
}

static inline bool
is_no_data_of_own(const GbeSituation *s)
{
	return s->data == GBE_NO && s->owner == GBE_OWNER_SAME;
}

static inline bool
is_without_log(const GbeSituation *s)
{
	return s->log_lost &&
	       !(s->data == GBE_NO && (s->mount_lost || (s->left_elsewhere && !s->emptied)));
}

static inline bool
is_no_data_for_a_reason(const GbeSituation *s)
{
	return s->data == GBE_NO &&
	       (s->mount_lost || s->emptied || (s->left_elsewhere && s->log_lost));
}

/* The backup that rule 10a restores over the data. */
static inline bool
is_once_more(const GbeSituation *s)
{
	return s->last_pass;
}

static inline bool
comes_back(const GbeSituation *s)
{
	return s->ran == GBE_YES && s->own_trial != GBE_YES;
}

static inline bool
is_no_data_and_return(const GbeSituation *s)
{
	return s->data == GBE_NO && comes_back(s);
}

static inline bool
is_no_data_on_failed(const GbeSituation *s)
{
	return s->data == GBE_NO && s->owner == GBE_OWNER_OTHER && s->trial == GBE_YES &&
	       !s->in_chain && s->judged && s->verdict != GBE_VERDICT_GREEN &&
	       s->used_within == GBE_YES && s->own_trial == GBE_YES &&
	       s->unwound != GBE_BASE_NONE && s->one_voter && s->on_failed != GBE_FAILED_KEEP;
}

static inline bool
is_no_data_of_other(const GbeSituation *s)
{
	return s->data == GBE_NO;
}

static inline bool
is_foreign(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_SAME && s->closing == GBE_CLOSING_DIFFERS;
}

static inline bool
is_foreign_to_other(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_OTHER && s->closing == GBE_CLOSING_DIFFERS;
}

/* Another's data that etcd must not get as it is, and that no failed update left. */
static inline bool
is_unfit_of_other(const GbeSituation *s)
{
	bool unwinds = s->trial == GBE_YES && s->judged && s->verdict != GBE_VERDICT_GREEN &&
		       s->used_within == GBE_YES && s->own_trial == GBE_YES &&
		       s->unwound != GBE_BASE_NONE && s->on_failed != GBE_FAILED_KEEP;
	bool replaced = s->sound == GBE_NO && s->on_corrupt == GBE_CORRUPT_RESTORE &&
			s->one_voter && s->closing_backup && !unwinds;

	if (s->owner != GBE_OWNER_OTHER || s->data != GBE_YES ||
	    (s->trial == GBE_YES && (s->in_chain || (s->ran == GBE_YES && s->own_trial == GBE_NO))))
		return false;
	return replaced || s->no_log;
}

static inline bool
is_return(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_OTHER && comes_back(s);
}

static inline bool
is_of_nobody(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_UNKNOWN;
}

static inline bool
is_of_own(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_SAME;
}

static inline bool
is_of_other(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_OTHER;
}

#define GATE " usable usable_candidate one_voter on_rollback"
#define GATE_OWN " usable one_voter"
#define FAILED " trial judged ~verdict used_within"
#define RETRY " same_run ~base retry_trial ends"
#define UNDO " trial ran own_trial in_chain ~chain_own ~chain_end unseen candidate"
#define RETURN " same_commit ~verdict contains deliberate"

static const Branch branches[] = {
    {"hands off", is_hands_off, GBE_OWNER_SAME, GBE_YES, GBE_CLOSING_NONE, GBE_REQUEST_IS_NONE,
     GBE_YES, "ostree booted_known data data_open skip owner same_run hold_without_backup"},
    {"not ostree", is_not_ostree, GBE_OWNER_SAME, GBE_YES, GBE_CLOSING_NONE, GBE_REQUEST_IS_NONE,
     GBE_NO, "owner data closing ~request"},
    {"once more", is_once_more, GBE_OWNER_SAME, GBE_YES, GBE_CLOSING_NONE, GBE_REQUEST_IS_NONE,
     GBE_YES,
     "last_pass ~request owner data same_run higher_minor etcd_elsewhere candidate unseen" RETURN
	 GATE},
    {"a member without its log", is_without_log, GBE_OWNER_SAME, GBE_YES, GBE_CLOSING_NONE,
     GBE_REQUEST_IS_NONE, GBE_YES,
     "~request owner data mount_lost log_lost left_elsewhere emptied" GATE},
    {"no data, for a reason", is_no_data_for_a_reason, GBE_OWNER_SAME, GBE_NO, GBE_CLOSING_NONE,
     GBE_REQUEST_IS_NONE, GBE_YES,
     "~request owner mount_lost log_lost left_elsewhere emptied on_missing candidate"},
    {"no data, and no owner", is_no_data_of_nobody, GBE_OWNER_UNKNOWN, GBE_NO, GBE_CLOSING_NONE,
     GBE_REQUEST_IS_NONE, GBE_YES,
     "~request left_elsewhere on_missing candidate known_before" GATE},
    {"no data, had by D", is_no_data_of_own, GBE_OWNER_SAME, GBE_NO, GBE_CLOSING_NONE,
     GBE_REQUEST_IS_NONE, GBE_YES,
     "~request left_elsewhere on_missing candidate known_before" FAILED RETRY GATE_OWN},
    {"no data, D returns", is_no_data_and_return, GBE_OWNER_OTHER, GBE_NO, GBE_CLOSING_NONE,
     GBE_REQUEST_IS_NONE, GBE_YES,
     "~request left_elsewhere on_missing known_before owner_left" UNDO RETURN GATE},
    {"no data, D is on a failed one", is_no_data_on_failed, GBE_OWNER_OTHER, GBE_NO,
     GBE_CLOSING_NONE, GBE_REQUEST_IS_NONE, GBE_YES,
     "~request left_elsewhere on_missing known_before owner_left candidate unseen ~unwound "
     "on_failed "
     "own_trial" FAILED GATE},
    {"no data, D is newer", is_no_data_of_other, GBE_OWNER_OTHER, GBE_NO, GBE_CLOSING_NONE,
     GBE_REQUEST_IS_NONE, GBE_YES,
     "~request left_elsewhere on_missing known_before owner_left" UNDO GATE},
    {"written by others, D's", is_foreign, GBE_OWNER_SAME, GBE_YES, GBE_CLOSING_DIFFERS,
     GBE_REQUEST_IS_NONE, GBE_YES,
     "~request closing_back closing_backup sound on_corrupt candidate "
     "higher_minor etcd_elsewhere on_rollback" FAILED RETRY GATE_OWN},
    {"data without an owner", is_of_nobody, GBE_OWNER_UNKNOWN, GBE_YES, GBE_CLOSING_NONE,
     GBE_REQUEST_IS_NONE, GBE_YES, "~request older_listed" GATE},
    {"data of D", is_of_own, GBE_OWNER_SAME, GBE_YES, GBE_CLOSING_NONE, GBE_REQUEST_IS_NONE,
     GBE_YES,
     "~request higher_minor etcd_elsewhere sound on_corrupt candidate healthy "
     "closing_backup trial judged verdict used_within" RETRY GATE_OWN},
    {"unfit data of another", is_unfit_of_other, GBE_OWNER_OTHER, GBE_YES, GBE_CLOSING_NONE,
     GBE_REQUEST_IS_NONE, GBE_YES,
     "~request closing sound on_corrupt closing_backup no_log trial in_chain ran own_trial judged "
     "~verdict used_within unseen ~unwound on_failed" GATE},
    {"written by others, another's", is_foreign_to_other, GBE_OWNER_OTHER, GBE_YES,
     GBE_CLOSING_DIFFERS, GBE_REQUEST_IS_NONE, GBE_YES, "~request closing_back" UNDO GATE},
    {"data of another, D returns", is_return, GBE_OWNER_OTHER, GBE_YES, GBE_CLOSING_NONE,
     GBE_REQUEST_IS_NONE, GBE_YES, "~request" UNDO RETURN GATE},
    {"data of another, D is newer", is_of_other, GBE_OWNER_OTHER, GBE_YES, GBE_CLOSING_NONE,
     GBE_REQUEST_IS_NONE, GBE_YES,
     "~request trial ran own_trial in_chain ~chain_own ~unwound unseen candidate on_failed judged "
     "~verdict used_within" GATE},
};

static inline const Branch *
branch_of(const GbeSituation *s)
{
	for (guint i = 0; i < G_N_ELEMENTS(branches); i++)
		if (branches[i].fits(s))
			return &branches[i];
	ck_abort_msg("no branch: %s", describe(s));
	return NULL;
}

static inline void
base_of(const Branch *branch, GbeSituation *ret_s)
{
	memset(ret_s, 0, sizeof *ret_s);
	ret_s->ostree = (GbeTri)branch->ostree;
	ret_s->booted_known = true;
	ret_s->data = (GbeTri)branch->data;
	ret_s->data_open = GBE_NO;
	ret_s->request = (GbeRequestIs)branch->request;
	ret_s->owner = (GbeOwnerIs)branch->owner;
	ret_s->closing = (GbeClosingIs)branch->closing;
}

static inline guint
walked_facts(const Branch *branch, Walked *ret_walked)
{
	g_auto(GStrv) names = g_strsplit(branch->walked, " ", -1);
	guint n = 0;

	for (guint i = 0; names[i] != NULL; i++) {
		bool alike = *names[i] == '~';
		const Fact *fact = fact_named(names[i] + (alike ? 1 : 0));

		ck_assert(!alike || fact->apart >= 0);
		ret_walked[n++] = (Walked){.fact = fact, .alike = alike};
	}
	return n;
}

static inline void
first_value(GbeSituation *s, const Walked *walked)
{
	set(s, walked->fact, walked->alike ? walked->fact->apart : 0);
}

/* Counts like an odometer. false after the last value. */
static inline bool
next_cell(GbeSituation *s, Walked *walked, guint n)
{
	for (guint i = 0; i < n; i++) {
		Walked *w = &walked[i];
		int value = get(s, w->fact), count = (int)w->fact->count;

		if (!w->alike && value + 1 < count) {
			set(s, w->fact, value + 1);
			return true;
		}
		if (w->alike && value == w->fact->apart) {
			w->next = (w->next + 1) % (count - 1);
			set(s, w->fact, (value + 1 + w->next) % count);
			return true;
		}
		first_value(s, w);
	}
	return false;
}
