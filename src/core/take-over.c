/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/take-over.h"

#include "core/members.h"
#include "core/parts.h"
#include "core/record.h"

#define CHAIN "chain"

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

static void
link_free(gpointer data)
{
	GbeLink *link = data;

	gbe_backup_ref_clear(&link->backup);
	gbe_deployment_clear(&link->owner);
	g_free(link);
}

void
gbe_closing_clear(GbeClosing *closing)
{
	gbe_fingerprint_clear(&closing->fingerprint);
	g_free(closing->next);
	gbe_backup_ref_clear(&closing->backup);
	*closing = (GbeClosing){.used = -1};
}

void
gbe_closing_copy(GbeClosing *to, const GbeClosing *from)
{
	gbe_closing_clear(to);
	to->present = from->present;
	gbe_fingerprint_copy(&to->fingerprint, &from->fingerprint);
	to->used = from->used;
	to->at = from->at;
	to->next = g_strdup(from->next);
	gbe_backup_ref_set(&to->backup, from->backup);
}

GbeTakeOver *
gbe_take_over_new(void)
{
	GbeTakeOver *take_over = g_new0(GbeTakeOver, 1);

	take_over->chain = g_ptr_array_new_with_free_func(link_free);
	take_over->trial.used = -1;
	take_over->closing.used = -1;
	take_over->uptime = -1;
	return take_over;
}

void
gbe_take_over_free(GbeTakeOver *take_over)
{
	if (take_over == NULL)
		return;
	gbe_deployment_clear(&take_over->deployment);
	g_free(take_over->run);
	g_free(take_over->tree);
	g_free(take_over->nonce);
	gbe_lineage_clear(&take_over->lineage);
	g_ptr_array_unref(take_over->chain);
	gbe_backup_ref_clear(&take_over->found);
	g_free(take_over->source);
	g_free(take_over->request);
	g_free(take_over->etcd_version);
	g_free(take_over->store_path);
	g_free(take_over->store_fs);
	g_free(take_over->member_id);
	g_free(take_over->cluster_id);
	gbe_closing_clear(&take_over->closing);
	g_free(take_over);
}

GbeTakeOver *
gbe_take_over_copy(const GbeTakeOver *from)
{
	GbeTakeOver *copy = g_memdup2(from, sizeof(*from));

	copy->deployment = (GbeDeployment){0};
	gbe_deployment_copy(&copy->deployment, &from->deployment);
	copy->run = g_strdup(from->run);
	copy->tree = g_strdup(from->tree);
	copy->nonce = g_strdup(from->nonce);
	copy->lineage = (GbeLineage){0};
	gbe_lineage_copy(&copy->lineage, &from->lineage);
	copy->chain = g_ptr_array_new_with_free_func(link_free);
	for (guint i = 0; i < from->chain->len; i++) {
		const GbeLink *link = from->chain->pdata[i];

		gbe_take_over_link(copy, &link->backup, &link->owner, link->failed);
	}
	copy->found = (GbeBackupRef){0};
	gbe_backup_ref_set(&copy->found, from->found);
	copy->source = g_strdup(from->source);
	copy->request = g_strdup(from->request);
	copy->etcd_version = g_strdup(from->etcd_version);
	copy->store_path = g_strdup(from->store_path);
	copy->store_fs = g_strdup(from->store_fs);
	copy->member_id = g_strdup(from->member_id);
	copy->cluster_id = g_strdup(from->cluster_id);
	copy->closing = (GbeClosing){0};
	gbe_closing_copy(&copy->closing, &from->closing);
	return copy;
}

void
gbe_take_over_link(GbeTakeOver *take_over, const GbeBackupRef *backup, const GbeDeployment *owner,
		   gboolean failed)
{
	GbeLink *link;

	if (take_over->chain->len >= GBE_CHAIN_MAX)
		return;
	link = g_new0(GbeLink, 1);
	if (backup != NULL)
		gbe_backup_ref_set(&link->backup, *backup);
	if (owner != NULL)
		gbe_deployment_copy(&link->owner, owner);
	link->failed = failed;
	g_ptr_array_add(take_over->chain, link);
}

