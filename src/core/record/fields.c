/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/fields.h"

#include "base/format.h"
#include "core/json/parse.h"

#define AT(type, record, field) ((type *)((char *)(record) + (field)->offset))
#define CONST_AT(type, record, field) ((const type *)((const char *)(record) + (field)->offset))
/* Of GBE_FIELD_OWN, and of GBE_FIELD_LIST, _ARRAY and _MAYBE. */
#define OWN(field) ((const GbeFieldOwn *)(field)->of)
#define ITEMS(field) ((const GbeFieldItems *)(field)->of)

void
gbe_fields_init(const GbeField *fields, void *record)
{
	for (const GbeField *f = fields; f->kind != 0; f++) {
		if (f->kind == GBE_FIELD_KNOWN)
			*AT(gint64, record, f) = -1;
		else if (f->kind == GBE_FIELD_INTEGER)
			*AT(gint64, record, f) = G_MININT64;
		else if (f->kind == GBE_FIELD_PART)
			gbe_fields_init(f->of, AT(void, record, f));
		else if (f->kind == GBE_FIELD_OWN && OWN(f)->init != NULL)
			OWN(f)->init(AT(void, record, f));
	}
}

static void
read_part(const GbeField *f, GbeMembers *m, void *part)
{
	g_autofree char *in = g_strconcat(f->key, ".", NULL);
	GbeMembers inner = {gbe_members_object(m, f->key), in, NULL};

	if (inner.object == NULL)
		return;
	gbe_fields_read(f->of, &inner, part);
	if (m->error == NULL)
		m->error = g_steal_pointer(&inner.error);
	g_clear_error(&inner.error);
}

void *
gbe_fields_new(const GbeFieldItems *items)
{
	void *record = g_malloc0(items->size);

	gbe_fields_init(items->fields, record);
	return record;
}

void
gbe_fields_free(const GbeFieldItems *items, void *record)
{
	if (record != NULL)
		gbe_fields_clear(items->fields, record);
	g_free(record);
}

/* Elements of another type than the table's are left out. */
static void
read_list(const GbeField *f, GbeMembers *m, GPtrArray **list)
{
	JsonArray *array = gbe_members_array(m, f->key);

	*list = g_ptr_array_new();
	for (guint i = 0; array != NULL && i < json_array_get_length(array); i++) {
		JsonNode *node = json_array_get_element(array, i);

		if (f->kind == GBE_FIELD_TEXTS && json_node_get_value_type(node) == G_TYPE_STRING) {
			g_ptr_array_add(*list, json_node_dup_string(node));
		} else if (f->kind == GBE_FIELD_LIST && JSON_NODE_HOLDS_OBJECT(node)) {
			g_ptr_array_add(*list, gbe_fields_new(ITEMS(f)));
			gbe_fields_read_known(ITEMS(f)->fields, json_node_get_object(node),
					      (*list)->pdata[(*list)->len - 1]);
		}
	}
}

static void
read_field(const GbeField *f, GbeMembers *m, void *at)
{
	JsonNode *node;

	switch (f->kind) {
	case GBE_FIELD_TEXT:
		g_free(*(char **)at);
		*(char **)at = gbe_members_string(m, f->key, f->of);
		break;
	case GBE_FIELD_NAMES:
		g_strfreev(*(char ***)at);
		*(char ***)at = gbe_members_strv(m, f->key);
		break;
	case GBE_FIELD_NUMBER:
		*(guint64 *)at = gbe_members_u64(m, f->key, 0);
		break;
	case GBE_FIELD_SEQUENCE:
		*(guint64 *)at = gbe_members_sequence(m, f->key);
		break;
	case GBE_FIELD_COUNT:
		*(guint *)at = gbe_members_uint(m, f->key, 0);
		break;
	case GBE_FIELD_TIME:
		*(gint64 *)at = gbe_members_i64(m, f->key, 0);
		break;
	case GBE_FIELD_KNOWN:
		*(gint64 *)at = gbe_members_i64(m, f->key, -1);
		break;
	case GBE_FIELD_FLAG:
		*(bool *)at = gbe_members_bool(m, f->key);
		break;
	case GBE_FIELD_TRI:
		*(GbeTri *)at = gbe_members_tri(m, f->key);
		break;
	case GBE_FIELD_WORD:
		*(guint *)at = gbe_words_find(f->of, gbe_members_word(m, f->key));
		break;
	case GBE_FIELD_PART:
		read_part(f, m, at);
		break;
	case GBE_FIELD_MOMENT:
		*(gint64 *)at = gbe_members_i64(m, f->key, -1);
		break;
	case GBE_FIELD_INTEGER:
		*(gint64 *)at = gbe_members_i64(m, f->key, G_MININT64);
		break;
	case GBE_FIELD_SECONDS:
		node = json_object_get_member(m->object, f->key);
		if (node != NULL && JSON_NODE_HOLDS_VALUE(node))
			*(gint64 *)at = (gint64)(json_node_get_double(node) * G_USEC_PER_SEC);
		break;
	case GBE_FIELD_TEXTS:
	case GBE_FIELD_LIST:
		read_list(f, m, at);
		break;
	case GBE_FIELD_MAYBE:
		if (gbe_members_object(m, f->key) != NULL) {
			*(void **)at = gbe_fields_new(ITEMS(f));
			gbe_fields_read_known(ITEMS(f)->fields, gbe_members_object(m, f->key),
					      *(void **)at);
		}
		break;
	case GBE_FIELD_OWN:
		OWN(f)->read(m, f->key, at);
		break;
	case GBE_FIELD_ID:
	case GBE_FIELD_ARRAY:
	case GBE_FIELD_SAID:
	case GBE_FIELD_PRESENT:
	case GBE_FIELD_MORE:
		break;
	}
}

