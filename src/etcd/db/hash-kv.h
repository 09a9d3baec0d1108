/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * etcd's two hashes of its database, as `etcdctl snapshot status` and `etcdctl endpoint hashkv` print them: CRC-32C
 * over names, keys and values in order (reference etcd.md section 5, mvcc/hash.go). HashKV begins with the name of
 * the bucket "key" and leaves out superseded rows up to the compacted revision; its other rows are the snapshot
 * hash's, in the same order. So rows beyond that revision are summed only once for both.
 */
#pragma once

#include <glib.h>

#include "base/crc32c.h"

/* A sum over pieces that are mostly side by side in memory, as bbolt lays out a leaf. */
typedef struct {
	guint32 crc;
	guint64 size;	     /* of all bytes that were put */
	const guint8 *begin; /* not summed yet */
	const guint8 *end;
} GbeStream;

/* Sums the rest. Call this before the memory of the rest goes. */
static inline void
gbe_stream_settle(GbeStream *stream)
{
	if (stream->begin != stream->end)
		stream->crc =
		    gbe_crc32c(stream->crc, stream->begin, (gsize)(stream->end - stream->begin));
	stream->begin = NULL;
	stream->end = NULL;
}

static inline void
gbe_stream_put(GbeStream *stream, const guint8 *at, gsize size)
{
	stream->size += size;
	if (at != stream->end) {
		gbe_stream_settle(stream);
		stream->begin = at;
	}
	stream->end = at + size;
}

/* The sum so far. Settles first. */
static inline guint32
gbe_stream_sum(GbeStream *stream)
{
	gbe_stream_settle(stream);
	return stream->crc;
}

/* HashKV from the snapshot's hash. @prefix: the hash of "key" and of the rows that count up to the compacted
 * revision. @from and @to: the snapshot's hash before the first row beyond that revision and after the last row.
 * @size: the bytes between these. */
static inline guint32
gbe_hash_kv(guint32 prefix, guint32 from, guint32 to, guint64 size)
{
	return to ^ gbe_crc32c_shift(prefix ^ from, size);
}
