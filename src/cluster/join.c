/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/frame.h"

#include <string.h>

#include "app/by-hand/by-hand.h"
#include "app/by-hand/session.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "base/format.h"
#include "cluster/members.h"
#include "cluster/rejoin.h"
#include "core/json/parse.h"
#include "core/version.h"
#include "sys/child.h"
#include "sys/systemd/events.h"

/* Until the configuration is loaded again, questions go to that member, with this device's certificates. */
static void
ask_at(GbeApp *app, const char *url)
{
	GbeConfig *config = app->config;
	char **const fields[] = {&config->etcd.endpoint, &config->etcd.cacert, &config->etcd.cert,
				 &config->etcd.key};
	const char *const values[] = {url, GBE_PKI_LIVE "/ca.crt", GBE_PKI_LIVE "/client.crt",
				      GBE_PKI_LIVE "/client.key"};

	for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
		g_free(*fields[i]);
		*fields[i] = g_strdup(values[i]);
	}
}

/* The intent keeps the cluster: after a cut, the same call may have another URL. */
static bool
look_at_cluster(GbeClusterFrame *frame, GError **error)
{
	GbeClusterIntent *intent = &frame->intent;
	GbeApp *app = frame->change.app;

	g_clear_pointer(&frame->cluster, gbe_cluster_free);
	ask_at(app, frame->options.url);
	if (!gbe_cluster_look(app, &frame->cluster, error))
		return gbe_prefix(error, "the cluster to join");
	if (intent->cluster != NULL &&
	    !gbe_cluster_check_id(app, frame->cluster, intent->cluster, error))
		return false;
	g_free(intent->cluster);
	intent->cluster = gbe_hex64(frame->cluster->cluster_id);
	return true;
}

/* *ret_own NULL: it is not in yet. @former: the member that this device was, whatever its address is; NULL: not known. */
static bool
find_own(const GbeClusterFrame *frame, const GbeClusterMember *former,
	 const GbeClusterMember **ret_own, GError **error)
{
	const GbeClusterSetupResult *result = frame->result;
	const GbeCluster *cluster = frame->cluster;

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];
		bool there =
		    g_strv_contains((const char *const *)member->peer_urls, result->peer_url);
		bool ours = former != NULL ? member == former : there;

		if (there && (!ours || !result->continued))
			return gbe_throw(
			    error, GBE_ERROR_REFUSED,
			    "member %s has the address %s already: remove it first, or "
			    "choose another --peer-url",
			    member->name, result->peer_url);
		if (!ours && g_str_equal(member->name, result->name))
			return gbe_throw(error, GBE_ERROR_REFUSED,
					 "there is a member %s already: choose another --name",
					 result->name);
		if (ours)
			*ret_own = member;
	}
	return true;
}

/* A cluster raises its version as soon as every member is newer, and then refuses older members. If only this member
 * is older, it could not come back. */
static bool
check_version(const GbeClusterFrame *frame, GError **error)
{
	const GbeApp *app = frame->change.app;
	const GbeCluster *cluster = frame->cluster;
	g_autofree char *own =
	    gbe_etcd_version_of_binary(app->root_fd, app->config->etcd.binary, GBE_ETCD_VERSION_MS);
	const char *lowest = NULL;
	GbeTri older;

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];
		bool ours = g_strv_contains((const char *const *)member->peer_urls,
					    frame->result->peer_url);

		if (!ours && member->url != NULL &&
		    (lowest == NULL ||
		     gbe_version_above(gbe_version_parse(lowest),
				       gbe_version_parse(member->status.version)) == GBE_YES))
			lowest = member->status.version;
	}
	older = gbe_version_above(gbe_version_parse(lowest), gbe_version_parse(own));
	if (older == GBE_UNKNOWN && frame->options.by_itself)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot determine whether etcd is older here than on the other "
				 "members: `%s --version` gives no version",
				 app->config->etcd.binary);
	return older != GBE_YES ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "etcd is %s here, and %s or newer on all other members: a cluster accepts "
			 "no older member. Update this device first",
			 own, lowest);
}

/* The member that an earlier call has added; 0: none. */
static guint64
noted_id(const GbeClusterFrame *frame)
{
	const char *id = frame->intent.id;

	return id != NULL ? g_ascii_strtoull(id, NULL, 16) : 0;
}

