/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/frame.h"

#include <string.h>

#include "app/backups/data.h"
#include "app/by-hand/by-hand.h"
#include "app/health/certificates.h"
#include "app/health/verdict.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "app/upkeep/live-etcd.h"
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
#define START_TRIES 3
#define STOP_TIMEOUT_MS (120 * 1000)

void
gbe_cluster_frame_clear(GbeClusterFrame *frame)
{
	gbe_change_clear(&frame->change);
	gbe_cluster_intent_clear(&frame->intent);
	g_clear_pointer(&frame->as_read, g_free);
	g_clear_pointer(&frame->settings, g_strfreev);
	g_clear_pointer(&frame->cluster, gbe_cluster_free);
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
gbe_cluster_frame_begin(GbeClusterFrame *frame, GError **error)
{
	GbeApp *app = frame->change.app;
	g_autoptr(JsonObject) found = NULL;
	g_autoptr(GbeData) data = NULL;
	const char *operation;

	/* Data that could not be set aside is found before the cluster is asked for anything. */
	if (!check_service(app, &frame->active, error) || !gbe_data_open(app, &data, error) ||
	    (data->wal_dir != NULL && !gbe_data_check_whole(data, error)))
		return false;
	if ((!frame->change.dry_run && !gbe_by_hand_follow_settings(app, error)) ||
	    !gbe_state_peek(app, GBE_STATE_CLUSTER, &found, error))
		return false;
	if (found == NULL)
		return true;
	frame->as_read = gbe_json_print_line(found);
	gbe_cluster_intent_from_json(found, &frame->intent);
	operation = frame->intent.operation != NULL ? frame->intent.operation : "";
	frame->continued = g_str_equal(operation, frame->change.name);
	if (frame->continued)
		return true;
	if (!frame->takes_over)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "an earlier `%s` was interrupted; run it again to resume, or run "
				 "`greenboot-etcd cluster reset --force` to end it",
				 operation);
	gbe_cluster_intent_clear(&frame->intent);
	frame->intent = (GbeClusterIntent){0};
	return true;
}

bool
gbe_cluster_note(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	g_autoptr(JsonObject) object = NULL;

	g_free(frame->intent.operation);
	frame->intent.operation = g_strdup(frame->change.name);
	object = gbe_cluster_intent_to_json(&frame->intent);
	return gbe_state_write(frame->change.app, GBE_STATE_CLUSTER, object, error);
}

bool
gbe_cluster_intend(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	g_autoptr(JsonObject) now = NULL;
	g_autofree char *text = NULL;

	/* The intent was read before the locks were taken. */
	if (!gbe_state_peek(frame->change.app, GBE_STATE_CLUSTER, &now, error))
		return false;
	text = now != NULL ? gbe_json_print_line(now) : NULL;
	if (g_strcmp0(text, frame->as_read) != 0)
		return gbe_throw(error, GBE_ERROR_BUSY,
				 "another call has just changed the membership of this device: "
				 "look with `greenboot-etcd cluster status`");
	return gbe_cluster_note(frame, error);
}

bool
gbe_cluster_end(gpointer change, GError **error)
{
	GbeApp *app = ((GbeClusterFrame *)change)->change.app;
	g_autoptr(JsonObject) done = gbe_prerun_done_read(app);
	GbeHeld held = {GBE_HOLD_NO};

	if (!gbe_unlink_durable_at(app->state_fd, GBE_STATE_CLUSTER, error))
		return false;
	/* `leave` and `reset` leave etcd stopped, and no longer held back. */
	gbe_prerun_done_hold(done, &held);
	if (held.kind == GBE_HOLD_LEAVING)
		gbe_prerun_done_write(app, NULL, NULL);
	gbe_held_clear(&held);
	return true;
}

bool
gbe_cluster_keep(gpointer change, GError **error)
{
	(void)error;
	((GbeClusterFrame *)change)->kept = true;
	return true;
}

bool
gbe_cluster_is_denial(const GError *why)
{
	return g_error_matches(why, GBE_ERROR, GBE_ERROR_REFUSED) ||
	       g_error_matches(why, GBE_ERROR, GBE_ERROR_NO_USER) ||
	       g_error_matches(why, GBE_ERROR, GBE_ERROR_FAILED);
}

bool
gbe_cluster_run(GbeClusterFrame *frame, GError **error)
{
	bool ok;

	frame->change.note = gbe_cluster_note;
	frame->change.dry_run = frame->options.dry_run;
	ok = gbe_change_run(&frame->change, error);
	/* Without a way back, the intent stays. */
	frame->kept = frame->kept || (frame->change.failed != NULL && !frame->change.taken_back);
	if (ok || !frame->kept)
		return ok;
	gbe_rethrow(error, GBE_ERROR_PARTIAL);
	return gbe_prefix(error, "run `%s` again to resume", frame->change.name);
}

