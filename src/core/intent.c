/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/intent.h"

#include "core/members.h"
#include "core/record.h"

#include <string.h>

#define RESTORE "restore"

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
	g_free(intent->backup);
	g_free(intent->rule);
	g_free(intent->staging);
	g_free(intent->tree_new);
	g_free(intent->tree_old);
	g_strfreev(intent->entries);
	g_free(intent->keep_existing);
	gbe_manifest_free(intent->displaced);
	gbe_take_over_free(intent->take_over);
	g_free(intent);
}

/* They are exchanged one by one in a directory: each is one name. */
static void
read_entries(GbeMembers *m, GbeIntent *intent)
{
	intent->entries = gbe_members_strv(m, "entries");
	for (guint i = 0; intent->entries != NULL && intent->entries[i] != NULL; i++) {
		const char *name = intent->entries[i];

		if (name[0] == '\0' || strchr(name, '/') != NULL || g_str_equal(name, ".") ||
		    g_str_equal(name, ".."))
			gbe_members_fail(m, "entries", "is not an array of names");
	}
}

static void
read_records(GbeMembers *m, GbeIntent *intent)
{
	JsonObject *displaced = gbe_members_object(m, "displaced");
	JsonObject *take_over = gbe_members_object(m, "take_over");

	if (displaced != NULL && m->error == NULL &&
	    !gbe_manifest_from_json(displaced, &intent->displaced, &m->error))
		(void)gbe_prefix(&m->error, "\"displaced\"");
	if (take_over != NULL && m->error == NULL &&
	    !gbe_take_over_from_json(take_over, &intent->take_over, &m->error))
		(void)gbe_prefix(&m->error, "\"take_over\"");
	if (intent->displaced != NULL)
		intent->displaced->seal = GBE_SEAL_NEW; /* the ledger has a checksum of its own */
}

bool
gbe_intent_from_json(JsonObject *object, GbeIntent **ret_intent, GError **error)
{
	g_autoptr(GbeIntent) intent = gbe_intent_new();
	GbeMembers m = {object, "", NULL};

	gbe_members_need(&m, "operation");
	if (g_strcmp0(gbe_members_word(&m, "operation"), RESTORE) == 0)
		intent->operation = GBE_OPERATION_RESTORE;
	intent->sequence = gbe_members_sequence(&m, "staged");
	intent->backup = gbe_members_string(&m, "backup", &gbe_kind_backup);
	intent->rule = gbe_members_string(&m, "rule", NULL);
	intent->staging = gbe_members_string(&m, "staging", &gbe_kind_path);
	intent->tree_new = gbe_members_string(&m, "tree_new", NULL);
	intent->tree_old = gbe_members_string(&m, "tree_old", NULL);
	read_entries(&m, intent);
	intent->consume = gbe_members_bool(&m, "consume");
	intent->keep_existing = gbe_members_string(&m, "keep_existing", &gbe_kind_path);
	read_records(&m, intent);
	if (!gbe_members_end(&m, "intent", error))
		return false;
	*ret_intent = g_steal_pointer(&intent);
	return true;
}

JsonObject *
gbe_intent_to_json(const GbeIntent *intent)
{
	JsonObject *object = json_object_new();

	json_object_set_string_member(object, "operation", RESTORE);
	json_object_set_int_member(object, "staged", (gint64)intent->sequence);
	gbe_json_set_string(object, "backup", intent->backup);
	gbe_json_set_string(object, "rule", intent->rule);
	gbe_json_set_string(object, "staging", intent->staging);
	gbe_json_set_string(object, "tree_new", intent->tree_new);
	gbe_json_set_string(object, "tree_old", intent->tree_old);
	gbe_json_set_strv(object, "entries", intent->entries);
	json_object_set_boolean_member(object, "consume", intent->consume);
	gbe_json_set_string(object, "keep_existing", intent->keep_existing);
	if (intent->displaced != NULL)
		json_object_set_object_member(object, "displaced",
					      gbe_manifest_to_json(intent->displaced, FALSE));
	if (intent->take_over != NULL)
		json_object_set_object_member(object, "take_over",
					      gbe_take_over_to_json(intent->take_over));
	return object;
}
