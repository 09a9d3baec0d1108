/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps room for records and for a restore on a full disk. A file holds allocated blocks, and is never read. The
 * directory next to it ("<name>-inodes") has empty files, which hold inodes. Each is given back when the file system
 * has nothing else left, and made again when there is room. Records matter more than a megabyte: the recorded owner and
 * verdict decide on the restore at the next start. A power cut leaves no file or a file of any size, and any number of
 * empty files; each is fine.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Many times what the records of one start need: a few blocks, a directory, a chunk of inodes. */
#define GBE_RESERVE_SIZE (1024 * 1024)
/* More than a restore and etcd's next start make: some twenty files and directories of etcd, and a few of ours. */
#define GBE_RESERVE_INODES 64U

/* Gives back what is short: the blocks where less than GBE_RESERVE_SIZE is free, the inodes where fewer than
 * GBE_RESERVE_INODES are. Durable, so that they can be used at once. Best effort: the write that follows reports a
 * lack of room itself. */
void gbe_reserve_release_at(int dir_fd, const char *name);
/* The same, however much is free: for a write that met a full disk. */
void gbe_reserve_give_up_at(int dir_fd, const char *name);
/* Makes the file as large as there is room for, and the empty files where as many inodes stay free for others. Best
 * effort; flushes nothing. */
void gbe_reserve_keep_at(int dir_fd, const char *name);

/*
 * Returns the space that an import or a download must leave free: a twentieth of the file system, at most 1 GiB. Half
 * of the space that was free at the beginning is the limit, so that a small snapshot still fits onto a nearly full
 * disk.
 */
typedef struct {
	int fd; /* borrowed; on that file system */
	guint64 keep;
} GbeRoom;

bool gbe_room_begin(int fd, GbeRoom *ret_room, GError **error) GBE_CHECKED;
/* GBE_ERROR_NO_SPACE: after @size more bytes of @what, less than that would be free. */
bool gbe_room_check(const GbeRoom *room, guint64 size, const char *what,
		    GError **error) GBE_CHECKED;
