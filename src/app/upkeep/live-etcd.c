/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/upkeep/live-etcd.h"

#include <unistd.h>

#include "app/by-hand/by-hand.h"
#include "app/snapshot/snapshot.h"
#include "base/fault.h"
#include "core/health/defrag.h"
#include "core/space.h"
#include "etcd/api/client.h"
#include "etcd/directory/member.h"
#include "sys/systemd/units.h"

#define POLL_USEC (G_USEC_PER_SEC / 5)
#define GAUGE_SECONDS 2
#define NO_COPY "cannot take a backup first (--no-backup skips it)"

bool
gbe_live_etcd_check_open(GbeApp *app, GError **error)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_data_open(app, &data, error))
		return false;
	if (data->fd < 0 || data->member_path == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "no etcd data in %s ([etcd] data-dir and member-dir say where to "
				 "look)",
				 data->path);
	switch (gbe_in_use(data->fd, data->member_path, data->wal_fd, NULL, &local)) {
	case GBE_YES:
		return true;
	case GBE_NO:
		/* Below --root, the endpoint may be that of this very system. */
		if (app->below_root)
			return gbe_throw(
			    error, GBE_ERROR_REFUSED,
			    "no etcd runs on %s below %s; with --root, no other etcd is touched",
			    data->path, app->root_path);
		return gbe_throw(
		    error, GBE_ERROR_NOT_FOUND, "no etcd runs on %s: start %s", data->path,
		    app->config->etcd.service != NULL ? app->config->etcd.service : "it");
	case GBE_UNKNOWN:
		break;
	}
	return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
			 "cannot determine whether etcd has %s open: %s", data->path,
			 local != NULL ? local->message : "unknown");
}

bool
gbe_live_etcd_open(GbeApp *app, const char *operation, GbeLiveEtcd *ret_live, GError **error)
{
	if (geteuid() != 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "%s needs root: sudo", operation);
	if (!gbe_live_etcd_check_open(app, error))
		return false;
	*ret_live =
	    (GbeLiveEtcd){.app = app, .operation = operation, .look = gbe_health_look_new(app)};
	gbe_health_look_expect_own(ret_live->look);
	return true;
}

void
gbe_live_etcd_clear(GbeLiveEtcd *live)
{
	g_clear_pointer(&live->look, gbe_health_look_free);
	g_clear_pointer(&live->lock, gbe_lock_release);
}

void
gbe_live_etcd_look(GbeLiveEtcd *live, guint seconds)
{
	guint request_ms = (guint)live->app->config->health.request_timeout * 1000;
	gint64 deadline = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;

	for (;;) {
		gint64 left;

		gbe_health_look_now(live->look, request_ms);
		left = deadline - g_get_monotonic_time();
		if (live->look->report->health == GBE_HEALTH_HEALTHY || left <= 0)
			return;
		g_usleep((gulong)MIN(left, POLL_USEC));
	}
}

bool
gbe_live_etcd_check_healthy(const GbeLiveEtcd *live, GError **error)
{
	const GbeHealthReport *report = live->look->report;

	if (report->health == GBE_HEALTH_HEALTHY)
		return true;
	if (report->health == GBE_HEALTH_UNHEALTHY)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "etcd is not healthy: %s",
				 report->reason);
	return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
			 "cannot determine whether etcd is healthy: %s", report->reason);
}

bool
gbe_live_etcd_start_service(const GbeApp *app, GbeService *service, GError **error)
{
	const char *unit = app->config->etcd.service;
	g_autoptr(GError) local = NULL;

	if (!gbe_unit_reset_failed(unit, &local))
		g_debug("%s", local->message);
	if (service->unit != NULL)
		return gbe_service_start(service, error);
	return gbe_unit_start(unit, GBE_SERVICE_START_MS, error) ||
	       gbe_prefix(error, "start %s", unit);
}

bool
gbe_live_etcd_wait_healthy(GbeApp *app, const char *operation, guint64 seconds, GError **error)
{
	g_auto(GbeLiveEtcd) live = {.app = app, .operation = operation};

	live.look = gbe_health_look_new(app);
	gbe_health_look_expect_own(live.look);
	gbe_live_etcd_look(&live, (guint)seconds);
	return gbe_live_etcd_check_healthy(&live, error);
}

