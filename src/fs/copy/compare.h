/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Proves that a copy equals its source: the same names, types, sizes, owners, modes, mtimes, xattrs and content.
 * Content is proved in the cheapest way: by shared extents (FIEMAP) where a file was cloned, by reading its bytes
 * back where it was copied. GBE_ERROR_VERIFY_FAILED names the first entry that differs and how.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/record/manifest.h"
#include "fs/tree.h"

/* A manifest has no digest of a file with more bytes of holes than this. */
#define GBE_DIGEST_HOLES ((guint64)1024 * 1024 * 1024)

typedef enum {
	GBE_COMPARE_NAMES, /* names, types, sizes, metadata */
	/* also: the extents are shared with the source's, else the bytes are compared. Of a file with very many
	 * extents, the first 512 and places spread over the rest are looked at */
	GBE_COMPARE_CLONES,
	GBE_COMPARE_BYTES,
} GbeCompare;

/* @exclude: top-level names that are ignored in both trees. The nonce is always ignored. */
bool gbe_compare_trees(int src_dir, int dst_dir, GbeCompare how, const char *const *exclude,
		       bool (*progress)(guint64 bytes, gpointer data), gpointer progress_data,
		       GError **error) GBE_CHECKED;
/* Does data/ still hold what its manifest lists: names, types, sizes, and with @digests the recorded digests? Used
 * before a restore. Sockets and the nonce are ignored. A manifest with "not listed" is not compared. */
bool gbe_compare_manifest(int data_dir, const GbeManifest *manifest, bool digests,
			  bool (*progress)(guint64 bytes, gpointer data), gpointer progress_data,
			  GError **error) GBE_CHECKED;
/* Fills files, files_count and size of @manifest from the tree. With @digests it adds digests, but not of a file with
 * more than GBE_DIGEST_HOLES bytes of holes. A tree beyond @limits (NULL: those of every tree), or with a mount point
 * or a subvolume in it, is not listed. Then files is NULL, and files_count and size are 0. */
bool gbe_compare_record(int data_dir, const char *const *exclude, bool digests,
			const GbeTreeLimits *limits, GbeManifest *manifest,
			GError **error) GBE_CHECKED;
/* Did the last gbe_compare_record() list the tree? */
static inline bool
gbe_compare_is_listed(const GbeManifest *manifest)
{
	return manifest->files != NULL || manifest->files_count > 0;
}

/* Two buffers and the data that was just copied fit into a core's cache. */
#define GBE_COMPARE_BUFFER (64 * 1024)

typedef struct {
	bool (*progress)(guint64 bytes, gpointer data);
	gpointer progress_data;
	guint64 done;	    /* bytes of finished files */
	guint8 *buffers[2]; /* GBE_COMPARE_BUFFER each, allocated at first use */
} GbeFileComparer;

void gbe_file_comparer_clear(GbeFileComparer *comparer);

/* Compares from byte @offset to byte @end, also in holes. GBE_ERROR_VERIFY_FAILED says where the files differ. */
bool gbe_file_comparer_range(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 offset,
			     guint64 end, const char *what, GError **error) GBE_CHECKED;
