/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Clones or copies the content of the files of one operation, one file after the other. */
#pragma once

#include "fs/copy/clone.h"
#include "fs/copy/compare.h"

typedef struct {
	const GbeCloneOptions *options;
	bool no_clones;	 /* the file systems refused clones: cloning is not tried again */
	guint64 done;	 /* bytes of finished files, for progress */
	guint64 extents; /* of the cloned files, where extents are counted */
	guint8 *buffer;
	GbeFileComparer comparer;
} GbeFileCloner;

void gbe_file_cloner_clear(GbeFileCloner *cloner);

/* @st is that of @src_fd, a regular file. @dst_fd is empty. */
bool gbe_file_cloner_run(GbeFileCloner *cloner, int src_fd, int dst_fd, const struct stat *st,
			 const char *what, GbeMethod *ret_method, guint64 *ret_written,
			 GError **error) GBE_CHECKED;

/*
 * Writes a large copy to the disk from a thread of its own while the next parts are read. Submitting blocks takes as
 * long as copying. At most GBE_BEHIND_MAX bytes wait for the disk. So reported bytes have really moved, memory does not
 * fill up, and the caller's sync is short. That sync also reports errors. Until then a power cut leaves any part of the
 * file. A cold file does not stay in memory.
 */
/* One minute's work for a disk that writes a megabyte a second. */
#define GBE_BEHIND_MAX ((guint64)64 * 1024 * 1024)

typedef struct GbeWriteBehind GbeWriteBehind;

/* @cold is @fd or its source: the file of which memory keeps no more than GBE_BEHIND_MAX; -1: none. So the device's
 * own work keeps its cache, and no part needs to look for new memory. The caller owns both fds and keeps them open
 * until the end. NULL: no thread could be made; write without one. */
GbeWriteBehind *gbe_write_behind_new(int fd, int cold);
/* Everything up to @offset has been written into @fd. Waits while too much waits for the disk. */
void gbe_write_behind_advance(GbeWriteBehind *behind, guint64 offset);
/* Returns once the disk has been told to write all of it. NULL is allowed. */
void gbe_write_behind_end(GbeWriteBehind *behind);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeWriteBehind, gbe_write_behind_end)
