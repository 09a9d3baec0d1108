/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/health/certificates.h"

#include "core/config/lists.h"
#include "core/space.h"
#include "fs/open.h"
#include "fs/tree.h"

#include <fcntl.h>
#include <string.h>

/* Limit of CAs of one name that are tried: each costs a signature check. */
#define CAS_MAX 8

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

	if (!gbe_clock_is_set(now)) {
		g_autofree char *clock = gbe_clock_to_text(now);

		blame(cert,
		      g_strdup_printf("has an unknown validity: the clock says %s and cannot be "
				      "right",
				      clock));
		return;
	}
	cert->dated = pem->not_after >= 0;
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

	/* When a key has several certificates, the one whose file name matches. */
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

static void
judge_all(GbeCerts *certs, const GbeConfig *config, gint64 now)
{
	const char *endpoint = config->etcd.endpoint != NULL ? config->etcd.endpoint : "";
	g_autoptr(GUri) uri =
	    g_uri_parse(endpoint, G_URI_FLAGS_NON_DNS | G_URI_FLAGS_PARSE_RELAXED, NULL);
	bool tls = uri != NULL && g_strcmp0(g_uri_get_scheme(uri), "https") == 0;
	const char *host = tls ? g_uri_get_host(uri) : NULL;
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
			if (cert->pem->public_key != NULL)
				cert->key = g_hash_table_lookup(index.keys, cert->pem->public_key);
			judge_chain(cert, index.by_subject);
			if (host != NULL && !cert->pem->ca && cert->pem->server)
				cert->endpoint = gbe_tri(gbe_pem_is_for(cert->pem, host));
		} else if (cert->pem->kind == GBE_PEM_KEY) {
			judge_key(cert, index.by_key, index.by_path);
		}
	}
	g_hash_table_unref(index.by_subject);
	g_hash_table_unref(index.by_key);
	g_hash_table_unref(index.by_path);
	g_hash_table_unref(index.keys);
}

static int
sooner_first(gconstpointer a, gconstpointer b)
{
	const GbeTlsFile *const *one = a, *const *other = b;

	return (*one)->expires < (*other)->expires ? -1 : (*one)->expires > (*other)->expires;
}

void
gbe_certs_add_to_health(GbeApp *app, GbeHealthFacts *facts)
{
	g_autoptr(GbeCerts) certs = NULL;
	GbeTlsFile *file = NULL;
	bool cas = false; /* and nothing else in this file so far */

	g_clear_pointer(&facts->certs, g_ptr_array_unref);
	if (app->config->certs.directories == NULL || !gbe_certs_look(app, &certs, NULL))
		return;
	facts->certs = g_ptr_array_new_with_free_func(gbe_tls_file_free);
	for (guint i = 0; i < certs->certs->len; i++) {
		const GbeCert *cert = certs->certs->pdata[i];
		const GbePem *pem = cert->pem;

		if (pem->kind != GBE_PEM_CERTIFICATE || pem->not_after < 0)
			continue;
		if (file == NULL || !g_str_equal(file->path, cert->path)) {
			file = g_new0(GbeTlsFile, 1);
			*file = (GbeTlsFile){.path = g_strdup(cert->path),
					     .begins = pem->not_before,
					     .expires = pem->not_after};
			g_ptr_array_add(facts->certs, file);
			cas = pem->ca;
		} else if (cas && pem->ca) {
			/* For authorities, the one that lasts longest: a bundle keeps old ones. */
			file->begins = MIN(file->begins, pem->not_before);
			file->expires = MAX(file->expires, pem->not_after);
		}
		/* The certificates after the first are its CAs, which have files of their own. */
	}
	g_ptr_array_sort(facts->certs, sooner_first);
}

typedef struct {
	GbeCerts *certs;
	const char *directory;
} Walk;

static void
cert_free(gpointer data)
{
	GbeCert *cert = data;

	g_free(cert->path);
	gbe_pem_free(cert->pem);
	g_free(cert->problem);
	g_free(cert);
}

static void
unread_free(gpointer data)
{
	GbeCertUnread *unread = data;

	g_free(unread->path);
	g_free(unread->why);
	g_free(unread);
}

void
gbe_certs_free(GbeCerts *certs)
{
	if (certs == NULL)
		return;
	g_ptr_array_unref(certs->certs);
	g_ptr_array_unref(certs->unread);
	g_free(certs);
}

