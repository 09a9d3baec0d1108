/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* greenboot-etcd-cluster, also installed as greenboot-etcd-member: the verbs cluster and member. */
#include "base/format.h"
#include "base/sha256.h"
#include "certs/pki.h"
#include "cli/ask.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "cluster/lock.h"
#include "cluster/look.h"
#include "cluster/members.h"
#include "cluster/rejoin.h"
#include "cluster/setup.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "sys/systemd/events.h"

/* Seconds. */
#define WAIT_MOST 86400

static gboolean arg_dry_run, arg_force, arg_for_update, arg_if_needed, arg_voter, arg_no_backup;
static char *arg_wait, *arg_name, *arg_peer_url, *arg_client_url, *arg_token, *arg_timeout,
    *arg_from;
static char **arg_data;

static const GOptionEntry own_options[] = {
    {"name", 0, 0, G_OPTION_ARG_FILENAME, &arg_name,
     "init, join, recover: this member's name (name= of [etcd], or the machine's)", "NAME"},
    {"peer-url", 0, 0, G_OPTION_ARG_FILENAME, &arg_peer_url,
     "init, join, recover: the address at which the other members reach it", "URL"},
    {"client-url", 0, 0, G_OPTION_ARG_FILENAME, &arg_client_url,
     "init, join, recover: the address at which clients reach it", "URL"},
    {"from", 0, 0, G_OPTION_ARG_FILENAME, &arg_from,
     "init: the data of a backup, or of a snapshot file (a path)", "BACKUP|FILE"},
    {"token", 0, 0, G_OPTION_ARG_FILENAME, &arg_token, "join, rejoin: the file of `cluster token`",
     "FILE"},
    {"data", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &arg_data,
     "recover: a copy of another member's data, several times for several", "DIRECTORY"},
    {"timeout", 0, 0, G_OPTION_ARG_FILENAME, &arg_timeout,
     "init, join, leave, rejoin, recover: how long etcd may take to be healthy, and to accept a "
     "change (timeout= of [health])",
     "DURATION"},
    {"force", 0, 0, G_OPTION_ARG_NONE, &arg_force,
     "leave, reset, recover, rejoin: also where the quorum would go, not all members can be "
     "asked, or this device has the update lock; "
     "unlock: also another member's lock, or a failed one",
     NULL},
    {"for-update", 0, 0, G_OPTION_ARG_NONE, &arg_for_update,
     "lock: take it for a staged update, release it for a green one, as the timer does", NULL},
    {"if-needed", 0, 0, G_OPTION_ARG_NONE, &arg_if_needed,
     "rejoin: where the data is damaged or gone and nothing can be lost, as the timer does; "
     "without URL",
     NULL},
    {"dry-run", 'n', 0, G_OPTION_ARG_NONE, &arg_dry_run, "change nothing, say what would be done",
     NULL},
    {NULL},
};

