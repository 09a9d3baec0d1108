/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The content of the files of one operation, cloned or copied one after the other. */
#pragma once

#include "fs/clone.h"
#include "fs/compare-file.h"

typedef struct {
	const GbeCloneOptions *options;
	gboolean no_clones; /* the file systems as such refused: not tried again */
	guint64 done;	    /* bytes of files that are through, for progress */
	guint flushes;	    /* flush-ahead.h */
	guint64 extents;    /* of the files that were cloned, where they are counted */
	guint8 *buffer;
	GbeFileComparer comparer;
} GbeFileCloner;

void gbe_file_cloner_clear(GbeFileCloner *cloner);
/* @in_file bytes of the present one are through; false: cancelled. */
bool gbe_file_cloner_report(const GbeFileCloner *cloner, guint64 in_file, const char *what,
			    GError **error) GBE_CHECKED;

/* @st of @src_fd, a regular file; @dst_fd is empty. */
bool gbe_file_cloner_run(GbeFileCloner *cloner, int src_fd, int dst_fd, const struct stat *st,
			 const char *what, GbeMethod *ret_method, guint64 *ret_written,
			 GError **error) GBE_CHECKED;
