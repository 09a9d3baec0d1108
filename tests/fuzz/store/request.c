/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any file placed in a store as a request. */
#include "store/core/store-request.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size);

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_auto(GbeStoreRequest) request = {0};
	g_autofree char *file = g_strndup(size > 0 ? (const char *)bytes : "", size);
	g_autofree char *name = NULL;

	if (gbe_store_request_state(file, &name) != GBE_STORE_REQUEST_NONE &&
	    strpbrk(name, "/\033") != NULL)
		abort();
	if (gbe_store_request_parse((const char *)bytes, size, &request, NULL) &&
	    request.restore != (request.snapshot != NULL))
		abort();
	return 0;
}
