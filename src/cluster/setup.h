/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verbs cluster init, join, rejoin, leave, reset and recover. All need root. Each writes an intent first (frame.h):
 * after a kill or a power cut, the same call resumes. Implemented in setup.c, join.c, leave.c, recover.c.
 *
 * - Init and join make this device's etcd the first member of a cluster, or one more. Its etcd has no data yet, and its
 *   unit takes variables (Debian's, Fedora's). A join that fails takes its learner out again and removes the copied data.
 *   A join that was interrupted removes nothing.
 * - Rejoin is for a member that was removed, or whose etcd cannot use its data: it is removed, its data becomes a
 *   backup, and it joins as a learner with the same name and addresses. Before the data goes, the settings say that etcd
 *   joins a cluster: without data it would otherwise begin one.
 * - Leave asks the cluster, and keeps the certificates. Reset asks no other member, and also sets the settings and the
 *   certificates aside. In both the data becomes a backup, and the service stays stopped.
 * - Recover is for a quorum that is lost permanently. It compares the data of the remaining members by the last entry of
 *   their logs, and makes the most advanced one a new cluster of one; the others reset and join. Every write that a
 *   quorum had acknowledged is in that log if enough members were looked at.
 */
#pragma once

#include "app/device/context.h"
#include "core/record/take-over.h"

/* The options of all these verbs. */
typedef struct {
	bool dry_run;
	/* rejoin, leave: as in members.h. reset: although other members need this one. recover: although the data of
	 * some members was not looked at. */
	bool force;
	bool by_itself; /* rejoin: not if the member works, or the version of its etcd is unknown */
	bool goes_on;	/* rejoin: only one that was interrupted, else GBE_ERROR_BUSY */
	const char *name; /* NULL: [etcd] name, or the machine's; rejoin, recover: the member's */
	/* NULL: the machine's only address, ports 2380 and 2379; rejoin, recover: the member's. */
	const char *peer_url, *client_url;
	const char *url;  /* join, rejoin: a client's address of a member */
	const char *from; /* init: a backup's name, or a snapshot's path; NULL: no data */
	const char
	    *token; /* join: the file of `cluster token`; NULL: the authority is here already */
	char *const *data; /* recover: directories with the data of other members; NULL */
	guint64 timeout;   /* seconds for etcd to be healthy, to take a change, and to catch up */
} GbeClusterSetup;

typedef struct {
	char *name, *peer_url, *client_url;
	guint64 id;	/* 0: with dry_run */
	bool continued; /* an earlier call was cut */
	bool asked;	/* join: unknown whether the cluster has added this device */
} GbeClusterSetupResult;

void gbe_cluster_setup_result_clear(GbeClusterSetupResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeClusterSetupResult, gbe_cluster_setup_result_clear)

/* GBE_ERROR_REFUSED: data is there, the service runs or is an application's, a name or an address is taken, the cluster
 * lacks its quorum; _FAILED: etcd did not become healthy; _CANNOT_TELL: the cluster does not answer. */
bool gbe_cluster_init(GbeApp *app, const GbeClusterSetup *options,
		      GbeClusterSetupResult *ret_result, GError **error) GBE_CHECKED;
bool gbe_cluster_join(GbeApp *app, const GbeClusterSetup *options,
		      GbeClusterSetupResult *ret_result, GError **error) GBE_CHECKED;
bool gbe_cluster_rejoin(GbeApp *app, const GbeClusterSetup *options,
			GbeClusterSetupResult *ret_result, GError **error) GBE_CHECKED;

typedef struct {
	char *name;	     /* leave: the member's */
	guint64 id;	     /* leave */
	GbeBackupRef backup; /* which has the data; no name: no data was there, or dry_run */
	bool continued;	     /* an earlier call was cut */
} GbeClusterLeft;

void gbe_cluster_left_clear(GbeClusterLeft *left);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeClusterLeft, gbe_cluster_left_clear)

/* A leader first hands the lead to another one. GBE_ERROR_REFUSED: the quorum, or it is the only member;
 * _CANNOT_TELL: the other members do not answer. */
bool gbe_cluster_leave(GbeApp *app, const GbeClusterSetup *options, GbeClusterLeft *ret_left,
		       GError **error) GBE_CHECKED;
/* GBE_ERROR_REFUSED: other members need this one, or this is unknown; force continues. */
bool gbe_cluster_reset(GbeApp *app, const GbeClusterSetup *options, GbeClusterLeft *ret_left,
		       GError **error) GBE_CHECKED;

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

/* GBE_ERROR_REFUSED: the cluster has its quorum, some voters' data was not looked at, or this member's settings are
 * not this program's; _BUSY: etcd runs; _VERIFY_FAILED: data is damaged. @ret_recovered also has the places on these
 * errors. */
bool gbe_cluster_recover(GbeApp *app, const GbeClusterSetup *options,
			 GbeClusterRecovered *ret_recovered, GError **error) GBE_CHECKED;