static const GOptionEntry member_options[] = {
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

/* ---- status ---- */

/* Where etcd tells. *ret_lock NULL: the lock is free. */
static bool
lock_json(GbeCli *cli, JsonObject **ret_lock, GError **error)
{
	GbeUpdateLockSeen seen = {{0}};
	g_autofree char *said = NULL;

	if (!gbe_update_lock_look(cli->app, &seen, error))
		return false;
	if (!seen.held) {
		*ret_lock = NULL;
		return true;
	}
	said = gbe_update_lock_to_text(&seen.lock);
	*ret_lock = gbe_update_lock_to_json(&seen.lock);
	json_object_remove_member(*ret_lock, "id");
	json_object_set_boolean_member(*ret_lock, "own", seen.own);
	json_object_set_boolean_member(*ret_lock, "overdue", seen.overdue);
	gbe_json_set_string(*ret_lock, "said", said);
	gbe_update_lock_clear(&seen.lock);
	return true;
}

/* @why: etcd did not tell; NULL: it did. */
static void
print_lock(JsonObject *lock, const char *why)
{
	g_autofree char *since = NULL;
	bool failed;

	if (lock == NULL) {
		if (why != NULL)
			gbe_print_field("Update lock", "unknown (%s)", why);
		else
			gbe_print_field("Update lock", "free");
		return;
	}
	since = gbe_text_time(gbe_json_int(lock, "since", 0));
	failed = g_str_equal(gbe_json_string(lock, "state", ""), "failed");
	gbe_print_field("Update lock", "%s, since %s", gbe_json_string(lock, "said", "?"), since);
	if (gbe_json_bool(lock, "overdue", false))
		gbe_print_field("",
				"nothing was heard of the holder for longer than its lock-time=");
	if (failed || gbe_json_bool(lock, "overdue", false))
		gbe_print_field(
		    "",
		    "no other member updates; `greenboot-etcd cluster unlock --force` ends that");
}

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

/* @lock NULL: the update lock is free, or unknown, and @why says why. */
static void
print_json(const GbeCluster *cluster, JsonObject *lock, const char *why)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	JsonArray *members = json_array_new();
	guint voters, working;

	gbe_cluster_count(cluster, &voters, &working);
	for (guint i = 0; i < cluster->members->len; i++)
		json_array_add_object_element(members,
					      member_json(cluster, cluster->members->pdata[i]));
	gbe_json_set_id(object, "cluster_id", cluster->cluster_id);
	gbe_json_set_id(object, "leader", cluster->leader);
	json_object_set_int_member(object, "voters", voters);
	json_object_set_int_member(object, "working", working);
	json_object_set_int_member(object, "quorum", gbe_quorum_of(voters));
	json_object_set_object_member(object, "update_lock",
				      lock != NULL ? json_object_ref(lock) : NULL);
	gbe_json_set_string(object, "update_lock_unknown", why);
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
print_text(const GbeCluster *cluster, JsonObject *lock, const char *why)
{
	static const char *const titles[] = {
	    "NAME", "STATE", "ETCD", "SIZE", "LAG", "CLIENT ADDRESSES", NULL};
	g_autoptr(GbeTable) table = gbe_table_new(titles);
	g_autofree char *id = gbe_hex64(cluster->cluster_id);
	guint voters, working;

	gbe_cluster_count(cluster, &voters, &working);
	gbe_print_field("Cluster", "%s", id);
	gbe_print_field("Voters", "%u of %u work, %u have to", working, voters,
			gbe_quorum_of(voters));
	print_may_stop(cluster);
	print_lock(lock, why);
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
status(GbeCli *cli, char **arguments G_GNUC_UNUSED, GError **error)
{
	g_autoptr(GbeCluster) cluster = NULL;
	g_autoptr(JsonObject) lock = NULL;
	g_autoptr(GError) local = NULL;
	const char *why;

	if (!gbe_cluster_look(cli->app, &cluster, error))
		return false;
	why = lock_json(cli, &lock, &local) ? NULL : local->message;
	if (cli->json)
		print_json(cluster, lock, why);
	else
		print_text(cluster, lock, why);
	return true;
}

/* ---- lock, unlock, and what the timers do ---- */

static void
print_action(GbeCli *cli, const char *action, const char *said)
{
	gbe_cli_changed(cli, arg_dry_run);
	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_json_answer();

		json_object_set_boolean_member(object, "dry_run", arg_dry_run);
		gbe_json_set_string(object, "action", action);
		gbe_json_set_string(object, "said", said);
		gbe_print_object(object);
	} else if (!cli->quiet && said != NULL) {
		gbe_print("%s\n", said);
	}
}

static bool
lock(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeUpdateLockResult) result = {.action = "none"};
	bool takes = g_str_equal(arguments[0], "lock");
	bool done;

	if (arg_for_update && arg_dry_run)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--for-update and --dry-run do not go together");
	if (arg_for_update)
		done = gbe_update_lock_tend(cli->app, &result, error);
	else if (takes)
		done = gbe_update_lock_take(cli->app, arg_dry_run, &result, error);
	else
		done = gbe_update_lock_release(cli->app, arg_force, arg_dry_run, &result, error);
	if (done)
		print_action(cli, result.action, result.said);
	return done;
}

/* ---- init, join, rejoin ---- */

static JsonObject *
setup_json(const GbeClusterSetupResult *result)
{
	JsonObject *object = gbe_json_answer();

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
				 .data = arg_data,
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

	if (!gbe_verb_duration("--timeout", arg_timeout, WAIT_MOST, &options.timeout, error))
		return false;
	if (arg_if_needed) {
		g_auto(GbeRejoined) rejoined = {NULL};

		if (!gbe_cluster_rejoin_if_needed(cli->app, options.timeout, &rejoined, error))
			return false;
		/* The timer's call is quiet, and what it has to wait for is for the journal, once. */
		if (cli->quiet && g_str_equal(rejoined.action, "waits") && !rejoined.known)
			gbe_complain("%s", rejoined.said);
		print_action(cli, rejoined.action, rejoined.said);
		return true;
	}
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
	if (!gbe_token_write(cli->app, arguments[1], error))
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
		g_autoptr(JsonObject) object = gbe_json_answer();

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
	GbeClusterSetup options = options_of(cli, arguments);
	g_auto(GbeClusterLeft) left = {0};

	if (!gbe_verb_duration("--timeout", arg_timeout, WAIT_MOST, &options.timeout, error))
		return false;
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
		g_autofree char *id = gbe_hex64(place->member);

		gbe_print("%s: member %s, term %" G_GUINT64_FORMAT ", entry %" G_GUINT64_FORMAT
			  "%s\n",
			  place->path, id, place->term, place->index,
			  place->chosen ? ", the most advanced" : "");
	}
}

