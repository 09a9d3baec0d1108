/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/change.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/certs/certs.h"
#include "app/health/certificates.h"
#include "certs/core/renewal.h"
#include "core/config/lists.h"
#include "fs/open.h"

#define IF_INET6 "/proc/net/if_inet6"
#define IF_INET6_MAX (256 * 1024)
#define SCOPE_GLOBAL 0
/* If etcd has users, its root may do everything. Only the system's root can read the key. */
#define CLIENT_NAME "root"
/* RFC 5280: the longest common name, in characters; and the part of it that a name has in an authority's. */
#define NAME_MOST 64
#define NAME_IN_SUBJECT 32

/* ---- the names and addresses that etcd is reached by ---- */

/* A machine without a name may be called "(none)", and a URL may name a socket. */
static void
add_host(GHashTable *hosts, const char *host)
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
		add_host(hosts, host);
}

/* Leaves out this machine's loopback, which is in anyway, and addresses that only a link knows. */
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
			add_host(hosts, text);
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
			add_host(hosts, shown);
	}
}

char **
gbe_pki_hosts(GbeApp *app)
{
	static const char *const advertised[] = {"ETCD_INITIAL_ADVERTISE_PEER_URLS",
						 "ETCD_ADVERTISE_CLIENT_URLS"};
	const GbeConfig *config = app->config;
	g_autoptr(GHashTable) hosts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_auto(GStrv) urls =
	    g_strsplit(config->etcd.peer_urls != NULL ? config->etcd.peer_urls : "", ",", -1);
	g_auto(GStrv) names = NULL, environment = NULL;
	g_autofree char *text = NULL;
	char own[HOST_NAME_MAX + 1] = "";
	gsize size = 0;
	g_autoptr(GList) sorted = NULL;
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

	add_host(hosts, "localhost");
	add_host(hosts, "127.0.0.1");
	add_host(hosts, "::1");
	if (!app->below_root) {
		if (gethostname(own, sizeof(own) - 1) == 0)
			add_host(hosts, own);
		add_addresses(hosts);
		add_addresses6(hosts);
	}
	if (config->etcd.endpoint != NULL)
		add_url(hosts, config->etcd.endpoint);
	for (guint i = 0; urls[i] != NULL; i++)
		add_url(hosts, urls[i]);
	/* A member of a cluster is reached at its advertised addresses. */
	if (gbe_read_in_root(app->root_fd, GBE_CLUSTER_ENV, GBE_CERTS_FILE_MAX, &text, &size, NULL))
		environment = gbe_run_environment(NULL, text);
	for (guint i = 0; environment != NULL && i < G_N_ELEMENTS(advertised); i++)
		if (g_environ_getenv(environment, advertised[i]) != NULL)
			add_url(hosts, g_environ_getenv(environment, advertised[i]));
	if (gbe_certs_names(config->certs.names, &names, NULL))
		for (guint i = 0; names[i] != NULL; i++)
			add_host(hosts, names[i]);
	sorted = g_list_sort(g_hash_table_get_keys(hosts), (GCompareFunc)strcmp);
	for (const GList *one = sorted; one != NULL; one = one->next)
		g_strv_builder_add(builder, one->data);
	return g_strv_builder_end(builder);
}

/* ---- an authority, and its leaves ---- */

static gint64
now_seconds(void)
{
	return g_get_real_time() / G_USEC_PER_SEC;
}

/* At most @most characters of it. */
static char *
own_name(const GbeApp *app, glong most)
{
	char host[HOST_NAME_MAX + 1] = "";
	const char *name = app->config->etcd.name;
	g_autofree char *valid = NULL;

	if (name == NULL && !app->below_root && gethostname(host, sizeof(host) - 1) == 0)
		name = host;
	if (name == NULL || *name == '\0')
		name = "etcd";
	valid = g_utf8_make_valid(name, -1);
	return g_utf8_substring(valid, 0, MIN(g_utf8_strlen(valid, -1), most));
}

bool
gbe_pki_seal(const GbePkiChange *change, GbeAuthority *authority, GError **error)
{
	const GbePkiOptions *options = change->options;

	/* systemd-creds makes the key that it seals with where it has none. */
	if (authority->key == NULL || (options->dry_run && !change->change.app->below_root))
		return true;
	return !(options->seal || gbe_seal_is_there(change->change.app)) ||
	       gbe_seal(change->change.app, authority->key, &authority->sealed, error);
}

