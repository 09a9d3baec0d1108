/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * SHA-256 of large data, by GLib. libcrypto knows the processor and takes a third of GLib's time: a program that may load
 * it says so. The programs that decide about etcd's start load no libcrypto. Implemented in sha256.c,
 * sha256-libcrypto.c.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#define GBE_SHA256_SIZE 32

typedef struct {
	gpointer (*begin)(void); /* NULL: its library is not installed */
	bool (*push)(gpointer digest, const void *bytes, gsize size);
	bool (*end)(gpointer digest, guint8 *ret_digest);
	void (*drop)(gpointer digest);
} GbeSha256Backend;

extern const GbeSha256Backend gbe_sha256_libcrypto;

/* All sums that begin from now on are @backend's where its library is installed, else GLib's. */
void gbe_sha256_use(const GbeSha256Backend *backend);

typedef struct {
	const GbeSha256Backend *backend; /* of @digest */
	gpointer digest;		 /* or NULL */
	GChecksum *checksum;		 /* GLib's, or NULL */
	bool broken;			 /* @backend failed */
} GbeSha256;

void gbe_sha256_init(GbeSha256 *sum);
void gbe_sha256_clear(GbeSha256 *sum);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeSha256, gbe_sha256_clear)
void gbe_sha256_push(GbeSha256 *sum, const void *bytes, gsize size);
/* Call once, after all bytes. */
bool gbe_sha256_end(GbeSha256 *sum, guint8 ret_digest[GBE_SHA256_SIZE], GError **error) GBE_CHECKED;
/* In hex. Newly allocated. */
char *gbe_sha256_text(const guint8 digest[GBE_SHA256_SIZE]);
