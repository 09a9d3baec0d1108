/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/stamp.h"

#include "core/members.h"
#include "core/parts.h"
#include "core/record.h"

#define CLOSING "closing"

GbeStamp *
gbe_stamp_new(void)
{
	GbeStamp *stamp = g_new0(GbeStamp, 1);

	stamp->format = GBE_FORMAT;
	stamp->trial.used = -1;
	stamp->closing.used = -1;
	stamp->uptime = -1;
	return stamp;
}

void
gbe_stamp_free(GbeStamp *stamp)
{
	if (stamp == NULL)
		return;
	g_free(stamp->written_by);
	gbe_deployment_clear(&stamp->deployment);
	g_free(stamp->run);
	gbe_lineage_clear(&stamp->lineage);
	g_free(stamp->previous);
	g_free(stamp->restored_from);
	g_free(stamp->etcd_version);
	g_free(stamp->store_path);
	g_free(stamp->store_fs);
	g_free(stamp->data_handle);
	g_free(stamp->member_id);
	g_free(stamp->cluster_id);
	gbe_fingerprint_clear(&stamp->closing.fingerprint);
	g_free(stamp->closing.next);
	g_free(stamp->closing.backup);
	g_clear_pointer(&stamp->unknown, json_object_unref);
	g_free(stamp);
}

GbeStamp *
gbe_stamp_copy(const GbeStamp *stamp)
{
	GbeStamp *copy = g_memdup2(stamp, sizeof(*stamp));
	GbeDeployment no_deployment = {0};
	GbeLineage no_lineage = {0};
	GbeFingerprint no_fingerprint = {0};

	copy->written_by = g_strdup(stamp->written_by);
	copy->deployment = no_deployment;
	gbe_deployment_copy(&copy->deployment, &stamp->deployment);
	copy->run = g_strdup(stamp->run);
	copy->lineage = no_lineage;
	gbe_lineage_copy(&copy->lineage, &stamp->lineage);
	copy->previous = g_strdup(stamp->previous);
	copy->restored_from = g_strdup(stamp->restored_from);
	copy->etcd_version = g_strdup(stamp->etcd_version);
	copy->store_path = g_strdup(stamp->store_path);
	copy->store_fs = g_strdup(stamp->store_fs);
	copy->data_handle = g_strdup(stamp->data_handle);
	copy->member_id = g_strdup(stamp->member_id);
	copy->cluster_id = g_strdup(stamp->cluster_id);
	copy->closing.fingerprint = no_fingerprint;
	gbe_fingerprint_copy(&copy->closing.fingerprint, &stamp->closing.fingerprint);
	copy->closing.next = g_strdup(stamp->closing.next);
	copy->closing.backup = g_strdup(stamp->closing.backup);
	/* Never changed once read, so that it can be shared. */
	copy->unknown = stamp->unknown != NULL ? json_object_ref(stamp->unknown) : NULL;
	return copy;
}

static void
read_closing(GbeMembers *m, GbeClosing *closing)
{
	GbeMembers inner = {gbe_members_object(m, CLOSING), CLOSING ".", NULL};

	if (inner.object == NULL)
		return;
	closing->present = TRUE;
	gbe_parts_read_fingerprint(&inner, "fingerprint", &closing->fingerprint);
	closing->used = gbe_members_i64(&inner, "used", -1);
	closing->at = gbe_members_i64(&inner, "at", 0);
	closing->next = gbe_members_string(&inner, "next", &gbe_kind_deployment);
	closing->backup = gbe_members_string(&inner, "backup", &gbe_kind_backup);
	if (m->error == NULL)
		m->error = g_steal_pointer(&inner.error);
	g_clear_error(&inner.error);
}

static void
read_store(GbeMembers *m, GbeStamp *stamp)
{
	stamp->store_path = gbe_members_string(m, "store_path", &gbe_kind_path);
	stamp->store_fs = gbe_members_string(m, "store_fs", NULL);
	stamp->data_handle = gbe_members_string(m, "data_handle", NULL);
	stamp->member_id = gbe_members_string(m, "member_id", &gbe_kind_hex64);
	stamp->cluster_id = gbe_members_string(m, "cluster_id", &gbe_kind_hex64);
}

