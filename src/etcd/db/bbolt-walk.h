/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the walk over a tree and the look into its leaves. Implemented in bbolt-walk.c, bbolt-leaf.c. */
#pragma once

#include "etcd/db/bbolt-page.h"
#include "etcd/db/bbolt.h"

/* Nested buckets, which etcd does not have, wait here until the walk of the outer one ends. */
#define GBE_NESTED_MAX 1024U

typedef struct {
	const guint8 *bytes;
	gsize size;
} GbeKey;

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
} GbeTreeWalk;

/* A page with its overflow pages, or a bucket's inline page in its value. */
typedef struct {
	guint64 id;
	guint64 at;	     /* byte of the file; 0 and unused for an inline page */
	guint64 span;	     /* bytes */
	const guint8 *bytes; /* NULL: too large for the window */
	GbePageHeader header;
	guint depth;
} GbeTreePage;

static inline void
gbe_walk_remember(GbeTreeWalk *walk, GbeKey key, bool is_row)
{
	memcpy(walk->last, key.bytes, key.size);
	walk->last_size = key.size;
	walk->last_is_row = is_row;
}

/* May @key follow its predecessor? */
static inline bool
gbe_walk_in_order(GbeKey last, GbeKey key, bool last_is_row)
{
	int order = memcmp(key.bytes, last.bytes, MIN(key.size, last.size));

	if (order == 0)
		order = (key.size > last.size) - (key.size < last.size);
	return order > 0 || (order == 0 && !last_is_row) || last.size == 0;
}

void gbe_walk_bad_layout(GbeTreeWalk *walk, const GbeTreePage *page, guint index);
void gbe_walk_bad_order(GbeTreeWalk *walk, const GbeTreePage *page, guint index);

/* Visits every row of a leaf, also a leaf that is too large for memory. */
bool gbe_walk_leaf(GbeTreeWalk *walk, const GbeTreePage *page, GError **error) GBE_CHECKED;
