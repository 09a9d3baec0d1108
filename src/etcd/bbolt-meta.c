/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/bbolt-meta.h"

#include <errno.h>
#include <string.h>

#define MAGIC 0xED0CDAEDU
#define VERSION 2U
#define FLAG_META 0x04U
#define SMALLEST_PAGE 1024U
#define PAGE_SIZES 15U

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

G_STATIC_ASSERT(sizeof(MetaPage) == 80);

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

/* *ret_whole: the file has such a page at all. */
static bool
read_page(int fd, const char *what, guint64 offset, MetaPage *ret_page, bool *ret_whole,
	  GError **error)
{
	gsize filled = 0;

	while (filled < sizeof(*ret_page)) {
		ssize_t got = pread(fd, (guint8 *)ret_page + filled, sizeof(*ret_page) - filled,
				    (off_t)(offset + filled));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gbe_throw_errno(error, errno, "cannot read %s", what);
		if (got == 0)
			break;
		filled += (gsize)got;
	}
	*ret_whole = filled == sizeof(*ret_page);
	return true;
}

static bool
is_valid(const MetaPage *page)
{
	guint32 page_size = GUINT32_FROM_LE(page->page_size);

	return GUINT32_FROM_LE(page->magic) == MAGIC && GUINT32_FROM_LE(page->version) == VERSION &&
	       (GUINT16_FROM_LE(page->flags) & FLAG_META) != 0 && page_size >= SMALLEST_PAGE &&
	       (page_size & (page_size - 1)) == 0 &&
	       GUINT64_FROM_LE(page->checksum) == checksum_of(page);
}

/* Where the second page is, the first one says; where that one is torn, every size is tried. */
static bool
read_second(int fd, const char *what, guint32 page_size, MetaPage *ret_page, bool *ret_valid,
	    GError **error)
{
	for (guint i = 0; i < PAGE_SIZES; i++) {
		guint32 size = page_size != 0 ? page_size : SMALLEST_PAGE << i;
		bool whole = false;

		if (!read_page(fd, what, size, ret_page, &whole, error))
			return false;
		*ret_valid =
		    whole && is_valid(ret_page) && GUINT32_FROM_LE(ret_page->page_size) == size;
		if (*ret_valid || page_size != 0)
			return true;
	}
	return true;
}

bool
gbe_bbolt_read_txids(int fd, const char *what, guint64 ret_txid[2], bool *ret_valid, GError **error)
{
	MetaPage first = {0};
	MetaPage second = {0};
	bool first_valid = false;
	bool second_valid = false;

	if (!read_page(fd, what, 0, &first, &first_valid, error))
		return false;
	first_valid = first_valid && is_valid(&first);
	if (!read_second(fd, what, first_valid ? GUINT32_FROM_LE(first.page_size) : 0, &second,
			 &second_valid, error))
		return false;
	ret_txid[0] = first_valid ? GUINT64_FROM_LE(first.txid) : 0;
	ret_txid[1] = second_valid ? GUINT64_FROM_LE(second.txid) : 0;
	*ret_valid = first_valid || second_valid;
	return true;
}
