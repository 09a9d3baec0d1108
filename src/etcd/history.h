/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What each key's rows say about each other (rule I2 of reference etcd.md section 5): a put follows on the
 * key's last put, or begins anew; a deletion follows on a put. And which rows are not the newest put of
 * a key that still is: HashKV leaves those out up to the compacted revision.
 *
 * State per key does not fit in bounded memory for every database. Where it does not, the caller walks
 * the rows again: a sketch, two bits for each of some hashes, made in the first pass, tells most keys that
 * have one row only; each pass after it is about one part of the others.
 */
#pragma once

#include <glib.h>

/* Of a row that HashKV counts in any case: beyond the compacted revision. */
#define GBE_ORDINAL_NONE G_MAXUINT32
#define GBE_HISTORY_BROKEN_MAX 8

typedef struct {
	guint64 hash; /* of the key */
	gint64 main;
	gint64 create, version; /* of a put */
	gboolean tombstone;
	guint32 ordinal; /* among the rows up to the compacted revision, from 0 */
} GbeHistoryRow;

typedef struct _GbeHistory GbeHistory;

/* @compacted: rows up to that revision may lack what came before them; at least 1. @rows: how many will
 * come, at most. */
GbeHistory *gbe_history_new(gint64 compacted, guint64 rows);
void gbe_history_free(GbeHistory *history);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeHistory, gbe_history_free)

/* Rows come in the order of their revisions, in each pass the same. */
void gbe_history_add(GbeHistory *history, const GbeHistoryRow *row);
/* At the end of a pass: is another one needed? */
gboolean gbe_history_end_pass(GbeHistory *history);

/* After the last pass: */

/* How many rows do not follow on what was there; the revisions of the first. */
guint64 gbe_history_broken(const GbeHistory *history, gint64 ret_main[GBE_HISTORY_BROKEN_MAX]);
/* Keys that are there: their last row is a put. */
guint64 gbe_history_live(const GbeHistory *history);
/* False: somebody made the hashes of keys collide, and not all were looked at. */
gboolean gbe_history_is_complete(const GbeHistory *history);
guint64 gbe_history_passes(const GbeHistory *history);
/* False: more rows up to the compacted revision than there are bits for. */
gboolean gbe_history_knows_superseded(const GbeHistory *history);
gboolean gbe_history_has_superseded(const GbeHistory *history); /* any */
gboolean gbe_history_is_superseded(const GbeHistory *history, guint32 ordinal);
