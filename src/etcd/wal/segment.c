/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/segment.h"

#include <fcntl.h>
#include <string.h>

#include "base/crc32c.h"

/* Large enough to make reading cheap, small enough for the checksum to find it in the cache. */
#define WINDOW ((gsize)256 * 1024)
/* A disk writes this much as a whole or not at all, as etcd assumes. */
#define SECTOR 512U

void
gbe_wal_segment_open(GbeWalSegmentReader *reader, int fd, const char *what, guint64 size,
		     guint32 running, GbeLook *look)
{
	*reader = (GbeWalSegmentReader){.size = size, .running = running};
	gbe_window_init(&reader->window, fd, what, WINDOW, look);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

void
gbe_wal_segment_close(GbeWalSegmentReader *reader)
{
	gbe_window_clear(&reader->window);
}

static bool
is_zero(const guint8 *at, gsize size)
{
	return *at == 0 && memcmp(at, at + 1, size - 1) == 0;
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
		*ret_has = is_zero(bytes, want);
		at += want;
	}
	return true;
}

/* Continues the checksum over the record's data, including the part of a giant that is not in the window. */
static bool
sum_up(GbeWalSegmentReader *reader, GError **error)
{
	guint64 at = reader->offset + GBE_WAL_FRAME + reader->record.head;
	guint64 end = at + reader->record.size;

	reader->running = gbe_crc32c(reader->running, reader->data, reader->have);
	if (reader->have == reader->record.size)
		return true;
	at += reader->have;
	while (at < end) {
		const guint8 *bytes = NULL;
		gsize got = 0;

		if (!gbe_window_at(&reader->window, at, (gsize)MIN(WINDOW, end - at), &bytes, &got,
				   error))
			return false;
		if (got == 0)
			break;
		reader->running = gbe_crc32c(reader->running, bytes, got);
		at += got;
	}
	/* The caller wants the beginning in the window. */
	return gbe_window_at(&reader->window, reader->offset + GBE_WAL_FRAME + reader->record.head,
			     GBE_WAL_ENTRY_HEAD, &reader->data, &reader->have, error);
}

/* Reads the frame at ->next, and as much of its record as the window can hold. */
static bool
take_frame(GbeWalSegmentReader *reader, const guint8 **ret_at, gsize *ret_got, GbeWalEnd *ret_end,
	   GError **error)
{
	guint64 whole;

	*ret_end = GBE_WAL_END_NONE;
	reader->offset = reader->next;
	if (!gbe_window_at(&reader->window, reader->offset, GBE_WAL_FRAME, ret_at, ret_got, error))
		return false;
	if (*ret_got == 0)
		*ret_end = GBE_WAL_END_FILE;
	else if (*ret_got < GBE_WAL_FRAME)
		*ret_end = GBE_WAL_END_CUT;
	else if (!gbe_wal_frame_read(*ret_at, &reader->frame))
		*ret_end = GBE_WAL_END_ZERO;
	else if (!gbe_wal_frame_fits(&reader->frame, reader->offset, reader->size))
		*ret_end = GBE_WAL_END_CUT;
	if (*ret_end != GBE_WAL_END_NONE)
		return true;
	whole = GBE_WAL_FRAME + reader->frame.length;
	reader->next = reader->offset + whole + reader->frame.padding;
	return gbe_window_at(&reader->window, reader->offset, (gsize)MIN(whole, WINDOW), ret_at,
			     ret_got, error);
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
	gsize got = 0;

	if (!take_frame(reader, &at, &got, ret_end, error))
		return false;
	if (*ret_end != GBE_WAL_END_NONE)
		return true;
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

bool
gbe_wal_segment_misframed(GbeWalSegmentReader *reader, bool *ret_is, GError **error)
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
