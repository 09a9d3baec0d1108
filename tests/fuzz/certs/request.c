/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A request for a certificate, which anybody may have made: what is issued can be read, and is the authority's. */
#include "certs/issue.h"
#include "lib/fuzz.h"

/* 2026-01-01 */
#define NOW 1767225600

static const GbeIssuer *
issuer(void)
{
	static GbeIssuer *one;
	const GbeCertOrder order = {.name = "CA",
				    .not_before = NOW - 86400,
				    .not_after = NOW + 86400};
	g_autoptr(GBytes) certificate = NULL;
	g_autoptr(GbePrivateKey) key = NULL;

	if (one == NULL && (!gbe_issue_authority(&order, &certificate, &key, NULL) ||
			    !gbe_issuer_open(certificate, key, "ca.crt", &one, NULL)))
		abort();
	return one;
}

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	const GbeCertOrder order = {.not_before = NOW, .not_after = NOW + 3600};
	g_autoptr(GBytes) request = g_bytes_new(bytes, size);
	g_autoptr(GBytes) certificate = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(GbePemReader) reader = NULL;
	g_autoptr(GbePem) pem = NULL;

	if (!gbe_issue_for_request(issuer(), &order, request, &certificate, &error)) {
		if (certificate != NULL)
			fuzz_fail("refused and issued");
		return 0;
	}
	if (!gbe_pem_open(g_bytes_get_data(certificate, NULL), g_bytes_get_size(certificate),
			  &reader, NULL))
		fuzz_fail("libcrypto is gone");
	pem = gbe_pem_next(reader);
	if (pem == NULL || pem->kind != GBE_PEM_CERTIFICATE || pem->ca || pem->server ||
	    !gbe_pem_is_signed_by(pem, issuer()->certificate))
		fuzz_fail("what was issued is not as it was ordered");
	return 0;
}
