/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A look at the whole cluster. The configured etcd lists the members, and each is asked at its own address with the
 * same certificates. Changes nothing.
 */
#pragma once

#include "app/device/endpoint.h"
#include "certs/core/quorum.h"
#include "etcd/api/client.h"

typedef struct {
	GbeVoter voter; /* borrows ->name */
	char *name;	/* its name; the id in hex where it has not started */
	char **peer_urls, **client_urls;
	char *url;	      /* the client's address that it answers at; NULL: none */
	char *why;	      /* why it does not work, or an alarm; NULL */
	GbeEtcdStatus status; /* where ->url is not NULL */
} GbeClusterMember;

typedef struct {
	guint64 cluster_id;
	guint64 self;	    /* the member that the configured endpoint is */
	guint64 leader;	    /* 0: none is known */
	GPtrArray *members; /* of GbeClusterMember */
} GbeCluster;

void gbe_cluster_free(GbeCluster *cluster);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeCluster, gbe_cluster_free)

/* Asks each member for request-timeout= at most. GBE_ERROR_CANNOT_TELL: the configured etcd does not list the members. */
bool gbe_cluster_look(GbeApp *app, GbeCluster **ret_cluster, GError **error) GBE_CHECKED;
/* The addresses of the other voters, one each, with spaces between them. Newly allocated. */
char *gbe_cluster_urls_of_others(const GbeCluster *cluster);
/* Does the member that lists the members follow a leader? Else its list may be an old one: GBE_ERROR_CANNOT_TELL. */
bool gbe_cluster_check_current(const GbeApp *app, const GbeCluster *cluster,
			       GError **error) GBE_CHECKED;
/* The same as gbe_cluster_look(), by the first of these addresses that answers and follows a leader, else by one that
 * answers; it is the configured one then. @cluster_id: only a member of this cluster counts, in hex; NULL: of any. */
bool gbe_cluster_look_by(GbeApp *app, const char *urls, const char *cluster_id,
			 GbeCluster **ret_cluster, GError **error) GBE_CHECKED;
/* Is it the cluster with this id, in hex? GBE_ERROR_REFUSED names both. */
bool gbe_cluster_check_id(const GbeApp *app, const GbeCluster *cluster, const char *cluster_id,
			  GError **error) GBE_CHECKED;
/* NULL: no member has this id. Borrowed. */
const GbeClusterMember *gbe_cluster_by_id(const GbeCluster *cluster, guint64 id);
/* By name, or by id in hex. GBE_ERROR_NOT_FOUND lists the members. */
bool gbe_cluster_find(const GbeCluster *cluster, const char *name,
		      const GbeClusterMember **ret_member, GError **error) GBE_CHECKED;
/* As gbe_quorum_refusal(). @without: the id of a member that counts as removed; 0: none. */
char *gbe_cluster_refusal(const GbeCluster *cluster, GbeQuorumChange change, guint64 id,
			  guint64 without);
/* Members that have a vote, and how many of them work for certain. */
void gbe_cluster_count(const GbeCluster *cluster, guint *ret_voters, guint *ret_working);
/* Entries that it has to apply to be where the leader is; -1: unknown. */
gint64 gbe_cluster_lag(const GbeCluster *cluster, const GbeClusterMember *member);
/* Opens a client at @url, with the certificates of the configured endpoint. @at has to outlive it. */
bool gbe_cluster_open(const GbeAppEndpoint *at, const char *url, GbeClient **ret_client,
		      GbeCallFailure *ret_failure) GBE_CHECKED;
