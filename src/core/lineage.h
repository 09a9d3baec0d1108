/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The origin of data. A line is a number: the sequence at which it began. A fresh start begins a line without
 * ancestors. A restore begins a line that grows from the restored one. An upgrade, or a return with the data, continues
 * the line. Data contains a backup when the backup's line is in its ancestry at the backup's sequence or later
 * (decisions.md, "Line").
 */
#pragma once

#include "core/tri.h"

#include <glib.h>
#include <stdbool.h>

/* Ancestors beyond this number are forgotten. Containment is then unknown, which rewinds nothing. */
#define GBE_LINEAGE_MAX 64

typedef struct {
	guint64 line;
	guint64 sequence;
} GbeAncestor;

typedef struct {
	guint64 line;	   /* 0: not known */
	GArray *ancestors; /* of GbeAncestor, oldest first; NULL: none */
	bool truncated;	   /* older ancestors were forgotten, or are not known */
	/* Of a backup: its place on the line, where that is before its own sequence; else 0. */
	guint64 at;
} GbeLineage;

void gbe_lineage_clear(GbeLineage *lineage);
void gbe_lineage_copy(GbeLineage *to, const GbeLineage *from);
/* Adds the youngest ancestor. Beyond GBE_LINEAGE_MAX, the oldest is forgotten. */
void gbe_lineage_add(GbeLineage *lineage, const GbeAncestor *ancestor);
/* Sets @to to the lineage of restored data: the new line @line grows from @from at @sequence. */
void gbe_lineage_grow(GbeLineage *to, const GbeLineage *from, guint64 sequence, guint64 line);
/* Do both come from one start of etcd, as far as their known ancestors say? No where either is not known. */
bool gbe_lineage_related(const GbeLineage *a, const GbeLineage *b);
/* Does data with lineage @data, now at @data_sequence, contain the state at (@line, @sequence)? */
GbeTri gbe_lineage_contains(const GbeLineage *data, guint64 data_sequence, guint64 line,
			    guint64 sequence);