void
gbe_fields_read(const GbeField *fields, GbeMembers *m, void *record)
{
	for (const GbeField *f = fields; f->kind != 0; f++) {
		if (f->key == NULL)
			continue;
		if (f->flags & GBE_FIELD_NEEDED)
			gbe_members_need(m, f->key);
		if (f->flags & GBE_FIELD_THERE && !json_object_has_member(m->object, f->key))
			gbe_members_fail(m, f->key, "is missing");
		read_field(f, m, AT(void, record, f));
	}
}

/* Has the field another value than in a new record? For the kinds that are used with GBE_FIELD_LATER. */
static bool
is_set(const GbeField *f, const void *at)
{
	if (f->kind == GBE_FIELD_KNOWN)
		return *(const gint64 *)at >= 0;
	if (f->kind == GBE_FIELD_FLAG)
		return *(const bool *)at;
	return f->kind != GBE_FIELD_TEXT || *(char *const *)at != NULL;
}

/* Keeps a newer program's word where it reads as the value to write. */
static void
print_word(const GbeField *f, JsonObject *object, guint value)
{
	const char *present = gbe_json_string(object, f->key, NULL);

	if (present == NULL || gbe_words_find(f->of, present) != value)
		gbe_json_set_string(object, f->key, gbe_words_get(f->of, value));
}

static void
print_list(const GbeField *f, JsonObject *object, const GPtrArray *list)
{
	JsonArray *array = json_array_new();

	for (guint i = 0; list != NULL && i < list->len; i++) {
		JsonObject *element;

		if (f->kind == GBE_FIELD_TEXTS) {
			json_array_add_string_element(array, list->pdata[i]);
			continue;
		}
		element = json_object_new();
		gbe_fields_print(ITEMS(f)->fields, element, list->pdata[i]);
		json_array_add_object_element(array, element);
	}
	json_object_set_array_member(object, f->key, array);
}

static void
print_array(const GbeField *f, JsonObject *object, const GArray *list)
{
	g_autoptr(GPtrArray) elements = g_ptr_array_new();

	for (guint i = 0; list != NULL && i < list->len; i++)
		g_ptr_array_add(elements, list->data + i * ITEMS(f)->size);
	print_list(f, object, elements);
}

