/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A whole write-ahead log as etcd reads it when it starts (etcd.md section 6): every segment in order,
 * every record's checksum, which follows from all before it, and what the records say of members,
 * snapshots, the state and the entries. Memory does not grow with the log.
 *
 * What a power cut may leave, in the last segment alone: a record that was not written to its end, and
 * bytes behind the end. Both were never acknowledged, and etcd removes them. Everything else is damage,
 * above all an end in the middle: etcd would take it for the end.
 */
#pragma once

#include "core/version.h"
#include "etcd/finding.h"
#include "etcd/wal-record.h"
#include "etcd/window.h"

#include "base/error.h"

/* Of one log: more is not looked into. */
#define GBE_WAL_SEGMENTS_MAX 4096
#define GBE_WAL_SNAPSHOTS_MAX 16384
#define GBE_WAL_CONF_CHANGES_MAX 1024

typedef struct {
	char *name;
	guint64 sequence, index; /* as the name says: the number, the first entry to come */
	guint64 size;
	guint64 first_entry; /* its index; 0: it has none */
} GbeWalSegment;

typedef struct {
	GPtrArray *segments; /* of GbeWalSegment, in order */
	guint64 bytes;	     /* of records that were read */
	guint64 records;
	gboolean complete;     /* all of it was read: what follows is all that etcd would see */
	gboolean ended;	       /* and it ends as etcd leaves it, with what it preallocated */
	gboolean has_metadata; /* whose log it is */
	GbeWalMetadata metadata;
	gboolean has_state; /* the last one */
	GbeHardState state;
	guint64 last_entry, last_term; /* 0: no entry at all */
	guint64 gap; /* the largest index that did not follow from the one before; 0: none */
	guint gap_segment;
	guint64 gap_at;	   /* the record */
	GArray *snapshots; /* of GbeRaftPoint: the newest GBE_WAL_SNAPSHOTS_MAX, in order */
	GArray *changes;   /* of GbeConfChange, in order; beyond the limit: changes_lost */
	gboolean changes_lost;
	/* Of the newest snapshot record that has one (3.5 and newer); voters NULL: none. */
	GbeConfState conf;
	GbeRaftPoint conf_at;
} GbeWal;

void gbe_wal_clear(GbeWal *wal);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeWal, gbe_wal_clear)

/* @dir_fd: the log's directory, @path its name in findings. @version: that the data was last written
 * for: what 3.4 dies of, later ones repair. No segment at all is no finding here. Beyond
 * what @look may cost: GBE_FINDING_UNKNOWN, and the log is not complete. */
bool gbe_wal_read(int dir_fd, const char *path, GbeVersion version, GbeLook *look, GbeWal *ret_wal,
		  GbeFindings *findings, GError **error) GBE_CHECKED;
