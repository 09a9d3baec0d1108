/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Skips revisions in databases of many shapes: afterwards each is sound, and has what it had and one row more. */
#include "sys-root.h"

#include "base/crc32c.h"
#include "etcd/db/bbolt.h"
#include "etcd/db/db.h"
#include "etcd/db/snapshot-file.h"
#include "lib/etcd-db.h"
#include "lib/samples.h"

#define BY 1000

typedef struct {
	guint32 crc; /* of all rows of "key" but a last one with an empty value */
	guint64 rows;
} Sum;

static GbeWalk
sum_row(const GbeBboltRow *row, gpointer data, GError **error)
{
	Sum *sum = data;

	if (row->value_size == 0)
		return GBE_WALK_ON;
	sum->rows++;
	sum->crc = gbe_crc32c(sum->crc, row->key, row->key_size);
	if (row->value != NULL)
		sum->crc = gbe_crc32c(sum->crc, row->value, (gsize)row->value_size);
	return GBE_WALK_ON;
}

/* Reads the whole database; @ret_sum is the sum of its keys. */
static GbeDb
read_sound(int fd, const char *what, Sum *ret_sum)
{
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	g_auto(GbeFindings) findings = {0};
	g_autoptr(GPtrArray) buckets = NULL;
	g_autoptr(GError) error = NULL;
	g_auto(GbeBbolt) bolt = {0};
	Sum sum = {0};
	const GbeBboltVisitor visitor = {.row = sum_row, .data = &sum};
	bool usable = false;
	GbeDb db = {0};

	gbe_findings_init(&findings);
	ck_assert(gbe_db_read(fd, "db", &full, &db, &findings, &error));
	for (guint i = 0; i < findings.items->len; i++) {
		g_autofree char *text = gbe_finding_to_text(g_ptr_array_index(findings.items, i));

		ck_abort_msg("%s: %s", what, text);
	}
	ck_assert(gbe_bbolt_open(fd, "db", NULL, &findings, &bolt, &usable, &error));
	ck_assert(gbe_bbolt_buckets(&bolt, NULL, &buckets, &error));
	for (guint i = 0; i < buckets->len; i++) {
		const GbeBboltBucket *bucket = g_ptr_array_index(buckets, i);

		if (g_str_equal(bucket->name, "key"))
			ck_assert(gbe_bbolt_walk(&bolt, bucket, NULL, &visitor, &error));
	}
	*ret_sum = sum;
	return db;
}

/* A second time over what the first has written, as for a snapshot of an etcd that was restored so. */
static void
bump_twice(int fd, const char *what)
{
	g_auto(GbeDb) before = {0};
	Sum was, is;

	before = read_sound(fd, what, &was);
	for (guint turn = 1; turn <= 2; turn++) {
		gint64 next = before.revision + turn * BY;
		g_autoptr(GError) error = NULL;
		g_auto(GbeDb) after = {0};

		if (!gbe_db_bump(fd, "db", next, &error))
			ck_abort_msg("%s: %s", what, error->message);
		after = read_sound(fd, what, &is);
		ck_assert_int_eq(after.revision, next);
		ck_assert_int_eq(after.last_row, next);
		ck_assert_int_eq(after.compacting, next);
		ck_assert_uint_eq(after.rows, before.rows + turn);
		/* One key without a name. */
		ck_assert_uint_eq(after.live_keys, before.live_keys + 1);
		ck_assert(after.has_hash && after.has_hash_kv);
		ck_assert_uint_eq(after.consistent_index, before.consistent_index);
		ck_assert_uint_eq(after.total_size % before.page_size, 0);
		ck_assert_uint_le(after.total_size, after.size);
		ck_assert_uint_eq(is.rows, was.rows);
		ck_assert_uint_eq(is.crc, was.crc);
	}
}

