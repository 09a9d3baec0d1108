/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/take-over.h"

#include "core/json/members.h"

void
gbe_backup_ref_set(GbeBackupRef *ref, GbeBackupRef to)
{
	char *before = ref->name;

	*ref = to.name != NULL ? to : (GbeBackupRef){0};
	ref->name = g_strdup(to.name);
	g_free(before);
}

void
gbe_backup_ref_clear(GbeBackupRef *ref)
{
	gbe_backup_ref_set(ref, (GbeBackupRef){0});
}

static const GbeField link_fields[] = {
    GBE_FIELD_BY(GbeLink, backup, "backup", PART, gbe_backup_ref_fields, GBE_FIELD_OR_NULL),
    GBE_FIELD_BY(GbeLink, owner, "deployment", PART, gbe_deployment_fields, 0),
    GBE_FIELD(GbeLink, failed, "failed", FLAG),
    {0},
};

static void
free_link(gpointer link)
{
	gbe_fields_clear(link_fields, link);
	g_free(link);
}

/* Adds a copy at the end, unless the last link is the same: one backup may have been restored again and again. */
static void
add_link(GPtrArray *chain, const GbeLink *link)
{
	const GbeLink *last = chain->len > 0 ? chain->pdata[chain->len - 1] : NULL;
	GbeLink *copy;

	if (chain->len >= GBE_CHAIN_MAX)
		return;
	if (last != NULL && last->failed == link->failed &&
	    last->backup.sequence == link->backup.sequence &&
	    g_strcmp0(last->backup.name, link->backup.name) == 0 &&
	    gbe_deployment_same(&last->owner, &link->owner))
		return;
	copy = g_memdup2(link, sizeof(*link));
	gbe_fields_own(link_fields, copy);
	g_ptr_array_add(chain, copy);
}

static void
init_chain(void *field)
{
	*(GPtrArray **)field = g_ptr_array_new_with_free_func(free_link);
}

static void
read_chain(GbeMembers *m, const char *key, void *field)
{
	JsonArray *array = gbe_members_array(m, key);
	guint len = array != NULL ? json_array_get_length(array) : 0;

	for (guint i = 0; i < len && m->error == NULL; i++) {
		JsonNode *node = json_array_get_element(array, i);
		GbeMembers inner = {NULL, "chain.", NULL};
		GbeLink link = {0};

		if (!JSON_NODE_HOLDS_OBJECT(node)) {
			gbe_members_fail(m, key, "is not an array of links");
			return;
		}
		inner.object = json_node_get_object(node);
		gbe_fields_read(link_fields, &inner, &link);
		add_link(*(GPtrArray **)field, &link);
		gbe_fields_clear(link_fields, &link);
		m->error = g_steal_pointer(&inner.error);
	}
}

static void
print_chain(JsonObject *object, const char *key, const void *field)
{
	const GPtrArray *chain = *(GPtrArray *const *)field;
	JsonArray *array = json_array_new();

	GBE_EACH(const GbeLink *, link, chain) {
		JsonObject *element = json_object_new();

		gbe_fields_print(link_fields, element, link);
		json_array_add_object_element(array, element);
	}
	json_object_set_array_member(object, key, array);
}

static void
own_chain(void *field)
{
	const GPtrArray *from = *(GPtrArray **)field;

	init_chain(field);
	GBE_EACH(const GbeLink *, link, from)
		add_link(*(GPtrArray **)field, link);
}

static void
clear_chain(void *field)
{
	g_clear_pointer((GPtrArray **)field, g_ptr_array_unref);
}

static const GbeFieldOwn chain_own = {init_chain, read_chain, print_chain, own_chain, clear_chain};

