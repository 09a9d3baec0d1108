/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The figures of every sample, as etcd and etcdctl reported them; and databases made here, with rows whose faults
 * etcd would not notice. */
#include "sys-root.h"

#include "etcd/db/db.h"
#include "lib/etcd-db.h"
#include "lib/findings.h"
#include "lib/samples.h"

#include <sys/mman.h>
#include <time.h>

static GbeDb
read_fd(int fd, const GbeDbOptions *options, GbeFindings *findings)
{
	g_autoptr(GError) error = NULL;
	GbeDb db = {0};

	gbe_findings_init(findings);
	if (!gbe_db_read(fd, "member/snap/db", options, &db, findings, &error))
		ck_abort_msg("%s", error->message);
	return db;
}

static const GbeDbOptions full = {.level = GBE_VERIFY_FULL};

static void
print_findings(const GbeFindings *findings)
{
	for (guint i = 0; i < findings->items->len; i++) {
		const GbeFinding *finding = g_ptr_array_index(findings->items, i);
		g_autofree char *text = gbe_finding_to_text(finding);

		(void)fprintf(stderr, "%s: %s\n", finding->code, text);
	}
}

/* @code must be among the findings. NULL: no finding may be damage. */
static void
expect(const GbeFindings *findings, const char *code, const char *what)
{
	if (code != NULL ? findings_find(findings, code) != NULL
			 : gbe_findings_worst(findings) < GBE_FINDING_DAMAGE)
		return;
	print_findings(findings);
	ck_abort_msg("%s: not %s", what, code != NULL ? code : "sound");
}

static int
open_sample(const char *name, const char *part)
{
	g_autofree char *path = sample_part(name, part);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* Hash, revision, keys and size are from etcdctl snapshot status, HashKV from etcdctl endpoint hashkv. 0: README.md of
 * the samples lacks HashKV, or has that of a later revision. */
static const struct {
	const char *name;
	guint32 hash;
	gint64 revision;
	guint64 keys, size;
	gint64 compacted;
	guint32 hash_kv;
	const char *cluster, *storage;
	guint64 index;
	int voters;
} samples[] = {
    {"etcd34-small-stopped", 0x5e49fad, 23, 26, 20480, -1, 714011031, "3.4.0", NULL, 26, -1},
    {"etcd34-20k-puts", 0x388a58ca, 20001, 20004, 6406144, -1, 2567683392, "3.4.0", NULL, 20004,
     -1},
    {"etcd34-7k5-snapfiles", 0xd909206d, 7501, 7504, 1380352, -1, 3152661896, "3.4.0", NULL, 7504,
     -1},
    {"etcd35-7k5-snapfiles", 0xd78bd27a, 7501, 7506, 1380352, -1, 2786471332, "3.5.0", NULL, 7504,
     1},
    {"etcd36-7k5-snapfiles", 0x861864b8, 7501, 7507, 1380352, -1, 0, "3.6.0", "3.6.0", 7504, 1},
    {"etcd35-wal3segments-compacted", 0x613ad941, 141, 14, 6029312, 138, 2407439296, "3.5.0", NULL,
     145, 1},
    {"etcd34-compact-tombstones", 1465099918, 3511, 412, 667648, 3508, 3200622861, "3.4.0", NULL,
     3518, -1},
    {"etcd35-compact-tombstones", 2643881989, 3511, 414, 667648, 3508, 2892737082, "3.5.0", NULL,
     3518, 1},
    {"etcd36-compact-tombstones", 4025910727, 3511, 415, 667648, 3508, 2973211606, "3.6.0", "3.6.0",
     3518, 1},
    {"etcd34-restored-from-snapshot", 2243867183, 7501, 7504, 1372160, -1, 3152661896, "3.4.0",
     NULL, 1, -1},
    {"etcd35-restored-from-snapshot", 1753610438, 7501, 7505, 1372160, -1, 3152661896, "3.4.0",
     NULL, 1, -1},
    {"etcd34-live", 0x71b8b799, 2633, 2636, 811008, -1, 0, "3.4.0", NULL, 2636, -1},
    /* The directory is bad; the database is sound. */
    {"etcd34-live-db-ahead", 0x13f771ab, 3676, 3679, 1118208, -1, 66524007, "3.4.0", NULL, 3679,
     -1},
};

START_TEST(every_sample)
{
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeDb) db = {0};
	int fd;

	fd = open_sample(samples[_i].name, "member/snap/db");
	db = read_fd(fd, &full, &findings);
	(void)close(fd);
	print_findings(&findings);
	ck_assert_uint_eq(findings.items->len, 0);
	ck_assert(db.has_hash && db.has_hash_kv);
	ck_assert_uint_eq(db.snapshot_hash, samples[_i].hash);
	ck_assert_int_eq(db.revision, samples[_i].revision);
	ck_assert_uint_eq(db.keys, samples[_i].keys);
	ck_assert_uint_eq(db.total_size, samples[_i].size);
	ck_assert_int_eq(db.compact_revision, samples[_i].compacted);
	if (samples[_i].hash_kv != 0)
		ck_assert_uint_eq(db.hash_kv, samples[_i].hash_kv);
	ck_assert_pstr_eq(db.cluster_version, samples[_i].cluster);
	ck_assert_pstr_eq(db.storage_version, samples[_i].storage);
	ck_assert_uint_eq(db.consistent_index, samples[_i].index);
	ck_assert_int_eq(db.voters, samples[_i].voters);
	ck_assert_int_eq(db.members, 1);
	ck_assert_uint_eq(db.checked, 63);
}
END_TEST

