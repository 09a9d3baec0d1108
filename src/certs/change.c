/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/change.h"

#include <unistd.h>

#include "app/device/service.h"
#include "app/upkeep/live-etcd.h"
#include "certs/core/quorum.h"
#include "certs/trust.h"
#include "sys/systemd/events.h"
#include "sys/systemd/units.h"

#define LOCK_WAIT_MS 2000
/* greenboot-etcd-renew.service may not reach other machines: its packets to them are dropped. */
#define MEMBER_SECONDS 2
/* As in app/device/service.c: etcd may replay a long WAL. */
#define START_TIMEOUT_MS (300 * 1000)

GbePkiResult *
gbe_pki_result_new(void)
{
	GbePkiResult *result = g_new0(GbePkiResult, 1);

	result->healthy = GBE_UNKNOWN;
	result->notes = g_ptr_array_new_with_free_func(g_free);
	return result;
}

void
gbe_pki_result_free(GbePkiResult *result)
{
	if (result == NULL)
		return;
	gbe_pki_free(result->pki);
	g_free(result->reason);
	g_ptr_array_unref(result->notes);
	g_free(result);
}

bool
gbe_pki_change_lock(const GbePkiChange *change, GError **error)
{
	return gbe_app_lock(change->app, change->operation, LOCK_WAIT_MS, error);
}

/* ---- etcd ---- */

/* An etcd that is starting, or failed to, is not one that nobody runs. */
static bool
query_service(GbePkiChange *change, GError **error)
{
	const char *unit = change->app->config->etcd.service;
	g_auto(GbeUnitState) state = {0};

	if (change->app->below_root || unit == NULL)
		return true;
	if (!gbe_unit_query(unit, &state, error))
		return gbe_prefix(error, "ask systemd about %s", unit);
	change->failed = g_strcmp0(state.active_state, "failed") == 0;
	change->running = !change->failed && g_strcmp0(state.active_state, "inactive") != 0;
	return true;
}

GbeTri
gbe_pki_change_look(GbePkiChange *change, guint64 seconds, char **ret_why)
{
	GbeLiveEtcd live = {.app = change->app, .operation = change->operation};
	g_autoptr(GError) local = NULL;
	GbeTri healthy = GBE_YES;

	*ret_why = NULL;
	if (!change->running)
		return GBE_UNKNOWN;
	/* A new look reads the TLS files again. */
	live.look = gbe_health_look_new(change->app);
	gbe_health_look_expect_own(live.look);
	gbe_live_etcd_look(&live, (guint)seconds);
	if (!gbe_live_etcd_check_healthy(&live, &local)) {
		healthy = g_error_matches(local, GBE_ERROR, GBE_ERROR_VERIFY_FAILED) ? GBE_NO
										     : GBE_UNKNOWN;
		*ret_why = g_strdup(local->message);
	}
	gbe_live_etcd_clear(&live);
	return healthy;
}

/* etcd keeps the connections that it has, whatever their certificates: only new ones show whether most members with a
 * vote take what is live. False: no, or this member is alone. *ret_why (may stay NULL): who does not. */
static bool
is_taken(GbePkiChange *change, char **ret_why)
{
	g_autoptr(GbePki) pki = NULL;
	g_autoptr(GError) local = NULL;
	g_auto(GbeTrust) trust = {0};

	*ret_why = NULL;
	if (!gbe_pki_read(change->app, &pki, &local) || pki == NULL ||
	    !gbe_trust_ask(change->app, pki, MEMBER_SECONDS, &trust, &local)) {
		*ret_why = g_strdup(local != NULL ? local->message : "no certificates are there");
		return false;
	}
	change->members = trust.members;
	*ret_why = g_steal_pointer(&trust.refusal);
	return trust.members > 1 && trust.taken >= gbe_quorum_of(trust.voters);
}

/* Does what gbe_pki_change_look() does. The other members are asked as well, if most of them took the former
 * certificates. */
