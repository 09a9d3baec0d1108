/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks the log against the database. etcd applies entries in order, and the database has the index of the last
 * one (consistent_index). So the newest row comes from one of those entries, and no entry after that one can have
 * changed a row. This finds what no rule within the database can: an older page, and an index of another database.
 */
#pragma once

#include "etcd/db/db.h"
#include "etcd/wal/segment.h"

typedef struct {
	GbeDbNewest newest;
	guint64 index;	   /* of the last entry that the database has */
	gint64 compacting; /* set where it is beyond every row; else 0 */
	bool refuses;
	/* From the log: */
	guint64 last;
	bool started; /* there was an entry other than those that add members */
	bool begins;  /* starts with the first entry of a cluster that began empty */
	/* the newest entry up to ->index that may have made the newest row; 0: none */
	guint64 made;
	guint64 made_later;  /* the first such entry beyond ->index; 0: none */
	guint64 put;	     /* the newest entry up to ->index that certainly made a row */
	bool has_compaction; /* an entry asks for a compaction up to ->compacting */
	guint64 garbled;     /* the first entry whose request cannot be decoded; 0: none */
	/* The clusterVersion of the database, borrowed, and the last one that an entry up to ->index sets; "": none */
	const char *cluster_version;
	char version_set[32];
	bool version_later; /* an entry beyond ->index sets the database's */
} GbeApplied;

void gbe_applied_init(GbeApplied *applied, const GbeDb *db);
/* Takes the records of a log, in order. For gbe_wal_read(). */
void gbe_applied_take(const GbeWalSegmentReader *reader, gpointer applied);
/* The database's clusterVersion is not the one that the log sets. */
bool gbe_applied_version_differs(const GbeApplied *applied);
/* @file: the database's name in findings. Only a certain contradiction is damage. A put without a lease is certainly
 * applied unless an alarm or users exist. The same holds for a transaction without conditions that has such a put.
 * Every entry that may have made the newest row counts as if it had. */
void gbe_applied_judge(const GbeApplied *applied, const char *file, GbeFindings *findings);