START_TEST(torn_sample)
{
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeDb) db = {0};
	int fd;

	fd = open_sample("etcd34-live-torn-db", "member/snap/db");
	db = read_fd(fd, &full, &findings);
	(void)close(fd);
	ck_assert_int_eq(gbe_findings_worst(&findings), GBE_FINDING_DAMAGE);
	ck_assert_ptr_nonnull(findings_find(&findings, "bbolt-root"));
	ck_assert(!db.has_hash && !db.has_hash_kv);
}
END_TEST

/* The checksum after the database does not belong to it. */
START_TEST(snapshot_file)
{
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeDb) db = {0};
	int fd;

	fd = open_sample("etcd34-snapshot-save", "db");
	db = read_fd(fd, &full, &findings);
	(void)close(fd);
	ck_assert_uint_eq(findings.items->len, 0);
	ck_assert_uint_eq(db.snapshot_hash, 0x5e49fad);
	ck_assert_uint_eq(db.hash_kv, 714011031);
	ck_assert_uint_eq(db.size, 20480 + 32);
}
END_TEST

/* ---- rows made here ---- */

static int
new_file(void)
{
	g_autofree char *path = root_path("db");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* One row of "key", with the fields that a case needs. */
typedef struct {
	gint64 main, sub;
	char key; /* 0: none */
	gint64 create, mod, version;
	bool tombstone;
	bool empty; /* no value at all */
} Row;

#define PUT(main, key, create, version)                                                            \
	{                                                                                          \
		main, 0, key, create, main, version, false, false                                  \
	}
#define DEL(main, key)                                                                             \
	{                                                                                          \
		main, 0, key, 0, 0, 0, true, false                                                 \
	}
/* As `etcdutl snapshot restore --bump-revision --mark-compacted` writes it; @gone: 3.6, where the newest row before it
 * is a deletion. */
#define BUMP(main, gone)                                                                           \
	{                                                                                          \
		main, 0, 0, 0, 0, 0, gone, true                                                    \
	}

static void
add_rows(BoltTree *tree, const Row *rows)
{
	for (; rows->main != 0; rows++) {
		g_autoptr(GByteArray) value = g_byte_array_new();
		guint64 sub = GUINT64_TO_BE((guint64)rows->sub);
		guint8 key[18];

		db_revision(key, (guint64)rows->main);
		memcpy(key + 9, &sub, 8);
		key[17] = 't';
		if (rows->key != 0)
			gbe_protobuf_put_bytes(value, 1, &rows->key, 1);
		if (rows->create != 0)
			gbe_protobuf_put_varint(value, 2, (guint64)rows->create);
		if (rows->mod != 0)
			gbe_protobuf_put_varint(value, 3, (guint64)rows->mod);
		if (rows->version != 0)
			gbe_protobuf_put_varint(value, 4, (guint64)rows->version);
		if (!rows->tombstone)
			gbe_protobuf_put_string(value, 5, "value");
		if (rows->empty)
			g_byte_array_set_size(value, 0);
		bolt_tree_add(tree, 0, key, rows->tombstone ? 18 : 17, value->data, value->len);
	}
}

static void
write_rows(int fd, const Row *rows, guint64 compacted)
{
	DbSpec spec = {.rows = 1000, .compacted = compacted, .page_size = 4096};
	BoltTree buckets;
	BoltTree tree;
	BoltFile file;

	bolt_open(&file, fd, 4096);
	bolt_tree_init(&tree, &file);
	add_rows(&tree, rows);
	file.root = bolt_tree_end(&tree);
	bolt_tree_init(&buckets, &file);
	db_small_bucket(&spec, &buckets, "cluster");
	bolt_add_bucket(&buckets, "key", file.root, NULL);
	db_small_bucket(&spec, &buckets, "members");
	db_small_bucket(&spec, &buckets, "meta");
	bolt_close(&file, bolt_tree_end(&buckets));
}

typedef struct {
	const char *what, *code; /* code NULL: no fault */
	guint64 compacted;
	guint64 live;
	Row rows[8];
} RowCase;

static const RowCase row_cases[] = {
    {"puts and a deletion",
     NULL,
     0,
     1,
     {PUT(2, 'a', 2, 1), PUT(3, 'a', 2, 2), PUT(4, 'b', 4, 1), DEL(5, 'a'), PUT(6, 'a', 6, 1),
      DEL(7, 'b')}},
    {"a transaction of three",
     NULL,
     0,
     3,
     {PUT(2, 'a', 2, 1), {2, 1, 'b', 2, 2, 1, false, false}, {2, 2, 'c', 2, 2, 1, false, false}}},
    {"compacted: only the newest is left",
     NULL,
     10,
     2,
     {PUT(7, 'a', 3, 3), PUT(9, 'b', 9, 1), PUT(11, 'a', 3, 4)}},
    {"a deletion at the compacted revision, which newer ones keep",
     NULL,
     10,
     1,
     {PUT(7, 'a', 3, 3), DEL(10, 'b'), PUT(11, 'a', 3, 4)}},
    {"compacted and interrupted",
     NULL,
     10,
     1,
     {PUT(6, 'a', 3, 2), PUT(8, 'a', 3, 4), DEL(9, 'a'), PUT(11, 'a', 11, 1)}},
    {"revisions skipped by a restore",
     NULL,
     1003,
     2,
     {PUT(2, 'a', 2, 1), PUT(3, 'a', 2, 2), BUMP(1003, false), PUT(1004, 'a', 2, 3)}},
    {"revisions skipped after a deletion",
     NULL,
     1003,
     0,
     {PUT(2, 'a', 2, 1), DEL(3, 'a'), BUMP(1003, true)}},
    {"an empty value beyond the compacted revision",
     "db-row",
     1002,
     0,
     {PUT(2, 'a', 2, 1), BUMP(1003, false)}},
    {"the largest revision there can be",
     "db-revision-gap",
     0,
     2,
     {PUT(2, 'a', 2, 1), PUT(G_MAXINT64, 'b', G_MAXINT64, 1)}},
    {"a row after the largest possible change",
     "db-row",
     0,
     0,
     {{2, G_MAXINT64, 'a', 2, 2, 1, false, false}, {2, G_MAXINT64, 'a', 2, 2, 1, true, false}}},
    {"a version below all numbers",
     "db-row",
     0,
     0,
     {PUT(2, 'a', 2, 1), PUT(3, 'a', 2, G_MININT64)}},
    {"a row is missing", "db-revision-gap", 0, 2, {PUT(2, 'a', 2, 1), PUT(4, 'b', 4, 1)}},
    {"the first row is missing", "db-revision-gap", 0, 1, {PUT(3, 'a', 3, 1)}},
    {"the first row beyond the compacted one", "db-revision-gap", 10, 1, {PUT(12, 'a', 12, 1)}},
    {"a change of a transaction is missing",
     "db-revision-gap",
     0,
     2,
     {PUT(2, 'a', 2, 1), {2, 2, 'b', 2, 2, 1, false, false}}},
    {"its first change is missing", "db-revision-gap", 0, 1, {{2, 1, 'b', 2, 2, 1, false, false}}},
    {"another's mod revision", "db-row", 0, 0, {{2, 0, 'a', 2, 3, 1, false, false}}},
    {"created after it was changed", "db-row", 0, 0, {PUT(2, 'a', 3, 1)}},
    {"never created", "db-row", 0, 0, {PUT(2, 'a', 0, 1)}},
    {"no version", "db-row", 0, 0, {PUT(2, 'a', 2, 0)}},
    {"more versions than revisions", "db-row", 0, 0, {PUT(2, 'a', 2, 1), PUT(3, 'a', 2, 3)}},
    {"a first version later than created", "db-row", 0, 0, {PUT(2, 'a', 2, 1), PUT(3, 'b', 2, 1)}},
    {"a put without a key", "db-row", 0, 0, {PUT(2, 0, 2, 1)}},
    {"a deletion with versions", "db-row", 0, 0, {{2, 0, 'a', 2, 2, 1, true, false}}},
    {"a version left out",
     "db-history",
     0,
     1,
     {PUT(2, 'a', 2, 1), PUT(3, 'b', 3, 1), PUT(4, 'a', 2, 3), DEL(5, 'b')}},
    {"another creation",
     "db-history",
     0,
     1,
     {PUT(2, 'a', 2, 1), PUT(3, 'a', 2, 2), DEL(4, 'a'), PUT(5, 'a', 2, 3)}},
    {"begins in the middle", "db-history", 0, 2, {PUT(2, 'b', 2, 1), PUT(3, 'a', 2, 2)}},
    {"deleted, and never put", "db-history", 0, 1, {PUT(2, 'a', 2, 1), DEL(3, 'b')}},
    {"deleted twice", "db-history", 0, 0, {PUT(2, 'a', 2, 1), DEL(3, 'a'), DEL(4, 'a')}},
    {"created again while it existed", "db-history", 0, 1, {PUT(2, 'a', 2, 1), PUT(3, 'a', 3, 1)}},
    {"nothing before it beyond the compacted revision",
     "db-history",
     10,
     2,
     {PUT(7, 'a', 3, 3), PUT(11, 'b', 9, 2)}},
};

START_TEST(rows)
{
	const RowCase *this = &row_cases[_i];
	GbeDbOptions quick = {.level = GBE_VERIFY_FULL, .quick = true};
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeFindings) later = {0};
	g_auto(GbeDb) db = {0};
	int fd = new_file();

	write_rows(fd, this->rows, this->compacted);
	db = read_fd(fd, &full, &findings);
	expect(&findings, this->code, this->what);
	if (g_strcmp0(this->code, "db-row") != 0) {
		ck_assert_uint_eq(db.live_keys, this->live);
		ck_assert(db.has_hash_kv);
	}
	gbe_db_clear(&db);
	db = read_fd(fd, &quick, &later);
	ck_assert((db.checked & GBE_DB_CHECKED_HISTORIES) == 0);
	ck_assert(findings_find(&later, "db-history") == NULL);
	(void)close(fd);
}
END_TEST

