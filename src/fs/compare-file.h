/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The content of two files of the same size, and digests. For fs/compare.h. */
#pragma once

#include "fs/compare.h"

/* Two of them, and what was just copied, stay in a core's cache. */
#define GBE_COMPARE_BUFFER (64 * 1024)

typedef struct {
	bool (*progress)(guint64 bytes, gpointer data);
	gpointer progress_data;
	guint64 done;	    /* bytes of files that are through */
	guint8 *buffers[2]; /* GBE_COMPARE_BUFFER each, made when first needed */
} GbeFileComparer;

/* @exclude and the nonce, NULL-terminated; the names are not copied. */
GPtrArray *gbe_compare_excluded(const char *const *exclude);

void gbe_file_comparer_clear(GbeFileComparer *comparer);

/* GBE_ERROR_VERIFY_FAILED says where they differ. */
bool gbe_file_comparer_bytes(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 size,
			     const char *what, GError **error) GBE_CHECKED;
/* From byte @offset to byte @end, whatever holes there are. */
bool gbe_file_comparer_range(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 offset,
			     guint64 end, const char *what, GError **error) GBE_CHECKED;
/* Do both files consist of the same blocks, each of them shared? *ret_shared false: that cannot be said
 * (it is no error), compare the bytes. */
bool gbe_file_comparer_extents(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 size,
			       const char *what, bool *ret_shared, GError **error) GBE_CHECKED;
/* SHA-256 in hex of the whole file, newly allocated. */
bool gbe_file_comparer_digest(GbeFileComparer *comparer, int fd, const char *what,
			      char **ret_digest, GError **error) GBE_CHECKED;
