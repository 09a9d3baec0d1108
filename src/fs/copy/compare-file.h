/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the content of two files of the same size and computes digests, for fs/copy/compare.h. Implemented in
 * compare-file.c, compare-manifest.c. */
#pragma once

#include "fs/copy/compare.h"

/* Two buffers and the data that was just copied fit into a core's cache. */
#define GBE_COMPARE_BUFFER (64 * 1024)

typedef struct {
	bool (*progress)(guint64 bytes, gpointer data);
	gpointer progress_data;
	guint64 done;	    /* bytes of finished files */
	guint8 *buffers[2]; /* GBE_COMPARE_BUFFER each, allocated at first use */
} GbeFileComparer;

/* The names in @exclude and the nonce's, NULL-terminated. The names are not copied. */
GPtrArray *gbe_compare_excluded(const char *const *exclude);

void gbe_file_comparer_clear(GbeFileComparer *comparer);

/* GBE_ERROR_VERIFY_FAILED says where the files differ. */
bool gbe_file_comparer_bytes(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 size,
			     const char *what, GError **error) GBE_CHECKED;
/* Compares from byte @offset to byte @end and reads holes, too. */
bool gbe_file_comparer_range(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 offset,
			     guint64 end, const char *what, GError **error) GBE_CHECKED;
/* Do both files consist of the same blocks, each of them shared? *ret_shared false means that the extents cannot
 * prove it, which is no error: compare the bytes. */
bool gbe_file_comparer_extents(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 size,
			       const char *what, bool *ret_shared, GError **error) GBE_CHECKED;
/* SHA-256 in hex of the whole file, newly allocated. */
bool gbe_file_comparer_digest(GbeFileComparer *comparer, int fd, const char *what,
			      char **ret_digest, GError **error) GBE_CHECKED;
