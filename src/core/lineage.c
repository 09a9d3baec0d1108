/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/lineage.h"

void
gbe_lineage_clear(GbeLineage *lineage)
{
	g_clear_pointer(&lineage->ancestors, g_array_unref);
	lineage->line = 0;
	lineage->truncated = false;
	lineage->at = 0;
}

void
gbe_lineage_copy(GbeLineage *to, const GbeLineage *from)
{
	GbeLineage copy = *from;

	/* A lineage may grow without the one that it came from. */
	if (from->ancestors != NULL)
		copy.ancestors = g_array_copy(from->ancestors);
	gbe_lineage_clear(to);
	*to = copy;
}

void
gbe_lineage_add(GbeLineage *lineage, const GbeAncestor *ancestor)
{
	if (lineage->ancestors == NULL)
		lineage->ancestors = g_array_new(false, false, sizeof(GbeAncestor));
	g_array_append_vals(lineage->ancestors, ancestor, 1);
	if (lineage->ancestors->len > GBE_LINEAGE_MAX) {
		g_array_remove_index(lineage->ancestors, 0);
		lineage->truncated = true;
	}
}

void
gbe_lineage_grow(GbeLineage *to, const GbeLineage *from, guint64 sequence, guint64 line)
{
	GbeLineage grown = {0};
	const GbeAncestor parent = {from->line, sequence};

	gbe_lineage_copy(&grown, from);
	grown.line = line;
	grown.at = 0;
	/* The line grows from another one that is not known. */
	if (from->line == 0)
		grown.truncated = true;
	else
		gbe_lineage_add(&grown, &parent);
	gbe_lineage_clear(to);
	*to = grown;
}

GbeTri
gbe_lineage_contains(const GbeLineage *data, guint64 data_sequence, guint64 line, guint64 sequence)
{
	guint64 oldest = data->line;

	if (data->line == 0 || line == 0)
		return GBE_UNKNOWN;
	if (data->line == line)
		return gbe_tri(sequence <= data_sequence);
	for (guint i = 0; data->ancestors != NULL && i < data->ancestors->len; i++) {
		const GbeAncestor *ancestor = &g_array_index(data->ancestors, GbeAncestor, i);

		if (ancestor->line == line)
			return gbe_tri(sequence <= ancestor->sequence);
	}
	/* A line has a larger number than the line that it grew from. So a line newer than the oldest known one cannot
	 * be among the forgotten ancestors. */
	if (data->ancestors != NULL && data->ancestors->len > 0)
		oldest = g_array_index(data->ancestors, GbeAncestor, 0).line;
	return data->truncated && line < oldest ? GBE_UNKNOWN : GBE_NO;
}

static bool
has_line(const GbeLineage *lineage, guint64 line)
{
	if (lineage->line == line)
		return true;
	for (guint i = 0; lineage->ancestors != NULL && i < lineage->ancestors->len; i++)
		if (g_array_index(lineage->ancestors, GbeAncestor, i).line == line)
			return true;
	return false;
}

bool
gbe_lineage_related(const GbeLineage *a, const GbeLineage *b)
{
	if (a->line == 0 || b->line == 0)
		return false;
	if (has_line(b, a->line))
		return true;
	for (guint i = 0; a->ancestors != NULL && i < a->ancestors->len; i++)
		if (has_line(b, g_array_index(a->ancestors, GbeAncestor, i).line))
			return true;
	return false;
}
