/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/json/parse.h"
#include "lib/mangle.h"
#include "lib/unit.h"

static bool
parses(const char *bytes, gsize size, GError **error)
{
	JsonObject *const untouched = (JsonObject *)&untouched;
	JsonObject *object = untouched;
	bool ok = gbe_json_parse_object(bytes, size, "thing", &object, error);

	if (ok)
		json_object_unref(object);
	else
		ck_assert_ptr_eq(object, untouched);
	return ok;
}

START_TEST(takes_json)
{
	static const char *const cases[] = {
	    "{}",
	    " \t\r\n{ } \n",
	    "{\"a\":0,\"b\":-0,\"c\":-12,\"d\":1.5,\"e\":1e3,\"f\":-1.25E-2,\"g\":0.0}",
	    "{\"a\":[],\"b\":[1,[2,[3]]],\"c\":[null,true,false,\"\",{}]}",
	    "{\"\":1,\"a\":{\"a\":{\"a\":1}}}",
	    "{\"a\":9007199254740991,\"b\":-9007199254740991,\"c\":[9007199254740991]}",
	    "{\"a\":\"18446744073709551616 1e999 0x1 'x' /* # $ff\"}",
	    "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00\",\"ü😀\":1}",
	};
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		bool ok = parses(cases[i], strlen(cases[i]), &error);

		ck_assert_msg(ok, "%s: %s", cases[i], ok ? "" : error->message);
	}
}
END_TEST

START_TEST(refuses_invalid_values)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"", "empty"},
	    {"  ", "not a JSON object"},
	    {"[]", "not a JSON object"},
	    {"null", "not a JSON object"},
	    {"{", ""},
	    {"{}x", "follows"},
	    {"{\"a\"}", ""},
	    {"{\"a\":}", ""},
	    {"{\"a\":1,}", ""},
	    {"{\"a\":1 \"b\":2}", ""},
	    {"{\"a\":[1 2]}", ""},
	    {"{\"a\":[1}", ""},
	    {"{a:1}", ""},
	    {"{\"a\":nul}", ""},
	    {"{\"a\":NaN}", ""},
	    {"{\"a\":\"x}", ""},
	    {"{'a':1}", "not JSON"},
	    {"{\"a\":1/*x*/}", "not JSON"},
	    {"{\"a\":1//x\n}", "not JSON"},
	    {"{\"a\":1#x\n}", "not JSON"},
	    {"{\"a\":1}{}", "follows"},
	    {"{\"a\":$ff}", "not JSON"},
	    {"{\"a\":1e999}", "too large"},
	    {"{\"a\":-1e999}", "too large"},
	    {"{\"a\":.5e999}", "too large"},
	    {"{\"a\":9007199254740992}", "too large"},
	    {"{\"a\":-9007199254740992}", "too large"},
	    {"{\"a\":0xffffffffffffffff}", "too large"},
	    {"{\"a\":18446744073709551616}", "too large"},
	    {"{\"a\":[0,[99999999999999999999999999999999999999999999999999999999999999999]]}",
	     "too large"},
	    {"{\"a\":\"\\u12\"}", "escape"},
	    {"{\"a\":\"\\u12", "escape"},
	    {"{\"a\":\"\\", "escape"},
	    {"{\"a\":\"\\u0000\"}", "escape"},
	    {"{\"a\":\"\\000b\"}", "escape"},
	    {"{\"a\":\"\\377\"}", "escape"},
	    {"{\"a\":\"\\x\"}", "escape"},
	    {"{\"a\\u0000b\":1}", "escape"},
	    {"{\"a\":\"\\ud800\"}", "escape"},
	    {"{\"a\":\"\\ud800\\u0041\"}", "escape"},
	    {"{\"a\":\"\\ude00\"}", "escape"},
	    {"{\"a\":\"\\ud800\\ud900\"}", "escape"},
	    {"{\"a\":\"\xff\"}", "not UTF-8"},
	    {"{\"a\":\"\xc3\"}", "not UTF-8"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert_msg(!parses(cases[i].text, strlen(cases[i].text), &error), "taken: %s",
			      cases[i].text);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s: %s",
			      cases[i].text, error->message);
		ck_assert(g_str_has_prefix(error->message, "thing: "));
	}
}
END_TEST

START_TEST(refuses_nul_bytes)
{
	static const char inside[] = "{\"a\":\"x\0y\"}", after[] = "{}\0";
	g_autoptr(GError) error = NULL;

	ck_assert(!parses(inside, sizeof(inside) - 1, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "NUL"));
	ck_assert(!parses(after, sizeof(after) - 1, NULL));
}
END_TEST

