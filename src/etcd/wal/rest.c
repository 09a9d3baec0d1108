/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/rest.h"

#include "etcd/wal/raft-request.h"
#include "etcd/wal/walk.h"

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
	/* A restore makes the members anew. */
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
