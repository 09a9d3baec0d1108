/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Histories, for core-histories: their steps, and the memory of an outside observer of the device. The properties
 * are checked against that memory, never against the program's own records.
 */
#pragma once

#include "lib/rules-text.h"
#include "lib/world.h"

#include <stdbool.h>
#include <string.h>

typedef enum {
	GREEN,
	RED,
	HANG, /* judged, then cut: no shutdown */
	RED_FOR_WEEKS,
	UNJUDGED_SHORT, /* no verdict on boots */
	UNJUDGED_LONG,
	WITHOUT_SHORT, /* the deployment does not carry this program */
	WITHOUT_LONG,
	OUTCOMES
} Outcome;

typedef enum { FIRST, REBOOT, UPGRADE, FALLBACK, RETURN, BACK } How;

typedef struct {
	guint who;
	How how;
	Outcome outcome;
} Step;

#define TRUTH_CHAIN 8

/* A state in which a deployment left the data before an update took it over. */
typedef struct {
	int who; /* -1: unknown */
	Content content;
	bool failed; /* a trial that was judged, not green, and used the data only shortly */
} Base;

/* The terms of the properties, from the history and not from the program's records. */
typedef struct {
	Content had[WORLD_DEPLOYMENTS]; /* at the end of its last run */
	bool with_program[WORLD_DEPLOYMENTS];
	bool green[WORLD_DEPLOYMENTS];
	bool settled[WORLD_DEPLOYMENTS]; /* green, or in use for weeks without a verdict */
	bool judged[WORLD_DEPLOYMENTS];	 /* in this trial */
	bool weeks[WORLD_DEPLOYMENTS];	 /* one run of its trial was that long */
	Outcome last[WORLD_DEPLOYMENTS];
	/* The bases of the deployment that has the data, newest first; for one that is on trial. */
	Base chain[TRUTH_CHAIN];
	guint n_chain;
	bool without; /* in this history a deployment ran without the program */
	/* The last orderly end with the program on, and the deployments that wrote without it since. */
	guint ended_by, ended_for;
	Content ended_with;
	bool ended, unseen; /* unseen: the last run with the program was cut */
	bool ended_failed;  /* the run was of a failed trial */
	gint64 foreign;
} Truth;

typedef struct {
	World world;
	Truth truth;
	Step steps[5];
	guint length;
} Node;

static inline const char *
outcome_text(Outcome outcome)
{
	static const char *const texts[OUTCOMES] = {"green",	      "red",
						    "hangs",	      "red for weeks",
						    "unjudged",	      "unjudged for weeks",
						    "without prerun", "without prerun for weeks"};

	return texts[outcome];
}

static inline char *
history_text(const Node *node)
{
	static const char *const hows[] = {
	    "", "", "staged ", "falls back to ", "returns to ", "back to the default "};
	GString *text = g_string_new(node->world.clones ? "(clones) " : "(copies) ");

	for (guint i = 0; i < node->length; i++)
		g_string_append_printf(text, "%s%s%c %s", i > 0 ? "; " : "",
				       hows[node->steps[i].how], 'A' + (int)node->steps[i].who,
				       outcome_text(node->steps[i].outcome));
	return g_string_free(text, false);
}

static inline bool
with_program(Outcome outcome)
{
	return outcome != WITHOUT_SHORT && outcome != WITHOUT_LONG;
}

static inline bool
is_long(Outcome outcome)
{
	return outcome == RED_FOR_WEEKS || outcome == UNJUDGED_LONG || outcome == WITHOUT_LONG;
}

/* "Green, unjudged or long-used." */
static inline bool
keeps(Outcome outcome)
{
	return outcome != RED && outcome != HANG;
}

static inline bool
contains(Content content, Content part)
{
	return (content & part) == part;
}

/* Its last run was judged and not green, and its trial has not used the data for long. */
static inline bool
failed_trial(const Truth *t, guint who)
{
	return (t->last[who] == RED || t->last[who] == HANG) && !t->settled[who] && !t->weeks[who];
}