static GbeTri
look_with_members(GbePkiChange *change, bool was_taken, char **ret_why)
{
	gint64 end = g_get_monotonic_time() + (gint64)change->options->timeout * G_USEC_PER_SEC;
	GbeTri healthy = gbe_pki_change_look(change, change->options->timeout, ret_why);

	while (healthy == GBE_YES && was_taken && !is_taken(change, ret_why)) {
		if (g_get_monotonic_time() >= end)
			return GBE_NO;
		g_clear_pointer(ret_why, g_free);
		g_usleep(G_USEC_PER_SEC);
	}
	if (healthy == GBE_YES && *ret_why != NULL) {
		g_ptr_array_add(change->result->notes,
				g_strdup_printf("a member could not be asked, or does not take the "
						"certificates: %s",
						*ret_why));
		g_clear_pointer(ret_why, g_free);
	}
	return healthy;
}

/* Without the program's lock: the service's prerun needs it. */
static bool
restart(GbePkiChange *change, GError **error)
{
	const char *unit = change->app->config->etcd.service;
	GbeService service = {.pipe_fd = -1};
	g_autoptr(GError) local = NULL;

	if (!gbe_unit_reset_failed(unit, &local))
		g_debug("%s", local->message);
	if (!gbe_service_stop(change->app, &service, error))
		return false;
	change->result->restarted = true;
	if (service.unit != NULL)
		return gbe_service_start(&service, error);
	return gbe_unit_start(unit, START_TIMEOUT_MS, error) || gbe_prefix(error, "start %s", unit);
}

/* ---- what is live is looked at ---- */

static void
reload(GbePkiChange *change)
{
	g_clear_pointer(&change->result->pki, gbe_pki_free);
	if (!gbe_pki_read(change->app, &change->result->pki, NULL))
		g_debug(GBE_PKI_LIVE " is not readable");
}

static bool
put_back(GbePkiChange *change, bool restarts, const char *why, GError **error)
{
	GbePkiResult *result = change->result;
	g_autofree char *now = NULL;
	g_autoptr(GError) local = NULL;
	bool unproved = false;
	bool started;

	if (!gbe_pki_change_lock(change, error) ||
	    !gbe_pki_is_unproved(change->app, &unproved, error) ||
	    (unproved && !gbe_pki_put_back(change->app, error))) {
		gbe_rethrow(error, GBE_ERROR_PARTIAL);
		return gbe_prefix(error,
				  "etcd is not healthy with the new certificates (%s), and "
				  "the old ones could not be put back",
				  why);
	}
	gbe_app_unlock(change->app);
	reload(change);
	result->done = false;
	/* Without the lock, a restore or `cluster reset` may have moved what is live. */
	if (!unproved)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "etcd is not healthy (%s), and the certificates in " GBE_PKI_LIVE
				 " are no longer those that were to be proved: nothing is put back",
				 why);
	result->put_back = true;
	g_free(result->reason);
	result->reason = g_strdup(why);
	started = !restarts || restart(change, &local);
	result->healthy = gbe_pki_change_look(change, change->options->timeout, &now);
	if (started && result->healthy == GBE_YES)
		return gbe_throw(
		    error, GBE_ERROR_FAILED,
		    "etcd was not healthy with the new certificates (%s): the old ones "
		    "are back, and it is healthy with them",
		    why);
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "etcd was not healthy with the new certificates (%s), the old ones are "
			 "back, and with those it is not, either: %s",
			 why,
			 now != NULL	 ? now
			 : local != NULL ? local->message
					 : "unknown");
}

/* Only etcd can tell whether it takes the new certificates. Where it does not run, or was not well before, nothing
 * speaks for the old ones. */
