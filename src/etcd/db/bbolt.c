/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/bbolt.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/format.h"

/* Nested buckets, which etcd does not have, wait here until the walk of the outer one ends. */
#define NESTED_MAX 1024U
/* A count that does not fit in 16 bits is the first entry of the list. */
#define COUNT_IS_FIRST 0xFFFFU

#define CHUNK_WORDS 512U /* 4 KiB */
#define CHUNK_PAGES (CHUNK_WORDS * 64U)
#define CHUNKS_MAX 2048U /* 8 MiB */

/* ---- the set of pages ---- */

void
gbe_page_set_clear(GbePageSet *set)
{
	g_clear_pointer(&set->chunks, g_hash_table_unref);
	set->bits = NULL;
	set->count = 0;
}

/* Moves ->bits to the chunk of @page. False: no page of it is in the set. */
static bool
find_chunk(GbePageSet *set, guint64 page)
{
	guint64 chunk = page / CHUNK_PAGES;
	guint64 *bits = NULL;

	if (set->bits != NULL && set->last == chunk)
		return true;
	if (set->chunks != NULL)
		bits = g_hash_table_lookup(set->chunks, &chunk);
	if (bits == NULL)
		return false;
	set->bits = bits;
	set->last = chunk;
	return true;
}

GbePageResult
gbe_page_set_add(GbePageSet *set, guint64 page)
{
	guint64 bit = G_GUINT64_CONSTANT(1) << (page % 64);
	guint64 *word;

	if (!find_chunk(set, page)) {
		guint64 chunk = page / CHUNK_PAGES;

		if (set->chunks == NULL)
			set->chunks =
			    g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
		if (g_hash_table_size(set->chunks) >= CHUNKS_MAX)
			return GBE_PAGE_FULL;
		set->bits = g_new0(guint64, CHUNK_WORDS);
		set->last = chunk;
		(void)g_hash_table_insert(set->chunks, g_memdup2(&chunk, sizeof(chunk)), set->bits);
	}
	word = &set->bits[page % CHUNK_PAGES / 64];
	if ((*word & bit) != 0)
		return GBE_PAGE_TWICE;
	*word |= bit;
	set->count++;
	return GBE_PAGE_NEW;
}

bool
gbe_page_set_has(GbePageSet *set, guint64 page)
{
	return find_chunk(set, page) &&
	       (set->bits[page % CHUNK_PAGES / 64] >> (page % 64) & 1) != 0;
}

/* ---- the file ---- */

/* Adds a finding: damage of the structure, on one page. */
static void G_GNUC_PRINTF(5, 6) report_damage(GbeBbolt *db, const char *code, guint64 page,
					      GbeTri etcd_notices, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);

	db->damages++;
	gbe_findings_add(db->findings, GBE_FINDING_DAMAGE, code, db->what, GBE_PLACE_PAGE, page,
			 etcd_notices, GBE_YES, "%s", text);
}

/* Reports what the file is when no meta page is valid. */
static void
say_unusable(const GbeBbolt *db, const GbeMetaState state[2])
{
	if (state[0] == GBE_META_BYTE_SWAPPED || state[1] == GBE_META_BYTE_SWAPPED)
		gbe_findings_add(db->findings, GBE_FINDING_UNKNOWN, "bbolt-byte-swapped", db->what,
				 GBE_PLACE_FILE, 0, GBE_YES, GBE_UNKNOWN,
				 "a database of a machine with the other byte order");
	else if (state[0] == GBE_META_OTHER_FORMAT || state[1] == GBE_META_OTHER_FORMAT)
		gbe_findings_add(db->findings, GBE_FINDING_UNKNOWN, "bbolt-unknown-format",
				 db->what, GBE_PLACE_FILE, 0, GBE_UNKNOWN, GBE_UNKNOWN,
				 "a version of bbolt's format that this program does not know");
	else if (db->file_size == 0)
		gbe_findings_add(db->findings, GBE_FINDING_DAMAGE, "bbolt-empty", db->what,
				 GBE_PLACE_FILE, 0, GBE_UNKNOWN, GBE_YES, "the file is empty");
	else
		gbe_findings_add(db->findings, GBE_FINDING_DAMAGE, "bbolt-metas", db->what,
				 GBE_PLACE_PAGE, 0, GBE_YES, GBE_YES,
				 "both meta pages are invalid");
}

