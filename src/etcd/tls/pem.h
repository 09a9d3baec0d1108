/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads certificates and private keys from PEM (RFC 7468), to describe them to people. Uses OpenSSL's libcrypto,
 * which comes with libcurl (glib's certificates are in a module that small systems do not have). No trust follows
 * from a result.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/health/health.h"

typedef enum {
	GBE_PEM_CERTIFICATE,
	GBE_PEM_KEY,	 /* private */
	GBE_PEM_DAMAGED, /* its label is one of these, but the content cannot be read */
} GbePemKind;

typedef struct {
	GbePemKind kind;
	char *subject, *issuer;	      /* RFC 2253 */
	char **names;		      /* subjectAltName: "DNS:localhost", "IP:127.0.0.1" */
	gint64 not_before, not_after; /* seconds since the epoch; -1: unknown */
	bool ca, self_signed;
	/* may be a server's: its extended key usage allows that, or is absent */
	bool server;
	char *public_key;   /* its SHA-256 in hex, equal for a certificate and its key; or NULL */
	char *problem;	    /* or NULL */
	gpointer x509, key; /* libcrypto's objects of a certificate and of a key */
} GbePem;

typedef struct GbePemReader GbePemReader;

/* Wipes a private key. */
void gbe_pem_free(GbePem *pem);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbePem, gbe_pem_free)

/* @bytes must stay until the reader is closed. Use it from one thread at a time. GBE_ERROR_UNSUPPORTED: libcrypto
 * is not installed. */
bool gbe_pem_open(const char *bytes, gsize size, GbePemReader **ret_reader,
		  GError **error) GBE_CHECKED;
/* The next certificate or private key, in the file's order; NULL: no more. Other content (parameters, public keys,
 * text) is skipped. After damage whose end cannot be found, no more objects come. Never asks for a passphrase: a
 * key that needs one is returned with a problem. */
GbePem *gbe_pem_next(GbePemReader *reader);
/* The first one in @bytes; NULL: no object, @bytes is NULL, or libcrypto is not installed. */
GbePem *gbe_pem_first(GBytes *bytes);
void gbe_pem_close(GbePemReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbePemReader, gbe_pem_close)

/* Has @ca signed @certificate? Checks the signature, not only the name. */
bool gbe_pem_is_signed_by(const GbePem *certificate, const GbePem *ca);
/* Wipes the private key when only the rest is needed. From then on the key can only be compared by ->public_key. */
void gbe_pem_forget_key(GbePem *pem);
/* Does @key, which has no problem, belong to @certificate? */
bool gbe_pem_is_key_of(const GbePem *key, const GbePem *certificate);
/* Is the certificate valid for @host, a name or an address? */
bool gbe_pem_is_for(const GbePem *certificate, const char *host);

/* Examines the files that TLS needs apart from their use, so that each problem names its file. @cacert, @cert,
 * @key: NULL or "" for none. Fills @tls in that order, paths included. Never asks for a passphrase: a key that
 * needs one is a problem. */
void gbe_certificates_look(const char *cacert, const char *cert, const char *key,
			   GbeTlsFile tls[3]);
