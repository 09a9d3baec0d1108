/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pages of a database were reached: a set of numbers, in memory for where they lie, not for how
 * large they are; with an end to it. */
#pragma once

#include <glib.h>

typedef struct {
	GHashTable *chunks; /* number of the chunk -> bits */
	guint64 last;	    /* the chunk that was last looked at, and its bits */
	guint64 *bits;
	guint64 count; /* of the numbers in it */
} GbePageSet;

typedef enum {
	GBE_PAGE_NEW,
	GBE_PAGE_TWICE, /* it was in the set already */
	GBE_PAGE_FULL,	/* the set takes no more: 64 Mi pages side by side, 2,048 far apart */
} GbePageResult;

void gbe_page_set_init(GbePageSet *set);
void gbe_page_set_clear(GbePageSet *set);
GbePageResult gbe_page_set_add(GbePageSet *set, guint64 page);
gboolean gbe_page_set_has(GbePageSet *set, guint64 page);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbePageSet, gbe_page_set_clear)