/* A commit writes one meta page after everything else is on the disk. If that page is torn, the one before counts. */
static void
choose_meta(GbeBbolt *db, const GbeBboltMeta meta[2], const GbeMetaState state[2])
{
	gsize newer = gbe_bbolt_newer_meta(meta, state);
	guint64 pages;

	for (gsize i = 0; i < 2; i++)
		if (state[i] == GBE_META_OTHER_SIZE)
			report_damage(
			    db, "bbolt-page-size", i, GBE_UNKNOWN,
			    "the meta page names another page size than the file has; etcd accepts "
			    "it, and reads another tree than that of the other meta page");
	db->meta = meta[newer];
	db->fell_back = state[1 - newer] != GBE_META_VALID;
	if (db->fell_back)
		gbe_findings_add(db->findings, GBE_FINDING_WARNING, "bbolt-meta", db->what,
				 GBE_PLACE_PAGE, 1 - newer, GBE_NO, GBE_NO,
				 "one meta page is not valid, as a power cut leaves it; the other "
				 "one counts, and the log has what was committed since");
	/* Every page that was ever used must be in the file. */
	pages = db->file_size / db->meta.page_size;
	if (db->meta.high_water > pages)
		report_damage(db, "bbolt-short", pages, GBE_UNKNOWN,
			      "the file ends here; its meta page says that there are "
			      "%" G_GUINT64_FORMAT " pages",
			      db->meta.high_water);
}

bool
gbe_bbolt_open(int fd, const char *what, GbeLook *look, GbeFindings *findings, GbeBbolt *ret_db,
	       bool *ret_usable, GError **error)
{
	GbeBbolt db = {.what = what, .findings = findings};
	GbeBboltMeta meta[2];
	GbeMetaState state[2];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", what);
	db.file_size = (guint64)st.st_size;
	if (!gbe_bbolt_read_metas(fd, what, meta, state, error))
		return false;
	*ret_usable = state[0] == GBE_META_VALID || state[1] == GBE_META_VALID;
	if (*ret_usable)
		choose_meta(&db, meta, state);
	else
		say_unusable(&db, state);
	db.window = gbe_window_begin(fd, what, GBE_BBOLT_WINDOW, look);
	for (gsize i = 0; i < G_N_ELEMENTS(db.levels); i++)
		db.levels[i] = gbe_window_begin(fd, what, GBE_BBOLT_LEVEL_WINDOW, look);
	*ret_db = db;
	return true;
}

void
gbe_bbolt_close(GbeBbolt *db)
{
	gbe_window_clear(&db->window);
	for (gsize i = 0; i < G_N_ELEMENTS(db->levels); i++)
		gbe_window_clear(&db->levels[i]);
}

bool
gbe_bbolt_fetch(GbeBbolt *db, guint64 offset, gsize want, const guint8 **ret_at, GError **error)
{
	const guint8 *at = NULL;
	gsize got = 0;

	if (!gbe_window_at(&db->window, offset, want, &at, &got, error))
		return false;
	/* The caller has compared with the file's size. */
	if (got < want)
		return gbe_throw(error, GBE_ERROR_FAILED, "%s became shorter while it was read",
				 db->what);
	*ret_at = at;
	return true;
}

/* ---- the buckets ---- */

static void
bucket_free(GbeBboltBucket *bucket)
{
	g_free(bucket->name);
	g_free(bucket->inlined);
	g_free(bucket);
}

