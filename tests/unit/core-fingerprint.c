/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/parse.h"
#include "core/record/fingerprint.h"
#include "lib/unit.h"

static void
fill(GbeFingerprint *fp)
{
	gbe_fingerprint_clear(fp);
	fp->present = true;
	fp->txid[0] = G_MAXUINT64;
	fp->txid[1] = 41;
	fp->wal_name = g_strdup("0000000000000004-000000000001ad2c.wal");
	fp->wal_size = 64000000;
	fp->wal_offset = 81234;
	fp->wal_crc = 0xfedcba98;
	fp->snaps = g_strdup("0000000000000002-000000000000c353.snap");
	fp->others = g_strdup("00ff");
}

START_TEST(equal_until_anything_differs)
{
	GbeFingerprint a = {0}, b = {0};

	fill(&a);
	for (guint i = 0; i < 10; i++) {
		fill(&b);
		ck_assert(gbe_fingerprint_equal(&a, &b));
		b.present = i != 0;
		b.txid[0] -= i == 1;
		b.txid[1] += i == 2;
		b.wal_size += i == 3;
		b.wal_offset += i == 4;
		b.wal_crc += i == 5;
		if (i == 6)
			b.wal_name[0]++;
		if (i == 7)
			b.snaps[0]++;
		if (i == 8)
			b.others[0]++;
		if (i == 9)
			g_clear_pointer(&b.wal_name, g_free);
		ck_assert_msg(!gbe_fingerprint_equal(&a, &b), "difference %u not seen", i);
		ck_assert_msg(!gbe_fingerprint_equal(&b, &a), "difference %u not seen", i);
	}
	gbe_fingerprint_clear(&a);
	gbe_fingerprint_clear(&b);
	/* Two absent fingerprints say nothing. */
	ck_assert(!gbe_fingerprint_equal(&a, &b));
}
END_TEST

START_TEST(json_round_trip)
{
	g_autoptr(JsonObject) object = json_object_new();
	GbeFingerprint a = {0}, b = {0};

	fill(&a);
	gbe_fingerprint_to_json(&a, object);
	ck_assert_str_eq(gbe_json_string(object, "txid0", NULL), "ffffffffffffffff");
	ck_assert_str_eq(gbe_json_string(object, "txid1", NULL), "0000000000000029");
	gbe_fingerprint_from_json(&b, object);
	ck_assert(gbe_fingerprint_equal(&a, &b));
	/* Without a WAL. */
	g_clear_pointer(&a.wal_name, g_free);
	gbe_fingerprint_to_json(&a, object);
	gbe_fingerprint_from_json(&b, object);
	ck_assert(gbe_fingerprint_equal(&a, &b));
	/* Without snapshots. */
	g_clear_pointer(&a.snaps, g_free);
	gbe_fingerprint_to_json(&a, object);
	ck_assert_str_eq(gbe_json_string(object, "snaps", NULL), "");
	gbe_fingerprint_clear(&a);
	gbe_fingerprint_clear(&b);
}
END_TEST

START_TEST(present_only_when_whole)
{
	g_autoptr(JsonObject) object = json_object_new();
	g_autoptr(GList) keys = NULL;
	GbeFingerprint a = {0}, b = {0};

	fill(&a);
	gbe_fingerprint_to_json(&a, object);
	keys = json_object_get_members(object);
	ck_assert_uint_eq(g_list_length(keys), 8);
	for (GList *link = keys; link != NULL; link = link->next) {
		/* The string in the list is freed with its member. */
		g_autofree char *key = g_strdup(link->data);
		JsonNode *kept = json_node_copy(json_object_get_member(object, key));

		json_object_remove_member(object, key);
		fill(&b);
		gbe_fingerprint_from_json(&b, object);
		ck_assert_msg(!b.present, "present without %s", key);
		json_object_set_boolean_member(object, key, true);
		fill(&b);
		gbe_fingerprint_from_json(&b, object);
		ck_assert_msg(!b.present, "present with a wrong %s", key);
		json_object_set_member(object, key, kept);
	}
	json_object_set_string_member(object, "txid0", "FFFFFFFFFFFFFFFF");
	gbe_fingerprint_from_json(&b, object);
	ck_assert(!b.present);
	gbe_fingerprint_clear(&a);
	gbe_fingerprint_clear(&b);
}
END_TEST

START_TEST(copies_are_their_own)
{
	GbeFingerprint a = {0}, b = {0}, c = {0};

	fill(&a);
	fill(&c);
	gbe_fingerprint_copy(&b, &a);
	gbe_fingerprint_copy(&b, &b);
	gbe_fingerprint_clear(&a);
	ck_assert(!a.present);
	ck_assert(gbe_fingerprint_equal(&b, &c));
	gbe_fingerprint_clear(&b);
	gbe_fingerprint_clear(&c);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-fingerprint");
	TCase *prints = tcase_create("fingerprint");

	tcase_add_test(prints, equal_until_anything_differs);
	tcase_add_test(prints, json_round_trip);
	tcase_add_test(prints, present_only_when_whole);
	tcase_add_test(prints, copies_are_their_own);
	suite_add_tcase(suite, prints);
	return gbe_unit_main(suite);
}
