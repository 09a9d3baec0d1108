/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/members.h"

#include <string.h>

#include "app/upkeep/live-etcd.h"
#include "cluster/lock.h"

#define POLL_USEC (G_USEC_PER_SEC / 2)
/* etcd's error for a learner that has not caught up. */
#define GRPC_FAILED_PRECONDITION 9
#define GRPC_NOT_FOUND 5
#define TAKEN_USEC G_USEC_PER_SEC

void
gbe_members_result_clear(GbeMembersResult *result)
{
	g_clear_pointer(&result->said, g_free);
	g_clear_pointer(&result->backup, g_free);
	g_clear_pointer(&result->environment, g_free);
}

typedef struct {
	GbeApp *app;
	const GbeMembersOptions *options;
	GbeCluster *cluster;
	GbeAppEndpoint at;
	GbeClient *client;
	GbeCallFailure failure;
} Step;

static void
step_clear(Step *step)
{
	g_clear_pointer(&step->client, gbe_client_close);
	gbe_call_failure_clear(&step->failure);
	gbe_app_endpoint_clear(&step->at);
	g_clear_pointer(&step->cluster, gbe_cluster_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Step, step_clear)

static bool
check_quorum(const Step *step, GbeQuorumChange change, guint64 id, guint64 without, GError **error)
{
	g_autofree char *why = gbe_cluster_refusal(step->cluster, change, id, without);

	if (why == NULL || step->options->force)
		return true;
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s (`greenboot-etcd cluster status` shows the members)", why);
}

/* A member whose update has its turn may go down at any moment. */
static bool
check_removal(Step *step, const GbeClusterMember *removed, GError **error)
{
	GbeUpdateLockSeen seen = {0};
	bool reboots = false;

	if (gbe_update_lock_look(step->app, &seen, NULL)) {
		for (guint i = 0; i < step->cluster->members->len; i++) {
			GbeClusterMember *member = step->cluster->members->pdata[i];

			if (seen.lock.state == GBE_UPDATE_LOCK_HELD && member != removed &&
			    g_strcmp0(member->name, seen.lock.member) == 0) {
				member->voter.works = GBE_NO;
				reboots = true;
			}
		}
		gbe_update_lock_clear(&seen.lock);
	}
	return check_quorum(step, GBE_QUORUM_REMOVE, removed->voter.id, 0, error) ||
	       (reboots &&
		gbe_prefix(error, "without the member that has the update lock and may reboot"));
}

/* A denial changed nothing. Without an answer the change may have been made. */
static bool
denied(const Step *step, const char *what, GError **error)
{
	if (gbe_call_is_denied(&step->failure))
		return gbe_throw(error, gbe_call_code(&step->failure, GBE_ERROR_FAILED),
				 "etcd does not %s: %s", what, step->failure.why);
	return gbe_throw(
	    error, GBE_ERROR_CANNOT_TELL,
	    "cannot determine whether etcd did %s: %s; run `greenboot-etcd cluster status`", what,
	    step->failure.why);
}

/* A wrong change can destroy the cluster. */
static bool
back_up(const Step *step, const char *change, GbeMembersResult *result, GError **error)
{
	GbeLiveEtcd live = {.app = step->app};
	g_autofree char *why = g_strdup_printf("before member %s", change);

	return !step->options->back_up || step->options->dry_run || result->backup != NULL ||
	       gbe_live_etcd_back_up(&live, why, &result->backup, error);
}

/* etcd denies each change until its members have been connected for five seconds. */
static bool
is_unhealthy(const GbeCallFailure *failure)
{
	return failure->status == GBE_GRPC_UNAVAILABLE &&
	       strstr(failure->why, "unhealthy cluster") != NULL;
}

/* After a denial: may etcd take the same change a moment later? Waits for that moment. */
static bool
try_again(const Step *step, bool later, gint64 began, gint64 at_least)
{
	gint64 wait = MAX((gint64)step->options->wait * G_USEC_PER_SEC, at_least);

	if (step->failure.reach != GBE_REACH_DENIED || !later ||
	    g_get_monotonic_time() - began > wait)
		return false;
	g_usleep(POLL_USEC);
	return true;
}

/* @name and @urls: the member, and the addresses that it, or a new member, gets; NULL: none. @urls must be free. */
static bool
open_step(Step *step, const char *name, char *const *urls, const GbeClusterMember **ret_member,
	  GError **error)
{
	const GbeClusterMember *member = NULL;

	for (guint i = 0; urls != NULL && urls[i] != NULL; i++) {
		g_autoptr(GUri) uri = g_uri_parse(urls[i], G_URI_FLAGS_NONE, NULL);

		if (uri == NULL || g_uri_get_host(uri) == NULL || g_uri_get_port(uri) < 0 ||
		    (!g_str_has_prefix(urls[i], "http://") &&
		     !g_str_has_prefix(urls[i], "https://")))
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "\"%s\" is not a peer address like https://192.0.2.7:2380",
					 urls[i]);
	}
	gbe_app_endpoint(step->app, &step->at);
	/* Below --root, the endpoint may be that of this very system. */
	if (step->app->below_root && !gbe_live_etcd_check_open(step->app, error))
		return false;
	if (!gbe_cluster_look(step->app, &step->cluster, error))
		return false;
	if (!gbe_client_open(&step->at.endpoint, &step->client, &step->failure))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "etcd at %s: %s", step->at.shown,
				 step->failure.why);
	if (name != NULL && !gbe_cluster_find(step->cluster, name, &member, error))
		return false;
	for (guint i = 0; urls != NULL && i < step->cluster->members->len; i++) {
		const GbeClusterMember *other = step->cluster->members->pdata[i];

		for (guint k = 0; other != member && urls[k] != NULL; k++)
			if (g_strv_contains((const char *const *)other->peer_urls, urls[k]))
				return gbe_throw(error, GBE_ERROR_REFUSED,
						 "member %s has the address %s already",
						 other->name, urls[k]);
	}
	if (ret_member != NULL)
		*ret_member = member;
	return true;
}