static char *
nested(const char *key, guint depth)
{
	GString *text = g_string_new(key);

	for (guint i = 1; i < depth; i++)
		g_string_append_c(text, '[');
	for (guint i = 1; i < depth; i++)
		g_string_append_c(text, ']');
	g_string_append_c(text, '}');
	return g_string_free(text, false);
}

START_TEST(bounds_depth_and_size)
{
	static const char *const hides[] = {
	    "{\"a\\\"\":",
	    "{\"\\\\\":",
	    "{\"\\u0041\":",
	    "{\"\\u0041\\\"\":",
	    "{\"a\":\"]]]]\", \"b\":",
	    "{\"a\":[[],[]],\"b\":",
	};
	g_autofree char *allowed = nested("{\"[[{{\":", GBE_JSON_MAX_DEPTH);
	g_autofree char *deep = nested("{\"a\":", GBE_JSON_MAX_DEPTH + 1);
	g_autofree char *open = g_strnfill(GBE_JSON_MAX_SIZE, '[');
	g_autofree char *blanks = g_strnfill(GBE_JSON_MAX_SIZE - 1, ' ');
	g_autofree char *full = g_strconcat("{}", blanks, NULL);
	g_autoptr(GError) error = NULL;

	/* The allowed values, minus the empty arrays' missing value. */
	ck_assert(parses("{\"a\":[[]]}", 10, NULL));
	ck_assert(parses(allowed, strlen(allowed), NULL));
	ck_assert(!parses(deep, strlen(deep), &error));
	ck_assert_ptr_nonnull(strstr(error->message, "nested too deeply"));
	for (guint i = 0; i < G_N_ELEMENTS(hides); i++) {
		g_autofree char *fits = nested(hides[i], GBE_JSON_MAX_DEPTH);
		g_autofree char *hidden = nested(hides[i], GBE_JSON_MAX_DEPTH + 1);

		ck_assert_msg(parses(fits, strlen(fits), NULL), "%s", fits);
		g_clear_error(&error);
		ck_assert_msg(!parses(hidden, strlen(hidden), &error), "%s", hidden);
		ck_assert_ptr_nonnull(strstr(error->message, "nested too deeply"));
	}
	memcpy(open, "{\"a\":", 5);
	ck_assert(!parses(open, GBE_JSON_MAX_SIZE, NULL));
	ck_assert(parses(full, GBE_JSON_MAX_SIZE, NULL));
	g_clear_error(&error);
	ck_assert(!parses(full, GBE_JSON_MAX_SIZE + 1, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "1048576"));
}
END_TEST

START_TEST(typed_reads_fall_back)
{
	static const char text[] = "{\"s\":\"x\",\"i\":7,\"b\":true,\"o\":{},\"a\":[],\"n\":null,"
				   "\"d\":7.0}";
	g_autoptr(JsonObject) object = NULL;
	static const char *const keys[] = {"s", "i", "b", "o", "a", "n", "d", "absent"};

	ck_assert(gbe_json_parse_object(text, strlen(text), "x", &object, NULL));
	for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
		const char *key = keys[i];

		ck_assert_str_eq(gbe_json_string(object, key, "-"), *key == 's' ? "x" : "-");
		ck_assert_int_eq(gbe_json_int(object, key, -1), *key == 'i' ? 7 : -1);
		ck_assert_int_eq(gbe_json_bool(object, key, false), *key == 'b');
		ck_assert_int_eq(gbe_json_object(object, key) != NULL, *key == 'o');
		ck_assert_int_eq(gbe_json_array(object, key) != NULL, g_str_equal(key, "a"));
	}
}
END_TEST

/* With any string, the printed record can be read, and says the same where JSON allows it. */
START_TEST(prints_what_it_reads)
{
	g_autoptr(JsonObject) object = json_object_new(), again = NULL;
	g_autofree char *text = NULL;
	GString *all = g_string_new(NULL);

	for (guint c = 1; c < 0x300; c++)
		g_string_append_unichar(all, c);
	g_string_append(all, "\U0001f600\"\\/");
	gbe_json_set_string(object, "all", all->str);
	gbe_json_set_string(object, "bytes", "a\xff\xfe z");
	gbe_json_set_string(object, "nothing", NULL);
	json_object_set_int_member(object, "large", 9007199254740991);
	json_object_set_double_member(object, "double", 0.1);
	text = gbe_json_print_object(object);
	ck_assert(g_str_has_suffix(text, "}\n"));
	ck_assert(gbe_json_parse_object(text, strlen(text), "x", &again, NULL));
	ck_assert_str_eq(gbe_json_string(again, "all", NULL), all->str);
	ck_assert_str_eq(gbe_json_string(again, "bytes", NULL), "a\ufffd\ufffd z");
	ck_assert(json_object_get_null_member(again, "nothing"));
	ck_assert_int_eq(gbe_json_int(again, "large", 0), 9007199254740991);
	ck_assert(json_object_get_double_member(again, "double") == 0.1);
	g_string_free(all, true);
}
END_TEST

