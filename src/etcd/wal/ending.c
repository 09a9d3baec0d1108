/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/ending.h"

#include "etcd/wal/tail.h"

/* A disk writes this much as a whole. */
#define SECTOR 512U

typedef struct {
	GbeWalSegmentReader *reader;
	const char *file;
	GbeFindings *findings;
} Ending;

static void
add(const Ending *ending, GbeSeverity severity, const char *code, GbeTri notices, GbeTri loses,
    const char *what)
{
	gbe_findings_add(ending->findings, severity, code, ending->file, GBE_PLACE_RECORD,
			 ending->reader->offset, notices, loses, "%s", what);
}

/* Each record is padded to the place where the next may begin. */
static bool
is_askew(const GbeWalSegmentReader *reader)
{
	return reader->offset % GBE_WAL_FRAME != 0;
}

static void
add_askew(const Ending *ending)
{
	add(ending, GBE_FINDING_DAMAGE, "wal-length", GBE_NO, GBE_YES,
	    "the record before is not as long as its frame says: etcd would take this for the end, "
	    "and remove what lies behind");
}

/* A power cut leaves no wrong length. The length is written together with the bytes after it, unless a sector ends
 * between them; then it is right, or zero. */
static bool
only_length_is_wrong(const Ending *ending, bool missing, bool *ret_is, GError **error)
{
	if (!gbe_wal_segment_misframed(ending->reader, ret_is, error))
		return false;
	*ret_is = *ret_is && !missing;
	if (*ret_is)
		add(ending, GBE_FINDING_DAMAGE, "wal-length", GBE_NO, GBE_YES,
		    "the record is whole, but for its length, which is not: etcd would cut it off, "
		    "and all behind it");
	return true;
}

/* etcd would take this for the end and remove the rest. */
static void
add_hole(const Ending *ending, const GbeWalTail *tail, const char *what)
{
	gbe_findings_add(ending->findings, GBE_FINDING_DAMAGE, "wal-hole", ending->file,
			 GBE_PLACE_RECORD, ending->reader->offset, GBE_NO, GBE_YES,
			 "%s, and behind it lie records that had been flushed (at byte "
			 "%" G_GUINT64_FORMAT "): etcd would remove them",
			 what, tail->flushed_at);
}

static bool
judge_zero(const Ending *ending, GbeTri *ret_whole, GError **error)
{
	GbeWalSegmentReader *reader = ending->reader;
	bool missing = reader->offset % SECTOR == SECTOR - GBE_WAL_FRAME;
	guint64 from = reader->offset;
	bool wrong_length = false;
	bool whole = false;
	GbeWalTail tail;

	if (!only_length_is_wrong(ending, missing, &wrong_length, error) ||
	    (missing && !gbe_wal_segment_misframed(reader, &whole, error)))
		return false;
	*ret_whole = GBE_NO;
	if (wrong_length)
		return true;
	/* An entry whose frame alone is missing proves as much for the bytes after it as a whole one. */
	whole = whole && reader->record.type == GBE_WAL_ENTRY;
	if (whole)
		from += GBE_WAL_FRAME + (reader->record.head + reader->record.size + 7) / 8 * 8;
	if (!gbe_wal_tail_scan(&reader->window, from, reader->size, whole, &tail, error))
		return false;
	if (whole && !tail.dirty) {
		tail.dirty = true;
		tail.dirty_at = reader->offset + GBE_WAL_FRAME;
	}
	if (!tail.dirty) {
		*ret_whole = GBE_YES;
	} else if (is_askew(reader)) {
		add_askew(ending);
	} else if (tail.flushed) {
		add_hole(ending, &tail, "the log ends here");
	} else {
		*ret_whole = GBE_UNKNOWN;
		gbe_findings_add(ending->findings, GBE_FINDING_NOTE, "wal-tail", ending->file,
				 GBE_PLACE_OFFSET, tail.dirty_at, GBE_NO, GBE_NO,
				 "bytes behind the end of the log, at byte %" G_GUINT64_FORMAT
				 ": a write that was cut off, or was never acknowledged",
				 reader->offset);
	}
	return true;
}

static bool
judge_torn(const Ending *ending, GbeWalEnd end, GbeVersion version, GbeTri *ret_whole,
	   GError **error)
{
	static const GbeVersion forgiving = {.major = 3, .minor = 5, .known = true};
	GbeWalSegmentReader *reader = ending->reader;
	bool too_long = end == GBE_WAL_END_CUT && reader->size - reader->offset >= GBE_WAL_FRAME &&
			reader->frame.length + reader->frame.padding >= GBE_WAL_LENGTH_OLD;
	bool wrong_length = false;
	GbeWalTail tail;

	*ret_whole = GBE_NO;
	if (is_askew(reader)) {
		add_askew(ending);
		return true;
	}
	if (!only_length_is_wrong(ending, false, &wrong_length, error))
		return false;
	if (wrong_length)
		return true;
	if (!gbe_wal_tail_scan(&reader->window, reader->offset + GBE_WAL_FRAME, reader->size, false,
			       &tail, error))
		return false;
	if (tail.flushed) {
		add_hole(ending, &tail, "a record is broken here as if it had been written last");
		return true;
	}
	if (too_long && gbe_version_above(forgiving, version) != GBE_NO) {
		add(ending, version.known ? GBE_FINDING_DAMAGE : GBE_FINDING_UNKNOWN, "wal-length",
		    GBE_YES, GBE_NO,
		    "the record's length cannot be right, and etcd 3.4 does not start on it");
		return true;
	}
	*ret_whole = GBE_UNKNOWN;
	if (too_long)
		add(ending, GBE_FINDING_WARNING, "wal-length", GBE_YES, GBE_NO,
		    "the record's length cannot be right; etcd 3.5.5 and newer cut it off, older "
		    "ones do not start");
	else
		add(ending, GBE_FINDING_NOTE, "wal-torn", GBE_YES, GBE_NO,
		    "the last record was not written to its end");
	return true;
}

bool
gbe_wal_ending_judge(GbeWalSegmentReader *reader, GbeWalEnd end, bool last, GbeVersion version,
		     const char *file, GbeFindings *findings, GbeTri *ret_whole, GError **error)
{
	Ending ending = {.reader = reader, .file = file, .findings = findings};

	switch (end) {
	case GBE_WAL_END_NONE:
	case GBE_WAL_END_FILE:
		/* etcd keeps the last segment preallocated while it writes there. */
		*ret_whole = last ? GBE_UNKNOWN : GBE_YES;
		return true;
	case GBE_WAL_END_ZERO:
		*ret_whole = GBE_YES;
		/* Not in other segments: the next one's checksum shows a missing record. */
		return last ? judge_zero(&ending, ret_whole, error) : true;
	case GBE_WAL_END_CUT:
	case GBE_WAL_END_TORN:
		if (last)
			return judge_torn(&ending, end, version, ret_whole, error);
		break;
	case GBE_WAL_END_BROKEN:
		break;
	}
	*ret_whole = GBE_NO;
	if (end == GBE_WAL_END_CUT)
		add(&ending, GBE_FINDING_DAMAGE, "wal-cut", GBE_YES, GBE_NO,
		    "the segment ends in the middle of a record, and is not the last one");
	else
		add(&ending, GBE_FINDING_DAMAGE, "wal-crc", GBE_YES, GBE_NO,
		    "the record is not what its checksum says");
	return true;
}