static bool
recover(GbeCli *cli, char **arguments, GError **error)
{
	GbeClusterSetup options = options_of(cli, arguments);
	g_auto(GbeClusterRecovered) recovered = {0};
	bool ok;

	if (!gbe_verb_duration("--timeout", arg_timeout, WAIT_MOST, &options.timeout, error))
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

static const struct {
	const char *name;
	bool takes; /* an argument */
	bool (*run)(GbeCli *cli, char **arguments, GError **error);
	const char *options; /* of this verb: each with a blank on both sides */
} verbs[] = {
    {"status", false, status, ""},
    {"init", false, set_up, " name peer-url client-url from timeout dry-run "},
    {"join", true, set_up, " name peer-url client-url token timeout dry-run "},
    {"rejoin", true, set_up, " token timeout force if-needed dry-run "},
    {"token", true, token, ""},
    {"leave", false, leave, " timeout force dry-run "},
    {"reset", false, leave, " force dry-run "},
    {"recover", false, recover, " name peer-url client-url data timeout force dry-run "},
    {"lock", false, lock, " for-update dry-run "},
    {"unlock", false, lock, " force dry-run "},
};

static bool
cluster(GbeCli *cli, char **arguments, GError **error)
{
	if (arg_if_needed &&
	    (arguments[1] != NULL || arg_dry_run || arg_force || arg_token != NULL))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--if-needed goes with cluster rejoin, without URL, --dry-run, "
				 "--force and --token");
	for (guint i = 0; i < G_N_ELEMENTS(verbs); i++) {
		if (!g_str_equal(arguments[0], verbs[i].name))
			continue;
		if (!gbe_verb_check_options(own_options, "cluster", verbs[i].name, verbs[i].options,
					    error))
			return false;
		if ((verbs[i].takes && !arg_if_needed) == (arguments[1] != NULL))
			return verbs[i].run(cli, arguments, error);
		return gbe_throw(error, GBE_ERROR_USAGE, "cluster %s %s", verbs[i].name,
				 verbs[i].takes ? "needs its argument" : "takes no argument");
	}
	g_return_val_if_reached(false);
}

/* ---- member list, add, promote, update, remove, replace ---- */

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
list_members(GbeCli *cli, GError **error)
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
change_members(GbeCli *cli, char **arguments, GbeMembersResult *result, GError **error)
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

static bool
member(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeMembersResult) result = {0};

	if (g_str_equal(arguments[0], "list")) {
		if (arguments[1] != NULL || arg_dry_run || arg_voter || arg_force ||
		    arg_name != NULL || arg_wait != NULL || arg_no_backup)
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "member list takes no argument and no option of its own");
		return list_members(cli, error);
	}
	if (!change_members(cli, arguments, &result, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	print_change(cli, &result);
	return true;
}

#define MANY G_MAXUINT

static const GbeVerb table[] = {
    {"cluster", "status|init|join URL|rejoin URL|token FILE|leave|reset|recover|lock|unlock",
     "Begin, join, leave or recover a cluster of etcd, update its members one at a time", 1, 2,
     own_options, cluster, "cluster join https://192.0.2.1:2379 --token=/run/token",
     .group = "Members of a cluster",
     .words = GBE_WORDS("status", "init", "join", "rejoin", "token", "leave", "reset", "recover",
			"lock", "unlock"),
     .page = "greenboot-etcd-cluster(8)"},
    {"member",
     "list|add PEER-URL...|promote MEMBER|update MEMBER PEER-URL...|remove MEMBER|replace MEMBER "
     "PEER-URL...",
     "List and change the members of etcd's cluster", 1, MANY, member_options, member,
     "member add https://192.0.2.7:2380 --name=device-7",
     .words = GBE_WORDS("list", "add", "promote", "update", "remove", "replace"),
     .page = "greenboot-etcd-cluster(8)"},
    {NULL},
};

int
main(int argc, char **argv)
{
	gbe_sha256_use(&gbe_sha256_libcrypto);
	return gbe_cli_main(table, NULL, argc, argv);
}
