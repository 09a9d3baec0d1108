/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes databases: sound ones of every page size, and ones with one known fault each. */
#include "sys-root.h"

#include "etcd/db/bbolt.h"
#include "lib/bbolt-file.h"
#include "lib/findings.h"

#define ROWS 3000

typedef struct {
	GbeFindings findings;
	guint64 rows, free_pages, damages;
	bool usable;
	guint buckets;
	guint64 bytes; /* of keys and values */
	bool streamed; /* a value came in pieces */
	GbeBbolt db;
} Look;

static GbeWalk
count_row(const GbeBboltRow *row, gpointer data, GError **error)
{
	Look *look = data;

	look->rows++;
	look->bytes += row->key_size + row->value_size;
	if (row->value == NULL)
		look->streamed = true;
	return GBE_WALK_ON;
}

static Look
look_at(int fd)
{
	Look look = {.rows = 0};
	GbeBboltVisitor visitor = {.row = count_row, .data = &look};
	g_auto(GbePageSet) reached = {0};
	g_autoptr(GPtrArray) buckets = NULL;
	g_autoptr(GError) error = NULL;

	gbe_findings_init(&look.findings);
	ck_assert(gbe_bbolt_open(fd, "db", NULL, &look.findings, &look.db, &look.usable, &error));
	if (look.usable) {
		ck_assert(gbe_bbolt_buckets(&look.db, &reached, &buckets, &error));
		look.buckets = buckets->len;
		for (guint i = 0; i < buckets->len; i++)
			ck_assert(gbe_bbolt_walk(&look.db, g_ptr_array_index(buckets, i), &reached,
						 &visitor, &error));
		ck_assert(gbe_bbolt_check_free(&look.db, &reached, &look.free_pages, &error));
	}
	look.damages = look.db.damages;
	gbe_bbolt_close(&look.db);
	return look;
}

static void
print_findings(const GbeFindings *findings)
{
	for (guint i = 0; i < findings->items->len; i++) {
		g_autofree char *text = gbe_finding_to_text(g_ptr_array_index(findings->items, i));

		(void)fprintf(stderr, "%s\n", text);
	}
}

/* Examines the file. The worst finding must be exactly the given one; NULL: no finding at all. */
static Look
expect(int fd, const char *code)
{
	Look look = look_at(fd);

	if (code == NULL) {
		print_findings(&look.findings);
		ck_assert_uint_eq(look.findings.items->len, 0);
	} else if (findings_find(&look.findings, code) == NULL) {
		print_findings(&look.findings);
		ck_abort_msg("%s was not found", code);
	}
	gbe_findings_clear(&look.findings);
	return look;
}

