/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by db.c and rows.c, which implement etcd/db/db.h. etcd's hashes of its database are those that `etcdctl
 * snapshot status` and `etcdctl endpoint hashkv` print. Each is a CRC-32C over names, keys and values in order
 * (reference etcd.md section 5, mvcc/hash.go). HashKV begins with the name of the bucket "key" and leaves out
 * superseded rows up to the compacted revision. Its other rows are the snapshot hash's, in the same order. So rows
 * after that revision are summed only once for both.
 */
#pragma once

#include "base/crc32c.h"
#include "etcd/db/bbolt.h"
#include "etcd/db/db.h"

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

typedef struct {
	const GbeDbOptions *options;
	GbeBbolt bolt;
	GbeFindings *findings;
	GbeDb db;
	gint64 scheduled, finished; /* compactions; 0: none */
	GbeStream snapshot;
	GbeLook look;
} GbeDbReader;

/* ---- the bucket "key": rows.c ---- */

/* Reads every row, proves the pages, and continues the snapshot's hash over the rows. */
bool gbe_db_read_rows(GbeDbReader *reader, const GbeBboltBucket *bucket, GbePageSet *reached,
		      GError **error) GBE_CHECKED;
/* Adds a value that is too large for the window to @stream, piece by piece. The row's key becomes invalid. */
bool gbe_db_stream_value(GbeDbReader *reader, const GbeBboltRow *row, GbeStream *stream,
			 GError **error) GBE_CHECKED;

static inline GBE_CHECKED bool
gbe_db_stream_row(GbeDbReader *reader, const GbeBboltRow *row, GbeStream *stream, GError **error)
{
	gbe_stream_put(stream, row->key, row->key_size);
	if (row->value == NULL)
		return gbe_db_stream_value(reader, row, stream, error);
	gbe_stream_put(stream, row->value, (gsize)row->value_size);
	return true;
}
