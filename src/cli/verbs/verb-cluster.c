/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cluster status, init, join, token. */
#include "app/cluster/setup.h"
#include "app/report/status.h"
#include "cli/ask.h"
#include "cli/print.h"
#include "core/json/members.h"
#include "core/space.h"

static const char *
state_of(const GbeCluster *cluster, const GbeClusterMember *member)
{
	if (!member->voter.started)
		return "unstarted";
	if (member->voter.works != GBE_YES)
		return "down";
	if (member->voter.learner)
		return "learner";
	return member->voter.id == cluster->leader ? "leader" : "follower";
}

static JsonArray *
strv_json(char *const *texts)
{
	JsonArray *array = json_array_new();

	for (guint i = 0; texts[i] != NULL; i++)
		json_array_add_string_element(array, texts[i]);
	return array;
}

static JsonObject *
member_json(const GbeCluster *cluster, const GbeClusterMember *member)
{
	JsonObject *object = json_object_new();
	g_autofree char *refusal =
	    gbe_cluster_refusal(cluster, GBE_QUORUM_STOP, member->voter.id, 0);
	bool answers = member->url != NULL;

	gbe_json_set_id(object, "id", member->voter.id);
	gbe_json_set_string(object, "name", member->voter.started ? member->name : NULL);
	gbe_json_set_string(object, "state", state_of(cluster, member));
	json_object_set_boolean_member(object, "learner", member->voter.learner);
	gbe_json_set_tri(object, "works", member->voter.works);
	gbe_json_set_string(object, "why", member->why);
	json_object_set_boolean_member(object, "self", member->voter.id == cluster->self);
	gbe_json_set_string(object, "version", answers ? member->status.version : NULL);
	gbe_json_set_known(object, "db_size", answers ? (gint64)member->status.db_size : -1);
	gbe_json_set_known(object, "lag", gbe_cluster_lag(cluster, member));
	json_object_set_boolean_member(object, "may_stop", refusal == NULL);
	gbe_json_set_string(object, "stop_refused", refusal);
	json_object_set_array_member(object, "peer_urls", strv_json(member->peer_urls));
	json_object_set_array_member(object, "client_urls", strv_json(member->client_urls));
	return object;
}

static void
print_json(const GbeCluster *cluster)
{
	g_autoptr(JsonObject) object = json_object_new();
	JsonArray *members = json_array_new();
	guint voters, working;

	gbe_cluster_count(cluster, &voters, &working);
	for (guint i = 0; i < cluster->members->len; i++)
		json_array_add_object_element(members,
					      member_json(cluster, cluster->members->pdata[i]));
	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	gbe_json_set_id(object, "cluster_id", cluster->cluster_id);
	gbe_json_set_id(object, "leader", cluster->leader);
	json_object_set_int_member(object, "voters", voters);
	json_object_set_int_member(object, "working", working);
	json_object_set_int_member(object, "quorum", gbe_quorum_of(voters));
	json_object_set_array_member(object, "members", members);
	gbe_print_object(object);
}

static void
add_row(GbeTable *table, const GbeCluster *cluster, const GbeClusterMember *member)
{
	g_autofree char *size =
	    member->url != NULL ? gbe_size_to_text(member->status.db_size) : NULL;
	gint64 lag = gbe_cluster_lag(cluster, member);
	g_autofree char *behind = lag >= 0 ? g_strdup_printf("%" G_GINT64_FORMAT, lag) : NULL;
	g_autofree char *urls = g_strjoinv(",", member->client_urls);
	const char *const cells[] = {member->name,
				     state_of(cluster, member),
				     member->url != NULL ? member->status.version : NULL,
				     size,
				     behind,
				     *urls != '\0' ? urls : NULL};

	gbe_table_add(table, cells);
}

/* The answer to the question that is asked before an update. */
static void
print_may_stop(const GbeCluster *cluster)
{
	g_autoptr(GString) names = g_string_new(NULL);
	g_autofree char *last = NULL;

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];
		g_autofree char *refusal =
		    gbe_cluster_refusal(cluster, GBE_QUORUM_STOP, member->voter.id, 0);

		if (refusal == NULL && member->voter.works == GBE_YES)
			g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "",
					       member->name);
		else if (refusal != NULL && last == NULL)
			last = g_steal_pointer(&refusal);
	}
	if (names->len > 0)
		gbe_print_field("May stop", "one of %s", names->str);
	else
		gbe_print_field("May stop", "none: %s", last != NULL ? last : "no member works");
}

