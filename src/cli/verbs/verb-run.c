/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run: starts etcd for the unit that needs it. */
#include "app/run/member.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"
#include "core/shown.h"
#include "core/unit-name.h"
#include "core/units/member-unit.h"

#include <stdio.h>

#define DEFAULT_TIMEOUT 300
#define TIMEOUT_MOST 86400

static char *arg_parent, *arg_name, *arg_timeout;
static gboolean arg_no_block;

const GbeOption gbe_options_run[] = {
    {"parent", 0, &arg_parent, "Bind etcd to this unit; default: the calling unit", "UNIT",
     GBE_A_UNIT},
    {"name", 0, &arg_name, "Set the name of etcd's unit; default: " GBE_MEMBER_UNIT, "NAME"},
    {"no-block", 0, &arg_no_block, "Do not wait until etcd is ready"},
    {"timeout", 0, &arg_timeout, "Wait DURATION for a ready etcd; default: 5min", "DURATION"},
    {NULL},
};

static JsonArray *
to_array(char *const *texts, guint count)
{
	JsonArray *array = json_array_new();

	for (guint i = 0; i < count; i++) {
		g_autofree char *text = gbe_shown_text(texts[i]);

		json_array_add_string_element(array, text);
	}
	return array;
}

static JsonArray *
to_list(const GPtrArray *texts)
{
	return texts != NULL ? to_array((char *const *)texts->pdata, texts->len) : json_array_new();
}

static void
print_json(const GbeMember *member, const char *result, const char *reason)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	const GbeEtcdCommand *command = &member->command;
	bool known = command->config_file == NULL;

	json_object_set_string_member(object, "result", result);
	gbe_json_set_string(object, "reason", reason);
	json_object_set_string_member(object, "unit", member->options->unit);
	gbe_json_set_string(object, "parent", member->parent);
	gbe_json_set_string(object, "data_dir", known ? command->data_dir : NULL);
	json_object_set_array_member(
	    object, "listens",
	    to_array(command->listens, known ? g_strv_length(command->listens) : 0));
	json_object_set_boolean_member(object, "protected", member->protected);
	gbe_json_set_string(object, "replaced", member->replaced);
	json_object_set_array_member(object, "notes", to_list(member->notes));
	json_object_set_array_member(object, "log", to_list(member->last));
	gbe_print_object(object);
}

/* Prints lines next to the error message, never in its line. */
static void
print_lines(const GPtrArray *lines, const char *prefix)
{
	for (guint i = 0; lines != NULL && i < lines->len; i++) {
		g_autofree char *line = gbe_shown_text(lines->pdata[i]);

		(void)g_strdelimit(line, "\r\n", ' ');
		(void)fprintf(stderr, "%s%s\n", prefix, line);
	}
}

static void
print_started(const GbeMember *member)
{
	static const char *const words[] = {"Started", "Already running:", "Queued"};
	g_autofree char *listens = g_strjoinv(" ", member->command.listens);

	if (member->replaced != NULL)
		gbe_print("Stopped %s: %s.\n", member->options->unit, member->replaced);
	gbe_print("%s %s, bound to %s", words[member->result], member->options->unit,
		  member->parent);
	if (member->command.config_file == NULL)
		gbe_print(": %s, at %s", member->command.data_dir, listens);
	gbe_print("\n");
}

static bool
start(GbeCli *cli, GbeMember *member, GError **error)
{
	static const char *const results[] = {"started", "adopted", "queued"};
	g_autoptr(GError) local = NULL;
	bool ok = gbe_member_start(member, &local);

	if (ok && !cli->quiet && !cli->json)
		print_lines(member->notes, "greenboot-etcd: ");
	if (cli->json)
		print_json(member, ok ? results[member->result] : "failed",
			   ok ? NULL : local->message);
	else if (!ok)
		print_lines(member->last, "  ");
	else if (!cli->quiet)
		print_started(member);
	if (!ok)
		g_propagate_error(error, g_steal_pointer(&local));
	return ok;
}

/* etcd's own default is a directory in the current one. */
static bool
check_place(const GbeCli *cli, const GbeMember *member, GError **error)
{
	const GbeEtcdCommand *command = &member->command;

	return member->parent != NULL || cli->separated || command->has_data_dir ||
	       command->config_file != NULL ||
	       gbe_throw(
		   error, GBE_ERROR_USAGE,
		   "run: this process is in no service, and etcd would put its data in the current "
		   "directory; name the directory (`greenboot-etcd run -- etcd --data-dir=DIR`)");
}

bool
gbe_verb_run(GbeCli *cli, char **arguments, GError **error)
{
	GbeMemberOptions options = {.no_block = arg_no_block,
				    .timeout = DEFAULT_TIMEOUT,
				    .command = arguments};
	g_autoptr(GbeMember) member = NULL;
	g_autofree char *parent = NULL;
	g_autofree char *unit = NULL;

	if (arguments[0] == NULL || *arguments[0] == '\0')
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "run needs etcd and its arguments after a --");
	if ((arg_parent != NULL &&
	     !gbe_unit_name_complete("--parent", arg_parent, &parent, error)) ||
	    !gbe_unit_name_service("--name", arg_name != NULL ? arg_name : GBE_MEMBER_UNIT, &unit,
				   error) ||
	    !gbe_verb_duration("--timeout", arg_timeout, TIMEOUT_MOST, &options.timeout, error))
		return false;
	options.timeout = MAX(options.timeout, 1);
	options.parent = parent;
	options.unit = unit;
	if (!gbe_member_prepare(cli->app, &options, &member, error) ||
	    !check_place(cli, member, error))
		return false;
	return member->parent != NULL ? start(cli, member, error)
				      : gbe_member_execute(member, error);
}
