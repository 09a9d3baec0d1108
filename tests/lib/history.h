/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Histories, for core-histories: the steps they are made of, and what somebody who watches the device
 * from outside remembers of them. The properties are asked of that memory, never of the program's own
 * records.
 */
#pragma once

#include "lib/world.h"

typedef enum {
	GREEN,
	RED,
	HANG, /* being judged, then cut: no shutdown */
	RED_FOR_WEEKS,
	UNJUDGED_SHORT, /* nobody judges boots */
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

/* What the properties speak of, told by the history and not by the program's records. */
typedef struct {
	Content had[WORLD_DEPLOYMENTS]; /* at the end of its last run */
	gboolean with_program[WORLD_DEPLOYMENTS];
	gboolean green[WORLD_DEPLOYMENTS];
	gboolean
	    settled[WORLD_DEPLOYMENTS];	    /* green, or in use for weeks with nobody to judge it */
	gboolean judged[WORLD_DEPLOYMENTS]; /* in this trial */
	gboolean weeks[WORLD_DEPLOYMENTS];  /* one of its runs was as long as that */
	Outcome last[WORLD_DEPLOYMENTS];
	/* The runs in a row of the deployment that has the data. */
	int base; /* who had it before; -1: nobody */
	Content
	    taken; /* what its trial began with in the first of them; 0: no trial began, or nothing */
	guint retries; /* how often it was put back to that */
	gboolean long_unjudged;
	gboolean without; /* in this history, so far, somebody ran without the program */
	/* The last orderly end with the program on, and who wrote without it since. */
	guint ended_by, ended_for;
	Content ended_with;
	gboolean ended, unseen; /* unseen: the last run with the program was cut */
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
	return g_string_free(text, FALSE);
}

static inline gboolean
with_program(Outcome outcome)
{
	return outcome != WITHOUT_SHORT && outcome != WITHOUT_LONG;
}

static inline gboolean
is_long(Outcome outcome)
{
	return outcome == RED_FOR_WEEKS || outcome == UNJUDGED_LONG || outcome == WITHOUT_LONG;
}

/* "Green, unjudged or long-used." */
static inline gboolean
keeps(Outcome outcome)
{
	return outcome != RED && outcome != HANG;
}

static inline gboolean
contains(Content content, Content part)
{
	return (content & part) == part;
}

/* Who has the data from now on, as the history tells it. */
static inline void
take(const Node *before, Node *node, const Step *step)
{
	Truth *t = &node->truth;
	guint o = before != NULL ? before->steps[before->length - 1].who : step->who;

	if (before == NULL || o != step->who) {
		gboolean upgrade = step->how == UPGRADE || (!t->settled[step->who] && t->green[o]);

		t->base = before != NULL && upgrade ? (int)o : -1;
		/* A fallback to what is on trial itself goes on with that trial. */
		t->taken = before == NULL || upgrade ? node->world.content : 0;
		t->retries = 0;
		t->long_unjudged = FALSE;
	}
	if (o != step->who && t->settled[o] && !t->settled[step->who])
		t->judged[step->who] = FALSE; /* a new trial */
	if (before != NULL && o == step->who && t->taken != 0 && node->world.content == t->taken)
		t->retries++;
	t->with_program[step->who] |= with_program(step->outcome);
}

/* What the history tells at the end of a run. */
static inline void
remember(Node *node, gint64 seconds)
{
	const World *w = &node->world;
	Truth *t = &node->truth;
	const Step *step = &node->steps[node->length - 1];

	t->had[step->who] = w->content;
	t->last[step->who] = step->outcome;
	t->long_unjudged |= step->outcome == UNJUDGED_LONG;
	t->weeks[step->who] |= is_long(step->outcome);
	t->settled[step->who] |=
	    step->outcome == GREEN || (step->outcome == UNJUDGED_LONG && !t->judged[step->who]);
	t->judged[step->who] |= step->outcome <= RED_FOR_WEEKS;
	if (!with_program(step->outcome)) {
		t->without = TRUE;
		t->foreign += seconds;
		return;
	}
	t->ended = step->outcome != HANG;
	t->unseen = !t->ended;
	t->ended_by = step->who;
	t->ended_for = w->by_default;
	t->ended_with = w->content;
	t->foreign = 0;
}

/* The steps that can follow; the number of them. */
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
