/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log against the database: etcd carries out each entry in order, and the database says up to which one it
 * did (its consistent_index). So the newest row of the database comes from one of those entries, and behind
 * that entry none of them can have changed anything. That shows what no rule within the database can: a page
 * of it that is an older one, and an index that is not its own.
 *
 * Only what cannot be otherwise is damage. A put without a lease is certain to be carried out, unless an alarm
 * or users are there, and so is a transaction without conditions that has one. Every entry that might have
 * made the newest row counts as if it had.
 */
#pragma once

#include "etcd/db.h"
#include "etcd/wal-segment.h"

typedef struct {
	GbeDbNewest newest;
	guint64 index;	   /* of the entry up to which the database has everything */
	gint64 compacting; /* where it is beyond every row; else 0 */
	gboolean refuses;
	/* From the log: */
	guint64 last;
	gboolean started; /* there was an entry other than those that make members */
	gboolean begins;  /* with the first entry of a cluster that began empty */
	guint64 made;	  /* the newest entry up to ->index that may have made that row; 0: none */
	guint64 made_later; /* the first one beyond it; 0: none */
	guint64 put;	    /* the newest one up to ->index that is certain to have made a row */
	gboolean has_compaction; /* one up to ->compacting was asked for */
} GbeApplied;

void gbe_applied_init(GbeApplied *applied, const GbeDb *db);
/* The record of a log, in order. For gbe_wal_walk(). */
void gbe_applied_take(const GbeWalSegmentReader *reader, gpointer applied);
/* @file: the database's name in findings. */
void gbe_applied_judge(const GbeApplied *applied, const char *file, GbeFindings *findings);
