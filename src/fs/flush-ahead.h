/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A clone of a file in many extents keeps the file system busy for as long as it has extents, and leaves as much to
 * be written: one after the other, unless what is there already goes to the disk meanwhile. So a thread has it
 * flushed once the clone has taken long for one, and again when it has taken four times as long as by the end of that;
 * a clone that is through before is left alone.
 *
 * Where one log keeps all changes in order (btrfs, XFS), and no other: there such a flush leaves after a power cut what
 * the kernel's own commit may leave at any moment, a file that is cloned up to somewhere, under a name that says so
 * (clone.h). Nothing is durable by it, and nobody may rest on it.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* In one operation: on a disk that takes its time for each, they are not to become what is waited for. */
#define GBE_FLUSH_AHEAD_MAX 3

typedef struct GbeFlushAhead GbeFlushAhead;

/* Before FICLONE into @fd of a file of @size bytes; @flushes: how many there were in this operation. @fd stays the
 * caller's, and open until the end. NULL: not worth a thread, not on this file system, or none to be had. */
GbeFlushAhead *gbe_flush_ahead_new(int fd, guint64 size, guint flushes);
/* After it; waits for a flush that is under way. False: one failed, and the caller's may not hear of that again. How
 * many there were is added to *flushes; @what as in sync.h. NULL is allowed. */
bool gbe_flush_ahead_end(GbeFlushAhead *ahead, const char *what, guint *flushes,
			 GError **error) GBE_CHECKED;
