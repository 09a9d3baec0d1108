/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/upkeep/defrag.h"

#include <string.h>

#include "app/state/configuration.h"
#include "app/upkeep/live-etcd.h"
#include "base/fault.h"
#include "core/space.h"
#include "sys/deployment/deployments.h"
#include "sys/systemd/events.h"

/* The time for etcd to become healthy again: the caches of a large database are cold. */
#define AFTER_SECONDS 30
/* After a start, etcd may still be replaying its log. */
#define TIMER_PATIENCE 30
#define TIMER_TIMEOUT 900

void
gbe_defrag_result_clear(GbeDefragResult *result)
{
	g_clear_pointer(&result->endpoint, g_free);
	g_clear_pointer(&result->data, g_free);
	g_clear_pointer(&result->of, g_free);
	g_clear_pointer(&result->made, g_free);
	g_clear_pointer(&result->reason, g_free);
	g_clear_pointer(&result->backup, g_free);
}

static GbeDefragSizes
sizes_of(const GbeLiveEtcd *live)
{
	const GbeHealthFacts *facts = live->look->facts;

	return (GbeDefragSizes){facts->db_size, facts->db_in_use};
}

/* Decides by the first look: is there work, and is it allowed? */
static bool
check(const GbeLiveEtcd *live, const GbeDefrag *options, GbeDefragResult *result, bool *ret_due,
      GError **error)
{
	const GbeConfig *config = live->app->config;

	result->before = result->after = sizes_of(live);
	result->healthy = live->look->report->health == GBE_HEALTH_HEALTHY;
	result->need = gbe_defrag_need(result->before.size, result->before.in_use,
				       config->defrag.min_size, config->defrag.max_fragmentation);
	*ret_due = !options->if_needed || result->need == GBE_DEFRAG_DUE;
	if (live->look->facts->no_space)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "etcd has the alarm NOSPACE; `greenboot-etcd alarm clear` makes "
				 "room, defragments, and takes it back");
	if (!*ret_due && result->need != GBE_DEFRAG_UNKNOWN)
		return true;
	/* The problem that a person can solve is reported first. */
	if (result->before.in_use >= 0 && !gbe_live_etcd_check_room(live, error))
		return false;
	return gbe_live_etcd_check_healthy(live, error) && gbe_live_etcd_check_room(live, error) &&
	       gbe_live_etcd_check_root(live, error);
}

static bool
throw_call(const GbeLiveEtcd *live, const GbeDefrag *options, const GbeCallFailure *failure,
	   GError **error)
{
	if (failure->reach == GBE_REACH_LATE)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "etcd at %s has not answered within %" G_GUINT64_FORMAT
				 " s, and may be at it still: %s",
				 live->look->at.endpoint.shown, options->timeout, failure->why);
	if (!gbe_live_etcd_has_not(failure))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "whether etcd at %s was defragmented cannot be told: %s; call it "
				 "again",
				 live->look->at.endpoint.shown, failure->why);
	return gbe_throw(error, gbe_call_code(failure, GBE_ERROR_FAILED),
			 "etcd at %s was not defragmented: %s", live->look->at.endpoint.shown,
			 failure->why);
}

static bool
defragment(GbeLiveEtcd *live, const GbeDefrag *options, GbeDefragResult *result, GError **error)
{
	g_auto(GbeCallFailure) failure = {0};
	gint64 began = g_get_monotonic_time();
	gint64 deadline = began + (gint64)options->timeout * G_USEC_PER_SEC;

	result->done = gbe_client_defragment(live->look->client, deadline, &failure);
	result->duration_usec = g_get_monotonic_time() - began;
	return result->done || throw_call(live, options, &failure, error);
}

static void
look_after(GbeLiveEtcd *live, GbeDefragResult *result)
{
	gbe_live_etcd_look(live, AFTER_SECONDS);
	result->after = sizes_of(live);
	result->healthy = live->look->report->health == GBE_HEALTH_HEALTHY;
	if (!result->healthy)
		result->reason = g_strdup(live->look->report->reason);
}

