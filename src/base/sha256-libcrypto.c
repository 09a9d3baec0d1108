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

static void
drop_sha256(gpointer digest)
{
	lib.EVP_MD_CTX_free(digest);
}

static gpointer
begin_sha256(void)
{
	EVP_MD_CTX *digest;

	if (!gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), NULL))
		return NULL;
	digest = lib.EVP_MD_CTX_new();
	if (digest != NULL && lib.EVP_DigestInit_ex(digest, lib.EVP_sha256(), NULL) == 1)
		return digest;
	drop_sha256(digest);
	return NULL;
}

static bool
push_sha256(gpointer digest, const void *bytes, gsize size)
{
	return lib.EVP_DigestUpdate(digest, bytes, size) == 1;
}

static bool
end_sha256(gpointer digest, guint8 *ret_digest)
{
	return lib.EVP_DigestFinal_ex(digest, ret_digest, NULL) == 1;
}

const GbeSha256Backend gbe_sha256_libcrypto = {begin_sha256, push_sha256, end_sha256, drop_sha256};
