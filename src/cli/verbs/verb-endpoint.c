/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* member list, endpoint status, alarm list: one question each to the configured etcd. */
#include "app/device/endpoint.h"
#include "app/report/status.h"
#include "cli/ask.h"
#include "cli/print.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "etcd/api/client.h"

typedef struct {
	GbeAppEndpoint at;
	GbeClient *client;
	GbeCallFailure failure;
	gint64 deadline;
} Question;

static void
question_clear(Question *question)
{
	g_clear_pointer(&question->client, gbe_client_close);
	gbe_call_failure_clear(&question->failure);
	gbe_app_endpoint_clear(&question->at);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Question, question_clear)

static bool
unanswered(const Question *question, GError **error)
{
	return gbe_throw(error, GBE_ERROR_FAILED, "no answer from etcd at %s: %s",
			 question->at.endpoint.shown, question->failure.why);
}

static bool
question_open(const GbeCli *cli, Question *question, GError **error)
{
	guint64 seconds = cli->app->config->health.request_timeout;

	gbe_app_endpoint(cli->app, &question->at);
	question->deadline = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
	return gbe_client_open(&question->at.endpoint, &question->client, &question->failure) ||
	       unanswered(question, error);
}

static char *
id_text(guint64 id)
{
	return g_strdup_printf("%016" G_GINT64_MODIFIER "x", id);
}

static void
set_id(JsonObject *object, const char *key, guint64 id)
{
	g_autofree char *text = id != 0 ? id_text(id) : NULL;

	gbe_json_set_string(object, key, text);
}

static JsonArray *
texts_json(const GPtrArray *texts)
{
	JsonArray *array = json_array_new();

	for (guint i = 0; texts != NULL && i < texts->len; i++)
		json_array_add_string_element(array, texts->pdata[i]);
	return array;
}

/* Joins the texts with commas. NULL where there are none. */
static char *
texts_text(const GPtrArray *texts)
{
	GString *line = g_string_new(NULL);

	for (guint i = 0; texts != NULL && i < texts->len; i++)
		g_string_append_printf(line, "%s%s", i > 0 ? "," : "", (char *)texts->pdata[i]);
	return g_string_free(line, line->len == 0);
}

/* ---- member list ---- */

static void
print_members_json(const GbeEtcdMembers *members)
{
	g_autoptr(JsonObject) object = json_object_new();
	JsonArray *array = json_array_new();

	for (guint i = 0; members->list != NULL && i < members->list->len; i++) {
		const GbeEtcdMember *member = &g_array_index(members->list, GbeEtcdMember, i);
		bool started = member->name != NULL && *member->name != '\0';
		JsonObject *element = json_object_new();

		set_id(element, "id", member->id);
		gbe_json_set_string(element, "name", started ? member->name : NULL);
		json_object_set_boolean_member(element, "started", started);
		json_object_set_boolean_member(element, "learner", member->learner);
		json_object_set_array_member(element, "peer_urls", texts_json(member->peer_urls));
		json_object_set_array_member(element, "client_urls",
					     texts_json(member->client_urls));
		json_array_add_object_element(array, element);
	}
	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	set_id(object, "cluster_id", members->header.cluster_id);
	json_object_set_array_member(object, "members", array);
	gbe_print_object(object);
}

static void
print_members(const GbeEtcdMembers *members)
{
	static const char *const titles[] = {"ID",	     "STATUS",	   "NAME", "PEER ADDRS",
					     "CLIENT ADDRS", "IS LEARNER", NULL};
	g_autoptr(GbeTable) table = gbe_table_new(titles);

	for (guint i = 0; members->list != NULL && i < members->list->len; i++) {
		const GbeEtcdMember *member = &g_array_index(members->list, GbeEtcdMember, i);
		bool started = member->name != NULL && *member->name != '\0';
		g_autofree char *id = id_text(member->id);
		g_autofree char *peers = texts_text(member->peer_urls);
		g_autofree char *clients = texts_text(member->client_urls);
		const char *const cells[] = {id,
					     started ? "started" : "unstarted",
					     started ? member->name : NULL,
					     peers,
					     clients,
					     member->learner ? "true" : "false"};

		gbe_table_add(table, cells);
	}
	gbe_table_print(table);
}