const GbeBackupRef *
gbe_take_over_base(const GbeTakeOver *take_over)
{
	return take_over->chain->len > 0 ? &((GbeLink *)take_over->chain->pdata[0])->backup : NULL;
}

static void
read_ref(GbeMembers *m, const char *key, GbeBackupRef *ref)
{
	JsonObject *object = gbe_members_object(m, key);
	GbeMembers inner = {object, "", NULL};

	if (object == NULL)
		return;
	ref->name = gbe_members_string(&inner, "name", &gbe_kind_backup);
	ref->sequence = gbe_members_u64(&inner, "sequence", 0);
	ref->line = gbe_members_u64(&inner, "line", 0);
	ref->place = gbe_members_u64(&inner, "place", 0);
	if (m->error == NULL)
		m->error = g_steal_pointer(&inner.error);
	g_clear_error(&inner.error);
}

static void
print_ref(JsonObject *object, const char *key, const GbeBackupRef *ref)
{
	JsonObject *inner;

	if (ref->name == NULL) {
		json_object_set_null_member(object, key);
		return;
	}
	inner = json_object_new();
	json_object_set_string_member(inner, "name", ref->name);
	json_object_set_int_member(inner, "sequence", (gint64)ref->sequence);
	json_object_set_int_member(inner, "line", (gint64)ref->line);
	json_object_set_int_member(inner, "place", (gint64)ref->place);
	json_object_set_object_member(object, key, inner);
}

static void
read_chain(GbeMembers *m, GbeTakeOver *take_over)
{
	JsonArray *array = gbe_members_array(m, CHAIN);
	guint len = array != NULL ? json_array_get_length(array) : 0;

	for (guint i = 0; i < len && m->error == NULL; i++) {
		JsonNode *node = json_array_get_element(array, i);
		GbeMembers inner = {NULL, CHAIN ".", NULL};
		GbeDeployment owner = {0};
		GbeBackupRef backup = {0};

		if (!JSON_NODE_HOLDS_OBJECT(node)) {
			gbe_members_fail(m, CHAIN, "is not an array of links");
			return;
		}
		inner.object = json_node_get_object(node);
		read_ref(&inner, "backup", &backup);
		gbe_parts_read_deployment(&inner, &owner, false);
		gbe_take_over_link(take_over, &backup, &owner, gbe_members_bool(&inner, "failed"));
		gbe_backup_ref_clear(&backup);
		gbe_deployment_clear(&owner);
		m->error = g_steal_pointer(&inner.error);
	}
}

static void
print_chain(JsonObject *object, const GbeTakeOver *take_over)
{
	JsonArray *array = json_array_new();

	for (guint i = 0; i < take_over->chain->len; i++) {
		const GbeLink *link = take_over->chain->pdata[i];
		JsonObject *element = json_object_new();

		print_ref(element, "backup", &link->backup);
		gbe_parts_print_deployment(element, &link->owner);
		json_object_set_boolean_member(element, "failed", link->failed);
		json_array_add_object_element(array, element);
	}
	json_object_set_array_member(object, CHAIN, array);
}

void
gbe_closing_from_json(JsonObject *object, GbeClosing *closing)
{
	GbeMembers m = {object, "", NULL};

	gbe_closing_clear(closing);
	gbe_parts_read_fingerprint(&m, "fingerprint", &closing->fingerprint);
	closing->used = gbe_members_i64(&m, "used", -1);
	closing->at = gbe_members_i64(&m, "at", 0);
	closing->next = gbe_members_string(&m, "next", &gbe_kind_deployment);
	read_ref(&m, "backup", &closing->backup);
	closing->present = gbe_members_end(&m, "closing", NULL) && closing->fingerprint.present;
}

JsonObject *
gbe_closing_to_json(const GbeClosing *closing)
{
	JsonObject *object = json_object_new();

	gbe_parts_print_fingerprint(object, "fingerprint", &closing->fingerprint);
	gbe_json_set_known(object, "used", closing->used);
	json_object_set_int_member(object, "at", closing->at);
	gbe_json_set_string(object, "next", closing->next);
	print_ref(object, "backup", &closing->backup);
	return object;
}

