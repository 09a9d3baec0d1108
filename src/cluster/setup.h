/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verbs cluster init, join, rejoin, leave, reset and recover. Init and join make this device's etcd the first member
 * of a cluster, or one more. Both are for a device whose etcd has no data yet and whose unit takes variables (Debian's,
 * Fedora's). All need root.
 *
 * Each writes an intent first (frame.h), which has the id of the cluster. A learner that was added already is found by
 * its address. Where a join fails that no cut has interrupted, the learner is taken out again, and the data that it had
 * got is removed: it was a copy. It stays as a backup where other files lay in the data directory. Implemented in setup.c,
 * join.c, leave.c, recover.c.
 */
#pragma once

#include "app/device/context.h"
#include "core/record/take-over.h"

typedef struct {
	bool dry_run;
	bool force;	  /* rejoin: remove the member also where the quorum cannot be judged */
	bool by_itself;	  /* rejoin: refused where the member works after all, or the version of its
			   * etcd is not known */
	bool goes_on;	  /* rejoin: only one that was interrupted, else GBE_ERROR_BUSY */
	const char *name; /* NULL: [etcd] name, or the machine's */
	const char *peer_url,
	    *client_url;  /* NULL: the machine's only address, ports 2380 and 2379 */
	const char *url;  /* join: a client's address of a member */
	const char *from; /* init: a backup's name, or a snapshot's path; NULL: no data */
	const char
	    *token; /* join: the file of `cluster token`; NULL: the authority is here already */
	guint64 timeout; /* seconds for etcd to be healthy, and for a learner to catch up */
} GbeClusterSetup;

typedef struct {
	char *name, *peer_url, *client_url;
	guint64 id;	/* 0: with dry_run */
	bool continued; /* an earlier call was cut */
	bool asked;	/* join: whether the cluster has added this device is not known */
} GbeClusterSetupResult;

void gbe_cluster_setup_result_clear(GbeClusterSetupResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeClusterSetupResult, gbe_cluster_setup_result_clear)

/* GBE_ERROR_REFUSED: data is there, the service runs or is an application's, a name or an address is taken, the cluster
 * lacks its quorum; _FAILED: etcd did not become healthy; _CANNOT_TELL: the cluster does not answer. */
bool gbe_cluster_init(GbeApp *app, const GbeClusterSetup *options,
		      GbeClusterSetupResult *ret_result, GError **error) GBE_CHECKED;
bool gbe_cluster_join(GbeApp *app, const GbeClusterSetup *options,
		      GbeClusterSetupResult *ret_result, GError **error) GBE_CHECKED;
/* A member whose etcd cannot go on with its data, or that was removed, gets it anew from the others: it is removed,
 * its data becomes a backup, and it joins as a learner. ->name and the addresses stay; ->force as in members.h.
 * After a kill or a power cut, or where it fails, the next call goes on. Before the data goes, the settings say that etcd
 * joins a cluster: without data it would otherwise begin one. */
bool gbe_cluster_rejoin(GbeApp *app, const GbeClusterSetup *options,
			GbeClusterSetupResult *ret_result, GError **error) GBE_CHECKED;

/* ---- leave, reset ---- */

/*
 * The verbs cluster leave and reset: this device is no member any more. `leave` asks the cluster, and keeps the
 * certificates; `reset` forgets, and also sets the settings and the certificates aside. In both the data becomes a
 * backup, and the service stays stopped. Both write an intent first (frame.h): the next call goes on after a power
 * cut.
 */

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
/* GBE_ERROR_REFUSED: other members count on this one, or that is unknown; force continues. */
bool gbe_cluster_reset(GbeApp *app, const GbeClusterLeave *options, GbeClusterLeft *ret_left,
		       GError **error) GBE_CHECKED;

/* ---- recover ---- */

/*
 * The verb cluster recover: the quorum is lost for good. Judges the data of the members that are left, by the last
 * entry of their logs, makes the most advanced one a new cluster of one, and says so; the others reset and join. A
 * write that a quorum had acknowledged is in the log of the most advanced one, where enough of them were looked at.
 */

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
 * _VERIFY_FAILED: data is damaged. @ret_recovered has the places on these errors as well. */
bool gbe_cluster_recover(GbeApp *app, const GbeClusterRecover *options,
			 GbeClusterRecovered *ret_recovered, GError **error) GBE_CHECKED;
