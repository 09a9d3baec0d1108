/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/run-record.h"

#include "core/members.h"
#include "core/parts.h"
#include "core/record.h"

#include <string.h>

#define SEQUENCE_DIGITS 20
#define SEQUENCE_MAX ((G_GUINT64_CONSTANT(1) << 53) - 1)
#define GONE "gone"

GbeRunRecord *
gbe_run_record_new(void)
{
	GbeRunRecord *record = g_new0(GbeRunRecord, 1);

	record->revision = -1;
	return record;
}

void
gbe_run_record_free(GbeRunRecord *record)
{
	if (record == NULL)
		return;
	gbe_deployment_clear(&record->deployment);
	g_free(record->run);
	g_free(record->reason);
	g_free(record->etcd_version);
	g_free(record->member_id);
	g_free(record->cluster_id);
	g_clear_pointer(&record->unknown, json_object_unref);
	g_free(record);
}

GbeRunRecord *
gbe_run_record_copy(const GbeRunRecord *record)
{
	GbeRunRecord *copy = g_memdup2(record, sizeof(*record));
	GbeDeployment no_deployment = {0};

	copy->deployment = no_deployment;
	gbe_deployment_copy(&copy->deployment, &record->deployment);
	copy->run = g_strdup(record->run);
	copy->reason = g_strdup(record->reason);
	copy->etcd_version = g_strdup(record->etcd_version);
	copy->member_id = g_strdup(record->member_id);
	copy->cluster_id = g_strdup(record->cluster_id);
	copy->voters = record->voters;
	copy->unknown = record->unknown != NULL ? json_object_ref(record->unknown) : NULL;
	return copy;
}

char *
gbe_run_record_name(guint64 sequence, GbeVerdict verdict)
{
	return g_strdup_printf("%0*" G_GUINT64_FORMAT ".%s", SEQUENCE_DIGITS, sequence,
			       gbe_verdict_to_string(verdict));
}

bool
gbe_run_record_name_parse(const char *name, guint64 *ret_sequence, GbeVerdict *ret_verdict)
{
	guint64 sequence;
	GbeVerdict verdict;

	if (strspn(name, "0123456789") != SEQUENCE_DIGITS || name[SEQUENCE_DIGITS] != '.')
		return false;
	sequence = g_ascii_strtoull(name, NULL, 10);
	if (sequence == 0 || sequence > SEQUENCE_MAX)
		return false;
	/* In a name an unknown word makes it somebody else's file, not a run without verdict. */
	verdict = gbe_verdict_from_string(name + SEQUENCE_DIGITS + 1);
	if (!g_str_equal(gbe_verdict_to_string(verdict), name + SEQUENCE_DIGITS + 1))
		return false;
	if (ret_sequence != NULL)
		*ret_sequence = sequence;
	if (ret_verdict != NULL)
		*ret_verdict = verdict;
	return true;
}

bool
gbe_run_record_from_json(JsonObject *object, GbeRunRecord **ret_record, GError **error)
{
	g_autoptr(GbeRunRecord) record = gbe_run_record_new();
	GbeMembers m = {object, "", NULL};

	record->unknown = json_object_ref(object);
	gbe_parts_read_deployment(&m, &record->deployment, true);
	record->run = gbe_members_string(&m, "run", &gbe_kind_run);
	record->trial = gbe_members_tri(&m, "trial");
	record->by_hand = gbe_members_bool(&m, "by_hand");
	record->health = gbe_health_from_string(gbe_members_word(&m, "health"));
	record->reason = gbe_members_string(&m, "reason", NULL);
	record->etcd_version = gbe_members_string(&m, "etcd_version", NULL);
	record->revision = gbe_members_i64(&m, "revision", -1);
	record->member_id = gbe_members_string(&m, "member_id", &gbe_kind_hex64);
	record->cluster_id = gbe_members_string(&m, "cluster_id", &gbe_kind_hex64);
	record->voters = gbe_members_uint(&m, "voters", 0);
	if (!gbe_members_end(&m, "run", error))
		return false;
	*ret_record = g_steal_pointer(&record);
	return true;
}

JsonObject *
gbe_run_record_to_json(const GbeRunRecord *record)
{
	JsonObject *object = gbe_json_copy_object(record->unknown);
	GbeHealth before = gbe_health_from_string(gbe_json_string(object, "health", NULL));

	gbe_json_keep_format(object);
	gbe_parts_print_deployment(object, &record->deployment);
	gbe_json_set_string(object, "run", record->run);
	gbe_json_set_tri(object, "trial", record->trial);
	json_object_set_boolean_member(object, "by_hand", record->by_hand);
	gbe_json_set_word(object, "health", gbe_health_to_string(record->health),
			  before == record->health);
	gbe_json_set_string(object, "reason", record->reason);
	gbe_json_set_string(object, "etcd_version", record->etcd_version);
	gbe_json_set_known(object, "revision", record->revision);
	gbe_json_set_string(object, "member_id", record->member_id);
	gbe_json_set_string(object, "cluster_id", record->cluster_id);
	if (record->voters > 0)
		json_object_set_int_member(object, "voters", record->voters);
	return object;
}

void
gbe_gone_free(GbeGone *gone)
{
	if (gone == NULL)
		return;
	g_free(gone->id);
	g_free(gone);
}

GPtrArray *
gbe_gone_from_json(JsonObject *object)
{
	GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_gone_free);
	JsonArray *array = gbe_json_array(object, GONE);
	guint len = array != NULL ? json_array_get_length(array) : 0;

	for (guint i = 0; i < len; i++) {
		JsonNode *node = json_array_get_element(array, i);
		JsonObject *element;
		GbeGone *gone;
		const char *id;

		if (!JSON_NODE_HOLDS_OBJECT(node))
			continue;
		element = json_node_get_object(node);
		id = gbe_json_string(element, "id", NULL);
		if (id == NULL || gbe_json_int(element, "sequence", -1) < 0)
			continue;
		gone = g_new0(GbeGone, 1);
		gone->id = g_strdup(id);
		gone->sequence = (guint64)gbe_json_int(element, "sequence", 0);
		g_ptr_array_add(list, gone);
	}
	return list;
}

JsonObject *
gbe_gone_to_json(GPtrArray *list)
{
	JsonObject *object = json_object_new();
	JsonArray *array = json_array_new();

	for (guint i = 0; i < list->len; i++) {
		const GbeGone *gone = list->pdata[i];
		JsonObject *element = json_object_new();

		gbe_json_set_string(element, "id", gone->id);
		json_object_set_int_member(element, "sequence", (gint64)gone->sequence);
		json_array_add_object_element(array, element);
	}
	gbe_json_keep_format(object);
	json_object_set_array_member(object, GONE, array);
	return object;
}
