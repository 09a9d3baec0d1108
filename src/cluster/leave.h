/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verbs cluster leave and reset: this device is no member any more. `leave` asks the cluster, and keeps the
 * certificates; `reset` forgets, and sets the settings and the certificates aside, too. In both the data becomes a
 * backup, and the service stays stopped. Both write an intent first (frame.h): the next call goes on after a power
 * cut.
 */
#pragma once

#include "cluster/frame.h"
#include "core/record/take-over.h"

typedef struct {
	bool dry_run, force;
	guint64 timeout; /* leave: seconds until etcd takes a change */
} GbeClusterLeave;

typedef struct {
	char *name;	     /* leave: the member's */
	guint64 id;	     /* leave */
	GbeBackupRef backup; /* which has the data; no name: there was none, or dry_run */
	bool continued;	     /* an earlier call was cut */
} GbeClusterLeft;

void gbe_cluster_left_clear(GbeClusterLeft *left);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeClusterLeft, gbe_cluster_left_clear)

/* A leader first hands the lead to another one. GBE_ERROR_REFUSED: the quorum, or it is the only member;
 * _CANNOT_TELL: the other members do not answer. */
bool gbe_cluster_leave(GbeApp *app, const GbeClusterLeave *options, GbeClusterLeft *ret_left,
		       GError **error) GBE_CHECKED;
/* GBE_ERROR_REFUSED: other members count on this one, or it cannot be told; force goes on. */
bool gbe_cluster_reset(GbeApp *app, const GbeClusterLeave *options, GbeClusterLeft *ret_left,
		       GError **error) GBE_CHECKED;