/* ---- settings ---- */

bool
gbe_cluster_settings_put(GbeClusterFrame *frame, const char *initial_cluster, GError **error)
{
	const GbeClusterSetupResult *result = frame->result;
	g_autofree char *token = g_strdup_printf("%08x%08x", g_random_int(), g_random_int());
	g_autofree char *alone = g_strdup_printf("%s=%s", result->name, result->peer_url);
	const GbeClusterEnv env = {.name = result->name,
				   .peer_url = result->peer_url,
				   .client_url = result->client_url,
				   .initial_cluster =
				       initial_cluster != NULL ? initial_cluster : alone,
				   .token = initial_cluster != NULL ? NULL : token};
	g_autofree char *text = gbe_cluster_env(&env, error);

	return text != NULL && gbe_write_file_at(frame->change.app->state_fd, ENV_NAME, text,
						 strlen(text), 0600, GBE_WRITE_DURABLE, error);
}

bool
gbe_cluster_configure_alone(gpointer change, GError **error)
{
	return gbe_cluster_settings_put(change, NULL, error);
}

bool
gbe_cluster_reissue(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	GbeApp *app = frame->change.app;
	g_autoptr(GbePki) pki = NULL;
	g_autofree char *due = NULL;
	bool unproved = false;

	/* An earlier call may have been cut in between. etcd proves the new ones when it starts with them. */
	if (!gbe_pki_is_unproved(app, &unproved, error) ||
	    (unproved && !gbe_pki_keep(app, error)) || !gbe_pki_read(app, &pki, error))
		return false;
	if (pki == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "certificates are missing in " GBE_PKI_LIVE);
	/* The certificates are also for what the member advertises. */
	due = gbe_pki_due(app, pki, NULL);
	if (due == NULL)
		return true;
	g_free(pki->record.made_by);
	pki->record.made_by = g_strdup(frame->change.name);
	pki->record.restart = false;
	pki->record.was_healthy = GBE_UNKNOWN;
	return gbe_pki_issue_leaves(app, pki, error) && gbe_pki_put(app, pki, error) &&
	       gbe_pki_keep(app, error);
}

bool
gbe_cluster_settings_remove(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	return gbe_unlink_durable_at(frame->change.app->state_fd, ENV_NAME, error);
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

	if (gbe_verdict_look(frame->change.app, NULL, &facts, NULL) &&
	    gbe_facts_taken_in_this_run(facts) && facts->owner->member_id != NULL)
		return g_str_equal(id, facts->owner->member_id);
	if (!gbe_read_in_root(frame->change.app->root_fd, GBE_CLUSTER_ENV, GBE_CERTS_FILE_MAX,
			      &text, &size, NULL))
		return true;
	settings = gbe_run_environment(NULL, text);
	url = g_environ_getenv(settings, "ETCD_INITIAL_ADVERTISE_PEER_URLS");
	return url == NULL ||
	       (member != NULL && g_strv_contains((const char *const *)member->peer_urls, url));
}

/* ---- the service ---- */

bool
gbe_cluster_start(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	const char *unit = frame->change.app->config->etcd.service;
	g_auto(GbeUnitState) state = {0};
	g_autoptr(GError) local = NULL;

	if (gbe_unit_query(unit, &state, &local) &&
	    g_strcmp0(state.unit_file_state, "disabled") == 0)
		gbe_note("%s is not started at boot: systemctl enable %s", unit, unit);
	/* A new member's etcd ends at once where the others have no leader just then, or do not answer in time. */
	for (guint tries = 1;; tries++) {
		g_clear_error(&local);
		if (!gbe_unit_reset_failed(unit, &local))
			g_debug("%s", local->message);
		g_clear_error(&local);
		if (gbe_unit_start(unit, GBE_SERVICE_START_MS, &local))
			return true;
		if (tries == START_TRIES)
			break;
		g_usleep(G_USEC_PER_SEC);
	}
	(void)gbe_pass(error, &local);
	return gbe_prefix(error, "start %s", unit);
}

bool
gbe_cluster_stop(gpointer change, GError **error)
{
	const char *unit = ((GbeClusterFrame *)change)->change.app->config->etcd.service;

	return gbe_unit_stop(unit, STOP_TIMEOUT_MS, error) || gbe_prefix(error, "stop %s", unit);
}

bool
gbe_cluster_wait_healthy(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	GbeApp *app = frame->change.app;

	return gbe_configuration_load(app, error) &&
	       (gbe_live_etcd_wait_healthy(app, frame->change.name, frame->options.timeout,
					   error) ||
		gbe_prefix(error,
			   "%s, which has to take its variables from " GBE_CLUSTER_ENV
			   " and no file of its own",
			   app->config->etcd.service));
}
