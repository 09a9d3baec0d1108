/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "etcd/wal/segments.h"

static bool
walk_segment(GbeWalSegmentReader *reader, GbeWalVisitor visitor, gpointer data, GError **error)
{
	GbeWalEnd end = GBE_WAL_END_NONE;

	for (;;) {
		if (!gbe_wal_segment_next(reader, &end, error))
			return false;
		if (end != GBE_WAL_END_NONE)
			return true;
		if (reader->record.type == GBE_WAL_CRC)
			reader->running = reader->record.crc;
		visitor(reader, data);
	}
}

bool
gbe_wal_walk(int wal_fd, const char *path, GbeLook *look, GbeWalVisitor visitor, gpointer data,
	     GError **error)
{
	g_autoptr(GPtrArray) segments = NULL;
	g_auto(GbeFindings) findings = {0};
	guint32 running = 0;

	gbe_findings_init(&findings);
	if (!gbe_wal_segments_list(wal_fd, path, &segments, &findings, error))
		return false;
	for (guint i = 0; i < segments->len; i++) {
		const GbeWalSegment *segment = segments->pdata[i];
		g_autofree char *file = g_build_filename(path, segment->name, NULL);
		g_auto(GbeWalSegmentReader) reader = {0};
		gbe_autofd int fd =
		    openat(wal_fd, segment->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0)
			return gbe_throw_errno(error, errno, "cannot open %s", file);
		gbe_wal_segment_open(&reader, fd, file, (guint64)st.st_size, running, look);
		if (!walk_segment(&reader, visitor, data, error))
			return false;
		running = reader.running;
	}
	return true;
}
