/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cluster init, join, rejoin, token, leave, reset, recover; lock and unlock are in verb-cluster-lock.c. */
#include "app/cluster/leave.h"
#include "app/cluster/recover.h"
#include "app/report/status.h"
#include "cli/ask.h"
#include "cli/print.h"
#include "cli/verbs/verb-cluster-lock.h"
#include "cli/verbs/verb-cluster.h"
#include "core/json/members.h"

static gboolean arg_dry_run, arg_force, arg_for_update, arg_if_needed;
static char *arg_name, *arg_peer_url, *arg_client_url, *arg_token, *arg_timeout, *arg_from;
static char **arg_data;

const GOptionEntry gbe_options_cluster[] = {
    {"name", 0, 0, G_OPTION_ARG_FILENAME, &arg_name,
     "init, join, recover: this member's name (name= of [etcd], or the machine's)", "NAME"},
    {"peer-url", 0, 0, G_OPTION_ARG_FILENAME, &arg_peer_url,
     "init, join, recover: the address at which the other members reach it", "URL"},
    {"client-url", 0, 0, G_OPTION_ARG_FILENAME, &arg_client_url,
     "init, join, recover: the address at which clients reach it", "URL"},
    {"from", 0, 0, G_OPTION_ARG_FILENAME, &arg_from,
     "init: the data of a backup, or of a snapshot file (a path)", "BACKUP|FILE"},
    {"token", 0, 0, G_OPTION_ARG_FILENAME, &arg_token, "join: the file of `cluster token`", "FILE"},
    {"data", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &arg_data,
     "recover: a copy of another member's data, several times for several", "DIRECTORY"},
    {"timeout", 0, 0, G_OPTION_ARG_FILENAME, &arg_timeout,
     "init, join, rejoin, recover: how long etcd may take to be healthy (timeout= of [health])",
     "DURATION"},
    {"force", 0, 0, G_OPTION_ARG_NONE, &arg_force,
     "leave, reset, recover, rejoin: also where the quorum would go, or not all members can be "
     "asked; "
     "unlock: also another member's lock, or a failed one",
     NULL},
    {"for-update", 0, 0, G_OPTION_ARG_NONE, &arg_for_update,
     "lock: take it for a staged update, release it for a green one, as the timer does", NULL},
    {"if-needed", 0, 0, G_OPTION_ARG_NONE, &arg_if_needed,
     "rejoin: where the data is damaged and nothing can be lost, as the timer does; without URL",
     NULL},
    {"dry-run", 'n', 0, G_OPTION_ARG_NONE, &arg_dry_run, "change nothing, say what would be done",
     NULL},
    {NULL},
};

static JsonObject *
setup_json(const GbeClusterSetupResult *result)
{
	JsonObject *object = json_object_new();

	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	json_object_set_boolean_member(object, "dry_run", arg_dry_run);
	gbe_json_set_id(object, "id", result->id);
	gbe_json_set_string(object, "name", result->name);
	gbe_json_set_string(object, "peer_url", result->peer_url);
	gbe_json_set_string(object, "client_url", result->client_url);
	json_object_set_boolean_member(object, "continued", result->continued);
	return object;
}

static void
print_setup(const GbeClusterSetupResult *result)
{
	gbe_print("%s %s a member, at %s for members and %s for clients\n", result->name,
		  arg_dry_run ? "would be" : "is", result->peer_url, result->client_url);
}

static GbeClusterSetup
options_of(const GbeCli *cli, char **arguments)
{
	return (GbeClusterSetup){.dry_run = arg_dry_run,
				 .name = arg_name,
				 .peer_url = arg_peer_url,
				 .client_url = arg_client_url,
				 .url = arguments[1],
				 .force = arg_force,
				 .from = arg_from,
				 .token = arg_token,
				 .timeout = cli->app->config->health.timeout};
}

