/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the walk over a tree and the look into its leaves share: etcd/bbolt-walk.c, etcd/bbolt-leaf.c. */
#pragma once

#include "etcd/bbolt-page.h"
#include "etcd/bbolt.h"

/* Buckets within a bucket, of which etcd has none, wait here until the one around them is through. */
#define GBE_NESTED_MAX 1024U

typedef struct {
	const guint8 *bytes;
	gsize size;
} GbeKey;

typedef struct {
	GbeBbolt *db;
	GbePageSet *reached; /* NULL: the pages are known to be sound */
	const GbeBboltVisitor *visitor;
	gboolean is_root;
	gboolean right_edge; /* of each branch only the last child */
	gboolean stopped;
	/* Keys ascend over the whole tree: a row's is above the last row's, and not below the branch
	 * that led to it. */
	guint8 *last;
	gsize last_size;
	gboolean last_is_row;
	GArray *nested; /* of guint64 */
} GbeTreeWalk;

/* A page with what belongs to it, or a bucket's own page in its value. */
typedef struct {
	guint64 id;
	guint64 at;	     /* byte of the file; inline: 0, of no use */
	guint64 span;	     /* bytes */
	const guint8 *bytes; /* NULL: too large for the window */
	GbePageHeader header;
	guint depth;
} GbeTreePage;

static inline void
gbe_walk_remember(GbeTreeWalk *walk, GbeKey key, gboolean is_row)
{
	memcpy(walk->last, key.bytes, key.size);
	walk->last_size = key.size;
	walk->last_is_row = is_row;
}

/* Does @key stand where its predecessor allows? */
static inline bool
gbe_walk_in_order(GbeKey last, GbeKey key, gboolean last_is_row)
{
	int order = memcmp(key.bytes, last.bytes, MIN(key.size, last.size));

	if (order == 0)
		order = (key.size > last.size) - (key.size < last.size);
	return order > 0 || (order == 0 && !last_is_row) || last.size == 0;
}

void gbe_walk_bad_layout(GbeTreeWalk *walk, const GbeTreePage *page, guint index);
void gbe_walk_bad_order(GbeTreeWalk *walk, const GbeTreePage *page, guint index);

/* Every row of a leaf, whether it is in memory or too large for that. */
bool gbe_walk_leaf(GbeTreeWalk *walk, const GbeTreePage *page, GError **error) GBE_CHECKED;