/* ---- the steps of join and rejoin ---- */

static bool
enter_cluster(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	GbeClusterSetupResult *result = frame->result;
	char *urls[] = {result->peer_url, NULL};
	const GbeMembersOptions options = {.wait = frame->options.timeout};
	g_auto(GbeMembersResult) added = {0};
	const GbeClusterMember *own = NULL;

	if (!look_at_cluster(frame, error) || !find_own(frame, NULL, &own, error))
		return false;
	if (own != NULL) {
		/* Since then another device may have become a member with this address. */
		if (own->voter.started && own->voter.id != noted_id(frame))
			return gbe_throw(
			    error, GBE_ERROR_REFUSED,
			    "member %s has the address %s, and is not this device: remove "
			    "it, or `greenboot-etcd cluster reset --force` here",
			    own->name, result->peer_url);
		result->id = own->voter.id;
		return true;
	}
	if (!check_version(frame, error) || !gbe_cluster_note(frame, error))
		return false;
	if (!gbe_members_add(frame->change.app, urls, &options, &added, error)) {
		result->asked = added.unknown;
		return false;
	}
	result->id = added.id;
	g_free(frame->intent.id);
	frame->intent.id = gbe_hex64(added.id);
	return true;
}

static bool
configure_member(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	const GbeClusterSetupResult *result = frame->result;
	g_autoptr(GString) members = g_string_new(NULL);

	for (guint i = 0; i < frame->cluster->members->len; i++) {
		const GbeClusterMember *member = frame->cluster->members->pdata[i];

		for (guint k = 0; member->voter.started && member->peer_urls[k] != NULL; k++)
			if (!g_str_equal(member->peer_urls[k], result->peer_url))
				g_string_append_printf(members, "%s=%s,", member->name,
						       member->peer_urls[k]);
	}
	g_string_append_printf(members, "%s=%s", result->name, result->peer_url);
	return gbe_cluster_settings_put(frame, members->str, error);
}

/* Ask another member: a learner answers no question about the members. A voter without data would break its
 * agreements, so the intent records when it becomes a voter. */
static bool
promote_learner(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	const GbeMembersOptions options = {.wait = frame->options.timeout};
	g_autofree char *id = gbe_hex64(frame->result->id);
	g_auto(GbeMembersResult) promoted = {0};
	const GbeClusterMember *own = NULL;

	return look_at_cluster(frame, error) && gbe_cluster_find(frame->cluster, id, &own, error) &&
	       (!own->voter.learner ||
		gbe_members_promote(frame->change.app, id, &options, &promoted, error));
}

static bool
remember_cluster(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	frame->cluster->self = frame->result->id;
	return gbe_cluster_remember(frame->change.app, frame->cluster, error);
}

#define JOIN_STEPS                                                                                 \
	{"cluster-entered", enter_cluster, NULL, 0, offsetof(GbeClusterFrame, entered)},           \
	    {"cluster-configured", configure_member, NULL, 0, 0},                                  \
	    {"cluster-reissued", gbe_cluster_reissue, NULL, 0, 0},                                 \
	    {"cluster-started", gbe_cluster_start, NULL, GBE_STEP_UNLOCKED, 0},                    \
	    {"cluster-promoted", promote_learner, NULL, GBE_STEP_UNLOCKED,                         \
	     offsetof(GbeClusterFrame, intent.voter)},                                             \
	    {"cluster-healthy", gbe_cluster_wait_healthy, NULL, GBE_STEP_UNLOCKED, 0},             \
	    {"cluster-remembered", remember_cluster, NULL, 0, 0},                                  \
	{                                                                                          \
		"cluster-ended", gbe_cluster_end, NULL, 0, 0                                       \
	}

/* ---- join ---- */

/* Removes the learner that was added, and the data that it received. A voter stays, because it counts for the quorum.
 * The intent is written first, because the data is useless afterwards. */
