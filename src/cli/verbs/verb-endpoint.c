/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* endpoint status, alarm list: one question each to the configured etcd. */
#include "base/format.h"
#include "cli/ask.h"
#include "cli/print.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "etcd/api/client.h"

/* ---- endpoint status ---- */

typedef struct {
	const char *endpoint;
	GbeEtcdStatus etcd;
	bool is_leader;
} StatusAnswer;

const GbeField gbe_endpoint_fields[] = {
    GBE_FIELD_SET(StatusAnswer, endpoint, "endpoint", TEXT),
    GBE_FIELD(StatusAnswer, etcd.header.member_id, "member_id", ID),
    GBE_FIELD(StatusAnswer, etcd.header.cluster_id, "cluster_id", ID),
    GBE_FIELD(StatusAnswer, etcd.version, "version", TEXT),
    GBE_FIELD(StatusAnswer, etcd.storage_version, "storage_version", TEXT),
    GBE_FIELD(StatusAnswer, etcd.header.revision, "revision", TIME),
    GBE_FIELD(StatusAnswer, etcd.db_size, "db_size", MOMENT),
    GBE_FIELD(StatusAnswer, etcd.db_in_use, "db_in_use", MOMENT),
    GBE_FIELD(StatusAnswer, etcd.quota, "quota", MOMENT),
    GBE_FIELD(StatusAnswer, is_leader, "is_leader", FLAG),
    GBE_FIELD(StatusAnswer, etcd.leader, "leader", ID),
    GBE_FIELD(StatusAnswer, etcd.learner, "learner", FLAG),
    GBE_FIELD(StatusAnswer, etcd.raft_term, "raft_term", NUMBER),
    GBE_FIELD(StatusAnswer, etcd.raft_index, "raft_index", NUMBER),
    GBE_FIELD(StatusAnswer, etcd.raft_applied, "raft_applied", NUMBER),
    GBE_FIELD(StatusAnswer, etcd.errors, "errors", TEXTS),
    {0},
};

static void
print_status(const StatusAnswer *answer)
{
	static const char *const titles[] = {"ENDPOINT",   "ID",	"VERSION",    "DB SIZE",
					     "IN USE",	   "IS LEADER", "IS LEARNER", "RAFT TERM",
					     "RAFT INDEX", "APPLIED",	"ERRORS",     NULL};
	const GbeEtcdStatus *etcd = &answer->etcd;
	g_autoptr(GbeTable) table = gbe_table_new(titles);
	g_autofree char *id = gbe_hex64(etcd->header.member_id);
	g_autofree char *size = gbe_size_to_text((guint64)MAX(etcd->db_size, 0));
	g_autofree char *used = gbe_size_to_text((guint64)MAX(etcd->db_in_use, 0));
	g_autofree char *term = g_strdup_printf("%" G_GUINT64_FORMAT, etcd->raft_term);
	g_autofree char *index = g_strdup_printf("%" G_GUINT64_FORMAT, etcd->raft_index);
	g_autofree char *applied = g_strdup_printf("%" G_GUINT64_FORMAT, etcd->raft_applied);
	g_autofree char *errors = gbe_texts_to_line(etcd->errors);
	const char *const cells[] = {answer->endpoint,
				     id,
				     etcd->version,
				     size,
				     used,
				     answer->is_leader ? "true" : "false",
				     etcd->learner ? "true" : "false",
				     term,
				     index,
				     applied,
				     errors};

	gbe_table_add(table, cells);
	gbe_table_print(table);
}

bool
gbe_verb_endpoint(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeCliQuestion) question = {0};
	StatusAnswer answer = {0};
	GbeEtcdStatus *etcd = &answer.etcd;

	if (!gbe_question_open(cli, &question, error))
		return false;
	if (!gbe_client_status(question.client, question.deadline, etcd, &question.failure))
		return gbe_question_unanswered(&question, error);
	answer.endpoint = question.at.endpoint.shown;
	answer.is_leader = etcd->leader != 0 && etcd->leader == etcd->header.member_id;
	if (cli->json)
		gbe_print_answer(gbe_endpoint_fields, &answer);
	else
		print_status(&answer);
	gbe_message_clear(GBE_MESSAGE_STATUS, etcd);
	return true;
}

/* ---- alarm list ---- */

static void
print_alarm(JsonObject *object, const char *key, const void *field)
{
	gbe_json_set_string(object, key, gbe_etcd_alarm_to_string(*(const guint64 *)field));
}
static const GbeFieldOwn own_alarm = {.print = print_alarm};

static const GbeField alarm_fields[] = {
    GBE_FIELD_SET(GbeEtcdAlarm, member_id, "member_id", ID),
    GBE_FIELD_BY(GbeEtcdAlarm, alarm, "alarm", OWN, &own_alarm, 0),
    {0},
};
static const GbeFieldItems alarm_items = {alarm_fields, sizeof(GbeEtcdAlarm)};

const GbeField gbe_alarms_fields[] = {
    GBE_FIELD_OF(GbeEtcdAlarms, list, "alarms", ARRAY, &alarm_items, 0),
    {0},
};

static void
print_alarms(const GbeCli *cli, const GbeEtcdAlarms *alarms)
{
	static const char *const titles[] = {"MEMBER", "ALARM", NULL};
	g_autoptr(GbeTable) table = NULL;

	if (alarms->list == NULL) {
		if (!cli->quiet)
			gbe_print("There is no alarm.\n");
		return;
	}
	table = gbe_table_new(titles);
	for (guint i = 0; i < alarms->list->len; i++) {
		const GbeEtcdAlarm *alarm = &g_array_index(alarms->list, GbeEtcdAlarm, i);
		g_autofree char *id = gbe_hex64(alarm->member_id);
		const char *const cells[] = {id, gbe_etcd_alarm_to_string(alarm->alarm)};

		gbe_table_add(table, cells);
	}
	gbe_table_print(table);
}

bool
gbe_verb_alarm_list(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeCliQuestion) question = {0};
	GbeEtcdAlarms alarms = {{0}};

	if (!gbe_question_open(cli, &question, error))
		return false;
	if (!gbe_client_alarms(question.client, question.deadline, &alarms, &question.failure))
		return gbe_question_unanswered(&question, error);
	if (cli->json)
		gbe_print_answer(gbe_alarms_fields, &alarms);
	else
		print_alarms(cli, &alarms);
	gbe_message_clear(GBE_MESSAGE_ALARMS, &alarms);
	return true;
}
