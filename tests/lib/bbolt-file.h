/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes bbolt databases of any page size, from sorted rows, page after page as bbolt itself lays them out. Tests
 * damage the result at known places; the bench fills gigabytes.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define FILE_BRANCH 1
#define FILE_LEAF 2
#define FILE_META 4
#define FILE_FREELIST 16
#define FILE_NO_FREELIST G_MAXUINT64

typedef struct {
	int fd;
	guint32 page_size;
	guint64 next; /* the first unused page */
	guint64 root;
	guint64 freelist;
} BoltFile;

/* A page that is being filled. A tree is a page of leaves and the branches above. */
typedef struct {
	GArray *sizes;	  /* of guint32[3]: flags, key, value */
	GArray *children; /* of guint64, in a branch */
	GByteArray *data;
} BoltPage;

typedef struct {
	BoltFile *file;
	BoltPage leaf;
	BoltPage branch; /* one entry for each written leaf */
} BoltTree;

static inline void
bolt_page_init(BoltPage *page)
{
	page->sizes = g_array_new(false, true, 3 * sizeof(guint32));
	page->children = g_array_new(false, true, sizeof(guint64));
	page->data = g_byte_array_new();
}

static inline void
bolt_page_clear(BoltPage *page)
{
	g_array_unref(page->sizes);
	g_array_unref(page->children);
	g_byte_array_unref(page->data);
}

static inline gsize
bolt_page_size(const BoltPage *page)
{
	return 16 + 16 * page->sizes->len + page->data->len;
}

static inline void
bolt_page_add(BoltPage *page, guint32 flags, const void *key, gsize key_size, const void *value,
	      gsize value_size)
{
	guint32 sizes[3] = {flags, (guint32)key_size, (guint32)value_size};

	g_array_append_val(page->sizes, sizes);
	g_byte_array_append(page->data, key, (guint)key_size);
	if (value_size > 0)
		g_byte_array_append(page->data, value, (guint)value_size);
}

static inline void
bolt_put16(guint8 *at, guint16 value)
{
	value = GUINT16_TO_LE(value);
	memcpy(at, &value, 2);
}

static inline void
bolt_put32(guint8 *at, guint32 value)
{
	value = GUINT32_TO_LE(value);
	memcpy(at, &value, 4);
}

static inline void
bolt_put64(guint8 *at, guint64 value)
{
	value = GUINT64_TO_LE(value);
	memcpy(at, &value, 8);
}

/* Rows @from to @to of @page as bytes on disk, padded to whole pages where @page_size is not 0. */
static inline GByteArray *
bolt_page_bytes(const BoltPage *page, guint from, guint to, guint64 id, guint32 page_size)
{
	bool branch = page->children->len > 0;
	GByteArray *bytes = g_byte_array_new();
	guint32 data = 0;
	guint32 skip = 0;
	guint32 at;

	for (guint i = 0; i < to; i++) {
		const guint32 *sizes = &g_array_index(page->sizes, guint32, i * 3);

		*(i < from ? &skip : &data) += sizes[1] + sizes[2];
	}
	g_byte_array_set_size(bytes, 16 + 16 * (to - from) + data);
	memset(bytes->data, 0, bytes->len);
	at = 16 + 16 * (to - from);
	if (data > 0)
		memcpy(bytes->data + at, page->data->data + skip, data);
	for (guint i = from; i < to; i++) {
		const guint32 *sizes = &g_array_index(page->sizes, guint32, i * 3);
		guint8 *element = bytes->data + 16 + 16 * (i - from);
		guint32 pos = at - (16 + 16 * (i - from));

		if (branch) {
			bolt_put32(element, pos);
			bolt_put32(element + 4, sizes[1]);
			bolt_put64(element + 8, g_array_index(page->children, guint64, i));
		} else {
			bolt_put32(element, sizes[0]);
			bolt_put32(element + 4, pos);
			bolt_put32(element + 8, sizes[1]);
			bolt_put32(element + 12, sizes[2]);
		}
		at += sizes[1] + sizes[2];
	}
	if (page_size != 0) {
		guint pages = (bytes->len + page_size - 1) / page_size;
		guint filled = bytes->len;

		g_byte_array_set_size(bytes, pages * page_size);
		memset(bytes->data + filled, 0, bytes->len - filled);
		bolt_put32(bytes->data + 12, pages - 1);
	}
	bolt_put64(bytes->data, id);
	bolt_put16(bytes->data + 8, branch ? FILE_BRANCH : FILE_LEAF);
	bolt_put16(bytes->data + 10, (guint16)(to - from));
	return bytes;
}

static inline void
bolt_write(const BoltFile *file, guint64 offset, const void *bytes, gsize size)
{
	if (pwrite(file->fd, bytes, size, (off_t)offset) != (ssize_t)size)
		g_error("cannot write a database for a test");
}

/* Appends rows @from to @to; returns the page's number. */
static inline guint64
bolt_page_write(BoltFile *file, const BoltPage *page, guint from, guint to)
{
	GByteArray *bytes = bolt_page_bytes(page, from, to, file->next, file->page_size);
	guint64 id = file->next;

	bolt_write(file, id * file->page_size, bytes->data, bytes->len);
	file->next += bytes->len / file->page_size;
	g_byte_array_unref(bytes);
	return id;
}

