/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/cluster-env.h"

#include <string.h>

#define ANY "0.0.0.0"
#define LOOPBACK "127.0.0.1"

static bool
parse_url(const char *url, char **ret_host, gint *ret_port, GError **error)
{
	g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
	const char *host = uri != NULL ? g_uri_get_host(uri) : NULL;

	if (host == NULL || !g_str_equal(g_uri_get_scheme(uri), "https") ||
	    g_uri_get_port(uri) <= 0 || !gbe_certs_is_host(host) || *g_uri_get_path(uri) != '\0' ||
	    g_uri_get_query(uri) != NULL || g_uri_get_fragment(uri) != NULL ||
	    g_uri_get_userinfo(uri) != NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "%s is not an address of a member, like https://192.0.2.7:2380",
				 url);
	*ret_host = g_strdup(host);
	*ret_port = g_uri_get_port(uri);
	return true;
}

/* etcd binds to addresses only; a name may stand for any of this machine's addresses. */
static const char *
bound_host(const char *host)
{
	return g_hostname_is_ip_address(host) ? host : ANY;
}

static char *
url_of(const char *host, gint port)
{
	return strchr(host, ':') != NULL ? g_strdup_printf("https://[%s]:%d", host, port)
					 : g_strdup_printf("https://%s:%d", host, port);
}

static bool
is_plain(const char *value)
{
	return value[strspn(value, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-")] == '\0' &&
	       *value != '\0';
}

/* The other members' names and addresses are what the cluster says, and it takes any bytes. */
static bool
check_members(const char *initial_cluster, GError **error)
{
	g_auto(GStrv) members = g_strsplit(initial_cluster, ",", -1);

	for (guint i = 0; members[i] != NULL; i++) {
		g_autofree char *shown = g_strescape(members[i], NULL);
		g_autofree char *name = g_strdup(members[i]);
		g_autofree char *host = NULL;
		char *url = strchr(name, '=');
		gint port;

		if (url != NULL)
			*url++ = '\0';
		if (url == NULL || !is_plain(name) || !parse_url(url, &host, &port, NULL))
			return gbe_throw(
			    error, GBE_ERROR_USAGE,
			    "etcd's settings cannot name the member \"%s\": its name has to be "
			    "letters, digits and any of . _ -, and its address like "
			    "https://192.0.2.7:2380",
			    shown);
	}
	return true;
}

char *
gbe_cluster_env(const GbeClusterEnv *env, GError **error)
{
	g_autofree char *peer_host = NULL, *client_host = NULL;
	g_autofree char *peer = NULL, *clients = NULL, *token = NULL;
	g_autofree char *inner = NULL, *outer = NULL;
	gint peer_port = 0, client_port = 0;

	if (!is_plain(env->name)) {
		(void)gbe_throw(
		    error, GBE_ERROR_USAGE,
		    "\"%s\" is not a valid name of a member: letters, digits and any of . _ -",
		    env->name);
		return NULL;
	}
	if (!parse_url(env->peer_url, &peer_host, &peer_port, error) ||
	    !parse_url(env->client_url, &client_host, &client_port, error) ||
	    !check_members(env->initial_cluster, error))
		return NULL;
	peer = url_of(bound_host(peer_host), peer_port);
	/* The programs on the device ask at the loopback. */
	inner = url_of(LOOPBACK, client_port);
	outer = url_of(bound_host(client_host), client_port);
	clients = g_str_equal(bound_host(client_host), ANY) || g_str_equal(client_host, LOOPBACK)
		      ? g_strdup(outer)
		      : g_strconcat(inner, ",", outer, NULL);
	token = env->token != NULL ? g_strdup_printf("ETCD_INITIAL_CLUSTER_TOKEN=%s\n", env->token)
				   : g_strdup("");
	return g_strdup_printf("ETCD_NAME=%s\n"
			       "ETCD_LISTEN_PEER_URLS=%s\n"
			       "ETCD_INITIAL_ADVERTISE_PEER_URLS=%s\n"
			       "ETCD_LISTEN_CLIENT_URLS=%s\n"
			       "ETCD_ADVERTISE_CLIENT_URLS=%s\n"
			       "ETCD_INITIAL_CLUSTER=%s\n"
			       "ETCD_INITIAL_CLUSTER_STATE=%s\n%s"
			       "ETCD_STRICT_RECONFIG_CHECK=true\n" GBE_TLS_VARIABLES,
			       env->name, peer, env->peer_url, clients, env->client_url,
			       env->initial_cluster, env->token != NULL ? "new" : "existing",
			       token);
}

bool
gbe_cluster_env_joins(char **variables)
{
	return g_strv_contains((const char *const *)variables,
			       "ETCD_INITIAL_CLUSTER_STATE=existing");
}