/* The compacted rows that HashKV leaves out, summed by hand. */
START_TEST(hash_kv_of_a_compaction_that_was_interrupted)
{
	static const Row both[] = {PUT(6, 'a', 3, 2),
				   PUT(8, 'a', 3, 4),
				   PUT(9, 'b', 9, 1),
				   PUT(10, 'c', 10, 1),
				   DEL(11, 'b'),
				   PUT(12, 'a', 3, 5),
				   {0}};
	static const Row kept[] = {PUT(10, 'c', 10, 1), DEL(11, 'b'), PUT(12, 'a', 3, 5), {0}};
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeFindings) others = {0};
	g_auto(GbeDb) first = {0};
	g_auto(GbeDb) second = {0};
	int fd = new_file();

	write_rows(fd, both, 10);
	first = read_fd(fd, &full, &findings);
	write_rows(fd, kept, 10);
	second = read_fd(fd, &full, &others);
	ck_assert_uint_eq(first.hash_kv, second.hash_kv);
	ck_assert_uint_ne(first.snapshot_hash, second.snapshot_hash);
	(void)close(fd);
}
END_TEST

/* If no key is alive, etcd leaves no row out. */
START_TEST(hash_kv_of_nothing_alive)
{
	static const Row gone[] = {PUT(9, 'a', 9, 1), DEL(11, 'a'), {0}};
	static const Row never[] = {DEL(11, 'a'), {0}};
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeFindings) others = {0};
	g_auto(GbeDb) first = {0};
	g_auto(GbeDb) second = {0};
	int fd = new_file();

	write_rows(fd, gone, 10);
	first = read_fd(fd, &full, &findings);
	write_rows(fd, never, 10);
	second = read_fd(fd, &full, &others);
	ck_assert_uint_ne(first.hash_kv, second.hash_kv);
	(void)close(fd);
}
END_TEST

