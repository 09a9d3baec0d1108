/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/setup.h"

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

/* Until the configuration is loaded anew, questions go to that member, with this device's certificates. */
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
look_at_cluster(GbeClusterSetting *setup, GbeCluster **ret_cluster, GError **error)
{
	GbeClusterIntent *intent = &setup->frame.intent;
	g_autoptr(GbeCluster) cluster = NULL;

	ask_at(setup->frame.app, setup->options->url);
	if (!gbe_cluster_look(setup->frame.app, &cluster, error))
		return gbe_prefix(error, "the cluster to join");
	if (intent->cluster != NULL &&
	    !gbe_cluster_check_id(setup->frame.app, cluster, intent->cluster, error))
		return false;
	g_free(intent->cluster);
	intent->cluster = gbe_hex64(cluster->cluster_id);
	*ret_cluster = g_steal_pointer(&cluster);
	return true;
}

/* @step: of the intent. Notes that it is done, so that the next call does not do it to what came after it. */
static bool
note_done(GbeClusterSetting *setup, bool *step, GError **error)
{
	bool ok;

	*step = true;
	ok = gbe_cluster_frame_lock(&setup->frame, error) &&
	     gbe_cluster_frame_note(&setup->frame, error);
	gbe_app_unlock(setup->frame.app);
	return ok;
}

/* *ret_own NULL: it is not in yet. @former: the member that this device was, whatever its address is; NULL: not known. */
static bool
find_own(const GbeClusterSetting *setup, const GbeCluster *cluster, const GbeClusterMember *former,
	 const GbeClusterMember **ret_own, GError **error)
{
	const GbeClusterSetupResult *result = setup->result;

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

/* A cluster raises its version as soon as none of its members is older, and takes in none that is older from then
 * on. Where only this one is, it could not come back. */
static bool
check_version(const GbeClusterSetting *setup, const GbeCluster *cluster, GError **error)
{
	g_autofree char *own = gbe_etcd_version_of_binary(
	    setup->frame.app->root_fd, setup->frame.app->config->etcd.binary, GBE_ETCD_VERSION_MS);
	const char *lowest = NULL;
	GbeTri older;

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];
		bool ours = g_strv_contains((const char *const *)member->peer_urls,
					    setup->result->peer_url);

		if (!ours && member->url != NULL &&
		    (lowest == NULL ||
		     gbe_version_above(gbe_version_parse(lowest),
				       gbe_version_parse(member->status.version)) == GBE_YES))
			lowest = member->status.version;
	}
	older = gbe_version_above(gbe_version_parse(lowest), gbe_version_parse(own));
	if (older == GBE_UNKNOWN && setup->options->by_itself)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "whether etcd is older here than on the other members cannot be "
				 "told: `%s --version` does not say",
				 setup->frame.app->config->etcd.binary);
	return older != GBE_YES ||
	       gbe_throw(
		   error, GBE_ERROR_REFUSED,
		   "etcd is %s here, and %s or newer on all other members: a cluster takes in "
		   "no older one; update this device first",
		   own, lowest);
}

/* The member that an earlier call has added; 0: none. */
static guint64
noted_id(const GbeClusterSetting *setup)
{
	const char *id = setup->frame.intent.id;

	return id != NULL ? g_ascii_strtoull(id, NULL, 16) : 0;
}

