/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The intent of the verbs of a cluster, in both directions between version 0.2.1 and this one. */
#include "lib/unit.h"

#include <string.h>

#include "cluster/core/intent.h"
#include "core/json/parse.h"

/* As version 0.2.1 writes them: a rejoin that is cut between its steps, a leave, a recover. */
#define REJOIN                                                                                     \
	"{\"empties\":true,\"cluster\":\"00000000000000aa\",\"former\":\"00000000000000bb\","      \
	"\"operation\":\"cluster rejoin\",\"removed\":true,\"id\":\"00000000000000cc\","           \
	"\"format\":1,\"written_by\":\"0.2.1\"}"
#define LEAVE                                                                                      \
	"{\"empties\":true,\"id\":\"00000000000000bb\",\"cluster\":\"00000000000000aa\","          \
	"\"name\":\"m1\",\"urls\":\"https://192.0.2.1:2379 https://192.0.2.2:2379\","              \
	"\"operation\":\"cluster leave\",\"left\":true,\"format\":1,\"written_by\":\"0.2.1\"}"
#define RECOVER                                                                                    \
	"{\"operation\":\"cluster recover\",\"backup\":\"recover-1\",\"seed\":\"cluster-2\","      \
	"\"later\":7,\"format\":1,\"written_by\":\"0.2.1\"}"

static void
read_text(const char *text, GbeClusterIntent *ret_intent)
{
	g_autoptr(JsonObject) object = NULL;

	ck_assert(gbe_json_parse_object(text, strlen(text), "it", &object, NULL));
	gbe_cluster_intent_from_json(object, ret_intent);
}

START_TEST(of_0_2_1)
{
	g_auto(GbeClusterIntent) rejoin = {0}, leave = {0}, recover = {0};

	read_text(REJOIN, &rejoin);
	ck_assert_str_eq(rejoin.operation, "cluster rejoin");
	ck_assert_str_eq(rejoin.cluster, "00000000000000aa");
	ck_assert_str_eq(rejoin.former, "00000000000000bb");
	ck_assert_str_eq(rejoin.id, "00000000000000cc");
	ck_assert(rejoin.empties && rejoin.removed);
	ck_assert(!rejoin.aside && !rejoin.voter && !rejoin.back && !rejoin.left && !rejoin.bare);
	read_text(LEAVE, &leave);
	ck_assert_str_eq(leave.name, "m1");
	ck_assert_str_eq(leave.urls, "https://192.0.2.1:2379 https://192.0.2.2:2379");
	ck_assert(leave.left);
	read_text(RECOVER, &recover);
	ck_assert_str_eq(recover.backup, "recover-1");
	ck_assert_str_eq(recover.seed, "cluster-2");
	ck_assert_ptr_null(recover.id);
}
END_TEST

/* The calls by which 0.2.1, and prerun, read the record: gbe_json_string(), _bool(), json_object_has_member(). */
START_TEST(for_0_2_1)
{
	g_auto(GbeClusterIntent) intent = {0};
	g_autoptr(JsonObject) first = NULL, second = NULL;

	intent.operation = g_strdup("cluster rejoin");
	intent.former = g_strdup("00000000000000bb");
	intent.empties = true;
	first = gbe_cluster_intent_to_json(&intent);
	ck_assert_str_eq(gbe_json_string(first, "operation", ""), "cluster rejoin");
	ck_assert_str_eq(gbe_json_string(first, "former", ""), "00000000000000bb");
	ck_assert(gbe_json_bool(first, "empties", false));
	ck_assert(!gbe_json_bool(first, "removed", false));
	ck_assert_str_eq(gbe_json_string(first, "id", "0"), "0");
	ck_assert(!json_object_has_member(first, "backup"));
	intent.empties = false;
	intent.removed = intent.aside = true;
	intent.id = g_strdup("00000000000000cc");
	intent.peer_url = g_strdup("https://192.0.2.1:2380");
	second = gbe_cluster_intent_to_json(&intent);
	ck_assert(!gbe_json_bool(second, "empties", false));
	ck_assert(gbe_json_bool(second, "removed", false));
	ck_assert(gbe_json_bool(second, "aside", false));
	ck_assert_str_eq(gbe_json_string(second, "id", "0"), "00000000000000cc");
	ck_assert_str_eq(gbe_json_string(second, "peer_url", ""), "https://192.0.2.1:2380");
}
END_TEST

/* A step that is taken back goes, and what another version has written stays. */
START_TEST(rewritten)
{
	g_auto(GbeClusterIntent) intent = {0};
	g_autoptr(JsonObject) object = NULL;

	read_text(RECOVER, &intent);
	ck_assert(!intent.empties);
	intent.voter = true;
	object = gbe_cluster_intent_to_json(&intent);
	ck_assert_int_eq(gbe_json_int(object, "later", 0), 7);
	ck_assert(gbe_json_bool(object, "voter", false));
	ck_assert_str_eq(gbe_json_string(object, "backup", ""), "recover-1");
	/* The record that was read is another object. */
	ck_assert(!gbe_json_bool(intent.found, "voter", false));
}
END_TEST

START_TEST(none)
{
	g_auto(GbeClusterIntent) intent = {0};
	g_autoptr(JsonObject) object = NULL;

	gbe_cluster_intent_from_json(NULL, &intent);
	object = gbe_cluster_intent_to_json(&intent);
	ck_assert_uint_eq(json_object_get_size(object), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cluster-intent");
	TCase *intents = tcase_create("intents");

	tcase_add_test(intents, of_0_2_1);
	tcase_add_test(intents, for_0_2_1);
	tcase_add_test(intents, rewritten);
	tcase_add_test(intents, none);
	suite_add_tcase(suite, intents);
	return gbe_unit_main(suite);
}
