/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Walks a tree, for etcd/db/bbolt.h. */
#include "etcd/db/bbolt-walk.h"

void
gbe_walk_bad_layout(GbeTreeWalk *walk, const GbeTreePage *page, guint index)
{
	gbe_bbolt_damage(walk->db, "bbolt-element", page->id, GBE_UNKNOWN,
			 "element %u of %u does not lie where bbolt would have put it", index,
			 page->header.count);
}

void
gbe_walk_bad_order(GbeTreeWalk *walk, const GbeTreePage *page, guint index)
{
	gbe_bbolt_damage(walk->db, "bbolt-order", page->id, GBE_UNKNOWN,
			 "the key of element %u of %u does not follow the one before it", index,
			 page->header.count);
}

/* ---- branches ---- */

static bool walk_page(GbeTreeWalk *walk, guint64 id, guint depth, GError **error);

static bool
walk_branch(GbeTreeWalk *walk, const GbeTreePage *page, GError **error)
{
	GbeWindow *level = &walk->db->levels[page->depth];
	guint64 expected = GBE_PAGE_HEADER + (guint64)page->header.count * GBE_PAGE_ELEMENT;

	for (guint i = 0; i < page->header.count && !walk->stopped; i++) {
		guint64 begin = GBE_PAGE_HEADER + (guint64)i * GBE_PAGE_ELEMENT;
		const guint8 *at = NULL;
		gsize got = 0;
		guint64 child;
		GbeKey key;

		if (!gbe_window_at(level, page->at + begin, GBE_PAGE_ELEMENT, &at, &got, error))
			return false;
		if (got < GBE_PAGE_ELEMENT)
			break;
		begin += gbe_load32(at);
		key.size = gbe_load32(at + 4);
		child = gbe_load64(at + 8);
		if (begin != expected || key.size == 0 || key.size > GBE_BBOLT_KEY_MAX ||
		    begin + key.size > page->span) {
			gbe_walk_bad_layout(walk, page, i);
			break;
		}
		expected += key.size;
		if (!gbe_window_at(level, page->at + begin, key.size, &at, &got, error))
			return false;
		if (got < key.size)
			break;
		key.bytes = at;
		if (!gbe_walk_in_order((GbeKey){walk->last, walk->last_size}, key,
				       walk->last_is_row))
			gbe_walk_bad_order(walk, page, i);
		gbe_walk_remember(walk, key, false);
		if (walk->right_edge && i + 1U < page->header.count)
			continue;
		if (!walk_page(walk, child, page->depth + 1, error))
			return false;
	}
	return true;
}

/* ---- pages ---- */

static bool
in_file(const GbeBbolt *db, guint64 id, guint64 pages)
{
	guint64 end = MIN(db->meta.high_water, db->file_size / db->meta.page_size);

	return id >= 2 && id < end && pages <= end - id;
}

/* Each page belongs to one place. False: the page cannot be used. */
static bool
reach(GbeTreeWalk *walk, const GbeTreePage *page)
{
	for (guint64 i = 0; i <= page->header.overflow; i++) {
		switch (gbe_page_set_add(walk->reached, page->id + i)) {
		case GBE_PAGE_NEW:
			continue;
		case GBE_PAGE_TWICE:
			gbe_bbolt_damage(walk->db, "bbolt-page-twice", page->id + i, GBE_YES,
					 "two places of the tree lead to this page");
			return false;
		case GBE_PAGE_FULL:
			gbe_findings_add(walk->db->findings, GBE_FINDING_UNKNOWN, "bbolt-too-large",
					 walk->db->what, GBE_PLACE_PAGE, page->id + i, GBE_UNKNOWN,
					 GBE_UNKNOWN,
					 "more pages than this program keeps count of");
			walk->stopped = true;
			walk->db->damages++;
			return false;
		}
	}
	return true;
}

/* False: a finding was added, and the page is skipped. */
static bool
check_header(GbeTreeWalk *walk, GbeTreePage *page)
{
	const GbePageHeader *header = &page->header;

	page->span = ((guint64)header->overflow + 1) * walk->db->meta.page_size;
	if (header->id != page->id) {
		gbe_bbolt_damage(walk->db, "bbolt-page-id", page->id, GBE_UNKNOWN,
				 "the page says that it is page %" G_GUINT64_FORMAT, header->id);
		return false;
	}
	if (header->flags != GBE_PAGE_BRANCH && header->flags != GBE_PAGE_LEAF) {
		gbe_bbolt_damage(walk->db, "bbolt-page-type", page->id, GBE_YES,
				 "neither a branch nor a leaf (0x%02x) where the tree needs one",
				 header->flags);
		return false;
	}
	if (!in_file(walk->db, page->id, (guint64)header->overflow + 1) ||
	    GBE_PAGE_HEADER + (guint64)header->count * GBE_PAGE_ELEMENT > page->span) {
		gbe_bbolt_damage(walk->db, "bbolt-page-size", page->id, GBE_YES,
				 "%u elements and %u more pages do not fit", header->count,
				 header->overflow);
		return false;
	}
	if (header->count == 0 && (page->depth > 0 || header->flags == GBE_PAGE_BRANCH)) {
		gbe_bbolt_damage(walk->db, "bbolt-page-empty", page->id, GBE_UNKNOWN,
				 "a page without elements, which bbolt would have removed");
		return false;
	}
	return walk->reached == NULL || reach(walk, page);
}