static void
print_text(const GbeCluster *cluster)
{
	static const char *const titles[] = {
	    "NAME", "STATE", "ETCD", "SIZE", "LAG", "CLIENT ADDRESSES", NULL};
	g_autoptr(GbeTable) table = gbe_table_new(titles);
	g_autofree char *id = gbe_text_id(cluster->cluster_id);
	guint voters, working;

	gbe_cluster_count(cluster, &voters, &working);
	gbe_print_field("Cluster", "%s", id);
	gbe_print_field("Voters", "%u of %u work, %u have to", working, voters,
			gbe_quorum_of(voters));
	print_may_stop(cluster);
	for (guint i = 0; i < cluster->members->len; i++)
		add_row(table, cluster, cluster->members->pdata[i]);
	gbe_table_print(table);
	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];

		if (member->why != NULL)
			gbe_print("%s: %s\n", member->name, member->why);
	}
}

static bool
status(GbeCli *cli, GError **error)
{
	guint timeout_ms = (guint)cli->app->config->health.request_timeout * 1000;
	g_autoptr(GbeCluster) cluster = NULL;

	if (!gbe_cluster_look(cli->app, timeout_ms, &cluster, error))
		return false;
	if (cli->json)
		print_json(cluster);
	else
		print_text(cluster);
	return true;
}

/* ---- init, join, token ---- */

static gboolean arg_dry_run;
static char *arg_name, *arg_peer_url, *arg_client_url, *arg_token, *arg_timeout;

const GOptionEntry gbe_options_cluster[] = {
    {"name", 0, 0, G_OPTION_ARG_FILENAME, &arg_name,
     "init, join: this member's name (name= of [etcd], or the machine's)", "NAME"},
    {"peer-url", 0, 0, G_OPTION_ARG_FILENAME, &arg_peer_url,
     "init, join: the address at which the other members reach it", "URL"},
    {"client-url", 0, 0, G_OPTION_ARG_FILENAME, &arg_client_url,
     "init, join: the address at which clients reach it", "URL"},
    {"token", 0, 0, G_OPTION_ARG_FILENAME, &arg_token, "join: the file of `cluster token`", "FILE"},
    {"timeout", 0, 0, G_OPTION_ARG_FILENAME, &arg_timeout,
     "init, join: how long etcd may take to be healthy (timeout= of [health])", "DURATION"},
    {"dry-run", 'n', 0, G_OPTION_ARG_NONE, &arg_dry_run,
     "init, join: change nothing, say what would be done", NULL},
    {NULL},
};

static void
print_setup(GbeCli *cli, const GbeClusterSetupResult *result)
{
	if (cli->json) {
		g_autoptr(JsonObject) object = json_object_new();

		json_object_set_int_member(object, "schema", GBE_SCHEMA);
		json_object_set_boolean_member(object, "dry_run", arg_dry_run);
		gbe_json_set_id(object, "id", result->id);
		gbe_json_set_string(object, "name", result->name);
		gbe_json_set_string(object, "peer_url", result->peer_url);
		gbe_json_set_string(object, "client_url", result->client_url);
		json_object_set_boolean_member(object, "continued", result->continued);
		gbe_print_object(object);
	} else if (!cli->quiet) {
		gbe_print("%s %s a member, at %s for members and %s for clients\n", result->name,
			  arg_dry_run ? "would be" : "is", result->peer_url, result->client_url);
	}
}

static bool
set_up(GbeCli *cli, char **arguments, GError **error)
{
	bool joins = g_str_equal(arguments[0], "join");
	GbeClusterSetup options = {.dry_run = arg_dry_run,
				   .name = arg_name,
				   .peer_url = arg_peer_url,
				   .client_url = arg_client_url,
				   .url = arguments[1],
				   .token = arg_token,
				   .timeout = cli->app->config->health.timeout};
	g_auto(GbeClusterSetupResult) result = {0};

	if (!gbe_verb_duration("--timeout", arg_timeout, 86400, &options.timeout, error) ||
	    !(joins ? gbe_cluster_join(cli->app, &options, &result, error)
		    : gbe_cluster_init(cli->app, &options, &result, error)))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	print_setup(cli, &result);
	return true;
}

bool
gbe_verb_cluster(GbeCli *cli, char **arguments, GError **error)
{
	const char *verb = arguments[0];
	bool takes = g_str_equal(verb, "join") || g_str_equal(verb, "token");

	if (takes != (arguments[1] != NULL))
		return gbe_throw(error, GBE_ERROR_USAGE, "cluster %s %s", verb,
				 takes ? "needs its argument" : "takes no argument");
	if (g_str_equal(verb, "status"))
		return status(cli, error);
	if (!g_str_equal(verb, "token"))
		return set_up(cli, arguments, error);
	if (!gbe_cluster_token(cli->app, arguments[1], error))
		return false;
	gbe_cli_changed(cli, false);
	if (!cli->quiet && !cli->json)
		gbe_print("%s has the authority's key: whoever has it can issue certificates; "
			  "remove it when all have joined\n",
			  arguments[1]);
	return true;
}
