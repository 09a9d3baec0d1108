/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where data comes from. A line is a number: the sequence at which it began. A fresh start begins a
 * chain, a restore begins a line that grows from what it restored, an upgrade or a return with the
 * data continues it. Data contains a backup when its chain has the backup's line at the backup's
 * sequence or later (decisions.md, "Line").
 */
#pragma once

#include "core/tri.h"

#include <glib.h>

/* Older ancestors than these are forgotten; containment is then unknown, which rewinds nothing. */
#define GBE_LINEAGE_MAX 64

typedef struct {
	guint64 line;
	guint64 sequence;
} GbeAncestor;

typedef struct {
	guint64 line;	    /* 0: not known */
	GArray *ancestors;  /* of GbeAncestor, oldest first; NULL: none */
	gboolean truncated; /* older ancestors were forgotten, or nobody knows what was before */
	guint64
	    at; /* of a backup: where on the line it is, when that is before its own sequence; 0 */
} GbeLineage;

void gbe_lineage_clear(GbeLineage *lineage);
void gbe_lineage_copy(GbeLineage *to, const GbeLineage *from);
/* The lineage of data restored, under the new line @line, from a backup of @from at @sequence. */
void gbe_lineage_grow(GbeLineage *to, const GbeLineage *from, guint64 sequence, guint64 line);
/* Whether data of @data, now at @data_sequence, contains what was at (@line, @sequence). */
GbeTri gbe_lineage_contains(const GbeLineage *data, guint64 data_sequence, guint64 line,
			    guint64 sequence);
