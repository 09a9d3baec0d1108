/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a file in PEM (RFC 7468) holds: certificates and private keys, looked at for people. By OpenSSL's
 * libcrypto, which libcurl brings along (glib's own certificates are in a module that small systems do not have).
 * Nothing is trusted by what is said here.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef enum {
	GBE_PEM_CERTIFICATE,
	GBE_PEM_KEY,	 /* private */
	GBE_PEM_DAMAGED, /* says that it is one of those, and cannot be read as such */
} GbePemKind;

typedef struct {
	GbePemKind kind;
	char *subject, *issuer;	      /* RFC 2253 */
	char **names;		      /* subjectAltName: "DNS:localhost", "IP:127.0.0.1" */
	gint64 not_before, not_after; /* seconds since the epoch; -1: unknown */
	gboolean ca, self_signed;
	gboolean server;    /* may be a server's: by its extended key usage, or as it has none */
	char *public_key;   /* SHA-256 of it in hex, the same for a certificate and its key; NULL */
	char *problem;	    /* NULL */
	gpointer x509, key; /* libcrypto's own, of a certificate and of a key */
} GbePem;

typedef struct GbePemReader GbePemReader;

/* Wipes a private key. */
void gbe_pem_free(GbePem *pem);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbePem, gbe_pem_free)

/* @bytes have to stay until the reader is closed. From one thread at a time. GBE_ERROR_UNSUPPORTED: there is no
 * libcrypto. */
bool gbe_pem_open(const char *bytes, gsize size, GbePemReader **ret_reader,
		  GError **error) GBE_CHECKED;
/* The next of what is there, in its order; NULL: there is no more. What is neither (parameters, public keys, text)
 * is left out. After what is damaged so that its end cannot be found, nothing comes any more. Never asks for a
 * passphrase: a key that needs one is there, with a problem. */
GbePem *gbe_pem_next(GbePemReader *reader);
void gbe_pem_close(GbePemReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbePemReader, gbe_pem_close)

/* Has @ca signed @certificate? By its key, not by its name alone. */
bool gbe_pem_is_signed_by(const GbePem *certificate, const GbePem *ca);
/* Wipes it, for who keeps the rest: it can be compared by ->public_key alone from then on. */
void gbe_pem_forget_key(GbePem *pem);
/* Is @key, which has no problem, the one of @certificate? */
bool gbe_pem_is_key_of(const GbePem *key, const GbePem *certificate);
/* Is @host, a name or an address, one that the certificate is for? */
bool gbe_pem_is_for(const GbePem *certificate, const char *host);
