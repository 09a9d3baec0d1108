/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks each key's rows against each other (rule I2 of reference etcd.md section 5). A put follows the key's last put,
 * or starts again; a deletion follows a put. Also finds the rows that a newer row supersedes. HashKV leaves these out
 * up to the compacted revision. State per key may exceed bounded memory. The caller then walks the rows again. A sketch
 * of the first pass (two bits for each of some hashes) finds most keys with one row. Each later pass handles a part of
 * the others.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The ordinal of a row beyond the compacted revision, which HashKV always counts. */
#define GBE_ORDINAL_NONE G_MAXUINT32
#define GBE_HISTORY_BROKEN_MAX 8

typedef struct {
	guint64 hash; /* of the key */
	gint64 main;
	gint64 create, version; /* of a put */
	bool tombstone;
	guint32 ordinal; /* among the rows up to the compacted revision, from 0 */
} GbeHistoryRow;

typedef struct _GbeHistory GbeHistory;

/* @compacted: rows up to that revision, at least 1, may lack their predecessors. @rows: the most rows that will
 * come. */
GbeHistory *gbe_history_new(gint64 compacted, guint64 rows);
void gbe_history_free(GbeHistory *history);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeHistory, gbe_history_free)

/* Rows come in the order of their revisions, and in each pass in the same order. */
void gbe_history_add(GbeHistory *history, const GbeHistoryRow *row);
/* At the end of a pass: is another one needed? */
bool gbe_history_end_pass(GbeHistory *history);

typedef struct {
	guint64 broken;				  /* rows that do not follow their predecessor */
	gint64 broken_at[GBE_HISTORY_BROKEN_MAX]; /* the revisions of the first of them */
	guint64 live;				  /* keys whose last row is a put */
	/* the hashes of keys were made to collide, so that not all rows were checked */
	bool incomplete;
	guint64 passes;
	bool
	    knows_superseded; /* false: more rows up to the compacted revision than bits for them */
	bool has_superseded;  /* any */
} GbeHistoryResult;

/* After the last pass: */
const GbeHistoryResult *gbe_history_result(const GbeHistory *history);
bool gbe_history_is_superseded(const GbeHistory *history, guint32 ordinal);