/* ---- etcd's own buckets ---- */

static void
write_bucket(int fd, const char *bucket, const char *key, const void *value, gsize size)
{
	static const char *const names[] = {"alarm", "auth",	"cluster", "key",
					    "lease", "members", "meta"};
	DbSpec spec = {.rows = 10, .page_size = 4096};
	BoltTree buckets;
	BoltFile file;

	bolt_open(&file, fd, 4096);
	bolt_tree_init(&buckets, &file);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(GByteArray) page = NULL;
		BoltTree tree;

		if (strcmp(names[i], bucket) != 0) {
			db_small_bucket(&spec, &buckets, names[i]);
			continue;
		}
		bolt_tree_init(&tree, &file);
		bolt_tree_add(&tree, 0, key, strlen(key), value, size);
		page = bolt_tree_end_inline(&tree);
		bolt_add_bucket(&buckets, bucket, 0, page);
	}
	bolt_close(&file, bolt_tree_end(&buckets));
}

static const struct {
	const char *bucket, *key, *value;
	gsize size;
	const char *code;
} bucket_cases[] = {
    {"meta", "consistent_index", "1234567", 7, "db-meta"},
    {"meta", "consistent_index", "12345678", 8, NULL},
    {"meta", "term", "", 0, "db-meta"},
    {"meta", "confState", "{\"voters\":[1,2,3]}", 18, NULL},
    {"meta", "confState", "{\"voters\":7}", 12, "db-meta"},
    {"meta", "confState", "[[[[[[[[[[[[[[[[[[[[[[[[[", 25, "db-meta"},
    {"meta", "confState", "{", 1, "db-meta"},
    {"meta", "finishedCompactRev", "x", 1, "db-meta"},
    {"meta", "storageVersion", "3.6.0", 5, NULL},
    {"meta", "storageVersion", "3.6", 3, "db-version"},
    {"cluster", "clusterVersion", "3.5.0-rc.1", 10, NULL},
    {"cluster", "clusterVersion", "3.5\0000", 5, "db-version"},
    {"cluster", "downgrade", "no", 2, "db-cluster"},
    {"members", "2e05", "{\"id\":11781}", 12, NULL},
    {"members", "2e05", "{}", 2, "db-member"},
    {"members", "xyz", "{\"id\":11781}", 12, "db-member"},
    {"lease", "\1\1\1\1\1\1\1\1", "\x08\x81\x82\x84\x88\x90\xa0\xc0\x80\x01", 10, NULL},
    {"lease", "\1\1\1\1\1\1\1\1", "\x08\x01", 2, "db-lease"},
    {"lease", "\1", "\x08\x01", 2, "db-lease"},
    {"alarm", "\x08\x01\x10\x01", "", 0, NULL},
    {"alarm", "\x08", "", 0, "db-alarm"},
    {"auth", "authEnabled", "\1", 1, NULL},
    {"auth", "authEnabled", "\2", 1, "db-auth"},
    {"auth", "authRevision", "1", 1, "db-auth"},
};

