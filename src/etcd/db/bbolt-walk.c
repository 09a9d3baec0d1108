/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Walks a tree, for etcd/db/bbolt.h. */
#include "etcd/db/bbolt-page.h"
#include "etcd/db/bbolt.h"

#include <string.h>

/* Nested buckets, which etcd does not have, wait here until the walk of the outer one ends. */
#define NESTED_MAX 1024U

typedef struct {
	const guint8 *bytes;
	gsize size;
} Key;

typedef struct {
	GbeBbolt *db;
	GbePageSet *reached; /* NULL: the pages were proved before */
	const GbeBboltVisitor *visitor;
	bool is_root;
	bool right_edge; /* only the last child of each branch */
	bool stopped;
	/* Keys ascend over the whole tree: a row's key is above the last row's, and not below the key of the branch
	 * that led to it. */
	guint8 *last;
	gsize last_size;
	bool last_is_row;
	GArray *nested; /* of guint64 */
} Walk;

/* A page with its overflow pages, or a bucket's inline page in its value. */
typedef struct {
	guint64 id;
	guint64 at;	     /* byte of the file; 0 and unused for an inline page */
	guint64 span;	     /* bytes */
	const guint8 *bytes; /* NULL: too large for the window */
	GbePageHeader header;
	guint depth;
} Page;

static void
remember(Walk *walk, Key key, bool is_row)
{
	memcpy(walk->last, key.bytes, key.size);
	walk->last_size = key.size;
	walk->last_is_row = is_row;
}

/* May @key follow its predecessor? */
static bool
in_order(Key last, Key key, bool last_is_row)
{
	int order = memcmp(key.bytes, last.bytes, MIN(key.size, last.size));

	if (order == 0)
		order = (key.size > last.size) - (key.size < last.size);
	return order > 0 || (order == 0 && !last_is_row) || last.size == 0;
}

static void
bad_layout(Walk *walk, const Page *page, guint index)
{
	gbe_bbolt_damage(walk->db, "bbolt-element", page->id, GBE_UNKNOWN,
			 "element %u of %u does not lie where bbolt would have put it", index,
			 page->header.count);
}

static void
bad_order(Walk *walk, const Page *page, guint index)
{
	gbe_bbolt_damage(walk->db, "bbolt-order", page->id, GBE_UNKNOWN,
			 "the key of element %u of %u does not follow the one before it", index,
			 page->header.count);
}

/* ---- leaves ---- */

static void
settle(const Walk *walk)
{
	if (walk->visitor != NULL && walk->visitor->settle != NULL)
		walk->visitor->settle(walk->visitor->data);
}

static bool
take_nested(Walk *walk, const GbeBboltRow *row)
{
	guint64 root;

	if (walk->is_root || walk->reached == NULL)
		return true;
	if (row->value == NULL || row->value_size < GBE_BUCKET_HEADER)
		return false;
	root = gbe_load64(row->value);
	if (root != 0 && walk->nested->len < NESTED_MAX)
		g_array_append_val(walk->nested, root);
	gbe_findings_add(walk->db->findings, GBE_FINDING_WARNING, "bbolt-nested", walk->db->what,
			 GBE_PLACE_PAGE, row->page, GBE_NO, GBE_NO,
			 "a bucket within a bucket: etcd makes none");
	return true;
}

