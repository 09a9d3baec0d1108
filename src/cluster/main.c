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
#include "core/json/parse.h"
#include "core/record/fields.h"
#include "core/space.h"
#include "sys/systemd/events.h"

/* Seconds. */
#define WAIT_MOST 86400

static gboolean arg_dry_run, arg_force, arg_for_update, arg_if_needed, arg_voter, arg_no_backup;
static char *arg_wait, *arg_name, *arg_peer_url, *arg_client_url, *arg_token, *arg_timeout,
    *arg_from;
static char **arg_data;

static const GbeOption cluster_options[] = {
    {"name", 0, &arg_name, "Set the member's name (name= of [etcd], or the machine's)", "NAME",
     .words = "init, join, recover"},
    {"peer-url", 0, &arg_peer_url, "Set the address for other members", "URL",
     .words = "init, join, recover"},
    {"client-url", 0, &arg_client_url, "Set the address for clients", "URL",
     .words = "init, join, recover"},
    {"from", 0, &arg_from, "Begin with a backup, or with a snapshot file (a path)", "BACKUP|FILE",
     GBE_A_BACKUP "," GBE_A_FILE, "init"},
    {"token", 0, &arg_token, "Read the authority from a file of `cluster token FILE`", "FILE",
     GBE_A_FILE, "join, rejoin"},
    {"data", 0, &arg_data, "Compare a copy of another member's data; may be repeated", "DIRECTORY",
     GBE_A_DIRECTORY, "recover", G_OPTION_ARG_FILENAME_ARRAY},
    {"timeout", 0, &arg_timeout, "Wait DURATION for a healthy etcd that accepts the change",
     "DURATION", .words = "init, join, leave, rejoin, recover"},
    {"force", 0, &arg_force, "Skip the checks of quorum, members and update lock",
     .words = "leave, reset, recover, rejoin"},
    {"force", 0, &arg_force, "Also release another member's lock, or a failed one",
     .words = "unlock"},
    {"for-update", 0, &arg_for_update, "Take it for a staged update, release it after a green one",
     .words = "lock"},
    {"if-needed", 0, &arg_if_needed,
     "Rejoin, like the timer, if data is damaged or gone; without URL", .words = "rejoin"},
    {GBE_DRY_RUN(arg_dry_run), .words = "init, join, rejoin, leave, reset, recover, lock, unlock"},
    {NULL},
};

static const GbeOption member_options[] = {
    {"name", 0, &arg_name, "Set the new member's name", "NAME", .words = "add, replace"},
    {"voter", 0, &arg_voter, "Add a voter at once, and no learner", .words = "add, replace"},
    {"wait", 0, &arg_wait, "Wait DURATION until etcd accepts the change", "DURATION",
     .words = "add, promote, remove, replace"},
    {"force", 0, &arg_force, "Change members even if the cluster loses its quorum",
     .words = "add, promote, update, remove, replace"},
    {"no-backup", 0, &arg_no_backup, "Take no copy first",
     .words = "add, promote, remove, replace"},
    {GBE_DRY_RUN(arg_dry_run), .words = "add, promote, update, remove, replace"},
    {NULL},
};

/* The answer of each verb that changes something: one of these, and whether it only would. */
typedef struct {
	bool dry_run;
	const char *action, *said;
	GbeClusterRecovered done;
	GbeClusterLeft left;
	GbeMembersResult member;
} Answer;

/* ---- status ---- */

typedef struct {
	GbeUpdateLockSeen seen;
	const char *state;
	char *said;
} LockAnswer;

typedef struct {
	GbeClusterMember of; /* borrowed */
	const char *name;    /* NULL: it has not started */
	const char *state;
	char *refused; /* why it may not stop; NULL: it may */
	gint64 lag;    /* -1: not known */
	bool self, may_stop;
} MemberAnswer;