bool
gbe_pki_make_authority(const GbePkiChange *change, GbeAuthority *authority, GError **error)
{
	const GbePkiOptions *options = change->options;
	const GbeApp *app = change->change.app;
	g_autofree char *name = own_name(app, NAME_IN_SUBJECT);
	g_autofree char *subject = NULL;
	g_autoptr(GbeIssuer) issuer = NULL;
	GbeCertOrder order = {0};
	gint64 from, to;

	if ((options->ca_cert == NULL) != (options->ca_key == NULL))
		return gbe_throw(error, GBE_ERROR_USAGE, "--ca-cert and --ca-key go together");
	if (options->ca_cert != NULL) {
		if (!gbe_certs_read_file(app, options->ca_cert, false, &authority->certificate,
					 error) ||
		    !gbe_certs_read_file(app, options->ca_key, true, &authority->key, error) ||
		    !gbe_issuer_open(authority->certificate, authority->key, options->ca_cert,
				     &issuer, error))
			return false;
		/* All users may read the trusted certificates. Keep only the certificates of the file, which may also
		 * hold the key. */
		g_bytes_unref(authority->certificate);
		authority->certificate = g_bytes_ref(issuer->chain);
		/* An authority that has ended could issue nothing. */
		if (!gbe_renewal_times(now_seconds(), 1, issuer->certificate->not_before,
				       issuer->certificate->not_after, &from, &to, error))
			return false;
	} else {
		/* Two authorities of one device have different names, or a verifier takes one for the other. */
		subject = g_strdup_printf("etcd CA %s %08x", name, g_random_int());
		order.name = subject;
		if (!gbe_renewal_authority_times(now_seconds(),
						 options->validity != 0 ? options->validity
									: GBE_AUTHORITY_VALIDITY,
						 &order.not_before, &order.not_after, error) ||
		    !gbe_issue_authority(&order, &authority->certificate, &authority->key, error))
			return false;
	}
	return gbe_pki_seal(change, authority, error);
}

static bool
open_issuer(GbeApp *app, GbeAuthority *authority, GbeIssuer **ret_issuer, GError **error)
{
	return gbe_unseal(app, authority, error) &&
	       gbe_issuer_open(authority->certificate, authority->key,
			       GBE_PKI_LIVE "/authority/ca.crt", ret_issuer, error);
}

bool
gbe_pki_issue_leaves(GbeApp *app, GbePki *pki, GError **error)
{
	static const GbeCertUse uses[GBE_LEAVES] = {GBE_USE_SERVER, GBE_USE_PEER, GBE_USE_CLIENT};
	g_autoptr(GbeIssuer) issuer = NULL;
	g_autofree char *name = own_name(app, NAME_MOST);
	g_auto(GStrv) hosts = gbe_pki_hosts(app);
	const GbePem *by;

	if (!open_issuer(app, &pki->signer, &issuer, error))
		return false;
	by = issuer->certificate;
	for (guint i = 0; i < GBE_LEAVES; i++) {
		GbeCertOrder order = {.use = uses[i],
				      .name = i == GBE_LEAF_CLIENT ? CLIENT_NAME : name,
				      .hosts = i == GBE_LEAF_CLIENT ? NULL : hosts};

		g_clear_pointer(&pki->certificates[i], g_bytes_unref);
		g_clear_pointer(&pki->keys[i], gbe_private_key_free);
		if (!gbe_renewal_times(now_seconds(), app->config->certs.validity, by->not_before,
				       by->not_after, &order.not_before, &order.not_after, error) ||
		    !gbe_issue(issuer, &order, &pki->certificates[i], &pki->keys[i], error))
			return false;
	}
	return true;
}

/* ---- is one due? ---- */

bool
gbe_pki_check_clock(const GbePki *pki, GError **error)
{
	g_autoptr(GbePem) authority = gbe_pem_first(pki->signer.certificate);
	gint64 now = now_seconds();
	gint64 from, to;

	return authority == NULL || gbe_renewal_clock_is_right(now, authority->not_before) ||
	       gbe_renewal_times(now, 1, authority->not_before, authority->not_after, &from, &to,
				 error);
}

