/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A .snap file (etcd.md section 7): a checksum, and raft's snapshot below it: where in the log it
 * stands, who voted then, and the members' store of the v2 API, which is passed over. "TERM-INDEX.snap".
 * etcd flushes the file and not its directory: after a power cut a newest one may be missing, empty or
 * cut off, and etcd goes on with an older one and the log, if they reach that far.
 */
#pragma once

#include "etcd/wal-record.h"
#include "etcd/window.h"

/* "<term>-<index>.snap", 16 lower-case hex digits each. */
bool gbe_snapfile_is_name(const char *name, GbeRaftPoint *ret_point);
/* "<index>.snap.db": a database that the leader sent. */
bool gbe_snapfile_is_db_name(const char *name, guint64 *ret_index);

typedef struct {
	char *name;
	GbeRaftPoint named; /* as the name says */
	GbeRaftPoint point; /* as the content says */
	GbeConfState conf;
	char *fault;	  /* why etcd does not take it; NULL: it does */
	gboolean unknown; /* the checksum is right, and what it covers is no snapshot as known */
	char *unread;	  /* why it was not read to its end; ->point is as its name says then */
} GbeSnapfile;

void gbe_snapfile_free(GbeSnapfile *snapfile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeSnapfile, gbe_snapfile_free)

/* The file in @fd, whatever its size, through a bounded window and at the price of @look. Errors are those of
 * reading. */
bool gbe_snapfile_read(int fd, const char *name, GbeLook *look, GbeSnapfile **ret_snapfile,
		       GError **error) GBE_CHECKED;