START_TEST(buckets)
{
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeDb) db = {0};
	int fd = new_file();

	write_bucket(fd, bucket_cases[_i].bucket, bucket_cases[_i].key, bucket_cases[_i].value,
		     bucket_cases[_i].size);
	db = read_fd(fd, &full, &findings);
	expect(&findings, bucket_cases[_i].code, bucket_cases[_i].key);
	if (g_str_has_prefix(bucket_cases[_i].value, "{\"voters\":["))
		ck_assert_int_eq(db.voters, 3);
	(void)close(fd);
}
END_TEST

/* The other meta page is whole and has another page size: etcd uses it for its tree. */
START_TEST(another_page_size)
{
	static const guint32 sizes[] = {8192, 0, 4095};
	DbSpec spec = {.rows = 100, .keys = 10, .page_size = 4096};
	BoltFile other = {.page_size = sizes[_i],
			  .root = 3,
			  .freelist = FILE_NO_FREELIST,
			  .next = 4};
	g_autofree guint8 *page = g_malloc(4096);
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeDb) db = {0};
	int fd = new_file();
	int apart = memfd_create("meta", MFD_CLOEXEC);

	db_write(&spec, fd);
	other.fd = apart;
	bolt_write_meta(&other, 1, 12);
	ck_assert_int_eq(pread(apart, page, 80, sizes[_i]), 80);
	ck_assert_int_eq(pwrite(fd, page, 80, 4096), 80);
	db = read_fd(fd, &full, &findings);
	expect(&findings, "bbolt-page-size", "another page size");
	ck_assert_int_eq(gbe_findings_worst(&findings), GBE_FINDING_DAMAGE);
	(void)close(apart);
	(void)close(fd);
}
END_TEST