static int
new_file(void)
{
	g_autofree char *path = root_path("db");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static const struct {
	const char *what;
	DbSpec spec;
} shapes[] = {
    {"one leaf", {.rows = 10, .keys = 10, .page_size = 4096}},
    {"many leaves", {.rows = 3000, .keys = 100, .value = 40, .page_size = 4096}},
    {"branches of branches", {.rows = 20000, .keys = 20000, .page_size = 512}},
    {"large pages", {.rows = 3000, .keys = 7, .value = 100, .page_size = 65536}},
    {"values larger than a page", {.rows = 20, .keys = 5, .value = 100000, .page_size = 4096}},
    {"compacted", {.rows = 900, .keys = 50, .compacted = 800, .page_size = 4096}},
    {"deletions",
     {.rows = 903, .keys = 50, .compacted = 700, .page_size = 4096, .delete_every = 3}},
    {"nothing but a compaction",
     {.rows = 20, .keys = 10, .compacted = 21, .page_size = 4096, .delete_every = 2}},
};

START_TEST(every_shape)
{
	int fd = new_file();

	db_write(&shapes[_i].spec, fd);
	bump_twice(fd, shapes[_i].what);
	(void)close(fd);
}
END_TEST

/* The last leaf is as full as can be, nearly so, and nearly empty. */
START_TEST(every_filling)
{
	int fd = new_file();

	for (guint64 rows = 1; rows < 60; rows++) {
		g_autofree char *what = g_strdup_printf("%" G_GUINT64_FORMAT " rows", rows);
		const DbSpec spec = {.rows = rows, .keys = 9, .value = rows, .page_size = 1024};

		ck_assert_int_eq(ftruncate(fd, 0), 0);
		db_write(&spec, fd);
		bump_twice(fd, what);
	}
	(void)close(fd);
}
END_TEST

/* Few rows lie in the bucket itself; @others bytes in other buckets make the tree of buckets a branch. @value: of one
 * row; NULL: rows of @spec. */
static void
write_inline(const DbSpec *spec, gsize others, const GByteArray *value, int fd)
{
	static const char *const names[] = {"alarm",	       "auth", "authRoles", "authUsers",
					    "cluster",	       "key",  "lease",	    "members",
					    "members_removed", "meta"};
	g_autofree guint8 *large = g_malloc0(others);
	BoltTree buckets;
	BoltFile file;

	ck_assert_int_eq(ftruncate(fd, 0), 0);
	bolt_open(&file, fd, spec->page_size);
	/* No database of bbolt has fewer pages. */
	file.next = 4;
	bolt_tree_init(&buckets, &file);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		bool is_key = g_str_equal(names[i], "key");
		g_autoptr(GByteArray) page = NULL;
		guint8 revision[17];
		BoltTree tree;

		if (!is_key && !g_str_has_prefix(names[i], "auth")) {
			db_small_bucket(spec, &buckets, names[i]);
			continue;
		}
		bolt_tree_init(&tree, &file);
		db_revision(revision, 2);
		if (is_key && value != NULL)
			bolt_tree_add(&tree, 0, revision, 17, value->data, value->len);
		else if (is_key)
			db_rows(spec, &tree);
		else if (others > 0 && g_str_equal(names[i], "authRoles"))
			bolt_tree_add(&tree, 0, "root", 4, large, others);
		page = bolt_tree_end_inline(&tree);
		bolt_add_bucket(&buckets, names[i], 0, page);
	}
	bolt_close(&file, bolt_tree_end(&buckets));
}

START_TEST(inside_of_the_bucket)
{
	int fd = new_file();

	for (guint64 rows = 0; rows < 8; rows++)
		for (gsize others = 0; others <= 600; others += 300) {
			g_autofree char *what = g_strdup_printf(
			    "%" G_GUINT64_FORMAT " rows inside, %zu other bytes", rows, others);

			const DbSpec spec = {.rows = rows, .keys = 10, .page_size = 1024};

			write_inline(&spec, others, NULL, fd);
			bump_twice(fd, what);
		}
	(void)close(fd);
}
END_TEST

/* Free pages that the file has a list of, as etcd before 3.3 wrote it, become free pages without a list. */
START_TEST(a_list_of_free_pages)
{
	const DbSpec spec = {.rows = 300, .keys = 9, .value = 50, .page_size = 1024};
	guint8 list[24] = {[0] = 2, [8] = FILE_FREELIST, [10] = 1, [16] = 3};
	int fd = new_file();
	GbeBboltMeta meta;
	guint8 page[GBE_BBOLT_META_SIZE];

	db_write(&spec, fd);
	ck_assert(gbe_bbolt_read_newest(fd, "db", &meta, NULL));
	list[0] = (guint8)meta.high_water;
	list[16] = (guint8)(meta.high_water + 1);
	ck_assert_uint_lt(meta.high_water, 250);
	meta.freelist = meta.high_water;
	ck_assert_int_eq(pwrite(fd, list, sizeof(list), (off_t)(meta.high_water * spec.page_size)),
			 sizeof(list));
	meta.high_water += 2;
	for (guint i = 0; i < 2; i++) {
		meta.transaction++;
		gbe_bbolt_meta_write(&meta, (guint)(meta.transaction & 1), page);
		ck_assert_int_eq(pwrite(fd, page, sizeof(page),
					(off_t)((meta.transaction & 1) * spec.page_size)),
				 sizeof(page));
	}
	ck_assert_int_eq(ftruncate(fd, (off_t)(meta.high_water * spec.page_size)), 0);
	bump_twice(fd, "a list of free pages");
	(void)close(fd);
}
END_TEST