static int
new_file(void)
{
	g_autofree char *path = root_path("db");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* "rows": some thousand in a tree; "small": inline in its value; "empty". */
static BoltFile
write_sound(int fd, guint32 page_size, guint rows)
{
	g_autoptr(GByteArray) small = NULL;
	g_autoptr(GByteArray) empty = NULL;
	BoltTree buckets;
	BoltTree tree;
	BoltFile file;
	guint64 root_page;

	bolt_open(&file, fd, page_size);
	bolt_tree_init(&tree, &file);
	for (guint i = 0; i < rows; i++) {
		g_autofree char *key = g_strdup_printf("key-%08u", i);
		g_autofree char *value = g_strnfill(i % 97, 'v');

		bolt_tree_add(&tree, 0, key, strlen(key), value, strlen(value));
	}
	root_page = bolt_tree_end(&tree);
	bolt_tree_init(&tree, &file);
	empty = bolt_tree_end_inline(&tree);
	bolt_tree_init(&tree, &file);
	bolt_tree_add(&tree, 0, "one", 3, "1", 1);
	bolt_tree_add(&tree, 0, "two", 3, "", 0);
	small = bolt_tree_end_inline(&tree);
	bolt_tree_init(&buckets, &file);
	bolt_add_bucket(&buckets, "empty", 0, empty);
	bolt_add_bucket(&buckets, "rows", root_page, NULL);
	bolt_add_bucket(&buckets, "small", 0, small);
	file.root = bolt_tree_end(&buckets);
	bolt_close(&file, file.root);
	return file;
}

START_TEST(every_page_size)
{
	for (guint32 size = 512; size <= 65536; size *= 2) {
		int fd = new_file();
		BoltFile file = write_sound(fd, size, ROWS);
		Look look = expect(fd, NULL);

		ck_assert(look.usable);
		ck_assert_uint_eq(look.buckets, 3);
		ck_assert_uint_eq(look.rows, ROWS + 2);
		ck_assert_uint_eq(look.free_pages, 0);
		ck_assert_uint_eq(look.db.meta.page_size, size);
		ck_assert_uint_eq(look.db.meta.high_water, file.next);
		(void)close(fd);
	}
}
END_TEST

/* Values larger than the window, keys of bbolt's maximal size, and branches of such keys. */
START_TEST(large_rows)
{
	static const gsize sizes[] = {100, 4000, 70000, 262100, 262144, 3000000, 5, 0};
	g_autofree char *bytes = g_strnfill(3000000, 'x');
	guint64 expected = 0;
	BoltTree buckets;
	BoltTree tree;
	BoltFile file;
	int fd = new_file();
	Look look;

	bolt_open(&file, fd, 4096);
	bolt_tree_init(&tree, &file);
	for (guint i = 0; i < 40; i++) {
		gsize size = sizes[i % G_N_ELEMENTS(sizes)];
		gsize key_size = i % 3 == 0 ? GBE_BBOLT_KEY_MAX : 20;
		g_autofree char *key = g_strnfill(key_size, (char)('A' + i));

		bolt_tree_add(&tree, 0, key, key_size, bytes, size);
		expected += key_size + size;
	}
	file.root = bolt_tree_end(&tree);
	bolt_tree_init(&buckets, &file);
	bolt_add_bucket(&buckets, "rows", file.root, NULL);
	bolt_close(&file, bolt_tree_end(&buckets));
	look = expect(fd, NULL);
	ck_assert_uint_eq(look.rows, 40);
	ck_assert_uint_eq(look.bytes, expected);
	ck_assert(look.streamed);
	(void)close(fd);
}
END_TEST

/* Nested buckets, which etcd does not have: their pages count. */
START_TEST(nested_buckets)
{
	BoltTree buckets;
	BoltTree inner;
	BoltTree outer;
	BoltFile file;
	int fd = new_file();
	Look look;

	bolt_open(&file, fd, 4096);
	bolt_tree_init(&inner, &file);
	for (guint i = 0; i < 1000; i++) {
		g_autofree char *key = g_strdup_printf("%06u", i);

		bolt_tree_add(&inner, 0, key, 6, key, 6);
	}
	file.root = bolt_tree_end(&inner);
	bolt_tree_init(&outer, &file);
	bolt_add_bucket(&outer, "inner", file.root, NULL);
	file.root = bolt_tree_end(&outer);
	bolt_tree_init(&buckets, &file);
	bolt_add_bucket(&buckets, "outer", file.root, NULL);
	bolt_close(&file, bolt_tree_end(&buckets));
	look = expect(fd, "bbolt-nested");
	ck_assert_uint_eq(look.damages, 0);
	ck_assert_uint_eq(look.free_pages, 0);
	ck_assert_uint_eq(look.rows, 1);
	(void)close(fd);
}
END_TEST

/* ---- free pages ---- */

static BoltFile
write_with_freelist(int fd, guint64 skip, const guint64 *ids, gsize count, bool long_count)
{
	BoltFile file = write_sound(fd, 4096, 100);
	g_autofree guint8 *page = g_malloc0(4096 * 200);
	gsize bytes = 16 + 8 * (count + long_count);

	file.freelist = file.next + skip;
	bolt_put64(page, file.freelist);
	bolt_put16(page + 8, FILE_FREELIST);
	bolt_put16(page + 10, long_count ? 0xffff : (guint16)count);
	bolt_put32(page + 12, (guint32)((bytes + 4095) / 4096 - 1));
	if (long_count)
		bolt_put64(page + 16, count);
	for (gsize i = 0; i < count; i++)
		bolt_put64(page + 16 + 8 * (i + long_count), ids[i]);
	bytes = (bytes + 4095) / 4096 * 4096;
	bolt_write(&file, file.freelist * 4096, page, bytes);
	file.next = file.freelist + bytes / 4096;
	bolt_close(&file, file.root);
	return file;
}

START_TEST(free_pages)
{
	guint64 first;
	int fd = new_file();
	Look look;
	/* How many pages the rest has. */
	BoltFile file = write_sound(fd, 4096, 100);
	guint64 ids[3];

	first = file.next;
	for (guint i = 0; i < 3; i++)
		ids[i] = first + i;
	(void)write_with_freelist(fd, 3, ids, 3, false);
	look = expect(fd, NULL);
	ck_assert_uint_eq(look.free_pages, 3);
	/* One page that is not free and not reached. */
	(void)write_with_freelist(fd, 3, ids, 2, false);
	look = expect(fd, "bbolt-page-lost");
	ck_assert_uint_eq(look.damages, 0);
	/* One page that is both, one that is there twice, one beyond the end. */
	ids[0] = 2;
	(void)write_with_freelist(fd, 3, ids, 3, false);
	(void)expect(fd, "bbolt-page-free");
	ids[0] = ids[1];
	(void)write_with_freelist(fd, 3, ids, 3, false);
	(void)expect(fd, "bbolt-freelist");
	ids[0] = first;
	ids[2] = first + 100;
	(void)write_with_freelist(fd, 3, ids, 3, false);
	(void)expect(fd, "bbolt-freelist");
	(void)close(fd);
}
END_TEST

START_TEST(free_pages_without_end)
{
	g_autofree guint64 *ids = g_new(guint64, 70000);
	int fd = new_file();
	guint64 first = write_sound(fd, 4096, 100).next;
	Look look;

	for (guint i = 0; i < 70000; i++)
		ids[i] = first + i;
	(void)write_with_freelist(fd, 70000, ids, 70000, true);
	look = expect(fd, NULL);
	ck_assert_uint_eq(look.free_pages, 70000);
	(void)close(fd);
}
END_TEST

START_TEST(free_pages_are_what_is_not_reached)
{
	int fd = new_file();
	BoltFile file = write_sound(fd, 4096, 100);

	file.next += 5;
	bolt_close(&file, file.root);
	ck_assert_uint_eq(expect(fd, NULL).free_pages, 5);
	(void)close(fd);
}
END_TEST

/* ---- one fault ---- */

static guint64
get64(int fd, guint64 offset)
{
	guint8 bytes[8];
	guint64 value;

	ck_assert_int_eq(pread(fd, bytes, 8, (off_t)offset), 8);
	memcpy(&value, bytes, 8);
	return GUINT64_FROM_LE(value);
}

typedef struct {
	const char *what, *code;
	guint64 offset; /* in the page */
	guint size;	/* 1, 2, 4, 8 */
	guint64 value;
	enum { LEAF, BRANCH, ROOT } page;
} Break;

/* Page 2 is the first leaf of "rows"; its branch comes after all leaves; then the root of buckets. */
static const Break breaks[] = {
    {"another's id", "bbolt-page-id", 0, 8, 3, LEAF},
    {"no type", "bbolt-page-type", 8, 2, 0, LEAF},
    {"two types", "bbolt-page-type", 8, 2, 3, LEAF},
    {"a meta page", "bbolt-page-type", 8, 2, 4, LEAF},
    {"a branch", "bbolt-element", 8, 2, 1, LEAF},
    {"no elements", "bbolt-page-empty", 10, 2, 0, LEAF},
    {"too many elements", "bbolt-page-size", 10, 2, 65535, LEAF},
    {"one element less", "bbolt-element", 10, 2, 0xfffffffe, LEAF},
    {"the file as overflow", "bbolt-page-size", 12, 4, 0xffffffff, LEAF},
    {"its neighbour as overflow", "bbolt-page-twice", 12, 4, 1, LEAF},
    {"a bucket that is not one", "bbolt-element", 16, 4, 1, LEAF},
    {"unknown flags", "bbolt-element", 16, 4, 2, LEAF},
    {"position 0", "bbolt-element", 20, 4, 0, LEAF},
    {"position far away", "bbolt-element", 20, 4, 0xffffffff, LEAF},
    {"no key", "bbolt-element", 24, 4, 0, LEAF},
    {"a huge key", "bbolt-element", 24, 4, 0x7fffffff, LEAF},
    {"a huge value", "bbolt-element", 28, 4, 0xffffffff, LEAF},
    {"another branch's id", "bbolt-page-id", 0, 8, 2, BRANCH},
    {"no branches", "bbolt-page-empty", 10, 2, 0, BRANCH},
    {"branch position", "bbolt-element", 16, 4, 12, BRANCH},
    {"branch key", "bbolt-element", 20, 4, 13, BRANCH},
    {"to itself", "bbolt-page-twice", 24, 8, G_MAXUINT64, BRANCH},
    {"to page 0", "bbolt-page-outside", 24, 8, 0, BRANCH},
    {"to nowhere", "bbolt-page-outside", 24, 8, 0x7fffffffffffffff, BRANCH},
    {"to the other child", "bbolt-page-twice", 24, 8, 3, BRANCH},
    {"the root's entry is no bucket", "bbolt-root", 16, 4, 0, ROOT},
};

START_TEST(one_thing_broken)
{
	const Break *broken = &breaks[_i];
	int fd = new_file();
	BoltFile file = write_sound(fd, 4096, ROWS);
	guint64 page = broken->page == LEAF ? 2 : broken->page == ROOT ? file.root : file.root - 1;
	guint64 value = GUINT64_TO_LE(broken->value);
	Look look;

	if (broken->page == BRANCH)
		ck_assert_uint_eq(get64(fd, page * 4096 + 8) & 0xffff, FILE_BRANCH);
	if (broken->value == 0xfffffffe)
		value = (get64(fd, page * 4096 + 8) >> 16 & 0xffff) - 1;
	if (broken->value == G_MAXUINT64)
		value = page;
	bolt_write(&file, page * 4096 + broken->offset, &value, broken->size);
	look = expect(fd, broken->code);
	ck_assert_msg(look.damages > 0, "%s", broken->what);
	(void)close(fd);
}
END_TEST

/* Two keys swapped, within a page and across two pages. */
START_TEST(keys_out_of_order)
{
	int fd = new_file();
	BoltFile file = write_sound(fd, 4096, ROWS);
	guint64 count = get64(fd, 2 * 4096 + 8) >> 16 & 0xffff;
	guint64 first = 2 * 4096 + 16 + 16 * count;

	/* "key-00000000" becomes "key-99999999". */
	bolt_write(&file, first + 4, "99999999", 8);
	(void)expect(fd, "bbolt-order");
	bolt_write(&file, first + 4, "00000000", 8);
	(void)expect(fd, NULL);
	/* The first key of the second leaf is below the key in its branch. */
	count = get64(fd, 3 * 4096 + 8) >> 16 & 0xffff;
	bolt_write(&file, 3 * 4096 + 16 + 16 * count + 4, "00000000", 8);
	(void)expect(fd, "bbolt-order");
	(void)close(fd);
}
END_TEST

START_TEST(meta_pages)
{
	static const guint8 zeros[80];
	int fd = new_file();
	BoltFile file = write_sound(fd, 4096, ROWS);
	guint32 swapped = GUINT32_TO_BE(0xED0CDAED);
	Look look;

	/* The newer one is torn: the older one counts. */
	bolt_write(&file, 4096, zeros, sizeof(zeros));
	look = expect(fd, "bbolt-meta");
	ck_assert_uint_eq(look.damages, 0);
	ck_assert(look.db.fell_back);
	ck_assert_uint_eq(look.db.meta.transaction, 10);
	ck_assert_uint_eq(look.rows, ROWS + 2);
	bolt_write(&file, 0, zeros, sizeof(zeros));
	look = expect(fd, "bbolt-metas");
	ck_assert(!look.usable);
	bolt_write(&file, 16, &swapped, 4);
	look = look_at(fd);
	ck_assert(!look.usable);
	ck_assert_ptr_nonnull(findings_find(&look.findings, "bbolt-byte-swapped"));
	ck_assert_int_eq(gbe_findings_worst(&look.findings), GBE_FINDING_UNKNOWN);
	gbe_findings_clear(&look.findings);
	/* The first one is torn, so that nothing tells where the second is. */
	bolt_close(&file, file.root);
	bolt_write(&file, 0, zeros, sizeof(zeros));
	ck_assert_uint_eq(expect(fd, "bbolt-meta").db.meta.transaction, 11);
	(void)close(fd);
}
END_TEST

/* A meta page that is whole and claims something impossible. */
START_TEST(meta_pages_that_lie)
{
	int fd = new_file();
	BoltFile file = write_sound(fd, 4096, ROWS);
	BoltFile lie = file;

	lie.next = G_MAXUINT64 / 2;
	lie.root = file.root;
	bolt_write_meta(&lie, 1, 12);
	ck_assert_uint_eq(expect(fd, "bbolt-short").rows, ROWS + 2);
	lie = file;
	lie.root = 1;
	bolt_write_meta(&lie, 1, 12);
	(void)expect(fd, "bbolt-page-outside");
	lie.root = file.next;
	bolt_write_meta(&lie, 1, 12);
	(void)expect(fd, "bbolt-page-outside");
	lie.root = 2;
	bolt_write_meta(&lie, 1, 12);
	(void)expect(fd, "bbolt-root");
	lie = file;
	lie.freelist = 2;
	bolt_write_meta(&lie, 1, 12);
	(void)expect(fd, "bbolt-freelist");
	lie.freelist = file.next;
	bolt_write_meta(&lie, 1, 12);
	(void)expect(fd, "bbolt-freelist");
	(void)close(fd);
}
END_TEST

START_TEST(cut_anywhere)
{
	int fd = new_file();
	BoltFile file = write_sound(fd, 4096, ROWS);

	for (guint64 size = file.next * 4096 - 1; size > 0; size = size * 7 / 8) {
		ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
		(void)expect(fd, size >= 80 ? "bbolt-short" : "bbolt-metas");
	}
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	(void)expect(fd, "bbolt-empty");
	(void)close(fd);
}
END_TEST

/* 16 TiB of hole: with a tree that leads into it, and with one that does not. */
START_TEST(sparse)
{
	int fd = new_file();
	BoltFile file = write_sound(fd, 4096, ROWS);
	guint64 size = G_GUINT64_CONSTANT(15) << 40;

	if (ftruncate(fd, (off_t)size) < 0) {
		/* ext4 has a smaller limit. */
		size = G_GUINT64_CONSTANT(1) << 40;
		ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	}
	file.next = size / 4096;
	bolt_write_meta(&file, 1, 12);
	ck_assert_uint_eq(expect(fd, NULL).rows, ROWS + 2);
	file.root = size / 4096 - 1;
	bolt_write_meta(&file, 1, 13);
	(void)expect(fd, "bbolt-page-id");
	(void)close(fd);
}
END_TEST

START_TEST(page_sets)
{
	g_auto(GbePageSet) set = {0};
	guint64 far = 0;

	ck_assert(!gbe_page_set_has(&set, 5));
	ck_assert_int_eq(gbe_page_set_add(&set, 5), GBE_PAGE_NEW);
	ck_assert_int_eq(gbe_page_set_add(&set, 5), GBE_PAGE_TWICE);
	ck_assert_int_eq(gbe_page_set_add(&set, G_MAXUINT64), GBE_PAGE_NEW);
	ck_assert(gbe_page_set_has(&set, 5) && gbe_page_set_has(&set, G_MAXUINT64));
	ck_assert(!gbe_page_set_has(&set, 6) && !gbe_page_set_has(&set, 5 + 32768));
	ck_assert_uint_eq(set.count, 2);
	while (gbe_page_set_add(&set, (far += 1) << 32) == GBE_PAGE_NEW)
		;
	ck_assert_uint_eq(far, 2047);
	ck_assert_int_eq(gbe_page_set_add(&set, 6), GBE_PAGE_NEW);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-bbolt");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 60);
	tcase_add_test(files, every_page_size);
	tcase_add_test(files, large_rows);
	tcase_add_test(files, nested_buckets);
	tcase_add_test(files, free_pages);
	tcase_add_test(files, free_pages_without_end);
	tcase_add_test(files, free_pages_are_what_is_not_reached);
	tcase_add_loop_test(files, one_thing_broken, 0, G_N_ELEMENTS(breaks));
	tcase_add_test(files, keys_out_of_order);
	tcase_add_test(files, meta_pages);
	tcase_add_test(files, meta_pages_that_lie);
	tcase_add_test(files, cut_anywhere);
	tcase_add_test(files, sparse);
	tcase_add_test(files, page_sets);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