static const GbeField closing_fields[] = {
    GBE_FIELD_BY(GbeClosing, fingerprint, "fingerprint", OWN, &gbe_fingerprint_own, 0),
    GBE_FIELD(GbeClosing, used, "used", KNOWN),
    GBE_FIELD(GbeClosing, at, "at", TIME),
    GBE_FIELD_OF(GbeClosing, next, "next", TEXT, &gbe_kind_deployment, 0),
    GBE_FIELD_BY(GbeClosing, backup, "backup", PART, gbe_backup_ref_fields, GBE_FIELD_OR_NULL),
    {0},
};

static const GbeField take_over_fields[] = {
    GBE_FIELD_BY(GbeTakeOver, deployment, "deployment", PART, gbe_deployment_fields,
		 GBE_FIELD_NEEDED),
    GBE_FIELD_OF(GbeTakeOver, run, "run", TEXT, &gbe_kind_run, GBE_FIELD_THERE),
    GBE_FIELD(GbeTakeOver, sequence, "sequence", SEQUENCE),
    GBE_FIELD(GbeTakeOver, tree, "tree", TEXT),
    GBE_FIELD_OF(GbeTakeOver, nonce, "nonce", TEXT, &gbe_kind_hex64, 0),
    GBE_FIELD_BY(GbeTakeOver, lineage, "line", OWN, &gbe_lineage_own, 0),
    GBE_FIELD_BY(GbeTakeOver, chain, "chain", OWN, &chain_own, 0),
    GBE_FIELD(GbeTakeOver, after, "after", NUMBER),
    GBE_FIELD(GbeTakeOver, after_trial, "after_trial", TRI),
    GBE_FIELD_BY(GbeTakeOver, found, "found", PART, gbe_backup_ref_fields, GBE_FIELD_OR_NULL),
    GBE_FIELD_OF(GbeTakeOver, source, "source", TEXT, &gbe_kind_backup, 0),
    GBE_FIELD(GbeTakeOver, asked, "asked", FLAG),
    GBE_FIELD(GbeTakeOver, skipped, "skipped", FLAG),
    GBE_FIELD(GbeTakeOver, late, "late", FLAG),
    GBE_FIELD(GbeTakeOver, began_empty, "began_empty", FLAG),
    GBE_FIELD(GbeTakeOver, failed, "failed", FLAG),
    GBE_FIELD(GbeTakeOver, request, "request", TEXT),
    GBE_FIELD(GbeTakeOver, etcd_version, "etcd_version", TEXT),
    GBE_FIELD(GbeTakeOver, voters, "voters", COUNT),
    GBE_FIELD(GbeTakeOver, mount_point, "mount_point", TRI),
    GBE_FIELD(GbeTakeOver, was_default, "was_default", TRI),
    GBE_FIELD_BY(GbeTakeOver, trial, "trial", PART, gbe_trial_fields, 0),
    GBE_FIELD(GbeTakeOver, at, "at", TIME),
    GBE_FIELD(GbeTakeOver, uptime, "uptime", KNOWN),
    GBE_FIELD_OF(GbeTakeOver, data_dir, "data_dir", TEXT, &gbe_kind_path, 0),
    GBE_FIELD_OF(GbeTakeOver, store_path, "store_path", TEXT, &gbe_kind_path, 0),
    GBE_FIELD(GbeTakeOver, store_fs, "store_fs", TEXT),
    GBE_FIELD(GbeTakeOver, store_tree, "store_tree", TEXT),
    GBE_FIELD_OF(GbeTakeOver, member_id, "member_id", TEXT, &gbe_kind_hex64, 0),
    GBE_FIELD_OF(GbeTakeOver, cluster_id, "cluster_id", TEXT, &gbe_kind_hex64, 0),
    GBE_FIELD_BY(GbeTakeOver, closing, NULL, PART, closing_fields, 0),
    {0},
};

GbeTakeOver *
gbe_take_over_new(void)
{
	GbeTakeOver *take_over = g_new0(GbeTakeOver, 1);

	gbe_fields_init(take_over_fields, take_over);
	return take_over;
}