static bool
enter_cluster(GbeClusterSetting *setup, const GbeCluster *cluster, GError **error)
{
	char *urls[] = {setup->result->peer_url, NULL};
	const GbeMembersOptions options = {.wait = setup->options->timeout};
	g_auto(GbeMembersResult) added = {0};
	const GbeClusterMember *own = NULL;

	if (!find_own(setup, cluster, NULL, &own, error))
		return false;
	if (own != NULL) {
		/* Since then another device may have become a member with this address. */
		if (own->voter.started && own->voter.id != noted_id(setup))
			return gbe_throw(
			    error, GBE_ERROR_REFUSED,
			    "member %s has the address %s, and is not this device: remove "
			    "it, or `greenboot-etcd cluster reset --force` here",
			    own->name, setup->result->peer_url);
		setup->result->id = own->voter.id;
		return true;
	}
	if (!check_version(setup, cluster, error) ||
	    !gbe_cluster_frame_lock(&setup->frame, error) ||
	    !gbe_cluster_frame_note(&setup->frame, error))
		return false;
	if (!gbe_members_add(setup->frame.app, urls, &options, &added, error)) {
		setup->result->asked = added.unknown;
		return false;
	}
	setup->result->id = added.id;
	g_free(setup->frame.intent.id);
	setup->frame.intent.id = gbe_hex64(added.id);
	return !GBE_FAULT("cluster-entered", error) &&
	       gbe_cluster_frame_lock(&setup->frame, error) &&
	       gbe_cluster_frame_note(&setup->frame, error);
}

static char *
initial_cluster(const GbeClusterSetting *setup, const GbeCluster *cluster)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];

		for (guint k = 0; member->voter.started && member->peer_urls[k] != NULL; k++)
			if (!g_str_equal(member->peer_urls[k], setup->result->peer_url))
				g_string_append_printf(text, "%s=%s,", member->name,
						       member->peer_urls[k]);
	}
	g_string_append_printf(text, "%s=%s", setup->result->name, setup->result->peer_url);
	return g_string_free(g_steal_pointer(&text), false);
}

/* Takes the learner that this call has added out again, and what it had got: there was no data before. A voter
 * stays: it counts. The intent says so first, since its data is worth nothing from then on. */
static bool
leave_again(GbeClusterSetting *setup, GError **error)
{
	const GbeMembersOptions options = {.wait = setup->options->timeout};
	g_auto(GbeMembersResult) removed = {0};
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *own = NULL;
	g_autofree char *id = gbe_hex64(setup->result->id), *name = NULL;
	GbeApp *app = setup->frame.app;
	bool bare = setup->frame.intent.bare;
	GbeBackupRef backup = {0};
	char *names[] = {NULL, NULL};
	bool in;

	if (!look_at_cluster(setup, &cluster, error))
		return false;
	in = gbe_cluster_find(cluster, id, &own, NULL);
	if (in && !own->voter.learner)
		return gbe_throw(error, GBE_ERROR_REFUSED, "it has a vote already");
	if (!in && !gbe_cluster_check_current(setup->frame.app, cluster, error))
		return false;
	if (!note_done(setup, &setup->frame.intent.back, error) ||
	    (in && !gbe_members_remove(setup->frame.app, id, &options, &removed, error)) ||
	    GBE_FAULT("cluster-out-again", error))
		return false;
	/* The data of a learner is a copy, and of no use once it has left. Other files may lie with it. */
	if (!gbe_cluster_frame_stop(&setup->frame, error) ||
	    !gbe_by_hand_set_aside(app, setup->frame.operation, bare, &backup, error))
		return false;
	name = names[0] = g_steal_pointer(&backup.name);
	gbe_backup_ref_clear(&backup);
	if (name != NULL && !bare)
		gbe_complain("other files were in %s before this join: backup %s has them",
			     app->config->etcd.data_dir, name);
	if (name != NULL && bare && !gbe_by_hand_delete(app, names, true, false, error))
		return false;
	return gbe_cluster_settings_remove(&setup->frame, error) &&
	       gbe_cluster_frame_end(&setup->frame, error);
}