bool
gbe_live_etcd_check_root(const GbeLiveEtcd *live, GError **error)
{
	GbeHealthLook *look = live->look;
	g_auto(GbeCallFailure) failure = {0};

	if (look->client == NULL ||
	    gbe_client_is_root(look->client, gbe_app_deadline(live->app), &failure) ||
	    failure.reach != GBE_REACH_NO_USER)
		return true;
	return gbe_throw(error, GBE_ERROR_NO_USER, "etcd at %s: %s", look->at.endpoint.shown,
			 failure.why);
}

bool
gbe_live_etcd_check_room(const GbeLiveEtcd *live, GError **error)
{
	const GbeHealthFacts *facts = live->look->facts;
	g_autofree char *wanted = NULL;
	g_autofree char *there = NULL;

	if (facts->free < 0 || facts->db_in_use < 0)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot determine whether %s has room for a new database: %s",
				 facts->data_dir, live->look->report->reason);
	if (gbe_defrag_room(facts->db_in_use) <= (guint64)facts->free)
		return true;
	wanted = gbe_size_to_text(gbe_defrag_room(facts->db_in_use));
	there = gbe_size_to_text((guint64)facts->free);
	return gbe_throw(
	    error, GBE_ERROR_NO_SPACE,
	    "a new database next to the old one needs %s of free space at %s, but only %s are free",
	    wanted, facts->data_dir, there);
}

bool
gbe_live_etcd_back_up(GbeLiveEtcd *live, const char *why, char **ret_name, GError **error)
{
	const GbeObserveOptions look = {0};
	const GbeByHandBackup options = {.description = why, .live = true};
	const GbeSnapshotSave save = {.path = GBE_BEFORE_FILE, .replace = true, .leave_room = true};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GbeVerification) verification = NULL;
	g_auto(GbeByHandResult) result = {0};
	bool clones, ok;

	if (!gbe_observe(live->app, &look, &observed, error))
		return gbe_prefix(error, NO_COPY);
	/* Are open files of etcd copied by cloning? If etcd does not run, ask another member for a snapshot: this
	 * data is older. */
	clones = observed->facts->clones == GBE_YES && observed->facts->store != GBE_NO &&
		 observed->facts->data_open == GBE_YES;
	g_clear_pointer(&observed, gbe_observed_free);
	ok = clones ? gbe_by_hand_backup(live->app, &options, &result, error)
		    : gbe_app_open_state(live->app, true, error) &&
			  gbe_snapshot_save(live->app, &save, &verification, error);
	if (!ok)
		return gbe_prefix(error, NO_COPY);
	*ret_name = clones ? g_steal_pointer(&result.name) : g_strdup(GBE_BEFORE_FILE);
	return true;
}

bool
gbe_live_etcd_has_not(const GbeCallFailure *failure)
{
	return gbe_call_is_denied(failure) || failure->reach == GBE_REACH_LOCAL;
}

bool
gbe_live_etcd_lock(GbeLiveEtcd *live, GError **error)
{
	const GbeEndpoint *endpoint = &live->look->at.endpoint;
	gint64 soon;

	if (!gbe_maintenance_lock(live->app, live->operation, &live->lock, error))
		return false;
	soon = g_get_monotonic_time() + GAUGE_SECONDS * G_USEC_PER_SEC;
	/* A holder of the program's lock works on the data. The lock is released at once: greenboot waits for it. */
	if (!gbe_app_lock(live->app, live->operation, GBE_WAIT_MAINTENANCE, error))
		return false;
	gbe_app_unlock(live->app);
	return gbe_gauge_defragments(endpoint, soon) != GBE_YES ||
	       gbe_throw(error, GBE_ERROR_BUSY, "etcd at %s is being defragmented already",
			 endpoint->shown);
}

bool
gbe_displaced_discard(GbeApp *app, const char *name, const char *restored, guint seconds,
		      GError **error)
{
	/* Without the program's lock: the service's prerun needs it. */
	return gbe_live_etcd_wait_healthy(app, "restore --skip-backup", seconds, error) &&
	       !GBE_FAULT("displaced-healthy", error) &&
	       gbe_by_hand_discard(app, name, restored, error);
}
