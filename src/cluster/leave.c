/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/leave.h"

#include "app/by-hand/by-hand.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "base/format.h"
#include "cluster/lock.h"
#include "cluster/members.h"
#include "core/json/parse.h"
#include "sys/systemd/events.h"

void
gbe_cluster_left_clear(GbeClusterLeft *left)
{
	g_clear_pointer(&left->name, g_free);
	gbe_backup_ref_clear(&left->backup);
}

typedef struct {
	GbeClusterFrame frame;
	const GbeClusterLeave *options;
	GbeClusterLeft *left;
} Leave;

static void
leave_clear(Leave *leave)
{
	gbe_cluster_frame_clear(&leave->frame);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Leave, leave_clear)

/* ---- leave ---- */

/* A name or a proxy may lead to another member. */
static bool
check_own(const Leave *leave, const GbeCluster *cluster, GError **error)
{
	return gbe_cluster_frame_is_own(&leave->frame, cluster) ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "another member answers at [etcd] endpoint=%s, and not this device's own",
			 leave->frame.app->config->etcd.endpoint);
}

/* A device that has left gives no lock back, and the others would wait for it. */
static bool
check_update_lock(const Leave *leave, GError **error)
{
	GbeUpdateLockSeen seen = {0};

	if (leave->options->force)
		return true;
	if (!gbe_update_lock_look(leave->frame.app, &seen, error))
		return false;
	gbe_update_lock_clear(&seen.lock);
	return !seen.own ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "this device has the update lock: its update has to become green or to be "
			 "dropped; `greenboot-etcd cluster unlock --force` frees it all the same");
}

/* Asks the own etcd, and notes where the others can be asked, which the own one no longer can once it is out. */
static bool
find_others(Leave *leave, GError **error)
{
	GbeApp *app = leave->frame.app;
	g_autoptr(GbeCluster) cluster = NULL;
	g_autofree char *id = NULL, *cluster_id = NULL, *urls = NULL;

	if (!gbe_cluster_look(app, &cluster, error))
		return gbe_prefix(error, "a member whose etcd is down is removed by another one "
					 "(`greenboot-etcd member remove`), and reset here");
	if (!check_own(leave, cluster, error) || !check_update_lock(leave, error))
		return false;
	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];

		if (member->voter.id == cluster->self)
			leave->left->name = g_strdup(member->name);
	}
	if (cluster->members->len == 1)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "it is the only member: `greenboot-etcd cluster reset` sets its "
				 "data aside");
	id = gbe_hex64(cluster->self);
	leave->left->id = cluster->self;
	cluster_id = gbe_hex64(cluster->cluster_id);
	gbe_json_set_string(leave->frame.intent, "id", id);
	gbe_json_set_string(leave->frame.intent, "cluster", cluster_id);
	gbe_json_set_string(leave->frame.intent, "name", leave->left->name);
	urls = gbe_cluster_urls_of_others(cluster);
	gbe_json_set_string(leave->frame.intent, "urls", urls);
	return true;
}

static bool
leave_cluster(Leave *leave, bool dry_run, GError **error)
{
	const GbeMembersOptions options = {.dry_run = dry_run,
					   .force = leave->options->force,
					   .wait = leave->options->timeout};
	GbeApp *app = leave->frame.app;
	const char *urls = gbe_json_string(leave->frame.intent, "urls", "");
	const char *id = gbe_json_string(leave->frame.intent, "id", "");
	const char *cluster_id = gbe_json_string(leave->frame.intent, "cluster", NULL);
	g_auto(GbeMembersResult) removed = {0};
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *own = NULL;

	if (!gbe_cluster_look_by(app, urls, cluster_id, &cluster, error))
		return false;
	if (gbe_cluster_find(cluster, id, &own, NULL))
		return gbe_members_remove(app, id, &options, &removed, error);
	/* It is out already. */
	return gbe_cluster_check_current(app, cluster, error);
}

/* ---- what both do ---- */

static bool
begin(Leave *leave, GError **error)
{
	bool active = false;

	leave->frame.dry_run = leave->options->dry_run;
	if (!gbe_cluster_frame_begin(&leave->frame, &active, error))
		return false;
	json_object_set_boolean_member(leave->frame.intent, "empties", true);
	leave->left->continued = leave->frame.continued;
	if (leave->frame.continued)
		leave->left->name = g_strdup(gbe_json_string(leave->frame.intent, "name", NULL));
	leave->left->id =
	    g_ascii_strtoull(gbe_json_string(leave->frame.intent, "id", "0"), NULL, 16);
	return true;
}

static bool
set_data_aside(Leave *leave, GError **error)
{
	gbe_app_unlock(leave->frame.app);
	return gbe_cluster_frame_stop(&leave->frame, error) &&
	       gbe_by_hand_set_aside(leave->frame.app, leave->frame.operation, false,
				     &leave->left->backup, error) &&
	       !GBE_FAULT("cluster-set-aside", error);
}

