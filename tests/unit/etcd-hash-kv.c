/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A real etcd writes every kind of change that it knows. Our reader of its files must report what etcd and etcdctl
 * report of the data. */
#include "etcd-real.h"

#include "etcd/db/db.h"

/* $0: the endpoint. Keys are overwritten, deleted, changed in transactions, and have leases that stay or end. */
static const char load[] =
    "export ETCDCTL_ENDPOINTS=$0\n"
    "for i in $(seq 30); do etcdctl put \"key-$((i % 17))\" \"$1 $i $(seq 0 $i)\"; done\n"
    "for i in 1 3 5; do etcdctl del \"key-$i\"; done\n"
    "etcdctl put key-3 again\n"
    "printf 'mod(\"key-2\") > \"0\"\\n\\nput t1 %s\\nput t2 b\\ndel key-7\\nput t3 c\\n\\n\\n' $1 "
    "|\n"
    "	etcdctl txn\n"
    "etcdctl del --prefix key-1\n"
    "stays=$(etcdctl lease grant 1000 | cut -d' ' -f2)\n"
    "goes=$(etcdctl lease grant 1000 | cut -d' ' -f2)\n"
    "etcdctl put --lease=$stays leased $1\n"
    "etcdctl put --lease=$goes leased-2 $1\n"
    "etcdctl lease revoke $goes\n"
    "head -c 400000 /dev/zero | tr '\\0' x | etcdctl put large\n";

/* The number after "@name": in @json. */
static gint64
number_in(const char *json, const char *name)
{
	g_autofree char *quoted = g_strdup_printf("\"%s\":", name);
	const char *at = strstr(json, quoted);

	ck_assert_msg(at != NULL, "no %s in %s", name, json);
	return g_ascii_strtoll(at + strlen(quoted), NULL, 10);
}

static char *
etcdctl(const Etcd *etcd, const char *verb, const char *noun, const char *argument)
{
	g_autofree char *endpoints = g_strconcat("--endpoints=", etcd->endpoint, NULL);
	char *output = NULL;

	ck_assert_int_eq(run_program((const char *[]){"etcdctl", endpoints, "-w", "json", verb,
						      noun, argument, NULL},
				     &output),
			 0);
	return output;
}

static GbeDb
read_path(const char *path)
{
	GbeDbOptions options = {.level = GBE_VERIFY_FULL};
	g_auto(GbeFindings) findings = {0};
	g_autoptr(GError) error = NULL;
	GbeDb db = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	gbe_findings_init(&findings);
	if (!gbe_db_read(fd, "db", &options, &db, &findings, &error))
		ck_abort_msg("%s", error->message);
	(void)close(fd);
	for (guint i = 0; i < findings.items->len; i++) {
		g_autofree char *text = gbe_finding_to_text(g_ptr_array_index(findings.items, i));

		(void)fprintf(stderr, "%s\n", text);
	}
	ck_assert_uint_eq(findings.items->len, 0);
	ck_assert(db.has_hash && db.has_hash_kv);
	return db;
}

/* The file's figures from etcdctl, offline. */
static void
compare_status(const char *path, const GbeDb *db)
{
	g_autofree char *status = NULL;

	ck_assert_int_eq(
	    run_program((const char *[]){"etcdctl", "-w", "json", "snapshot", "status", path, NULL},
			&status),
	    0);
	ck_assert_int_eq(number_in(status, "hash"), db->snapshot_hash);
	ck_assert_int_eq(number_in(status, "revision"), db->last_row);
	ck_assert_int_eq(number_in(status, "totalKey"), (gint64)db->keys);
	ck_assert_int_eq(number_in(status, "totalSize"), (gint64)db->total_size);
}

