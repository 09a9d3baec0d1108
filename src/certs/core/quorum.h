/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * May a cluster of etcd lose, gain or stop a member now? A cluster works while more than half of its voters do. A
 * change that would leave it with half or fewer of them is refused. So is a change whose effect is unknown. Pure.
 */
#pragma once

#include "core/tri.h"

#include <glib.h>

typedef struct {
	guint64 id;
	const char *name; /* for messages */
	bool learner;	  /* has no vote */
	bool started;	  /* it has joined since it was added */
	GbeTri works;	  /* it answers, and follows a leader */
} GbeVoter;

typedef enum {
	GBE_QUORUM_STOP,   /* for a while */
	GBE_QUORUM_UPDATE, /* the others lose a member until it answers at its new address */
	GBE_QUORUM_REMOVE,
	GBE_QUORUM_PROMOTE,	/* a learner becomes a voter */
	GBE_QUORUM_ADD_VOTER,	/* @id is not used: a member that has not started yet */
	GBE_QUORUM_ADD_LEARNER, /* the same */
} GbeQuorumChange;

/* How many of the voters have to work. */
guint gbe_quorum_of(guint voters);
/* Counts the voters, and the voters that work for certain. */
void gbe_quorum_count(const GbeVoter *members, guint count, guint *ret_voters, guint *ret_working);
/* Why not, newly allocated; NULL: the change is safe. @id is a member's, except for the two ADDs. */
char *gbe_quorum_refusal(const GbeVoter *members, guint count, GbeQuorumChange change, guint64 id);
