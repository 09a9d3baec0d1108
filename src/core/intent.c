/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/intent.h"

#include "core/members.h"
#include "core/record.h"

#include <string.h>

static const char *const step_words[] = {
    [GBE_STEP_UNKNOWN] = "unknown",
    [GBE_STEP_STAGED] = "staged",
    [GBE_STEP_ENTRIES] = "entries",
    [GBE_STEP_EXCHANGED] = "exchanged",
};

GbeIntent *
gbe_intent_new(void)
{
	GbeIntent *intent = g_new0(GbeIntent, 1);

	intent->format = GBE_FORMAT;
	return intent;
}

void
gbe_intent_free(GbeIntent *intent)
{
	if (intent == NULL)
		return;
	g_free(intent->written_by);
	g_free(intent->operation_name);
	g_free(intent->run);
	g_free(intent->backup);
	g_free(intent->rule);
	g_free(intent->staging);
	g_strfreev(intent->entries);
	g_free(intent->keep_existing);
	gbe_manifest_free(intent->displaced);
	g_clear_pointer(&intent->unknown, json_object_unref);
	g_free(intent);
}

static GbeOperation
operation_from_string(const char *text)
{
	return g_strcmp0(text, "restore") == 0 ? GBE_OPERATION_RESTORE : GBE_OPERATION_UNKNOWN;
}

static GbeStep
step_from_string(const char *text)
{
	for (guint i = 0; i < G_N_ELEMENTS(step_words); i++)
		if (g_strcmp0(text, step_words[i]) == 0)
			return (GbeStep)i;
	return GBE_STEP_UNKNOWN;
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
	if (intent->step == GBE_STEP_ENTRIES && intent->entries == NULL)
		gbe_members_fail(m, "entries", "is missing");
}

static void
read_displaced(GbeMembers *m, GbeIntent *intent)
{
	JsonObject *object = gbe_members_object(m, "displaced");

	if (object == NULL || m->error != NULL)
		return;
	if (!gbe_manifest_from_json(object, &intent->displaced, &m->error))
		(void)gbe_prefix(&m->error, "\"displaced\"");
	else
		intent->displaced->seal = GBE_SEAL_NEW; /* the intent has a seal of its own */
}

bool
gbe_intent_from_json(JsonObject *object, GbeIntent **ret_intent, GError **error)
{
	g_autoptr(GbeIntent) intent = gbe_intent_new();
	GbeMembers m = {object, "", NULL};

	intent->unknown = json_object_ref(object);
	intent->format = gbe_members_uint(&m, "format", GBE_FORMAT);
	intent->written_by = gbe_members_string(&m, "written_by", NULL);
	gbe_members_need(&m, "operation");
	intent->operation_name = gbe_members_string(&m, "operation", NULL);
	intent->operation = operation_from_string(intent->operation_name);
	gbe_members_need(&m, "step");
	intent->step = step_from_string(gbe_members_word(&m, "step"));
	intent->sequence = gbe_members_sequence(&m, "sequence");
	intent->run = gbe_members_string(&m, "run", &gbe_kind_run);
	intent->backup = gbe_members_string(&m, "backup", &gbe_kind_backup);
	intent->rule = gbe_members_string(&m, "rule", NULL);
	intent->staging = gbe_members_string(&m, "staging", &gbe_kind_path);
	read_entries(&m, intent);
	intent->consume = gbe_members_bool(&m, "consume");
	intent->keep_existing = gbe_members_string(&m, "keep_existing", &gbe_kind_path);
	read_displaced(&m, intent);
	if (!gbe_members_end(&m, "intent", error))
		return false;
	*ret_intent = g_steal_pointer(&intent);
	return true;
}

/* The list of its files may be left out: it is the part that could make the intent too large. */
static JsonObject *
print_displaced(const GbeManifest *manifest)
{
	g_autoptr(JsonObject) object = gbe_manifest_to_json(manifest, TRUE);
	g_autofree char *text = gbe_json_print_object(object);

	/* Indented below "displaced" it gets longer by less than half. */
	if (strlen(text) <= GBE_JSON_MAX_SIZE / 2)
		return g_steal_pointer(&object);
	return gbe_manifest_to_json(manifest, FALSE);
}

JsonObject *
gbe_intent_to_json(const GbeIntent *intent)
{
	JsonObject *object = gbe_json_copy_object(intent->unknown);
	const char *operation = intent->operation_name;

	if (intent->operation == GBE_OPERATION_RESTORE || operation == NULL)
		operation = intent->operation == GBE_OPERATION_RESTORE ? "restore" : "unknown";
	gbe_json_set_format(object, intent->format, intent->written_by);
	gbe_json_set_string(object, "operation", operation);
	gbe_json_set_word(object, "step", step_words[intent->step],
			  step_from_string(gbe_json_string(object, "step", NULL)) == intent->step);
	json_object_set_int_member(object, "sequence", (gint64)intent->sequence);
	gbe_json_set_string(object, "run", intent->run);
	gbe_json_set_string(object, "backup", intent->backup);
	gbe_json_set_string(object, "rule", intent->rule);
	gbe_json_set_string(object, "staging", intent->staging);
	gbe_json_set_strv(object, "entries", intent->entries);
	json_object_set_boolean_member(object, "consume", intent->consume);
	/* Later than format 1. */
	if (intent->keep_existing != NULL)
		gbe_json_set_string(object, "keep_existing", intent->keep_existing);
	if (intent->displaced != NULL)
		json_object_set_object_member(object, "displaced",
					      print_displaced(intent->displaced));
	else
		json_object_set_null_member(object, "displaced");
	return object;
}
