/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is copied into a large file goes to the disk while the next parts are read: begun by a thread of its
 * own, because finding blocks for it and handing it on takes as long as copying it. The disk is never further
 * behind than GBE_BEHIND_MAX: bytes that are reported as moved have moved, memory is not filled with what
 * waits, and the caller's sync has little to wait for. An error is reported there, too. Before that sync a power
 * cut leaves any part of the file.
 *
 * What nobody reads soon does not stay in memory, which so neither loses what the device works on nor has to be found
 * anew for each part.
 */
#pragma once

#include <glib.h>

/* A minute's worth for a disk that writes a megabyte a second. */
#define GBE_BEHIND_MAX ((guint64)64 * 1024 * 1024)

typedef struct GbeWriteBehind GbeWriteBehind;

/* @cold: @fd, or what it is copied from: the file of which memory keeps no more than GBE_BEHIND_MAX. -1: none. Both stay
 * the caller's, and open until the end. NULL: there is no thread to be had, write without. */
GbeWriteBehind *gbe_write_behind_new(int fd, int cold);
/* Everything up to @offset has been written. Waits while the disk is too far behind. */
void gbe_write_behind_advance(GbeWriteBehind *behind, guint64 offset);
/* When all of it has been begun. NULL is allowed. */
void gbe_write_behind_end(GbeWriteBehind *behind);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeWriteBehind, gbe_write_behind_end)
