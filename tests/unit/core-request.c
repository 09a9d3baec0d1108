/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/parse.h"
#include "core/record/request.h"
#include "lib/unit.h"

#define RUN "0123456789abcdef0123456789abcdef"

START_TEST(targets)
{
	GbeRequest request = {0};
	g_autoptr(GError) error = NULL;

	ck_assert(gbe_request_parse_target("adopted-7", &request, NULL));
	ck_assert_int_eq(request.kind, GBE_REQUEST_RESTORE);
	ck_assert_str_eq(request.name, "adopted-7");
	ck_assert(gbe_request_parse_target("before-update", &request, NULL));
	ck_assert_str_eq(request.name, "before-update");
	ck_assert(!gbe_request_parse_target("../x", &request, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_USAGE));
	ck_assert_ptr_nonnull(strstr(error->message, "\"../x\""));
	/* As it was. */
	ck_assert_str_eq(request.name, "before-update");
	ck_assert(gbe_request_parse_target("last-good", &request, NULL));
	ck_assert_int_eq(request.kind, GBE_REQUEST_LAST_GOOD);
	ck_assert_ptr_null(request.name);
	ck_assert(gbe_request_parse_target("undo", &request, NULL));
	ck_assert_int_eq(request.kind, GBE_REQUEST_UNDO);
	ck_assert(!gbe_request_parse_target("", &request, NULL));
	gbe_request_clear(&request);
}
END_TEST

START_TEST(request_round_trip)
{
	for (guint kind = GBE_REQUEST_NONE; kind <= GBE_REQUEST_UNDO; kind++) {
		GbeRequest request = {0}, again = {.name = g_strdup("old")};
		g_autoptr(JsonObject) object = NULL;

		request.kind = (GbeRequestKind)kind;
		request.name = kind == GBE_REQUEST_RESTORE ? g_strdup("adopted-7") : NULL;
		request.run = g_strdup(RUN "+1");
		request.force = kind % 2 == 0;
		request.from_cmdline = kind % 2 == 1;
		object = gbe_request_to_json(&request);
		ck_assert(gbe_request_from_json(object, &again, NULL));
		ck_assert_uint_eq(again.kind, kind);
		ck_assert_int_eq(g_strcmp0(again.name, request.name), 0);
		ck_assert_str_eq(again.run, RUN "+1");
		ck_assert_int_eq(again.force, request.force);
		ck_assert_int_eq(again.from_cmdline, request.from_cmdline);
		ck_assert_str_eq(again.text, GBE_NEXT_BOOT);
		gbe_request_clear(&request);
		gbe_request_clear(&again);
		ck_assert_ptr_null(again.run);
	}
}
END_TEST

START_TEST(damaged_request)
{
	static const char *const cases[] = {
	    "{}",
	    "{\"request\":1}",
	    "{\"request\":\"restore\"}",
	    "{\"request\":\"restore\",\"name\":\"../x\"}",
	    "{\"request\":\"restore\",\"name\":\"undo\"}",
	    "{\"request\":\"undo\",\"run\":\"x\"}",
	    "{\"request\":\"undo\",\"force\":\"yes\"}",
	};
	GbeRequest request = {.kind = GBE_REQUEST_UNDO};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(JsonObject) object = NULL;
		g_autoptr(GError) error = NULL;

		ck_assert(gbe_json_parse_object(cases[i], strlen(cases[i]), "x", &object, NULL));
		ck_assert_msg(!gbe_request_from_json(object, &request, &error), "taken: %s",
			      cases[i]);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		ck_assert_int_eq(request.kind, GBE_REQUEST_UNDO);
	}
}
END_TEST

/* A request that only a newer program understands has no effect here. */
START_TEST(newer_request)
{
	static const char text[] = "{\"request\":\"merge\",\"name\":\"x\",\"with\":1}";
	g_autoptr(JsonObject) object = NULL;
	GbeRequest request = {.kind = GBE_REQUEST_UNDO};

	ck_assert(gbe_json_parse_object(text, strlen(text), "x", &object, NULL));
	ck_assert(gbe_request_from_json(object, &request, NULL));
	ck_assert_int_eq(request.kind, GBE_REQUEST_NONE);
	gbe_request_clear(&request);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-request");
	TCase *requests = tcase_create("requests");

	tcase_set_timeout(requests, 30);
	tcase_add_test(requests, targets);
	tcase_add_test(requests, request_round_trip);
	tcase_add_test(requests, damaged_request);
	tcase_add_test(requests, newer_request);
	suite_add_tcase(suite, requests);
	return gbe_unit_main(suite);
}
