/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs of the timers of a cluster: lock and unlock, rejoin --if-needed; and the lock in cluster status. */
#pragma once

#include "cli/verb.h"

typedef struct {
	bool dry_run, force, for_update;
} GbeClusterLockArguments;

/* @verb: "lock", "unlock". */
bool gbe_cluster_verb_lock(GbeCli *cli, const char *verb, const GbeClusterLockArguments *arguments,
			   GError **error);
/* rejoin --if-needed. @timeout: seconds. */
bool gbe_cluster_verb_rejoin(GbeCli *cli, guint64 timeout, GError **error);
/* The lock as cluster status has it, where etcd tells; NULL: it is free. */
bool gbe_cluster_lock_json(GbeCli *cli, JsonObject **ret_lock, GError **error) GBE_CHECKED;
void gbe_cluster_print_lock(JsonObject *lock);