bool
gbe_take_over_from_json(JsonObject *object, GbeTakeOver **ret_take_over, GError **error)
{
	g_autoptr(GbeTakeOver) t = gbe_take_over_new();
	GbeMembers m = {object, "", NULL};

	gbe_members_need(&m, "deployment");
	gbe_parts_read_deployment(&m, &t->deployment, false);
	if (!json_object_has_member(object, "run"))
		gbe_members_fail(&m, "run", "is missing");
	t->run = gbe_members_string(&m, "run", &gbe_kind_run);
	t->sequence = gbe_members_sequence(&m, "sequence");
	t->tree = gbe_members_string(&m, "tree", NULL);
	t->nonce = gbe_members_string(&m, "nonce", &gbe_kind_hex64);
	gbe_parts_read_lineage(&m, &t->lineage);
	read_chain(&m, t);
	t->after = gbe_members_u64(&m, "after", 0);
	t->after_trial = gbe_members_tri(&m, "after_trial");
	read_ref(&m, "found", &t->found);
	t->source = gbe_members_string(&m, "source", &gbe_kind_backup);
	t->asked = gbe_members_bool(&m, "asked");
	t->skipped = gbe_members_bool(&m, "skipped");
	t->failed = gbe_members_bool(&m, "failed");
	t->request = gbe_members_string(&m, "request", NULL);
	t->etcd_version = gbe_members_string(&m, "etcd_version", NULL);
	t->voters = gbe_members_uint(&m, "voters", 0);
	t->mount_point = gbe_members_tri(&m, "mount_point");
	t->was_default = gbe_members_tri(&m, "was_default");
	gbe_parts_read_trial(&m, &t->trial);
	t->at = gbe_members_i64(&m, "at", 0);
	t->uptime = gbe_members_i64(&m, "uptime", -1);
	t->store_path = gbe_members_string(&m, "store_path", &gbe_kind_path);
	t->store_fs = gbe_members_string(&m, "store_fs", NULL);
	t->member_id = gbe_members_string(&m, "member_id", &gbe_kind_hex64);
	t->cluster_id = gbe_members_string(&m, "cluster_id", &gbe_kind_hex64);
	if (!gbe_members_end(&m, "take-over", error))
		return false;
	*ret_take_over = g_steal_pointer(&t);
	return true;
}

JsonObject *
gbe_take_over_to_json(const GbeTakeOver *t)
{
	JsonObject *object = json_object_new();

	gbe_parts_print_deployment(object, &t->deployment);
	gbe_json_set_string(object, "run", t->run);
	json_object_set_int_member(object, "sequence", (gint64)t->sequence);
	gbe_json_set_string(object, "tree", t->tree);
	gbe_json_set_string(object, "nonce", t->nonce);
	gbe_parts_print_lineage(object, &t->lineage);
	print_chain(object, t);
	json_object_set_int_member(object, "after", (gint64)t->after);
	gbe_json_set_tri(object, "after_trial", t->after_trial);
	print_ref(object, "found", &t->found);
	gbe_json_set_string(object, "source", t->source);
	json_object_set_boolean_member(object, "asked", t->asked);
	json_object_set_boolean_member(object, "skipped", t->skipped);
	json_object_set_boolean_member(object, "failed", t->failed);
	gbe_json_set_string(object, "request", t->request);
	gbe_json_set_string(object, "etcd_version", t->etcd_version);
	json_object_set_int_member(object, "voters", t->voters);
	gbe_json_set_tri(object, "mount_point", t->mount_point);
	gbe_json_set_tri(object, "was_default", t->was_default);
	gbe_parts_print_trial(object, &t->trial);
	json_object_set_int_member(object, "at", t->at);
	gbe_json_set_known(object, "uptime", t->uptime);
	gbe_json_set_string(object, "store_path", t->store_path);
	gbe_json_set_string(object, "store_fs", t->store_fs);
	gbe_json_set_string(object, "member_id", t->member_id);
	gbe_json_set_string(object, "cluster_id", t->cluster_id);
	return object;
}
