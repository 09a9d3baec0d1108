/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/look.h"

#include "base/format.h"

static void
member_free(gpointer data)
{
	GbeClusterMember *member = data;

	g_free(member->name);
	g_strfreev(member->peer_urls);
	g_strfreev(member->client_urls);
	g_free(member->url);
	g_free(member->why);
	gbe_message_clear(GBE_MESSAGE_STATUS, &member->status);
	g_free(member);
}

void
gbe_cluster_free(GbeCluster *cluster)
{
	if (cluster == NULL)
		return;
	g_ptr_array_unref(cluster->members);
	g_free(cluster);
}

static char **
copy_of(const GPtrArray *texts)
{
	guint count = texts != NULL ? texts->len : 0;
	char **copy = g_new0(char *, count + 1);

	for (guint i = 0; i < count; i++)
		copy[i] = g_strdup(texts->pdata[i]);
	return copy;
}

bool
gbe_cluster_open(const GbeAppEndpoint *at, const char *url, GbeClient **ret_client,
		 GbeCallFailure *ret_failure)
{
	GbeEndpoint endpoint = at->endpoint;

	endpoint.endpoint = endpoint.shown = url;
	return gbe_client_open(&endpoint, ret_client, ret_failure);
}

/* At an address such as localhost, another member may answer. */
static bool
ask_at(const GbeAppEndpoint *at, const char *url, gint64 deadline, GbeClusterMember *member)
{
	g_autoptr(GbeClient) client = NULL;
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdStatus status = {{0}};
	bool own;

	g_clear_pointer(&member->why, g_free);
	if (!gbe_cluster_open(at, url, &client, &failure) ||
	    !gbe_client_status(client, deadline, &status, &failure)) {
		member->why = g_strdup_printf("%s: %s", url, failure.why);
		return false;
	}
	own = status.header.member_id == member->voter.id;
	if (own) {
		member->url = g_strdup(url);
		member->status = status;
	} else {
		member->why = g_strdup_printf("%s: another member answers there", url);
		gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	}
	return own;
}

static void
ask_member(const GbeApp *app, const GbeAppEndpoint *at, const GbeCluster *cluster,
	   GbeClusterMember *member)
{
	gint64 deadline = gbe_app_deadline(app);

	/* The one that is configured answers there, whatever it advertises. */
	if (member->voter.id != cluster->self ||
	    !ask_at(at, at->endpoint.endpoint, deadline, member))
		for (guint i = 0; member->client_urls[i] != NULL; i++)
			if (ask_at(at, member->client_urls[i], deadline, member))
				break;
	member->voter.works = GBE_NO;
	if (!member->voter.started) {
		member->why = g_strdup("was added, and has not started yet");
	} else if (member->url == NULL) {
		if (member->why == NULL)
			member->why = g_strdup("has no address for clients");
	} else if (member->status.leader == 0) {
		member->why = g_strdup("knows no leader");
	} else {
		member->voter.works = GBE_YES;
		/* An alarm: each member names those of all, and continues to vote. */
		if (member->status.errors != NULL && member->status.errors->len > 0)
			member->why = g_strdup(member->status.errors->pdata[0]);
	}
}

bool
gbe_cluster_look(GbeApp *app, GbeCluster **ret_cluster, GError **error)
{
	g_autoptr(GbeCluster) cluster = g_new0(GbeCluster, 1);
	g_autoptr(GbeClient) client = NULL;
	g_auto(GbeAppEndpoint) at = {{0}};
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdMembers members = {{0}};
	gint64 deadline = gbe_app_deadline(app);
	guint64 term = 0;

	cluster->members = g_ptr_array_new_with_free_func(member_free);
	gbe_app_endpoint(app, &at);
	if (!gbe_client_open(&at.endpoint, &client, &failure) ||
	    !gbe_client_members(client, deadline, &members, &failure))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "etcd at %s does not list the members: %s", at.shown, failure.why);
	cluster->cluster_id = members.header.cluster_id;
	cluster->self = members.header.member_id;
	for (guint i = 0; members.list != NULL && i < members.list->len; i++) {
		const GbeEtcdMember *from = &g_array_index(members.list, GbeEtcdMember, i);
		GbeClusterMember *member = g_new0(GbeClusterMember, 1);
		bool started = from->name != NULL && *from->name != '\0';

		member->name = started ? g_strdup(from->name) : gbe_hex64(from->id);
		member->peer_urls = copy_of(from->peer_urls);
		member->client_urls = copy_of(from->client_urls);
		member->voter = (GbeVoter){.id = from->id,
					   .name = member->name,
					   .learner = from->learner,
					   .started = started,
					   .works = GBE_UNKNOWN};
		g_ptr_array_add(cluster->members, member);
	}
	gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
	for (guint i = 0; i < cluster->members->len; i++) {
		GbeClusterMember *member = cluster->members->pdata[i];

		ask_member(app, &at, cluster, member);
		/* The leader of the latest term: a member that is cut off names none, or an old one. */
		if (member->url != NULL && member->status.leader != 0 &&
		    member->status.raft_term >= term) {
			term = member->status.raft_term;
			cluster->leader = member->status.leader;
		}
	}
	*ret_cluster = g_steal_pointer(&cluster);
	return true;
}

