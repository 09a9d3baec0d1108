/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* member list, add, promote, update, remove, replace. */
#include "cluster/verb-member.h"
#include "base/format.h"
#include "cli/ask.h"
#include "cli/print.h"
#include "cluster/members.h"
#include "core/json/members.h"
#include "core/json/parse.h"

#define WAIT_MOST 86400

static gboolean arg_dry_run, arg_voter, arg_force, arg_no_backup;
static char *arg_name, *arg_wait;

const GOptionEntry gbe_options_member[] = {
    {"name", 0, 0, G_OPTION_ARG_FILENAME, &arg_name,
     "add, replace: the name that the new member will have", "NAME"},
    {"voter", 0, 0, G_OPTION_ARG_NONE, &arg_voter,
     "add, replace: with a vote from the beginning, in place of a learner", NULL},
    {"wait", 0, 0, G_OPTION_ARG_FILENAME, &arg_wait,
     "How long etcd may take to accept the change; promote: and the learner to catch up",
     "DURATION"},
    {"force", 0, 0, G_OPTION_ARG_NONE, &arg_force, "Also where the cluster would lose its quorum",
     NULL},
    {"no-backup", 0, 0, G_OPTION_ARG_NONE, &arg_no_backup,
     "add, promote, remove, replace: without a copy before", NULL},
    {"dry-run", 'n', 0, G_OPTION_ARG_NONE, &arg_dry_run, "Change nothing, say what would be done",
     NULL},
    {NULL},
};

static void
print_members_json(const GbeEtcdMembers *members)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	JsonArray *array = json_array_new();

	for (guint i = 0; members->list != NULL && i < members->list->len; i++) {
		const GbeEtcdMember *member = &g_array_index(members->list, GbeEtcdMember, i);
		bool started = member->name != NULL && *member->name != '\0';
		JsonObject *element = json_object_new();

		gbe_json_set_id(element, "id", member->id);
		gbe_json_set_string(element, "name", started ? member->name : NULL);
		json_object_set_boolean_member(element, "started", started);
		json_object_set_boolean_member(element, "learner", member->learner);
		json_object_set_array_member(element, "peer_urls",
					     gbe_texts_to_json(member->peer_urls));
		json_object_set_array_member(element, "client_urls",
					     gbe_texts_to_json(member->client_urls));
		json_array_add_object_element(array, element);
	}
	gbe_json_set_id(object, "cluster_id", members->header.cluster_id);
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
		g_autofree char *id = gbe_hex64(member->id);
		g_autofree char *peers = gbe_texts_to_line(member->peer_urls);
		g_autofree char *clients = gbe_texts_to_line(member->client_urls);
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

static bool
list(GbeCli *cli, GError **error)
{
	g_auto(GbeCliQuestion) question = {0};
	GbeEtcdMembers members = {{0}};

	if (!gbe_question_open(cli, &question, error))
		return false;
	if (!gbe_client_members(question.client, question.deadline, &members, &question.failure))
		return gbe_question_unanswered(&question, error);
	if (cli->json)
		print_members_json(&members);
	else
		print_members(&members);
	gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
	return true;
}

/* ---- changes ---- */

static void
print_change(GbeCli *cli, const GbeMembersResult *result)
{
	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_json_answer();
		g_auto(GStrv) lines =
		    g_strsplit(result->environment != NULL ? result->environment : "", "\n", -1);
		JsonObject *environment = json_object_new();

		for (guint i = 0; lines[i] != NULL && *lines[i] != '\0'; i++) {
			g_auto(GStrv) parts = g_strsplit(lines[i], "=", 2);

			gbe_json_set_string(environment, parts[0], parts[1]);
		}
		json_object_set_boolean_member(object, "dry_run", arg_dry_run);
		gbe_json_set_id(object, "id", result->id);
		gbe_json_set_string(object, "said", result->said);
		gbe_json_set_string(object, "backup", result->backup);
		json_object_set_object_member(object, "environment", environment);
		gbe_print_object(object);
	} else if (!cli->quiet) {
		if (result->backup != NULL)
			gbe_print("the data from before is in %s\n", result->backup);
		gbe_print("%s\n", result->said);
		if (result->environment != NULL)
			gbe_print("the new etcd starts with an empty data directory and\n%s",
				  result->environment);
	}
}

static const struct {
	const char *name, *usage;
	guint arguments; /* behind the name; at least that many where it takes addresses */
	bool urls;	 /* the rest are addresses */
} changes[] = {
    {"add", "PEER-URL...", 1, true},
    {"promote", "MEMBER", 1, false},
    {"update", "MEMBER PEER-URL...", 2, true},
    {"remove", "MEMBER", 1, false},
    {"replace", "MEMBER PEER-URL...", 2, true},
};

static bool
check_arguments(const char *verb, guint count, GError **error)
{
	guint i = 0;

	while (!g_str_equal(changes[i].name, verb))
		i++;
	if (count < changes[i].arguments || (count > changes[i].arguments && !changes[i].urls))
		return gbe_throw(error, GBE_ERROR_USAGE, "the usage is member %s %s", verb,
				 changes[i].usage);
	if ((arg_name != NULL || arg_voter) && !g_str_equal(verb, "add") &&
	    !g_str_equal(verb, "replace"))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--name and --voter go with member add and member replace");
	return (arg_wait == NULL && !arg_no_backup) || !g_str_equal(verb, "update") ||
	       gbe_throw(error, GBE_ERROR_USAGE,
			 "--wait and --no-backup do not go with member update");
}

static bool
change(GbeCli *cli, char **arguments, GbeMembersResult *result, GError **error)
{
	GbeMembersOptions options = {.dry_run = arg_dry_run,
				     .voter = arg_voter,
				     .force = arg_force,
				     .back_up = !arg_no_backup,
				     .name = arg_name};
	const char *verb = arguments[0];

	if (!check_arguments(verb, g_strv_length(arguments) - 1, error) ||
	    !gbe_verb_duration("--wait", arg_wait, WAIT_MOST, &options.wait, error))
		return false;
	if (g_str_equal(verb, "add"))
		return gbe_members_add(cli->app, arguments + 1, &options, result, error);
	if (g_str_equal(verb, "promote"))
		return gbe_members_promote(cli->app, arguments[1], &options, result, error);
	if (g_str_equal(verb, "update"))
		return gbe_members_update(cli->app, arguments[1], arguments + 2, &options, result,
					  error);
	if (g_str_equal(verb, "remove"))
		return gbe_members_remove(cli->app, arguments[1], &options, result, error);
	return gbe_members_replace(cli->app, arguments[1], arguments + 2, &options, result, error);
}

bool
gbe_verb_member(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeMembersResult) result = {0};

	if (g_str_equal(arguments[0], "list")) {
		if (arguments[1] != NULL || arg_dry_run || arg_voter || arg_force ||
		    arg_name != NULL || arg_wait != NULL || arg_no_backup)
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "member list takes no argument and no option of its own");
		return list(cli, error);
	}
	if (!change(cli, arguments, &result, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	print_change(cli, &result);
	return true;
}
