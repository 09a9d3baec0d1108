/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps room for records on a full disk: a file of allocated blocks that nobody reads. It is given back when the
 * file system has nothing else left, and made again when there is room. Records matter more than a megabyte: who
 * had the data, and with which verdict, decides at the next start what is restored. A power cut leaves no file or a
 * file of any size; each is fine.
 */
#pragma once

#include "base/auto.h"

/* Many times what the records of one start need: a few blocks, a directory, a chunk of inodes. */
#define GBE_RESERVE_SIZE (1024 * 1024)

/* Where less than GBE_RESERVE_SIZE is free: removes the file durably, so that its blocks can be used at once. Best
 * effort: the write that follows reports a lack of room itself. */
void gbe_reserve_release_at(int dir_fd, const char *name);
/* Makes the file as large as there is room for. Best effort; flushes nothing. */
void gbe_reserve_keep_at(int dir_fd, const char *name);
