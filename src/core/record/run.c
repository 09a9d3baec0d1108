/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/run.h"

#include "core/record/take-over.h"

/* Those with a key are a verdict's. */
static const GbeField fields[] = {
    GBE_FIELD_OF(GbeRunRecord, verdict, "verdict", WORD, &gbe_verdict_words, 0),
    GBE_FIELD(GbeRunRecord, by_hand, "by_hand", FLAG),
    GBE_FIELD_OF(GbeRunRecord, health, "health", WORD, &gbe_health_words, 0),
    GBE_FIELD(GbeRunRecord, reason, "reason", TEXT),
    GBE_FIELD(GbeRunRecord, etcd_version, "etcd_version", TEXT),
    GBE_FIELD(GbeRunRecord, revision, "revision", KNOWN),
    GBE_FIELD_OF(GbeRunRecord, member_id, "member_id", TEXT, &gbe_kind_hex64, 0),
    GBE_FIELD_OF(GbeRunRecord, cluster_id, "cluster_id", TEXT, &gbe_kind_hex64, 0),
    GBE_FIELD(GbeRunRecord, voters, "voters", COUNT),
    GBE_FIELD_BY(GbeRunRecord, deployment, NULL, PART, gbe_deployment_fields, 0),
    GBE_FIELD(GbeRunRecord, run, NULL, TEXT),
    GBE_FIELD(GbeRunRecord, updated_from, NULL, TEXT),
    GBE_FIELD_BY(GbeRunRecord, left, NULL, PART, gbe_backup_ref_fields, 0),
    {0},
};

GbeRunRecord *
gbe_run_record_new(void)
{
	GbeRunRecord *record = g_new0(GbeRunRecord, 1);

	gbe_fields_init(fields, record);
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
	gbe_fields_clear(fields, record);
	g_free(record);
}

GbeRunRecord *
gbe_run_record_copy(const GbeRunRecord *record)
{
	GbeRunRecord *copy = g_memdup2(record, sizeof(*record));

	gbe_fields_own(fields, copy);
	return copy;
}

bool
gbe_run_record_is_green(const GbeRunRecord *record)
{
	return record->verdict == GBE_VERDICT_GREEN || record->was_green;
}

static bool
read_verdict(JsonObject *object, GbeRunRecord *record, GError **error)
{
	GbeMembers m = {object, "", NULL};

	gbe_fields_read(fields, &m, record);
	return gbe_members_end(&m, "verdict", error);
}

bool
gbe_verdict_from_json(JsonObject *object, GbeRunRecord *record, GError **error)
{
	/* A record that cannot be read changes nothing, so it is tried first. */
	g_autoptr(GbeRunRecord) tried = gbe_run_record_new();

	return read_verdict(object, tried, error) && read_verdict(object, record, error);
}

JsonObject *
gbe_verdict_to_json(const GbeRunRecord *record)
{
	JsonObject *object = json_object_new();

	json_object_set_int_member(object, "of", (gint64)record->sequence);
	gbe_fields_print(fields, object, record);
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
