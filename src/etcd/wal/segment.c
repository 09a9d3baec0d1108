/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/crc32c.h"

/* Large enough to make reading cheap, small enough for the checksum to find it in the cache. */
#define WINDOW ((gsize)256 * 1024)
/* A disk writes this much as a whole or not at all, as etcd assumes. */
#define SECTOR 512U
#define CHUNK ((gsize)64 * 1024)
/* Many bytes may look like lengths: this is the most that is read because of them. */
#define BUDGET ((guint64)256 * 1024 * 1024)
#define STEP 8U

void
gbe_wal_segment_open(GbeWalSegmentReader *reader, int fd, const char *what, guint64 size,
		     guint32 running, GbeLook *look)
{
	*reader = (GbeWalSegmentReader){
	    .window = gbe_window_begin(fd, what, WINDOW, look),
	    .size = size,
	    .running = running,
	};
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

void
gbe_wal_segment_close(GbeWalSegmentReader *reader)
{
	gbe_window_clear(&reader->window);
}

/* Does a sector of the record, or its part of a sector, have only zeros? Then a power cut kept it from being
 * written: etcd's own test. */
static bool
has_unwritten_sector(GbeWalSegmentReader *reader, bool *ret_has, GError **error)
{
	guint64 at = reader->offset + GBE_WAL_FRAME;
	guint64 end = at + reader->frame.length + reader->frame.padding;

	*ret_has = false;
	while (at < end && !*ret_has) {
		gsize want = (gsize)MIN(SECTOR - at % SECTOR, end - at);
		const guint8 *bytes = NULL;
		gsize got = 0;

		if (!gbe_window_at(&reader->window, at, want, &bytes, &got, error))
			return false;
		if (got < want)
			break;
		*ret_has = *bytes == 0 && memcmp(bytes, bytes + 1, want - 1) == 0;
		at += want;
	}
	return true;
}

/* Continues the checksum over the record's data, including the part of a giant that is not in the window. */
static bool
sum_up(GbeWalSegmentReader *reader, GError **error)
{
	guint64 at = reader->offset + GBE_WAL_FRAME + reader->record.head;

	reader->running = gbe_crc32c(reader->running, reader->data, reader->have);
	if (reader->have == reader->record.size)
		return true;
	if (!gbe_window_crc32c(&reader->window, at + reader->have, at + reader->record.size,
			       &reader->running, error))
		return false;
	/* The caller wants the beginning in the window. */
	return gbe_window_at(&reader->window, at, GBE_WAL_ENTRY_HEAD, &reader->data, &reader->have,
			     error);
}

/* Checks the record at ->offset, of @length bytes, of which @got are at @at. *ret_sound: it is a record with the
 * checksum that follows. Otherwise ->running is unchanged. */
static bool
take_record(GbeWalSegmentReader *reader, const guint8 *at, gsize got, guint64 length,
	    bool *ret_sound, GError **error)
{
	guint32 before = reader->running;
	bool sound = false;

	if (gbe_wal_record_read(at, got, length, &reader->record)) {
		reader->data = at + reader->record.head;
		reader->have = (gsize)MIN(got - reader->record.head, reader->record.size);
		if (reader->record.type != GBE_WAL_CRC && !sum_up(reader, error))
			return false;
		sound = reader->record.type == GBE_WAL_CRC || reader->running == reader->record.crc;
	}
	if (!sound)
		reader->running = before;
	*ret_sound = sound;
	return true;
}

bool
gbe_wal_segment_next(GbeWalSegmentReader *reader, GbeWalEnd *ret_end, GError **error)
{
	const guint8 *at = NULL;
	bool sound = false;
	bool torn = false;
	guint64 whole;
	gsize got = 0;

	*ret_end = GBE_WAL_END_NONE;
	reader->offset = reader->next;
	if (!gbe_window_at(&reader->window, reader->offset, GBE_WAL_FRAME, &at, &got, error))
		return false;
	if (got == 0)
		*ret_end = GBE_WAL_END_FILE;
	else if (got < GBE_WAL_FRAME)
		*ret_end = GBE_WAL_END_CUT;
	else if (!gbe_wal_frame_read(at, &reader->frame))
		*ret_end = GBE_WAL_END_ZERO;
	else if (!gbe_wal_frame_fits(&reader->frame, reader->offset, reader->size))
		*ret_end = GBE_WAL_END_CUT;
	if (*ret_end != GBE_WAL_END_NONE)
		return true;
	whole = GBE_WAL_FRAME + reader->frame.length;
	reader->next = reader->offset + whole + reader->frame.padding;
	/* As much of the record as the window can hold. */
	if (!gbe_window_at(&reader->window, reader->offset, (gsize)MIN(whole, WINDOW), &at, &got,
			   error))
		return false;
	/* The file is now shorter than a frame: another process cuts it during the read. */
	got -= MIN(got, GBE_WAL_FRAME);
	if (!take_record(reader, at + GBE_WAL_FRAME, got, reader->frame.length, &sound, error))
		return false;
	if (sound)
		return true;
	if (!has_unwritten_sector(reader, &torn, error))
		return false;
	*ret_end = torn ? GBE_WAL_END_TORN : GBE_WAL_END_BROKEN;
	return true;
}

/* At an end: is there a whole record that follows the last one, and whose frame alone is wrong or zero? */
static bool
is_misframed(GbeWalSegmentReader *reader, bool *ret_is, GError **error)
{
	guint32 running = reader->running;
	const guint8 *at = NULL;
	guint64 length = 0;
	gsize got = 0;

	*ret_is = false;
	if (!gbe_window_at(&reader->window, reader->offset, GBE_WAL_FRAME + GBE_WAL_HEAD, &at, &got,
			   error))
		return false;
	if (got <= GBE_WAL_FRAME || !gbe_wal_frame_read(at, &reader->frame))
		reader->frame = (GbeWalFrame){0};
	if (got <= GBE_WAL_FRAME ||
	    !gbe_wal_record_length(at + GBE_WAL_FRAME, got - GBE_WAL_FRAME, &length) ||
	    length == reader->frame.length ||
	    length > reader->size - reader->offset - GBE_WAL_FRAME)
		return true;
	if (!gbe_window_at(&reader->window, reader->offset + GBE_WAL_FRAME,
			   (gsize)MIN(length, WINDOW), &at, &got, error) ||
	    !take_record(reader, at, got, length, ret_is, error))
		return false;
	*ret_is = *ret_is && reader->record.type != GBE_WAL_CRC;
	reader->running = running;
	return true;
}

/* ---- what follows the last segment's records ---- */

/*
 * etcd preallocates with zeros, reads up to the first length of zero, and clears the rest when it starts. Other bytes
 * there are the rest of an unacknowledged write after a power cut. Or the log has a hole, and etcd would drop promised
 * entries. Two writes in a row after it prove a hole, because etcd flushes the log between them.
 */
typedef struct {
	GbeWindow *window; /* of the segment */
	guint64 size;	   /* of the file */
	guint64 spent;
	/* The result: */
	bool dirty;	  /* there is a byte that is not zero */
	guint64 dirty_at; /* the first such byte */
	bool flushed;	  /* records after the hole were flushed */
	guint64 flushed_at;
} Tail;

/* Moves *at on to the first byte that is not zero; *ret_found false: all are zero. */
static bool
find_dirt(Tail *tail, guint64 *at, bool *ret_found, GError **error)
{
	*ret_found = false;
	while (*at < tail->size && !*ret_found) {
		gsize want = (gsize)MIN(CHUNK - *at % CHUNK, tail->size - *at);
		const guint8 *bytes = NULL;
		gsize zeros = 0;
		gsize got = 0;
		off_t data;

		if (!gbe_window_at(tail->window, *at, want, &bytes, &got, error))
			return false;
		if (got > 0 && *bytes == 0 && memcmp(bytes, bytes + 1, got - 1) == 0)
			zeros = got;
		while (zeros < got && bytes[zeros] == 0)
			zeros++;
		*at += zeros;
		*ret_found = zeros < got;
		/* No bytes: the file became shorter meanwhile. */
		if (got == 0)
			break;
		if (*ret_found || *at >= tail->size)
			continue;
		/* ENXIO: only a hole is left up to the end. Other errors: this file system does not report holes. */
		data = lseek(tail->window->fd, (off_t)*at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		*at = MAX(*at, data < 0 ? 0 : (guint64)data);
	}
	return true;
}

/* Is there a whole record at @at? *ret_bytes: its data, until the window moves. */
static bool
record_at(Tail *tail, guint64 at, bool *ret_is, GbeWalRecord *ret_record, const guint8 **ret_bytes,
	  guint64 *ret_next, GError **error)
{
	const guint8 *bytes = NULL;
	GbeWalFrame frame;
	guint64 whole;
	gsize got = 0;

	*ret_is = false;
	if (at >= tail->size || tail->spent > BUDGET)
		return true;
	if (!gbe_window_at(tail->window, at, GBE_WAL_FRAME + GBE_WAL_HEAD, &bytes, &got, error))
		return false;
	tail->spent += STEP;
	if (got < GBE_WAL_FRAME || !gbe_wal_frame_read(bytes, &frame) ||
	    !gbe_wal_frame_fits(&frame, at, tail->size) ||
	    (frame.length + frame.padding) % STEP != 0 ||
	    !gbe_wal_record_read(bytes + GBE_WAL_FRAME,
				 (gsize)MIN((guint64)got - GBE_WAL_FRAME, frame.length),
				 frame.length, ret_record) ||
	    ret_record->type < GBE_WAL_METADATA || ret_record->type > GBE_WAL_SNAPSHOT)
		return true;
	whole = GBE_WAL_FRAME + frame.length;
	if (whole > tail->window->capacity)
		return true;
	tail->spent += whole;
	if (!gbe_window_at(tail->window, at, (gsize)whole, &bytes, &got, error))
		return false;
	*ret_is = got == whole;
	*ret_bytes = bytes + GBE_WAL_FRAME + ret_record->head;
	*ret_next = at + whole + frame.padding;
	return true;
}

/* Follows records from *at on, as long as each follows from the one before. *at: after the last record that does;
 * one step on where there is no record, or nothing follows from the first. */
static bool
follow_records(Tail *tail, guint64 *at, bool entry, GError **error)
{
	guint64 begin = *at;
	guint64 next = *at;
	const guint8 *bytes = NULL;
	bool closed = false;
	guint count = 0;
	guint32 crc = 0;

	for (;; count++) {
		GbeWalRecord record;
		bool is = false;

		if (!record_at(tail, next, &is, &record, &bytes, &next, error))
			return false;
		if (!is || (count > 0 && gbe_crc32c(crc, bytes, (gsize)record.size) != record.crc))
			break;
		crc = record.crc;
		if (record.type == GBE_WAL_ENTRY && closed) {
			tail->flushed = true;
			return true;
		}
		/* Snapshot records are flushed one by one. */
		closed = closed || (record.type == GBE_WAL_STATE && entry) ||
			 record.type == GBE_WAL_SNAPSHOT;
		entry = entry || record.type == GBE_WAL_ENTRY;
		*at = next;
	}
	if (count < 2)
		*at = begin + STEP;
	return true;
}

/* Scans from @from up to the end of the file. Holes of the file are skipped. @entry: an entry, whole but for its frame,
 * ends right before @from. The proof of a flush: an entry, a state or only entries, a state, and an entry. Each has a
 * checksum that follows from its predecessor. Then the first and all before it were flushed. */
static bool
scan_tail(Tail *tail, guint64 from, bool entry, GError **error)
{
	guint64 at = from;
	bool found = false;

	if (!find_dirt(tail, &at, &found, error))
		return false;
	tail->dirty = found;
	tail->dirty_at = at;
	/* Records begin at multiples of eight. */
	while (found && !tail->flushed && tail->spent <= BUDGET) {
		at -= at % STEP;
		tail->flushed_at = at;
		if (!follow_records(tail, &at, entry && at == from, error) ||
		    (!tail->flushed && !find_dirt(tail, &at, &found, error)))
			return false;
	}
	return true;
}

/* ---- the end ---- */

typedef struct {
	GbeWalSegmentReader *reader;
	const char *file;
	GbeFindings *findings;
} Ending;

static void
report_record(const Ending *ending, GbeSeverity severity, const char *code, GbeTri notices,
	      GbeTri loses, const char *what)
{
	gbe_findings_add(ending->findings, severity, code, ending->file, GBE_PLACE_RECORD,
			 ending->reader->offset, notices, loses, "%s", what);
}

/* Each record is padded to the place where the next may begin. True: the end is elsewhere, and a finding says so. */
static bool
report_askew(const Ending *ending)
{
	if (ending->reader->offset % GBE_WAL_FRAME == 0)
		return false;
	report_record(ending, GBE_FINDING_DAMAGE, "wal-length", GBE_NO, GBE_YES,
		      "the record before it is not as long as its frame says; etcd would take this "
		      "for the end, and remove what follows");
	return true;
}

/* A power cut leaves no wrong length. The length is written together with the bytes after it, unless a sector ends
 * between them; then it is right, or zero. */
static bool
only_length_is_wrong(const Ending *ending, bool missing, bool *ret_is, GError **error)
{
	if (!is_misframed(ending->reader, ret_is, error))
		return false;
	*ret_is = *ret_is && !missing;
	if (*ret_is)
		report_record(ending, GBE_FINDING_DAMAGE, "wal-length", GBE_NO, GBE_YES,
			      "the record is intact except for its length field; etcd would "
			      "truncate the log here");
	return true;
}

/* etcd would take this for the end and remove the rest. */
static void
report_hole(const Ending *ending, const Tail *tail, const char *what)
{
	gbe_findings_add(
	    ending->findings, GBE_FINDING_DAMAGE, "wal-hole", ending->file, GBE_PLACE_RECORD,
	    ending->reader->offset, GBE_NO, GBE_YES,
	    "%s, and after it are records that had been flushed (at byte %" G_GUINT64_FORMAT
	    "); etcd would remove them",
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
	Tail tail = {.window = &reader->window, .size = reader->size};

	if (!only_length_is_wrong(ending, missing, &wrong_length, error) ||
	    (missing && !is_misframed(reader, &whole, error)))
		return false;
	*ret_whole = GBE_NO;
	if (wrong_length)
		return true;
	/* An entry whose frame alone is missing proves as much for the bytes after it as a whole one. */
	whole = whole && reader->record.type == GBE_WAL_ENTRY;
	if (whole)
		from += GBE_WAL_FRAME + (reader->record.head + reader->record.size + 7) / 8 * 8;
	if (!scan_tail(&tail, from, whole, error))
		return false;
	if (whole && !tail.dirty) {
		tail.dirty = true;
		tail.dirty_at = reader->offset + GBE_WAL_FRAME;
	}
	if (!tail.dirty)
		*ret_whole = GBE_YES;
	if (!tail.dirty || report_askew(ending))
		return true;
	if (tail.flushed) {
		report_hole(ending, &tail, "the log ends here");
		return true;
	}
	*ret_whole = GBE_UNKNOWN;
	gbe_findings_add(ending->findings, GBE_FINDING_NOTE, "wal-tail", ending->file,
			 GBE_PLACE_OFFSET, tail.dirty_at, GBE_NO, GBE_NO,
			 "bytes after the end of the log, at byte %" G_GUINT64_FORMAT
			 ": a write that was cut off, or was never acknowledged",
			 reader->offset);
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
	Tail tail = {.window = &reader->window, .size = reader->size};

	*ret_whole = GBE_NO;
	if (report_askew(ending))
		return true;
	if (!only_length_is_wrong(ending, false, &wrong_length, error))
		return false;
	if (wrong_length)
		return true;
	if (!scan_tail(&tail, reader->offset + GBE_WAL_FRAME, false, error))
		return false;
	if (tail.flushed) {
		report_hole(ending, &tail,
			    "a record is broken here as if it had been written last");
		return true;
	}
	if (too_long && gbe_version_above(forgiving, version) != GBE_NO) {
		report_record(
		    ending, version.known ? GBE_FINDING_DAMAGE : GBE_FINDING_UNKNOWN, "wal-length",
		    GBE_YES, GBE_NO,
		    "the record's length cannot be right, and etcd 3.4 does not start on it");
		return true;
	}
	*ret_whole = GBE_UNKNOWN;
	if (too_long)
		report_record(
		    ending, GBE_FINDING_WARNING, "wal-length", GBE_YES, GBE_NO,
		    "the record's length cannot be right; etcd 3.5.5 and newer cut it off, older "
		    "ones do not start");
	else
		report_record(ending, GBE_FINDING_NOTE, "wal-torn", GBE_YES, GBE_NO,
			      "the last record was not written to its end");
	return true;
}

bool
gbe_wal_segment_judge_end(GbeWalSegmentReader *reader, GbeWalEnd end, bool last, GbeVersion version,
			  const char *file, GbeFindings *findings, GbeTri *ret_whole,
			  GError **error)
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
		report_record(
		    &ending, GBE_FINDING_DAMAGE, "wal-cut", GBE_YES, GBE_NO,
		    "the segment ends in the middle of a record, and is not the last one");
	else
		report_record(&ending, GBE_FINDING_DAMAGE, "wal-crc", GBE_YES, GBE_NO,
			      "the record is not what its checksum says");
	return true;
}
