/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/frame.h"

#include <string.h>
#include <unistd.h>

#include "app/backups/data.h"
#include "app/by-hand/by-hand.h"
#include "app/health/certificates.h"
#include "app/health/verdict.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "app/upkeep/live-etcd.h"
#include "base/fault.h"
#include "base/format.h"
#include "certs/change.h"
#include "core/config/lists.h"
#include "core/json/parse.h"
#include "core/units/dropin.h"
#include "fs/open.h"
#include "fs/write.h"
#include "sys/systemd/events.h"
#include "sys/systemd/units.h"

#define ENV_NAME "cluster.env"
#define START_TIMEOUT_MS (300 * 1000)
#define START_TRIES 3
#define STOP_TIMEOUT_MS (120 * 1000)

void
gbe_cluster_frame_clear(GbeClusterFrame *frame)
{
	gbe_app_unlock(frame->app);
	g_clear_pointer(&frame->maintenance, gbe_lock_release);
	gbe_cluster_intent_clear(&frame->intent);
	g_clear_pointer(&frame->as_read, g_free);
}

/* An application that starts its own etcd decides itself how. */
static bool
check_service(const GbeApp *app, bool *ret_active, GError **error)
{
	const char *unit = app->config->etcd.service;
	g_auto(GbeUnitState) state = {0};

	if (app->below_root)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "below --root no service is started: do this on the device itself");
	if (geteuid() != 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "this needs root: sudo");
	if (unit == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "[etcd] service is empty: name the service that starts etcd");
	if (gbe_dropin_scope_of(unit) != NULL || g_str_equal(unit, "k3s.service"))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s starts an etcd of its own: its cluster is that application's "
				 "to form",
				 unit);
	if (!gbe_unit_query(unit, &state, error))
		return gbe_prefix(error, "ask systemd about %s", unit);
	*ret_active = g_strcmp0(state.active_state, "inactive") != 0 &&
		      g_strcmp0(state.active_state, "failed") != 0;
	return true;
}

bool
gbe_cluster_frame_begin(GbeClusterFrame *frame, bool *ret_active, GError **error)
{
	g_autoptr(JsonObject) found = NULL;
	g_autoptr(GbeData) data = NULL;
	const char *operation;

	/* Data that could not be set aside is found before the cluster is asked for anything. */
	if (!check_service(frame->app, ret_active, error) ||
	    !gbe_data_open(frame->app, &data, error) ||
	    (data->wal_dir != NULL && !gbe_data_check_whole(data, error)))
		return false;
	if ((!frame->dry_run && !gbe_by_hand_follow_settings(frame->app, error)) ||
	    !gbe_state_peek(frame->app, GBE_STATE_CLUSTER, &found, error))
		return false;
	if (found == NULL)
		return true;
	frame->as_read = gbe_json_print_line(found);
	gbe_cluster_intent_from_json(found, &frame->intent);
	operation = frame->intent.operation != NULL ? frame->intent.operation : "";
	frame->continued = g_str_equal(operation, frame->operation);
	if (!frame->continued && !frame->takes_over)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "an earlier `%s` was interrupted: call it again, it goes on; or "
				 "`greenboot-etcd cluster reset --force` ends it",
				 operation);
	if (!frame->continued) {
		gbe_cluster_intent_clear(&frame->intent);
		frame->intent = (GbeClusterIntent){0};
	}
	return true;
}

bool
gbe_cluster_frame_note(GbeClusterFrame *frame, GError **error)
{
	g_autoptr(JsonObject) object = NULL;

	g_free(frame->intent.operation);
	frame->intent.operation = g_strdup(frame->operation);
	object = gbe_cluster_intent_to_json(&frame->intent);
	return gbe_state_write(frame->app, GBE_STATE_CLUSTER, object, error) &&
	       !GBE_FAULT("cluster-intended", error);
}

bool
gbe_cluster_frame_lock(GbeClusterFrame *frame, GError **error)
{
	return gbe_app_lock(frame->app, frame->operation, GBE_WAIT_BY_HAND, error);
}

bool
gbe_cluster_frame_intend(GbeClusterFrame *frame, GError **error)
{
	g_autoptr(JsonObject) now = NULL;
	g_autofree char *text = NULL;

	if (!gbe_maintenance_lock(frame->app, frame->operation, &frame->maintenance, error) ||
	    !gbe_cluster_frame_lock(frame, error))
		return false;
	/* The intent was read before the locks were taken. */
	if (!gbe_state_peek(frame->app, GBE_STATE_CLUSTER, &now, error))
		return false;
	text = now != NULL ? gbe_json_print_line(now) : NULL;
	if (g_strcmp0(text, frame->as_read) != 0)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "another call has just changed the membership of this device: "
				 "look with `greenboot-etcd cluster status`");
	return gbe_cluster_frame_note(frame, error);
}

bool
gbe_cluster_frame_end(GbeClusterFrame *frame, GError **error)
{
	return gbe_cluster_frame_lock(frame, error) &&
	       gbe_unlink_durable_at(frame->app->state_fd, GBE_STATE_CLUSTER, error);
}

bool
gbe_cluster_frame_goes_on(const GbeClusterFrame *frame, GError **error)
{
	gbe_rethrow(error, GBE_ERROR_PARTIAL);
	return gbe_prefix(error, "the next `%s` goes on", frame->operation);
}

