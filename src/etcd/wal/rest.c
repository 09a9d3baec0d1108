/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/rest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "etcd/protobuf.h"

/* The v2 API's keys are below /1; etcd's own data is below /0. */
#define V2_KEYS "/1/"

/* Request of the v2 API: 1 ID, 2 Method, 3 Path. */
static GbeRaftKind
kind_of_v2(const guint8 *at, gsize size)
{
	GbeProtobuf pb = gbe_protobuf_begin(at, size);

	while (gbe_protobuf_next(&pb))
		if (gbe_protobuf_is(&pb, 3, GBE_WIRE_BYTES))
			return pb.size > strlen(V2_KEYS) &&
				       memcmp(pb.data, V2_KEYS, strlen(V2_KEYS)) == 0
				   ? GBE_RAFT_V2_KEY
				   : GBE_RAFT_NOTHING;
	/* Too few bytes to tell, or no path: SYNC has none. */
	return pb.bad ? GBE_RAFT_V2_KEY : GBE_RAFT_NOTHING;
}

/* Is this AlarmRequest a mere query, such as a health check? Field 1, the action, is then 0 or absent. */
static bool
is_alarm_query(const GbeProtobuf *field)
{
	GbeProtobuf alarm = gbe_protobuf_inner(field);

	if (field->type != GBE_WIRE_BYTES)
		return false;
	while (gbe_protobuf_next(&alarm))
		if (alarm.number == 1 && (alarm.type != GBE_WIRE_VARINT || alarm.value != 0))
			return false;
	return !alarm.bad;
}

static bool
means_nothing(guint64 number)
{
	switch (number) {
	case GBE_RAFT_FIELD_ID:
	case GBE_RAFT_FIELD_RANGE:
	case GBE_RAFT_FIELD_HEADER:
	case GBE_RAFT_FIELD_CLUSTER_VERSION:
	case GBE_RAFT_FIELD_MEMBER_ATTRIBUTES:
	case GBE_RAFT_FIELD_DOWNGRADE:
		return true;
	default:
		return false;
	}
}

/* etcd writes fields in the order of their numbers, and a request has one of them besides ID and header. */
GbeRaftKind
gbe_raft_request_kind(const guint8 *at, gsize have)
{
	GbeProtobuf pb = gbe_protobuf_begin(at, have);

	while (pb.at != pb.end) {
		const guint8 *tag_at = pb.at;
		guint64 tag = 0;
		guint64 number;
		bool alone;

		if (!gbe_protobuf_varint(&tag_at, pb.end, &tag) || tag >> 3 == 0)
			return GBE_RAFT_V3;
		number = tag >> 3;
		if (!means_nothing(number) && number != GBE_RAFT_FIELD_V2 &&
		    number != GBE_RAFT_FIELD_ALARM)
			return GBE_RAFT_V3;
		if (!gbe_protobuf_next(&pb))
			return number == GBE_RAFT_FIELD_V2 ? GBE_RAFT_V2_KEY : GBE_RAFT_V3;
		if (number == GBE_RAFT_FIELD_ALARM && !is_alarm_query(&pb))
			return GBE_RAFT_V3;
		if (number != GBE_RAFT_FIELD_V2 || pb.type != GBE_WIRE_BYTES)
			continue;
		/* A request of the v2 API may stand alone: 3.4 still writes its member's name that way. Its second field
		 * is then a method, which no other message begins with. */
		alone = pb.size >= strlen("GET") && pb.size <= strlen("DELETE");
		for (gsize i = 0; alone && i < pb.size; i++)
			alone = g_ascii_isupper(pb.data[i]);
		return alone ? kind_of_v2(at, have) : kind_of_v2(pb.data, pb.size);
	}
	return GBE_RAFT_NOTHING;
}

/* ---- counting ---- */

typedef struct {
	guint64 database, snapshot;
	GbeWalRest rest;
} Count;