static bool
leave_again(GbeClusterFrame *frame, GError **error)
{
	GbeApp *app = frame->change.app;
	const GbeMembersOptions options = {.wait = frame->options.timeout};
	g_auto(GbeMembersResult) removed = {0};
	const GbeClusterMember *own = NULL;
	g_autofree char *id = gbe_hex64(frame->result->id), *name = NULL;
	bool bare = frame->intent.bare;
	GbeBackupRef backup = {0};
	char *names[] = {NULL, NULL};
	bool in;

	if (!look_at_cluster(frame, error))
		return false;
	in = gbe_cluster_find(frame->cluster, id, &own, NULL);
	if (in && !own->voter.learner)
		return gbe_throw(error, GBE_ERROR_REFUSED, "it has a vote already");
	if (!in && !gbe_cluster_check_current(app, frame->cluster, error))
		return false;
	frame->intent.back = true;
	if (!gbe_cluster_note(frame, error))
		return false;
	gbe_app_unlock(app);
	if ((in && !gbe_members_remove(app, id, &options, &removed, error)) ||
	    GBE_FAULT("cluster-out-again", error))
		return false;
	/* The data of a learner is a copy, and of no use once it has left. The directory may have other files. */
	if (!gbe_cluster_stop(frame, error) ||
	    !gbe_by_hand_set_aside(app, frame->change.name, bare, &backup, error))
		return false;
	name = names[0] = g_steal_pointer(&backup.name);
	gbe_backup_ref_clear(&backup);
	if (name != NULL && !bare)
		gbe_complain("other files were in %s before this join: backup %s has them",
			     app->config->etcd.data_dir, name);
	if (name != NULL && bare && !gbe_by_hand_delete(app, names, true, false, error))
		return false;
	if (!gbe_app_lock(app, frame->change.name, GBE_WAIT_BY_HAND, error) ||
	    !gbe_cluster_settings_remove(frame, error))
		return false;
	frame->taken_out = gbe_cluster_end(frame, error);
	return frame->taken_out;
}

static bool
finish_way_back(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	if (!frame->intent.back)
		return true;
	frame->result->id = noted_id(frame);
	frame->again = frame->change.ended = leave_again(frame, error);
	return frame->again;
}

/* After a call that was cut, the data may have become a voter's, or another process's: it stays. Without an id the
 * cluster was not asked for anything yet. */
static bool
take_out(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	const GbeClusterSetupResult *result = frame->result;

	if (result->continued || result->asked)
		return gbe_cluster_keep(frame, error);
	return result->id == 0 ? gbe_cluster_end(frame, error) : leave_again(frame, error);
}

