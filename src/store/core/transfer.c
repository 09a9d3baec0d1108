/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/core/transfer.h"

#include "core/json/parse.h"
#include "core/record/fields.h"

static void
read_parts(GbeMembers *m, const char *key, void *field)
{
	GPtrArray **parts = field;
	JsonArray *array = gbe_members_array(m, key);

	if (array == NULL)
		return;
	*parts = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < json_array_get_length(array); i++) {
		JsonNode *node = json_array_get_element(array, i);

		if (json_node_get_value_type(node) == G_TYPE_STRING)
			g_ptr_array_add(*parts, json_node_dup_string(node));
	}
}

static void
print_parts(JsonObject *object, const char *key, const void *field)
{
	const GPtrArray *parts = *(GPtrArray *const *)field;
	JsonArray *array = json_array_new();

	for (guint i = 0; parts != NULL && i < parts->len; i++)
		json_array_add_string_element(array, parts->pdata[i]);
	json_object_set_array_member(object, key, array);
	if (parts == NULL)
		json_object_remove_member(object, key);
}

static void
clear_parts(void *field)
{
	g_clear_pointer((GPtrArray **)field, g_ptr_array_unref);
}

static const GbeFieldOwn parts_field = {.read = read_parts,
					.print = print_parts,
					.clear = clear_parts};

static const GbeField fields[] = {
    GBE_FIELD(GbeTransfer, sha256, "sha256", TEXT),
    GBE_FIELD(GbeTransfer, stored_sha256, "stored_sha256", TEXT),
    GBE_FIELD(GbeTransfer, revision, "revision", KNOWN),
    GBE_FIELD(GbeTransfer, hash_kv, "hash_kv", KNOWN),
    GBE_FIELD_OF(GbeTransfer, store, "store", TEXT, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeTransfer, upload, "upload", TEXT, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeTransfer, part_size, "part_size", KNOWN, NULL, GBE_FIELD_LATER),
    GBE_FIELD_BY(GbeTransfer, parts, "parts", OWN, &parts_field, 0),
    GBE_FIELD_OF(GbeTransfer, failed, "failed", TEXT, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeTransfer, failed_at, "failed_at", KNOWN, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeTransfer, refused, "refused", FLAG, NULL, GBE_FIELD_LATER),
    {0},
};

void
gbe_transfer_init(GbeTransfer *transfer)
{
	*transfer = (GbeTransfer){0};
	gbe_fields_init(fields, transfer);
}

void
gbe_transfer_clear(GbeTransfer *transfer)
{
	gbe_fields_clear(fields, transfer);
	g_clear_pointer(&transfer->found, json_object_unref);
}

void
gbe_transfer_read(const char *bytes, gsize size, GbeTransfer *ret_transfer)
{
	gbe_transfer_init(ret_transfer);
	if (gbe_json_parse_object(bytes, size, "a record", &ret_transfer->found, NULL))
		gbe_fields_read_known(fields, ret_transfer->found, ret_transfer);
}

char *
gbe_transfer_print(const GbeTransfer *transfer)
{
	g_autoptr(JsonObject) object = gbe_json_copy_object(transfer->found);

	gbe_fields_print(fields, object, transfer);
	return gbe_json_print_object(object);
}

void
gbe_transfer_begin(GbeTransfer *transfer, const char *store)
{
	if (g_strcmp0(transfer->store, store) == 0)
		return;
	g_free(transfer->store);
	transfer->store = g_strdup(store);
	g_clear_pointer(&transfer->upload, g_free);
	g_clear_pointer(&transfer->parts, g_ptr_array_unref);
}
