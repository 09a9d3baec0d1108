/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/page-set.h"

#define CHUNK_WORDS 512U /* 4 KiB */
#define CHUNK_PAGES (CHUNK_WORDS * 64U)
#define CHUNKS_MAX 2048U /* 8 MiB */

void
gbe_page_set_init(GbePageSet *set)
{
	*set = (GbePageSet){
	    .chunks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free),
	};
}

void
gbe_page_set_clear(GbePageSet *set)
{
	g_clear_pointer(&set->chunks, g_hash_table_unref);
	set->bits = NULL;
	set->count = 0;
}

/* The chunk's bits, or NULL. */
static guint64 *
find(GbePageSet *set, guint64 chunk)
{
	if (set->bits == NULL || set->last != chunk) {
		guint64 *bits = g_hash_table_lookup(set->chunks, &chunk);

		if (bits == NULL)
			return NULL;
		set->bits = bits;
		set->last = chunk;
	}
	return set->bits;
}

static guint64 *
make(GbePageSet *set, guint64 chunk)
{
	guint64 *key;

	if (g_hash_table_size(set->chunks) >= CHUNKS_MAX)
		return NULL;
	key = g_new(guint64, 1);
	*key = chunk;
	set->bits = g_new0(guint64, CHUNK_WORDS);
	set->last = chunk;
	(void)g_hash_table_insert(set->chunks, key, set->bits);
	return set->bits;
}

GbePageResult
gbe_page_set_add(GbePageSet *set, guint64 page)
{
	guint64 *bits = find(set, page / CHUNK_PAGES);
	guint64 bit = G_GUINT64_CONSTANT(1) << (page % 64);
	guint64 *word;

	if (bits == NULL)
		bits = make(set, page / CHUNK_PAGES);
	if (bits == NULL)
		return GBE_PAGE_FULL;
	word = &bits[page % CHUNK_PAGES / 64];
	if ((*word & bit) != 0)
		return GBE_PAGE_TWICE;
	*word |= bit;
	set->count++;
	return GBE_PAGE_NEW;
}

bool
gbe_page_set_has(GbePageSet *set, guint64 page)
{
	guint64 *bits = find(set, page / CHUNK_PAGES);

	return bits != NULL && (bits[page % CHUNK_PAGES / 64] >> (page % 64) & 1) != 0;
}
