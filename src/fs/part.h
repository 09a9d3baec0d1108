/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A large file that appears as a whole: "NAME.part" while it is written, NAME once it is on the disk.
 * A power cut leaves a "NAME.part", which the next writer of NAME takes over, or NAME complete; never a
 * NAME that is not. Whoever writes has flock(2) on the part, so that two never write the same.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <sys/types.h>

#define GBE_PART_SUFFIX ".part"

typedef struct {
	int dir_fd; /* borrowed */
	int fd;	    /* readable, too; -1: none, or it has its name */
	char *name, *part;
	gboolean replace;
	off_t written, started; /* so far; and of it, what the disk was told to begin with */
} GbePart;

/* Removes the part where it was not published. */
void gbe_part_clear(GbePart *part);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbePart, gbe_part_clear)

/* @name is one component of the open @dir_fd, which outlives the part. Without @replace a NAME that is
 * there is GBE_ERROR_FAILED. GBE_ERROR_BUSY: somebody else writes it. Mode 0600. */
bool gbe_part_begin(int dir_fd, const char *name, gboolean replace, GbePart *ret_part,
		    GError **error) GBE_CHECKED;
/* Takes the blocks for @size bytes where the file system can do that beforehand: GBE_ERROR_NO_SPACE comes
 * now, and not after an hour. */
bool gbe_part_reserve(GbePart *part, guint64 size, GError **error) GBE_CHECKED;
/* Goes on at the end. */
bool gbe_part_write(GbePart *part, const void *bytes, gsize size, GError **error) GBE_CHECKED;
/* Durable, then named, then that durable. What was reserved beyond the end is given back. */
bool gbe_part_publish(GbePart *part, GError **error) GBE_CHECKED;
