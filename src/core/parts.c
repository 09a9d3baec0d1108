/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/parts.h"

#include "core/record.h"

/* Looks into the object in @key with @m's error; false where there is none. */
static bool
enter(GbeMembers *m, const char *key, const char *in, GbeMembers *ret_inner)
{
	JsonObject *object = gbe_members_object(m, key);

	if (object == NULL)
		return false;
	ret_inner->object = object;
	ret_inner->in = in;
	ret_inner->error = NULL;
	return true;
}

static void
leave(GbeMembers *m, GbeMembers *inner)
{
	if (m->error == NULL)
		m->error = g_steal_pointer(&inner->error);
	g_clear_error(&inner->error);
}

void
gbe_parts_read_deployment(GbeMembers *m, GbeDeployment *deployment, bool needed)
{
	GbeMembers inner;

	if (needed)
		gbe_members_need(m, "deployment");
	if (!enter(m, "deployment", "deployment.", &inner))
		return;
	if (needed)
		gbe_members_need(&inner, "id");
	deployment->id = gbe_members_string(&inner, "id", &gbe_kind_deployment);
	deployment->handle = gbe_members_string(&inner, "handle", NULL);
	leave(m, &inner);
}

static bool
read_ancestor(JsonNode *node, GbeAncestor *ret_ancestor)
{
	gint64 line, sequence;

	if (!JSON_NODE_HOLDS_OBJECT(node))
		return false;
	line = gbe_json_int(json_node_get_object(node), "line", 0);
	sequence = gbe_json_int(json_node_get_object(node), "sequence", 0);
	if (line <= 0 || sequence <= 0)
		return false;
	ret_ancestor->line = (guint64)line;
	ret_ancestor->sequence = (guint64)sequence;
	return true;
}

void
gbe_parts_read_lineage(GbeMembers *m, GbeLineage *lineage)
{
	JsonArray *array = gbe_members_array(m, "ancestors");
	guint len = array != NULL ? json_array_get_length(array) : 0;
	guint first = len > GBE_LINEAGE_MAX ? len - GBE_LINEAGE_MAX : 0;

	lineage->line = gbe_members_u64(m, "line", 0);
	lineage->truncated = gbe_members_bool(m, "ancestors_forgotten") || first > 0;
	lineage->at = gbe_members_u64(m, "line_at", 0);
	if (len == 0)
		return;
	lineage->ancestors = g_array_new(FALSE, FALSE, sizeof(GbeAncestor));
	for (guint i = first; i < len; i++) {
		GbeAncestor ancestor;

		if (!read_ancestor(json_array_get_element(array, i), &ancestor))
			gbe_members_fail(m, "ancestors", "is not an array of lines with sequences");
		else
			g_array_append_val(lineage->ancestors, ancestor);
	}
}

void
gbe_parts_read_trial(GbeMembers *m, GbeTrial *trial)
{
	GbeMembers inner;

	if (!enter(m, "trial", "trial.", &inner))
		return;
	trial->on = gbe_members_tri(&inner, "on");
	trial->since = gbe_members_u64(&inner, "since", 0);
	trial->used = gbe_members_i64(&inner, "used", -1);
	trial->judged = gbe_members_bool(&inner, "judged");
	trial->judges = gbe_members_tri(&inner, "judges");
	leave(m, &inner);
}

void
gbe_parts_read_fingerprint(GbeMembers *m, const char *key, GbeFingerprint *fp)
{
	JsonObject *object = gbe_members_object(m, key);

	if (object != NULL)
		gbe_fingerprint_from_json(fp, object);
}

void
gbe_parts_print_deployment(JsonObject *object, const GbeDeployment *deployment)
{
	JsonObject *inner = gbe_json_open_object(object, "deployment");

	gbe_json_set_string(inner, "id", deployment->id);
	gbe_json_set_string(inner, "handle", deployment->handle);
}

void
gbe_parts_print_lineage(JsonObject *object, const GbeLineage *lineage)
{
	JsonArray *array = json_array_new();

	for (guint i = 0; lineage->ancestors != NULL && i < lineage->ancestors->len; i++) {
		const GbeAncestor *ancestor = &g_array_index(lineage->ancestors, GbeAncestor, i);
		JsonObject *element = json_object_new();

		json_object_set_int_member(element, "line", (gint64)ancestor->line);
		json_object_set_int_member(element, "sequence", (gint64)ancestor->sequence);
		json_array_add_object_element(array, element);
	}
	gbe_json_set_known(object, "line", lineage->line != 0 ? (gint64)lineage->line : -1);
	json_object_set_array_member(object, "ancestors", array);
	json_object_set_boolean_member(object, "ancestors_forgotten", lineage->truncated);
	if (lineage->at != 0)
		json_object_set_int_member(object, "line_at", (gint64)lineage->at);
}

void
gbe_parts_print_trial(JsonObject *object, const GbeTrial *trial)
{
	JsonObject *inner = gbe_json_open_object(object, "trial");

	gbe_json_set_tri(inner, "on", trial->on);
	json_object_set_int_member(inner, "since", (gint64)trial->since);
	gbe_json_set_known(inner, "used", trial->used);
	json_object_set_boolean_member(inner, "judged", trial->judged);
	gbe_json_set_tri(inner, "judges", trial->judges);
}

void
gbe_parts_print_fingerprint(JsonObject *object, const char *key, const GbeFingerprint *fp)
{
	if (!fp->present)
		json_object_set_null_member(object, key);
	else
		gbe_fingerprint_to_json(fp, gbe_json_open_object(object, key));
}