static inline void
bolt_tree_init(BoltTree *tree, BoltFile *file)
{
	tree->file = file;
	bolt_page_init(&tree->leaf);
	bolt_page_init(&tree->branch);
}

static inline void
bolt_tree_flush(BoltTree *tree)
{
	BoltPage *leaf = &tree->leaf;
	guint32 key_size = leaf->sizes->len > 0 ? g_array_index(leaf->sizes, guint32, 1) : 0;
	guint64 id = bolt_page_write(tree->file, leaf, 0, leaf->sizes->len);

	bolt_page_add(&tree->branch, 0, leaf->data->data, key_size, NULL, 0);
	g_array_append_val(tree->branch.children, id);
	g_array_set_size(leaf->sizes, 0);
	g_byte_array_set_size(leaf->data, 0);
}

static inline void
bolt_tree_add(BoltTree *tree, guint32 flags, const void *key, gsize key_size, const void *value,
	      gsize value_size)
{
	if (tree->leaf.sizes->len > 0 &&
	    bolt_page_size(&tree->leaf) + 16 + key_size + value_size > tree->file->page_size)
		bolt_tree_flush(tree);
	bolt_page_add(&tree->leaf, flags, key, key_size, value, value_size);
}

/* Writes the branches, level after level, until one page is left; returns its number. */
static inline guint64
bolt_tree_end(BoltTree *tree)
{
	BoltPage level;
	guint64 first_page;

	bolt_tree_flush(tree);
	bolt_page_clear(&tree->leaf);
	level = tree->branch;
	while (level.children->len > 1) {
		const guint8 *key = level.data->data;
		guint from = 0;
		BoltPage above;

		bolt_page_init(&above);
		while (from < level.children->len) {
			const guint8 *first = key;
			guint32 first_size = g_array_index(level.sizes, guint32, from * 3 + 1);
			gsize size = 16;
			guint to = from;
			guint64 id;

			for (; to < level.children->len; to++) {
				guint32 next = g_array_index(level.sizes, guint32, to * 3 + 1);

				if (to >= from + 2 && size + 16 + next > tree->file->page_size)
					break;
				size += 16 + next;
				key += next;
			}
			id = bolt_page_write(tree->file, &level, from, to);
			bolt_page_add(&above, 0, first, first_size, NULL, 0);
			g_array_append_val(above.children, id);
			from = to;
		}
		bolt_page_clear(&level);
		level = above;
	}
	first_page = g_array_index(level.children, guint64, 0);
	bolt_page_clear(&level);
	return first_page;
}

/* An inline page, which is in the bucket's value and does not count as a page. Ends the tree. */
static inline GByteArray *
bolt_tree_end_inline(BoltTree *tree)
{
	GByteArray *page = bolt_page_bytes(&tree->leaf, 0, tree->leaf.sizes->len, 0, 0);

	bolt_page_clear(&tree->leaf);
	bolt_page_clear(&tree->branch);
	return page;
}

/* Adds a bucket to the tree of buckets: @page, or @inlined where that is 0. */
static inline void
bolt_add_bucket(BoltTree *buckets, const char *name, guint64 page, const GByteArray *inlined)
{
	GByteArray *value = g_byte_array_new();
	guint8 head[16] = {0};

	bolt_put64(head, page);
	g_byte_array_append(value, head, 16);
	if (page == 0)
		g_byte_array_append(value, inlined->data, inlined->len);
	bolt_tree_add(buckets, 1, name, strlen(name), value->data, value->len);
	g_byte_array_unref(value);
}

static inline void
bolt_open(BoltFile *file, int fd, guint32 page_size)
{
	*file =
	    (BoltFile){.fd = fd, .page_size = page_size, .next = 2, .freelist = FILE_NO_FREELIST};
}

/* One of the two meta pages. */
static inline void
bolt_write_meta(const BoltFile *file, guint64 page, guint64 transaction)
{
	guint64 hash = G_GUINT64_CONSTANT(0xcbf29ce484222325);
	guint8 meta[80] = {0};

	bolt_put64(meta, page);
	bolt_put16(meta + 8, FILE_META);
	bolt_put32(meta + 16, 0xED0CDAED);
	bolt_put32(meta + 20, 2);
	bolt_put32(meta + 24, file->page_size);
	bolt_put64(meta + 32, file->root);
	bolt_put64(meta + 48, file->freelist);
	bolt_put64(meta + 56, file->next);
	bolt_put64(meta + 64, transaction);
	for (gsize i = 16; i < 72; i++)
		hash = (hash ^ meta[i]) * G_GUINT64_CONSTANT(0x100000001b3);
	bolt_put64(meta + 72, hash);
	bolt_write(file, page * file->page_size, meta, sizeof(meta));
}

/* Writes the meta pages, and makes the file as long as they say. */
static inline void
bolt_close(const BoltFile *file, guint64 page)
{
	BoltFile done = *file;

	done.root = page;
	bolt_write_meta(&done, 0, 10);
	bolt_write_meta(&done, 1, 11);
	if (ftruncate(file->fd, (off_t)(file->next * file->page_size)) < 0)
		g_error("cannot write a database for a test");
}
