/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/segments.h"

#include <string.h>

#include "etcd/layout.h"
#include "fs/list.h"

static void
segment_free(GbeWalSegment *segment)
{
	g_free(segment->name);
	g_free(segment);
}

static gint
by_name(gconstpointer a, gconstpointer b)
{
	const GbeWalSegment *const *first = a;
	const GbeWalSegment *const *second = b;

	return strcmp((*first)->name, (*second)->name);
}

static void
note_other(const char *path, const char *name, GbeFindings *findings)
{
	g_autofree char *file = g_build_filename(path, name, NULL);

	gbe_findings_add(
	    findings, GBE_FINDING_NOTE, "member-leftover", file, GBE_PLACE_FILE, 0, GBE_YES, GBE_NO,
	    g_str_has_suffix(name, ".tmp") ? "a segment that was being prepared when etcd was ended"
					   : "etcd does not know it, and passes it over");
}

static GbeWalSegment *
segment_new(const char *name)
{
	GbeWalSegment *segment = g_new0(GbeWalSegment, 1);

	segment->name = g_strdup(name);
	segment->sequence = g_ascii_strtoull(name, NULL, 16);
	segment->index = g_ascii_strtoull(name + 17, NULL, 16);
	return segment;
}

bool
gbe_wal_segments_list(int dir_fd, const char *path, GPtrArray **ret_segments, GbeFindings *findings,
		      GError **error)
{
	g_autoptr(GPtrArray) segments =
	    g_ptr_array_new_with_free_func((GDestroyNotify)segment_free);
	g_auto(GbeList) list = gbe_list_open_at(dir_fd, path);
	const char *name;

	while ((name = gbe_list_next(&list)) != NULL) {
		if (!gbe_layout_is_segment(name))
			note_other(path, name, findings);
		else if (segments->len <= GBE_WAL_SEGMENTS_MAX)
			g_ptr_array_add(segments, segment_new(name));
	}
	if (!gbe_list_end(&list, error))
		return false;
	if (segments->len > GBE_WAL_SEGMENTS_MAX) {
		g_ptr_array_set_size(segments, GBE_WAL_SEGMENTS_MAX);
		gbe_findings_add(findings, GBE_FINDING_UNKNOWN, "wal-too-many", path,
				 GBE_PLACE_FILE, 0, GBE_UNKNOWN, GBE_UNKNOWN,
				 "more than %d segments", GBE_WAL_SEGMENTS_MAX);
	}
	g_ptr_array_sort(segments, by_name);
	*ret_segments = g_steal_pointer(&segments);
	return true;
}
