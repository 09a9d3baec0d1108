/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state's record `cluster` (app/state/state.h): a verb has begun to make this device a member of a cluster, or no
 * longer one (cluster/frame.h). Versions since 0.2.1 read each other's records. Pure.
 */
#pragma once

#include "base/auto.h"

#include <json-glib/json-glib.h>

typedef struct {
	char *operation;   /* "cluster join" */
	bool empties;	   /* prerun holds back an etcd without data */
	char *cluster;	   /* the cluster's id, 16 hex digits; NULL: not known yet */
	char *id;	   /* the member that was added, or that leaves, in hex; NULL: none yet */
	char *former;	   /* rejoin: the member that this device was, in hex; NULL: not known */
	char *command;	   /* rejoin: the call that resumes it; NULL: ->operation */
	char *name, *urls; /* leave: the member's name, and where the others are asked */
	char *peer_url;	   /* init, join: the member's address */
	char *backup;	   /* recover: the backup of the chosen data; NULL: not taken yet */
	char *seed;	   /* init, recover: the backup of the new data; NULL: none yet */
	bool bare;	   /* init, join: no other files were in the data directory */
	bool removed;	   /* rejoin: the former member is out */
	bool aside;	   /* rejoin: the former data is a backup */
	bool voter;	   /* join: the member has a vote */
	bool back;	   /* join: it failed, and the member is taken out again */
	bool left;	   /* leave: the cluster has let it go */
	JsonObject *found; /* as it was read, with the keys of other versions; NULL: a new one */
} GbeClusterIntent;

void gbe_cluster_intent_clear(GbeClusterIntent *intent);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeClusterIntent, gbe_cluster_intent_clear)
/* @object NULL: a new one. */
void gbe_cluster_intent_from_json(JsonObject *object, GbeClusterIntent *ret_intent);
JsonObject *gbe_cluster_intent_to_json(const GbeClusterIntent *intent);
