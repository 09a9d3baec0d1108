/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What lies behind the end of the last segment's records. etcd preallocates a segment with zeros and
 * reads up to the first length of zero; when it starts, it clears the rest. Bytes other than zero there
 * are what a power cut left of a write that was never acknowledged, or the log has a hole and etcd
 * would throw away what it had promised to keep.
 *
 * The two can be told apart where two writes follow each other behind the hole: etcd flushes the log
 * before it writes on. An entry, then a state or nothing but entries, then a state, then an entry, each
 * with the checksum that follows from the one before: the first was flushed, and all before it.
 */
#pragma once

#include "etcd/window.h"

typedef struct {
	bool dirty;	  /* there is a byte that is not zero */
	guint64 dirty_at; /* where the first is */
	bool flushed;	  /* records were flushed behind the hole */
	guint64 flushed_at;
} GbeWalTail;

/* @from up to @size, the file's. @window: the segment's. Holes of the file are passed over. @entry: right before @from
 * ends an entry, whole but for its frame. */
bool gbe_wal_tail_scan(GbeWindow *window, guint64 from, guint64 size, bool entry,
		       GbeWalTail *ret_tail, GError **error) GBE_CHECKED;