void
gbe_take_over_free(GbeTakeOver *take_over)
{
	if (take_over == NULL)
		return;
	gbe_fields_clear(take_over_fields, take_over);
	g_free(take_over);
}

GbeTakeOver *
gbe_take_over_copy(const GbeTakeOver *from)
{
	GbeTakeOver *copy = g_memdup2(from, sizeof(*from));

	gbe_fields_own(take_over_fields, copy);
	return copy;
}

bool
gbe_take_over_empties(const GbeTakeOver *take_over)
{
	return take_over->asked && take_over->source == NULL;
}

void
gbe_take_over_link(GbeTakeOver *take_over, const GbeBackupRef *backup, const GbeDeployment *owner,
		   bool failed)
{
	GbeLink link = {.failed = failed};

	if (backup != NULL)
		link.backup = *backup;
	if (owner != NULL)
		link.owner = *owner;
	add_link(take_over->chain, &link);
}

void
gbe_take_over_drop(GbeTakeOver *take_over, const char *name)
{
	if (g_strcmp0(take_over->found.name, name) == 0)
		gbe_backup_ref_clear(&take_over->found);
	GBE_EACH(GbeLink *, link, take_over->chain)
		if (g_strcmp0(link->backup.name, name) == 0)
			gbe_backup_ref_clear(&link->backup);
}

const GbeBackupRef *
gbe_take_over_base(const GbeTakeOver *take_over)
{
	return take_over->chain->len > 0 ? &((GbeLink *)take_over->chain->pdata[0])->backup : NULL;
}

void
gbe_closing_clear(GbeClosing *closing)
{
	gbe_fields_clear(closing_fields, closing);
	*closing = (GbeClosing){.used = -1};
}

void
gbe_closing_from_json(JsonObject *object, GbeClosing *closing)
{
	GbeMembers m = {object, "", NULL};

	gbe_closing_clear(closing);
	gbe_fields_read(closing_fields, &m, closing);
	closing->present = gbe_members_end(&m, "closing", NULL) && closing->fingerprint.present;
}

JsonObject *
gbe_closing_to_json(const GbeClosing *closing)
{
	JsonObject *object = json_object_new();

	gbe_fields_print(closing_fields, object, closing);
	return object;
}

bool
gbe_take_over_from_json(JsonObject *object, GbeTakeOver **ret_take_over, GError **error)
{
	g_autoptr(GbeTakeOver) t = gbe_take_over_new();
	GbeMembers m = {object, "", NULL};

	gbe_fields_read(take_over_fields, &m, t);
	if (!gbe_members_end(&m, "take-over", error))
		return false;
	*ret_take_over = g_steal_pointer(&t);
	return true;
}

JsonObject *
gbe_take_over_to_json(const GbeTakeOver *t)
{
	JsonObject *object = json_object_new();

	gbe_fields_print(take_over_fields, object, t);
	return object;
}

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
read_lineage(GbeMembers *m, const char *key, void *field)
{
	g_autofree char *ancestors = NULL;
	GbeLineage *lineage = field;
	GbeAncestor ancestor;

	lineage->line = gbe_members_u64(m, key, 0);
	lineage->truncated = gbe_members_bool(m, "ancestors_forgotten");
	lineage->at = gbe_members_u64(m, "line_at", 0);
	ancestors = gbe_members_string(m, "ancestors", NULL);
	for (const char *at = ancestors; at != NULL && *at != '\0';) {
		at = read_ancestor(at, &ancestor);
		if (at == NULL)
			gbe_members_fail(m, "ancestors", "is not a list of lines with sequences");
		else
			gbe_lineage_add(lineage, &ancestor);
	}
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
	GbeLineage *lineage = field;

	if (lineage->ancestors != NULL)
		lineage->ancestors = g_array_copy(lineage->ancestors);
}

const GbeFieldOwn gbe_lineage_own = {NULL, read_lineage, print_lineage, own_lineage,
				     (GDestroyNotify)gbe_lineage_clear};
