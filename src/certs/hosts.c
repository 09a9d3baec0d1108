/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names and addresses that etcd is reached by. */
#include "certs/pki.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/health/certificates.h"
#include "core/config/lists.h"
#include "fs/open.h"

#define IF_INET6 "/proc/net/if_inet6"
#define IF_INET6_MAX (256 * 1024)
#define SCOPE_GLOBAL 0

/* A machine without a name may be called "(none)", and a URL may name a socket. */
static void
add(GHashTable *hosts, const char *host)
{
	if (host != NULL && gbe_certs_is_host(host))
		g_hash_table_add(hosts, g_ascii_strdown(host, -1));
}

static void
add_url(GHashTable *hosts, const char *url)
{
	g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
	const char *host = uri != NULL ? g_uri_get_host(uri) : NULL;
	bool any = g_strcmp0(host, "0.0.0.0") == 0 || g_strcmp0(host, "::") == 0;

	if (host != NULL && !any && strchr(host, '%') == NULL && host[0] != '/')
		add(hosts, host);
}

/* Neither this machine's loopback, which is in anyway, nor an address that only its link knows. */
static void
add_addresses(GHashTable *hosts)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) < 0)
		return;
	for (struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
		char text[INET_ADDRSTRLEN];
		struct sockaddr_in address;

		if (one->ifa_addr == NULL || one->ifa_addr->sa_family != AF_INET ||
		    (one->ifa_flags & IFF_LOOPBACK) != 0)
			continue;
		memcpy(&address, one->ifa_addr, sizeof(address));
		if (inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text)) != NULL &&
		    !g_str_has_prefix(text, "169.254."))
			add(hosts, text);
	}
	freeifaddrs(all);
}

/* Of IPv6 only the addresses that stay: privacy extensions make others every day. */
static void
add_addresses6(GHashTable *hosts)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	gsize size = 0;
	gbe_autofd int fd = -1;

	if (!gbe_open_root("/", &fd, NULL) ||
	    !gbe_read_in_root(fd, IF_INET6, IF_INET6_MAX, &text, &size, NULL))
		return;
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] != NULL; i++) {
		struct in6_addr address;
		char hex[33], shown[INET6_ADDRSTRLEN];
		unsigned int scope = 0, flags = 0;

		if (sscanf(lines[i], "%32s %*x %*x %x %x", hex, &scope, &flags) != 3 ||
		    strlen(hex) != 32 || scope != SCOPE_GLOBAL || (flags & IFA_F_TEMPORARY) != 0)
			continue;
		for (guint at = 0; at < 16; at++)
			address.s6_addr[at] = (guint8)(g_ascii_xdigit_value(hex[2 * at]) * 16 +
						       g_ascii_xdigit_value(hex[2 * at + 1]));
		if (inet_ntop(AF_INET6, &address, shown, sizeof(shown)) != NULL)
			add(hosts, shown);
	}
}

/* A member of a cluster is reached at what it advertises. */
static void
add_advertised(GbeApp *app, GHashTable *hosts)
{
	static const char *const names[] = {"ETCD_INITIAL_ADVERTISE_PEER_URLS",
					    "ETCD_ADVERTISE_CLIENT_URLS"};
	g_auto(GStrv) environment = NULL;
	g_autofree char *text = NULL;
	gsize size = 0;

	if (!gbe_read_in_root(app->root_fd, GBE_CLUSTER_ENV, GBE_CERTS_FILE_MAX, &text, &size,
			      NULL))
		return;
	environment = gbe_run_environment(NULL, text);
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (g_environ_getenv(environment, names[i]) != NULL)
			add_url(hosts, g_environ_getenv(environment, names[i]));
}

static int
compare(gconstpointer a, gconstpointer b)
{
	const char *const *one = a, *const *other = b;

	return strcmp(*one, *other);
}

char **
gbe_pki_hosts(GbeApp *app)
{
	const GbeConfig *config = app->config;
	g_autoptr(GHashTable) hosts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();
	g_auto(GStrv) urls =
	    g_strsplit(config->etcd.peer_urls != NULL ? config->etcd.peer_urls : "", ",", -1);
	g_auto(GStrv) names = NULL;
	char own[HOST_NAME_MAX + 1] = "";
	GHashTableIter iter;
	gpointer host;

	add(hosts, "localhost");
	add(hosts, "127.0.0.1");
	add(hosts, "::1");
	if (!app->below_root) {
		if (gethostname(own, sizeof(own) - 1) == 0)
			add(hosts, own);
		add_addresses(hosts);
		add_addresses6(hosts);
	}
	if (config->etcd.endpoint != NULL)
		add_url(hosts, config->etcd.endpoint);
	for (guint i = 0; urls[i] != NULL; i++)
		add_url(hosts, urls[i]);
	add_advertised(app, hosts);
	if (gbe_certs_names(config->certs.names, &names, NULL))
		for (guint i = 0; names[i] != NULL; i++)
			add(hosts, names[i]);
	g_hash_table_iter_init(&iter, hosts);
	while (g_hash_table_iter_next(&iter, &host, NULL)) {
		g_ptr_array_add(sorted, host);
		g_hash_table_iter_steal(&iter);
	}
	g_ptr_array_sort(sorted, compare);
	g_ptr_array_add(sorted, NULL);
	return (char **)g_ptr_array_free(g_steal_pointer(&sorted), false);
}
