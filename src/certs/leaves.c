/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/change.h"

#include <limits.h>
#include <unistd.h>

#include "app/certs/export.h"
#include "certs/core/renewal.h"

/* Where etcd has users, its root may do everything. Only the system's root can read the key. */
#define CLIENT_NAME "root"
/* RFC 5280: the longest common name, in characters; and the part of it that a name has in an authority's. */
#define NAME_MOST 64
#define NAME_IN_SUBJECT 32

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

static bool
read_authority(const GbeApp *app, const GbePkiOptions *options, GbeAuthority *authority,
	       GError **error)
{
	g_autoptr(GbeIssuer) issuer = NULL;
	gint64 from, to;

	if (!gbe_certs_read_file(app, options->ca_cert, false, &authority->certificate, error) ||
	    !gbe_certs_read_file(app, options->ca_key, true, &authority->key, error) ||
	    !gbe_issuer_open(authority->certificate, authority->key, options->ca_cert, &issuer,
			     error))
		return false;
	/* Everybody may read what is trusted: of the file, which may hold the key, too, the certificates are kept. */
	g_bytes_unref(authority->certificate);
	authority->certificate = g_bytes_ref(gbe_issuer_chain(issuer));
	/* An authority that has ended could issue nothing. */
	return gbe_renewal_times(now_seconds(), 1, gbe_issuer_certificate(issuer)->not_before,
				 gbe_issuer_certificate(issuer)->not_after, &from, &to, error);
}

bool
gbe_pki_seal(const GbePkiChange *change, GbeAuthority *authority, GError **error)
{
	const GbePkiOptions *options = change->options;

	/* systemd-creds makes the key that it seals with where it has none. */
	if (authority->key == NULL || (options->dry_run && !change->app->below_root))
		return true;
	return !(options->seal || gbe_seal_is_there(change->app)) ||
	       gbe_seal(change->app, authority->key, &authority->sealed, error);
}

bool
gbe_pki_make_authority(const GbePkiChange *change, GbeAuthority *authority, GError **error)
{
	const GbePkiOptions *options = change->options;
	g_autofree char *name = own_name(change->app, NAME_IN_SUBJECT);
	g_autofree char *subject = NULL;
	GbeCertOrder order = {0};

	if ((options->ca_cert == NULL) != (options->ca_key == NULL))
		return gbe_throw(error, GBE_ERROR_USAGE, "--ca-cert and --ca-key go together");
	if (options->ca_cert != NULL) {
		if (!read_authority(change->app, options, authority, error))
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

bool
gbe_pki_open_issuer(GbeApp *app, GbeAuthority *authority, GbeIssuer **ret_issuer, GError **error)
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

	if (!gbe_pki_open_issuer(app, &pki->signer, &issuer, error))
		return false;
	by = gbe_issuer_certificate(issuer);
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

static char *
due(const GbePki *pki, guint leaf, const GbePem *authority, char *const *hosts,
    gint64 *ret_renew_at)
{
	g_autoptr(GbePem) certificate = gbe_pem_first(pki->certificates[leaf]);
	g_autoptr(GbePem) key = gbe_pem_first(pki->keys[leaf]);
	GbeLeafFacts facts = {0};

	if (certificate == NULL || certificate->kind != GBE_PEM_CERTIFICATE) {
		facts.problem = "it is missing or damaged";
	} else if (key == NULL || key->kind != GBE_PEM_KEY || key->problem != NULL) {
		facts.problem = "its key is missing or damaged";
	} else if (!gbe_pem_is_key_of(key, certificate)) {
		facts.problem = "its key is another one's";
	} else {
		facts.signed_by_authority =
		    authority != NULL && gbe_pem_is_signed_by(certificate, authority);
		facts.not_before = certificate->not_before;
		facts.not_after = certificate->not_after;
		facts.authority_not_before = authority != NULL ? authority->not_before : -1;
		for (guint i = 0; leaf != GBE_LEAF_CLIENT && hosts[i] != NULL; i++)
			if (facts.lacks == NULL && !gbe_pem_is_for(certificate, hosts[i]))
				facts.lacks = hosts[i];
		*ret_renew_at =
		    MIN(*ret_renew_at, gbe_renewal_at(facts.not_before, facts.not_after));
	}
	return gbe_renewal_reason(&facts, now_seconds());
}

char *
gbe_pki_due(GbeApp *app, const GbePki *pki, gint64 *ret_renew_at)
{
	g_auto(GStrv) hosts = gbe_pki_hosts(app);
	g_autoptr(GbePem) authority = gbe_pem_first(pki->signer.certificate);
	gint64 renew_at = G_MAXINT64;
	char *reason = NULL;

	for (guint i = 0; i < GBE_LEAVES; i++) {
		g_autofree char *why = due(pki, i, authority, hosts, &renew_at);

		if (why != NULL && reason == NULL)
			reason = g_strdup_printf("%s.crt: %s", gbe_leaf_name(i), why);
	}
	if (ret_renew_at != NULL)
		*ret_renew_at = renew_at < G_MAXINT64 ? renew_at : -1;
	return reason;
}
