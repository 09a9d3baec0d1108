/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The variables that make a device's etcd a member of a cluster: a file that etcd's unit reads through the generator's
 * drop-in (EnvironmentFile=). It lies in /var, so that a rollback does not forget the cluster. Text only.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/config/lists.h"

/* Those of them that name the certificates which this program makes (certs/pki.h). */
#define GBE_TLS_VARIABLES                                                                          \
	"ETCD_CERT_FILE=" GBE_PKI_LIVE "/server.crt\n"                                             \
	"ETCD_KEY_FILE=" GBE_PKI_LIVE "/server.key\n"                                              \
	"ETCD_TRUSTED_CA_FILE=" GBE_PKI_LIVE "/ca.crt\n"                                           \
	"ETCD_CLIENT_CERT_AUTH=true\n"                                                             \
	"ETCD_PEER_CERT_FILE=" GBE_PKI_LIVE "/peer.crt\n"                                          \
	"ETCD_PEER_KEY_FILE=" GBE_PKI_LIVE "/peer.key\n"                                           \
	"ETCD_PEER_TRUSTED_CA_FILE=" GBE_PKI_LIVE "/ca.crt\n"                                      \
	"ETCD_PEER_CLIENT_CERT_AUTH=true\n"

typedef struct {
	const char *name;
	const char *peer_url, *client_url; /* https://HOST:PORT, as the others reach this member */
	const char *initial_cluster;	   /* "NAME=URL,...", or "" */
	const char
	    *token; /* makes the id of the cluster that it begins its own; NULL: it joins one */
} GbeClusterEnv;

/* Newly allocated. GBE_ERROR_USAGE: an address is invalid, or a value has a character that a file of variables cannot
 * have. */
char *gbe_cluster_env(const GbeClusterEnv *env, GError **error);
/* Would an etcd without data, started with @variables ("NAME=VALUE"), join a cluster that is there? Else it begins one. */
bool gbe_cluster_env_joins(char **variables);
