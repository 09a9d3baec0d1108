/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rejoins automatically: if a member's data is damaged, it is copied again from the other members, but only if no
 * committed write can be lost. Otherwise the program waits, and reports the reason. The data must be missing, or
 * closed and known to be damaged. No rollback may follow. Every other member must work and list this one by its id.
 * This device must hold the update lock, so that no update and no other rejoin is under way.
 *
 * The record `members` has the addresses of the others, and the ids of this member and its cluster. It also has whether
 * the log is at the configured place. A join writes it, and later calls while the own etcd answers. The record also has
 * the id that holds the lock, and is written before the lock is taken. An interrupted rejoin is resumed (setup.h). The
 * next call releases a lock that is no longer needed. While the own etcd answers, the settings also follow the cluster:
 * with other members, an etcd without data joins them; alone, it begins a cluster.
 */
#pragma once

#include "app/device/context.h"
#include "cluster/look.h"

typedef struct {
	const char *action; /* none waits rejoined */
	char *said;	    /* for people; NULL: nothing */
	bool known;	    /* an earlier call has said the same */
} GbeRejoined;

/* Writes the record from @cluster, whose ->self is this device's member. The caller has the program's lock. */
bool gbe_cluster_remember(GbeApp *app, const GbeCluster *cluster, GError **error) GBE_CHECKED;

void gbe_rejoined_clear(GbeRejoined *rejoined);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeRejoined, gbe_rejoined_clear)

/* For the timer. @timeout as in setup.h. GBE_ERROR_BUSY: another operation has the program's lock, or has just
 * changed the membership. Any other obstacle is waited for. */
bool gbe_cluster_rejoin_if_needed(GbeApp *app, guint64 timeout, GbeRejoined *ret_rejoined,
				  GError **error) GBE_CHECKED;
