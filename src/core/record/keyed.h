/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keyed digests (HMAC-SHA-256) of descriptions of data: making one takes a key. GLib computes them, so programs that
 * run before etcd load no further library. The signed text is small, and contains the SHA-256 of large files.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#define GBE_KEYS_FILE_MAX 16384
#define GBE_KEYS_MAX 16
#define GBE_KEYED_LENGTH 64 /* hex digits of a keyed digest */

typedef struct GbeKeys GbeKeys;

/* A file of keys has one key on each line, 64 to 128 hex digits. Empty lines and lines that begin with # are ignored.
 * The first key signs; every key proves. So a new key goes in front, and an old key is removed when nothing that it
 * signed is needed any more.
 * GBE_ERROR_INVALID_CONFIG names the line, never its contents. */
bool gbe_keys_parse(const char *bytes, gsize size, GbeKeys **ret_keys, GError **error) GBE_CHECKED;
void gbe_keys_free(GbeKeys *keys);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeKeys, gbe_keys_free)

/* The kind of the signed object is part of the signed text, so a digest of one kind is invalid for another. */
typedef enum {
	GBE_KEYED_MANIFEST, /* of a backup */
	GBE_KEYED_STORED,   /* a snapshot in a store that travels */
	GBE_KEYED_FILE,	    /* a snapshot file */
	GBE_KEYED_DEVICE,   /* a snapshot in a store, and which device pushed it */
} GbeKeyed;

/* The digest in hex. Newly allocated. */
char *gbe_keys_sign(const GbeKeys *keys, GbeKeyed kind, const char *text);
/* @digest may be any text, or NULL. The time that the comparison takes does not tell how much of it is right. */
bool gbe_keys_prove(const GbeKeys *keys, GbeKeyed kind, const char *text, const char *digest);

/* The text to sign for a snapshot @name in a store. @meta and @db are SHA-256 in hex. The text contains the name, so an
 * old snapshot under a new name is not proved. Newly allocated. */
char *gbe_keyed_stored_text(const char *name, const char *meta, const char *db);
