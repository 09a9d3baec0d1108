/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/certs-private.h"

#include <string.h>

/* CAs of one name that are tried: each costs a signature. */
#define CAS_MAX 8

/* NULL: the endpoint is none of TLS. */
static char *
host_of(const char *endpoint)
{
	g_autoptr(GUri) uri = g_uri_parse(endpoint != NULL ? endpoint : "",
					  G_URI_FLAGS_NON_DNS | G_URI_FLAGS_PARSE_RELAXED, NULL);

	if (uri == NULL || g_strcmp0(g_uri_get_scheme(uri), "https") != 0)
		return NULL;
	return g_strdup(g_uri_get_host(uri));
}

/* Takes @problem. */
static void
blame(GbeCert *cert, char *problem)
{
	g_autofree char *before = cert->problem;

	cert->problem =
	    before != NULL ? g_strconcat(before, "; ", problem, NULL) : g_strdup(problem);
	g_free(problem);
}

static void
judge_chain(GbeCert *cert, GHashTable *by_subject)
{
	const GPtrArray *cas = g_hash_table_lookup(by_subject, cert->pem->issuer);
	guint named = 0;

	cert->chain = cert->pem->self_signed ? GBE_CHAIN_SELF_SIGNED : GBE_CHAIN_UNKNOWN;
	for (guint i = 0; cas != NULL && !cert->pem->self_signed && i < cas->len; i++) {
		const GbeCert *ca = cas->pdata[i];

		if (ca == cert || named == CAS_MAX)
			continue;
		named++;
		cert->chain = GBE_CHAIN_WRONG;
		if (gbe_pem_is_signed_by(cert->pem, ca->pem)) {
			cert->chain = GBE_CHAIN_SIGNED;
			cert->ca = ca;
			return;
		}
	}
	if (cert->chain == GBE_CHAIN_WRONG)
		blame(cert, g_strdup("is not signed by the CA here that has its issuer's name"));
}

static void
judge_dates(GbeCert *cert, guint64 warn, gint64 now)
{
	const GbePem *pem = cert->pem;

	cert->seconds_left = pem->not_after - now;
	cert->soon = pem->not_after >= 0 && cert->seconds_left <= (gint64)MIN(warn, G_MAXINT64);
	if (pem->not_after >= 0 && cert->seconds_left <= 0)
		blame(cert, g_strdup("has expired"));
	else if (pem->not_before > now)
		blame(cert, g_strdup("is not valid yet: is the clock right?"));
	else if (cert->soon)
		blame(cert, g_strdup_printf("expires in %" G_GINT64_FORMAT " days",
					    cert->seconds_left / 86400));
}

static void
judge_certificate(GbeCert *cert, GHashTable *by_subject, GHashTable *keys, const char *host)
{
	const char *public_key = cert->pem->public_key;

	if (public_key != NULL)
		cert->key = g_hash_table_lookup(keys, public_key);
	judge_chain(cert, by_subject);
	if (host != NULL && !cert->pem->ca && cert->pem->server)
		cert->endpoint = gbe_tri(gbe_pem_is_for(cert->pem, host));
}

/* "server.key" and "server.crt", "server-key.pem" and "server.pem": a pair by their names. */
static const GbeCert *
namesake(const GbeCert *key, GHashTable *by_path)
{
	static const char *const pairs[][2] = {{".key", ".crt"},
					       {".key", ".pem"},
					       {".key", ".cert"},
					       {"-key.pem", ".pem"}};
	const GbeCert *found = NULL;

	for (gsize i = 0; found == NULL && i < G_N_ELEMENTS(pairs); i++) {
		g_autofree char *stem = NULL;
		g_autofree char *path = NULL;

		if (!g_str_has_suffix(key->path, pairs[i][0]))
			continue;
		stem = g_strndup(key->path, strlen(key->path) - strlen(pairs[i][0]));
		path = g_strconcat(stem, pairs[i][1], NULL);
		found = g_hash_table_lookup(by_path, path);
	}
	return found;
}

static void
judge_key(GbeCert *key, GHashTable *by_key, GHashTable *by_path)
{
	const char *public_key = key->pem->public_key;
	const GbeCert *beside = namesake(key, by_path);

	/* Of several certificates of one key, the one that is called as it is. */
	if (beside != NULL && g_strcmp0(beside->pem->public_key, public_key) == 0)
		key->certificate = beside;
	else if (public_key != NULL)
		key->certificate = g_hash_table_lookup(by_key, public_key);
	if ((key->mode & 0004) != 0)
		blame(key, g_strdup("can be read by everybody: chmod 0600"));
	if (public_key != NULL && beside != NULL && beside != key->certificate)
		blame(key, g_strdup_printf("is not the key of %s", beside->path));
}

typedef struct {
	GHashTable *by_subject; /* -> array of certificates */
	GHashTable *by_key;	/* public key -> the first certificate */
	GHashTable *by_path;	/* -> the first certificate */
	GHashTable *keys;	/* public key -> the first private one */
} Index;

static void
add_to_index(GbeCert *cert, Index *index)
{
	const GbePem *pem = cert->pem;
	GHashTable *of_key = pem->kind == GBE_PEM_KEY ? index->keys : index->by_key;

	if (pem->public_key != NULL && !g_hash_table_contains(of_key, pem->public_key))
		g_hash_table_insert(of_key, pem->public_key, cert);
	if (pem->kind != GBE_PEM_CERTIFICATE)
		return;
	if (!g_hash_table_contains(index->by_path, cert->path))
		g_hash_table_insert(index->by_path, cert->path, cert);
	if (!g_hash_table_contains(index->by_subject, pem->subject))
		g_hash_table_insert(index->by_subject, pem->subject, g_ptr_array_new());
	g_ptr_array_add(g_hash_table_lookup(index->by_subject, pem->subject), cert);
}

void
gbe_certs_judge(GbeCerts *certs, const GbeConfig *config, gint64 now)
{
	g_autofree char *host = host_of(config->etcd.endpoint);
	Index index = {
	    g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref),
	    g_hash_table_new(g_str_hash, g_str_equal), g_hash_table_new(g_str_hash, g_str_equal),
	    g_hash_table_new(g_str_hash, g_str_equal)};

	for (guint i = 0; i < certs->certs->len; i++)
		add_to_index(certs->certs->pdata[i], &index);
	for (guint i = 0; i < certs->certs->len; i++) {
		GbeCert *cert = certs->certs->pdata[i];

		if (cert->pem->problem != NULL)
			blame(cert, g_strdup(cert->pem->problem));
		if ((cert->mode & 0002) != 0)
			blame(cert, g_strdup("can be written by everybody"));
		if (cert->pem->kind == GBE_PEM_CERTIFICATE) {
			judge_dates(cert, config->health.cert_warn, now);
			judge_certificate(cert, index.by_subject, index.keys, host);
		} else if (cert->pem->kind == GBE_PEM_KEY) {
			judge_key(cert, index.by_key, index.by_path);
		}
	}
	g_hash_table_unref(index.by_subject);
	g_hash_table_unref(index.by_key);
	g_hash_table_unref(index.by_path);
	g_hash_table_unref(index.keys);
}
