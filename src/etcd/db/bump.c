/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/snapshot-file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "etcd/db/bbolt.h"
#include "fs/open.h"

#define DEPTH_MAX 32
/* A leaf has at most a few rows that are larger than a page. */
#define SPAN_MAX ((gsize)64 * 1024 * 1024)
#define REVISION_SIZE 17
#define COMPACT "scheduledCompactRev"

/* A database that is edited. Pages are added after the last one. The pages that they replace become free, because etcd
 * does not store which pages are free. */
typedef struct {
	int fd;
	const char *what;
	GbeBboltMeta meta;
} Editor;

/* A leaf, a branch, or the inline page of a small bucket. */
typedef struct {
	const guint8 *bytes;
	gsize size;
	GbePageHeader header;
} Page;

typedef struct {
	guint32 flags;
	const void *key, *value;
	gsize key_size, value_size;
} Row;

static bool
throw_broken(const Editor *editor, GError **error)
{
	return gbe_throw(error, GBE_ERROR_CORRUPT, "%s has a page that etcd would not write",
			 editor->what);
}

static bool
read_at(const Editor *editor, guint64 at, guint8 *bytes, gsize size, GError **error)
{
	gsize got;

	return gbe_read_at(editor->fd, bytes, size, at, &got, editor->what, error) &&
	       (got == size || throw_broken(editor, error));
}

static bool
write_at(const Editor *editor, guint64 at, const guint8 *bytes, gsize size, GError **error)
{
	while (size > 0) {
		ssize_t wrote = pwrite(editor->fd, bytes, size, (off_t)at);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return gbe_throw_errno(error, errno, "cannot write %s", editor->what);
		bytes += wrote;
		at += (guint64)wrote;
		size -= (gsize)wrote;
	}
	return true;
}

/* ---- reading ---- */

/* @bytes: @size of them, which stay the caller's. */
static bool
parse_page(const Editor *editor, const guint8 *bytes, gsize size, Page *ret_page, GError **error)
{
	Page page = {.bytes = bytes, .size = size};

	if (size < GBE_PAGE_HEADER)
		return throw_broken(editor, error);
	page.header = gbe_page_header(bytes);
	if ((page.header.flags != GBE_PAGE_LEAF && page.header.flags != GBE_PAGE_BRANCH) ||
	    GBE_PAGE_HEADER + (gsize)page.header.count * GBE_PAGE_ELEMENT > size)
		return throw_broken(editor, error);
	*ret_page = page;
	return true;
}

/* *ret_bytes, which *ret_page points into, is newly allocated. */
static bool
read_page(const Editor *editor, guint64 id, guint8 **ret_bytes, Page *ret_page, GError **error)
{
	guint64 page_size = editor->meta.page_size;
	g_autofree guint8 *bytes = NULL;
	guint8 head[GBE_PAGE_HEADER];
	GbePageHeader header;
	gsize size;

	if (id < 2 || id >= editor->meta.high_water)
		return throw_broken(editor, error);
	if (!read_at(editor, id * page_size, head, sizeof(head), error))
		return false;
	header = gbe_page_header(head);
	if (header.id != id || header.overflow >= editor->meta.high_water - id ||
	    header.overflow >= SPAN_MAX / page_size)
		return throw_broken(editor, error);
	size = (gsize)((header.overflow + 1) * page_size);
	bytes = g_malloc(size);
	if (!read_at(editor, id * page_size, bytes, size, error) ||
	    !parse_page(editor, bytes, size, ret_page, error))
		return false;
	*ret_bytes = g_steal_pointer(&bytes);
	return true;
}

/* A branch's row has its child's page for flags and value. */
static bool
read_row(const Editor *editor, const Page *page, guint index, Row *ret_row, GError **error)
{
	guint64 begin = GBE_PAGE_HEADER + (guint64)index * GBE_PAGE_ELEMENT;
	const guint8 *element = page->bytes + begin;
	bool leaf = page->header.flags == GBE_PAGE_LEAF;
	Row row = {.flags = leaf ? gbe_load32(element) : 0,
		   .key_size = gbe_load32(element + (leaf ? 8 : 4)),
		   .value_size = leaf ? gbe_load32(element + 12) : 0};

	begin += gbe_load32(element + (leaf ? 4 : 0));
	if (begin + row.key_size + row.value_size > page->size)
		return throw_broken(editor, error);
	row.key = page->bytes + begin;
	row.value = page->bytes + begin + row.key_size;
	*ret_row = row;
	return true;
}