static void
count_entry(const GbeWalSegmentReader *reader, gpointer data)
{
	Count *count = data;
	GbeRaftKind kind = GBE_RAFT_NOTHING;
	GbeWalEntry entry;

	if (reader->record.type != GBE_WAL_ENTRY ||
	    !gbe_wal_entry_read(reader->data, reader->have, reader->record.size, &entry))
		return;
	/* A restore makes the members again. */
	if (entry.type == GBE_ENTRY_NORMAL)
		kind = gbe_raft_request_kind(
		    reader->data + entry.head,
		    (gsize)MIN(entry.size, (guint64)(reader->have - entry.head)));
	if (entry.index > count->snapshot && kind == GBE_RAFT_V2_KEY)
		count->rest.v2_requests++;
	if (entry.index <= count->database)
		return;
	count->rest.entries++;
	if (entry.type != GBE_ENTRY_NORMAL)
		count->rest.changes++;
	if (kind == GBE_RAFT_V3)
		count->rest.requests++;
}

bool
gbe_wal_rest_count(int wal_fd, const char *path, guint64 database, guint64 snapshot,
		   GbeWalRest *ret_rest, GError **error)
{
	Count count = {.database = database, .snapshot = snapshot};
	GbeLook look = gbe_look_begin(GBE_LOOK_SECONDS);

	if (!gbe_wal_walk(wal_fd, path, &look, count_entry, &count, error))
		return false;
	*ret_rest = count.rest;
	return true;
}

#define WINDOW ((gsize)256 * 1024)
#define NODE "\"Path\":\"/1/"

bool
gbe_v2_keys_count(int fd, const char *what, guint64 *ret_count, GError **error)
{
	const gsize length = strlen(NODE);
	GbeLook look = gbe_look_begin(0);
	g_auto(GbeWindow) window = gbe_window_begin(fd, what, WINDOW, &look);
	guint64 count = 0;
	bool done = false;

	for (guint64 at = 0; !done;) {
		const guint8 *bytes = NULL, *found;
		gsize got = 0;

		if (!gbe_window_at(&window, at, WINDOW, &bytes, &got, error))
			return false;
		for (gsize from = 0;
		     (found = memmem(bytes + from, got - from, NODE, length)) != NULL;
		     from = (gsize)(found - bytes) + length)
			count++;
		/* A node that begins at the end of this piece is whole in the next one. */
		done = got < WINDOW;
		at += got - (length - 1);
	}
	*ret_count = count;
	return true;
}

/* ---- a record ---- */

/* The end of the log. */
typedef struct {
	guint64 offset; /* in its last segment */
	guint32 running;
} End;

static void
note_end(const GbeWalSegmentReader *reader, gpointer data)
{
	*(End *)data = (End){reader->next, reader->running};
}

static GByteArray *
state_record(const GbeHardState *state, guint32 running)
{
	static const guint8 zeros[8] = {0};
	g_autoptr(GByteArray) data = g_byte_array_new();
	g_autoptr(GByteArray) record = g_byte_array_new();
	GByteArray *bytes = g_byte_array_new();
	guint padding;
	guint64 length;

	gbe_protobuf_put_varint(data, 1, state->term);
	gbe_protobuf_put_varint(data, 2, state->vote);
	gbe_protobuf_put_varint(data, 3, state->commit);
	gbe_protobuf_put_varint(record, 1, GBE_WAL_STATE);
	gbe_protobuf_put_varint(record, 2, gbe_crc32c(running, data->data, data->len));
	gbe_protobuf_put_bytes(record, 3, data->data, data->len);
	/* A frame's length says in its highest byte how many zeros follow the record, up to a multiple of eight. */
	padding = (8 - record->len % 8) % 8;
	length = record->len;
	if (padding > 0)
		length |= (guint64)(0x80 | padding) << 56;
	length = GUINT64_TO_LE(length);
	g_byte_array_append(bytes, (const guint8 *)&length, sizeof length);
	g_byte_array_append(bytes, record->data, record->len);
	g_byte_array_append(bytes, zeros, padding);
	return bytes;
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
	/* A write that was cut off may follow the end. etcd leaves zeros there. */
	if (fd < 0 || ftruncate(fd, (off_t)end.offset) < 0 ||
	    pwrite(fd, bytes->data, bytes->len, (off_t)end.offset) != (ssize_t)bytes->len ||
	    ftruncate(fd, (off_t)MAX(last->size, end.offset + bytes->len + GBE_WAL_FRAME)) < 0)
		return gbe_throw_errno(error, errno, "write to %s/%s", path, last->name);
	return true;
}