const char *
gbe_chain_to_string(GbeChain chain)
{
	static const char *const words[] = {[GBE_CHAIN_SELF_SIGNED] = "self-signed",
					    [GBE_CHAIN_SIGNED] = "signed",
					    [GBE_CHAIN_WRONG] = "wrong",
					    [GBE_CHAIN_UNKNOWN] = "unknown"};

	return words[chain];
}

static void
add_unread(GbeCerts *certs, const char *path, const char *why)
{
	GbeCertUnread *unread = g_new0(GbeCertUnread, 1);

	unread->path = gbe_path_to_text(path);
	unread->why = g_strdup(why);
	g_ptr_array_add(certs->unread, unread);
}

/* Other files lie next to certificates; a file of these names should hold one, or a key. */
static bool
should_hold_some(const char *name)
{
	static const char *const endings[] = {".crt", ".cert", ".cer", ".pem", ".key"};

	for (gsize i = 0; i < G_N_ELEMENTS(endings); i++)
		if (g_str_has_suffix(name, endings[i]))
			return true;
	return false;
}

/* Returns how many certificates and keys were found. */
static guint
add_found(GbeCerts *certs, const char *path, const struct stat *st, GbePemReader *reader)
{
	guint position = 0;
	GbePem *pem;

	while (certs->certs->len < GBE_CERTS_MAX && (pem = gbe_pem_next(reader)) != NULL) {
		GbeCert *cert;

		position++;
		if (pem->kind == GBE_PEM_DAMAGED) {
			add_unread(certs, path, pem->problem);
			gbe_pem_free(pem);
			continue;
		}
		gbe_pem_forget_key(pem);
		cert = g_new0(GbeCert, 1);
		*cert = (GbeCert){.path = gbe_path_to_text(path),
				  .pem = pem,
				  .position = position,
				  .mode = st->st_mode & 07777,
				  .owner = st->st_uid,
				  .group = st->st_gid,
				  .endpoint = GBE_UNKNOWN};
		g_ptr_array_add(certs->certs, cert);
	}
	return position;
}

static bool
visit(const char *below, int dir_fd, const char *name, const struct stat *st, gpointer data,
      GError **error)
{
	Walk *walk = data;
	GbeCerts *certs = walk->certs;
	g_autofree char *path = g_strconcat(walk->directory, "/", below, NULL);
	g_autoptr(GbePemReader) reader = NULL;
	g_autoptr(GError) local = NULL;
	char *bytes = NULL;
	gsize size = 0;

	if (!S_ISREG(st->st_mode))
		return true;
	certs->truncated = certs->files == GBE_CERTS_MAX || certs->certs->len >= GBE_CERTS_MAX;
	if (certs->truncated)
		return gbe_throw(error, GBE_ERROR_FAILED, "there are too many files");
	certs->files++;
	if (!gbe_read_file_at(dir_fd, name, GBE_CERTS_FILE_MAX, &bytes, &size, &local)) {
		if (should_hold_some(name))
			add_unread(certs, path, local->message);
		return true;
	}
	if (!gbe_pem_open(bytes, size, &reader, &local))
		add_unread(certs, path, local->message);
	else if (add_found(certs, path, st, reader) == 0 && should_hold_some(name))
		add_unread(certs, path,
			   g_str_has_suffix(name, ".key")
			       ? "holds no private key"
			       : "holds no certificate and no private key");
	g_clear_pointer(&reader, gbe_pem_close);
	explicit_bzero(bytes, size);
	g_free(bytes);
	return true;
}

bool
gbe_certs_look(GbeApp *app, GbeCerts **ret_certs, GError **error)
{
	g_autoptr(GbeCerts) certs = g_new0(GbeCerts, 1);
	g_auto(GStrv) directories = NULL;

	certs->certs = g_ptr_array_new_with_free_func(cert_free);
	certs->unread = g_ptr_array_new_with_free_func(unread_free);
	if (!gbe_certs_directories(app->config->certs.directories, &directories, error))
		return false;
	certs->directories = g_strv_length(directories);
	for (guint i = 0; directories[i] != NULL; i++) {
		Walk walk = {certs, directories[i]};
		gbe_autofd int dir_fd = -1;
		g_autoptr(GError) local = NULL;

		if ((!gbe_open_in_root(app->root_fd, directories[i], O_RDONLY | O_DIRECTORY,
				       &dir_fd, &local) ||
		     !gbe_tree_walk(dir_fd, NULL, NULL, visit, &walk, &local)) &&
		    !certs->truncated)
			add_unread(certs, directories[i], local->message);
	}
	judge_all(certs, app->config, g_get_real_time() / G_USEC_PER_SEC);
	*ret_certs = g_steal_pointer(&certs);
	return true;
}
