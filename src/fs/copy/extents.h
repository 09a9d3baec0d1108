/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts how many bytes a copy would write and how many a removal would free (FIEMAP's shared flag). Lists the extents
 * and the data of a file. Only reads.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/space.h"

#include <linux/fiemap.h>

typedef struct {
	guint64 allocated; /* from st_blocks */
	guint64 exclusive; /* allocated and not shared with another file: a removal frees it */
	guint64 entries;   /* files and directories below the tree's top */
} GbeExtents;

/* With @fiemap false, exclusive equals allocated. */
bool gbe_extents_of_tree(int dir_fd, bool fiemap, GbeExtents *ret_extents,
			 GError **error) GBE_CHECKED;
/* Fills in what a copy of @src_fd's tree would take where @dst_fd is, and what is free there. With @clones a copy takes
 * no bytes, and the tree is read only where inodes are few. */
bool gbe_extents_space(int src_fd, int dst_fd, bool clones, GbeSpace *ret_space,
		       GError **error) GBE_CHECKED;
/* Does the tree have more than @limit extents? Counting stops beyond @limit, in no given order of files. @exclude
 * is as in tree.h. GBE_ERROR_UNSUPPORTED where the file system has no FIEMAP. */
bool gbe_extents_exceed(int dir_fd, const char *const *exclude, guint limit, bool *ret_exceed,
			GError **error) GBE_CHECKED;

/* The extents of a file in order, in batches of fixed size. */
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

/* @fiemap is zeroed. The range is 0 to @end. FIEMAP_FLAG_SYNC in @flags writes dirty pages to their blocks first. */
void gbe_fiemap_init(GbeFiemap *fiemap, int fd, guint64 end, guint32 flags);
/* *ret_extent is valid until the next call, and NULL after the last extent. GBE_ERROR_UNSUPPORTED where the file
 * system has no FIEMAP. */
bool gbe_fiemap_next(GbeFiemap *fiemap, const struct fiemap_extent **ret_extent,
		     GError **error) GBE_CHECKED;
/* The next range with data at or after @offset of @size bytes. Without data, both are @size. @what: the file in a
 * message. */
bool gbe_next_data(int fd, guint64 offset, guint64 size, guint64 *ret_data, guint64 *ret_hole,
		   const char *what, GError **error) GBE_CHECKED;
