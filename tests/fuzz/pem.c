/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a file of certificates and keys holds. */
#include "etcd/pem.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size);

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_autoptr(GPtrArray) found = gbe_pem_read((const char *)bytes, size, 8);

	if (found->len > 8)
		abort();
	for (guint i = 0; i < found->len; i++) {
		const GbePem *pem = found->pdata[i];

		/* What is damaged says so; a certificate has all that it is compared by. */
		if (pem->kind == GBE_PEM_DAMAGED && pem->problem == NULL)
			abort();
		if (pem->kind != GBE_PEM_CERTIFICATE)
			continue;
		if (pem->subject == NULL || pem->issuer == NULL || pem->names == NULL)
			abort();
		(void)gbe_pem_is_signed_by(pem, found->pdata[i]);
		(void)gbe_pem_is_for(pem, "localhost");
		(void)gbe_pem_is_for(pem, "127.0.0.1");
	}
	return 0;
}
