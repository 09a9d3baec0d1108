/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/intent.h"

#include "core/record/fields.h"

#include <string.h>

static const char *const operations[] = {
    [GBE_OPERATION_UNKNOWN] = NULL,
    [GBE_OPERATION_RESTORE] = "restore",
};
static const GbeWords operation_words = {operations, G_N_ELEMENTS(operations),
					 GBE_OPERATION_UNKNOWN, GBE_OPERATION_UNKNOWN};

static void
read_displaced(GbeMembers *m, const char *key, void *field)
{
	JsonObject *object = gbe_members_object(m, key);
	GbeManifest **displaced = field;

	if (object == NULL || m->error != NULL)
		return;
	if (!gbe_manifest_from_json(object, displaced, &m->error))
		(void)gbe_prefix(&m->error, "\"%s\"", key);
	else
		(*displaced)->seal = GBE_SEAL_NEW; /* the ledger has a checksum of its own */
}

static void
print_displaced(JsonObject *object, const char *key, const void *field)
{
	const GbeManifest *displaced = *(GbeManifest *const *)field;

	if (displaced != NULL)
		json_object_set_object_member(object, key, gbe_manifest_to_json(displaced, false));
}

static void
clear_displaced(void *field)
{
	g_clear_pointer((GbeManifest **)field, gbe_manifest_free);
}

static void
read_take_over(GbeMembers *m, const char *key, void *field)
{
	JsonObject *object = gbe_members_object(m, key);

	if (object != NULL && m->error == NULL &&
	    !gbe_take_over_from_json(object, field, &m->error))
		(void)gbe_prefix(&m->error, "\"%s\"", key);
}

static void
print_take_over(JsonObject *object, const char *key, const void *field)
{
	const GbeTakeOver *take_over = *(GbeTakeOver *const *)field;

	if (take_over != NULL)
		json_object_set_object_member(object, key, gbe_take_over_to_json(take_over));
}

static void
clear_take_over(void *field)
{
	g_clear_pointer((GbeTakeOver **)field, gbe_take_over_free);
}

/* An intent is never copied. */
static const GbeFieldOwn displaced_own = {NULL, read_displaced, print_displaced, NULL,
					  clear_displaced};
static const GbeFieldOwn take_over_own = {NULL, read_take_over, print_take_over, NULL,
					  clear_take_over};

static const GbeField fields[] = {
    GBE_FIELD_OF(GbeIntent, operation, "operation", WORD, &operation_words, GBE_FIELD_NEEDED),
    GBE_FIELD(GbeIntent, sequence, "staged", SEQUENCE),
    GBE_FIELD_OF(GbeIntent, backup, "backup", TEXT, &gbe_kind_backup, 0),
    GBE_FIELD(GbeIntent, rule, "rule", TEXT),
    GBE_FIELD_OF(GbeIntent, staging, "staging", TEXT, &gbe_kind_path, 0),
    GBE_FIELD(GbeIntent, tree_new, "tree_new", TEXT),
    GBE_FIELD(GbeIntent, tree_old, "tree_old", TEXT),
    GBE_FIELD(GbeIntent, entries, "entries", NAMES),
    GBE_FIELD(GbeIntent, consume, "consume", FLAG),
    GBE_FIELD_OF(GbeIntent, keep_existing, "keep_existing", TEXT, &gbe_kind_path, 0),
    GBE_FIELD_BY(GbeIntent, displaced, "displaced", OWN, &displaced_own, 0),
    GBE_FIELD_BY(GbeIntent, take_over, "take_over", OWN, &take_over_own, 0),
    {0},
};

GbeIntent *
gbe_intent_new(void)
{
	return g_new0(GbeIntent, 1);
}

void
gbe_intent_free(GbeIntent *intent)
{
	if (intent == NULL)
		return;
	gbe_fields_clear(fields, intent);
	g_free(intent);
}

bool
gbe_intent_from_json(JsonObject *object, GbeIntent **ret_intent, GError **error)
{
	g_autoptr(GbeIntent) intent = gbe_intent_new();
	GbeMembers m = {object, "", NULL};

	gbe_fields_read(fields, &m, intent);
	/* The entries are exchanged one by one in a directory, so each is one name. */
	for (char **name = intent->entries; name != NULL && *name != NULL; name++)
		if (strchr(*name, '/') != NULL || !gbe_path_is_below(*name))
			gbe_members_fail(&m, "entries", "is not an array of names");
	if (!gbe_members_end(&m, "intent", error))
		return false;
	*ret_intent = g_steal_pointer(&intent);
	return true;
}

JsonObject *
gbe_intent_to_json(const GbeIntent *intent)
{
	JsonObject *object = json_object_new();

	gbe_fields_print(fields, object, intent);
	return object;
}
