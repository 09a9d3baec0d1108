/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Examines what follows the last segment's records. etcd preallocates with zeros, reads up to the first length of
 * zero, and clears the rest when it starts. Other bytes there are what a power cut left of an unacknowledged write,
 * or the log has a hole and etcd would drop promised entries. Two writes in a row behind the hole prove a hole,
 * because etcd flushes the log between them.
 */
#pragma once

#include "etcd/window.h"

typedef struct {
	bool dirty;	  /* there is a byte that is not zero */
	guint64 dirty_at; /* the first such byte */
	bool flushed;	  /* records behind the hole were flushed */
	guint64 flushed_at;
} GbeWalTail;

/* Scans from @from up to @size, the file's, through the segment's @window. Holes of the file are skipped. @entry:
 * an entry, whole but for its frame, ends right before @from. The proof of a flush: an entry, then a state or only
 * entries, then a state, then an entry, each with the checksum that follows from its predecessor: the first and all
 * before it were flushed. */
bool gbe_wal_tail_scan(GbeWindow *window, guint64 from, guint64 size, bool entry,
		       GbeWalTail *ret_tail, GError **error) GBE_CHECKED;
