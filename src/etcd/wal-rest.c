/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal-rest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "etcd/raft-request.h"
#include "etcd/wal-segment.h"
#include "etcd/wal-segments.h"

typedef struct {
	guint64 database, snapshot;
	guint32 running;
	GbeLook look;
	GbeWalRest rest;
} Count;

static void
count_entry(Count *count, const GbeWalSegmentReader *reader)
{
	GbeRequestKind kind = GBE_REQUEST_NOTHING;
	GbeWalEntry entry;

	if (!gbe_wal_entry_read(reader->data, reader->have, reader->record.size, &entry))
		return;
	/* Who votes is made anew by a restore. */
	if (entry.type == GBE_ENTRY_NORMAL)
		kind = gbe_raft_request_kind(
		    reader->data + entry.head,
		    (gsize)MIN(entry.size, (guint64)(reader->have - entry.head)));
	if (entry.index > count->snapshot && kind == GBE_REQUEST_V2_KEY)
		count->rest.v2_requests++;
	if (entry.index <= count->database)
		return;
	count->rest.entries++;
	if (entry.type != GBE_ENTRY_NORMAL)
		count->rest.changes++;
	if (kind == GBE_REQUEST_V3)
		count->rest.requests++;
}

static bool
count_segment(Count *count, int fd, const char *file, guint64 size, GError **error)
{
	g_auto(GbeWalSegmentReader) reader = {0};
	GbeWalEnd end = GBE_WAL_END_NONE;

	gbe_wal_segment_open(&reader, fd, file, size, count->running, &count->look);
	for (;;) {
		if (!gbe_wal_segment_next(&reader, &end, error))
			return false;
		if (end != GBE_WAL_END_NONE)
			break;
		if (reader.record.type == GBE_WAL_CRC)
			reader.running = reader.record.crc;
		else if (reader.record.type == GBE_WAL_ENTRY)
			count_entry(count, &reader);
	}
	count->running = reader.running;
	return true;
}

bool
gbe_wal_rest_count(int wal_fd, const char *path, guint64 database, guint64 snapshot,
		   GbeWalRest *ret_rest, GError **error)
{
	Count count = {.database = database,
		       .snapshot = snapshot,
		       .look = gbe_look_begin(GBE_LOOK_SECONDS)};
	g_autoptr(GPtrArray) segments = NULL;
	g_auto(GbeFindings) findings = {0};

	gbe_findings_init(&findings);
	if (!gbe_wal_segments_list(wal_fd, path, &segments, &findings, error))
		return false;
	for (guint i = 0; i < segments->len; i++) {
		const GbeWalSegment *segment = segments->pdata[i];
		g_autofree char *file = g_build_filename(path, segment->name, NULL);
		gbe_autofd int fd =
		    openat(wal_fd, segment->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0)
			return gbe_throw_errno(error, errno, "cannot open %s", file);
		if (!count_segment(&count, fd, file, (guint64)st.st_size, error))
			return false;
	}
	*ret_rest = count.rest;
	return true;
}
