/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/setup.h"

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

/* Asks the own etcd, and notes where the others can be asked, which the own one no longer can once it is out. */
static bool
find_others(Leave *leave, GError **error)
{
	GbeApp *app = leave->frame.app;
	g_autoptr(GbeCluster) cluster = NULL;
	GbeClusterIntent *intent = &leave->frame.intent;
	const GbeClusterMember *member;

	if (!gbe_cluster_look(app, &cluster, error))
		return gbe_prefix(error, "a member whose etcd is down is removed by another one "
					 "(`greenboot-etcd member remove`), and reset here");
	if (!check_own(leave, cluster, error))
		return false;
	/* A device that has left gives no lock back, and the others would wait for it. */
	if (!leave->options->force) {
		GbeUpdateLockSeen seen = {0};

		if (!gbe_update_lock_look(app, &seen, error))
			return false;
		gbe_update_lock_clear(&seen.lock);
		if (seen.own)
			return gbe_throw(
			    error, GBE_ERROR_REFUSED,
			    "this device has the update lock: its update has to become "
			    "green or to be dropped; `greenboot-etcd cluster unlock "
			    "--force` frees it all the same");
	}
	member = gbe_cluster_by_id(cluster, cluster->self);
	leave->left->name = member != NULL ? g_strdup(member->name) : NULL;
	if (cluster->members->len == 1)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "it is the only member: `greenboot-etcd cluster reset` sets its "
				 "data aside");
	leave->left->id = cluster->self;
	intent->id = gbe_hex64(cluster->self);
	intent->cluster = gbe_hex64(cluster->cluster_id);
	intent->name = g_strdup(leave->left->name);
	intent->urls = gbe_cluster_urls_of_others(cluster);
	return true;
}

static bool
leave_cluster(Leave *leave, bool dry_run, GError **error)
{
	const GbeMembersOptions options = {.dry_run = dry_run,
					   .force = leave->options->force,
					   .wait = leave->options->timeout};
	GbeApp *app = leave->frame.app;
	const GbeClusterIntent *intent = &leave->frame.intent;
	const char *id = intent->id != NULL ? intent->id : "";
	g_auto(GbeMembersResult) removed = {0};
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *own = NULL;

	if (!gbe_cluster_look_by(app, intent->urls != NULL ? intent->urls : "", intent->cluster,
				 &cluster, error))
		return false;
	if (gbe_cluster_find(cluster, id, &own, NULL))
		return gbe_members_remove(app, id, &options, &removed, error);
	/* It is out already. */
	return gbe_cluster_check_current(app, cluster, error);
}

/* ---- what both do ---- */

static bool
begin_leave(Leave *leave, GError **error)
{
	GbeClusterIntent *intent = &leave->frame.intent;
	bool active = false;

	leave->frame.dry_run = leave->options->dry_run;
	if (!gbe_cluster_frame_begin(&leave->frame, &active, error))
		return false;
	intent->empties = true;
	leave->left->continued = leave->frame.continued;
	leave->left->name = g_strdup(intent->name);
	leave->left->id = intent->id != NULL ? g_ascii_strtoull(intent->id, NULL, 16) : 0;
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
forget_and_end(Leave *leave, GError **error)
{
	static const char *const learnt[] = {"urls", "member", "cluster", "log"};
	GbeApp *app = leave->frame.app;
	g_autoptr(JsonObject) record = NULL;

	if (!gbe_cluster_frame_lock(&leave->frame, error) ||
	    !gbe_state_read(app, GBE_STATE_MEMBERS, true, &record, error))
		return false;
	for (gsize i = 0; record != NULL && i < G_N_ELEMENTS(learnt); i++)
		json_object_remove_member(record, learnt[i]);
	if (record != NULL && !gbe_state_write(app, GBE_STATE_MEMBERS, record, error))
		return false;
	return gbe_cluster_frame_end(&leave->frame, error);
}

bool
gbe_cluster_leave(GbeApp *app, const GbeClusterLeave *options, GbeClusterLeft *ret_left,
		  GError **error)
{
	g_auto(Leave) leave = {.frame = {.app = app, .operation = "cluster leave"},
			       .options = options,
			       .left = ret_left};
	g_autoptr(GError) local = NULL;
	bool ok;

	if (!begin_leave(&leave, error) ||
	    (!ret_left->continued &&
	     (!find_others(&leave, error) || !leave_cluster(&leave, true, error))))
		return false;
	if (options->dry_run)
		return true;
	if (!gbe_cluster_frame_intend(&leave.frame, error))
		return false;
	if (!leave.frame.intent.left &&
	    (!release_locks(app, &local) || !leave_cluster(&leave, false, &local))) {
		(void)gbe_cluster_frame_end_denied(&leave.frame, local);
		return gbe_pass(error, &local);
	}
	leave.frame.intent.left = true;
	ok = !GBE_FAULT("cluster-left", error) && gbe_cluster_frame_lock(&leave.frame, error);
	ok = ok && gbe_cluster_frame_note(&leave.frame, error);
	ok = ok && gbe_cluster_settings_remove(&leave.frame, error);
	ok = ok && set_data_aside(&leave, error);
	ok = ok && forget_and_end(&leave, error);
	return ok || gbe_cluster_frame_goes_on(&leave.frame, error);
}

/* ---- reset ---- */

static bool
check_forgettable(const Leave *leave, GError **error)
{
	GbeApp *app = leave->frame.app;
	g_autoptr(GbeCluster) cluster = NULL;
	bool alone = false;

	if (!gbe_cluster_look(app, &cluster, NULL)) {
		/* etcd does not answer. */
		if (!gbe_by_hand_is_alone(app, leave->frame.operation, &alone, error))
			return false;
		return alone ||
		       gbe_throw(error, GBE_ERROR_REFUSED,
				 "whether other members count on this one cannot be told: its etcd "
				 "does not answer. Start it and `greenboot-etcd cluster leave`; "
				 "or, where another member has removed it or cannot be asked, "
				 "--force");
	}
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
	bool ok;

	if (!begin_leave(&leave, error) ||
	    (!options->force && !ret_left->continued && !check_forgettable(&leave, error)))
		return false;
	if (options->dry_run)
		return true;
	if (!gbe_cluster_frame_intend(&leave.frame, error))
		return false;
	ok = release_locks(app, error) && set_data_aside(&leave, error);
	ok = ok && gbe_by_hand_set_settings_aside(app, leave.frame.operation,
						  ret_left->backup.sequence, error);
	ok = ok && forget_and_end(&leave, error);
	return ok || gbe_cluster_frame_goes_on(&leave.frame, error);
}
