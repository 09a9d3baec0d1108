/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/mangle.h"
#include "lib/unit.h"
#include "store/core/meta.h"

#include <string.h>

/* In protobuf's JSON 64-bit numbers are strings, 32-bit ones are not. */
#define WRITTEN                                                                                    \
	"{\n  \"etcdVersion\": \"3.5.16\",\n  \"timestamp\": \"1517274123\",\n"                    \
	"  \"clusterSpec\": {\n    \"memberCount\": 3,\n    \"etcdVersion\": \"3.5.16\"\n  }\n}"

START_TEST(as_written)
{
	g_auto(GbeSnapshotMeta) meta = {0};

	ck_assert(gbe_snapshot_meta_parse(WRITTEN, strlen(WRITTEN), &meta, NULL));
	ck_assert_str_eq(meta.etcd_version, "3.5.16");
	ck_assert_int_eq(meta.timestamp, 1517274123);
	ck_assert_int_eq(meta.members, 3);
}
END_TEST

START_TEST(other_ways)
{
	static const struct {
		const char *text;
		gint64 timestamp, members;
	} metas[] = {
	    {"{\"etcdVersion\":\"3.4.0-rc.1+x\"}", 0, 0},
	    {"{\"etcd_version\":\"2.2.1\",\"timestamp\":7,"
	     "\"cluster_spec\":{\"member_count\":5,\"x\":[]}}",
	     7, 5},
	    {"{\"etcdVersion\":\"3.4.0\",\"timestamp\":null,\"clusterSpec\":null}", 0, 0},
	    {"{\"etcdVersion\":\"3.4.0\",\"a key of tomorrow\":{},\"clusterSpec\":{}}", 0, 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(metas); i++) {
		g_auto(GbeSnapshotMeta) meta = {0};

		ck_assert(
		    gbe_snapshot_meta_parse(metas[i].text, strlen(metas[i].text), &meta, NULL));
		ck_assert_int_eq(meta.timestamp, metas[i].timestamp);
		ck_assert_int_eq(meta.members, metas[i].members);
	}
}
END_TEST

START_TEST(wrong)
{
	static const struct {
		const char *text, *says;
	} metas[] = {
	    {"", ""},
	    {"[]", ""},
	    {"{}", "etcdVersion is missing"},
	    {"{\"timestamp\":\"1\"}", "etcdVersion is missing"},
	    {"{\"etcdVersion\":null}", "etcdVersion is missing"},
	    {"{\"etcdVersion\":\"\"}", "etcdVersion is not a version"},
	    {"{\"etcdVersion\":3.4}", "etcdVersion is not a version"},
	    {"{\"etcdVersion\":[\"3.4\"]}", "etcdVersion is not a version"},
	    {"{\"etcdVersion\":\"3.4\\u001b[2J\"}", "etcdVersion is not a version"},
	    {"{\"etcdVersion\":\"3.4\",\"timestamp\":-1}", "timestamp is not a number"},
	    {"{\"etcdVersion\":\"3.4\",\"timestamp\":\"9223372036854775808\"}",
	     "timestamp is not a number"},
	    {"{\"etcdVersion\":\"3.4\",\"timestamp\":\"now\"}", "timestamp is not a number"},
	    {"{\"etcdVersion\":\"3.4\",\"timestamp\":true}", "timestamp is not a number"},
	    {"{\"etcdVersion\":\"3.4\",\"timestamp\":1.5}", "timestamp is not a number"},
	    {"{\"etcdVersion\":\"3.4\",\"clusterSpec\":3}", "clusterSpec is not an object"},
	    {"{\"etcdVersion\":\"3.4\",\"clusterSpec\":{\"memberCount\":{}}}",
	     "memberCount is not a number"},
	    {WRITTEN WRITTEN, ""},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(metas); i++) {
		GbeSnapshotMeta meta = {.timestamp = -7};
		g_autoptr(GError) error = NULL;

		ck_assert_msg(
		    !gbe_snapshot_meta_parse(metas[i].text, strlen(metas[i].text), &meta, &error),
		    "%s", metas[i].text);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		ck_assert_msg(strstr(error->message, metas[i].says) != NULL, "%s", error->message);
		ck_assert_int_eq(meta.timestamp, -7);
		ck_assert_ptr_null(meta.etcd_version);
	}
}
END_TEST

START_TEST(printed)
{
	g_auto(GbeSnapshotMeta) meta = {g_strdup("3.4.23"), 1517274123, 1}, again = {0};
	g_autofree char *text = gbe_snapshot_meta_print(&meta);

	ck_assert_str_eq(text, "{\n  \"etcdVersion\" : \"3.4.23\",\n"
			       "  \"timestamp\" : \"1517274123\",\n"
			       "  \"clusterSpec\" : {\n    \"memberCount\" : 1,\n"
			       "    \"etcdVersion\" : \"3.4.23\"\n  }\n}\n");
	ck_assert(gbe_snapshot_meta_parse(text, strlen(text), &again, NULL));
	ck_assert_str_eq(again.etcd_version, "3.4.23");
	ck_assert_int_eq(again.timestamp, 1517274123);
	ck_assert_int_eq(again.members, 1);
}
END_TEST

static void
mangled(const char *bytes, gsize size, bool complete)
{
	g_auto(GbeSnapshotMeta) meta = {0}, again = {0};
	g_autofree char *text = NULL;

	if (!gbe_snapshot_meta_parse(bytes, size, &meta, NULL))
		return;
	/* Text without its end is refused. */
	ck_assert(complete);
	text = gbe_snapshot_meta_print(&meta);
	ck_assert(gbe_snapshot_meta_parse(text, strlen(text), &again, NULL));
	ck_assert_str_eq(again.etcd_version, meta.etcd_version);
	ck_assert_int_eq(again.timestamp, meta.timestamp);
	ck_assert_int_eq(again.members, meta.members);
}

START_TEST(any_bytes)
{
	gbe_mangle(WRITTEN, mangled);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("store-meta");
	TCase *metas = tcase_create("metas");

	tcase_set_timeout(metas, 30);
	tcase_add_test(metas, as_written);
	tcase_add_test(metas, other_ways);
	tcase_add_test(metas, wrong);
	tcase_add_test(metas, printed);
	tcase_add_test(metas, any_bytes);
	suite_add_tcase(suite, metas);
	return gbe_unit_main(suite);
}