/* ---- add ---- */

static void
append_member(GString *line, const char *name, char *const *urls)
{
	for (guint i = 0; urls[i] != NULL; i++)
		g_string_append_printf(line, "%s%s=%s", line->len > 0 ? "," : "", name, urls[i]);
}

/* The variables that etcd's own `etcdctl member add` prints. @without: a member that is gone; may be NULL. */
static char *
environment_of(const Step *step, char *const *urls, const GbeClusterMember *without)
{
	const char *name = step->options->name != NULL ? step->options->name : "NAME";
	g_autoptr(GString) cluster = g_string_new(NULL);
	g_autofree char *own = g_strjoinv(",", (char **)urls);

	for (guint i = 0; i < step->cluster->members->len; i++) {
		const GbeClusterMember *member = step->cluster->members->pdata[i];

		if (member != without && member->voter.started)
			append_member(cluster, member->name, member->peer_urls);
	}
	append_member(cluster, name, urls);
	return g_strdup_printf("ETCD_NAME=%s\nETCD_INITIAL_CLUSTER=%s\n"
			       "ETCD_INITIAL_ADVERTISE_PEER_URLS=%s\n"
			       "ETCD_INITIAL_CLUSTER_STATE=existing\n",
			       name, cluster->str, own);
}

static bool
add_member(Step *step, char *const *urls, GbeMembersResult *result, GError **error)
{
	bool learner = !step->options->voter, added = false, taken;
	g_autofree char *shown = g_strjoinv(",", (char **)urls);
	gint64 began = g_get_monotonic_time();
	GbeEtcdMembers members = {{0}};

	if (step->options->dry_run) {
		result->said =
		    g_strdup_printf("%s was added as %s", shown, learner ? "learner" : "voter");
		return true;
	}
	/* etcd makes the id from the address and the second, and never reuses an id. An address that was removed in
	 * this second can be added in the next one. */
	do {
		added =
		    gbe_client_member_add(step->client, urls, learner, gbe_app_deadline(step->app),
					  &members, &step->failure);
		taken = step->failure.status == GRPC_NOT_FOUND;
	} while (!added && try_again(step, taken || is_unhealthy(&step->failure), began,
				     taken ? TAKEN_USEC : 0));
	if (!added) {
		result->unknown = !gbe_call_is_denied(&step->failure);
		return denied(step, "add the member", error);
	}
	result->id = members.added.id;
	gbe_message_clear(GBE_MESSAGE_MEMBER_ADD, &members);
	result->said = g_strdup_printf("%s was added as %s %016" G_GINT64_MODIFIER "x", shown,
				       learner ? "learner" : "voter", result->id);
	return true;
}

