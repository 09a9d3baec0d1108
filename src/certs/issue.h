/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes certificates and their private keys (ECDSA, P-256; PKCS #8), with OpenSSL's libcrypto: an authority, and the
 * leaves that it signs. Everything is PEM in memory. The extensions are those of RFC 5280 that the verifiers of Go
 * and OpenSSL need.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "etcd/tls/pem.h"

typedef enum {
	GBE_USE_CLIENT, /* clientAuth */
	/* serverAuth and clientAuth: etcd's server is a client of itself (gateway, JSON), and members of each other. */
	GBE_USE_SERVER,
	GBE_USE_PEER,
} GbeCertUse;

/* An authority that signs. */
typedef struct {
	GbePem *certificate, *key;
	GBytes *chain;	       /* PEM: only its certificate and those after it */
	GBytes *intermediates; /* PEM: the certificates that follow a leaf; may be empty */
} GbeIssuer;

typedef struct {
	const char *name;   /* the subject's common name; NULL: that of the request */
	char *const *hosts; /* names and addresses; NULL: none, or those of the request */
	GbeCertUse use;
	gint64 not_before, not_after; /* seconds since the epoch */
	guint64 validity; /* seconds, of `certs issue` and `sign`, which set the times */
} GbeCertOrder;

/* A private key in PEM. */
typedef GBytes GbePrivateKey;
/* Wipes the bytes, for every holder of a reference. NULL is fine. */
void gbe_private_key_free(GbePrivateKey *key);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbePrivateKey, gbe_private_key_free)

/* A new authority, which signs leaf certificates only. Of @order the name and the times count. */
bool gbe_issue_authority(const GbeCertOrder *order, GBytes **ret_certificate,
			 GbePrivateKey **ret_key, GError **error) GBE_CHECKED;
/* @certificate: the authority's, followed by those that signed it. @what names the file. GBE_ERROR_REFUSED: not an
 * authority, or a damaged one; the key does not match, is weak, or needs a passphrase; _CORRUPT: unreadable;
 * _UNSUPPORTED: no libcrypto. */
bool gbe_issuer_open(GBytes *certificate, GbePrivateKey *key, const char *what,
		     GbeIssuer **ret_issuer, GError **error) GBE_CHECKED;
void gbe_issuer_free(GbeIssuer *issuer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeIssuer, gbe_issuer_free)

/* A new key, and its certificate followed by those of the intermediate authorities. */
bool gbe_issue(const GbeIssuer *issuer, const GbeCertOrder *order, GBytes **ret_certificate,
	       GbePrivateKey **ret_key, GError **error) GBE_CHECKED;
/* A certificate for a request (PKCS #10, PEM), whose own signature is checked. Of the request only the subject, the
 * names and addresses and the public key count. GBE_ERROR_CORRUPT, _REFUSED: a weak key. Asks for no passphrase. */
bool gbe_issue_for_request(const GbeIssuer *issuer, const GbeCertOrder *order, GBytes *request,
			   GBytes **ret_certificate, GError **error) GBE_CHECKED;
