/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Room for records on a disk that is full: a file of allocated blocks that nobody reads, given back to
 * the file system when it has nothing else left, and taken again when it has.
 *
 * A take-over or a verdict that cannot be written is worse than a megabyte less: who had the data, and with
 * what verdict, decides at the next start what is restored.
 *
 * A power cut leaves the file or none, with any size; none of them is wrong.
 */
#pragma once

#include "base/auto.h"

/* What the records of one start take many times over: a few blocks, a directory, a chunk of inodes. */
#define GBE_RESERVE_SIZE (1024 * 1024)

/* Where less than that is free: removes the file, if there is one, durably, so that its blocks can be
 * used at once. Best effort: what follows says itself whether there was room. */
void gbe_reserve_release_at(int dir_fd, const char *name);
/* Makes the file, or what there is room for of it. Best effort; flushes nothing. */
void gbe_reserve_keep_at(int dir_fd, const char *name);
