/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verbs cluster init, join and token: this device's etcd becomes the first member of a cluster, or one more. Both are
 * for a device whose etcd has no data yet and whose unit takes variables (Debian's, Fedora's), and both need root.
 *
 * Each writes an intent first (the state's record `cluster`). After a kill or a power cut, the same call goes on; what
 * was added to the cluster and has no vote is found by its address. Where a join fails that no cut
 * has interrupted, the learner is taken out again, and the data that it had got is removed: it was a copy.
 */
#pragma once

#include "app/cluster/look.h"

typedef struct {
	bool dry_run;
	const char *name; /* NULL: [etcd] name, or the machine's */
	const char *peer_url,
	    *client_url; /* NULL: the machine's only address, ports 2380 and 2379 */
	const char *url; /* join: a client's address of a member */
	const char
	    *token; /* join: the file of `cluster token`; NULL: the authority is here already */
	guint64 timeout; /* seconds for etcd to be healthy, and for a learner to catch up */
} GbeClusterSetup;

typedef struct {
	char *name, *peer_url, *client_url;
	guint64 id;	/* 0: with dry_run */
	bool continued; /* an earlier call was cut */
} GbeClusterSetupResult;

void gbe_cluster_setup_result_clear(GbeClusterSetupResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeClusterSetupResult, gbe_cluster_setup_result_clear)

/* GBE_ERROR_REFUSED: data is there, the service runs or is an application's, a name or an address is taken, the cluster
 * lacks its quorum; _FAILED: etcd did not become healthy; _CANNOT_TELL: the cluster does not answer. */
bool gbe_cluster_init(GbeApp *app, const GbeClusterSetup *options,
		      GbeClusterSetupResult *ret_result, GError **error) GBE_CHECKED;
bool gbe_cluster_join(GbeApp *app, const GbeClusterSetup *options,
		      GbeClusterSetupResult *ret_result, GError **error) GBE_CHECKED;
/* Writes the authority, certificate and key, for a device that joins: whoever has the file can issue certificates. A new
 * file, 0600. */
bool gbe_cluster_token(GbeApp *app, const char *path, GError **error) GBE_CHECKED;