typedef struct {
	GbeBbolt *db;
	GPtrArray *buckets;
} Collector;

static GbeWalk
take_bucket(const GbeBboltRow *row, gpointer data, GError **error)
{
	Collector *collector = data;
	GbeBboltBucket *bucket;

	/* A page that was reused during its copy holds keys where buckets should be. */
	if (!row->is_bucket || row->value == NULL || row->value_size < GBE_BUCKET_HEADER ||
	    (gbe_load64(row->value) == 0 &&
	     row->value_size < GBE_BUCKET_HEADER + GBE_PAGE_HEADER)) {
		report_damage(collector->db, "bbolt-root", row->page, GBE_UNKNOWN,
			      "the root of the database holds something that is no bucket");
		return GBE_WALK_STOP;
	}
	if (collector->buckets->len >= GBE_BBOLT_BUCKETS_MAX) {
		gbe_findings_add(collector->db->findings, GBE_FINDING_UNKNOWN, "bbolt-buckets",
				 collector->db->what, GBE_PLACE_PAGE, row->page, GBE_NO,
				 GBE_UNKNOWN, "more than %d buckets: this is no etcd's",
				 GBE_BBOLT_BUCKETS_MAX);
		return GBE_WALK_STOP;
	}
	bucket = g_new0(GbeBboltBucket, 1);
	bucket->name = g_strndup((const char *)row->key, row->key_size);
	bucket->name_size = row->key_size;
	bucket->page = row->page;
	bucket->root = gbe_load64(row->value);
	if (bucket->root == 0) {
		bucket->inlined_size = (gsize)row->value_size - GBE_BUCKET_HEADER;
		bucket->inlined = g_memdup2(row->value + GBE_BUCKET_HEADER, bucket->inlined_size);
	}
	g_ptr_array_add(collector->buckets, bucket);
	return GBE_WALK_ON;
}

bool
gbe_bbolt_buckets(GbeBbolt *db, GbePageSet *reached, GPtrArray **ret_buckets, GError **error)
{
	g_autoptr(GPtrArray) buckets = g_ptr_array_new_with_free_func((GDestroyNotify)bucket_free);
	Collector collector = {.db = db, .buckets = buckets};
	GbeBboltVisitor visitor = {.row = take_bucket, .data = &collector};
	GbeBboltBucket root = {.root = db->meta.root};

	if (!gbe_bbolt_walk(db, &root, reached, &visitor, error))
		return false;
	*ret_buckets = g_steal_pointer(&buckets);
	return true;
}

/* ---- a walk ---- */

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
	/* Keys ascend over the whole tree. A row's key is above the last row's, and not below the key of the branch
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
remember_key(Walk *walk, Key key, bool is_row)
{
	memcpy(walk->last, key.bytes, key.size);
	walk->last_size = key.size;
	walk->last_is_row = is_row;
}

static void
report_layout(Walk *walk, const Page *page, guint index)
{
	report_damage(walk->db, "bbolt-element", page->id, GBE_UNKNOWN,
		      "element %u of %u does not lie where bbolt would have put it", index,
		      page->header.count);
}

/* May @key of element @index follow its predecessor? */
static inline void
check_order(Walk *walk, const Page *page, guint index, Key last, bool last_is_row, Key key)
{
	int order = memcmp(key.bytes, last.bytes, MIN(key.size, last.size));

	if (order == 0)
		order = (key.size > last.size) - (key.size < last.size);
	if ((order < 0 || (order == 0 && last_is_row)) && last.size > 0)
		report_damage(walk->db, "bbolt-order", page->id, GBE_UNKNOWN,
			      "the key of element %u of %u does not follow the one before it",
			      index, page->header.count);
}

/* ---- leaves ---- */