/* Its place in the chain of bases; -1: not in the chain. */
static inline int
in_chain(const Truth *t, guint who)
{
	for (guint i = 0; i < t->n_chain; i++)
		if (t->chain[i].who == (int)who)
			return (int)i;
	return -1;
}

/* The newest state that is of no failed trial, at the latest the last one; -1: none. */
static inline int
unwound(const Truth *t)
{
	for (guint i = 0; i < t->n_chain; i++)
		if (!t->chain[i].failed)
			return (int)i;
	return (int)t->n_chain - 1;
}

static inline void
cut_chain(Truth *t, guint from)
{
	memmove(t->chain, t->chain + from, (t->n_chain - from) * sizeof t->chain[0]);
	t->n_chain -= from;
}

/* Is it an update of the deployment that has the data, and no return to an older one? */
static inline bool
is_update(const Truth *t, guint d, guint o)
{
	return d != o && !t->settled[d] && (t->settled[o] || in_chain(t, d) < 0);
}

static inline void
take_update(Truth *t, guint d, guint o, Content live)
{
	bool failed = failed_trial(t, o);

	t->judged[d] = false; /* a new trial */
	t->weeks[d] = false;
	if (failed && unwound(t) >= 0) {
		cut_chain(t, (guint)unwound(t));
		return;
	}
	if (t->settled[o])
		t->n_chain = 0;
	if (t->n_chain == TRUTH_CHAIN)
		t->n_chain--;
	memmove(t->chain + 1, t->chain, t->n_chain * sizeof t->chain[0]);
	t->chain[0] = (Base){(int)o, live, failed};
	t->n_chain++;
}

/* Records who has the data from now on. @live: the content before prerun. */
static inline void
take(const Node *before, Node *node, const Step *step, Content live)
{
	Truth *t = &node->truth;
	guint d = step->who;
	guint o = before != NULL ? before->steps[before->length - 1].who : d;

	t->with_program[d] |= with_program(step->outcome);
	if (before == NULL && live != 0) {
		t->chain[0] = (Base){-1, live, false};
		t->n_chain = 1;
	}
	if (before == NULL || o == d)
		return;
	if (is_update(t, d, o))
		take_update(t, d, o, live);
	else if (!t->settled[d])
		cut_chain(t, (guint)in_chain(t, d) + 1);
	else
		t->n_chain = 0;
}

/* Records the end of a run. */
static inline void
remember(Node *node, gint64 seconds)
{
	const World *w = &node->world;
	Truth *t = &node->truth;
	const Step *step = &node->steps[node->length - 1];

	t->had[step->who] = w->content;
	t->last[step->who] = step->outcome;
	t->weeks[step->who] |= is_long(step->outcome) && with_program(step->outcome);
	t->settled[step->who] |=
	    step->outcome == GREEN || (step->outcome == UNJUDGED_LONG && !t->judged[step->who]);
	t->judged[step->who] |= step->outcome <= RED_FOR_WEEKS;
	if (!with_program(step->outcome)) {
		t->without = true;
		t->foreign += seconds;
		return;
	}
	t->ended_failed = keeps(step->outcome) ? false : !t->settled[step->who];
	t->ended = step->outcome != HANG;
	t->unseen = !t->ended;
	t->ended_by = step->who;
	t->ended_for = w->by_default;
	t->ended_with = w->content;
	t->foreign = 0;
}

/* Lists the possible next steps; returns their number. */
static inline guint
ways_on(const Node *node, Step *ret_steps)
{
	const World *w = &node->world;
	guint n = 0;

	ret_steps[n++] = (Step){w->booted, REBOOT, GREEN};
	for (guint d = 0; d < w->deployed; d++) {
		if (d == w->booted)
			continue;
		if (d == w->by_default) {
			ret_steps[n++] = (Step){d, BACK, GREEN};
			continue;
		}
		ret_steps[n++] = (Step){d, FALLBACK, GREEN};
		ret_steps[n++] = (Step){d, RETURN, GREEN};
	}
	if (w->deployed < WORLD_DEPLOYMENTS)
		ret_steps[n++] = (Step){w->deployed, UPGRADE, GREEN};
	return n;
}