typedef struct {
	guint64 cluster_id, leader;
	guint voters, working, quorum;
	LockAnswer *lock; /* NULL: the lock is free, or unknown, and the next one says why */
	const char *lock_unknown;
	GArray *members; /* of MemberAnswer */
} StatusAnswer;

static const GbeField lock_fields[] = {
    GBE_FIELD(LockAnswer, seen.lock.member, "member", TEXT),
    GBE_FIELD(LockAnswer, seen.lock.deployment.id, "deployment", TEXT),
    GBE_FIELD_SET(LockAnswer, state, "state", TEXT),
    GBE_FIELD(LockAnswer, seen.lock.reason, "reason", TEXT),
    GBE_FIELD(LockAnswer, seen.lock.since, "since", KNOWN),
    GBE_FIELD(LockAnswer, seen.own, "own", FLAG),
    GBE_FIELD(LockAnswer, seen.overdue, "overdue", FLAG),
    GBE_FIELD_SET(LockAnswer, said, "said", TEXT),
    {0},
};
static const GbeFieldItems lock_items = {lock_fields, sizeof(LockAnswer)};

static const GbeField member_fields[] = {
    GBE_FIELD_SET(MemberAnswer, of.voter.id, "id", ID),
    GBE_FIELD(MemberAnswer, name, "name", TEXT),
    GBE_FIELD_SET(MemberAnswer, state, "state", TEXT),
    GBE_FIELD(MemberAnswer, of.voter.learner, "learner", FLAG),
    GBE_FIELD(MemberAnswer, of.voter.works, "works", TRI),
    GBE_FIELD(MemberAnswer, of.why, "why", TEXT),
    GBE_FIELD(MemberAnswer, self, "self", FLAG),
    GBE_FIELD(MemberAnswer, of.status.version, "version", TEXT),
    GBE_FIELD(MemberAnswer, of.status.db_size, "db_size", KNOWN),
    GBE_FIELD(MemberAnswer, lag, "lag", KNOWN),
    GBE_FIELD(MemberAnswer, may_stop, "may_stop", FLAG),
    GBE_FIELD(MemberAnswer, refused, "stop_refused", TEXT),
    GBE_FIELD_SET(MemberAnswer, of.peer_urls, "peer_urls", NAMES),
    GBE_FIELD_SET(MemberAnswer, of.client_urls, "client_urls", NAMES),
    {0},
};
static const GbeFieldItems member_items = {member_fields, sizeof(MemberAnswer)};

const GbeField gbe_cluster_status_fields[] = {
    GBE_FIELD_SET(StatusAnswer, cluster_id, "cluster_id", ID),
    GBE_FIELD(StatusAnswer, leader, "leader", ID),
    GBE_FIELD(StatusAnswer, voters, "voters", COUNT),
    GBE_FIELD(StatusAnswer, working, "working", COUNT),
    GBE_FIELD(StatusAnswer, quorum, "quorum", COUNT),
    GBE_FIELD_BY(StatusAnswer, lock, "update_lock", MAYBE, &lock_items, 0),
    GBE_FIELD(StatusAnswer, lock_unknown, "update_lock_unknown", TEXT),
    GBE_FIELD_OF(StatusAnswer, members, "members", ARRAY, &member_items, 0),
    {0},
};

static void
print_lock(const StatusAnswer *answer)
{
	const LockAnswer *lock = answer->lock;
	g_autofree char *since = NULL;

	if (lock == NULL && answer->lock_unknown != NULL)
		gbe_print_field("Update lock", "unknown (%s)", answer->lock_unknown);
	else if (lock == NULL)
		gbe_print_field("Update lock", "free");
	if (lock == NULL)
		return;
	since = gbe_text_time(lock->seen.lock.since);
	gbe_print_field("Update lock", "%s, since %s", lock->said, since);
	if (lock->seen.overdue)
		gbe_print_field("",
				"nothing was heard of the holder for longer than its lock-time=");
	if (lock->seen.overdue || lock->seen.lock.state == GBE_UPDATE_LOCK_FAILED)
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

static GArray *
members_of(const GbeCluster *cluster)
{
	GArray *members = g_array_new(false, false, sizeof(MemberAnswer));

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *of = cluster->members->pdata[i];
		MemberAnswer member = {
		    .of = *of,
		    .name = of->voter.started ? of->name : NULL,
		    .state = state_of(cluster, of),
		    .refused = gbe_cluster_refusal(cluster, GBE_QUORUM_STOP, of->voter.id, 0),
		    .lag = gbe_cluster_lag(cluster, of),
		    .self = of->voter.id == cluster->self,
		};

		member.may_stop = member.refused == NULL;
		if (of->url == NULL)
			member.of.status = (GbeEtcdStatus){.db_size = -1};
		g_array_append_val(members, member);
	}
	return members;
}