static void
settle_rows(const Walk *walk)
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
hand_row_on(Walk *walk, const Page *page, guint index, const GbeBboltRow *row, GError **error)
{
	if (row->is_bucket && !take_nested(walk, row)) {
		report_layout(walk, page, index);
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
			report_layout(walk, page, i);
			break;
		}
		row.key = page->bytes + begin;
		row.value = row.key + row.key_size;
		key = (Key){row.key, row.key_size};
		check_order(walk, page, i, last, last_is_row, key);
		if (!hand_row_on(walk, page, i, &row, error))
			return false;
		last = key;
		last_is_row = true;
		element += GBE_PAGE_ELEMENT;
	}
	if (last_is_row && last.bytes != walk->last)
		remember_key(walk, last, true);
	settle_rows(walk);
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
			report_layout(walk, page, i);
			break;
		}
		whole = row.key_size + (gsize)row.value_size;
		if (!gbe_bbolt_fetch(walk->db, page->at + begin,
				     whole <= GBE_BBOLT_WINDOW ? whole : row.key_size, &row.key,
				     error))
			return false;
		row.value = whole <= GBE_BBOLT_WINDOW ? row.key + row.key_size : NULL;
		key = (Key){row.key, row.key_size};
		check_order(walk, page, i, (Key){walk->last, walk->last_size}, walk->last_is_row,
			    key);
		remember_key(walk, key, true);
		if (!hand_row_on(walk, page, i, &row, error))
			return false;
		settle_rows(walk);
	}
	return true;
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
			report_layout(walk, page, i);
			break;
		}
		expected += key.size;
		if (!gbe_window_at(level, page->at + begin, key.size, &at, &got, error))
			return false;
		if (got < key.size)
			break;
		key.bytes = at;
		check_order(walk, page, i, (Key){walk->last, walk->last_size}, walk->last_is_row,
			    key);
		remember_key(walk, key, false);
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

/* False: a finding was added, and the page is skipped. */
static bool
check_header(Walk *walk, Page *page)
{
	const GbePageHeader *header = &page->header;

	page->span = ((guint64)header->overflow + 1) * walk->db->meta.page_size;
	if (header->id != page->id) {
		report_damage(walk->db, "bbolt-page-id", page->id, GBE_UNKNOWN,
			      "the page says that it is page %" G_GUINT64_FORMAT, header->id);
		return false;
	}
	if (header->flags != GBE_PAGE_BRANCH && header->flags != GBE_PAGE_LEAF) {
		report_damage(
		    walk->db, "bbolt-page-type", page->id, GBE_YES,
		    "the page's type is 0x%02x, but the tree needs a branch or a leaf here",
		    header->flags);
		return false;
	}
	if (!in_file(walk->db, page->id, (guint64)header->overflow + 1) ||
	    GBE_PAGE_HEADER + (guint64)header->count * GBE_PAGE_ELEMENT > page->span) {
		report_damage(walk->db, "bbolt-page-size", page->id, GBE_YES,
			      "%u elements and %u more pages do not fit", header->count,
			      header->overflow);
		return false;
	}
	if (header->count == 0 && (page->depth > 0 || header->flags == GBE_PAGE_BRANCH)) {
		report_damage(walk->db, "bbolt-page-empty", page->id, GBE_UNKNOWN,
			      "a page without elements, which bbolt would have removed");
		return false;
	}
	/* Each page belongs to one place. */
	for (guint64 i = 0; walk->reached != NULL && i <= header->overflow; i++) {
		GbePageResult result = gbe_page_set_add(walk->reached, page->id + i);

		if (result == GBE_PAGE_NEW)
			continue;
		if (result == GBE_PAGE_TWICE) {
			report_damage(walk->db, "bbolt-page-twice", page->id + i, GBE_YES,
				      "two places of the tree lead to this page");
			return false;
		}
		gbe_findings_add(walk->db->findings, GBE_FINDING_UNKNOWN, "bbolt-too-large",
				 walk->db->what, GBE_PLACE_PAGE, page->id + i, GBE_UNKNOWN,
				 GBE_UNKNOWN, "more pages than this program keeps count of");
		walk->stopped = true;
		walk->db->damages++;
		return false;
	}
	return true;
}

