/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* endpoint status, alarm list: one question each to the configured etcd. */
#include "base/format.h"
#include "cli/ask.h"
#include "cli/print.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "etcd/api/client.h"

/* ---- endpoint status ---- */

static void
print_status_json(const char *endpoint, const GbeEtcdStatus *status)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	guint64 own = status->header.member_id;

	gbe_json_set_string(object, "endpoint", endpoint);
	gbe_json_set_id(object, "member_id", own);
	gbe_json_set_id(object, "cluster_id", status->header.cluster_id);
	gbe_json_set_string(object, "version", status->version);
	gbe_json_set_string(object, "storage_version", status->storage_version);
	json_object_set_int_member(object, "revision", status->header.revision);
	gbe_json_set_known(object, "db_size", status->db_size > 0 ? status->db_size : -1);
	gbe_json_set_known(object, "db_in_use", status->db_in_use > 0 ? status->db_in_use : -1);
	gbe_json_set_known(object, "quota", status->quota > 0 ? status->quota : -1);
	json_object_set_boolean_member(object, "is_leader",
				       status->leader != 0 && status->leader == own);
	gbe_json_set_id(object, "leader", status->leader);
	json_object_set_boolean_member(object, "learner", status->learner);
	json_object_set_int_member(object, "raft_term", (gint64)status->raft_term);
	json_object_set_int_member(object, "raft_index", (gint64)status->raft_index);
	json_object_set_int_member(object, "raft_applied", (gint64)status->raft_applied);
	json_object_set_array_member(object, "errors", gbe_texts_to_json(status->errors));
	gbe_print_object(object);
}

static void
print_status(const char *endpoint, const GbeEtcdStatus *status)
{
	static const char *const titles[] = {"ENDPOINT",   "ID",	"VERSION",    "DB SIZE",
					     "IN USE",	   "IS LEADER", "IS LEARNER", "RAFT TERM",
					     "RAFT INDEX", "APPLIED",	"ERRORS",     NULL};
	guint64 own = status->header.member_id;
	g_autoptr(GbeTable) table = gbe_table_new(titles);
	g_autofree char *id = gbe_hex64(own);
	g_autofree char *size = gbe_size_to_text((guint64)MAX(status->db_size, 0));
	g_autofree char *used = gbe_size_to_text((guint64)MAX(status->db_in_use, 0));
	g_autofree char *term = g_strdup_printf("%" G_GUINT64_FORMAT, status->raft_term);
	g_autofree char *index = g_strdup_printf("%" G_GUINT64_FORMAT, status->raft_index);
	g_autofree char *applied = g_strdup_printf("%" G_GUINT64_FORMAT, status->raft_applied);
	g_autofree char *errors = gbe_texts_to_line(status->errors);
	const char *const cells[] = {endpoint,
				     id,
				     status->version,
				     size,
				     used,
				     status->leader != 0 && status->leader == own ? "true"
										  : "false",
				     status->learner ? "true" : "false",
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
	GbeEtcdStatus status = {{0}};

	if (!gbe_question_open(cli, &question, error))
		return false;
	if (!gbe_client_status(question.client, question.deadline, &status, &question.failure))
		return gbe_question_unanswered(&question, error);
	if (cli->json)
		print_status_json(question.at.endpoint.shown, &status);
	else
		print_status(question.at.endpoint.shown, &status);
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return true;
}

/* ---- alarm list ---- */

static void
print_alarms_json(const GbeEtcdAlarms *alarms)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	JsonArray *array = json_array_new();

	for (guint i = 0; alarms->list != NULL && i < alarms->list->len; i++) {
		const GbeEtcdAlarm *alarm = &g_array_index(alarms->list, GbeEtcdAlarm, i);
		JsonObject *element = json_object_new();

		gbe_json_set_id(element, "member_id", alarm->member_id);
		gbe_json_set_string(element, "alarm", gbe_etcd_alarm_to_string(alarm->alarm));
		json_array_add_object_element(array, element);
	}
	json_object_set_array_member(object, "alarms", array);
	gbe_print_object(object);
}

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
		print_alarms_json(&alarms);
	else
		print_alarms(cli, &alarms);
	gbe_message_clear(GBE_MESSAGE_ALARMS, &alarms);
	return true;
}
