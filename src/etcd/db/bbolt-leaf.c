/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads leaves, for etcd/db/bbolt-walk.h. */
#include "etcd/db/bbolt-walk.h"

static void
settle(const GbeTreeWalk *walk)
{
	if (walk->visitor != NULL && walk->visitor->settle != NULL)
		walk->visitor->settle(walk->visitor->data);
}

static bool
take_nested(GbeTreeWalk *walk, const GbeBboltRow *row)
{
	guint64 root;

	if (walk->is_root || walk->reached == NULL)
		return true;
	if (row->value == NULL || row->value_size < GBE_BUCKET_HEADER)
		return false;
	root = gbe_load64(row->value);
	if (root != 0 && walk->nested->len < GBE_NESTED_MAX)
		g_array_append_val(walk->nested, root);
	gbe_findings_add(walk->db->findings, GBE_FINDING_WARNING, "bbolt-nested", walk->db->what,
			 GBE_PLACE_PAGE, row->page, GBE_NO, GBE_NO,
			 "a bucket within a bucket: etcd makes none");
	return true;
}

static bool
hand_on(GbeTreeWalk *walk, const GbeTreePage *page, guint index, const GbeBboltRow *row,
	GError **error)
{
	if (row->is_bucket && !take_nested(walk, row)) {
		gbe_walk_bad_layout(walk, page, index);
		return true;
	}
	if (walk->visitor == NULL)
		return true;
	switch (walk->visitor->row(row, walk->visitor->data, error)) {
	case GBE_WALK_ON:
		return true;
	case GBE_WALK_STOP:
		walk->stopped = true;
		return true;
	case GBE_WALK_FAIL:
		break;
	}
	return false;
}

/* Reads an element of a leaf; false where it is invalid. bbolt writes keys and values without a gap, in the order
 * of the elements and after them: @expected is where the next one must begin. */
static bool
read_element(const GbeTreePage *page, guint index, const guint8 *element, guint64 *expected,
	     GbeBboltRow *ret_row)
{
	guint32 flags = gbe_load32(element);
	guint64 key_size = gbe_load32(element + 8);
	guint64 value_size = gbe_load32(element + 12);
	guint64 begin =
	    GBE_PAGE_HEADER + (guint64)index * GBE_PAGE_ELEMENT + gbe_load32(element + 4);
	guint64 end = begin + key_size + value_size;

	if (flags > GBE_LEAF_BUCKET || begin != *expected || end > page->span || key_size == 0 ||
	    key_size > GBE_BBOLT_KEY_MAX)
		return false;
	*ret_row = (GbeBboltRow){
	    .page = page->id,
	    .is_bucket = flags == GBE_LEAF_BUCKET,
	    .key_size = (gsize)key_size,
	    .value_size = value_size,
	    .value_at = page->at + begin + key_size,
	};
	*expected = end;
	return true;
}

/* A leaf that is in memory. */
static bool
walk_leaf(GbeTreeWalk *walk, const GbeTreePage *page, GError **error)
{
	guint64 expected = GBE_PAGE_HEADER + (guint64)page->header.count * GBE_PAGE_ELEMENT;
	const guint8 *element = page->bytes + GBE_PAGE_HEADER;
	GbeKey last = {walk->last, walk->last_size};
	bool last_is_row = walk->last_is_row;

	for (guint i = 0; i < page->header.count && !walk->stopped; i++) {
		guint64 begin = expected;
		GbeBboltRow row;
		GbeKey key;

		if (!read_element(page, i, element, &expected, &row)) {
			gbe_walk_bad_layout(walk, page, i);
			break;
		}
		row.key = page->bytes + begin;
		row.value = row.key + row.key_size;
		key = (GbeKey){row.key, row.key_size};
		if (!gbe_walk_in_order(last, key, last_is_row))
			gbe_walk_bad_order(walk, page, i);
		if (!hand_on(walk, page, i, &row, error))
			return false;
		last = key;
		last_is_row = true;
		element += GBE_PAGE_ELEMENT;
	}
	if (last_is_row && last.bytes != walk->last)
		gbe_walk_remember(walk, last, true);
	settle(walk);
	return true;
}

/* A leaf with a large value, seldom more than one row: element by element. */
static bool
walk_large_leaf(GbeTreeWalk *walk, const GbeTreePage *page, GError **error)
{
	GbeWindow *level = &walk->db->levels[page->depth];
	guint64 expected = GBE_PAGE_HEADER + (guint64)page->header.count * GBE_PAGE_ELEMENT;

	for (guint i = 0; i < page->header.count && !walk->stopped; i++) {
		const guint8 *element = NULL;
		guint64 begin = expected;
		gsize whole;
		gsize got = 0;
		GbeBboltRow row;
		GbeKey key;

		if (!gbe_window_at(level, page->at + GBE_PAGE_HEADER + i * GBE_PAGE_ELEMENT,
				   GBE_PAGE_ELEMENT, &element, &got, error))
			return false;
		if (got < GBE_PAGE_ELEMENT || expected > page->span ||
		    !read_element(page, i, element, &expected, &row)) {
			gbe_walk_bad_layout(walk, page, i);
			break;
		}
		whole = row.key_size + (gsize)row.value_size;
		if (!gbe_bbolt_fetch(walk->db, page->at + begin,
				     whole <= GBE_BBOLT_WINDOW ? whole : row.key_size, &row.key,
				     error))
			return false;
		row.value = whole <= GBE_BBOLT_WINDOW ? row.key + row.key_size : NULL;
		key = (GbeKey){row.key, row.key_size};
		if (!gbe_walk_in_order((GbeKey){walk->last, walk->last_size}, key,
				       walk->last_is_row))
			gbe_walk_bad_order(walk, page, i);
		gbe_walk_remember(walk, key, true);
		if (!hand_on(walk, page, i, &row, error))
			return false;
		settle(walk);
	}
	return true;
}

bool
gbe_walk_leaf(GbeTreeWalk *walk, const GbeTreePage *page, GError **error)
{
	return page->bytes != NULL ? walk_leaf(walk, page, error)
				   : walk_large_leaf(walk, page, error);
}