static bool
walk_page(Walk *walk, guint64 id, guint depth, GError **error)
{
	Page page = {.id = id, .depth = depth};
	guint32 size = walk->db->meta.page_size;
	const guint8 *at = NULL;
	gsize got = 0;

	if (depth >= GBE_BBOLT_DEPTH_MAX) {
		report_damage(walk->db, "bbolt-depth", id, GBE_UNKNOWN,
			      "the tree is deeper than %d pages", GBE_BBOLT_DEPTH_MAX);
		return true;
	}
	if (!in_file(walk->db, id, 1)) {
		report_damage(walk->db, "bbolt-page-outside", id, GBE_YES,
			      "the tree leads to a page that the database does not have");
		return true;
	}
	page.at = id * size;
	if (!gbe_bbolt_fetch(walk->db, page.at, MIN(size, GBE_BBOLT_WINDOW), &at, error))
		return false;
	page.header = gbe_page_header(at);
	page.bytes = page.header.overflow == 0 && size <= GBE_BBOLT_WINDOW ? at : NULL;
	if (!check_header(walk, &page))
		return true;
	if (page.header.flags == GBE_PAGE_BRANCH) {
		if (!gbe_window_at(&walk->db->levels[depth], page.at,
				   (gsize)MIN(page.span, GBE_BBOLT_LEVEL_WINDOW), &at, &got, error))
			return false;
		return walk_branch(walk, &page, error);
	}
	if (page.bytes != NULL)
		return walk_small_leaf(walk, &page, error);
	if (page.span > GBE_BBOLT_WINDOW)
		return walk_large_leaf(walk, &page, error);
	return gbe_bbolt_fetch(walk->db, page.at, (gsize)page.span, &page.bytes, error) &&
	       walk_small_leaf(walk, &page, error);
}

bool
gbe_bbolt_walk(GbeBbolt *db, const GbeBboltBucket *bucket, GbePageSet *reached,
	       const GbeBboltVisitor *visitor, GError **error)
{
	g_autofree guint8 *last = g_malloc(GBE_BBOLT_KEY_MAX);
	g_autoptr(GArray) nested = g_array_new(false, false, sizeof(guint64));
	Walk walk = {
	    .db = db,
	    .reached = reached,
	    .visitor = visitor,
	    .is_root = bucket->name == NULL,
	    .right_edge = visitor != NULL && visitor->last_leaf,
	    .last = last,
	    .nested = nested,
	};
	Page page = {.id = bucket->page, .span = bucket->inlined_size, .bytes = bucket->inlined};

	/* The inline page of a small bucket is in the bucket's value: a leaf. */
	if (bucket->inlined != NULL)
		page.header = gbe_page_header(bucket->inlined);
	if (bucket->inlined == NULL) {
		if (!walk_page(&walk, bucket->root, 0, error))
			return false;
	} else if (page.header.flags != GBE_PAGE_LEAF || page.header.overflow != 0 ||
		   GBE_PAGE_HEADER + (guint64)page.header.count * GBE_PAGE_ELEMENT > page.span) {
		report_damage(db, "bbolt-inline", bucket->page, GBE_UNKNOWN,
			      "the page inside of bucket \"%s\" is invalid", bucket->name);
	} else if (!walk_small_leaf(&walk, &page, error)) {
		return false;
	}
	walk.visitor = NULL;
	for (guint i = 0; i < nested->len && !walk.stopped; i++) {
		walk.last_size = 0;
		if (!walk_page(&walk, g_array_index(nested, guint64, i), 0, error))
			return false;
	}
	return true;
}

/* ---- free pages ---- */

