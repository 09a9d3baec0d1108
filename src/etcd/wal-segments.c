/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal-segments.h"

#include <string.h>

#include "etcd/layout.h"
#include "etcd/wal.h"
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

typedef struct {
	const char *path;
	GPtrArray *segments;
	GbeFindings *findings;
} Listing;

static void
take_other(const Listing *listing, const char *name)
{
	g_autofree char *file = g_build_filename(listing->path, name, NULL);

	gbe_findings_add(listing->findings, GBE_FINDING_NOTE, "member-leftover", file,
			 GBE_PLACE_FILE, 0, GBE_YES, GBE_NO,
			 g_str_has_suffix(name, ".tmp")
			     ? "a segment that was being prepared when etcd was ended"
			     : "etcd does not know it, and passes it over");
}

static void
take_name(const char *name, gpointer data)
{
	const Listing *listing = data;
	GbeWalSegment *segment;

	if (!gbe_wal_is_name(name)) {
		take_other(listing, name);
		return;
	}
	if (listing->segments->len > GBE_WAL_SEGMENTS_MAX)
		return;
	segment = g_new0(GbeWalSegment, 1);
	segment->name = g_strdup(name);
	segment->sequence = g_ascii_strtoull(name, NULL, 16);
	segment->index = g_ascii_strtoull(name + 17, NULL, 16);
	g_ptr_array_add(listing->segments, segment);
}

bool
gbe_wal_segments_list(int dir_fd, const char *path, GPtrArray **ret_segments, GbeFindings *findings,
		      GError **error)
{
	g_autoptr(GPtrArray) segments =
	    g_ptr_array_new_with_free_func((GDestroyNotify)segment_free);
	Listing listing = {.path = path, .segments = segments, .findings = findings};

	if (!gbe_list_each_at(dir_fd, path, take_name, &listing, error))
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