static const GbeStep join_steps[] = {
    {"cluster-looked", gbe_cluster_look_at_setup, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"cluster-certified", gbe_cluster_certify, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-intended", gbe_cluster_intend, NULL, GBE_STEP_MAINTENANCE, 0},
    {"cluster-way-back", finish_way_back, take_out, 0, 0},
    JOIN_STEPS,
    {NULL, NULL, NULL, 0, 0},
};

/* Is @value what the settings have? NULL: the call says nothing of it. */
static bool
agrees_with(char **settings, const char *variable, const char *value)
{
	return value == NULL || g_strcmp0(g_environ_getenv(settings, variable), value) == 0;
}

/* Has the same call succeeded before? This device's etcd answers, and has a vote in the cluster that the URL leads to.
 * Changes nothing. */
static bool
is_in(GbeClusterFrame *frame)
{
	const GbeClusterSetup *options = &frame->options;
	GbeApp *app = frame->change.app;
	GbeClusterSetup own = *options;
	g_autoptr(GbeCluster) here = NULL, there = NULL;
	g_autoptr(JsonObject) intent = NULL;
	const GbeClusterMember *member = NULL;
	g_autofree char *id = NULL;

	if (app->below_root || !gbe_app_open_state(app, false, NULL) ||
	    !gbe_state_peek(app, GBE_STATE_CLUSTER, &intent, NULL) || intent != NULL ||
	    !gbe_cluster_settings_read(frame, &own, NULL) ||
	    !agrees_with(frame->settings, "ETCD_NAME", options->name) ||
	    !agrees_with(frame->settings, "ETCD_INITIAL_ADVERTISE_PEER_URLS", options->peer_url) ||
	    !agrees_with(frame->settings, "ETCD_ADVERTISE_CLIENT_URLS", options->client_url) ||
	    !gbe_cluster_look(app, &here, NULL) || !gbe_cluster_frame_is_own(frame, here))
		return false;
	ask_at(app, options->url);
	id = gbe_hex64(here->self);
	if (!gbe_cluster_look(app, &there, NULL) || there->cluster_id != here->cluster_id ||
	    !gbe_cluster_find(there, id, &member, NULL) || member->voter.learner)
		return false;
	frame->result->id = here->self;
	frame->result->name = g_strdup(own.name);
	frame->result->peer_url = g_strdup(own.peer_url);
	frame->result->client_url = g_strdup(own.client_url);
	return true;
}

/* Clients are asked with TLS only, and a URL without a port has HTTP's. */
static bool
check_url(const char *url, GError **error)
{
	g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
	const char *scheme = strstr(url, "://");
	const char *rest = scheme != NULL ? scheme + strlen("://") : url;
	g_autofree char *host = g_strndup(rest, strcspn(rest, *rest == '[' ? "]/" : ":/"));

	return (uri != NULL && g_str_equal(g_uri_get_scheme(uri), "https") &&
		g_uri_get_host(uri) != NULL && g_uri_get_port(uri) > 0) ||
	       gbe_throw(error, GBE_ERROR_USAGE,
			 "%s: the address of a member begins with https:// and ends with its port, "
			 "like https://%s%s:2379",
			 url, host, *rest == '[' ? "]" : "");
}

bool
gbe_cluster_join(GbeApp *app, const GbeClusterSetup *options, GbeClusterSetupResult *ret_result,
		 GError **error)
{
	if (!check_url(options->url, error))
		return false;
	for (;;) {
		g_auto(GbeClusterFrame) frame = {
		    .change = {.app = app, .name = "cluster join", .steps = join_steps},
		    .options = *options,
		    .result = ret_result,
		};

		if (is_in(&frame))
			return true;
		if (!gbe_configuration_load(app, error) || !gbe_cluster_run(&frame, error))
			return frame.taken_out
				   ? gbe_prefix(error, "this device is not in the cluster, and "
						       "nothing of it is left")
				   : false;
		if (!frame.again)
			return true;
		gbe_cluster_setup_result_clear(ret_result);
		*ret_result = (GbeClusterSetupResult){NULL};
	}
}

/* ---- rejoin ---- */

void
gbe_cluster_ids(const GbeFacts *facts, JsonObject *record, const char **ret_member,
		const char **ret_cluster)
{
	const GbeTakeOver *owner = facts->owner;

	*ret_member = owner != NULL ? owner->member_id : NULL;
	*ret_cluster = owner != NULL ? owner->cluster_id : NULL;
	if (facts->member_id != NULL && facts->cluster_id != NULL) {
		*ret_member = facts->member_id;
		*ret_cluster = facts->cluster_id;
	} else if (record != NULL) {
		*ret_member = gbe_json_string(record, "member", *ret_member);
		*ret_cluster = gbe_json_string(record, "cluster", *ret_cluster);
	}
}

/* Notes in the intent which member this device was. *ret_cluster: of which cluster; NULL: not known. */
static bool
read_former(GbeClusterFrame *frame, char **ret_cluster, GError **error)
{
	GbeApp *app = frame->change.app;
	const GbeSessionOptions how = {.operation = frame->change.name,
				       .data = true,
				       .inside = true,
				       .dry_run = true};
	g_autoptr(JsonObject) record = NULL;
	const char *member, *cluster;
	g_autoptr(GError) local = NULL;
	GbeSession session;

	/* If etcd has the data open, the others may have removed this member. */
	if (!gbe_session_begin(app, &how, &session, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_BUSY);
	if (!gbe_state_peek(app, GBE_STATE_MEMBERS, &record, &local))
		gbe_note("%s", local->message);
	gbe_cluster_ids(session.observed->facts, record, &member, &cluster);
	g_free(frame->intent.former);
	frame->intent.former = g_strdup(member);
	*ret_cluster = g_strdup(cluster);
	gbe_session_leave(&session);
	return true;
}

/* The member that this device was. */
static bool
remove_former(GbeClusterFrame *frame, bool dry_run, GError **error)
{
	GbeApp *app = frame->change.app;
	const GbeClusterSetup *setup = &frame->options;
	const GbeMembersOptions options = {.dry_run = dry_run,
					   .force = setup->force,
					   .wait = setup->timeout};
	g_auto(GbeMembersResult) removed = {0};
	const GbeClusterMember *former = NULL, *own = NULL;
	const GbeClusterIntent *intent = &frame->intent;
	g_autofree char *id = NULL, *expected = NULL;

	if (!look_at_cluster(frame, error) || (dry_run && !read_former(frame, &expected, error)))
		return false;
	/* By its id, since its address may have changed; else by the address. */
	if (intent->former != NULL)
		(void)!gbe_cluster_find(frame->cluster, intent->former, &former, NULL);
	if (!find_own(frame, former, &own, error) || !check_version(frame, error))
		return false;
	/* By hand, the address may lead to any cluster. */
	if (dry_run && !setup->force && !setup->by_itself) {
		if (expected != NULL && !gbe_cluster_check_id(app, frame->cluster, expected, error))
			return gbe_prefix(error, "use another URL, or --force");
		if (own != NULL && intent->former != NULL && own->voter.works == GBE_YES &&
		    own != former)
			return gbe_throw(error, GBE_ERROR_REFUSED,
					 "member %s works with the address of this device, and is "
					 "another one: --force removes it",
					 own->name);
	}
	if (own == NULL)
		return gbe_cluster_check_current(app, frame->cluster, error);
	if (setup->by_itself && own->voter.works == GBE_YES)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "member %s works, and does not have to rejoin", own->name);
	id = gbe_hex64(own->voter.id);
	return gbe_members_remove(app, id, &options, &removed, error);
}

static bool
look_before_rejoin(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	if (!gbe_cluster_frame_begin(frame, error) ||
	    !gbe_cluster_settings_read(frame, &frame->options, error) ||
	    !gbe_cluster_settings_choose(frame, error) || !gbe_cluster_certify(frame, error))
		return false;
	frame->result->continued = true; /* no other member has its address */
	if (frame->continued)
		return true;
	if (frame->options.goes_on)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "another call has just finished this rejoin");
	frame->intent.empties = true;
	g_free(frame->intent.command);
	frame->intent.command = g_strdup_printf("%s %s", frame->change.name, frame->options.url);
	return remove_former(frame, true, error);
}