bool
gbe_verb_member(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(Question) question = {0};
	GbeEtcdMembers members = {{0}};

	if (!question_open(cli, &question, error))
		return false;
	if (!gbe_client_members(question.client, question.deadline, &members, &question.failure))
		return unanswered(&question, error);
	if (cli->json)
		print_members_json(&members);
	else
		print_members(&members);
	gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
	return true;
}

/* ---- endpoint status ---- */

static void
print_status_json(const char *endpoint, const GbeEtcdStatus *status)
{
	g_autoptr(JsonObject) object = json_object_new();
	guint64 own = status->header.member_id;

	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	gbe_json_set_string(object, "endpoint", endpoint);
	set_id(object, "member_id", own);
	set_id(object, "cluster_id", status->header.cluster_id);
	gbe_json_set_string(object, "version", status->version);
	gbe_json_set_string(object, "storage_version", status->storage_version);
	json_object_set_int_member(object, "revision", status->header.revision);
	gbe_json_set_known(object, "db_size", status->db_size > 0 ? status->db_size : -1);
	gbe_json_set_known(object, "db_in_use", status->db_in_use > 0 ? status->db_in_use : -1);
	gbe_json_set_known(object, "quota", status->quota > 0 ? status->quota : -1);
	json_object_set_boolean_member(object, "is_leader",
				       status->leader != 0 && status->leader == own);
	set_id(object, "leader", status->leader);
	json_object_set_boolean_member(object, "learner", status->learner);
	json_object_set_int_member(object, "raft_term", (gint64)status->raft_term);
	json_object_set_int_member(object, "raft_index", (gint64)status->raft_index);
	json_object_set_int_member(object, "raft_applied", (gint64)status->raft_applied);
	json_object_set_array_member(object, "errors", texts_json(status->errors));
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
	g_autofree char *id = id_text(own);
	g_autofree char *size = gbe_size_to_text((guint64)MAX(status->db_size, 0));
	g_autofree char *used = gbe_size_to_text((guint64)MAX(status->db_in_use, 0));
	g_autofree char *term = g_strdup_printf("%" G_GUINT64_FORMAT, status->raft_term);
	g_autofree char *index = g_strdup_printf("%" G_GUINT64_FORMAT, status->raft_index);
	g_autofree char *applied = g_strdup_printf("%" G_GUINT64_FORMAT, status->raft_applied);
	g_autofree char *errors = texts_text(status->errors);
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
	g_auto(Question) question = {0};
	GbeEtcdStatus status = {{0}};

	if (!question_open(cli, &question, error))
		return false;
	if (!gbe_client_status(question.client, question.deadline, &status, &question.failure))
		return unanswered(&question, error);
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
	g_autoptr(JsonObject) object = json_object_new();
	JsonArray *array = json_array_new();

	for (guint i = 0; alarms->list != NULL && i < alarms->list->len; i++) {
		const GbeEtcdAlarm *alarm = &g_array_index(alarms->list, GbeEtcdAlarm, i);
		JsonObject *element = json_object_new();

		set_id(element, "member_id", alarm->member_id);
		gbe_json_set_string(element, "alarm", gbe_etcd_alarm_to_string(alarm->alarm));
		json_array_add_object_element(array, element);
	}
	json_object_set_int_member(object, "schema", GBE_SCHEMA);
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
		g_autofree char *id = id_text(alarm->member_id);
		const char *const cells[] = {id, gbe_etcd_alarm_to_string(alarm->alarm)};

		gbe_table_add(table, cells);
	}
	gbe_table_print(table);
}

bool
gbe_cli_list_alarms(GbeCli *cli, GError **error)
{
	g_auto(Question) question = {0};
	GbeEtcdAlarms alarms = {{0}};

	if (!question_open(cli, &question, error))
		return false;
	if (!gbe_client_alarms(question.client, question.deadline, &alarms, &question.failure))
		return unanswered(&question, error);
	if (cli->json)
		print_alarms_json(&alarms);
	else
		print_alarms(cli, &alarms);
	gbe_message_clear(GBE_MESSAGE_ALARMS, &alarms);
	return true;
}
