/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keyed digests (HMAC-SHA-256) of what is written down about data, so that who has no key cannot make it up.
 * By GLib, so that nothing that runs before etcd loads more for it; what is signed is small, and says the
 * SHA-256 of what is large.
 *
 * A file of keys has one on each line, 64 to 128 hex digits; empty lines and those that begin with # are
 * nothing. The first one signs, each of them proves: a new one is put in front, and the old one goes when
 * nothing that it signed is wanted any more.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#define GBE_KEYS_FILE_MAX 16384
#define GBE_KEYS_MAX 16
#define GBE_KEYED_LENGTH 64 /* hex digits of a keyed digest */

typedef struct GbeKeys GbeKeys;

/* GBE_ERROR_INVALID_CONFIG names the line; never what is in it. */
bool gbe_keys_parse(const char *bytes, gsize size, GbeKeys **ret_keys, GError **error) GBE_CHECKED;
void gbe_keys_free(GbeKeys *keys);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeKeys, gbe_keys_free)

/* What kind of thing is signed stands in front of it, so that no digest of one passes for another's. */
typedef enum {
	GBE_KEYED_MANIFEST, /* of a backup */
	GBE_KEYED_STORED,   /* a snapshot in a store that travels */
	GBE_KEYED_FILE,	    /* a snapshot file */
} GbeKeyed;

/* Hex. Newly allocated. */
char *gbe_keys_sign(const GbeKeys *keys, GbeKeyed kind, const char *text);
/* @digest may be anything, or NULL. How long it takes does not tell how much of it is right. */
bool gbe_keys_prove(const GbeKeys *keys, GbeKeyed kind, const char *text, const char *digest);

/* What is signed of a snapshot @name in a store: @meta and @db are SHA-256, hex. The name is in it, so that an
 * old one under a new name is none. Newly allocated. */
char *gbe_keyed_stored_text(const char *name, const char *meta, const char *db);
