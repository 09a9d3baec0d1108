/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/frame.h"

#include "app/by-hand/by-hand.h"
#include "app/state/state.h"
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

/* A name or a proxy may lead to another member. */
static bool
check_own(const GbeClusterFrame *frame, const GbeCluster *cluster, GError **error)
{
	return gbe_cluster_frame_is_own(frame, cluster) ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "another member answers at [etcd] endpoint=%s, and not this device's own",
			 frame->change.app->config->etcd.endpoint);
}

/* Asks the own etcd, and notes where the others can be asked, which the own one no longer can once it is out. */
static bool
find_others(GbeClusterFrame *frame, GError **error)
{
	GbeApp *app = frame->change.app;
	g_autoptr(GbeCluster) cluster = NULL;
	GbeClusterIntent *intent = &frame->intent;
	const GbeClusterMember *member;

	if (!gbe_cluster_look(app, &cluster, error))
		return gbe_prefix(error, "etcd must run for this. If it is lost, run "
					 "`greenboot-etcd member remove MEMBER` on another member "
					 "and `greenboot-etcd cluster reset` here");
	if (!check_own(frame, cluster, error))
		return false;
	/* A device that has left gives no lock back, and the others would wait for it. */
	if (!frame->options.force) {
		GbeUpdateLockSeen seen = {0};

		if (!gbe_update_lock_look(app, &seen, error))
			return false;
		gbe_update_lock_clear(&seen.lock);
		if (seen.own)
			return gbe_throw(
			    error, GBE_ERROR_REFUSED,
			    "this device has the update lock until its update is green or dropped; "
			    "`greenboot-etcd cluster unlock --force` releases the lock now");
	}
	member = gbe_cluster_by_id(cluster, cluster->self);
	frame->left->name = member != NULL ? g_strdup(member->name) : NULL;
	if (cluster->members->len == 1)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "it is the only member: `greenboot-etcd cluster reset` sets its "
				 "data aside");
	frame->left->id = cluster->self;
	intent->id = gbe_hex64(cluster->self);
	intent->cluster = gbe_hex64(cluster->cluster_id);
	intent->name = g_strdup(frame->left->name);
	intent->urls = gbe_cluster_urls_of_others(cluster);
	return true;
}

static bool
leave_cluster(GbeClusterFrame *frame, bool dry_run, GError **error)
{
	const GbeMembersOptions options = {.dry_run = dry_run,
					   .force = frame->options.force,
					   .wait = frame->options.timeout};
	GbeApp *app = frame->change.app;
	const GbeClusterIntent *intent = &frame->intent;
	const char *id = intent->id != NULL ? intent->id : "";
	g_auto(GbeMembersResult) removed = {0};
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *own = NULL;

	if (!gbe_cluster_look_by(app, intent->urls != NULL ? intent->urls : "", intent->cluster,
				 &cluster, error))
		return false;
	if (gbe_cluster_find(cluster, id, &own, NULL))
		return gbe_members_remove(app, id, &options, &removed, error);
	/* The cluster has removed the member already. */
	return gbe_cluster_check_current(app, cluster, error);
}

/* ---- the steps of both ---- */

static bool
begin_leave(GbeClusterFrame *frame, GError **error)
{
	GbeClusterIntent *intent = &frame->intent;

	if (!gbe_cluster_frame_begin(frame, error))
		return false;
	intent->empties = true;
	frame->left->continued = frame->continued;
	frame->left->name = g_strdup(intent->name);
	frame->left->id = intent->id != NULL ? g_ascii_strtoull(intent->id, NULL, 16) : 0;
	return true;
}

static bool
set_data_aside(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	return gbe_cluster_stop(frame, error) &&
	       gbe_by_hand_set_aside(frame->change.app, frame->change.name, false,
				     &frame->left->backup, error);
}

