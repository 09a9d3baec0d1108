/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/sha256.h"

static const GbeSha256Backend *faster;

void
gbe_sha256_use(const GbeSha256Backend *backend)
{
	faster = backend;
}

void
gbe_sha256_init(GbeSha256 *sum)
{
	*sum = (GbeSha256){.backend = faster};
	if (faster != NULL)
		sum->digest = faster->begin();
	if (sum->digest == NULL)
		sum->checksum = g_checksum_new(G_CHECKSUM_SHA256);
}

void
gbe_sha256_clear(GbeSha256 *sum)
{
	if (sum->digest != NULL)
		sum->backend->drop(sum->digest);
	sum->digest = NULL;
	g_clear_pointer(&sum->checksum, g_checksum_free);
}

void
gbe_sha256_push(GbeSha256 *sum, const void *bytes, gsize size)
{
	if (sum->checksum != NULL)
		g_checksum_update(sum->checksum, bytes, (gssize)size);
	else if (!sum->backend->push(sum->digest, bytes, size))
		sum->broken = true;
}

bool
gbe_sha256_end(GbeSha256 *sum, guint8 ret_digest[GBE_SHA256_SIZE], GError **error)
{
	gsize length = GBE_SHA256_SIZE;

	if (sum->checksum != NULL)
		g_checksum_get_digest(sum->checksum, ret_digest, &length);
	else if (!sum->backend->end(sum->digest, ret_digest))
		sum->broken = true;
	return !sum->broken || gbe_throw(error, GBE_ERROR_FAILED, "libcrypto computes no SHA-256");
}

char *
gbe_sha256_text(const guint8 digest[GBE_SHA256_SIZE])
{
	GString *text = g_string_new(NULL);

	for (gsize i = 0; i < GBE_SHA256_SIZE; i++)
		g_string_append_printf(text, "%02x", digest[i]);
	return g_string_free(text, false);
}