static void
print_field(const GbeField *f, JsonObject *object, const void *at)
{
	const char *(*said)(guint);
	g_autofree char *id = NULL;

	switch (f->kind) {
	case GBE_FIELD_TEXT:
		gbe_json_set_string(object, f->key, *(char *const *)at);
		break;
	case GBE_FIELD_NAMES:
		gbe_json_set_strv(object, f->key, *(char *const *const *)at);
		break;
	case GBE_FIELD_NUMBER:
	case GBE_FIELD_SEQUENCE:
	case GBE_FIELD_TIME:
		json_object_set_int_member(object, f->key, *(const gint64 *)at);
		break;
	case GBE_FIELD_COUNT:
		json_object_set_int_member(object, f->key, *(const guint *)at);
		break;
	case GBE_FIELD_KNOWN:
		gbe_json_set_known(object, f->key, *(const gint64 *)at);
		break;
	case GBE_FIELD_FLAG:
		json_object_set_boolean_member(object, f->key, *(const bool *)at);
		break;
	case GBE_FIELD_TRI:
		gbe_json_set_tri(object, f->key, *(const GbeTri *)at);
		break;
	case GBE_FIELD_WORD:
		print_word(f, object, *(const guint *)at);
		break;
	case GBE_FIELD_PART:
		gbe_fields_print(f->of, gbe_json_open_object(object, f->key), at);
		break;
	case GBE_FIELD_MOMENT:
		gbe_json_set_known(object, f->key,
				   *(const gint64 *)at > 0 ? *(const gint64 *)at : -1);
		break;
	case GBE_FIELD_INTEGER:
		if (*(const gint64 *)at == G_MININT64)
			json_object_set_null_member(object, f->key);
		else
			json_object_set_int_member(object, f->key, *(const gint64 *)at);
		break;
	case GBE_FIELD_SECONDS:
		json_object_set_double_member(object, f->key,
					      (double)MAX(*(const gint64 *)at, 0) / G_USEC_PER_SEC);
		break;
	case GBE_FIELD_TEXTS:
	case GBE_FIELD_LIST:
		print_list(f, object, *(GPtrArray *const *)at);
		break;
	case GBE_FIELD_MAYBE:
		if (*(void *const *)at == NULL)
			json_object_set_null_member(object, f->key);
		else
			gbe_fields_print(ITEMS(f)->fields, gbe_json_open_object(object, f->key),
					 *(void *const *)at);
		break;
	case GBE_FIELD_OWN:
		OWN(f)->print(object, f->key, at);
		break;
	case GBE_FIELD_ID:
		id = *(const guint64 *)at != 0 ? gbe_hex64(*(const guint64 *)at) : NULL;
		gbe_json_set_string(object, f->key, id);
		break;
	case GBE_FIELD_ARRAY:
		print_array(f, object, *(GArray *const *)at);
		break;
	case GBE_FIELD_SAID:
		said = (const char *(*)(guint))f->of;
		gbe_json_set_string(object, f->key, said(*(const guint *)at));
		break;
	case GBE_FIELD_PRESENT:
		json_object_set_boolean_member(object, f->key, *(void *const *)at != NULL);
		break;
	case GBE_FIELD_MORE:
		gbe_fields_print(f->of, object, at);
		break;
	}
}

void
gbe_fields_read_known(const GbeField *fields, JsonObject *object, void *record)
{
	GbeMembers m = {object, "", NULL};

	if (object == NULL)
		return;
	gbe_fields_read(fields, &m, record);
	g_clear_error(&m.error);
}

void
gbe_fields_print(const GbeField *fields, JsonObject *object, const void *record)
{
	for (const GbeField *f = fields; f->kind != 0; f++) {
		const void *at = CONST_AT(void, record, f);

		if (f->key == NULL)
			continue;
		if (f->flags & GBE_FIELD_LATER && !is_set(f, at))
			json_object_remove_member(object, f->key);
		else if (f->flags & GBE_FIELD_OR_NULL && *(const char *const *)at == NULL)
			json_object_set_null_member(object, f->key);
		else
			print_field(f, object, at);
	}
}

JsonObject *
gbe_fields_answer(const GbeField *fields, const void *answer)
{
	JsonObject *object = gbe_json_answer();

	gbe_fields_print(fields, object, answer);
	return object;
}

/* An answer owns its lists and pointers. */
void
gbe_fields_own(const GbeField *fields, void *record)
{
	for (const GbeField *f = fields; f->kind != 0; f++) {
		void *at = AT(void, record, f);

		if (f->kind == GBE_FIELD_TEXT)
			*(char **)at = g_strdup(*(char **)at);
		else if (f->kind == GBE_FIELD_NAMES)
			*(char ***)at = g_strdupv(*(char ***)at);
		else if (f->kind == GBE_FIELD_PART)
			gbe_fields_own(f->of, at);
		else if (f->kind == GBE_FIELD_OWN)
			OWN(f)->own(at);
	}
}

static void
clear_list(const GbeField *f, GPtrArray **list)
{
	for (guint i = 0; *list != NULL && i < (*list)->len; i++) {
		if (f->kind == GBE_FIELD_TEXTS)
			g_free((*list)->pdata[i]);
		else
			gbe_fields_free(ITEMS(f), (*list)->pdata[i]);
	}
	g_clear_pointer(list, g_ptr_array_unref);
}

void
gbe_fields_clear(const GbeField *fields, void *record)
{
	for (const GbeField *f = fields; f->kind != 0; f++) {
		void *at = AT(void, record, f);

		if (f->kind == GBE_FIELD_TEXT)
			g_clear_pointer((char **)at, g_free);
		else if (f->kind == GBE_FIELD_NAMES)
			g_clear_pointer((char ***)at, g_strfreev);
		else if (f->kind == GBE_FIELD_PART)
			gbe_fields_clear(f->of, at);
		else if (f->kind == GBE_FIELD_TEXTS || f->kind == GBE_FIELD_LIST)
			clear_list(f, at);
		else if (f->kind == GBE_FIELD_MAYBE)
			gbe_fields_free(ITEMS(f), g_steal_pointer((void **)at));
		else if (f->kind == GBE_FIELD_OWN)
			OWN(f)->clear(at);
	}
}