static GbeQuorumChange
kind_of_addition(const GbeMembersOptions *options)
{
	return options->voter ? GBE_QUORUM_ADD_VOTER : GBE_QUORUM_ADD_LEARNER;
}

bool
gbe_members_add(GbeApp *app, char *const *urls, const GbeMembersOptions *options,
		GbeMembersResult *ret_result, GError **error)
{
	g_auto(Step) step = {.app = app, .options = options};

	if (!open_step(&step, NULL, urls, NULL, error) ||
	    !check_quorum(&step, kind_of_addition(options), 0, 0, error) ||
	    !back_up(&step, "add", ret_result, error) ||
	    !add_member(&step, urls, ret_result, error))
		return false;
	ret_result->environment = environment_of(&step, urls, NULL);
	return true;
}

/* ---- promote ---- */

/* *ret_later: a retry may succeed. The learner has not started or caught up, a voter is away, or the cluster has no
 * leader at the moment. False if etcd gave no answer. */
static bool
try_to_promote(GbeApp *app, const char *name, const GbeMembersOptions *options,
	       GbeMembersResult *ret_result, bool *ret_later, GError **error)
{
	g_auto(Step) step = {.app = app, .options = options};
	const GbeClusterMember *member = NULL;
	bool done;

	*ret_later = true;
	if (!open_step(&step, NULL, NULL, NULL, error))
		return false;
	*ret_later = false;
	if (!gbe_cluster_find(step.cluster, name, &member, error))
		return false;
	if (!check_quorum(&step, GBE_QUORUM_PROMOTE, member->voter.id, 0, error)) {
		*ret_later = member->voter.learner;
		return false;
	}
	if (!back_up(&step, "promote", ret_result, error))
		return false;
	done = options->dry_run ||
	       gbe_client_change(step.client, GBE_MESSAGE_MEMBER_PROMOTE, member->voter.id,
				 gbe_app_deadline(step.app), &step.failure);
	if (!done) {
		*ret_later = step.failure.reach == GBE_REACH_DENIED &&
			     (step.failure.status == GRPC_FAILED_PRECONDITION ||
			      step.failure.status == GBE_GRPC_UNAVAILABLE);
		return denied(&step, "promote the member", error);
	}
	ret_result->id = member->voter.id;
	ret_result->said = g_strdup_printf("%s is a voter", member->name);
	return true;
}

bool
gbe_members_promote(GbeApp *app, const char *name, const GbeMembersOptions *options,
		    GbeMembersResult *ret_result, GError **error)
{
	gint64 end = g_get_monotonic_time() + (gint64)options->wait * G_USEC_PER_SEC;

	for (;;) {
		g_autoptr(GError) local = NULL;
		bool later = false;

		if (try_to_promote(app, name, options, ret_result, &later, &local))
			return true;
		if (!later || g_get_monotonic_time() >= end)
			return gbe_pass(error, &local);
		g_usleep(POLL_USEC);
	}
}

/* ---- update ---- */

bool
gbe_members_update(GbeApp *app, const char *name, char *const *urls,
		   const GbeMembersOptions *options, GbeMembersResult *ret_result, GError **error)
{
	g_auto(Step) step = {.app = app, .options = options};
	g_autofree char *shown = g_strjoinv(",", (char **)urls);
	const GbeClusterMember *member = NULL;

	if (!open_step(&step, name, urls, &member, error) ||
	    !check_quorum(&step, GBE_QUORUM_UPDATE, member->voter.id, 0, error))
		return false;
	if (!options->dry_run &&
	    !gbe_client_member_update(step.client, member->voter.id, urls,
				      gbe_app_deadline(step.app), &step.failure))
		return denied(&step, "change the member's address", error);
	ret_result->id = member->voter.id;
	ret_result->said =
	    g_strdup_printf("%s is reached by the others at %s", member->name, shown);
	return true;
}

