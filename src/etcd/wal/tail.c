/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/tail.h"

#include <string.h>

#include "base/crc32c.h"
#include "etcd/wal/record.h"

#define CHUNK ((gsize)64 * 1024)
/* Many bytes may look like lengths: this is the most that is read because of them. */
#define BUDGET ((guint64)256 * 1024 * 1024)
#define STEP 8U

typedef struct {
	GbeWindow *window;
	guint64 size;
	guint64 spent;
} Tail;

/* Moves *at on to the next stretch that may hold data. False: there is none. */
static bool
skip_hole(const Tail *tail, guint64 *at)
{
	off_t data;

	if (*at >= tail->size)
		return false;
	data = lseek(tail->window->fd, (off_t)*at, SEEK_DATA);
	/* ENXIO: only a hole is left up to the end. Other errors: this file system cannot tell. */
	if (data < 0)
		return errno != ENXIO;
	*at = MAX(*at, (guint64)data);
	return *at < tail->size;
}

static gsize
leading_zeros(const guint8 *at, gsize size)
{
	gsize i = 0;

	if (size > 0 && *at == 0 && memcmp(at, at + 1, size - 1) == 0)
		return size;
	while (i < size && at[i] == 0)
		i++;
	return i;
}

/* Moves *at on to the first byte that is not zero; *ret_found false: there is none. */
static bool
find_dirt(Tail *tail, guint64 *at, bool *ret_found, GError **error)
{
	bool more = *at < tail->size;

	*ret_found = false;
	while (more) {
		gsize want = (gsize)MIN(CHUNK - *at % CHUNK, tail->size - *at);
		const guint8 *bytes = NULL;
		gsize zeros;
		gsize got = 0;

		if (!gbe_window_at(tail->window, *at, want, &bytes, &got, error))
			return false;
		zeros = leading_zeros(bytes, got);
		*at += zeros;
		*ret_found = zeros < got;
		/* No bytes: the file became shorter meanwhile. */
		more = !*ret_found && got > 0 && skip_hole(tail, at);
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
follow(Tail *tail, guint64 *at, bool entry, bool *ret_flushed, GError **error)
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
			*ret_flushed = true;
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

bool
gbe_wal_tail_scan(GbeWindow *window, guint64 from, guint64 size, bool entry, GbeWalTail *ret_tail,
		  GError **error)
{
	Tail tail = {.window = window, .size = size};
	GbeWalTail result = {0};
	guint64 at = from;
	bool found = false;

	if (!find_dirt(&tail, &at, &result.dirty, error))
		return false;
	result.dirty_at = at;
	found = result.dirty;
	/* Records begin at multiples of eight. */
	while (found && !result.flushed && tail.spent <= BUDGET) {
		at -= at % STEP;
		result.flushed_at = at;
		if (!follow(&tail, &at, entry && at == from, &result.flushed, error) ||
		    (!result.flushed && !find_dirt(&tail, &at, &found, error)))
			return false;
	}
	*ret_tail = result;
	return true;
}
