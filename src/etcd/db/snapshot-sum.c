/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/snapshot-sum.h"

#include <openssl/evp.h>
#include <string.h>

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
gbe_snapshot_sum_init(GbeSnapshotSum *sum)
{
	*sum = (GbeSnapshotSum){0};
	if (gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), NULL))
		sum->digest = lib.EVP_MD_CTX_new();
	if (sum->digest == NULL || lib.EVP_DigestInit_ex(sum->digest, lib.EVP_sha256(), NULL) != 1)
		sum->checksum = g_checksum_new(G_CHECKSUM_SHA256);
}

void
gbe_snapshot_sum_clear(GbeSnapshotSum *sum)
{
	if (sum->digest != NULL)
		lib.EVP_MD_CTX_free(sum->digest);
	sum->digest = NULL;
	g_clear_pointer(&sum->checksum, g_checksum_free);
}

static void
update(GbeSnapshotSum *sum, const guint8 *bytes, gsize size)
{
	if (sum->checksum != NULL)
		g_checksum_update(sum->checksum, bytes, (gssize)size);
	else if (lib.EVP_DigestUpdate(sum->digest, bytes, size) != 1)
		sum->broken = true;
}

static void
finish(GbeSnapshotSum *sum, guint8 digest[GBE_SNAPSHOT_SUM])
{
	gsize length = GBE_SNAPSHOT_SUM;

	if (sum->checksum != NULL)
		g_checksum_get_digest(sum->checksum, digest, &length);
	else if (lib.EVP_DigestFinal_ex(sum->digest, digest, NULL) != 1)
		sum->broken = true;
}

void
gbe_snapshot_sum_push(GbeSnapshotSum *sum, const guint8 *bytes, gsize size)
{
	gsize out = sum->held + size > GBE_SNAPSHOT_SUM ? sum->held + size - GBE_SNAPSHOT_SUM : 0;
	gsize from_held = MIN(out, sum->held);
	gsize from_bytes = out - from_held;

	sum->size += size;
	if (from_held > 0) {
		update(sum, sum->last, from_held);
		sum->held -= from_held;
		memmove(sum->last, sum->last + from_held, sum->held);
	}
	if (from_bytes > 0)
		update(sum, bytes, from_bytes);
	if (size > from_bytes)
		memcpy(sum->last + sum->held, bytes + from_bytes, size - from_bytes);
	sum->held += size - from_bytes;
}

bool
gbe_snapshot_sum_check(GbeSnapshotSum *sum, GError **error)
{
	guint8 digest[GBE_SNAPSHOT_SUM];

	if (sum->size <= GBE_SNAPSHOT_SUM || sum->size % GBE_SNAPSHOT_SECTOR != GBE_SNAPSHOT_SUM)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "its %" G_GUINT64_FORMAT " bytes are no database with a checksum "
				 "behind it: it is cut off, or is none",
				 sum->size);
	finish(sum, digest);
	if (sum->broken)
		return gbe_throw(error, GBE_ERROR_FAILED, "libcrypto gives no SHA-256");
	if (memcmp(digest, sum->last, sizeof(digest)) != 0)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "the database is not what the checksum behind it says");
	return true;
}

char *
gbe_snapshot_sum_text(const GbeSnapshotSum *sum)
{
	GString *text = g_string_new(NULL);

	for (gsize i = 0; i < GBE_SNAPSHOT_SUM; i++)
		g_string_append_printf(text, "%02x", sum->last[i]);
	return g_string_free(text, false);
}