static bool
hand_on(Walk *walk, const Page *page, guint index, const GbeBboltRow *row, GError **error)
{
	if (row->is_bucket && !take_nested(walk, row)) {
		bad_layout(walk, page, index);
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
read_element(const Page *page, guint index, const guint8 *element, guint64 *expected,
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
walk_small_leaf(Walk *walk, const Page *page, GError **error)
{
	guint64 expected = GBE_PAGE_HEADER + (guint64)page->header.count * GBE_PAGE_ELEMENT;
	const guint8 *element = page->bytes + GBE_PAGE_HEADER;
	Key last = {walk->last, walk->last_size};
	bool last_is_row = walk->last_is_row;

	for (guint i = 0; i < page->header.count && !walk->stopped; i++) {
		guint64 begin = expected;
		GbeBboltRow row;
		Key key;

		if (!read_element(page, i, element, &expected, &row)) {
			bad_layout(walk, page, i);
			break;
		}
		row.key = page->bytes + begin;
		row.value = row.key + row.key_size;
		key = (Key){row.key, row.key_size};
		if (!in_order(last, key, last_is_row))
			bad_order(walk, page, i);
		if (!hand_on(walk, page, i, &row, error))
			return false;
		last = key;
		last_is_row = true;
		element += GBE_PAGE_ELEMENT;
	}
	if (last_is_row && last.bytes != walk->last)
		remember(walk, last, true);
	settle(walk);
	return true;
}

/* A leaf with a large value, seldom more than one row: element by element. */
static bool
walk_large_leaf(Walk *walk, const Page *page, GError **error)
{
	GbeWindow *level = &walk->db->levels[page->depth];
	guint64 expected = GBE_PAGE_HEADER + (guint64)page->header.count * GBE_PAGE_ELEMENT;

	for (guint i = 0; i < page->header.count && !walk->stopped; i++) {
		const guint8 *element = NULL;
		guint64 begin = expected;
		gsize whole;
		gsize got = 0;
		GbeBboltRow row;
		Key key;

		if (!gbe_window_at(level, page->at + GBE_PAGE_HEADER + i * GBE_PAGE_ELEMENT,
				   GBE_PAGE_ELEMENT, &element, &got, error))
			return false;
		if (got < GBE_PAGE_ELEMENT || expected > page->span ||
		    !read_element(page, i, element, &expected, &row)) {
			bad_layout(walk, page, i);
			break;
		}
		whole = row.key_size + (gsize)row.value_size;
		if (!gbe_bbolt_fetch(walk->db, page->at + begin,
				     whole <= GBE_BBOLT_WINDOW ? whole : row.key_size, &row.key,
				     error))
			return false;
		row.value = whole <= GBE_BBOLT_WINDOW ? row.key + row.key_size : NULL;
		key = (Key){row.key, row.key_size};
		if (!in_order((Key){walk->last, walk->last_size}, key, walk->last_is_row))
			bad_order(walk, page, i);
		remember(walk, key, true);
		if (!hand_on(walk, page, i, &row, error))
			return false;
		settle(walk);
	}
	return true;
}

/* Visits every row of a leaf, also of one that is too large for memory. */
static bool
walk_leaf(Walk *walk, const Page *page, GError **error)
{
	return page->bytes != NULL ? walk_small_leaf(walk, page, error)
				   : walk_large_leaf(walk, page, error);
}

/* ---- branches ---- */

static bool walk_page(Walk *walk, guint64 id, guint depth, GError **error);

static bool
walk_branch(Walk *walk, const Page *page, GError **error)
{
	GbeWindow *level = &walk->db->levels[page->depth];
	guint64 expected = GBE_PAGE_HEADER + (guint64)page->header.count * GBE_PAGE_ELEMENT;

	for (guint i = 0; i < page->header.count && !walk->stopped; i++) {
		guint64 begin = GBE_PAGE_HEADER + (guint64)i * GBE_PAGE_ELEMENT;
		const guint8 *at = NULL;
		gsize got = 0;
		guint64 child;
		Key key;

		if (!gbe_window_at(level, page->at + begin, GBE_PAGE_ELEMENT, &at, &got, error))
			return false;
		if (got < GBE_PAGE_ELEMENT)
			break;
		begin += gbe_load32(at);
		key.size = gbe_load32(at + 4);
		child = gbe_load64(at + 8);
		if (begin != expected || key.size == 0 || key.size > GBE_BBOLT_KEY_MAX ||
		    begin + key.size > page->span) {
			bad_layout(walk, page, i);
			break;
		}
		expected += key.size;
		if (!gbe_window_at(level, page->at + begin, key.size, &at, &got, error))
			return false;
		if (got < key.size)
			break;
		key.bytes = at;
		if (!in_order((Key){walk->last, walk->last_size}, key, walk->last_is_row))
			bad_order(walk, page, i);
		remember(walk, key, false);
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
reach(Walk *walk, const Page *page)
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
check_header(Walk *walk, Page *page)
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
read_page(Walk *walk, Page *page, GError **error)
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
walk_page(Walk *walk, guint64 id, guint depth, GError **error)
{
	Page page = {.id = id, .depth = depth};
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
	return walk_leaf(walk, &page, error);
}

/* Reads the inline page of a small bucket, which is in the bucket's value: a leaf. */
static bool
walk_inline(Walk *walk, const GbeBboltBucket *bucket, GError **error)
{
	Page page = {.id = bucket->page, .span = bucket->inlined_size, .bytes = bucket->inlined};

	page.header = gbe_page_header(bucket->inlined);
	if (page.header.flags != GBE_PAGE_LEAF || page.header.overflow != 0 ||
	    GBE_PAGE_HEADER + (guint64)page.header.count * GBE_PAGE_ELEMENT > page.span) {
		gbe_bbolt_damage(walk->db, "bbolt-inline", bucket->page, GBE_UNKNOWN,
				 "the page inside of bucket \"%s\" is none", bucket->name);
		return true;
	}
	return walk_leaf(walk, &page, error);
}

static bool
walk_bucket(GbeBbolt *db, const GbeBboltBucket *bucket, GbePageSet *reached, bool right_edge,
	    const GbeBboltVisitor *visitor, bool *ret_stopped, GError **error)
{
	g_autofree guint8 *last = g_malloc(GBE_BBOLT_KEY_MAX);
	g_autoptr(GArray) nested = g_array_new(false, false, sizeof(guint64));
	Walk walk = {
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
