/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * etcd's two hashes of its database, as `etcdctl snapshot status` and `etcdctl endpoint hashkv` print
 * them: CRC-32C over names, keys and values in order (reference etcd.md section 5, mvcc/hash.go).
 *
 * HashKV begins with the name of the bucket "key", and has the same rows as the snapshot's hash, in the
 * same order, but for those up to the compacted revision that a newer row of their key has superseded.
 * So everything beyond that revision is summed up once for both.
 */
#pragma once

#include <glib.h>

#include "base/crc32c.h"

/* A sum over pieces that are mostly side by side in memory, as bbolt lays out a leaf. */
typedef struct {
	guint32 crc;
	guint64 size;	     /* of all that was put */
	const guint8 *begin; /* not summed up yet */
	const guint8 *end;
} GbeStream;

/* What is not summed up must be, before its memory goes. */
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

/* The sum of both so far; settles. */
static inline guint32
gbe_stream_sum(GbeStream *stream)
{
	gbe_stream_settle(stream);
	return stream->crc;
}

/* HashKV from the snapshot's hash: @prefix, of "key" and the rows that count up to the compacted
 * revision; @from and @to, the snapshot's hash before the first row beyond it and after the last one;
 * @size, bytes between these. */
static inline guint32
gbe_hash_kv(guint32 prefix, guint32 from, guint32 to, guint64 size)
{
	return to ^ gbe_crc32c_shift(prefix ^ from, size);
}
