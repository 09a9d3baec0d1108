/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/bbolt.h"

#include "fs/open.h"

#include <string.h>

#define MAGIC 0xED0CDAEDU
#define VERSION 2U
#define FLAG_META 0x04U
#define FIRST_GUESS 1024U

/* As on disk, little-endian: the page's header, then the meta itself. */
typedef struct {
	guint64 id;
	guint16 flags;
	guint16 count;
	guint32 overflow;
	guint32 magic;
	guint32 version;
	guint32 page_size;
	guint32 meta_flags;
	guint64 root;
	guint64 sequence;
	guint64 freelist;
	guint64 pgid;
	guint64 txid;
	guint64 checksum;
} MetaPage;

G_STATIC_ASSERT(sizeof(MetaPage) == GBE_BBOLT_META_SIZE);

/* FNV-1a over everything from the magic number to the checksum. */
static guint64
checksum_of(const MetaPage *page)
{
	const guint8 *at = (const guint8 *)&page->magic;
	const guint8 *end = (const guint8 *)&page->checksum;
	guint64 hash = G_GUINT64_CONSTANT(0xcbf29ce484222325);

	for (; at < end; at++)
		hash = (hash ^ *at) * G_GUINT64_CONSTANT(0x100000001b3);
	return hash;
}

/* A missing or torn page is damaged; a page of another kind has a state of its own. */
static bool
read_meta_page(int fd, const char *what, guint64 offset, MetaPage *ret_page,
	       GbeMetaState *ret_state, GError **error)
{
	guint32 page_size;
	gsize filled;

	if (!gbe_read_at(fd, ret_page, sizeof(*ret_page), offset, &filled, what, error))
		return false;
	page_size = GUINT32_FROM_LE(ret_page->page_size);
	if (filled < sizeof(*ret_page))
		*ret_state = GBE_META_DAMAGED;
	else if (ret_page->magic == GUINT32_TO_BE(MAGIC))
		*ret_state = GBE_META_BYTE_SWAPPED;
	else if (GUINT32_FROM_LE(ret_page->magic) != MAGIC ||
		 GUINT64_FROM_LE(ret_page->checksum) != checksum_of(ret_page))
		*ret_state = GBE_META_DAMAGED;
	else if (GUINT32_FROM_LE(ret_page->version) != VERSION)
		*ret_state = GBE_META_OTHER_FORMAT;
	else if ((GUINT16_FROM_LE(ret_page->flags) & FLAG_META) == 0)
		*ret_state = GBE_META_DAMAGED;
	else if (page_size < GBE_BBOLT_PAGE_MIN || page_size > GBE_BBOLT_PAGE_MAX ||
		 (page_size & (page_size - 1)) != 0)
		*ret_state = GBE_META_OTHER_SIZE;
	else
		*ret_state = GBE_META_VALID;
	return true;
}

/* The first page tells where the second is. If the first is torn, every size is tried. */
static bool
read_second(int fd, const char *what, guint32 page_size, MetaPage *ret_page,
	    GbeMetaState *ret_state, GError **error)
{
	guint32 size = page_size != 0 ? page_size : FIRST_GUESS;

	for (; size <= GBE_BBOLT_PAGE_MAX; size *= 2) {
		GbeMetaState state = GBE_META_DAMAGED;

		if (!read_meta_page(fd, what, size, ret_page, &state, error))
			return false;
		/* At a guessed place, the page may be a copy that lies there by chance. */
		if (state == GBE_META_VALID && GUINT32_FROM_LE(ret_page->page_size) != size)
			state = page_size != 0 ? GBE_META_OTHER_SIZE : GBE_META_DAMAGED;
		*ret_state = state;
		if (state != GBE_META_DAMAGED || page_size != 0)
			return true;
	}
	return true;
}

bool
gbe_bbolt_read_metas(int fd, const char *what, GbeBboltMeta ret_meta[2], GbeMetaState ret_state[2],
		     GError **error)
{
	GbeMetaState state[2] = {GBE_META_DAMAGED, GBE_META_DAMAGED};
	MetaPage page[2] = {{0}};

	if (!read_meta_page(fd, what, 0, &page[0], &state[0], error) ||
	    !read_second(fd, what,
			 state[0] == GBE_META_VALID ? GUINT32_FROM_LE(page[0].page_size) : 0,
			 &page[1], &state[1], error))
		return false;
	for (gsize i = 0; i < 2; i++) {
		ret_state[i] = state[i];
		ret_meta[i] = (GbeBboltMeta){0};
		if (state[i] == GBE_META_VALID)
			ret_meta[i] = (GbeBboltMeta){
			    .page_size = GUINT32_FROM_LE(page[i].page_size),
			    .root = GUINT64_FROM_LE(page[i].root),
			    .sequence = GUINT64_FROM_LE(page[i].sequence),
			    .freelist = GUINT64_FROM_LE(page[i].freelist),
			    .high_water = GUINT64_FROM_LE(page[i].pgid),
			    .transaction = GUINT64_FROM_LE(page[i].txid),
			};
	}
	return true;
}

guint
gbe_bbolt_newer_meta(const GbeBboltMeta meta[2], const GbeMetaState state[2])
{
	return state[1] == GBE_META_VALID &&
	       (state[0] != GBE_META_VALID || meta[1].transaction > meta[0].transaction);
}

bool
gbe_bbolt_read_newest(int fd, const char *what, GbeBboltMeta *ret_meta, GError **error)
{
	GbeBboltMeta meta[2];
	GbeMetaState state[2];
	guint better;

	if (!gbe_bbolt_read_metas(fd, what, meta, state, error))
		return false;
	better = gbe_bbolt_newer_meta(meta, state);
	if (state[better] != GBE_META_VALID || meta[better].high_water < 4 ||
	    meta[better].high_water > G_MAXINT64 / meta[better].page_size)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s is no database", what);
	*ret_meta = meta[better];
	return true;
}

bool
gbe_bbolt_read_txids(int fd, const char *what, guint64 ret_txid[2], bool *ret_valid, GError **error)
{
	GbeBboltMeta meta[2];
	GbeMetaState state[2];

	if (!gbe_bbolt_read_metas(fd, what, meta, state, error))
		return false;
	for (gsize i = 0; i < 2; i++)
		ret_txid[i] = meta[i].transaction;
	*ret_valid = state[0] == GBE_META_VALID || state[1] == GBE_META_VALID;
	return true;
}

void
gbe_bbolt_meta_write(const GbeBboltMeta *meta, guint page, guint8 *to)
{
	MetaPage written = {
	    .id = GUINT64_TO_LE(page),
	    .flags = GUINT16_TO_LE(FLAG_META),
	    .magic = GUINT32_TO_LE(MAGIC),
	    .version = GUINT32_TO_LE(VERSION),
	    .page_size = GUINT32_TO_LE(meta->page_size),
	    .root = GUINT64_TO_LE(meta->root),
	    .sequence = GUINT64_TO_LE(meta->sequence),
	    .freelist = GUINT64_TO_LE(meta->freelist),
	    .pgid = GUINT64_TO_LE(meta->high_water),
	    .txid = GUINT64_TO_LE(meta->transaction),
	};

	written.checksum = GUINT64_TO_LE(checksum_of(&written));
	memcpy(to, &written, sizeof(written));
}
