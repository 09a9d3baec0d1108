/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/core/store-request.h"
#include "lib/mangle.h"
#include "lib/unit.h"

#include <string.h>

#define SNAPSHOT "2018-01-30T01:02:03Z-000009"

START_TEST(names)
{
	static const struct {
		const char *file, *name;
		GbeStoreRequestState state;
	} files[] = {
	    {"a.json", "a.json", GBE_STORE_REQUEST_WAITING},
	    {"2018-01-30.x+1_.json", "2018-01-30.x+1_.json", GBE_STORE_REQUEST_WAITING},
	    {"a.taken.json", "a.taken.json", GBE_STORE_REQUEST_WAITING},
	    {"a.json.taken", "a.json", GBE_STORE_REQUEST_TAKEN},
	    {"a.json.done", "a.json", GBE_STORE_REQUEST_DONE},
	    {"a.json.failed", "a.json", GBE_STORE_REQUEST_FAILED},
	    {"a.json.bad", "a.json", GBE_STORE_REQUEST_BAD},
	    {"a.json.json", "a.json.json", GBE_STORE_REQUEST_WAITING},
	    {"", NULL, GBE_STORE_REQUEST_NONE},
	    {".json", NULL, GBE_STORE_REQUEST_NONE},
	    {".a.json", NULL, GBE_STORE_REQUEST_NONE},
	    {"a", NULL, GBE_STORE_REQUEST_NONE},
	    {"a.json~", NULL, GBE_STORE_REQUEST_NONE},
	    {"a.json.part", NULL, GBE_STORE_REQUEST_NONE},
	    {"a.json.waiting", NULL, GBE_STORE_REQUEST_NONE},
	    {"a.json.none", NULL, GBE_STORE_REQUEST_NONE},
	    {"a.json.bad.bad", NULL, GBE_STORE_REQUEST_NONE},
	    {"a b.json", NULL, GBE_STORE_REQUEST_NONE},
	    {"a\033[2J.json", NULL, GBE_STORE_REQUEST_NONE},
	    {"a/b.json", NULL, GBE_STORE_REQUEST_NONE},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *name = NULL, *file = NULL;
		GbeStoreRequestState state = gbe_store_request_state(files[i].file, &name);

		ck_assert_msg(state == files[i].state, "%s: %s", files[i].file,
			      gbe_store_request_state_to_string(state));
		ck_assert_int_eq(g_strcmp0(name, files[i].name), 0);
		if (name == NULL)
			continue;
		file = gbe_store_request_file(name, state);
		ck_assert_str_eq(file, files[i].file);
	}
}
END_TEST

static bool
parse(const char *text, GbeStoreRequest *request, GError **error)
{
	return gbe_store_request_parse(text, strlen(text), request, error);
}

START_TEST(requests)
{
	g_auto(GbeStoreRequest) request = {0};

	ck_assert(parse("{\"request\":\"backup\"}", &request, NULL));
	ck_assert(!request.restore);
	ck_assert_ptr_null(request.snapshot);
	ck_assert(parse("{\"snapshot\":\"latest\",\"request\":\"restore\"}", &request, NULL));
	ck_assert(request.restore);
	ck_assert_str_eq(request.snapshot, "latest");
	gbe_store_request_clear(&request);
	ck_assert(parse("{\"request\":\"restore\",\"snapshot\":\"" SNAPSHOT "\"}", &request, NULL));
	ck_assert_str_eq(request.snapshot, SNAPSHOT);
}
END_TEST

START_TEST(wrong)
{
	static const char *const texts[] = {
	    "",
	    "backup",
	    "[]",
	    "{}",
	    "{\"request\":null}",
	    "{\"request\":\"delete\"}",
	    "{\"request\":[\"backup\"]}",
	    "{\"request\":\"backup\",\"snapshot\":\"latest\"}",
	    "{\"request\":\"backup\",\"snapshot\":null}",
	    "{\"request\":\"backup\",\"at\":\"noon\"}",
	    "{\"request\":\"restore\"}",
	    "{\"request\":\"restore\",\"snapshot\":7}",
	    "{\"request\":\"restore\",\"snapshot\":\"\"}",
	    "{\"request\":\"restore\",\"snapshot\":\"../" SNAPSHOT "\"}",
	    "{\"request\":\"restore\",\"snapshot\":\"latest\",\"force\":true}",
	    "{\"request\":\"backup\"}{\"request\":\"backup\"}",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		GbeStoreRequest request = {.restore = true};
		g_autoptr(GError) error = NULL;

		ck_assert_msg(!parse(texts[i], &request, &error), "%s", texts[i]);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		ck_assert_int_eq(request.restore, true);
	}
}
END_TEST

static void
mangled(const char *bytes, gsize size, bool complete)
{
	g_auto(GbeStoreRequest) request = {0};

	if (!gbe_store_request_parse(bytes, size, &request, NULL))
		return;
	ck_assert(complete && request.restore);
	ck_assert_int_eq(strcspn(request.snapshot, "/\\\""), strlen(request.snapshot));
}

START_TEST(any_bytes)
{
	gbe_mangle("{\"request\":\"restore\",\"snapshot\":\"" SNAPSHOT "\"}", mangled);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("store-request");
	TCase *tcase = tcase_create("requests");

	tcase_add_test(tcase, names);
	tcase_add_test(tcase, requests);
	tcase_add_test(tcase, wrong);
	tcase_add_test(tcase, any_bytes);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