/* The answer to the question that is asked before an update. */
static void
print_may_stop(const GArray *members)
{
	g_autoptr(GString) names = g_string_new(NULL);
	const char *last = NULL;

	for (guint i = 0; i < members->len; i++) {
		const MemberAnswer *member = &g_array_index(members, MemberAnswer, i);

		if (member->may_stop && member->of.voter.works == GBE_YES)
			g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "",
					       member->of.name);
		else if (!member->may_stop && last == NULL)
			last = member->refused;
	}
	if (names->len > 0)
		gbe_print_field("May stop", "one of %s", names->str);
	else
		gbe_print_field("May stop", "none: %s", last != NULL ? last : "no member works");
}

static void
print_text(const StatusAnswer *answer)
{
	static const char *const titles[] = {
	    "NAME", "STATE", "ETCD", "SIZE", "LAG", "CLIENT ADDRESSES", NULL};
	g_autoptr(GbeTable) table = gbe_table_new(titles);
	g_autofree char *id = gbe_hex64(answer->cluster_id);

	gbe_print_field("Cluster", "%s", id);
	gbe_print_field("Voters", "%u of %u work, %u have to", answer->working, answer->voters,
			answer->quorum);
	print_may_stop(answer->members);
	print_lock(answer);
	for (guint i = 0; i < answer->members->len; i++) {
		const MemberAnswer *member = &g_array_index(answer->members, MemberAnswer, i);
		const GbeClusterMember *of = &member->of;
		g_autofree char *size =
		    of->url != NULL ? gbe_size_to_text(of->status.db_size) : NULL;
		g_autofree char *behind =
		    member->lag >= 0 ? g_strdup_printf("%" G_GINT64_FORMAT, member->lag) : NULL;
		g_autofree char *urls = g_strjoinv(",", of->client_urls);
		const char *const cells[] = {of->name, member->state, of->status.version,
					     size,     behind,	      *urls != '\0' ? urls : NULL};

		gbe_table_add(table, cells);
	}
	gbe_table_print(table);
	for (guint i = 0; i < answer->members->len; i++) {
		const GbeClusterMember *of = &g_array_index(answer->members, MemberAnswer, i).of;

		if (of->why != NULL)
			gbe_print("%s: %s\n", of->name, of->why);
	}
}

static bool
show_cluster(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbeCluster) cluster = NULL;
	g_autoptr(GArray) members = NULL;
	g_autoptr(GError) local = NULL;
	LockAnswer lock = {{{0}}};
	GbeUpdateLockSeen *seen = &lock.seen;
	StatusAnswer answer = {0};

	if (!gbe_cluster_look(cli->app, &cluster, error))
		return false;
	members = members_of(cluster);
	answer.cluster_id = cluster->cluster_id;
	answer.leader = cluster->leader;
	answer.members = members;
	gbe_cluster_count(cluster, &answer.voters, &answer.working);
	answer.quorum = gbe_quorum_of(answer.voters);
	if (!gbe_update_lock_look(cli->app, seen, &local))
		answer.lock_unknown = local->message;
	if (seen->held) {
		lock.state = gbe_words_get(&gbe_update_lock_words, seen->lock.state);
		lock.said = gbe_update_lock_to_text(&seen->lock);
		answer.lock = &lock;
	}
	if (cli->json)
		gbe_print_answer(gbe_cluster_status_fields, &answer);
	else
		print_text(&answer);
	for (guint i = 0; i < members->len; i++)
		g_free(g_array_index(members, MemberAnswer, i).refused);
	gbe_update_lock_clear(&seen->lock);
	g_free(lock.said);
	return true;
}