static bool
read_page(GbeTreeWalk *walk, GbeTreePage *page, GError **error)
{
	guint32 size = walk->db->meta.page_size;
	const guint8 *at = NULL;

	if (!gbe_bbolt_fetch(walk->db, page->at, MIN(size, GBE_BBOLT_WINDOW), &at, error))
		return false;
	page->header = gbe_page_header(at);
	page->bytes = page->header.overflow == 0 && size <= GBE_BBOLT_WINDOW ? at : NULL;
	return true;
}

static bool
walk_page(GbeTreeWalk *walk, guint64 id, guint depth, GError **error)
{
	GbeTreePage page = {.id = id, .depth = depth};
	const guint8 *at = NULL;
	gsize got = 0;

	if (depth >= GBE_BBOLT_DEPTH_MAX) {
		gbe_bbolt_damage(walk->db, "bbolt-depth", id, GBE_UNKNOWN,
				 "the tree is deeper than %d pages", GBE_BBOLT_DEPTH_MAX);
		return true;
	}
	if (!in_file(walk->db, id, 1)) {
		gbe_bbolt_damage(walk->db, "bbolt-page-outside", id, GBE_YES,
				 "the tree leads to a page that the database does not have");
		return true;
	}
	page.at = id * walk->db->meta.page_size;
	if (!read_page(walk, &page, error))
		return false;
	if (!check_header(walk, &page))
		return true;
	if (page.header.flags == GBE_PAGE_BRANCH) {
		if (!gbe_window_at(&walk->db->levels[depth], page.at,
				   (gsize)MIN(page.span, GBE_BBOLT_LEVEL_WINDOW), &at, &got, error))
			return false;
		return walk_branch(walk, &page, error);
	}
	if (page.bytes == NULL && page.span <= GBE_BBOLT_WINDOW &&
	    !gbe_bbolt_fetch(walk->db, page.at, (gsize)page.span, &page.bytes, error))
		return false;
	return gbe_walk_leaf(walk, &page, error);
}

/* Reads the inline page of a small bucket, which is in the bucket's value: a leaf. */
static bool
walk_inline(GbeTreeWalk *walk, const GbeBboltBucket *bucket, GError **error)
{
	GbeTreePage page = {.id = bucket->page,
			    .span = bucket->inlined_size,
			    .bytes = bucket->inlined};

	page.header = gbe_page_header(bucket->inlined);
	if (page.header.flags != GBE_PAGE_LEAF || page.header.overflow != 0 ||
	    GBE_PAGE_HEADER + (guint64)page.header.count * GBE_PAGE_ELEMENT > page.span) {
		gbe_bbolt_damage(walk->db, "bbolt-inline", bucket->page, GBE_UNKNOWN,
				 "the page inside of bucket \"%s\" is none", bucket->name);
		return true;
	}
	return gbe_walk_leaf(walk, &page, error);
}

static bool
walk_bucket(GbeBbolt *db, const GbeBboltBucket *bucket, GbePageSet *reached, bool right_edge,
	    const GbeBboltVisitor *visitor, bool *ret_stopped, GError **error)
{
	g_autofree guint8 *last = g_malloc(GBE_BBOLT_KEY_MAX);
	g_autoptr(GArray) nested = g_array_new(false, false, sizeof(guint64));
	GbeTreeWalk walk = {
	    .db = db,
	    .reached = reached,
	    .visitor = visitor,
	    .is_root = bucket->name == NULL,
	    .right_edge = right_edge,
	    .last = last,
	    .nested = nested,
	};

	if (bucket->inlined != NULL ? !walk_inline(&walk, bucket, error)
				    : !walk_page(&walk, bucket->root, 0, error))
		return false;
	walk.visitor = NULL;
	for (guint i = 0; i < nested->len && !walk.stopped; i++) {
		walk.last_size = 0;
		if (!walk_page(&walk, g_array_index(nested, guint64, i), 0, error))
			return false;
	}
	if (ret_stopped != NULL)
		*ret_stopped = walk.stopped;
	return true;
}

bool
gbe_bbolt_walk(GbeBbolt *db, const GbeBboltBucket *bucket, GbePageSet *reached,
	       const GbeBboltVisitor *visitor, bool *ret_stopped, GError **error)
{
	return walk_bucket(db, bucket, reached, false, visitor, ret_stopped, error);
}

bool
gbe_bbolt_walk_end(GbeBbolt *db, const GbeBboltBucket *bucket, GbePageSet *reached,
		   const GbeBboltVisitor *visitor, GError **error)
{
	return walk_bucket(db, bucket, reached, true, visitor, NULL, error);
}
