/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The frame of the verbs that begin or end this device's membership of a cluster. It has their tables of steps
 * (app/device/change.h), an intent, and the member's settings (core/units/cluster-env.h). The intent is the state's
 * record `cluster`, written before the first effect. After a kill or a power cut, the same call resumes. Until then any
 * other of these verbs is refused, except `cluster reset --force`. While the key "empties" is true, prerun holds back
 * an etcd without data.
 */
#pragma once

#include "app/device/change.h"
#include "cluster/core/intent.h"
#include "cluster/look.h"
#include "cluster/setup.h"
#include "core/decide/facts.h"
#include "core/units/cluster-env.h"

/* The data of a new cluster of one: a backup or a snapshot. Member and cluster get new ids, so that members of the
 * former cluster reject them. The present data becomes a backup. */
typedef struct {
	const char *backup;   /* NULL: ->snapshot */
	const char *snapshot; /* a file; both NULL: the cluster begins without data */
	bool whole_log; /* of ->backup: its member's log counts as a whole; the others are gone */
	bool restored;	/* it is the present data */
} GbeClusterSeed;

typedef struct {
	GbeChange change;
	GbeClusterSetup options;
	GbeClusterSetupResult *result; /* NULL in leave and reset */
	GbeClusterSeed seed;
	GbeClusterIntent intent;
	char *as_read;	 /* the intent as begin found it; NULL: none */
	char **settings; /* cluster.env, once it was read */
	bool takes_over; /* it may end another of these verbs that was interrupted */
	bool continued;	 /* an earlier call was interrupted */
	bool active;	 /* the service runs */
	bool kept;	 /* the operation failed, and the next call resumes it */
	/* join, rejoin: */
	GbeCluster *cluster; /* the one to join, as it was last looked at */
	bool entered;	     /* this device is one of its members */
	bool taken_out;	     /* and no longer, as before the call */
	bool again; /* the way back of an earlier call is finished, and the join may begin */
	/* leave, reset: */
	GbeClusterLeft *left;
	/* recover: */
	GbeClusterRecovered *recovered;
	const GbeClusterPlace *best;
	bool taken; /* the intent names a backup of the chosen data */
} GbeClusterFrame;

void gbe_cluster_frame_clear(GbeClusterFrame *frame);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeClusterFrame, gbe_cluster_frame_clear)

/* Takes the steps. The error of an operation that was ->kept is GBE_ERROR_PARTIAL and names the call
 * that resumes it. */
bool gbe_cluster_run(GbeClusterFrame *frame, GError **error) GBE_CHECKED;
/* May this device's membership change at all? Reads the intent. GBE_ERROR_REFUSED: below --root, no service, a service
 * that is an application's, or another operation was interrupted. */
bool gbe_cluster_frame_begin(GbeClusterFrame *frame, GError **error) GBE_CHECKED;
/* Does this device's own member answer? Compares the id with that of this run's data, or the address with the
 * settings. If both are unknown, true. */
bool gbe_cluster_frame_is_own(const GbeClusterFrame *frame, const GbeCluster *cluster);
/* Did the cluster deny the change? Then the device is still the member that it was. */
bool gbe_cluster_is_denial(const GError *why);

/* ---- steps; @frame is a GbeClusterFrame ---- */

/* Writes ->intent, durably. Needs the lock of maintenance. GBE_ERROR_BUSY: another call has changed it since begin. */
bool gbe_cluster_intend(gpointer frame, GError **error) GBE_CHECKED;
/* Writes the additions to ->intent. */
bool gbe_cluster_note(gpointer frame, GError **error) GBE_CHECKED;
/* Removes the intent. */
bool gbe_cluster_end(gpointer frame, GError **error) GBE_CHECKED;
/* Takes nothing back: the next call resumes. */
bool gbe_cluster_keep(gpointer frame, GError **error) GBE_CHECKED;

/* The first look of init and join: begin, the name, the addresses, no data. */
bool gbe_cluster_look_at_setup(gpointer frame, GError **error) GBE_CHECKED;
/* The certificates' authority: that which is here, the token's, or (init) a new one. */
bool gbe_cluster_certify(gpointer frame, GError **error) GBE_CHECKED;
/* Makes a backup of the seed, whose name the intent keeps ("seed"). A power cut before the exchange leaves the present
 * data; the next call resumes with the backup that exists. */
bool gbe_cluster_make_seed(gpointer frame, GError **error) GBE_CHECKED;
bool gbe_cluster_restore_seed(gpointer frame, GError **error) GBE_CHECKED;
/* The settings of a member that begins a cluster, alone, with an id that no other cluster has. */
bool gbe_cluster_configure_alone(gpointer frame, GError **error) GBE_CHECKED;
/* Issues certificates again where they lack the member's addresses. */
bool gbe_cluster_reissue(gpointer frame, GError **error) GBE_CHECKED;
bool gbe_cluster_settings_remove(gpointer frame, GError **error) GBE_CHECKED;
/* Starts the service, without the program's lock. */
bool gbe_cluster_start(gpointer frame, GError **error) GBE_CHECKED;
bool gbe_cluster_stop(gpointer frame, GError **error) GBE_CHECKED;
/* Loads the configuration, which has the member's endpoint now, and waits until etcd is healthy. */
bool gbe_cluster_wait_healthy(gpointer frame, GError **error) GBE_CHECKED;

/* ---- settings ---- */

/* Fills in the empty fields of @setup from this member's settings. Borrowed from @frame. GBE_ERROR_REFUSED: this
 * program did not set the member up. */
bool gbe_cluster_settings_read(GbeClusterFrame *frame, GbeClusterSetup *setup,
			       GError **error) GBE_CHECKED;
/* Fills in the result's name and addresses. GBE_ERROR_USAGE: the machine has none, or several. */
bool gbe_cluster_settings_choose(GbeClusterFrame *frame, GError **error) GBE_CHECKED;
/* Writes cluster.env, durably: those of the result. @initial_cluster NULL: this member alone begins a cluster. */
bool gbe_cluster_settings_put(GbeClusterFrame *frame, const char *initial_cluster,
			      GError **error) GBE_CHECKED;
/* The member and the cluster that the data belongs to, from the data, else from @record (rejoin.h, may be NULL), else from
 * the take-over. NULL: not known. Borrowed. */
void gbe_cluster_ids(const GbeFacts *facts, JsonObject *record, const char **ret_member,
		     const char **ret_cluster);
