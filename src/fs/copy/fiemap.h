/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists the extents of a file in order, in batches of fixed size. Only reads. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <linux/fiemap.h>

#define GBE_FIEMAP_BATCH 256

typedef struct {
	int fd;
	guint64 at;	  /* where the next batch begins */
	guint64 end;	  /* of the range */
	guint32 flags;	  /* FIEMAP_FLAG_* */
	guint batch_size; /* extents that are asked for at once, at most GBE_FIEMAP_BATCH */
	guint index;	  /* next extent in the batch */
	bool last;	  /* the batch holds the last extent */
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) + GBE_FIEMAP_BATCH * sizeof(struct fiemap_extent)];
	} batch;
} GbeFiemap;

/* The range is 0 to @end. FIEMAP_FLAG_SYNC in @flags writes dirty pages to their blocks first. */
void gbe_fiemap_init(GbeFiemap *fiemap, int fd, guint64 end, guint32 flags);
/* *ret_extent is valid until the next call, and NULL after the last extent. GBE_ERROR_UNSUPPORTED where the file
 * system has no FIEMAP. */
bool gbe_fiemap_next(GbeFiemap *fiemap, const struct fiemap_extent **ret_extent,
		     GError **error) GBE_CHECKED;