/* This device gives no lock back once its data is gone, and the others would wait for it. */
static bool
release_locks(GbeApp *app, GError **error)
{
	g_autofree char *endpoint = g_strdup(app->config->etcd.endpoint);
	g_autoptr(JsonObject) record = NULL;
	g_autoptr(GbeCluster) cluster = NULL;
	g_autoptr(GError) local = NULL;
	const char *lock = NULL;
	bool ok;

	if (!gbe_state_read(app, GBE_STATE_MEMBERS, true, &record, error))
		return false;
	if (!gbe_cluster_look(app, &cluster, NULL) && record != NULL)
		(void)!gbe_cluster_look_by(app, gbe_json_string(record, "urls", ""),
					   gbe_json_string(record, "cluster", NULL), &cluster,
					   NULL);
	ok = gbe_update_lock_abandon(app, error);
	if (record != NULL)
		lock = gbe_json_string(record, "lock", NULL);
	if (ok && lock != NULL && !gbe_update_lock_release_rejoined(app, lock, &local))
		gbe_note("%s", local->message);
	g_free(app->config->etcd.endpoint);
	app->config->etcd.endpoint = g_steal_pointer(&endpoint);
	return ok;
}

/* The learnt ids and addresses are of no cluster of this device any more. A lock that a rejoin took may still have to
 * be released. */
static bool
forget(GbeApp *app, GError **error)
{
	static const char *const learnt[] = {"urls", "member", "cluster", "log"};
	g_autoptr(JsonObject) record = NULL;

	if (!gbe_state_read(app, GBE_STATE_MEMBERS, true, &record, error))
		return false;
	if (record == NULL)
		return true;
	for (gsize i = 0; i < G_N_ELEMENTS(learnt); i++)
		json_object_remove_member(record, learnt[i]);
	return gbe_state_write(app, GBE_STATE_MEMBERS, record, error);
}

static bool
end(Leave *leave, GError **error)
{
	return gbe_cluster_frame_lock(&leave->frame, error) && forget(leave->frame.app, error) &&
	       gbe_cluster_frame_end(&leave->frame, error);
}

bool
gbe_cluster_leave(GbeApp *app, const GbeClusterLeave *options, GbeClusterLeft *ret_left,
		  GError **error)
{
	g_auto(Leave) leave = {.frame = {.app = app, .operation = "cluster leave"},
			       .options = options,
			       .left = ret_left};
	g_autoptr(GError) local = NULL;

	if (!begin(&leave, error) ||
	    (!ret_left->continued &&
	     (!find_others(&leave, error) || !leave_cluster(&leave, true, error))))
		return false;
	if (options->dry_run)
		return true;
	if (!gbe_cluster_frame_intend(&leave.frame, error))
		return false;
	if (!gbe_json_bool(leave.frame.intent, "left", false) &&
	    (!release_locks(app, &local) || !leave_cluster(&leave, false, &local))) {
		(void)gbe_cluster_frame_end_denied(&leave.frame, local);
		return gbe_pass(error, &local);
	}
	json_object_set_boolean_member(leave.frame.intent, "left", true);
	return (!GBE_FAULT("cluster-left", error) && gbe_cluster_frame_lock(&leave.frame, error) &&
		gbe_cluster_frame_note(&leave.frame, error) &&
		gbe_cluster_settings_remove(&leave.frame, error) && set_data_aside(&leave, error) &&
		end(&leave, error)) ||
	       gbe_cluster_frame_goes_on(&leave.frame, error);
}

/* ---- reset ---- */

/* etcd does not answer. */
static bool
check_alone(GbeApp *app, const char *operation, GError **error)
{
	bool alone = false;

	if (!gbe_by_hand_is_alone(app, operation, &alone, error))
		return false;
	return alone ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "whether other members count on this one cannot be told: its etcd does "
			 "not answer. Start it and `greenboot-etcd cluster leave`; or, where "
			 "another member has removed it or cannot be asked, --force");
}

static bool
check_forgettable(const Leave *leave, GError **error)
{
	GbeApp *app = leave->frame.app;
	g_autoptr(GbeCluster) cluster = NULL;

	if (!gbe_cluster_look(app, &cluster, NULL))
		return check_alone(app, leave->frame.operation, error);
	if (!check_own(leave, cluster, error))
		return false;
	return cluster->members->len == 1 ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%u other members count on this one: `greenboot-etcd cluster leave`, or "
			 "--force",
			 cluster->members->len - 1);
}

bool
gbe_cluster_reset(GbeApp *app, const GbeClusterLeave *options, GbeClusterLeft *ret_left,
		  GError **error)
{
	g_auto(Leave) leave = {
	    .frame = {.app = app, .operation = "cluster reset", .takes_over = options->force},
	    .options = options,
	    .left = ret_left};

	if (!begin(&leave, error) ||
	    (!options->force && !ret_left->continued && !check_forgettable(&leave, error)))
		return false;
	if (options->dry_run)
		return true;
	return gbe_cluster_frame_intend(&leave.frame, error) &&
	       ((release_locks(app, error) && set_data_aside(&leave, error) &&
		 gbe_by_hand_set_settings_aside(app, leave.frame.operation,
						ret_left->backup.sequence, error) &&
		 end(&leave, error)) ||
		gbe_cluster_frame_goes_on(&leave.frame, error));
}
