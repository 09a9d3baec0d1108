/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts that turn a directory into a snapshot: requests, v2 keys, the file itself. */
#include "etcd-log.h"
#include "etcd-real.h"
#include "lib/samples.h"

#include "etcd/db/bbolt.h"
#include "etcd/db/snapshot-file.h"
#include "etcd/protobuf.h"
#include "etcd/wal/rest.h"

static GByteArray *
v2_request(const char *method, const char *path)
{
	GByteArray *bytes = g_byte_array_new();

	gbe_protobuf_put_varint(bytes, 1, 77);
	gbe_protobuf_put_string(bytes, 2, method);
	gbe_protobuf_put_string(bytes, 3, path);
	return bytes;
}

static GbeRaftKind
kind_of(const GByteArray *bytes)
{
	return gbe_raft_request_kind(bytes->data, bytes->len);
}

/* A request with @field, an ID and a header. */
static GbeRaftKind
kind_of_field(guint32 field)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	if (field < 100)
		gbe_protobuf_put_varint(bytes, 1, 77);
	if (field > 1)
		gbe_protobuf_put_bytes(bytes, field, "\x0a\x01k", 3);
	if (field < 100)
		gbe_protobuf_put_bytes(bytes, 100, "\x08\x01", 2);
	return kind_of(bytes);
}

START_TEST(requests)
{
	static const guint32 kept[] = {4,  5,	 6,    7,    8,	   9,	 10,
				       11, 1000, 1012, 1100, 1200, 1303, 9999};
	static const guint32 nothing[] = {1, 3, 1300, 1301, 1302};

	ck_assert_int_eq(gbe_raft_request_kind(NULL, 0), GBE_RAFT_NOTHING);
	for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
		ck_assert_msg(kind_of_field(kept[i]) == GBE_RAFT_V3, "field %u", kept[i]);
	for (gsize i = 0; i < G_N_ELEMENTS(nothing); i++)
		ck_assert_msg(kind_of_field(nothing[i]) == GBE_RAFT_NOTHING, "field %u",
			      nothing[i]);
}
END_TEST

/* Health checks ask for the alarms. */
START_TEST(requests_for_alarms)
{
	static const struct {
		const char *bytes;
		gsize size;
		GbeRaftKind kind;
	} alarms[] = {
	    {"", 0, GBE_RAFT_NOTHING},
	    {"\x08\x00", 2, GBE_RAFT_NOTHING},
	    {"\x10\x05\x18\x01", 4, GBE_RAFT_NOTHING},	  /* GET, of a member */
	    {"\x08\x01\x18\x01", 4, GBE_RAFT_V3},	  /* ACTIVATE */
	    {"\x08\x02\x10\x05\x18\x01", 6, GBE_RAFT_V3}, /* DEACTIVATE */
	    {"\x08", 1, GBE_RAFT_V3},
	    {"\xff\xff", 2, GBE_RAFT_V3},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(alarms); i++) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();

		gbe_protobuf_put_varint(bytes, 1, 7);
		gbe_protobuf_put_bytes(bytes, 10, alarms[i].bytes, alarms[i].size);
		ck_assert_msg(kind_of(bytes) == alarms[i].kind, "alarm %zu", i);
	}
}
END_TEST

START_TEST(requests_of_v2)
{
	static const struct {
		const char *method, *path;
		GbeRaftKind kind;
	} cases[] = {
	    {"PUT", "/1/key", GBE_RAFT_V2_KEY},
	    {"DELETE", "/1/a/b", GBE_RAFT_V2_KEY},
	    {"PUT", "/0/members/1", GBE_RAFT_NOTHING},
	    {"PUT", "/0/version", GBE_RAFT_NOTHING},
	    {"SYNC", "", GBE_RAFT_NOTHING},
	    {"PUT", "/1/", GBE_RAFT_NOTHING},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GByteArray) alone = v2_request(cases[i].method, cases[i].path);
		g_autoptr(GByteArray) inside = g_byte_array_new();

		ck_assert_int_eq(kind_of(alone), cases[i].kind);
		gbe_protobuf_put_varint(inside, 1, 77);
		gbe_protobuf_put_bytes(inside, 2, alone->data, alone->len);
		ck_assert_int_eq(kind_of(inside), cases[i].kind);
	}
}
END_TEST

