/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cluster status; verb-cluster-change.c has the rest. */
#include "cli/verbs/verb-cluster.h"
#include "app/cluster/look.h"
#include "app/report/status.h"
#include "cli/ask.h"
#include "cli/print.h"
#include "cli/verbs/verb-cluster-lock.h"
#include "core/json/members.h"
#include "core/space.h"
#include "sys/systemd/events.h"

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

/* @lock NULL: the update lock is free. */
static void
print_json(const GbeCluster *cluster, JsonObject *lock)
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
	if (lock != NULL)
		json_object_set_object_member(object, "update_lock", json_object_ref(lock));
	else
		json_object_set_null_member(object, "update_lock");
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
print_text(const GbeCluster *cluster, JsonObject *lock)
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
	gbe_cluster_print_lock(lock);
	for (guint i = 0; i < cluster->members->len; i++)
		add_row(table, cluster, cluster->members->pdata[i]);
	gbe_table_print(table);
	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];

		if (member->why != NULL)
			gbe_print("%s: %s\n", member->name, member->why);
	}
}

bool
gbe_verb_cluster_status(GbeCli *cli, char **arguments G_GNUC_UNUSED, GError **error)
{
	guint timeout_ms = (guint)cli->app->config->health.request_timeout * 1000;
	g_autoptr(GbeCluster) cluster = NULL;
	g_autoptr(JsonObject) lock = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_cluster_look(cli->app, timeout_ms, &cluster, error))
		return false;
	if (!gbe_cluster_lock_json(cli, &lock, &local))
		gbe_complain("who holds the update lock is not known: %s", local->message);
	if (cli->json)
		print_json(cluster, lock);
	else
		print_text(cluster, lock);
	return true;
}