START_TEST(seal_opens)
{
	g_autofree char *sealed = gbe_record_seal("{\n  \"a\": 1\n}\n");
	g_autofree char *bare = gbe_record_seal("{\"a\": 1}");
	g_autoptr(JsonObject) object = NULL, other = NULL;

	ck_assert(gbe_record_open(sealed, strlen(sealed), "x", &object, NULL));
	ck_assert_int_eq(gbe_json_int(object, "a", 0), 1);
	ck_assert(gbe_record_open(bare, strlen(bare), "x", &other, NULL));
	/* The sum that sha256sum gives for the lines before it. */
	ck_assert_str_eq(
	    strstr(sealed, "sha256 "),
	    "sha256 5e36b6560513586ced65eca0e8b025fe88edbcab82ba2cb67a5fcb2d7b202383\n");
}
END_TEST

START_TEST(seal_is_needed)
{
	g_autofree char *sealed = gbe_record_seal("{\"a\":1}");
	g_autofree char *twice = g_strconcat(sealed, sealed, NULL);
	g_autofree char *large = g_strnfill(GBE_JSON_MAX_SIZE + 100, ' ');
	g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, "{\"a\":1}", -1);
	g_autofree char *one_line = g_strconcat("{\"a\":1}sha256 ", digest, "\n", NULL);
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GError) error = NULL;

	ck_assert(!gbe_record_open("{\"a\":1}\n", 8, "request", &object, &error));
	ck_assert_str_eq(error->message, "request: the checksum at its end is missing");
	ck_assert(!gbe_record_open("", 0, "x", &object, NULL));
	ck_assert(!gbe_record_open(twice, strlen(twice), "x", &object, NULL));
	ck_assert(!gbe_record_open(large, GBE_JSON_MAX_SIZE + 100, "x", &object, NULL));
	/* Sealed in another way than ours: the seal is on a line of its own. */
	ck_assert(!gbe_record_open(one_line, strlen(one_line), "x", &object, NULL));
	sealed[2]++;
	g_clear_error(&error);
	ck_assert(!gbe_record_open(sealed, strlen(sealed), "request", &object, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
	ck_assert_str_eq(error->message, "request: its checksum does not match");
	ck_assert_ptr_null(object);
}
END_TEST

static const char *whole;

/* The seal finds each change, also one that is valid JSON. */
static void
mangled_seal(const char *bytes, gsize size, bool complete)
{
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GError) error = NULL;

	if (size == strlen(whole) && memcmp(bytes, whole, size) == 0)
		return;
	ck_assert(!gbe_record_open(bytes, size, "x", &object, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
}

/* Every accepted record prints as one that is accepted and prints the same. */
static void
mangled_json(const char *bytes, gsize size, bool complete)
{
	g_autoptr(JsonObject) object = NULL, again = NULL;
	g_autofree char *first = NULL, *second = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_json_parse_object(bytes, size, "x", &object, &error)) {
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		return;
	}
	ck_assert_msg(complete, "half a text was taken");
	first = gbe_json_print_object(object);
	ck_assert(gbe_json_parse_object(first, strlen(first), "x", &again, NULL));
	second = gbe_json_print_object(again);
	ck_assert_str_eq(first, second);
}

START_TEST(any_bytes)
{
	g_autofree char *sealed = gbe_record_seal("{\"a\": [1, {\"b\": \"\\u00e4x\\n\"}]}");

	whole = sealed;
	gbe_mangle(sealed, mangled_seal);
	gbe_mangle("{\"a\":[1,-2.5e3,{\"b\":\"\\u00e4\\ud83d\\ude00ü\\n\"}],\"c\":null,"
		   "\"d\":true,\"aa\":{}}",
		   mangled_json);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-record");
	TCase *json = tcase_create("json"), *seal = tcase_create("seal");

	tcase_set_timeout(json, 60);
	tcase_set_timeout(seal, 60);
	tcase_add_test(json, takes_json);
	tcase_add_test(json, refuses_invalid_values);
	tcase_add_test(json, refuses_nul_bytes);
	tcase_add_test(json, bounds_depth_and_size);
	tcase_add_test(json, typed_reads_fall_back);
	tcase_add_test(json, prints_what_it_reads);
	tcase_add_test(seal, seal_opens);
	tcase_add_test(seal, seal_is_needed);
	tcase_add_test(seal, any_bytes);
	suite_add_tcase(suite, json);
	suite_add_tcase(suite, seal);
	return gbe_unit_main(suite);
}
