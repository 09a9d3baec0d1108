/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints the tables of all answers as JSON, one member for each file of data/schema. merge.py makes the schemas from
 * it. */
#include "core/decide/hold.h"
#include "core/json/parse.h"
#include "core/record/fields.h"

#include <stdio.h>

#define TABLE(file, table) extern const GbeField table[];
#define ARRAY(file, table) extern const GbeField table[];
#define OTHER(file, table) extern const GbeField table[];
#define MIXED(file, table) extern const GbeField table[];
#define PARTS(file, parts)
#define BY_HAND(file, why)
#include "answers.h"
#undef TABLE
#undef ARRAY
#undef OTHER
#undef MIXED
#undef PARTS
#undef BY_HAND

static const struct {
	const char *file, *form, *text;
	const GbeField *fields;
} answers[] = {
#define TABLE(file, table) {file, "table", NULL, table},
#define ARRAY(file, table) {file, "array", NULL, table},
#define OTHER(file, table) {file, "other", NULL, table},
#define MIXED(file, table) {file, "mixed", NULL, table},
#define PARTS(file, parts) {file, "parts", parts, NULL},
#define BY_HAND(file, why) {file, "by hand", why, NULL},
#include "answers.h"
};

static const char *const kinds[] = {
    [GBE_FIELD_TEXT] = "string",     [GBE_FIELD_NAMES] = "names",
    [GBE_FIELD_NUMBER] = "integer",  [GBE_FIELD_SEQUENCE] = "integer",
    [GBE_FIELD_COUNT] = "integer",   [GBE_FIELD_TIME] = "integer",
    [GBE_FIELD_KNOWN] = "known",     [GBE_FIELD_FLAG] = "boolean",
    [GBE_FIELD_TRI] = "tri",	     [GBE_FIELD_WORD] = "word",
    [GBE_FIELD_PART] = "object",     [GBE_FIELD_MOMENT] = "known",
    [GBE_FIELD_INTEGER] = "known",   [GBE_FIELD_SECONDS] = "number",
    [GBE_FIELD_TEXTS] = "strings",   [GBE_FIELD_LIST] = "list",
    [GBE_FIELD_MAYBE] = "maybe",     [GBE_FIELD_OWN] = "own",
    [GBE_FIELD_ID] = "string",	     [GBE_FIELD_ARRAY] = "list",
    [GBE_FIELD_PRESENT] = "boolean", [GBE_FIELD_SAID] = "said",
};

static JsonArray *
words_of(const GbeWords *words)
{
	JsonArray *array = json_array_new();

	for (guint i = 0; i < words->count; i++)
		if (words->words[i] != NULL)
			json_array_add_string_element(array, words->words[i]);
		else
			json_array_add_null_element(array);
	return array;
}

static void
add_fields(JsonArray *array, const GbeField *fields)
{
	for (const GbeField *f = fields; f->kind != 0; f++) {
		JsonObject *object;
		JsonArray *inner = json_array_new();

		if (f->kind == GBE_FIELD_MORE)
			add_fields(array, f->of);
		if (f->key == NULL || f->kind == GBE_FIELD_MORE)
			continue;
		if (f->kind == GBE_FIELD_PART)
			add_fields(inner, f->of);
		else if (f->kind == GBE_FIELD_LIST || f->kind == GBE_FIELD_ARRAY ||
			 f->kind == GBE_FIELD_MAYBE)
			add_fields(inner, ((const GbeFieldItems *)f->of)->fields);
		object = json_object_new();
		json_object_set_string_member(object, "key", f->key);
		json_object_set_string_member(object, "kind", kinds[f->kind]);
		json_object_set_boolean_member(object, "always", f->flags & GBE_FIELD_ALWAYS);
		json_object_set_boolean_member(object, "later", f->flags & GBE_FIELD_LATER);
		json_object_set_boolean_member(object, "or_null", f->flags & GBE_FIELD_OR_NULL);
		json_object_set_array_member(object, "fields", inner);
		if (f->kind == GBE_FIELD_WORD)
			json_object_set_array_member(object, "words", words_of(f->of));
		json_array_add_object_element(array, object);
	}
}

static JsonObject *
hold_json(GbeHold hold)
{
	JsonObject *object = json_object_new();
	JsonArray *ways = json_array_new();

	json_object_set_string_member(object, "kind", gbe_hold_words.words[hold]);
	json_object_set_string_member(object, "what", gbe_holds[hold].what);
	json_object_set_string_member(object, "safe", gbe_holds[hold].safe);
	for (guint way = 0; way < GBE_HOLD_WAYS_MAX; way++) {
		const char *const *steps = gbe_holds[hold].ways[way];
		JsonArray *array;

		if (steps[0] == NULL)
			break;
		array = json_array_new();
		for (guint i = 0; i < GBE_HOLD_STEPS_MAX && steps[i] != NULL; i++)
			json_array_add_string_element(array, steps[i]);
		json_array_add_array_element(ways, array);
	}
	json_object_set_array_member(object, "ways", ways);
	return object;
}

/* The table of holds, for data/holds.py. */
static int
print_holds(void)
{
	g_autoptr(JsonArray) all = json_array_new();
	g_autoptr(JsonNode) node = NULL;
	g_autofree char *text = NULL;

	for (guint hold = GBE_HOLD_NO + 1; hold < GBE_N_HOLDS; hold++)
		json_array_add_object_element(all, hold_json((GbeHold)hold));
	node = json_node_init_array(json_node_alloc(), all);
	text = gbe_json_to_text(node, true);
	return printf("%s\n", text) < 0;
}

int
main(int argc, char **argv)
{
	g_autoptr(JsonArray) all = json_array_new();
	g_autoptr(JsonNode) node = NULL;
	g_autofree char *text = NULL;

	if (argc > 1 && g_str_equal(argv[1], "holds"))
		return print_holds();
	for (gsize i = 0; i < G_N_ELEMENTS(answers); i++) {
		JsonObject *object = json_object_new();
		JsonArray *fields = json_array_new();

		json_object_set_string_member(object, "file", answers[i].file);
		json_object_set_string_member(object, "form", answers[i].form);
		if (answers[i].text != NULL)
			json_object_set_string_member(object, "text", answers[i].text);
		if (answers[i].fields != NULL)
			add_fields(fields, answers[i].fields);
		json_object_set_array_member(object, "fields", fields);
		json_array_add_object_element(all, object);
	}
	node = json_node_init_array(json_node_alloc(), all);
	text = gbe_json_to_text(node, true);
	return printf("%s\n", text) < 0;
}