/* The first row of the page whose key is not below @row's, or how many there are. */
static bool
find_row(const Editor *editor, const Page *page, const Row *row, guint *ret_index, bool *ret_same,
	 GError **error)
{
	for (guint i = 0; i < page->header.count; i++) {
		Row this = {0};
		int order;

		if (!read_row(editor, page, i, &this, error))
			return false;
		order = memcmp(this.key, row->key, MIN(this.key_size, row->key_size));
		if (order == 0)
			order = (this.key_size > row->key_size) - (this.key_size < row->key_size);
		if (order >= 0) {
			*ret_index = i;
			*ret_same = order == 0;
			return true;
		}
	}
	*ret_index = page->header.count;
	*ret_same = false;
	return true;
}

/* Finds the leaf of the tree at page @id that has @row's key, or would. *ret_pointer: the byte that holds the leaf's
 * number in the branch above; 0: the leaf is the tree. */
static bool
find_leaf(const Editor *editor, guint64 id, const Row *row, guint8 **ret_bytes, Page *ret_page,
	  guint64 *ret_pointer, GError **error)
{
	guint64 pointer = 0;

	for (guint depth = 0; depth < DEPTH_MAX; depth++) {
		g_autofree guint8 *bytes = NULL;
		bool same = false;
		guint at = 0;
		Page page = {0};

		if (!read_page(editor, id, &bytes, &page, error))
			return false;
		if (page.header.flags == GBE_PAGE_LEAF) {
			*ret_bytes = g_steal_pointer(&bytes);
			*ret_page = page;
			*ret_pointer = pointer;
			return true;
		}
		if (page.header.count == 0)
			break;
		if (!find_row(editor, &page, row, &at, &same, error))
			return false;
		if (!same && at > 0)
			at--;
		pointer = GBE_PAGE_HEADER + (guint64)at * GBE_PAGE_ELEMENT + 8;
		id = gbe_load64(bytes + pointer);
		pointer += page.header.id * editor->meta.page_size;
	}
	return throw_broken(editor, error);
}

/* ---- writing ---- */

/* As on disk, little-endian. */
typedef struct {
	guint32 flags, begin, key_size, value_size;
} LeafElement;

typedef struct {
	guint64 id;
	guint16 flags, count;
	guint32 overflow;
} LeafHeader;

G_STATIC_ASSERT(sizeof(LeafElement) == GBE_PAGE_ELEMENT);
G_STATIC_ASSERT(sizeof(LeafHeader) == GBE_PAGE_HEADER);

/* Adds @leaf with @row in it after the last page. The leaf may be larger than a page, as a leaf with a large value is;
 * bbolt splits it when it writes there. */
static bool
add_leaf(Editor *editor, const Page *leaf, const Row *row, guint64 *ret_id, GError **error)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new(); /* the header and the elements */
	g_autoptr(GByteArray) data = g_byte_array_new();  /* keys and values */
	guint64 page_size = editor->meta.page_size, id = editor->meta.high_water, pages;
	LeafHeader header;
	bool same = false;
	guint at = 0, count, used;

	if (leaf->header.flags != GBE_PAGE_LEAF)
		return throw_broken(editor, error);
	if (!find_row(editor, leaf, row, &at, &same, error))
		return false;
	count = leaf->header.count + !same;
	g_byte_array_set_size(bytes, sizeof(header));
	for (guint i = 0; i < count; i++) {
		Row this = *row;
		LeafElement element;

		if (i != at && !read_row(editor, leaf, i < at || same ? i : i - 1, &this, error))
			return false;
		element = (LeafElement){
		    .flags = GUINT32_TO_LE(this.flags),
		    .begin = GUINT32_TO_LE((count - i) * GBE_PAGE_ELEMENT + data->len),
		    .key_size = GUINT32_TO_LE((guint32)this.key_size),
		    .value_size = GUINT32_TO_LE((guint32)this.value_size),
		};
		g_byte_array_append(bytes, (const guint8 *)&element, sizeof(element));
		g_byte_array_append(data, this.key, (guint)this.key_size);
		g_byte_array_append(data, this.value, (guint)this.value_size);
	}
	if (count > G_MAXUINT16)
		return throw_broken(editor, error);
	used = bytes->len + data->len;
	pages = (used + page_size - 1) / page_size;
	header = (LeafHeader){
	    .id = GUINT64_TO_LE(id),
	    .flags = GUINT16_TO_LE(GBE_PAGE_LEAF),
	    .count = GUINT16_TO_LE((guint16)count),
	    .overflow = GUINT32_TO_LE((guint32)(pages - 1)),
	};
	memcpy(bytes->data, &header, sizeof(header));
	g_byte_array_append(bytes, data->data, data->len);
	g_byte_array_set_size(bytes, (guint)(pages * page_size));
	memset(bytes->data + used, 0, bytes->len - used);
	if (!write_at(editor, id * page_size, bytes->data, bytes->len, error))
		return false;
	editor->meta.high_water += pages;
	*ret_id = id;
	return true;
}

