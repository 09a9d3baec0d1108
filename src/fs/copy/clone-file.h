/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Clones or copies the content of the files of one operation, one file after the other. */
#pragma once

#include "fs/copy/clone.h"
#include "fs/copy/compare-file.h"

typedef struct {
	const GbeCloneOptions *options;
	bool no_clones;	 /* the file systems refused clones: cloning is not tried again */
	guint64 done;	 /* bytes of finished files, for progress */
	guint64 extents; /* of the cloned files, where extents are counted */
	guint8 *buffer;
	GbeFileComparer comparer;
} GbeFileCloner;

void gbe_file_cloner_clear(GbeFileCloner *cloner);
/* Reports that @in_file bytes of the present file are done. False: the operation was cancelled. */
bool gbe_file_cloner_report(const GbeFileCloner *cloner, guint64 in_file, const char *what,
			    GError **error) GBE_CHECKED;

/* @st is that of @src_fd, a regular file. @dst_fd is empty. */
bool gbe_file_cloner_run(GbeFileCloner *cloner, int src_fd, int dst_fd, const struct stat *st,
			 const char *what, GbeMethod *ret_method, guint64 *ret_written,
			 GError **error) GBE_CHECKED;
