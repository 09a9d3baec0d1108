/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * SHA-256 of large data. Uses libcrypto, which knows the processor and takes a third of GLib's time; GLib where
 * libcrypto is not installed.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#define GBE_SHA256_SIZE 32

typedef struct {
	gpointer digest;     /* libcrypto's, or NULL */
	GChecksum *checksum; /* GLib's, or NULL */
	bool broken;	     /* libcrypto failed */
} GbeSha256;

void gbe_sha256_init(GbeSha256 *sum);
void gbe_sha256_clear(GbeSha256 *sum);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeSha256, gbe_sha256_clear)
void gbe_sha256_push(GbeSha256 *sum, const void *bytes, gsize size);
/* Call once, after all bytes. */
bool gbe_sha256_end(GbeSha256 *sum, guint8 ret_digest[GBE_SHA256_SIZE], GError **error) GBE_CHECKED;
/* In hex. Newly allocated. */
char *gbe_sha256_text(const guint8 digest[GBE_SHA256_SIZE]);
