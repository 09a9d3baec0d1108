/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The content of a file of certificates and keys. */
#include "etcd/tls/pem.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size);

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_autoptr(GbePemReader) reader = NULL;
	GbePem *pem;

	if (!gbe_pem_open((const char *)bytes, size, &reader, NULL))
		abort();
	while ((pem = gbe_pem_next(reader)) != NULL) {
		/* A damaged entry is reported as such; a certificate has all members that are compared. */
		if (pem->kind == GBE_PEM_DAMAGED && pem->problem == NULL)
			abort();
		if (pem->kind == GBE_PEM_CERTIFICATE) {
			if (pem->subject == NULL || pem->issuer == NULL || pem->names == NULL)
				abort();
			(void)gbe_pem_is_signed_by(pem, pem);
			(void)gbe_pem_is_for(pem, "localhost");
			(void)gbe_pem_is_for(pem, "127.0.0.1");
		}
		gbe_pem_free(pem);
	}
	return 0;
}