bool
gbe_cluster_frame_end_denied(GbeClusterFrame *frame, const GError *why)
{
	g_autoptr(GError) error = NULL;

	if (!g_error_matches(why, GBE_ERROR, GBE_ERROR_REFUSED) &&
	    !g_error_matches(why, GBE_ERROR, GBE_ERROR_NO_USER) &&
	    !g_error_matches(why, GBE_ERROR, GBE_ERROR_FAILED))
		return false;
	if (gbe_cluster_frame_end(frame, &error))
		return true;
	gbe_note("%s", error->message);
	return false;
}

/* ---- settings ---- */

bool
gbe_cluster_settings_put(GbeClusterFrame *frame, const GbeClusterEnv *env, GError **error)
{
	g_autofree char *text = gbe_cluster_env(env, error);

	return text != NULL && gbe_cluster_frame_lock(frame, error) &&
	       gbe_write_file_at(frame->app->state_fd, ENV_NAME, text, strlen(text), 0600,
				 GBE_WRITE_DURABLE, error) &&
	       !GBE_FAULT("cluster-configured", error);
}

bool
gbe_cluster_settings_write(GbeClusterFrame *frame, const GbeClusterEnv *env, GError **error)
{
	g_autoptr(GbePki) pki = NULL;
	g_autofree char *due = NULL;
	bool unproved = false;

	if (!gbe_cluster_settings_put(frame, env, error))
		return false;
	/* An earlier call may have been cut in between. etcd proves the new ones when it starts with them. */
	if (!gbe_pki_is_unproved(frame->app, &unproved, error) ||
	    (unproved && !gbe_pki_keep(frame->app, error)) ||
	    !gbe_pki_read(frame->app, &pki, error))
		return false;
	if (pki == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "there are no certificates in " GBE_PKI_LIVE);
	/* The certificates are also for what the member advertises. */
	due = gbe_pki_due(frame->app, pki, NULL);
	if (due == NULL)
		return true;
	g_free(pki->record.made_by);
	pki->record.made_by = g_strdup(frame->operation);
	pki->record.restart = false;
	pki->record.was_healthy = GBE_UNKNOWN;
	return gbe_pki_issue_leaves(frame->app, pki, error) &&
	       gbe_pki_put(frame->app, pki, error) && gbe_pki_keep(frame->app, error);
}

bool
gbe_cluster_settings_remove(GbeClusterFrame *frame, GError **error)
{
	return gbe_cluster_frame_lock(frame, error) &&
	       gbe_unlink_durable_at(frame->app->state_fd, ENV_NAME, error);
}

bool
gbe_cluster_frame_is_own(const GbeClusterFrame *frame, const GbeCluster *cluster)
{
	const GbeClusterMember *member = gbe_cluster_by_id(cluster, cluster->self);
	g_autofree char *id = gbe_hex64(cluster->self);
	g_autofree char *text = NULL;
	g_autoptr(GbeFacts) facts = NULL;
	g_auto(GStrv) settings = NULL;
	const char *url;
	gsize size = 0;

	if (gbe_verdict_look(frame->app, NULL, &facts, NULL) &&
	    gbe_facts_taken_in_this_run(facts) && facts->owner->member_id != NULL)
		return g_str_equal(id, facts->owner->member_id);
	if (!gbe_read_in_root(frame->app->root_fd, GBE_CLUSTER_ENV, GBE_CERTS_FILE_MAX, &text,
			      &size, NULL))
		return true;
	settings = gbe_run_environment(NULL, text);
	url = g_environ_getenv(settings, "ETCD_INITIAL_ADVERTISE_PEER_URLS");
	return url == NULL ||
	       (member != NULL && g_strv_contains((const char *const *)member->peer_urls, url));
}

/* ---- the service ---- */

bool
gbe_cluster_frame_start(GbeClusterFrame *frame, GError **error)
{
	g_auto(GbeUnitState) state = {0};
	g_autoptr(GError) local = NULL;
	const char *unit;

	gbe_app_unlock(frame->app);
	if (!gbe_configuration_load(frame->app, false, error))
		return false;
	unit = frame->app->config->etcd.service;
	if (gbe_unit_query(unit, &state, &local) &&
	    g_strcmp0(state.unit_file_state, "disabled") == 0)
		gbe_note("%s is not started at boot: systemctl enable %s", unit, unit);
	/* A new member's etcd ends at once where the others have no leader just then, or do not answer in time. */
	for (guint tries = 1;; tries++) {
		g_clear_error(&local);
		if (!gbe_unit_reset_failed(unit, &local))
			g_debug("%s", local->message);
		g_clear_error(&local);
		if (gbe_unit_start(unit, START_TIMEOUT_MS, &local))
			return !GBE_FAULT("cluster-started", error);
		if (tries == START_TRIES) {
			g_propagate_prefixed_error(error, g_steal_pointer(&local),
						   "start %s: ", unit);
			return false;
		}
		g_usleep(G_USEC_PER_SEC);
	}
}

bool
gbe_cluster_frame_stop(GbeClusterFrame *frame, GError **error)
{
	const char *unit = frame->app->config->etcd.service;

	return gbe_unit_stop(unit, STOP_TIMEOUT_MS, error) || gbe_prefix(error, "stop %s", unit);
}

bool
gbe_cluster_frame_wait_healthy(GbeClusterFrame *frame, guint64 seconds, GError **error)
{
	g_auto(GbeLiveEtcd) live = {.app = frame->app, .operation = frame->operation};

	live.look = gbe_health_look_new(frame->app);
	gbe_health_look_expect_own(live.look);
	gbe_live_etcd_look(&live, (guint)seconds);
	return gbe_live_etcd_check_healthy(&live, error) ||
	       gbe_prefix(error,
			  "%s, which has to take its variables from " GBE_CLUSTER_ENV
			  " and no file of its own",
			  frame->app->config->etcd.service);
}
