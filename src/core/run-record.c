/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/run-record.h"

#include "core/members.h"
#include "core/record.h"

GbeRunRecord *
gbe_run_record_new(void)
{
	GbeRunRecord *record = g_new0(GbeRunRecord, 1);

	record->revision = -1;
	return record;
}

GbeRunRecord *
gbe_run_record_of(const GbeTakeOver *take_over)
{
	GbeRunRecord *record = gbe_run_record_new();

	record->sequence = take_over->sequence;
	gbe_deployment_copy(&record->deployment, &take_over->deployment);
	record->run = g_strdup(take_over->run);
	record->trial = take_over->trial.on;
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
	gbe_backup_ref_clear(&record->left);
	g_free(record);
}

GbeRunRecord *
gbe_run_record_copy(const GbeRunRecord *record)
{
	GbeRunRecord *copy = g_memdup2(record, sizeof(*record));

	copy->deployment = (GbeDeployment){0};
	gbe_deployment_copy(&copy->deployment, &record->deployment);
	copy->run = g_strdup(record->run);
	copy->reason = g_strdup(record->reason);
	copy->etcd_version = g_strdup(record->etcd_version);
	copy->member_id = g_strdup(record->member_id);
	copy->cluster_id = g_strdup(record->cluster_id);
	copy->left = (GbeBackupRef){0};
	gbe_backup_ref_set(&copy->left, record->left);
	return copy;
}

static void
take(char **to, char *from)
{
	g_free(*to);
	*to = from;
}

bool
gbe_verdict_from_json(JsonObject *object, GbeRunRecord *record, GError **error)
{
	GbeMembers m = {object, "", NULL};
	g_autoptr(GbeRunRecord) read = gbe_run_record_new();

	read->verdict = gbe_verdict_from_string(gbe_members_word(&m, "verdict"));
	read->by_hand = gbe_members_bool(&m, "by_hand");
	read->health = gbe_health_from_string(gbe_members_word(&m, "health"));
	read->reason = gbe_members_string(&m, "reason", NULL);
	read->etcd_version = gbe_members_string(&m, "etcd_version", NULL);
	read->revision = gbe_members_i64(&m, "revision", -1);
	read->member_id = gbe_members_string(&m, "member_id", &gbe_kind_hex64);
	read->cluster_id = gbe_members_string(&m, "cluster_id", &gbe_kind_hex64);
	read->voters = gbe_members_uint(&m, "voters", 0);
	if (!gbe_members_end(&m, "verdict", error))
		return false;
	record->verdict = read->verdict;
	record->by_hand = read->by_hand;
	record->health = read->health;
	take(&record->reason, g_steal_pointer(&read->reason));
	take(&record->etcd_version, g_steal_pointer(&read->etcd_version));
	record->revision = read->revision;
	take(&record->member_id, g_steal_pointer(&read->member_id));
	take(&record->cluster_id, g_steal_pointer(&read->cluster_id));
	record->voters = read->voters;
	return true;
}

JsonObject *
gbe_verdict_to_json(const GbeRunRecord *record)
{
	JsonObject *object = json_object_new();

	json_object_set_int_member(object, "of", (gint64)record->sequence);
	gbe_json_set_string(object, "verdict", gbe_verdict_to_string(record->verdict));
	json_object_set_boolean_member(object, "by_hand", record->by_hand);
	gbe_json_set_string(object, "health", gbe_health_to_string(record->health));
	gbe_json_set_string(object, "reason", record->reason);
	gbe_json_set_string(object, "etcd_version", record->etcd_version);
	gbe_json_set_known(object, "revision", record->revision);
	gbe_json_set_string(object, "member_id", record->member_id);
	gbe_json_set_string(object, "cluster_id", record->cluster_id);
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
