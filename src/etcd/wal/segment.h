/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the records of one segment of the log in order, and tells where and how they end. */
#pragma once

#include "core/version.h"
#include "etcd/finding.h"
#include "etcd/wal/record.h"
#include "etcd/window.h"

/* 3.4, and 3.5 up to 3.5.4, refuse to read a record of this length, with its padding. */
#define GBE_WAL_LENGTH_OLD ((guint64)10 * 1024 * 1024)

/* How a segment's records end. */
typedef enum {
	GBE_WAL_END_NONE,   /* no end: there is another record */
	GBE_WAL_END_FILE,   /* at the end of the file */
	GBE_WAL_END_ZERO,   /* with a length of zero, before preallocated space */
	GBE_WAL_END_CUT,    /* the file ends within a record */
	GBE_WAL_END_TORN,   /* a record is wrong, and a sector of it was never written */
	GBE_WAL_END_BROKEN, /* a record is wrong */
} GbeWalEnd;

typedef struct {
	GbeWindow window;
	guint64 size;
	guint64 offset;	 /* of the present record */
	guint64 next;	 /* of the following record */
	guint32 running; /* the checksum so far, over all segments */
	GbeWalFrame frame;
	GbeWalRecord record;
	const guint8 *data; /* the record's data, valid until the next call */
	gsize have;	    /* bytes of the record's data in the window: all but for giants */
} GbeWalSegmentReader;

/* Gets the record that @reader has read. */
typedef void (*GbeWalVisitor)(const GbeWalSegmentReader *reader, gpointer data);

/* @fd, @what and @look are borrowed. @running continues from the previous segment. */
void gbe_wal_segment_open(GbeWalSegmentReader *reader, int fd, const char *what, guint64 size,
			  guint32 running, GbeLook *look);
void gbe_wal_segment_close(GbeWalSegmentReader *reader);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeWalSegmentReader, gbe_wal_segment_close)
/* Reads the next record and compares its checksum, but not of type GBE_WAL_CRC, which the caller handles. Or finds how
 * the records end; ->offset is then the end. Errors are read errors. */
bool gbe_wal_segment_next(GbeWalSegmentReader *reader, GbeWalEnd *ret_end,
			  GError **error) GBE_CHECKED;

/*
 * Judges how a segment's records end. In the middle of the log only an end at the end of the file is sound. In the
 * last segment etcd forgives what a power cut may leave: it cuts off or clears what follows, even where flushed
 * records follow.
 *
 * @reader stands at the end; its window moves. *ret_whole: GBE_YES, the segment ends as etcd leaves it.
 * GBE_UNKNOWN, it ends as after a power cut or a shorter copy, and the log alone does not tell what followed.
 * GBE_NO, more followed, and etcd would not see it or would refuse to start. */
bool gbe_wal_segment_judge_end(GbeWalSegmentReader *reader, GbeWalEnd end, bool last,
			       GbeVersion version, const char *file, GbeFindings *findings,
			       GbeTri *ret_whole, GError **error) GBE_CHECKED;
