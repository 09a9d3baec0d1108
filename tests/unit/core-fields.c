/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kinds of fields that answers have. Records are in the tests of each record. */
#include "core/json/parse.h"
#include "core/record/fields.h"
#include "lib/unit.h"

typedef struct {
	char *name;
	gint64 age;
} Item;

typedef struct {
	gint64 moment, integer, took;
	GPtrArray *texts, *list;
	Item *maybe;
	char *in_memory;
} Answer;

static const GbeField item_fields[] = {
    GBE_FIELD(Item, name, "name", TEXT),
    GBE_FIELD(Item, age, "age", KNOWN),
    {0},
};
static const GbeFieldItems items = {item_fields, sizeof(Item)};
static const GbeField answer_fields[] = {
    GBE_FIELD(Answer, moment, "moment", MOMENT),
    GBE_FIELD(Answer, integer, "integer", INTEGER),
    GBE_FIELD(Answer, took, "took", SECONDS),
    GBE_FIELD(Answer, texts, "texts", TEXTS),
    GBE_FIELD_OF(Answer, list, "list", LIST, &items, 0),
    GBE_FIELD_BY(Answer, maybe, "maybe", MAYBE, &items, 0),
    GBE_FIELD(Answer, in_memory, NULL, TEXT),
    {0},
};
static const GbeFieldItems answers = {answer_fields, sizeof(Answer)};

static Item *
item_new(const char *name, gint64 age)
{
	Item *item = gbe_fields_new(&items);

	ck_assert_int_eq(item->age, -1);
	item->name = g_strdup(name);
	item->age = age;
	return item;
}

static void
assert_prints(const Answer *answer, const char *expected)
{
	g_autoptr(JsonObject) object = gbe_fields_answer(answer_fields, answer);
	g_autofree char *text = gbe_json_print_line(object);

	ck_assert_str_eq(g_strchomp(text), expected);
}

/* Reads @text into a new answer. */
static Answer *
answer_of(const char *text)
{
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GError) error = NULL;
	Answer *answer = gbe_fields_new(&answers);

	ck_assert(gbe_json_parse_object(text, strlen(text), "answer", &object, &error));
	gbe_fields_read_known(answer_fields, object, answer);
	return answer;
}

START_TEST(nothing_known)
{
	static const char *const expected =
	    "{\"schema\":1,\"moment\":null,\"integer\":null,\"took\":0,\"texts\":[],"
	    "\"list\":[],\"maybe\":null}";
	Answer *answer = gbe_fields_new(&answers);
	Answer *read = answer_of(expected);

	assert_prints(answer, expected);
	assert_prints(read, expected);
	gbe_fields_free(&answers, answer);
	gbe_fields_free(&answers, read);
	gbe_fields_free(&answers, NULL);
}
END_TEST

START_TEST(round_trip)
{
	static const char *const expected =
	    "{\"schema\":1,\"moment\":7,\"integer\":-1,\"took\":1.5,\"texts\":[\"a\",\"b\"],"
	    "\"list\":[{\"name\":\"x\",\"age\":0},{\"name\":null,\"age\":null}],"
	    "\"maybe\":{\"name\":\"y\",\"age\":3}}";
	Answer *answer = gbe_fields_new(&answers);
	Answer *read;

	answer->moment = 7;
	answer->integer = -1;
	answer->took = G_USEC_PER_SEC * 3 / 2;
	answer->texts = g_ptr_array_new();
	g_ptr_array_add(answer->texts, g_strdup("a"));
	g_ptr_array_add(answer->texts, g_strdup("b"));
	answer->list = g_ptr_array_new();
	g_ptr_array_add(answer->list, item_new("x", 0));
	g_ptr_array_add(answer->list, item_new(NULL, -1));
	answer->maybe = item_new("y", 3);
	answer->in_memory = g_strdup("not written");
	assert_prints(answer, expected);
	read = answer_of(expected);
	assert_prints(read, expected);
	ck_assert_ptr_null(read->in_memory);
	gbe_fields_free(&answers, answer);
	gbe_fields_free(&answers, read);
}
END_TEST

/* A member of another type reads as not known, and an element of another type is left out. */
START_TEST(other_types)
{
	static const char *const none =
	    "{\"schema\":1,\"moment\":null,\"integer\":null,\"took\":0,\"texts\":[],"
	    "\"list\":[],\"maybe\":null}";
	static const char *const cases[] = {
	    "{}",
	    "{\"moment\":\"7\",\"integer\":[],\"took\":\"x\",\"texts\":\"a\",\"list\":{}}",
	    "{\"moment\":0,\"took\":{},\"texts\":[1,null,{}],\"list\":[1,\"x\",[]],\"maybe\":[]}",
	    "{\"moment\":-3,\"took\":-1,\"maybe\":\"x\"}",
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		Answer *answer = answer_of(cases[i]);

		assert_prints(answer, none);
		gbe_fields_free(&answers, answer);
	}
}
END_TEST

typedef struct {
	guint64 id;
	Answer more;
	GArray *array;
} Written;

static const GbeField written_fields[] = {
    GBE_FIELD(Written, id, "id", ID),
    GBE_FIELD_BY(Written, more, "", MORE, answer_fields, 0),
    GBE_FIELD_OF(Written, array, "array", ARRAY, &items, 0),
    GBE_FIELD(Written, array, "present", PRESENT),
    {0},
};

/* The kinds of answers that are only written. */
START_TEST(only_written)
{
	static const char *const more = "\"moment\":7,\"integer\":0,\"took\":0,\"texts\":[],"
					"\"list\":[],\"maybe\":null";
	g_autoptr(GArray) array = g_array_new(false, false, sizeof(Item));
	const Item elements[] = {{(char *)"a", 1}, {NULL, -1}};
	Written written = {.more = {.moment = 7}};

	for (guint i = 0; i < 2; i++) {
		g_autoptr(JsonObject) object = gbe_fields_answer(written_fields, &written);
		g_autofree char *text = gbe_json_print_line(object);
		g_autofree char *expected = g_strdup_printf(
		    "{\"schema\":1,\"id\":%s,%s,\"array\":[%s],\"present\":%s}",
		    i == 0 ? "null" : "\"00000000000000ff\"", more,
		    i == 0 ? "" : "{\"name\":\"a\",\"age\":1},{\"name\":null,\"age\":null}",
		    i == 0 ? "false" : "true");

		ck_assert_str_eq(g_strchomp(text), expected);
		written.id = 255;
		written.array = g_array_append_vals(array, elements, 2);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-fields");
	TCase *tcase = tcase_create("answers");

	tcase_add_test(tcase, nothing_known);
	tcase_add_test(tcase, round_trip);
	tcase_add_test(tcase, other_types);
	tcase_add_test(tcase, only_written);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
