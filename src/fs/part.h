/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes a large file that appears as a whole: "NAME.part" during the write, NAME once the file is on the disk. A
 * power cut leaves a complete NAME or a "NAME.part", which the next writer of NAME takes over, and never an
 * incomplete NAME. A writer holds flock(2) on the part, so that two never write the same file.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <sys/types.h>

#define GBE_PART_SUFFIX ".part"

typedef struct {
	int dir_fd; /* borrowed */
	int fd;	    /* also readable; -1: none, or the file was published */
	char *name, *part;
	bool replace;
	off_t written, started; /* bytes written; and how many of them the disk was told to write */
} GbePart;

/* Removes the part unless it was published. */
void gbe_part_clear(GbePart *part);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbePart, gbe_part_clear)

/* @name is one component of the open @dir_fd, which outlives the part. Without @replace, an existing NAME is
 * GBE_ERROR_FAILED. GBE_ERROR_BUSY: another process writes it. Mode 0600. */
bool gbe_part_begin(int dir_fd, const char *name, bool replace, GbePart *ret_part,
		    GError **error) GBE_CHECKED;
/* Allocates the blocks for @size bytes where the file system can do that in advance: GBE_ERROR_NO_SPACE then comes
 * now and not after an hour. */
bool gbe_part_reserve(GbePart *part, guint64 size, GError **error) GBE_CHECKED;
/* Appends. */
bool gbe_part_write(GbePart *part, const void *bytes, gsize size, GError **error) GBE_CHECKED;
/* Syncs the content, renames the part to NAME, and syncs the directory. Reserved blocks beyond the end are freed. */
bool gbe_part_publish(GbePart *part, GError **error) GBE_CHECKED;