/* ---- lock, unlock, and what the timers do ---- */

const GbeField gbe_cluster_action_fields[] = {
    GBE_FIELD(Answer, dry_run, "dry_run", FLAG),
    GBE_FIELD_SET(Answer, action, "action", TEXT),
    GBE_FIELD(Answer, said, "said", TEXT),
    {0},
};

static void
print_action(GbeCli *cli, const char *action, const char *said)
{
	const Answer answer = {.dry_run = arg_dry_run, .action = action, .said = said};

	gbe_cli_changed(cli, arg_dry_run);
	if (cli->json)
		gbe_print_answer(gbe_cluster_action_fields, &answer);
	else if (!cli->quiet && said != NULL)
		gbe_print("%s\n", said);
}

static bool
change_lock(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeUpdateLockResult) result = {.action = "none"};
	bool takes = g_str_equal(cli->words, "lock");
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

const GbeField gbe_cluster_setup_fields[] = {
    GBE_FIELD(Answer, dry_run, "dry_run", FLAG),
    GBE_FIELD(Answer, done.setup.id, "id", ID),
    GBE_FIELD_SET(Answer, done.setup.name, "name", TEXT),
    GBE_FIELD_SET(Answer, done.setup.peer_url, "peer_url", TEXT),
    GBE_FIELD_SET(Answer, done.setup.client_url, "client_url", TEXT),
    GBE_FIELD(Answer, done.setup.continued, "continued", FLAG),
    {0},
};

static const GbeField place_fields[] = {
    GBE_FIELD_SET(GbeClusterPlace, path, "path", TEXT),
    GBE_FIELD(GbeClusterPlace, member, "member_id", ID),
    GBE_FIELD(GbeClusterPlace, term, "term", NUMBER),
    GBE_FIELD(GbeClusterPlace, index, "index", NUMBER),
    GBE_FIELD(GbeClusterPlace, revision, "revision", KNOWN),
    GBE_FIELD(GbeClusterPlace, voters, "voters", COUNT),
    GBE_FIELD(GbeClusterPlace, chosen, "chosen", FLAG),
    {0},
};
static const GbeFieldItems place_items = {place_fields, sizeof(GbeClusterPlace)};

const GbeField gbe_cluster_recovered_fields[] = {
    {"", GBE_FIELD_MORE, 0, gbe_cluster_setup_fields, 0},
    GBE_FIELD_OF(Answer, done.places, "places", LIST, &place_items, 0),
    {0},
};

static void
print_setup(const GbeClusterSetupResult *result)
{
	gbe_print("%s is a member, at %s for members and %s for clients\n", result->name,
		  result->peer_url, result->client_url);
}