/* ---- keys that anybody can choose ---- */

/* The inverse of an odd number. */
static guint64
inverse(guint64 odd)
{
	guint64 result = odd;

	for (guint i = 0; i < 6; i++)
		result *= 2 - odd * result;
	return result;
}

/* The former hash of keys, which anybody could compute: (h ^ word) * A, ^ >> 32, for each word and the size; then *
 * B, ^ >> 29. */
#define MUL_A G_GUINT64_CONSTANT(0x9E3779B97F4A7C15)
#define MUL_B G_GUINT64_CONSTANT(0xD6E8FEB86659FD93)

static void
colliding_key(guint64 n, guint64 key[2])
{
	guint64 hash = n << 33 | 0x12345678;
	guint64 first;

	hash ^= hash >> 29 ^ hash >> 58;
	hash *= inverse(MUL_B);
	hash ^= hash >> 32;
	hash = hash * inverse(MUL_A) ^ (16 ^ MUL_B);
	hash ^= hash >> 32;
	hash *= inverse(MUL_A);
	key[0] = GUINT64_TO_LE(n);
	first = n * MUL_A;
	first ^= first >> 32;
	key[1] = GUINT64_TO_LE(first ^ hash);
}

/* As many keys as fit into ten megabytes, each of which would search for its place after all before it. */
START_TEST(chosen_keys)
{
	DbSpec spec = {.rows = 120000, .page_size = 4096};
	g_autoptr(GByteArray) value = g_byte_array_new();
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeDb) db = {0};
	BoltTree names;
	BoltFile file;
	BoltTree tree;
	clock_t begin;
	int fd = new_file();

	bolt_open(&file, fd, 4096);
	bolt_tree_init(&tree, &file);
	for (guint64 n = 0; n < spec.rows; n++) {
		guint64 key[2];
		guint8 row[17];

		colliding_key(n, key);
		g_byte_array_set_size(value, 0);
		gbe_protobuf_put_bytes(value, 1, key, sizeof(key));
		for (guint field = 2; field < 4; field++)
			gbe_protobuf_put_varint(value, field, n + 2);
		gbe_protobuf_put_varint(value, 4, 1);
		db_revision(row, n + 2);
		bolt_tree_add(&tree, 0, row, 17, value->data, value->len);
	}
	file.root = bolt_tree_end(&tree);
	bolt_tree_init(&names, &file);
	db_small_bucket(&spec, &names, "cluster");
	bolt_add_bucket(&names, "key", file.root, NULL);
	db_small_bucket(&spec, &names, "members");
	db_small_bucket(&spec, &names, "meta");
	bolt_close(&file, bolt_tree_end(&names));
	begin = clock();
	db = read_fd(fd, &full, &findings);
	ck_assert_uint_eq(db.live_keys, spec.rows);
	ck_assert_int_lt((clock() - begin) * 1000 / CLOCKS_PER_SEC, 2000);
	(void)close(fd);
}
END_TEST