/* A voter without data would break what it has agreed to, so that the intent says from when on it is one. */
static bool
join(GbeClusterSetting *setup, GError **error)
{
	const GbeMembersOptions options = {.wait = setup->options->timeout};
	GbeClusterFrame *frame = &setup->frame;
	g_autoptr(GbeCluster) cluster = NULL, voters = NULL;
	g_auto(GbeMembersResult) promoted = {0};
	const GbeClusterMember *own = NULL;
	g_autofree char *members = NULL, *id = NULL;

	if (!look_at_cluster(setup, &cluster, error) || !enter_cluster(setup, cluster, error))
		return false;
	members = initial_cluster(setup, cluster);
	if (!gbe_cluster_setting_write(setup, members, error) ||
	    !gbe_cluster_frame_start(frame, error))
		return false;
	/* Another member is asked: a learner answers no question about the members. */
	id = gbe_hex64(setup->result->id);
	if (!look_at_cluster(setup, &voters, error) || !gbe_cluster_find(voters, id, &own, error))
		return false;
	if (own->voter.learner && !gbe_members_promote(frame->app, id, &options, &promoted, error))
		return false;
	if (!note_done(setup, &frame->intent.voter, error))
		return false;
	if (!gbe_configuration_load(frame->app, false, error) ||
	    !gbe_cluster_frame_wait_healthy(frame, setup->options->timeout, error))
		return false;
	voters->self = setup->result->id;
	return gbe_cluster_frame_lock(frame, error) &&
	       gbe_cluster_remember(frame->app, voters, error) &&
	       gbe_cluster_frame_end(frame, error);
}

/* Is @value what the settings have? NULL: the call says nothing of it. */
static bool
agrees_with(char **settings, const char *variable, const char *value)
{
	return value == NULL || g_strcmp0(g_environ_getenv(settings, variable), value) == 0;
}

/* Has the same call succeeded before? This device's etcd answers, and has a vote in the cluster that the URL leads to.
 * Changes nothing. */