char *
gbe_pki_due(GbeApp *app, const GbePki *pki, gint64 *ret_renew_at)
{
	g_auto(GStrv) hosts = gbe_pki_hosts(app);
	g_autoptr(GbePem) authority = gbe_pem_first(pki->signer.certificate);
	gint64 renew_at = G_MAXINT64;
	char *reason = NULL;

	for (guint i = 0; i < GBE_LEAVES; i++) {
		g_autoptr(GbePem) certificate = gbe_pem_first(pki->certificates[i]);
		g_autoptr(GbePem) key = gbe_pem_first(pki->keys[i]);
		g_autofree char *why = NULL;
		GbeLeafFacts facts = {0};

		if (certificate == NULL || certificate->kind != GBE_PEM_CERTIFICATE) {
			facts.problem = "it is missing or damaged";
		} else if (key == NULL || key->kind != GBE_PEM_KEY || key->problem != NULL) {
			facts.problem = "its key is missing or damaged";
		} else if (!gbe_pem_is_key_of(key, certificate)) {
			facts.problem = "its key does not match";
		} else {
			facts.signed_by_authority =
			    authority != NULL && gbe_pem_is_signed_by(certificate, authority);
			facts.not_before = certificate->not_before;
			facts.not_after = certificate->not_after;
			facts.authority_not_before = authority != NULL ? authority->not_before : -1;
			for (guint k = 0; i != GBE_LEAF_CLIENT && hosts[k] != NULL; k++)
				if (facts.lacks == NULL && !gbe_pem_is_for(certificate, hosts[k]))
					facts.lacks = hosts[k];
			renew_at = MIN(renew_at, gbe_renewal_at(facts.not_before, facts.not_after));
		}
		why = gbe_renewal_reason(&facts, now_seconds());
		if (why != NULL && reason == NULL)
			reason = g_strdup_printf("%s.crt: %s", gbe_leaf_names[i], why);
	}
	if (ret_renew_at != NULL)
		*ret_renew_at = renew_at < G_MAXINT64 ? renew_at : -1;
	return reason;
}

/* ---- for others ---- */

void
gbe_others_result_clear(GbeOthersResult *result)
{
	g_clear_pointer(&result->certificate, g_bytes_unref);
	g_clear_pointer(&result->certificate_path, g_free);
	g_clear_pointer(&result->key_path, g_free);
}

static bool
open_order(GbeApp *app, GbeCertOrder *order, GbeIssuer **ret_issuer, GError **error)
{
	g_autoptr(GbePki) pki = NULL;
	g_autoptr(GbeIssuer) issuer = NULL;
	const GbePem *by;

	if (geteuid() != 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "the authority's key is root's: sudo");
	if (!gbe_pki_read(app, &pki, error))
		return false;
	if (pki == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "the authority is missing in " GBE_PKI_LIVE
				 "; run `greenboot-etcd certs init`");
	if (!open_issuer(app, &pki->signer, &issuer, error))
		return false;
	by = issuer->certificate;
	if (!gbe_renewal_times(now_seconds(), order->validity, by->not_before, by->not_after,
			       &order->not_before, &order->not_after, error))
		return false;
	*ret_issuer = g_steal_pointer(&issuer);
	return true;
}

bool
gbe_others_issue(GbeApp *app, GbeCertOrder *order, const char *directory,
		 GbeOthersResult *ret_result, GError **error)
{
	g_auto(GbeOthersResult) result = {0};
	g_autoptr(GbeIssuer) issuer = NULL;
	g_autoptr(GbePrivateKey) key = NULL;
	const char *name = order->name;

	/* The name is a subject and a file. */
	if (*name == '\0' || *name == '.' || strlen(name) > NAME_MOST ||
	    name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._@-")] != '\0')
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "\"%s\" cannot be a certificate's name: 1 to 64 letters, digits "
				 "and any of . _ @ -, and no dot first",
				 name);
	if (!open_order(app, order, &issuer, error) ||
	    !gbe_issue(issuer, order, &result.certificate, &key, error))
		return false;
	result.not_after = order->not_after;
	result.certificate_path = g_strdup_printf("%s/%s.crt", directory, order->name);
	result.key_path = g_strdup_printf("%s/%s.key", directory, order->name);
	/* A key without its certificate has no use, and a certificate without its key has none. */
	if (!gbe_certs_write_file(app, key, result.key_path, error))
		return false;
	if (!gbe_certs_write_file(app, result.certificate, result.certificate_path, error)) {
		gbe_certs_remove_file(app, result.key_path);
		return false;
	}
	*ret_result = result;
	result = (GbeOthersResult){0};
	return true;
}

bool
gbe_others_sign(GbeApp *app, GbeCertOrder *order, const char *path, GbeOthersResult *ret_result,
		GError **error)
{
	g_auto(GbeOthersResult) result = {0};
	g_autoptr(GbeIssuer) issuer = NULL;
	g_autoptr(GBytes) request = NULL;

	if (!gbe_certs_read_file(app, path, false, &request, error))
		return false;
	if (!open_order(app, order, &issuer, error) ||
	    !gbe_issue_for_request(issuer, order, request, &result.certificate, error))
		return gbe_prefix(error, "%s", path);
	result.not_after = order->not_after;
	*ret_result = result;
	result = (GbeOthersResult){0};
	return true;
}
