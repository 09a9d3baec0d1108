/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The set of a database's pages that were reached. Its memory depends on where the pages lie, not on how large the
 * numbers are, and is limited. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
	GHashTable *chunks; /* number of the chunk -> bits */
	guint64 last;	    /* the chunk of the last access, and its bits */
	guint64 *bits;
	guint64 count; /* numbers in the set */
} GbePageSet;

typedef enum {
	GBE_PAGE_NEW,
	GBE_PAGE_TWICE, /* it was in the set before */
	GBE_PAGE_FULL,	/* the set is full: 64 Mi pages side by side, 2,048 far apart */
} GbePageResult;

void gbe_page_set_init(GbePageSet *set);
void gbe_page_set_clear(GbePageSet *set);
GbePageResult gbe_page_set_add(GbePageSet *set, guint64 page);
bool gbe_page_set_has(GbePageSet *set, guint64 page);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbePageSet, gbe_page_set_clear)
