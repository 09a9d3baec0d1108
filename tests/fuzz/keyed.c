/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file of keys, and proofs made with them: each key's own digest is accepted, and no random one. */
#include "core/record/keyed.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size);

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_autofree char *text = g_strndup(size > 0 ? (const char *)bytes : "", size);
	g_autoptr(GbeKeys) keys = NULL;
	g_autofree char *digest = NULL;

	if (!gbe_keys_parse((const char *)bytes, size, &keys, NULL))
		return 0;
	digest = gbe_keys_sign(keys, GBE_KEYED_MANIFEST, text);
	if (!gbe_keys_prove(keys, GBE_KEYED_MANIFEST, text, digest) ||
	    gbe_keys_prove(keys, GBE_KEYED_FILE, text, digest) ||
	    gbe_keys_prove(keys, GBE_KEYED_MANIFEST, text, text))
		abort();
	return 0;
}
