/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The frame of the verbs that make this device a member of a cluster, or no longer one: the service, an intent, and
 * the member's settings (core/units/cluster-env.h). The intent is the state's record `cluster`, written before the
 * first effect. After a kill or a power cut, the same call goes on, and any other of these verbs is refused until it
 * has, but for `cluster reset --force`. While its key "empties" is true, prerun holds back an etcd without data.
 */
#pragma once

#include "app/device/context.h"
#include "cluster/core/intent.h"
#include "cluster/look.h"
#include "core/units/cluster-env.h"
#include "fs/lock.h"

typedef struct {
	GbeApp *app;
	const char *operation; /* "cluster join" */
	bool takes_over;       /* it may end what another of these verbs has begun */
	bool dry_run;	       /* begin changes nothing */
	bool continued;	       /* an earlier call was interrupted */
	GbeClusterIntent intent;
	char *as_read; /* the intent as begin found it; NULL: none */
	GbeLock *maintenance;
} GbeClusterFrame;

void gbe_cluster_frame_clear(GbeClusterFrame *frame);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeClusterFrame, gbe_cluster_frame_clear)

/* May this device's membership change at all? Reads the intent. *ret_active: the service runs. GBE_ERROR_REFUSED:
 * below --root, no service, a service that is an application's, or another operation was interrupted. */
bool gbe_cluster_frame_begin(GbeClusterFrame *frame, bool *ret_active, GError **error) GBE_CHECKED;
/* Takes the locks, and writes ->intent, durably. GBE_ERROR_BUSY: another call has changed it since begin. */
bool gbe_cluster_frame_intend(GbeClusterFrame *frame, GError **error) GBE_CHECKED;
/* Writes what was added to ->intent. */
bool gbe_cluster_frame_note(GbeClusterFrame *frame, GError **error) GBE_CHECKED;
/* Takes the program's lock where it is not held. Each operation by hand, and each start of the service, needs it for
 * itself (gbe_app_unlock()). */
bool gbe_cluster_frame_lock(GbeClusterFrame *frame, GError **error) GBE_CHECKED;
/* Removes the intent where the cluster's answer was @why, a denial, which changed nothing: the device is the member that
 * it was. False: it is none, or the intent stays, and that is reported. */
bool gbe_cluster_frame_end_denied(GbeClusterFrame *frame, const GError *why);
/* Turns @error into GBE_ERROR_PARTIAL, which says that the next call goes on. Returns false. */
bool gbe_cluster_frame_goes_on(const GbeClusterFrame *frame, GError **error);
/* Is the member that answers this device's own? It has the id of this run's data, or the address of the settings. Where
 * neither is known, true. */
bool gbe_cluster_frame_is_own(const GbeClusterFrame *frame, const GbeCluster *cluster);
/* Removes the intent. */
bool gbe_cluster_frame_end(GbeClusterFrame *frame, GError **error) GBE_CHECKED;

/* The settings, durable. */
bool gbe_cluster_settings_put(GbeClusterFrame *frame, const GbeClusterEnv *env,
			      GError **error) GBE_CHECKED;
/* The same, and issues certificates anew where they lack the member's addresses. */
bool gbe_cluster_settings_write(GbeClusterFrame *frame, const GbeClusterEnv *env,
				GError **error) GBE_CHECKED;
bool gbe_cluster_settings_remove(GbeClusterFrame *frame, GError **error) GBE_CHECKED;

/* Starts the service, without the program's lock, and loads the configuration, which has the member's endpoint now. */
bool gbe_cluster_frame_start(GbeClusterFrame *frame, GError **error) GBE_CHECKED;
bool gbe_cluster_frame_stop(GbeClusterFrame *frame, GError **error) GBE_CHECKED;
bool gbe_cluster_frame_wait_healthy(GbeClusterFrame *frame, guint64 seconds,
				    GError **error) GBE_CHECKED;