START_TEST(a_bucket_is_gone)
{
	static const Row none[] = {{0}};
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeFindings) others = {0};
	g_auto(GbeDb) db = {0};
	g_auto(GbeDb) other = {0};
	int fd = new_file();

	/* An index without rows: this is not a new database. */
	write_bucket(fd, "key", "x", "", 0);
	db = read_fd(fd, &full, &findings);
	ck_assert_ptr_nonnull(findings_find(&findings, "db-row"));
	write_rows(fd, none, 0);
	other = read_fd(fd, &full, &others);
	ck_assert_int_eq(other.revision, 1);
	ck_assert_ptr_nonnull(findings_find(&others, "db-bucket-missing"));
	ck_assert_int_eq(gbe_findings_worst(&others), GBE_FINDING_WARNING);
	(void)close(fd);
}
END_TEST

/* A few pages, whatever the file's size is. */
START_TEST(sanity_is_cheap)
{
	DbSpec spec = {.rows = 50000, .keys = 100, .value = 100, .page_size = 4096};
	GbeDbOptions sanity = {.level = GBE_VERIFY_SANITY};
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeDb) db = {0};
	int fd = new_file();

	db_write(&spec, fd);
	db = read_fd(fd, &sanity, &findings);
	ck_assert_uint_eq(findings.items->len, 0);
	ck_assert_uint_eq(db.consistent_index, 50004);
	ck_assert_int_eq(db.revision, 50001);
	ck_assert_int_eq(db.last_row, 50001);
	ck_assert_str_eq(db.cluster_version, "3.4.0");
	ck_assert_int_eq(db.members, 1);
	ck_assert_uint_le(db.bytes_read, 65536);
	ck_assert(!db.has_hash && !db.has_hash_kv);
	ck_assert_uint_eq(db.checked, GBE_DB_CHECKED_BUCKETS);
	(void)close(fd);
}
END_TEST

static bool
cancel(guint64 bytes, gpointer data)
{
	*(guint64 *)data = bytes;
	return bytes < 16 * 1024 * 1024;
}

START_TEST(progress)
{
	DbSpec spec = {.rows = 40000, .keys = 100, .value = 1000, .page_size = 4096};
	guint64 read = 0;
	GbeDbOptions options = {.level = GBE_VERIFY_FULL, .progress = cancel};
	g_auto(GbeFindings) findings = {0};
	g_autoptr(GError) error = NULL;
	GbeDb db = {0};
	int fd = new_file();

	options.progress_data = &read;
	gbe_findings_init(&findings);
	db_write(&spec, fd);
	ck_assert(!gbe_db_read(fd, "db", &options, &db, &findings, &error));
	ck_assert_uint_ge(read, 16 * 1024 * 1024);
	ck_assert_uint_lt(read, 32 * 1024 * 1024);
	(void)close(fd);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-db");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 60);
	tcase_add_loop_test(files, every_sample, 0, G_N_ELEMENTS(samples));
	tcase_add_test(files, torn_sample);
	tcase_add_test(files, snapshot_file);
	tcase_add_loop_test(files, rows, 0, G_N_ELEMENTS(row_cases));
	tcase_add_test(files, hash_kv_of_a_compaction_that_was_interrupted);
	tcase_add_test(files, hash_kv_of_nothing_alive);
	tcase_add_loop_test(files, buckets, 0, G_N_ELEMENTS(bucket_cases));
	tcase_add_loop_test(files, another_page_size, 0, 3);
	tcase_add_test(files, chosen_keys);
	tcase_add_test(files, a_bucket_is_gone);
	tcase_add_test(files, sanity_is_cheap);
	tcase_add_test(files, progress);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
