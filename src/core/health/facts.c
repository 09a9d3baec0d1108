/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/health/health.h"

#include "core/redact.h"

void
gbe_health_facts_reset(GbeHealthFacts *facts)
{
	GbeQuestion *questions[] = {&facts->status, &facts->members, &facts->write, &facts->read};

	for (gsize i = 0; i < G_N_ELEMENTS(questions); i++) {
		g_free(questions[i]->why);
		*questions[i] = (GbeQuestion){.reach = GBE_REACH_NOT_ASKED};
	}
	g_clear_pointer(&facts->version, g_free);
	g_clear_pointer(&facts->storage_version, g_free);
	facts->cluster_id = facts->member_id = 0;
	facts->revision = facts->db_size = facts->db_in_use = facts->quota = -1;
	facts->leader = facts->raft_index = facts->raft_applied = 0;
	facts->member_count = facts->voters = 0;
	facts->learner = facts->no_space = facts->corrupt = facts->other_alarm = false;
	facts->defragmenting = false;
	facts->opens_db = facts->opens_log = GBE_UNKNOWN;
}

GbeHealthFacts *
gbe_health_facts_new(void)
{
	GbeHealthFacts *facts = g_new0(GbeHealthFacts, 1);

	gbe_health_facts_reset(facts);
	facts->size = facts->free = facts->inodes = facts->inodes_free = -1;
	facts->expected_revision = -1;
	for (guint i = 0; i < G_N_ELEMENTS(facts->tls); i++)
		facts->tls[i].begins = facts->tls[i].expires = -1;
	return facts;
}

void
gbe_tls_file_free(gpointer data)
{
	GbeTlsFile *file = data;

	g_free(file->path);
	g_free(file->problem);
	g_free(file);
}

void
gbe_health_facts_free(GbeHealthFacts *facts)
{
	if (facts == NULL)
		return;
	gbe_health_facts_reset(facts);
	for (guint i = 0; i < G_N_ELEMENTS(facts->tls); i++) {
		g_free(facts->tls[i].path);
		g_free(facts->tls[i].problem);
	}
	g_clear_pointer(&facts->certs, g_ptr_array_unref);
	g_free(facts->unit);
	g_free(facts->held_why);
	g_free(facts->data_dir);
	g_free(facts->endpoint);
	g_free(facts->expected_cluster_id);
	g_free(facts->expected_member_id);
	g_free(facts);
}

void
gbe_health_facts_configure(GbeHealthFacts *facts, const GbeConfig *config)
{
	facts->min_free = config->health.min_free;
	facts->quota_warn = config->health.quota_warn;
	facts->cert_warn = config->health.cert_warn;
	facts->on_nospace = config->health.on_nospace;
	g_free(facts->unit);
	facts->unit = g_strdup(config->etcd.service);
	g_free(facts->endpoint);
	facts->endpoint = gbe_redact_endpoint(config->etcd.endpoint);
	g_free(facts->data_dir);
	facts->data_dir = g_strdup(config->etcd.data_dir);
}

void
gbe_health_report_free(GbeHealthReport *report)
{
	if (report == NULL)
		return;
	for (guint i = 0; i < GBE_N_CHECKS; i++)
		g_free(report->steps[i].detail);
	g_free(report->reason);
	g_free(report);
}

const char *
gbe_check_to_string(GbeCheckKind step)
{
	static const char *const words[GBE_N_CHECKS] = {[GBE_CHECK_SERVICE] = "service",
							[GBE_CHECK_DATA] = "data",
							[GBE_CHECK_DISK] = "disk",
							[GBE_CHECK_CERTIFICATES] = "certificates",
							[GBE_CHECK_REACHED] = "reached",
							[GBE_CHECK_LEADER] = "leader",
							[GBE_CHECK_ALARMS] = "alarms",
							[GBE_CHECK_WRITE] = "write",
							[GBE_CHECK_READ] = "read",
							[GBE_CHECK_MEMBER] = "member",
							[GBE_CHECK_REVISION] = "revision",
							[GBE_CHECK_QUOTA] = "quota",
							[GBE_CHECK_LAG] = "lag"};

	return words[step];
}

const char *
gbe_check_result_to_string(GbeCheckResult result)
{
	static const char *const words[] = {[GBE_CHECK_NOT_APPLICABLE] = "not-applicable",
					    [GBE_CHECK_PASSED] = "passed",
					    [GBE_CHECK_WARNING] = "warning",
					    [GBE_CHECK_FAILED] = "failed"};

	return words[result];
}
