/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One segment of the log: its records one after the other, and where and how they end. */
#pragma once

#include "etcd/wal-record.h"
#include "etcd/window.h"

/* How a segment's records end. */
typedef enum {
	GBE_WAL_END_NONE,   /* they do not: there is one more */
	GBE_WAL_END_FILE,   /* with the file */
	GBE_WAL_END_ZERO,   /* with a length of zero: preallocated behind */
	GBE_WAL_END_CUT,    /* the file ends in the middle of one */
	GBE_WAL_END_TORN,   /* one is wrong, and a sector of it was never written */
	GBE_WAL_END_BROKEN, /* one is wrong */
} GbeWalEnd;

typedef struct {
	GbeWindow window;
	guint64 size;
	guint64 offset;	 /* of the record that is looked at */
	guint64 next;	 /* behind it */
	guint32 running; /* the checksum so far, over all segments */
	GbeWalFrame frame;
	GbeWalRecord record;
	const guint8 *data; /* the record's; until the next call */
	gsize have; /* of the record's data, as much as the window holds: all but of giants */
} GbeWalSegmentReader;

/* Of @fd, borrowed like @what and @look; @running goes on from the segment before. */
void gbe_wal_segment_open(GbeWalSegmentReader *reader, int fd, const char *what, guint64 size,
			  guint32 running, GbeLook *look);
void gbe_wal_segment_close(GbeWalSegmentReader *reader);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeWalSegmentReader, gbe_wal_segment_close)
/* The next record, its checksum compared (but for a record of type GBE_WAL_CRC, whose meaning is the
 * caller's), or how they end; ->offset is there. Errors are those of reading. */
bool gbe_wal_segment_next(GbeWalSegmentReader *reader, GbeWalEnd *ret_end,
			  GError **error) GBE_CHECKED;
/* At an end: is there a whole record, which follows on the one before, of which the frame alone says something
 * else, or nothing? */
bool gbe_wal_segment_misframed(GbeWalSegmentReader *reader, bool *ret_is,
			       GError **error) GBE_CHECKED;