/* Puts @row into the tree at page *root. */
static bool
put_row(Editor *editor, guint64 *root, const Row *row, GError **error)
{
	g_autofree guint8 *bytes = NULL;
	guint64 pointer = 0, id = 0, stored;
	Page leaf = {0};

	if (!find_leaf(editor, *root, row, &bytes, &leaf, &pointer, error) ||
	    !add_leaf(editor, &leaf, row, &id, error))
		return false;
	if (pointer == 0) {
		*root = id;
		return true;
	}
	stored = GUINT64_TO_LE(id);
	return write_at(editor, pointer, (const guint8 *)&stored, sizeof(stored), error);
}

static bool
put_in_bucket(Editor *editor, const char *name, const Row *row, GError **error)
{
	Row bucket = {.key = name, .key_size = strlen(name)};
	guint64 head[2]; /* the root's page, and bbolt's own counter */
	g_autofree guint8 *bytes = NULL;
	guint64 pointer = 0, root;
	bool found = false;
	guint at = 0;
	Page page = {0};

	if (!find_leaf(editor, editor->meta.root, &bucket, &bytes, &page, &pointer, error) ||
	    !find_row(editor, &page, &bucket, &at, &found, error) ||
	    (found && !read_row(editor, &page, at, &bucket, error)))
		return false;
	if (!found || bucket.flags != GBE_LEAF_BUCKET || bucket.value_size < sizeof(head))
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s has no bucket \"%s\"", editor->what,
				 name);
	memcpy(head, bucket.value, sizeof(head));
	root = GUINT64_FROM_LE(head[0]);
	if (root != 0) {
		if (!put_row(editor, &root, row, error))
			return false;
	} else if (!parse_page(editor, (const guint8 *)bucket.value + sizeof(head),
			       bucket.value_size - sizeof(head), &page, error) ||
		   !add_leaf(editor, &page, row, &root, error)) {
		return false;
	}
	head[0] = GUINT64_TO_LE(root);
	bucket.value = head;
	bucket.value_size = sizeof(head);
	return put_row(editor, &editor->meta.root, &bucket, error);
}

bool
gbe_db_bump(int fd, const char *what, gint64 revision, GError **error)
{
	Editor editor = {.fd = fd, .what = what};
	guint64 main = GUINT64_TO_BE((guint64)revision);
	guint8 at[REVISION_SIZE] = {[8] = '_'};
	guint8 bytes[GBE_BBOLT_META_SIZE];
	const Row row = {.key = at, .key_size = sizeof(at), .value = ""};
	const Row compact = {.key = COMPACT,
			     .key_size = strlen(COMPACT),
			     .value = at,
			     .value_size = sizeof(at)};

	memcpy(at, &main, sizeof(main));
	if (!gbe_bbolt_read_newest(fd, what, &editor.meta, error))
		return false;
	editor.meta.freelist = GBE_BBOLT_NO_FREELIST;
	if (!put_in_bucket(&editor, "key", &row, error) ||
	    !put_in_bucket(&editor, "meta", &compact, error))
		return false;
	/* Both meta pages alike: without the last commit, the tree would not be the one before it. */
	for (guint i = 0; i < 2; i++) {
		guint page = (guint)(++editor.meta.transaction & 1);

		gbe_bbolt_meta_write(&editor.meta, page, bytes);
		if (!write_at(&editor, (guint64)page * editor.meta.page_size, bytes, sizeof(bytes),
			      error))
			return false;
	}
	return true;
}