static GbeClusterSetup
options_of(const GbeCli *cli, char **arguments)
{
	return (GbeClusterSetup){.dry_run = arg_dry_run,
				 .name = arg_name,
				 .peer_url = arg_peer_url,
				 .client_url = arg_client_url,
				 .url = arguments[0],
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
	    g_str_equal(cli->words, "init")   ? gbe_cluster_init
	    : g_str_equal(cli->words, "join") ? gbe_cluster_join
					      : gbe_cluster_rejoin;
	GbeClusterSetup options = options_of(cli, arguments);
	g_auto(GbeClusterSetupResult) result = {0};

	if (arg_if_needed && (arg_dry_run || arg_force || arg_token != NULL))
		return gbe_throw(
		    error, GBE_ERROR_USAGE,
		    "--if-needed cannot be combined with --dry-run, --force or --token");
	if (!gbe_verb_duration("--timeout", arg_timeout, WAIT_MOST, &options.timeout, error))
		return false;
	if (arg_if_needed) {
		g_auto(GbeRejoined) rejoined = {NULL};

		if (!gbe_cluster_rejoin_if_needed(cli->app, options.timeout, &rejoined, error))
			return false;
		/* The timer's call is quiet, and logs the reason for waiting once. */
		if (cli->quiet && g_str_equal(rejoined.action, "waits") && !rejoined.known)
			gbe_complain("%s", rejoined.said);
		print_action(cli, rejoined.action, rejoined.said);
		return true;
	}
	if (!set(cli->app, &options, &result, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	if (cli->json) {
		const Answer answer = {.dry_run = arg_dry_run, .done.setup = result};

		gbe_print_answer(gbe_cluster_setup_fields, &answer);
	} else if (!cli->quiet) {
		print_setup(&result);
	}
	return true;
}

/* ---- token ---- */

static bool
write_token(GbeCli *cli, char **arguments, GError **error)
{
	if (!gbe_token_write(cli->app, arguments[0], error))
		return false;
	gbe_cli_changed(cli, false);
	if (!cli->quiet && !cli->json)
		gbe_print("%s has the authority's key, which can issue certificates; remove the "
			  "file when all members have joined\n",
			  arguments[0]);
	return true;
}

/* ---- leave, reset ---- */

const GbeField gbe_cluster_left_fields[] = {
    GBE_FIELD(Answer, dry_run, "dry_run", FLAG),
    GBE_FIELD(Answer, left.id, "id", ID),
    GBE_FIELD(Answer, left.name, "name", TEXT),
    GBE_FIELD(Answer, left.backup.name, "backup", TEXT),
    GBE_FIELD(Answer, left.continued, "continued", FLAG),
    {0},
};

static void
print_left(const GbeCli *cli, const GbeClusterLeft *left, bool leaves)
{
	const Answer answer = {.dry_run = arg_dry_run, .left = *left};
	const char *name = leaves ? left->name : "this device";

	if (cli->json)
		gbe_print_answer(gbe_cluster_left_fields, &answer);
	if (cli->json || cli->quiet)
		return;
	gbe_print("%s is no member any more, and %s is stopped\n", name,
		  cli->app->config->etcd.service);
	if (left->backup.name != NULL)
		gbe_print("its data is backup %s%s\n", left->backup.name,
			  leaves ? ""
				 : "; `greenboot-etcd undo --stop` brings it back, with its "
				   "certificates");
}

static bool
leave(GbeCli *cli, char **arguments, GError **error)
{
	bool leaves = g_str_equal(cli->words, "leave");
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
		const Answer answer = {.dry_run = arg_dry_run, .done = recovered};

		gbe_print_answer(gbe_cluster_recovered_fields, &answer);
	} else if (!cli->quiet) {
		print_setup(&recovered.setup);
		gbe_print("on each of the others: `greenboot-etcd cluster reset --force`, then "
			  "`greenboot-etcd cluster join %s`\n",
			  recovered.setup.client_url);
	}
	return true;
}

static const GbeVerb cluster_words[] = {
    {"status", "Show the members, the leader and the update lock", "cluster status", show_cluster,
     .looks = true},
    {"init", "Make this device's etcd the first member of a cluster", "cluster init", set_up},
    {"join", "Make this device's etcd one more member of a cluster",
     "cluster join https://192.0.2.1:2379 --token=/run/token", set_up, NULL, GBE_TAKES({"URL"})},
    {"rejoin", "Join again, if the data is damaged or gone, or this member was removed",
     "cluster rejoin https://192.0.2.1:2379", set_up, NULL,
     GBE_TAKES({"URL|--if-needed", .optional = true})},
    {"token", "Write the authority of this device for other members", "cluster token /run/token",
     write_token, NULL, GBE_TAKES({"FILE", GBE_A_FILE})},
    {"leave", "Remove this device from its cluster", "cluster leave -n", leave},
    {"reset", "Forget the membership of this device, without the cluster", "cluster reset -n",
     leave},
    {"recover", "Make a new cluster of this device alone, if the quorum is lost",
     "cluster recover -n", recover},
    {"lock", "Take the update lock of the cluster", "cluster lock", change_lock},
    {"unlock", "Release the update lock of the cluster", "cluster unlock", change_lock},
    {NULL},
};

/* ---- member list, add, promote, update, remove, replace ---- */

static const GbeField listed_fields[] = {
    GBE_FIELD_SET(GbeEtcdMember, id, "id", ID),
    GBE_FIELD(GbeEtcdMember, name, "name", TEXT),
    GBE_FIELD(GbeEtcdMember, name, "started", PRESENT),
    GBE_FIELD(GbeEtcdMember, learner, "learner", FLAG),
    GBE_FIELD(GbeEtcdMember, peer_urls, "peer_urls", TEXTS),
    GBE_FIELD(GbeEtcdMember, client_urls, "client_urls", TEXTS),
    {0},
};
static const GbeFieldItems listed_items = {listed_fields, sizeof(GbeEtcdMember)};

const GbeField gbe_members_fields[] = {
    GBE_FIELD(GbeEtcdMembers, header.cluster_id, "cluster_id", ID),
    GBE_FIELD_OF(GbeEtcdMembers, list, "members", ARRAY, &listed_items, 0),
    {0},
};

static void
print_members(const GbeEtcdMembers *members)
{
	static const char *const titles[] = {"ID",	     "STATUS",	   "NAME", "PEER ADDRS",
					     "CLIENT ADDRS", "IS LEARNER", NULL};
	g_autoptr(GbeTable) table = gbe_table_new(titles);

	for (guint i = 0; members->list != NULL && i < members->list->len; i++) {
		const GbeEtcdMember *member = &g_array_index(members->list, GbeEtcdMember, i);
		g_autofree char *id = gbe_hex64(member->id);
		g_autofree char *peers = gbe_texts_to_line(member->peer_urls);
		g_autofree char *clients = gbe_texts_to_line(member->client_urls);
		const char *const cells[] = {
		    id,		  member->name != NULL ? "started" : "unstarted",
		    member->name, peers,
		    clients,	  member->learner ? "true" : "false"};

		gbe_table_add(table, cells);
	}
	gbe_table_print(table);
}

static bool
list_members(GbeCli *cli, char **arguments, GError **error)
{
	g_auto(GbeCliQuestion) question = {0};
	GbeEtcdMembers members = {{0}};

	if (!gbe_question_open(cli, &question, error))
		return false;
	if (!gbe_client_members(question.client, question.deadline, &members, &question.failure))
		return gbe_question_unanswered(&question, error);
	/* A member that has not started has an empty name. */
	for (guint i = 0; members.list != NULL && i < members.list->len; i++) {
		GbeEtcdMember *member = &g_array_index(members.list, GbeEtcdMember, i);

		if (g_strcmp0(member->name, "") == 0)
			g_clear_pointer(&member->name, g_free);
	}
	if (cli->json)
		gbe_print_answer(gbe_members_fields, &members);
	else
		print_members(&members);
	gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
	return true;
}

/* ---- changes ---- */

static void
print_environment(JsonObject *object, const char *key, const void *field)
{
	const char *environment = *(char *const *)field;
	JsonObject *variables = gbe_json_open_object(object, key);
	g_auto(GStrv) lines = g_strsplit(environment != NULL ? environment : "", "\n", -1);

	for (guint i = 0; lines[i] != NULL && *lines[i] != '\0'; i++) {
		g_auto(GStrv) parts = g_strsplit(lines[i], "=", 2);

		gbe_json_set_string(variables, parts[0], parts[1]);
	}
}
static const GbeFieldOwn own_environment = {.print = print_environment};

const GbeField gbe_members_change_fields[] = {
    GBE_FIELD(Answer, dry_run, "dry_run", FLAG),
    GBE_FIELD(Answer, member.id, "id", ID),
    GBE_FIELD_SET(Answer, member.said, "said", TEXT),
    GBE_FIELD(Answer, member.backup, "backup", TEXT),
    GBE_FIELD_BY(Answer, member.environment, "environment", OWN, &own_environment, 0),
    {0},
};

static void
print_change(GbeCli *cli, const GbeMembersResult *result)
{
	const Answer answer = {.dry_run = arg_dry_run, .member = *result};

	if (cli->json) {
		gbe_print_answer(gbe_members_change_fields, &answer);
	} else if (!cli->quiet) {
		if (result->backup != NULL)
			gbe_print("the data from before is in %s\n", result->backup);
		gbe_print("%s\n", result->said);
		if (result->environment != NULL)
			gbe_print("the new etcd starts with an empty data directory and\n%s",
				  result->environment);
	}
}

static bool
change_members(GbeCli *cli, char **arguments, GError **error)
{
	GbeMembersOptions options = {.dry_run = arg_dry_run,
				     .voter = arg_voter,
				     .force = arg_force,
				     .back_up = !arg_no_backup,
				     .name = arg_name};
	g_auto(GbeMembersResult) result = {0};
	bool done;

	if (!gbe_verb_duration("--wait", arg_wait, WAIT_MOST, &options.wait, error))
		return false;
	if (g_str_equal(cli->words, "add"))
		done = gbe_members_add(cli->app, arguments, &options, &result, error);
	else if (g_str_equal(cli->words, "promote"))
		done = gbe_members_promote(cli->app, arguments[0], &options, &result, error);
	else if (g_str_equal(cli->words, "update"))
		done = gbe_members_update(cli->app, arguments[0], arguments + 1, &options, &result,
					  error);
	else if (g_str_equal(cli->words, "remove"))
		done = gbe_members_remove(cli->app, arguments[0], &options, &result, error);
	else
		done = gbe_members_replace(cli->app, arguments[0], arguments + 1, &options, &result,
					   error);
	if (!done)
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	print_change(cli, &result);
	return true;
}

static const GbeVerb member_words[] = {
    {"list", "List etcd's members", "member list", list_members, .looks = true},
    {"add", "Add a member with these addresses, as a learner",
     "member add https://192.0.2.7:2380 --name=device-7", change_members, NULL,
     GBE_TAKES({"PEER-URL..."})},
    {"promote", "Give a learner its vote", "member promote device-7", change_members, NULL,
     GBE_TAKES({"MEMBER"})},
    {"update", "Set the addresses of a member from its next start on",
     "member update device-7 https://192.0.2.8:2380", change_members, NULL,
     GBE_TAKES({"MEMBER"}, {"PEER-URL..."})},
    {"remove", "Remove a member permanently", "member remove device-7", change_members, NULL,
     GBE_TAKES({"MEMBER"})},
    {"replace", "Remove a member, and add another one",
     "member replace device-7 https://192.0.2.8:2380", change_members, NULL,
     GBE_TAKES({"MEMBER"}, {"PEER-URL..."})},
    {NULL},
};

static const GbeVerb verbs[] = {
    {"cluster", "Begin, join, leave or recover a cluster of etcd, update its members one at a time",
     "cluster join https://192.0.2.1:2379 --token=/run/token", NULL, cluster_options,
     .words = cluster_words, .group = "Members of a cluster", .page = "greenboot-etcd-cluster(8)"},
    {"member", "List and change the members of etcd's cluster",
     "member add https://192.0.2.7:2380 --name=device-7", NULL, member_options,
     .words = member_words, .page = "greenboot-etcd-cluster(8)"},
    {NULL},
};

int
main(int argc, char **argv)
{
	gbe_sha256_use(&gbe_sha256_libcrypto);
	return gbe_cli_main(verbs, NULL, argc, argv);
}
