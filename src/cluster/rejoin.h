/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rejoins by itself: a member of a cluster whose data is damaged gets it anew from the others, without a person, where
 * nobody can lose anything by it. That is so when the data is gone, or nobody has it open and it is known to be
 * damaged, no rollback may follow, every other member works and has this one, by its id, in its list, and this device
 * holds the update lock, so that neither an update nor another rejoin is under way. Otherwise it waits, and says for
 * what.
 *
 * A record, `members`, has the addresses of the others and the ids of this member and its cluster, and whether its
 * log is where the configuration has it. These are learnt by a join, and while the own etcd answers. The record also has
 * the id as which the lock is held. It is written before the lock is taken. A rejoin
 * that was cut goes on (setup.h); a lock that is not needed any more is released by the next call. While the own etcd
 * answers, the settings also follow the cluster: with others, an etcd without data would join it, alone begin one.
 */
#pragma once

#include "app/device/context.h"
#include "cluster/look.h"

typedef struct {
	const char *action; /* none waits rejoined */
	char *said;	    /* for people; NULL: nothing */
	bool known;	    /* an earlier call has said the same */
} GbeRejoined;

/* Writes the record: what @cluster, whose ->self is this device's member, tells of it and of the others. The caller has
 * the program's lock. */
bool gbe_cluster_remember(GbeApp *app, const GbeCluster *cluster, GError **error) GBE_CHECKED;

void gbe_rejoined_clear(GbeRejoined *rejoined);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeRejoined, gbe_rejoined_clear)

/* For the timer. @timeout as in setup.h. GBE_ERROR_BUSY: another operation has the program's lock, or has just changed
 * the membership. It waits for everything else that goes wrong. */
bool gbe_cluster_rejoin_if_needed(GbeApp *app, guint64 timeout, GbeRejoined *ret_rejoined,
				  GError **error) GBE_CHECKED;