bool
gbe_stamp_parse(const char *bytes, gsize size, GbeStamp **ret_stamp, GError **error)
{
	g_autoptr(GbeStamp) stamp = gbe_stamp_new();
	GbeMembers m = {0};

	if (!gbe_json_parse_object(bytes, size, "stamp", &stamp->unknown, error))
		return false;
	m.object = stamp->unknown;
	stamp->format = gbe_members_uint(&m, "format", GBE_FORMAT);
	stamp->written_by = gbe_members_string(&m, "written_by", NULL);
	gbe_parts_read_deployment(&m, &stamp->deployment, true);
	/* A run that was not known is written as null, and is never "the same": see GbeFacts. */
	if (!json_object_has_member(m.object, "run"))
		gbe_members_fail(&m, "run", "is missing");
	stamp->run = gbe_members_string(&m, "run", &gbe_kind_run);
	stamp->sequence = gbe_members_sequence(&m, "sequence");
	gbe_parts_read_lineage(&m, &stamp->lineage);
	stamp->previous = gbe_members_string(&m, "previous", &gbe_kind_backup);
	stamp->restored_from = gbe_members_string(&m, "restored_from", &gbe_kind_backup);
	stamp->etcd_version = gbe_members_string(&m, "etcd_version", NULL);
	stamp->voters = gbe_members_uint(&m, "voters", 0);
	stamp->mount_point = gbe_members_tri(&m, "mount_point");
	stamp->was_default = gbe_members_tri(&m, "was_default");
	gbe_parts_read_trial(&m, &stamp->trial);
	stamp->stamped = gbe_members_i64(&m, "stamped", 0);
	stamp->uptime = gbe_members_i64(&m, "uptime", -1);
	read_store(&m, stamp);
	read_closing(&m, &stamp->closing);
	if (!gbe_members_end(&m, "stamp", error))
		return false;
	*ret_stamp = g_steal_pointer(&stamp);
	return true;
}

static void
print_closing(JsonObject *object, const GbeClosing *closing)
{
	JsonObject *inner;

	if (!closing->present) {
		json_object_set_null_member(object, CLOSING);
		return;
	}
	inner = gbe_json_open_object(object, CLOSING);
	gbe_parts_print_fingerprint(inner, "fingerprint", &closing->fingerprint);
	gbe_json_set_known(inner, "used", closing->used);
	if (closing->at > 0)
		json_object_set_int_member(inner, "at", closing->at);
	else
		json_object_remove_member(inner, "at");
	gbe_json_set_string(inner, "next", closing->next);
	gbe_json_set_string(inner, "backup", closing->backup);
}

char *
gbe_stamp_print(const GbeStamp *stamp)
{
	g_autoptr(JsonObject) object = gbe_json_copy_object(stamp->unknown);

	gbe_json_set_format(object, stamp->format, stamp->written_by);
	gbe_parts_print_deployment(object, &stamp->deployment);
	gbe_json_set_string(object, "run", stamp->run);
	json_object_set_int_member(object, "sequence", (gint64)stamp->sequence);
	gbe_parts_print_lineage(object, &stamp->lineage);
	gbe_json_set_string(object, "previous", stamp->previous);
	gbe_json_set_string(object, "restored_from", stamp->restored_from);
	gbe_json_set_string(object, "etcd_version", stamp->etcd_version);
	json_object_set_int_member(object, "voters", stamp->voters);
	gbe_json_set_tri(object, "mount_point", stamp->mount_point);
	gbe_json_set_tri(object, "was_default", stamp->was_default);
	gbe_parts_print_trial(object, &stamp->trial);
	json_object_set_int_member(object, "stamped", stamp->stamped);
	if (stamp->uptime >= 0)
		json_object_set_int_member(object, "uptime", stamp->uptime);
	else
		json_object_remove_member(object, "uptime");
	gbe_json_set_string(object, "store_path", stamp->store_path);
	gbe_json_set_string(object, "store_fs", stamp->store_fs);
	gbe_json_set_string(object, "data_handle", stamp->data_handle);
	gbe_json_set_string(object, "member_id", stamp->member_id);
	gbe_json_set_string(object, "cluster_id", stamp->cluster_id);
	print_closing(object, &stamp->closing);
	return gbe_json_print_object(object);
}