static bool
prove(GbePkiChange *change, const GbePkiRecord *record, GError **error)
{
	GbePkiResult *result = change->result;
	g_autoptr(GError) local = NULL;
	g_autofree char *why = NULL;
	bool started = true;

	gbe_app_unlock(change->app);
	if (change->running) {
		started = !record->restart || restart(change, &local);
		if (started)
			result->healthy = look_with_members(change, record->was_taken, &why);
		else
			result->healthy = GBE_NO;
	}
	if (record->was_healthy == GBE_YES && change->running && result->healthy != GBE_YES)
		return put_back(change, record->restart || change->failed,
				started ? why : local->message, error);
	if (change->running && result->healthy != GBE_YES)
		g_ptr_array_add(result->notes,
				g_strdup_printf("etcd was not healthy before, and is not now: %s",
						started ? why : local->message));
	return gbe_pki_change_lock(change, error) && gbe_pki_keep(change->app, error);
}

/* ---- a change ---- */

/* A kill or a power cut came after the exchange. */
static bool
finish_earlier(GbePkiChange *change, GError **error)
{
	bool unproved = false;

	if (!gbe_pki_is_unproved(change->app, &unproved, error))
		return gbe_prefix(error, GBE_PKI_DIR);
	if (!unproved || change->result->pki == NULL)
		return true;
	g_ptr_array_add(
	    change->result->notes,
	    g_strdup_printf("finished what `%s` had begun", change->result->pki->record.made_by));
	/* It was healthy before, and may have failed with the new certificates. */
	if (change->failed && change->result->pki->record.was_healthy == GBE_YES)
		change->running = true;
	return prove(change, &change->result->pki->record, error);
}

bool
gbe_pki_change_begin(GbePkiChange *change, GError **error)
{
	GbeApp *app = change->app;

	if (geteuid() != 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "%s needs root: sudo", change->operation);
	if (!query_service(change, error))
		return false;
	if (change->options->dry_run)
		return gbe_pki_read(app, &change->result->pki, error);
	return gbe_maintenance_lock(app, change->operation, &change->maintenance, error) &&
	       gbe_pki_change_lock(change, error) &&
	       gbe_pki_read(app, &change->result->pki, error) && finish_earlier(change, error);
}

bool
gbe_pki_change_commit(GbePkiChange *change, bool restart_needed, GError **error)
{
	GbePkiResult *result = change->result;
	GbePkiRecord *record = &result->pki->record;
	g_autofree char *why = NULL;
	g_autofree char *refusal = NULL;
	bool first;

	result->restarted = restart_needed && change->running;
	if (change->options->dry_run)
		return true;
	g_free(record->made_by);
	record->made_by = g_strdup(change->operation);
	record->made_at = g_get_real_time() / G_USEC_PER_SEC;
	record->restart = restart_needed;
	first = record->sequence == 0;
	record->was_healthy = first ? GBE_UNKNOWN : gbe_pki_change_look(change, 0, &why);
	record->was_taken = record->was_healthy == GBE_YES && is_taken(change, &refusal);
	result->restarted = false;
	if (!gbe_pki_change_lock(change, error) || !gbe_pki_put(change->app, result->pki, error))
		return false;
	result->done = true;
	/* The first ones are not in use yet, and nothing was there before. */
	return first || prove(change, record, error);
}

static void
say(const GbePkiChange *change)
{
	const GbePkiResult *result = change->result;
	g_autofree char *reason = g_strdup_printf(
	    "%s%s%s%s", change->operation,
	    result->put_back ? ", and the old certificates were put back" : "",
	    result->reason != NULL ? ": " : "", result->reason != NULL ? result->reason : "");
	GbeEventFields fields = {.action = change->operation, .reason = reason};

	if (result->done || result->put_back)
		gbe_event_certs_changed(&fields);
}

bool
gbe_pki_change_run(GbeApp *app, const char *operation, GbePkiChangeWork work,
		   const GbePkiOptions *options, GbePkiResult *result, GError **error)
{
	GbePkiChange change = {.app = app,
			       .operation = operation,
			       .options = options,
			       .result = result};
	bool ok = work(&change, error);

	say(&change);
	gbe_app_unlock(app);
	g_clear_pointer(&change.maintenance, gbe_lock_release);
	return ok;
}
