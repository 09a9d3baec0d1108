/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "etcd/protobuf.h"
#include "etcd/wal/segments.h"
#include "etcd/wal/walk.h"

/* Where the log ends. */
typedef struct {
	guint64 offset; /* in its last segment */
	guint32 running;
} End;

static void
note_end(const GbeWalSegmentReader *reader, gpointer data)
{
	*(End *)data = (End){reader->next, reader->running};
}

/* A frame's length says in its highest byte how many zeros follow the record, up to a multiple of eight. */
static GByteArray *
frame(const GByteArray *record)
{
	GByteArray *bytes = g_byte_array_new();
	static const guint8 zeros[8] = {0};
	guint padding = (8 - record->len % 8) % 8;
	guint64 length = record->len;

	if (padding > 0)
		length |= (guint64)(0x80 | padding) << 56;
	length = GUINT64_TO_LE(length);
	g_byte_array_append(bytes, (const guint8 *)&length, sizeof length);
	g_byte_array_append(bytes, record->data, record->len);
	g_byte_array_append(bytes, zeros, padding);
	return bytes;
}

static GByteArray *
state_record(const GbeHardState *state, guint32 running)
{
	const guint64 numbers[] = {state->term, state->vote, state->commit};
	g_autoptr(GByteArray) data = g_byte_array_new();
	g_autoptr(GByteArray) record = g_byte_array_new();

	for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
		gbe_protobuf_put_varint(data, i + 1, numbers[i]);
	gbe_protobuf_put_varint(record, 1, GBE_WAL_STATE);
	gbe_protobuf_put_varint(record, 2, gbe_crc32c(running, data->data, data->len));
	gbe_protobuf_put_bytes(record, 3, data->data, data->len);
	return frame(record);
}

bool
gbe_wal_commit(int wal_fd, const char *path, const GbeHardState *state, GError **error)
{
	GbeLook look = gbe_look_begin(GBE_LOOK_SECONDS);
	g_autoptr(GPtrArray) segments = NULL;
	g_autoptr(GByteArray) bytes = NULL;
	g_auto(GbeFindings) findings = {0};
	const GbeWalSegment *last;
	gbe_autofd int fd = -1;
	End end = {0};

	gbe_findings_init(&findings);
	if (!gbe_wal_walk(wal_fd, path, &look, note_end, &end, error) ||
	    !gbe_wal_segments_list(wal_fd, path, &segments, &findings, error))
		return false;
	if (segments->len == 0)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s has no segment", path);
	last = segments->pdata[segments->len - 1];
	bytes = state_record(state, end.running);
	fd = openat(wal_fd, last->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	/* A write that was cut off may lie behind the end. Zeros are what etcd leaves there. */
	if (fd < 0 || ftruncate(fd, (off_t)end.offset) < 0 ||
	    pwrite(fd, bytes->data, bytes->len, (off_t)end.offset) != (ssize_t)bytes->len ||
	    ftruncate(fd, (off_t)MAX(last->size, end.offset + bytes->len + GBE_WAL_FRAME)) < 0)
		return gbe_throw_errno(error, errno, "write to %s/%s", path, last->name);
	return true;
}
