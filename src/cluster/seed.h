/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The data of a new cluster of one: a backup or a snapshot, given to a member with a new id, of a cluster with a new
 * id, so that no member of the former cluster takes it for its own. The present data becomes a backup.
 */
#pragma once

#include "cluster/frame.h"

typedef struct {
	const char *backup;   /* NULL: ->snapshot */
	const char *snapshot; /* a file */
	bool whole_log; /* of ->backup: its member's log counts as a whole; the others are gone */
	const char *name, *peer_url; /* of the only member */
	guint64 timeout;	     /* seconds */
} GbeClusterSeed;

/* Makes a backup of the new data, whose name the intent keeps ("seed"), and restores it. A power cut before the
 * exchange leaves the present data; the next call goes on with what is there. */
bool gbe_cluster_seed(GbeClusterFrame *frame, const GbeClusterSeed *seed,
		      GError **error) GBE_CHECKED;
