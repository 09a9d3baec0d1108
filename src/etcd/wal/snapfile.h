/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a .snap file, "TERM-INDEX.snap" (etcd.md section 7). A checksum covers raft's snapshot: its place in the log,
 * the voters, and the members' store of the v2 API, which is skipped. etcd flushes the file but not its directory.
 * After a power cut a new file may be missing, empty or cut off. etcd then continues with an older one and the log, if
 * these reach that far.
 */
#pragma once

#include "etcd/wal/record.h"
#include "etcd/window.h"

/* "<term>-<index>.snap", 16 lower-case hex digits each. */
bool gbe_snapfile_is_name(const char *name, GbeRaftPoint *ret_point);
/* "<index>.snap.db": a database that the leader sent to this member. */
bool gbe_snapfile_is_db_name(const char *name, guint64 *ret_index);

/* etcd reads the whole file into memory before it looks at it. A larger file ends etcd ("out of memory") on a device
 * with less memory, and no start renames it. Members' stores of the v2 API are some megabytes at most. */
#define GBE_SNAPFILE_MAX ((guint64)512 * 1024 * 1024)

typedef struct {
	char *name;
	guint64 size;	    /* bytes, apparent */
	GbeRaftPoint named; /* as the name says */
	GbeRaftPoint point; /* as the content says */
	GbeConfState conf;
	char *fault;  /* why etcd refuses it; NULL: etcd takes it */
	bool unknown; /* the checksum is right, but the content is no known snapshot */
	char *unread; /* why it was not read to its end; ->point is then from the name */
} GbeSnapfile;

void gbe_snapfile_free(GbeSnapfile *snapfile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeSnapfile, gbe_snapfile_free)

/* Reads the file in @fd, of any size, through a bounded window within the limits of @look. Errors are read errors. */
bool gbe_snapfile_read(int fd, const char *name, GbeLook *look, GbeSnapfile **ret_snapfile,
		       GError **error) GBE_CHECKED;