static void
say_done(const GbeDefragResult *result)
{
	g_autofree char *before = gbe_size_to_text((guint64)MAX(result->before.size, 0));
	g_autofree char *after = gbe_size_to_text((guint64)MAX(result->after.size, 0));
	g_autofree char *text = g_strdup_printf("%s to %s in %.2f s", before, after,
						(double)result->duration_usec / G_USEC_PER_SEC);
	GbeEventFields fields = {.action = "defrag",
				 .backup = result->backup,
				 .reason = text,
				 .duration_usec = result->duration_usec};

	gbe_event_defragmented(&fields);
}

static bool
run(GbeLiveEtcd *live, const GbeDefrag *options, GbeDefragResult *result, GError **error)
{
	bool due = false;

	gbe_live_etcd_look(live, options->patience);
	if (!check(live, options, result, &due, error))
		return false;
	if (!due || options->dry_run)
		return true;
	if (!options->no_backup) {
		if (!gbe_live_etcd_back_up(live, "before a defragmentation", &result->backup,
					   error))
			return false;
		gbe_live_etcd_look(live, 0);
	}
	/* Checks again, because the copy took room and time. */
	if (!gbe_live_etcd_lock(live, error) ||
	    (!options->no_backup && !check(live, options, result, &due, error)) ||
	    GBE_FAULT("defrag-locked", error) || !defragment(live, options, result, error))
		return false;
	look_after(live, result);
	say_done(result);
	return true;
}

bool
gbe_defrag(GbeApp *app, const GbeDefrag *options, GbeDefragResult *ret_result, GError **error)
{
	g_auto(GbeLiveEtcd) live = {0};
	g_auto(GbeDefragResult) result = {0};

	if (!gbe_live_etcd_open(app, "defrag", &live, error))
		return false;
	result.endpoint = g_strdup(live.look->at.endpoint.shown);
	if (!run(&live, options, &result, error))
		return false;
	*ret_result = result;
	memset(&result, 0, sizeof result);
	return true;
}

/* Errors that pass by themselves, that the monitor reports, or that mean there is no etcd. */
static bool
is_for_later(const GError *error)
{
	return g_error_matches(error, GBE_ERROR, GBE_ERROR_BUSY) ||
	       g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND) ||
	       g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED) ||
	       g_error_matches(error, GBE_ERROR, GBE_ERROR_VERIFY_FAILED) ||
	       g_error_matches(error, GBE_ERROR, GBE_ERROR_CANNOT_TELL);
}

static bool
is_on(GbeApp *app)
{
	return !gbe_config_is_off(app->config) && app->config->defrag.enabled;
}

/* Takes no copy before: only the layout of the database changes, not its content. On a file system that clones, a
 * copy would hold exactly the blocks that are to become free. */
int
gbe_defrag_run(GbeApp *app)
{
	const GbeDefrag options = {.if_needed = true,
				   .no_backup = true,
				   .timeout = TIMER_TIMEOUT,
				   .patience = TIMER_PATIENCE};
	g_autoptr(GbeDeployments) deployments =
	    gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	g_auto(GbeDefragResult) result = {0};
	g_autofree char *complaint = NULL;
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {.action = "defrag"};

	(void)!gbe_app_open_state(app, false, NULL);
	gbe_configuration_choose(app, deployments->booted.id, &complaint);
	if (!is_on(app))
		return 0;
	if (gbe_defrag(app, &options, &result, &error)) {
		if (!result.done)
			gbe_note("not needed: %s", gbe_defrag_need_to_string(result.need));
		return !result.done || result.healthy ? 0 : 1;
	}
	if (is_for_later(error)) {
		gbe_note("not now: %s", error->message);
		return 0;
	}
	fields.reason = error->message;
	gbe_event_defrag_failed(&fields);
	return 1;
}
