/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many bytes a copy would write and how many a removal would free, counted in extents: SEEK_DATA
 * and preallocation for copies, FIEMAP's shared flag for clones.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef struct {
	guint64 apparent;  /* sum of sizes */
	guint64 data;	   /* as SEEK_DATA/SEEK_HOLE report */
	guint64 allocated; /* st_blocks */
	guint64 exclusive; /* allocated and not shared with another file: what removal frees */
	guint64 extents;   /* number */
} GbeExtents;

/* @fiemap FALSE leaves exclusive = allocated and extents = 0. */
bool gbe_extents_of_tree(int dir_fd, gboolean fiemap, GbeExtents *ret_extents,
			 GError **error) GBE_CHECKED;
/* Are there more than @limit extents in the tree? Looks at no more than that, in an order of its own.
 * @exclude: as in tree.h. GBE_ERROR_UNSUPPORTED where the file system has no FIEMAP. */
bool gbe_extents_exceed(int dir_fd, const char *const *exclude, guint limit, bool *ret_exceed,
			GError **error) GBE_CHECKED;