/* Asks etcd, takes a snapshot, stops etcd; both files must agree. */
static void
compare_all(Etcd *etcd, const char *data, const char *label)
{
	g_autofree char *db_path = g_build_filename(data, "member/snap/db", NULL);
	g_autofree char *snapshot = root_path("snapshot.db");
	g_autofree char *hash = etcdctl(etcd, "endpoint", "hashkv", NULL);
	g_auto(GbeDb) db = {0};
	g_auto(GbeDb) copy = {0};

	g_free(etcdctl(etcd, "snapshot", "save", snapshot));
	(void)fprintf(stderr, "%s: %s", label, hash);
	etcd_end(etcd, SIGTERM);
	db = read_path(db_path);
	copy = read_path(snapshot);
	ck_assert_int_eq(number_in(hash, "hash"), db.hash_kv);
	ck_assert_int_eq(number_in(hash, "hash"), copy.hash_kv);
	ck_assert_int_eq(number_in(hash, "compact_revision"), db.compact_revision);
	ck_assert_int_eq(number_in(hash, "revision"), db.revision);
	compare_status(db_path, &db);
	compare_status(snapshot, &copy);
}

static void
run_load(const Etcd *etcd, const char *value)
{
	ck_assert_int_eq(RUN("sh", "-ec", load, etcd->endpoint, value), 0);
}

START_TEST(as_etcd_says)
{
	g_autofree char *data = root_path("data");
	g_autofree char *revision = NULL;
	g_auto(GbeDb) db = {0};
	Etcd etcd;

	if (!have_etcd("as-etcd-says"))
		return;
	etcd_start(&etcd, data);
	compare_all(&etcd, data, "empty");
	etcd_start(&etcd, data);
	run_load(&etcd, "first");
	compare_all(&etcd, data, "written");
	etcd_start(&etcd, data);
	g_free(etcdctl(&etcd, "compaction", "--physical", "30"));
	compare_all(&etcd, data, "compacted");
	etcd_start(&etcd, data);
	run_load(&etcd, "second");
	g_free(etcdctl(&etcd, "compaction", "--physical", "51"));
	compare_all(&etcd, data, "written and compacted");
	etcd_start(&etcd, data);
	g_free(etcdctl(&etcd, "defrag", "--command-timeout=30s", NULL));
	run_load(&etcd, "third");
	compare_all(&etcd, data, "defragmented and written");
	etcd_start(&etcd, data);
	ck_assert_int_eq(
	    RUN("sh", "-ec", "ETCDCTL_ENDPOINTS=$0 etcdctl del --prefix ''", etcd.endpoint), 0);
	compare_all(&etcd, data, "everything deleted");
	db = read_path((revision = g_build_filename(data, "member/snap/db", NULL)));
	g_free(revision);
	revision = g_strdup_printf("%" G_GINT64_FORMAT, db.revision);
	ck_assert_uint_eq(db.live_keys, 0);
	etcd_start(&etcd, data);
	g_free(etcdctl(&etcd, "compaction", "--physical", revision));
	compare_all(&etcd, data, "and compacted");
}
END_TEST

/* The files are sound whenever a kill comes. */
START_TEST(killed)
{
	g_autofree char *data = root_path("data");
	g_autofree char *db_path = g_build_filename(data, "member/snap/db", NULL);
	Etcd etcd;

	if (!have_etcd("killed"))
		return;
	for (guint i = 0; i < 3; i++) {
		g_auto(GbeDb) db = {0};
		g_autofree char *pid = NULL;

		etcd_start(&etcd, data);
		pid = g_strdup_printf("%d", (int)etcd.pid);
		(void)RUN("sh", "-c",
			  "export ETCDCTL_ENDPOINTS=$0\n"
			  "(sleep 0.$((3 + $2 * 2)); kill -9 $1) &\n"
			  "i=0; while etcdctl --command-timeout=1s put k$((i % 9)) $2-$i; do\n"
			  "	i=$((i + 1)); done 2>/dev/null; wait",
			  etcd.endpoint, pid, (char[]){(char)('0' + i), '\0'});
		(void)waitpid(etcd.pid, NULL, 0);
		g_clear_pointer(&etcd.endpoint, g_free);
		db = read_path(db_path);
		compare_status(db_path, &db);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-hash-kv");
	TCase *live = tcase_create("live");

	tcase_add_checked_fixture(live, root_setup, root_teardown);
	tcase_set_timeout(live, 120);
	tcase_add_test(live, as_etcd_says);
	tcase_add_test(live, killed);
	suite_add_tcase(suite, live);
	return scratch_main(suite);
}