/* This device gives no lock back once its data is gone, and the others would wait for it. */
static bool
release_locks(gpointer change, GError **error)
{
	GbeApp *app = ((GbeClusterFrame *)change)->change.app;
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
forget_cluster(gpointer change, GError **error)
{
	static const char *const learnt[] = {"urls", "member", "cluster", "log"};
	GbeApp *app = ((GbeClusterFrame *)change)->change.app;
	g_autoptr(JsonObject) record = NULL;

	if (!gbe_state_read(app, GBE_STATE_MEMBERS, true, &record, error))
		return false;
	for (gsize i = 0; record != NULL && i < G_N_ELEMENTS(learnt); i++)
		json_object_remove_member(record, learnt[i]);
	return record == NULL || gbe_state_write(app, GBE_STATE_MEMBERS, record, error);
}

/* ---- leave ---- */

static bool
look_before_leave(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	return begin_leave(frame, error) &&
	       (frame->continued ||
		(find_others(frame, error) && leave_cluster(frame, true, error)));
}

static bool
release_and_leave(gpointer change, GError **error)
{
	return release_locks(change, error) && leave_cluster(change, false, error);
}

static bool
end_denied(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	frame->kept = frame->intent.left;
	return frame->kept || !gbe_cluster_is_denial(frame->change.why) ||
	       gbe_cluster_end(frame, error);
}

static const GbeStep leave_steps[] = {
    {"cluster-looked", look_before_leave, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"cluster-intended", gbe_cluster_intend, NULL, GBE_STEP_MAINTENANCE, 0},
    {"cluster-left", release_and_leave, end_denied, 0, offsetof(GbeClusterFrame, intent.left)},
    {"cluster-unconfigured", gbe_cluster_settings_remove, NULL, 0, 0},
    {"cluster-set-aside", set_data_aside, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-forgotten", forget_cluster, NULL, 0, 0},
    {"cluster-ended", gbe_cluster_end, NULL, 0, 0},
    {NULL, NULL, NULL, 0, 0},
};

bool
gbe_cluster_leave(GbeApp *app, const GbeClusterSetup *options, GbeClusterLeft *ret_left,
		  GError **error)
{
	g_auto(GbeClusterFrame) frame = {
	    .change = {.app = app, .name = "cluster leave", .steps = leave_steps},
	    .options = *options,
	    .left = ret_left};

	return gbe_cluster_run(&frame, error);
}

/* ---- reset ---- */

static bool
check_forgettable(const GbeClusterFrame *frame, GError **error)
{
	GbeApp *app = frame->change.app;
	g_autoptr(GbeCluster) cluster = NULL;
	bool alone = false;

	if (!gbe_cluster_look(app, &cluster, NULL)) {
		/* etcd does not answer. */
		if (!gbe_by_hand_is_alone(app, frame->change.name, &alone, error))
			return false;
		return alone ||
		       gbe_throw(
			   error, GBE_ERROR_REFUSED,
			   "cannot determine whether other members need this one, because its etcd "
			   "does not answer. Start it and run `greenboot-etcd cluster leave`. If "
			   "another member has removed it, or cannot be asked, use --force");
	}
	if (!check_own(frame, cluster, error))
		return false;
	return cluster->members->len == 1 ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%u other members count on this one: `greenboot-etcd cluster leave`, or "
			 "--force",
			 cluster->members->len - 1);
}

static bool
look_before_reset(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	return begin_leave(frame, error) &&
	       (frame->options.force || frame->continued || check_forgettable(frame, error));
}

static bool
set_settings_aside(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	return gbe_by_hand_set_settings_aside(frame->change.app, frame->change.name,
					      frame->left->backup.sequence, error);
}

static const GbeStep reset_steps[] = {
    {"cluster-looked", look_before_reset, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"cluster-intended", gbe_cluster_intend, NULL, GBE_STEP_MAINTENANCE, 0},
    {"cluster-locks-released", release_locks, gbe_cluster_keep, 0, 0},
    {"cluster-set-aside", set_data_aside, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-settings-aside", set_settings_aside, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-forgotten", forget_cluster, NULL, 0, 0},
    {"cluster-ended", gbe_cluster_end, NULL, 0, 0},
    {NULL, NULL, NULL, 0, 0},
};

bool
gbe_cluster_reset(GbeApp *app, const GbeClusterSetup *options, GbeClusterLeft *ret_left,
		  GError **error)
{
	g_auto(GbeClusterFrame) frame = {
	    .change = {.app = app, .name = "cluster reset", .steps = reset_steps},
	    .options = *options,
	    .takes_over = options->force,
	    .left = ret_left};

	return gbe_cluster_run(&frame, error);
}
