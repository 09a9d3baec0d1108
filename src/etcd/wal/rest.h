/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts what the log has and the database lacks: entries that were not applied, and requests of the v2 API, which
 * the database never has (etcd/wal/raft-request.h). For a log that gbe_wal_read() found complete. Memory does not
 * grow with the log. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef struct {
	guint64 entries;     /* after @database, of any kind */
	guint64 requests;    /* those of them that change what a snapshot holds */
	guint64 changes;     /* those of them that change the members */
	guint64 v2_requests; /* for keys of the v2 API, after @snapshot */
} GbeWalRest;

/* @database: the last entry that the database has. @snapshot: the entry of the .snap file that etcd begins with; 0:
 * none. @path: the log's name in messages. */
bool gbe_wal_rest_count(int wal_fd, const char *path, guint64 database, guint64 snapshot,
			GbeWalRest *ret_rest, GError **error) GBE_CHECKED;
