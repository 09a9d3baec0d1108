/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/dlopen.h"

#define SONAME "libcrypto.so.3"
#define FUNCTIONS(X)                                                                               \
	X(EVP_DigestFinal_ex)                                                                      \
	X(EVP_DigestInit_ex)                                                                       \
	X(EVP_DigestUpdate)                                                                        \
	X(EVP_MD_CTX_free)                                                                         \
	X(EVP_MD_CTX_new)                                                                          \
	X(EVP_sha256)
GBE_DLOPEN_FUNCTIONS(FUNCTIONS);

void
gbe_sha256_init(GbeSha256 *sum)
{
	*sum = (GbeSha256){0};
	if (gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), NULL))
		sum->digest = lib.EVP_MD_CTX_new();
	if (sum->digest == NULL || lib.EVP_DigestInit_ex(sum->digest, lib.EVP_sha256(), NULL) != 1)
		sum->checksum = g_checksum_new(G_CHECKSUM_SHA256);
}

void
gbe_sha256_clear(GbeSha256 *sum)
{
	if (sum->digest != NULL)
		lib.EVP_MD_CTX_free(sum->digest);
	sum->digest = NULL;
	g_clear_pointer(&sum->checksum, g_checksum_free);
}

void
gbe_sha256_push(GbeSha256 *sum, const void *bytes, gsize size)
{
	if (sum->checksum != NULL)
		g_checksum_update(sum->checksum, bytes, (gssize)size);
	else if (lib.EVP_DigestUpdate(sum->digest, bytes, size) != 1)
		sum->broken = true;
}

bool
gbe_sha256_end(GbeSha256 *sum, guint8 ret_digest[GBE_SHA256_SIZE], GError **error)
{
	gsize length = GBE_SHA256_SIZE;

	if (sum->checksum != NULL)
		g_checksum_get_digest(sum->checksum, ret_digest, &length);
	else if (lib.EVP_DigestFinal_ex(sum->digest, ret_digest, NULL) != 1)
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