/* *ret_good false: a finding was added. *ret_at, *ret_count: where the numbers of the free pages are in the file. */
static bool
read_free_header(GbeBbolt *db, GbePageSet *reached, guint64 *ret_at, guint64 *ret_count,
		 bool *ret_good, GError **error)
{
	guint64 end = MIN(db->meta.high_water, db->file_size / db->meta.page_size);
	guint64 id = db->meta.freelist;
	const guint8 *at = NULL;
	GbePageHeader header;
	guint64 count;
	guint64 begin;

	*ret_good = false;
	if (id < 2 || id >= end) {
		report_damage(db, "bbolt-freelist", id, GBE_YES,
			      "the list of free pages should be here: the database ends before");
		return true;
	}
	begin = id * db->meta.page_size + GBE_PAGE_HEADER;
	if (!gbe_bbolt_fetch(db, id * db->meta.page_size, GBE_PAGE_HEADER + 8, &at, error))
		return false;
	header = gbe_page_header(at);
	count = header.count;
	if (count == COUNT_IS_FIRST) {
		count = gbe_load64(at + GBE_PAGE_HEADER);
		begin += 8;
	}
	if (header.id != id || header.flags != GBE_PAGE_FREELIST || header.overflow >= end - id ||
	    count > (((guint64)header.overflow + 1) * db->meta.page_size - GBE_PAGE_HEADER) / 8 ||
	    begin + 8 * count > (id + header.overflow + 1) * db->meta.page_size) {
		report_damage(db, "bbolt-freelist", id, GBE_YES,
			      "this page should be the list of free pages, but has another type");
		return true;
	}
	for (guint64 i = 0; i <= header.overflow; i++) {
		if (gbe_page_set_add(reached, id + i) != GBE_PAGE_NEW) {
			report_damage(db, "bbolt-page-twice", id + i, GBE_YES,
				      "part of the tree, and of the list of free pages");
			return true;
		}
	}
	*ret_at = begin;
	*ret_count = count;
	*ret_good = true;
	return true;
}

bool
gbe_bbolt_check_free(GbeBbolt *db, GbePageSet *reached, guint64 *ret_free, GError **error)
{
	guint64 begin = 0;
	guint64 count = 0;
	guint64 before = 1;
	guint64 left;
	bool good = false;

	if (db->meta.freelist == GBE_BBOLT_NO_FREELIST) {
		*ret_free = db->meta.high_water - MIN(db->meta.high_water, 2 + reached->count);
		return true;
	}
	if (!read_free_header(db, reached, &begin, &count, &good, error))
		return false;
	/* The numbers ascend, so that none is there twice. */
	for (guint64 i = 0; i < count && good; i++) {
		const guint8 *at = NULL;
		guint64 page;

		if (!gbe_bbolt_fetch(db, begin + 8 * i, 8, &at, error))
			return false;
		page = gbe_load64(at);
		good =
		    page > before && page < db->meta.high_water && !gbe_page_set_has(reached, page);
		if (page <= before || page >= db->meta.high_water)
			report_damage(db, "bbolt-freelist", db->meta.freelist, GBE_UNKNOWN,
				      "entry %" G_GUINT64_FORMAT
				      " of the list of free pages is out of order",
				      i);
		else if (!good)
			report_damage(db, "bbolt-page-free", page, GBE_YES,
				      "a page in use is in the list of free pages: the next "
				      "write would destroy it");
		before = page;
	}
	left = db->meta.high_water - MIN(db->meta.high_water, 2 + reached->count);
	/* With damage elsewhere, pages that were not reached are no separate finding. */
	if (good && db->damages == 0 && left != count)
		gbe_findings_add(db->findings, GBE_FINDING_WARNING, "bbolt-page-lost", db->what,
				 GBE_PLACE_FILE, 0, GBE_NO, GBE_NO,
				 "%" G_GUINT64_FORMAT " pages are not in use and not free",
				 left - count);
	*ret_free = count;
	return true;
}