/* ---- remove, replace ---- */

/* Removing a leader costs an election of about a second; handing over costs none. A failure is ignored. The successor is
 * the member that has to catch up least. */
static void
hand_over(Step *step, const GbeClusterMember *leader)
{
	const GbeCluster *cluster = step->cluster;
	const GbeClusterMember *to = NULL;
	g_autoptr(GbeClient) client = NULL;
	g_auto(GbeCallFailure) failure = {0};

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];

		if (member != leader && !member->voter.learner && member->voter.works == GBE_YES &&
		    (to == NULL || gbe_cluster_lag(cluster, member) < gbe_cluster_lag(cluster, to)))
			to = member;
	}
	if (to == NULL || leader->url == NULL)
		return;
	if (!gbe_cluster_open(&step->at, leader->url, &client, &failure) ||
	    !gbe_client_change(client, GBE_MESSAGE_MOVE_LEADER, to->voter.id,
			       gbe_app_deadline(step->app), &failure))
		g_debug("%s does not hand over: %s", leader->name, failure.why);
}

static bool
remove_member(Step *step, const GbeClusterMember *member, GError **error)
{
	const GPtrArray *members = step->cluster->members;
	bool asks_another = member->voter.id != step->cluster->self;
	gint64 began = g_get_monotonic_time();

	if (member->voter.id == step->cluster->leader)
		hand_over(step, member);
	/* A member that was removed shuts its etcd down, and answers nothing more: another one has to be asked. */
	for (guint i = 0; i < members->len && !asks_another; i++) {
		const GbeClusterMember *other = members->pdata[i];

		if (other == member || other->voter.works != GBE_YES || other->voter.learner)
			continue;
		g_clear_pointer(&step->client, gbe_client_close);
		asks_another =
		    gbe_cluster_open(&step->at, other->url, &step->client, &step->failure);
	}
	if (!asks_another)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "no other member can be asked");
	do {
		if (gbe_client_change(step->client, GBE_MESSAGE_MEMBER_REMOVE, member->voter.id,
				      gbe_app_deadline(step->app), &step->failure))
			return true;
	} while (try_again(step, is_unhealthy(&step->failure), began, 0));
	return denied(step, "remove the member", error);
}

bool
gbe_members_remove(GbeApp *app, const char *name, const GbeMembersOptions *options,
		   GbeMembersResult *ret_result, GError **error)
{
	g_auto(Step) step = {.app = app, .options = options};
	const GbeClusterMember *member = NULL;

	if (!open_step(&step, name, NULL, &member, error) || !check_removal(&step, member, error) ||
	    !back_up(&step, "remove", ret_result, error) ||
	    (!options->dry_run && !remove_member(&step, member, error)))
		return false;
	ret_result->id = member->voter.id;
	ret_result->said = g_strdup_printf("%s was removed", member->name);
	return true;
}

bool
gbe_members_replace(GbeApp *app, const char *name, char *const *urls,
		    const GbeMembersOptions *options, GbeMembersResult *ret_result, GError **error)
{
	g_auto(Step) step = {.app = app, .options = options};
	g_auto(GbeMembersResult) added = {0};
	const GbeClusterMember *member = NULL;

	if (!open_step(&step, name, urls, &member, error) || !check_removal(&step, member, error) ||
	    !check_quorum(&step, kind_of_addition(options), 0, member->voter.id, error) ||
	    !back_up(&step, "replace", ret_result, error) ||
	    (!options->dry_run && !remove_member(&step, member, error)))
		return false;
	if (!add_member(&step, urls, &added, error)) {
		gbe_rethrow(error, GBE_ERROR_PARTIAL);
		return gbe_prefix(
		    error,
		    "%s was removed, but the new member was not added; run "
		    "`greenboot-etcd member add PEER-URL` to complete the replacement",
		    member->name);
	}
	ret_result->id = added.id;
	ret_result->said = g_strdup_printf("%s was removed, and %s", member->name, added.said);
	ret_result->environment = environment_of(&step, urls, member);
	return true;
}
