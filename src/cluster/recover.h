/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verb cluster recover: the quorum is lost for good. Judges the data of the members that are left, by the last
 * entry of their logs, makes the most advanced one a new cluster of one, and says so; the others reset and join. A
 * write that a quorum had acknowledged is in the log of the most advanced one, where enough of them were looked at.
 */
#pragma once

#include "cluster/setup.h"

typedef struct {
	/* Name and addresses NULL: those that this member has. ->url, ->from, ->token are not used. */
	GbeClusterSetup setup;
	char *const *data; /* directories with the data of other members; NULL */
	bool force;	   /* some of them were not looked at */
} GbeClusterRecover;

/* One member's data. */
typedef struct {
	char *path;
	guint64 member;	     /* its id; 0: unknown */
	guint64 cluster;     /* the cluster's; 0: unknown */
	guint64 term, index; /* of its last entry */
	gint64 revision;     /* of its database; -1 unknown */
	guint voters;	     /* of its configuration; 0 unknown */
	GArray *voter_ids;   /* of guint64; NULL: unknown */
	bool chosen;
} GbeClusterPlace;

typedef struct {
	GbeClusterSetupResult setup;
	GPtrArray *places; /* of GbeClusterPlace, this device's first */
} GbeClusterRecovered;

void gbe_cluster_recovered_clear(GbeClusterRecovered *recovered);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeClusterRecovered, gbe_cluster_recovered_clear)

/* GBE_ERROR_REFUSED: the cluster has its quorum, some voters' data was not looked at, or this member's settings are not
 * this program's; _BUSY: etcd runs;
 * _VERIFY_FAILED: data is damaged. @ret_recovered has the places on these errors, too. */
bool gbe_cluster_recover(GbeApp *app, const GbeClusterRecover *options,
			 GbeClusterRecovered *ret_recovered, GError **error) GBE_CHECKED;