static const char *const samples[] = {
    "etcd34-small-stopped",
    "etcd34-7k5-snapfiles",
    "etcd36-compact-tombstones",
    "etcd35-restored-from-snapshot",
};

START_TEST(every_sample)
{
	g_autofree char *path = sample_part(samples[_i], "member/snap/db");
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	bump_twice(fd, samples[_i]);
	(void)close(fd);
}
END_TEST

/* A database with a fault is refused, and never followed out of bounds. */
START_TEST(every_bit_of_the_head_of_a_page)
{
	const DbSpec spec = {.rows = 60, .keys = 9, .value = 20, .page_size = 1024};
	int fd = new_file();
	g_autofree char *path = root_path("db");
	g_autofree char *bytes = NULL;
	guint refused = 0;
	gsize size;

	db_write(&spec, fd);
	ck_assert(g_file_get_contents(path, &bytes, &size, NULL));
	for (gsize page = 2; page < size / 1024; page++)
		for (gsize bit = 0; bit < 48 * 8; bit++) {
			char *at = bytes + page * 1024 + bit / 8;
			g_autoptr(GError) error = NULL;

			*at ^= (char)(1U << (bit % 8));
			ck_assert_int_eq(ftruncate(fd, 0), 0);
			ck_assert_int_eq(pwrite(fd, bytes, size, 0), (ssize_t)size);
			refused += !gbe_db_bump(fd, "db", 5000, &error);
			*at ^= (char)(1U << (bit % 8));
		}
	ck_assert_uint_gt(refused, 100);
	(void)close(fd);
}
END_TEST

START_TEST(no_database)
{
	g_autoptr(GError) error = NULL;
	int fd = new_file();

	ck_assert(!gbe_db_bump(fd, "db", 5000, &error));
	ck_assert_error(error, GBE_ERROR_CORRUPT);
	(void)close(fd);
}
END_TEST

/* The owner of each key. */
static const struct {
	const char *key;
	bool kubernetes;
} keys[] = {
    {"/registry/pods/a", true}, {"/kubernetes.io/pods/a", true}, {"/registry", false},
    {"/registry/", false},	{"/app/registry/x", false},
};

START_TEST(kubernetes)
{
	g_autoptr(GByteArray) value = g_byte_array_new();
	const DbSpec spec = {.page_size = 4096};
	g_auto(GbeDb) db = {0};
	int fd = new_file();
	Sum sum;

	gbe_protobuf_put_string(value, 1, keys[_i].key);
	for (guint field = 2; field <= 4; field++)
		gbe_protobuf_put_varint(value, field, field == 4 ? 1 : 2);
	write_inline(&spec, 0, value, fd);
	db = read_sound(fd, keys[_i].key, &sum);
	ck_assert_int_eq(db.kubernetes, keys[_i].kubernetes);
	(void)close(fd);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-bump");
	TCase *bump = tcase_create("bump");

	tcase_add_checked_fixture(bump, root_setup, root_teardown);
	tcase_add_loop_test(bump, every_shape, 0, G_N_ELEMENTS(shapes));
	tcase_add_test(bump, every_filling);
	tcase_add_test(bump, inside_of_the_bucket);
	tcase_add_test(bump, a_list_of_free_pages);
	tcase_add_loop_test(bump, every_sample, 0, G_N_ELEMENTS(samples));
	tcase_add_test(bump, every_bit_of_the_head_of_a_page);
	tcase_add_test(bump, no_database);
	tcase_add_loop_test(bump, kubernetes, 0, G_N_ELEMENTS(keys));
	suite_add_tcase(suite, bump);
	return scratch_main(suite);
}
