/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts in extents how many bytes a copy would write (SEEK_DATA and preallocation) and how many a removal would
 * free (FIEMAP's shared flag).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/space.h"

typedef struct {
	guint64 apparent;  /* sum of sizes */
	guint64 data;	   /* as SEEK_DATA/SEEK_HOLE report */
	guint64 allocated; /* from st_blocks */
	guint64 exclusive; /* allocated and not shared with another file: a removal frees it */
	guint64 extents;   /* number */
	guint64 entries;   /* files and directories below the tree's top */
} GbeExtents;

/* With @fiemap false, exclusive equals allocated and extents is 0. */
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
