/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/change.h"

#include <unistd.h>

#include "app/device/service.h"
#include "app/upkeep/live-etcd.h"
#include "certs/core/quorum.h"
#include "certs/trust.h"
#include "sys/systemd/events.h"
#include "sys/systemd/units.h"

#define RENEW_TIMER "greenboot-etcd-renew.timer"
#define TIMER_TIMEOUT_MS 30000
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
	return gbe_app_lock(change->app, change->operation, GBE_WAIT_BY_HAND, error);
}

/* ---- etcd ---- */

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

/* Without the program's lock: the service's prerun needs it. */
static bool
restart_etcd(GbePkiChange *change, GError **error)
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
	g_clear_pointer(&result->pki, gbe_pki_free);
	if (!gbe_pki_read(change->app, &result->pki, NULL))
		g_debug(GBE_PKI_LIVE " is not readable");
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
	started = !restarts || restart_etcd(change, &local);
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
prove_live(GbePkiChange *change, const GbePkiRecord *record, GError **error)
{
	GbePkiResult *result = change->result;
	g_autoptr(GError) local = NULL;
	g_autofree char *why = NULL;
	bool started = true;
	gint64 end;

	gbe_app_unlock(change->app);
	if (change->running) {
		started = !record->restart || restart_etcd(change, &local);
		result->healthy = GBE_NO;
	}
	if (change->running && started) {
		end = g_get_monotonic_time() + (gint64)change->options->timeout * G_USEC_PER_SEC;
		result->healthy = gbe_pki_change_look(change, change->options->timeout, &why);
		/* The other members are asked as well, if most of them took the former certificates. */
		while (result->healthy == GBE_YES && record->was_taken && !is_taken(change, &why)) {
			if (g_get_monotonic_time() >= end) {
				result->healthy = GBE_NO;
				break;
			}
			g_clear_pointer(&why, g_free);
			g_usleep(G_USEC_PER_SEC);
		}
	}
	if (result->healthy == GBE_YES && why != NULL) {
		g_ptr_array_add(result->notes,
				g_strdup_printf("a member could not be asked, or does not take the "
						"certificates: %s",
						why));
		g_clear_pointer(&why, g_free);
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

bool
gbe_pki_change_begin(GbePkiChange *change, GError **error)
{
	GbeApp *app = change->app;
	GbePkiResult *result = change->result;
	const char *unit = app->config->etcd.service;
	g_auto(GbeUnitState) state = {0};
	bool unproved = false;

	if (geteuid() != 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "%s needs root: sudo", change->operation);
	/* A service counts as running while its etcd starts, or failed to start. */
	if (!app->below_root && unit != NULL) {
		if (!gbe_unit_query(unit, &state, error))
			return gbe_prefix(error, "ask systemd about %s", unit);
		change->failed = g_strcmp0(state.active_state, "failed") == 0;
		change->running = !change->failed && g_strcmp0(state.active_state, "inactive") != 0;
	}
	if (change->options->dry_run)
		return gbe_pki_read(app, &result->pki, error);
	if (!gbe_maintenance_lock(app, change->operation, &change->maintenance, error) ||
	    !gbe_pki_change_lock(change, error))
		return false;
	if (!gbe_pki_read(app, &result->pki, error))
		return false;
	if (!gbe_pki_is_unproved(app, &unproved, error))
		return gbe_prefix(error, GBE_PKI_DIR);
	if (!unproved || result->pki == NULL)
		return true;
	/* A kill or a power cut came after the exchange. */
	g_ptr_array_add(result->notes, g_strdup_printf("finished what `%s` had begun",
						       result->pki->record.made_by));
	/* etcd was healthy before, and may have failed with the new certificates. */
	if (change->failed && result->pki->record.was_healthy == GBE_YES)
		change->running = true;
	return prove_live(change, &result->pki->record, error);
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
	return first || prove_live(change, record, error);
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
	g_autofree char *reason = g_strdup_printf(
	    "%s%s%s%s", operation,
	    result->put_back ? ", and the old certificates were put back" : "",
	    result->reason != NULL ? ": " : "", result->reason != NULL ? result->reason : "");
	GbeEventFields fields = {.action = operation, .reason = reason};

	if (result->done || result->put_back)
		gbe_event_certs_changed(&fields);
	gbe_app_unlock(app);
	g_clear_pointer(&change.maintenance, gbe_lock_release);
	return ok;
}

/* ---- init_pki, renew ---- */

static bool
init_pki(GbePkiChange *change, GError **error)
{
	g_autoptr(GbePki) pki = gbe_pki_new();
	g_autoptr(GError) local = NULL;

	if (!gbe_pki_change_begin(change, error))
		return false;
	if (change->result->pki != NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "there are certificates in " GBE_PKI_LIVE
				 " already: `greenboot-etcd certs renew` replaces them, `certs "
				 "rotate-ca` makes a new authority");
	if (change->options->token == NULL) {
		if (!gbe_pki_make_authority(change, &pki->signer, error))
			return false;
	} else if (!gbe_token_read(change->app, change->options->token, pki, error) ||
		   !gbe_pki_seal(change, &pki->signer, error) ||
		   !gbe_pki_seal(change, &pki->other, error)) {
		return false;
	}
	if (!gbe_pki_issue_leaves(change->app, pki, error))
		return false;
	change->result->pki = g_steal_pointer(&pki);
	change->result->reason = g_strdup(
	    "an authority, and certificates of a server, a peer and a client, in " GBE_PKI_LIVE);
	if (!gbe_pki_change_commit(change, false, error))
		return false;
	/* The condition of the timer was not met when the system booted. */
	if (!change->options->dry_run && !change->app->below_root &&
	    !gbe_unit_start(RENEW_TIMER, TIMER_TIMEOUT_MS, &local))
		g_ptr_array_add(change->result->notes,
				g_strdup_printf("certificates are renewed by itself only after the "
						"next boot: %s",
						local->message));
	return true;
}

bool
gbe_pki_init(GbeApp *app, const GbePkiOptions *options, GbePkiResult *result, GError **error)
{
	return gbe_pki_change_run(app, "certs init", init_pki, options, result, error);
}

static bool
renew_pki(GbePkiChange *change, GError **error)
{
	GbePkiResult *result = change->result;
	char *reason;

	if (!gbe_pki_change_begin(change, error))
		return false;
	if (result->pki == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "there are no certificates in " GBE_PKI_LIVE
				 ": `greenboot-etcd certs init` makes them");
	reason = gbe_pki_due(change->app, result->pki, NULL);
	if (reason == NULL && !change->options->force)
		return gbe_pki_check_clock(result->pki, error);
	g_free(result->reason);
	result->reason = reason != NULL ? reason : g_strdup("asked for");
	return gbe_pki_issue_leaves(change->app, result->pki, error) &&
	       gbe_pki_change_commit(change, false, error);
}

bool
gbe_pki_renew(GbeApp *app, const GbePkiOptions *options, GbePkiResult *result, GError **error)
{
	return gbe_pki_change_run(app, "certs renew", renew_pki, options, result, error);
}