/* Only the beginning of a large request is given. Bytes that are no request do not count as "nothing". */
START_TEST(parts_of_requests)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	guint8 value[300] = {0};

	gbe_protobuf_put_varint(bytes, 1, 77);
	gbe_protobuf_put_bytes(bytes, 4, value, sizeof(value));
	for (gsize have = 4; have <= bytes->len; have++)
		ck_assert_int_eq(gbe_raft_request_kind(bytes->data, have), GBE_RAFT_V3);
	ck_assert_int_eq(gbe_raft_request_kind((const guint8 *)"\xff\xff\xff", 3), GBE_RAFT_V3);
	ck_assert_int_eq(gbe_raft_request_kind((const guint8 *)"\x00\x00", 2), GBE_RAFT_V3);
}
END_TEST

START_TEST(v2_keys)
{
	static const char node[] = "{\"Path\":\"/1/k\",\"Value\":\"\\\"Path\\\":\\\"/1/x\"},"
				   "{\"Path\":\"/0/m\"},{\"Path\":\"/1\"}";
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	g_autofree char *path = root_path("snap");
	guint64 count = 0;
	int fd;

	/* Also across the edge of one read. */
	for (guint i = 0; i < 9000; i++)
		(void)g_string_append(text, node);
	root_write_bytes("snap", text->str, text->len);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	if (!gbe_v2_keys_count(fd, "snap", &count, &error))
		ck_abort_msg("%s", error->message);
	ck_assert_uint_eq(count, 9000);
	(void)close(fd);
	root_write_bytes("snap", "x", 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert(gbe_v2_keys_count(fd, "snap", &count, &error));
	ck_assert_uint_eq(count, 0);
	(void)close(fd);
}
END_TEST

static bool
append(const void *bytes, gsize size, gpointer data, GError **error)
{
	(void)g_byte_array_append(data, bytes, (guint)size);
	return true;
}

/* A real database: the written file is sound, has the same rows and the right checksum. */
START_TEST(snapshot)
{
	g_autofree char *data = sample("etcd36-7k5-snapfiles");
	g_autofree char *path = g_build_filename(data, "member/snap/db", NULL);
	g_autofree char *written = root_path("written");
	g_autoptr(GByteArray) file = g_byte_array_new();
	g_autoptr(GError) error = NULL;
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeDb) before = {0}, after = {0};
	guint64 txid[2] = {0};
	bool valid = false;
	int fd = open(path, O_RDONLY | O_CLOEXEC), to;

	gbe_findings_init(&findings);
	ck_assert_int_ge(fd, 0);
	ck_assert(gbe_db_read(fd, "db", &full, &before, &findings, &error));
	if (!gbe_snapshot_write(fd, "db", append, file, &error))
		ck_abort_msg("%s", error->message);
	ck_assert_uint_eq(file->len, before.total_size + GBE_SNAPSHOT_SUM);
	root_write_bytes("written", file->data, file->len);
	to = open(written, O_RDONLY | O_CLOEXEC);
	ck_assert(gbe_snapshot_file_read(to, "written", &full, &after, &findings, &error));
	ck_assert_int_eq(gbe_findings_worst(&findings), GBE_FINDING_NOTE);
	ck_assert_uint_eq(after.snapshot_hash, before.snapshot_hash);
	ck_assert_uint_eq(after.hash_kv, before.hash_kv);
	ck_assert(gbe_bbolt_read_txids(to, "written", txid, &valid, &error));
	ck_assert_uint_eq(txid[0], txid[1] + 1);
	(void)close(fd);
	(void)close(to);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-export");
	TCase *tcase = tcase_create("export");

	tcase_add_checked_fixture(tcase, root_setup, root_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, requests);
	tcase_add_test(tcase, requests_of_v2);
	tcase_add_test(tcase, requests_for_alarms);
	tcase_add_test(tcase, parts_of_requests);
	tcase_add_test(tcase, v2_keys);
	tcase_add_test(tcase, snapshot);
	suite_add_tcase(suite, tcase);
	return scratch_main(suite);
}