char *
gbe_cluster_urls_of_others(const GbeCluster *cluster)
{
	g_autoptr(GString) urls = g_string_new(NULL);

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];
		const char *url = member->url != NULL ? member->url : member->client_urls[0];

		if (member->voter.id != cluster->self && url != NULL && !member->voter.learner)
			g_string_append_printf(urls, "%s%s", urls->len > 0 ? " " : "", url);
	}
	return g_string_free(g_steal_pointer(&urls), false);
}

const GbeClusterMember *
gbe_cluster_by_id(const GbeCluster *cluster, guint64 id)
{
	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];

		if (member->voter.id == id)
			return member;
	}
	return NULL;
}

static bool
is_current(const GbeCluster *cluster)
{
	const GbeClusterMember *member = gbe_cluster_by_id(cluster, cluster->self);

	return member != NULL && member->voter.works == GBE_YES;
}

bool
gbe_cluster_check_current(const GbeApp *app, const GbeCluster *cluster, GError **error)
{
	return is_current(cluster) ||
	       gbe_throw(error, GBE_ERROR_CANNOT_TELL,
			 "%s knows no leader, so its list of members may be outdated",
			 app->config->etcd.endpoint);
}

bool
gbe_cluster_check_id(const GbeApp *app, const GbeCluster *cluster, const char *cluster_id,
		     GError **error)
{
	g_autofree char *id = gbe_hex64(cluster->cluster_id);

	return g_str_equal(id, cluster_id) ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s is a member of another cluster, %s and not %s",
			 app->config->etcd.endpoint, id, cluster_id);
}

static void
set_endpoint(GbeApp *app, const char *url)
{
	g_free(app->config->etcd.endpoint);
	app->config->etcd.endpoint = g_strdup(url);
}

bool
gbe_cluster_look_by(GbeApp *app, const char *urls, const char *cluster_id, GbeCluster **ret_cluster,
		    GError **error)
{
	g_auto(GStrv) list = g_strsplit(urls, " ", -1);
	g_autoptr(GbeCluster) found = NULL;
	g_autoptr(GError) local = NULL;
	const char *url = NULL;

	for (guint i = 0; list[i] != NULL && (found == NULL || !is_current(found)); i++) {
		g_autoptr(GbeCluster) cluster = NULL;

		g_clear_error(&local);
		set_endpoint(app, list[i]);
		if (!gbe_cluster_look(app, &cluster, &local) ||
		    (cluster_id != NULL && !gbe_cluster_check_id(app, cluster, cluster_id, &local)))
			continue;
		if (found == NULL || is_current(cluster)) {
			g_clear_pointer(&found, gbe_cluster_free);
			found = g_steal_pointer(&cluster);
			url = list[i];
		}
	}
	if (found != NULL) {
		set_endpoint(app, url);
		*ret_cluster = g_steal_pointer(&found);
		return true;
	}
	return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "no other member can be asked%s%s",
			 local != NULL ? ": " : "", local != NULL ? local->message : "");
}

bool
gbe_cluster_find(const GbeCluster *cluster, const char *name, const GbeClusterMember **ret_member,
		 GError **error)
{
	g_autoptr(GString) names = g_string_new(NULL);
	guint64 id = 0;
	bool is_id = g_ascii_string_to_unsigned(name, 16, 1, G_MAXUINT64, &id, NULL);

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];

		if (g_str_equal(member->name, name) || (is_id && member->voter.id == id)) {
			*ret_member = member;
			return true;
		}
		g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", member->name);
	}
	return gbe_throw(error, GBE_ERROR_NOT_FOUND, "no member is named %s; the members are %s",
			 name, names->str);
}

/* Newly allocated. */
static GbeVoter *
voters_of(const GbeCluster *cluster, guint64 without, guint *ret_count)
{
	GbeVoter *voters = g_new0(GbeVoter, cluster->members->len);
	guint count = 0;

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];

		if (member->voter.id != without)
			voters[count++] = member->voter;
	}
	*ret_count = count;
	return voters;
}

char *
gbe_cluster_refusal(const GbeCluster *cluster, GbeQuorumChange change, guint64 id, guint64 without)
{
	guint count = 0;
	g_autofree GbeVoter *voters = voters_of(cluster, without, &count);

	return gbe_quorum_refusal(voters, count, change, id);
}

void
gbe_cluster_count(const GbeCluster *cluster, guint *ret_voters, guint *ret_working)
{
	guint count = 0;
	g_autofree GbeVoter *voters = voters_of(cluster, 0, &count);

	gbe_quorum_count(voters, count, ret_voters, ret_working);
}

gint64
gbe_cluster_lag(const GbeCluster *cluster, const GbeClusterMember *member)
{
	const GbeClusterMember *leader =
	    cluster->leader != 0 ? gbe_cluster_by_id(cluster, cluster->leader) : NULL;
	guint64 theirs = member->status.raft_applied;

	if (leader == NULL || leader->url == NULL || member->url == NULL)
		return -1;
	return leader->status.raft_index > theirs ? (gint64)(leader->status.raft_index - theirs)
						  : 0;
}
