/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands in the log and not in the database, and what the database never has: requests of the v2 API
 * (etcd/raft-request.h). Of a log that gbe_wal_read() found complete; memory does not grow with it. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef struct {
	guint64 entries;     /* behind @database, of any kind */
	guint64 requests;    /* of them, those that change what a snapshot holds */
	guint64 changes;     /* of them, those of who is a member */
	guint64 v2_requests; /* for keys of the v2 API, behind @snapshot */
} GbeWalRest;

/* @database: the entry up to which the database has everything; @snapshot: that of the .snap file that etcd
 * begins with, 0: none. @path: the log's name in messages. */
bool gbe_wal_rest_count(int wal_fd, const char *path, guint64 database, guint64 snapshot,
			GbeWalRest *ret_rest, GError **error) GBE_CHECKED;