static bool
set_up(GbeCli *cli, char **arguments, GError **error)
{
	bool (*const set)(GbeApp * app, const GbeClusterSetup *options,
			  GbeClusterSetupResult *ret_result, GError **error) =
	    g_str_equal(arguments[0], "init")	? gbe_cluster_init
	    : g_str_equal(arguments[0], "join") ? gbe_cluster_join
						: gbe_cluster_rejoin;
	GbeClusterSetup options = options_of(cli, arguments);
	g_auto(GbeClusterSetupResult) result = {0};

	if (!gbe_verb_duration("--timeout", arg_timeout, 86400, &options.timeout, error))
		return false;
	if (arg_if_needed)
		return gbe_cluster_verb_rejoin(cli, options.timeout, error);
	if (!set(cli->app, &options, &result, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	if (cli->json) {
		g_autoptr(JsonObject) object = setup_json(&result);

		gbe_print_object(object);
	} else if (!cli->quiet) {
		print_setup(&result);
	}
	return true;
}

/* ---- token ---- */

static bool
token(GbeCli *cli, char **arguments, GError **error)
{
	if (!gbe_cluster_token(cli->app, arguments[1], error))
		return false;
	gbe_cli_changed(cli, false);
	if (!cli->quiet && !cli->json)
		gbe_print("%s has the authority's key: whoever has it can issue certificates; "
			  "remove it when all have joined\n",
			  arguments[1]);
	return true;
}

/* ---- leave, reset ---- */

static void
print_left(const GbeCli *cli, const GbeClusterLeft *left, bool leaves)
{
	const char *name = leaves ? left->name : "this device";

	if (cli->json) {
		g_autoptr(JsonObject) object = json_object_new();

		json_object_set_int_member(object, "schema", GBE_SCHEMA);
		json_object_set_boolean_member(object, "dry_run", arg_dry_run);
		gbe_json_set_id(object, "id", left->id);
		gbe_json_set_string(object, "name", left->name);
		gbe_json_set_string(object, "backup", left->backup.name);
		json_object_set_boolean_member(object, "continued", left->continued);
		gbe_print_object(object);
		return;
	}
	if (cli->quiet)
		return;
	gbe_print("%s %s no member any more, and %s %s stopped\n", name,
		  arg_dry_run ? "would be" : "is", cli->app->config->etcd.service,
		  arg_dry_run ? "would be" : "is");
	if (left->backup.name != NULL)
		gbe_print("its data is backup %s%s\n", left->backup.name,
			  leaves ? ""
				 : "; `greenboot-etcd undo` brings it back, with its certificates");
}

static bool
leave(GbeCli *cli, char **arguments, GError **error)
{
	bool leaves = g_str_equal(arguments[0], "leave");
	const GbeClusterLeave options = {.dry_run = arg_dry_run, .force = arg_force};
	g_auto(GbeClusterLeft) left = {0};

	if (!(leaves ? gbe_cluster_leave(cli->app, &options, &left, error)
		     : gbe_cluster_reset(cli->app, &options, &left, error)))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	print_left(cli, &left, leaves);
	return true;
}

/* ---- recover ---- */

static JsonArray *
places_json(const GPtrArray *places)
{
	JsonArray *array = json_array_new();

	for (guint i = 0; i < places->len; i++) {
		const GbeClusterPlace *place = places->pdata[i];
		JsonObject *object = json_object_new();

		gbe_json_set_string(object, "path", place->path);
		gbe_json_set_id(object, "member_id", place->member);
		json_object_set_int_member(object, "term", (gint64)place->term);
		json_object_set_int_member(object, "index", (gint64)place->index);
		gbe_json_set_known(object, "revision", place->revision);
		json_object_set_int_member(object, "voters", place->voters);
		json_object_set_boolean_member(object, "chosen", place->chosen);
		json_array_add_object_element(array, object);
	}
	return array;
}

static void
print_places(const GPtrArray *places)
{
	for (guint i = 0; i < places->len; i++) {
		const GbeClusterPlace *place = places->pdata[i];
		g_autofree char *id = gbe_text_id(place->member);

		gbe_print("%s: member %s, term %" G_GUINT64_FORMAT ", entry %" G_GUINT64_FORMAT
			  "%s\n",
			  place->path, id, place->term, place->index,
			  place->chosen ? ", the most advanced" : "");
	}
}

static bool
recover(GbeCli *cli, char **arguments, GError **error)
{
	GbeClusterRecover options = {.setup = options_of(cli, arguments),
				     .data = arg_data,
				     .force = arg_force};
	g_auto(GbeClusterRecovered) recovered = {0};
	bool ok;

	if (!gbe_verb_duration("--timeout", arg_timeout, 86400, &options.setup.timeout, error))
		return false;
	ok = gbe_cluster_recover(cli->app, &options, &recovered, error);
	if (!cli->json && recovered.places != NULL)
		print_places(recovered.places);
	if (!ok)
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	if (cli->json) {
		g_autoptr(JsonObject) object = setup_json(&recovered.setup);

		json_object_set_array_member(object, "places", places_json(recovered.places));
		gbe_print_object(object);
	} else if (!cli->quiet) {
		print_setup(&recovered.setup);
		gbe_print("on each of the others: `greenboot-etcd cluster reset --force`, then "
			  "`greenboot-etcd cluster join %s`\n",
			  recovered.setup.client_url);
	}
	return true;
}

static bool
lock(GbeCli *cli, char **arguments, GError **error)
{
	const GbeClusterLockArguments how = {.dry_run = arg_dry_run,
					     .force = arg_force,
					     .for_update = arg_for_update};

	return gbe_cluster_verb_lock(cli, arguments[0], &how, error);
}

static const struct {
	const char *name;
	bool takes; /* an argument */
	bool (*run)(GbeCli *cli, char **arguments, GError **error);
} verbs[] = {
    {"status", false, gbe_verb_cluster_status},
    {"init", false, set_up},
    {"join", true, set_up},
    {"rejoin", true, set_up},
    {"token", true, token},
    {"leave", false, leave},
    {"reset", false, leave},
    {"recover", false, recover},
    {"lock", false, lock},
    {"unlock", false, lock},
};

bool
gbe_verb_cluster(GbeCli *cli, char **arguments, GError **error)
{
	if (arg_if_needed && (!g_str_equal(arguments[0], "rejoin") || arguments[1] != NULL ||
			      arg_dry_run || arg_force))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--if-needed goes with cluster rejoin, without URL, --dry-run and "
				 "--force");
	for (guint i = 0; i < G_N_ELEMENTS(verbs); i++) {
		if (!g_str_equal(arguments[0], verbs[i].name))
			continue;
		if ((verbs[i].takes && !arg_if_needed) == (arguments[1] != NULL))
			return verbs[i].run(cli, arguments, error);
		return gbe_throw(error, GBE_ERROR_USAGE, "cluster %s %s", verbs[i].name,
				 verbs[i].takes ? "needs its argument" : "takes no argument");
	}
	g_return_val_if_reached(false);
}
