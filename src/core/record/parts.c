/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/parts.h"

#include "core/record/take-over.h"

const GbeField gbe_deployment_fields[] = {
    GBE_FIELD_OF(GbeDeployment, id, "id", TEXT, &gbe_kind_deployment, 0),
    GBE_FIELD(GbeDeployment, handle, "handle", TEXT),
    {0},
};

const GbeField gbe_trial_fields[] = {
    GBE_FIELD(GbeTrial, on, "on", TRI),		GBE_FIELD(GbeTrial, since, "since", NUMBER),
    GBE_FIELD(GbeTrial, used, "used", KNOWN),	GBE_FIELD(GbeTrial, judged, "judged", FLAG),
    GBE_FIELD(GbeTrial, judges, "judges", TRI), {0},
};

const GbeField gbe_backup_ref_fields[] = {
    GBE_FIELD_OF(GbeBackupRef, name, "name", TEXT, &gbe_kind_backup, 0),
    GBE_FIELD(GbeBackupRef, sequence, "sequence", NUMBER),
    GBE_FIELD(GbeBackupRef, line, "line", NUMBER),
    GBE_FIELD(GbeBackupRef, place, "place", NUMBER),
    {0},
};

/* Reads "LINE@SEQUENCE"; a blank separates the next one. An object for each would take a hundred times the memory. */
static const char *
read_ancestor(const char *text, GbeAncestor *ret_ancestor)
{
	char *end = NULL;

	ret_ancestor->line = g_ascii_isdigit(*text) ? g_ascii_strtoull(text, &end, 10) : 0;
	if (ret_ancestor->line == 0 || *end != '@' || !g_ascii_isdigit(end[1]))
		return NULL;
	ret_ancestor->sequence = g_ascii_strtoull(end + 1, &end, 10);
	if (ret_ancestor->sequence == 0 || (*end != ' ' && *end != '\0'))
		return NULL;
	return *end == ' ' ? end + 1 : end;
}

static void
read_ancestors(GbeMembers *m, GbeLineage *lineage)
{
	g_autofree char *text = gbe_members_string(m, "ancestors", NULL);
	GbeAncestor ancestor;

	for (const char *at = text; at != NULL && *at != '\0';) {
		at = read_ancestor(at, &ancestor);
		if (at == NULL)
			gbe_members_fail(m, "ancestors", "is not a list of lines with sequences");
		else
			gbe_lineage_add(lineage, &ancestor);
	}
}

static void
read_lineage(GbeMembers *m, const char *key, void *field)
{
	GbeLineage *lineage = field;

	lineage->line = gbe_members_u64(m, key, 0);
	lineage->truncated = gbe_members_bool(m, "ancestors_forgotten");
	lineage->at = gbe_members_u64(m, "line_at", 0);
	read_ancestors(m, lineage);
}

static void
print_lineage(JsonObject *object, const char *key, const void *field)
{
	const GbeLineage *lineage = field;
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; lineage->ancestors != NULL && i < lineage->ancestors->len; i++) {
		const GbeAncestor *ancestor = &g_array_index(lineage->ancestors, GbeAncestor, i);

		g_string_append_printf(text, "%s%" G_GUINT64_FORMAT "@%" G_GUINT64_FORMAT,
				       i > 0 ? " " : "", ancestor->line, ancestor->sequence);
	}
	gbe_json_set_known(object, key, lineage->line != 0 ? (gint64)lineage->line : -1);
	json_object_set_string_member(object, "ancestors", text->str);
	json_object_set_boolean_member(object, "ancestors_forgotten", lineage->truncated);
	if (lineage->at != 0)
		json_object_set_int_member(object, "line_at", (gint64)lineage->at);
}

static void
own_lineage(void *field)
{
	GbeLineage copy = {0};

	gbe_lineage_copy(&copy, field);
	*(GbeLineage *)field = copy;
}

static void
clear_lineage(void *field)
{
	gbe_lineage_clear(field);
}

const GbeFieldOwn gbe_lineage_own = {NULL, read_lineage, print_lineage, own_lineage, clear_lineage};

static void
read_fingerprint(GbeMembers *m, const char *key, void *field)
{
	JsonObject *object = gbe_members_object(m, key);

	if (object != NULL)
		gbe_fingerprint_from_json(field, object);
}

static void
print_fingerprint(JsonObject *object, const char *key, const void *field)
{
	const GbeFingerprint *fp = field;

	if (!fp->present)
		json_object_set_null_member(object, key);
	else
		gbe_fingerprint_to_json(fp, gbe_json_open_object(object, key));
}

static void
own_fingerprint(void *field)
{
	GbeFingerprint copy = {0};

	gbe_fingerprint_copy(&copy, field);
	*(GbeFingerprint *)field = copy;
}

static void
clear_fingerprint(void *field)
{
	gbe_fingerprint_clear(field);
}

const GbeFieldOwn gbe_fingerprint_own = {NULL, read_fingerprint, print_fingerprint, own_fingerprint,
					 clear_fingerprint};
