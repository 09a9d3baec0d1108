/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is the copy the source? Same names, types, sizes, owner, mode, mtime, xattrs; and content, by what
 * is cheapest and still a proof: shared extents (FIEMAP) where it was cloned, bytes read back where it
 * was copied. GBE_ERROR_VERIFY_FAILED names the first entry that differs and how.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/manifest.h"
#include "fs/tree.h"

/* Files with more bytes of holes have no digest in a manifest. */
#define GBE_DIGEST_HOLES ((guint64)1024 * 1024 * 1024)

typedef enum {
	GBE_COMPARE_NAMES, /* names, types, sizes, metadata */
	GBE_COMPARE_CLONES, /* and the extents are shared with the source's (of a file in very many: the
			     * first 512, and places spread over the rest); else bytes */
	GBE_COMPARE_BYTES,
} GbeCompare;

/* @exclude: top-level names that are looked at in neither tree (the nonce among them, always). */
bool gbe_compare_trees(int src_dir, int dst_dir, GbeCompare how, const char *const *exclude,
		       bool (*progress)(guint64 bytes, gpointer data), gpointer progress_data,
		       GError **error) GBE_CHECKED;
/* Does data/ still hold what its manifest lists: names, types, sizes, and digests where recorded and
 * @digests? Used before a restore. Sockets and the nonce are not looked at. Nothing is compared where the
 * manifest says "not listed". */
bool gbe_compare_manifest(int data_dir, const GbeManifest *manifest, gboolean digests,
			  bool (*progress)(guint64 bytes, gpointer data), gpointer progress_data,
			  GError **error) GBE_CHECKED;
/* Fills files, files_count, size of @manifest from the tree; digests where @digests, but not of a file with
 * more than GBE_DIGEST_HOLES bytes of holes. Where the tree is more than a tree may be (deeper, larger, a mount
 * point or a subvolume in it), or @limits (NULL: those of every tree) are not enough, it is not listed:
 * files are NULL, files_count and size 0. */
bool gbe_compare_record_within(int data_dir, const char *const *exclude, gboolean digests,
			       const GbeTreeLimits *limits, GbeManifest *manifest,
			       GError **error) GBE_CHECKED;
bool gbe_compare_record(int data_dir, const char *const *exclude, gboolean digests,
			GbeManifest *manifest, GError **error) GBE_CHECKED;
/* Did the last of these list the tree? */
static inline bool
gbe_compare_is_listed(const GbeManifest *manifest)
{
	return manifest->files != NULL || manifest->files_count > 0;
}