static bool
is_in(GbeClusterSetting *setup)
{
	const GbeClusterSetup *options = setup->options;
	GbeApp *app = setup->frame.app;
	GbeClusterSetup own = *options;
	g_autoptr(GbeCluster) here = NULL, there = NULL;
	g_autoptr(JsonObject) intent = NULL;
	const GbeClusterMember *member = NULL;
	g_autofree char *id = NULL;

	if (app->below_root || !gbe_app_open_state(app, false, NULL) ||
	    !gbe_state_peek(app, GBE_STATE_CLUSTER, &intent, NULL) || intent != NULL ||
	    !gbe_cluster_setting_read(setup, &own, NULL) ||
	    !agrees_with(setup->settings, "ETCD_NAME", options->name) ||
	    !agrees_with(setup->settings, "ETCD_INITIAL_ADVERTISE_PEER_URLS", options->peer_url) ||
	    !agrees_with(setup->settings, "ETCD_ADVERTISE_CLIENT_URLS", options->client_url) ||
	    !gbe_cluster_look(app, &here, NULL) || !gbe_cluster_frame_is_own(&setup->frame, here))
		return false;
	ask_at(app, options->url);
	id = gbe_hex64(here->self);
	if (!gbe_cluster_look(app, &there, NULL) || there->cluster_id != here->cluster_id ||
	    !gbe_cluster_find(there, id, &member, NULL) || member->voter.learner)
		return false;
	setup->result->id = here->self;
	setup->result->name = g_strdup(own.name);
	setup->result->peer_url = g_strdup(own.peer_url);
	setup->result->client_url = g_strdup(own.client_url);
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

/* *ret_again: an earlier call's way back is finished, so that this one may begin. */
static bool
join_once(GbeApp *app, const GbeClusterSetup *options, GbeClusterSetupResult *ret_result,
	  bool *ret_again, GError **error)
{
	g_auto(GbeClusterSetting) setup = {
	    .frame = {.app = app, .operation = "cluster join"},
	    .options = options,
	    .result = ret_result,
	};
	g_autoptr(GError) local = NULL, again = NULL;
	bool back;

	if (is_in(&setup))
		return true;
	if (!gbe_configuration_load(app, false, error) || !gbe_cluster_setting_begin(&setup, error))
		return false;
	back = setup.frame.intent.back;
	if (options->dry_run || (!back && join(&setup, &local)))
		return true;
	if (back) {
		ret_result->id = noted_id(&setup);
		*ret_again = leave_again(&setup, error);
		return *ret_again ? false : gbe_cluster_frame_goes_on(&setup.frame, error);
	}
	/* Since the call that was cut, the data may have become a voter's, or somebody else's: it stays. */
	if (ret_result->continued) {
		g_propagate_error(error, g_steal_pointer(&local));
		gbe_rethrow(error, GBE_ERROR_PARTIAL);
		return gbe_prefix(error,
				  "the join that was interrupted is not finished, and the next "
				  "`cluster join` goes on");
	}
	if (ret_result->asked) {
		(void)gbe_pass(error, &local);
		return gbe_cluster_frame_goes_on(&setup.frame, error);
	}
	/* The cluster was not asked for anything yet. */
	if (ret_result->id == 0 && gbe_cluster_frame_end(&setup.frame, &again))
		return gbe_pass(error, &local);
	if (again == NULL && leave_again(&setup, &again))
		g_propagate_prefixed_error(
		    error, g_steal_pointer(&local),
		    "this device is not in the cluster, and nothing of it is "
		    "left: ");
	else
		(void)gbe_throw(
		    error, GBE_ERROR_PARTIAL,
		    "%s. The way back failed, too (%s): the next `cluster join` goes on",
		    local->message, again->message);
	return false;
}

bool
gbe_cluster_join(GbeApp *app, const GbeClusterSetup *options, GbeClusterSetupResult *ret_result,
		 GError **error)
{
	bool again = false;

	if (!check_url(options->url, error))
		return false;
	if (join_once(app, options, ret_result, &again, error))
		return true;
	if (!again)
		return false;
	gbe_cluster_setup_result_clear(ret_result);
	*ret_result = (GbeClusterSetupResult){NULL};
	return join_once(app, options, ret_result, &again, error);
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
read_former(GbeClusterSetting *setup, char **ret_cluster, GError **error)
{
	const GbeSessionOptions how = {.operation = setup->frame.operation,
				       .data = true,
				       .inside = true,
				       .dry_run = true};
	g_autoptr(JsonObject) record = NULL;
	const char *member, *cluster;
	g_autoptr(GError) local = NULL;
	GbeSession session;

	/* An etcd that has it open may be a member that the others have removed. */
	if (!gbe_session_begin(setup->frame.app, &how, &session, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_BUSY);
	if (!gbe_state_peek(setup->frame.app, GBE_STATE_MEMBERS, &record, &local))
		gbe_note("%s", local->message);
	gbe_cluster_ids(session.observed->facts, record, &member, &cluster);
	g_free(setup->frame.intent.former);
	setup->frame.intent.former = g_strdup(member);
	*ret_cluster = g_strdup(cluster);
	gbe_session_leave(&session);
	return true;
}

/* The member that this device was. */
static bool
remove_former(GbeClusterSetting *setup, bool dry_run, GError **error)
{
	const GbeMembersOptions options = {.dry_run = dry_run,
					   .force = setup->options->force,
					   .wait = setup->options->timeout};
	g_auto(GbeMembersResult) removed = {0};
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *former = NULL, *own = NULL;
	const GbeClusterIntent *intent = &setup->frame.intent;
	g_autofree char *id = NULL, *expected = NULL;

	if (!look_at_cluster(setup, &cluster, error) ||
	    (dry_run && !read_former(setup, &expected, error)))
		return false;
	/* By its id, since its address may have changed; else by the address. */
	if (intent->former != NULL)
		(void)!gbe_cluster_find(cluster, intent->former, &former, NULL);
	if (!find_own(setup, cluster, former, &own, error))
		return false;
	if (!check_version(setup, cluster, error))
		return false;
	/* By hand, the address may lead to any cluster. */
	if (dry_run && !setup->options->force && !setup->options->by_itself) {
		if (expected != NULL &&
		    !gbe_cluster_check_id(setup->frame.app, cluster, expected, error))
			return gbe_prefix(error, "use another URL, or --force");
		if (own != NULL && intent->former != NULL && own->voter.works == GBE_YES &&
		    own != former)
			return gbe_throw(error, GBE_ERROR_REFUSED,
					 "member %s works with the address of this device, and is "
					 "another one: --force removes it",
					 own->name);
	}
	if (own == NULL)
		return gbe_cluster_check_current(setup->frame.app, cluster, error);
	if (setup->options->by_itself && own->voter.works == GBE_YES)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "member %s works, and does not have to rejoin", own->name);
	id = gbe_hex64(own->voter.id);
	return gbe_members_remove(setup->frame.app, id, &options, &removed, error);
}

/* The former member is removed before the data goes: a voter without its log would break its promises. The settings of the
 * member that began the cluster would have an etcd without data begin it once more, so they also come first. */
static bool
rejoin(GbeClusterSetting *setup, GError **error)
{
	GbeClusterFrame *frame = &setup->frame;
	GbeClusterIntent *intent = &frame->intent;
	g_autoptr(GbeCluster) cluster = NULL;
	g_autofree char *members = NULL;
	GbeBackupRef backup = {0};
	bool ok;

	if (!intent->removed) {
		if (!remove_former(setup, false, error) || GBE_FAULT("cluster-left", error) ||
		    !note_done(setup, &intent->removed, error))
			return false;
	}
	if (intent->aside)
		return join(setup, error);
	if (!look_at_cluster(setup, &cluster, error))
		return false;
	members = initial_cluster(setup, cluster);
	if (!gbe_cluster_setting_write(setup, members, error))
		return false;
	gbe_app_unlock(frame->app);
	ok = gbe_cluster_frame_stop(frame, error) &&
	     gbe_by_hand_set_aside(frame->app, frame->operation, false, &backup, error);
	gbe_backup_ref_clear(&backup);
	/* An etcd without data may join from here on. */
	intent->empties = false;
	if (!ok || GBE_FAULT("cluster-set-aside", error) ||
	    !note_done(setup, &intent->aside, error))
		return false;
	return join(setup, error);
}

bool
gbe_cluster_rejoin(GbeApp *app, const GbeClusterSetup *options, GbeClusterSetupResult *ret_result,
		   GError **error)
{
	GbeClusterSetup own = *options;
	g_auto(GbeClusterSetting) setup = {
	    .frame = {.app = app, .operation = "cluster rejoin"},
	    .options = &own,
	    .result = ret_result,
	};
	g_autoptr(GError) local = NULL;
	bool active = false, continued, denied;

	setup.frame.dry_run = options->dry_run;
	if (!check_url(options->url, error) ||
	    !gbe_cluster_frame_begin(&setup.frame, &active, error) ||
	    !gbe_cluster_setting_read(&setup, &own, error) ||
	    !gbe_cluster_setting_choose(&setup, error) ||
	    !gbe_cluster_setting_authority(&setup, error))
		return false;
	continued = setup.frame.continued;
	if (options->goes_on && !continued)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "another call has just finished this rejoin");
	if (!continued)
		setup.frame.intent.empties = true;
	ret_result->continued = true; /* its address is no other one's */
	if ((!continued && !remove_former(&setup, true, error)) ||
	    (!options->dry_run && !gbe_cluster_frame_intend(&setup.frame, error)))
		return false;
	if (options->dry_run || rejoin(&setup, &local)) {
		ret_result->continued = continued;
		return true;
	}
	denied = !setup.frame.intent.removed && gbe_cluster_frame_end_denied(&setup.frame, local);
	(void)gbe_pass(error, &local);
	return !denied && gbe_cluster_frame_goes_on(&setup.frame, error);
}
