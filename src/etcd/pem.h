/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a file in PEM (RFC 7468) holds: certificates and private keys, looked at for people. By libcrypto, as
 * certificate.h. Nothing is trusted by what is said here, and no private key is kept.
 */
#pragma once

#include "base/auto.h"

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
	gboolean server;  /* may be a server's: by its extended key usage, or as it has none */
	char *public_key; /* SHA-256 of it in hex, the same for a certificate and its key; NULL */
	char *problem;	  /* NULL */
	gpointer x509;
} GbePem;

void gbe_pem_free(GbePem *pem);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbePem, gbe_pem_free)

/* At most @most of what is in @bytes, in its order: of GbePem. What is neither (parameters, public keys, text) is
 * left out. Never asks for a passphrase: a key that needs one is there, with a problem. */
GPtrArray *gbe_pem_read(const char *bytes, gsize size, guint most);
/* Has @ca signed @certificate? By its key, not by its name alone. */
bool gbe_pem_is_signed_by(const GbePem *certificate, const GbePem *ca);
/* Is @host, a name or an address, one that the certificate is for? */
bool gbe_pem_is_for(const GbePem *certificate, const char *host);
