/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a whole write-ahead log as etcd does when it starts (etcd.md section 6). Reads every segment in order, and
 * checks every record's checksum, which follows from all before it. Keeps what the records say of members, snapshots,
 * the state and the entries. Memory does not grow with the log. In the last segment, an unfinished record and bytes
 * after the end are not damage. A power cut may leave them, they were never acknowledged, and etcd removes them.
 */
#pragma once

#include "core/version.h"
#include "etcd/finding.h"
#include "etcd/wal/segment.h"
#include "etcd/window.h"

#include "base/error.h"

/* Limits of one log; what exceeds them is not examined. */
#define GBE_WAL_SEGMENTS_MAX 4096
#define GBE_WAL_SNAPSHOTS_MAX 16384
#define GBE_WAL_CONF_CHANGES_MAX 1024

typedef struct {
	char *name;
	guint64 sequence, index; /* from the name: the segment's number, the first entry to come */
	guint64 size;
	guint64 first_entry; /* index of its first entry; 0: it has none */
} GbeWalSegment;

typedef struct {
	GPtrArray *segments; /* of GbeWalSegment, in order */
	guint64 bytes;	     /* of records that were read */
	guint64 records;
	bool complete;	   /* all of the log was read: etcd would see no more than this */
	bool ended;	   /* and the log ends as etcd leaves it, with preallocated space */
	bool has_metadata; /* which says whose log it is */
	GbeWalMetadata metadata;
	bool has_state; /* ->state is the last one */
	GbeHardState state;
	guint64 last_entry, last_term; /* 0: no entry */
	guint64 gap; /* the largest index that did not follow its predecessor; 0: none */
	guint gap_segment;
	guint64 gap_at;	   /* the record's byte */
	GArray *snapshots; /* of GbeRaftPoint: the newest GBE_WAL_SNAPSHOTS_MAX, in order */
	GArray *changes;   /* of GbeConfChange, in order */
	bool changes_lost;
	/* From the newest snapshot record that has a configuration (3.5 and newer). ->voters NULL: none. */
	GbeConfState conf;
	GbeRaftPoint conf_at;
} GbeWal;

void gbe_wal_clear(GbeWal *wal);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeWal, gbe_wal_clear)

/* @dir_fd: the log's directory; @path: its name in findings. @version: of the etcd that is to start on it,
 * because 3.4 dies of some faults that later ones repair. A log without a segment is no finding here. An end in the
 * middle of the log is damage: etcd would take it for the end of the log. Beyond the limits of @look:
 * GBE_FINDING_UNKNOWN, and the log is not complete. @visitor: gets each record, in order; may be NULL. */
bool gbe_wal_read(int dir_fd, const char *path, GbeVersion version, GbeLook *look,
		  GbeWalVisitor visitor, gpointer data, GbeWal *ret_wal, GbeFindings *findings,
		  GError **error) GBE_CHECKED;

/* Lists the segments in the log's directory by name and in order, and reports other files there. *ret_segments: of
 * GbeWalSegment, without sizes. Each other name is a note. More than GBE_WAL_SEGMENTS_MAX segments are
 * GBE_FINDING_UNKNOWN, and only that many are listed. */
bool gbe_wal_segments_list(int dir_fd, const char *path, GPtrArray **ret_segments,
			   GbeFindings *findings, GError **error) GBE_CHECKED;

/* Visits each record of a log that gbe_wal_read() found complete, in order. @path: the log's name in messages.
 * Memory does not grow with the log. */
bool gbe_wal_walk(int wal_fd, const char *path, GbeLook *look, GbeWalVisitor visitor, gpointer data,
		  GError **error) GBE_CHECKED;

/* Finds the last complete record of a segment from the frames alone. Of the records it reads only their checksum field.
 * *ret_found false: there is no record, and nothing else is set. Errors are read errors. */
bool gbe_wal_last_record(int fd, const char *what, bool *ret_found, guint64 *ret_offset,
			 guint32 *ret_crc, GError **error) GBE_CHECKED;
