/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/cluster/setup.h"

#include <string.h>

#include "app/by-hand/by-hand.h"
#include "app/by-hand/session.h"
#include "app/cluster/members.h"
#include "app/state/configuration.h"
#include "base/fault.h"
#include "base/format.h"
#include "core/json/parse.h"
#include "core/version.h"
#include "sys/etcd-version.h"

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

static bool
look(GbeClusterSetting *setup, GbeCluster **ret_cluster, GError **error)
{
	ask_at(setup->frame.app, setup->options->url);
	return gbe_cluster_look(setup->frame.app, ret_cluster, error) ||
	       gbe_prefix(error, "the cluster to join");
}

/* *ret_own NULL: it is not in yet. */
static bool
find_own(const GbeClusterSetting *setup, const GbeCluster *cluster,
	 const GbeClusterMember **ret_own, GError **error)
{
	const GbeClusterSetupResult *result = setup->result;

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];
		bool ours =
		    g_strv_contains((const char *const *)member->peer_urls, result->peer_url);

		if (ours && !result->continued)
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
	return g_ascii_strtoull(gbe_json_string(setup->frame.intent, "id", "0"), NULL, 16);
}

static bool
enter(GbeClusterSetting *setup, const GbeCluster *cluster, GError **error)
{
	char *urls[] = {setup->result->peer_url, NULL};
	const GbeMembersOptions options = {0};
	g_auto(GbeMembersResult) added = {0};
	const GbeClusterMember *own = NULL;
	g_autofree char *id = NULL;

	if (!find_own(setup, cluster, &own, error))
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
	if (!check_version(setup, cluster, error))
		return false;
	if (!gbe_members_add(setup->frame.app, urls, &options, &added, error)) {
		setup->result->asked = added.unknown;
		return false;
	}
	setup->result->id = added.id;
	id = gbe_hex64(added.id);
	gbe_json_set_string(setup->frame.intent, "id", id);
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

static bool
promote(GbeClusterSetting *setup, GError **error)
{
	const GbeMembersOptions options = {.wait = setup->options->timeout};
	g_auto(GbeMembersResult) promoted = {0};
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *own = NULL;
	g_autofree char *id = gbe_hex64(setup->result->id);

	/* A learner answers no question about the members. */
	if (!look(setup, &cluster, error) || !gbe_cluster_find(cluster, id, &own, error))
		return false;
	return !own->voter.learner ||
	       gbe_members_promote(setup->frame.app, id, &options, &promoted, error);
}

/* The data of a learner is a copy, and of no use once it has left. */
static bool
remove_copy(GbeClusterSetting *setup, GError **error)
{
	GbeBackupRef backup = {0};
	char *names[] = {NULL, NULL};
	bool ok;

	if (!gbe_by_hand_set_aside(setup->frame.app, setup->frame.operation, true, &backup, error))
		return false;
	names[0] = backup.name;
	ok = backup.name == NULL || gbe_by_hand_delete(setup->frame.app, names, true, false, error);
	gbe_backup_ref_clear(&backup);
	return ok;
}

/* Takes the learner that this call has added out again, and what it had got: there was no data before. A voter
 * stays: it counts. */
static bool
leave_again(GbeClusterSetting *setup, GError **error)
{
	const GbeMembersOptions options = {0};
	g_auto(GbeMembersResult) removed = {0};
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *own = NULL;
	g_autofree char *id = gbe_hex64(setup->result->id);

	if (!look(setup, &cluster, error))
		return false;
	if (!gbe_cluster_find(cluster, id, &own, error))
		return false;
	if (!own->voter.learner)
		return gbe_throw(error, GBE_ERROR_REFUSED, "it has a vote already");
	if (!gbe_members_remove(setup->frame.app, id, &options, &removed, error))
		return false;
	gbe_app_unlock(setup->frame.app);
	return gbe_cluster_frame_stop(&setup->frame, error) && remove_copy(setup, error) &&
	       gbe_cluster_settings_remove(&setup->frame, error) &&
	       gbe_cluster_frame_end(&setup->frame, error);
}

/* Notes in the intent that a step is done, so that the next call does not do it to what came after it. */
static bool
done(GbeClusterSetting *setup, const char *step, GError **error)
{
	bool ok;

	json_object_set_boolean_member(setup->frame.intent, step, true);
	ok = gbe_cluster_frame_lock(&setup->frame, error) &&
	     gbe_cluster_frame_note(&setup->frame, error);
	gbe_app_unlock(setup->frame.app);
	return ok;
}

/* A voter without data would break what it has agreed to, so that the intent says from when on it is one. */
static bool
join(GbeClusterSetting *setup, GError **error)
{
	g_autoptr(GbeCluster) cluster = NULL;
	g_autofree char *members = NULL;

	if (!look(setup, &cluster, error) || !enter(setup, cluster, error))
		return false;
	members = initial_cluster(setup, cluster);
	return gbe_cluster_setting_write(setup, members, error) &&
	       gbe_cluster_frame_start(&setup->frame, error) && promote(setup, error) &&
	       done(setup, "voter", error) &&
	       gbe_configuration_load(setup->frame.app, false, error) &&
	       gbe_cluster_frame_wait_healthy(&setup->frame, setup->options->timeout, error) &&
	       gbe_cluster_frame_end(&setup->frame, error);
}

bool
gbe_cluster_join(GbeApp *app, const GbeClusterSetup *options, GbeClusterSetupResult *ret_result,
		 GError **error)
{
	g_auto(GbeClusterSetting) setup = {
	    .frame = {.app = app, .operation = "cluster join"},
	    .options = options,
	    .result = ret_result,
	};
	g_autoptr(GError) local = NULL, again = NULL;

	if (!gbe_cluster_setting_begin(&setup, error))
		return false;
	if (options->dry_run || join(&setup, &local))
		return true;
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

/* ---- rejoin ---- */

static bool
is_done(const GbeClusterSetting *setup, const char *step)
{
	return gbe_json_bool(setup->frame.intent, step, false);
}

void
gbe_cluster_ids(const GbeFacts *facts, const char **ret_member, const char **ret_cluster)
{
	bool by_data = facts->member_id != NULL && facts->cluster_id != NULL;

	*ret_member = by_data		     ? facts->member_id
		      : facts->owner != NULL ? facts->owner->member_id
					     : NULL;
	*ret_cluster = by_data		      ? facts->cluster_id
		       : facts->owner != NULL ? facts->owner->cluster_id
					      : NULL;
}

/* By hand, the address may lead to any cluster. */
static bool
check_cluster(const GbeClusterSetting *setup, const GbeCluster *cluster,
	      const GbeClusterMember *own, GError **error)
{
	g_autofree char *cluster_id = gbe_hex64(cluster->cluster_id);
	g_autofree char *id = own != NULL ? gbe_hex64(own->voter.id) : NULL;
	const GbeSessionOptions how = {.operation = setup->frame.operation,
				       .data = true,
				       .inside = true,
				       .dry_run = true};
	const char *member, *expected;
	g_autoptr(GError) local = NULL;
	GbeSession session;
	bool ok;

	if (setup->options->force || setup->options->by_itself)
		return true;
	if (own == NULL && cluster->leader == 0)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "%s knows no leader, so what it says of the members may be old",
				 setup->options->url);
	/* An etcd that has it open may be a member that the others have removed. */
	if (!gbe_session_begin(setup->frame.app, &how, &session, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_BUSY);
	gbe_cluster_ids(session.observed->facts, &member, &expected);
	ok = expected == NULL || g_str_equal(expected, cluster_id) ||
	     gbe_throw(error, GBE_ERROR_REFUSED,
		       "%s is a member of another cluster than this device, %s and not %s: "
		       "another URL, or --force",
		       setup->options->url, cluster_id, expected);
	ok = ok && (id == NULL || member == NULL || own->voter.works != GBE_YES ||
		    g_str_equal(member, id) ||
		    gbe_throw(error, GBE_ERROR_REFUSED,
			      "member %s works with the address of this device, and is another "
			      "one: --force removes it",
			      own->name));
	gbe_session_leave(&session);
	return ok;
}

/* The member that this device was. */
static bool
remove_former(GbeClusterSetting *setup, bool dry_run, GError **error)
{
	const GbeMembersOptions options = {.dry_run = dry_run, .force = setup->options->force};
	g_auto(GbeMembersResult) removed = {0};
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *own = NULL;
	g_autofree char *id = NULL;

	if (!look(setup, &cluster, error) || !find_own(setup, cluster, &own, error))
		return false;
	if (!check_version(setup, cluster, error) ||
	    (dry_run && !check_cluster(setup, cluster, own, error)))
		return false;
	if (own == NULL)
		return true;
	if (setup->options->by_itself && own->voter.works == GBE_YES)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "member %s works, and does not have to rejoin", own->name);
	id = gbe_hex64(own->voter.id);
	return gbe_members_remove(setup->frame.app, id, &options, &removed, error);
}

static bool
set_aside(GbeClusterSetting *setup, GError **error)
{
	GbeBackupRef backup = {0};
	bool ok;

	gbe_app_unlock(setup->frame.app);
	ok = gbe_cluster_frame_stop(&setup->frame, error) &&
	     gbe_by_hand_set_aside(setup->frame.app, setup->frame.operation, false, &backup, error);
	gbe_backup_ref_clear(&backup);
	/* An etcd without data may join from here on. */
	json_object_set_boolean_member(setup->frame.intent, "empties", false);
	return ok;
}

/* The settings of the member that began the cluster would have an etcd without data begin it once more. */
static bool
write_settings(GbeClusterSetting *setup, GError **error)
{
	g_autoptr(GbeCluster) cluster = NULL;
	g_autofree char *members = NULL;

	if (!look(setup, &cluster, error))
		return false;
	members = initial_cluster(setup, cluster);
	return gbe_cluster_setting_write(setup, members, error);
}

/* Removed before the data goes: a voter without its log would break its promises. */
static bool
rejoin(GbeClusterSetting *setup, GError **error)
{
	return (is_done(setup, "removed") ||
		(remove_former(setup, false, error) && !GBE_FAULT("cluster-left", error) &&
		 done(setup, "removed", error))) &&
	       (is_done(setup, "aside") ||
		(write_settings(setup, error) && set_aside(setup, error) &&
		 !GBE_FAULT("cluster-set-aside", error) && done(setup, "aside", error))) &&
	       join(setup, error);
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

	if (!gbe_cluster_frame_begin(&setup.frame, &active, error) ||
	    !gbe_cluster_setting_read(&setup, &own, error) ||
	    !gbe_cluster_setting_choose(&setup, error) ||
	    !gbe_cluster_setting_authority(&setup, error))
		return false;
	continued = setup.frame.continued;
	if (options->goes_on && !continued)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "another call has just finished this rejoin");
	if (!continued)
		json_object_set_boolean_member(setup.frame.intent, "empties", true);
	ret_result->continued = true; /* its address is no other one's */
	if ((!continued && !remove_former(&setup, true, error)) ||
	    (!options->dry_run && !gbe_cluster_frame_intend(&setup.frame, error)))
		return false;
	if (options->dry_run || rejoin(&setup, &local)) {
		ret_result->continued = continued;
		return true;
	}
	denied = !is_done(&setup, "removed") && gbe_cluster_frame_end_denied(&setup.frame, local);
	(void)gbe_pass(error, &local);
	return !denied && gbe_cluster_frame_goes_on(&setup.frame, error);
}