/* The former member is removed before the data goes: a voter without its log would break its promises. */
static bool
take_former_out(gpointer change, GError **error)
{
	return remove_former(change, false, error);
}

static bool
end_denied(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	if (!frame->intent.removed && gbe_cluster_is_denial(frame->change.why))
		return gbe_cluster_end(frame, error);
	return gbe_cluster_keep(frame, error);
}

/* With the settings of the first member, an etcd without data would begin the cluster again. So change the settings
 * before the data is moved away. */
static bool
configure_before(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	return frame->intent.aside ||
	       (look_at_cluster(frame, error) && configure_member(frame, error));
}

static bool
set_data_aside(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	GbeBackupRef backup = {0};
	bool ok =
	    gbe_cluster_stop(frame, error) &&
	    gbe_by_hand_set_aside(frame->change.app, frame->change.name, false, &backup, error);

	gbe_backup_ref_clear(&backup);
	/* An etcd without data may join from here on. */
	frame->intent.empties = false;
	return ok;
}

static const GbeStep rejoin_steps[] = {
    {"cluster-looked", look_before_rejoin, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"cluster-intended", gbe_cluster_intend, NULL, GBE_STEP_MAINTENANCE, 0},
    {"cluster-left", take_former_out, end_denied, 0, offsetof(GbeClusterFrame, intent.removed)},
    {"cluster-configured", configure_before, NULL, 0, 0},
    {"cluster-reissued", gbe_cluster_reissue, NULL, 0, 0},
    {"cluster-set-aside", set_data_aside, NULL, GBE_STEP_UNLOCKED,
     offsetof(GbeClusterFrame, intent.aside)},
    JOIN_STEPS,
    {NULL, NULL, NULL, 0, 0},
};

bool
gbe_cluster_rejoin(GbeApp *app, const GbeClusterSetup *options, GbeClusterSetupResult *ret_result,
		   GError **error)
{
	g_auto(GbeClusterFrame) frame = {
	    .change = {.app = app, .name = "cluster rejoin", .steps = rejoin_steps},
	    .options = *options,
	    .result = ret_result,
	};

	if (!check_url(options->url, error) || !gbe_cluster_run(&frame, error))
		return false;
	ret_result->continued = frame.continued;
	return true;
}
