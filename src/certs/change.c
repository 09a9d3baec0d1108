/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/change.h"

#include "app/certs/certs.h"
#include "app/upkeep/live-etcd.h"
#include "certs/core/quorum.h"
#include "certs/trust.h"
#include "sys/systemd/events.h"
#include "sys/systemd/units.h"

#define RENEW_TIMER "greenboot-etcd-renew.timer"
#define TIMER_TIMEOUT_MS 30000
/* greenboot-etcd-renew.service may not reach other machines: its packets to them are dropped. */
#define MEMBER_SECONDS 2

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

/* ---- etcd ---- */

GbeTri
gbe_pki_change_look(const GbePkiChange *change, guint64 seconds, char **ret_why)
{
	g_autoptr(GError) local = NULL;

	*ret_why = NULL;
	if (!change->running)
		return GBE_UNKNOWN;
	if (gbe_live_etcd_wait_healthy(change->change.app, change->change.name, seconds, &local))
		return GBE_YES;
	*ret_why = g_strdup(local->message);
	return g_error_matches(local, GBE_ERROR, GBE_ERROR_VERIFY_FAILED) ? GBE_NO : GBE_UNKNOWN;
}

/* Do most voters accept the live certificates? Asks by new connections, because etcd keeps the present ones whatever
 * their certificates. False: no, or this member is alone. *ret_why (may stay NULL): a member that does not. */
static bool
is_taken(GbePkiChange *change, char **ret_why)
{
	g_autoptr(GbePki) pki = NULL;
	g_autoptr(GError) local = NULL;
	g_auto(GbeTrust) trust = {0};

	*ret_why = NULL;
	if (!gbe_pki_read(change->change.app, &pki, &local) || pki == NULL ||
	    !gbe_trust_ask(change->change.app, pki, MEMBER_SECONDS, &trust, &local)) {
		*ret_why = g_strdup(local != NULL ? local->message : "no certificates are there");
		return false;
	}
	change->members = trust.members;
	*ret_why = g_steal_pointer(&trust.refusal);
	return trust.members > 1 && trust.taken >= gbe_quorum_of(trust.voters);
}

static bool
restart_etcd(GbePkiChange *change, GError **error)
{
	GbeService service = {.pipe_fd = -1};

	if (!gbe_service_stop(change->change.app, &service, error))
		return false;
	change->result->restarted = true;
	return gbe_live_etcd_start_service(change->change.app, &service, error);
}

/* ---- the steps ---- */

bool
gbe_pki_look(gpointer data, GError **error)
{
	GbePkiChange *change = data;
	GbeApp *app = change->change.app;
	GbePkiResult *result = change->result;
	const char *unit = app->config->etcd.service;
	g_auto(GbeUnitState) state = {0};

	/* A service counts as running while its etcd starts, or failed to start. */
	if (!app->below_root && unit != NULL) {
		if (!gbe_unit_query(unit, &state, error))
			return gbe_prefix(error, "ask systemd about %s", unit);
		change->failed = g_strcmp0(state.active_state, "failed") == 0;
		change->running = !change->failed && g_strcmp0(state.active_state, "inactive") != 0;
	}
	if (!gbe_pki_read(app, &result->pki, error))
		return false;
	if (change->change.dry_run)
		return true;
	if (!gbe_pki_is_unproved(app, &change->unproved, error))
		return gbe_prefix(error, GBE_PKI_DIR);
	change->unproved = change->unproved && result->pki != NULL;
	if (!change->unproved)
		return true;
	/* A kill or a power cut came after the exchange. */
	g_ptr_array_add(result->notes, g_strdup_printf("finished what `%s` had begun",
						       result->pki->record.made_by));
	/* etcd was healthy before, and may have failed with the new certificates. */
	if (change->failed && result->pki->record.was_healthy == GBE_YES)
		change->running = true;
	return true;
}

bool
gbe_pki_replace(gpointer data, GError **error)
{
	GbePkiChange *change = data;
	GbePkiResult *result = change->result;
	GbePkiRecord *record = &result->pki->record;
	g_autofree char *why = NULL;
	g_autofree char *refusal = NULL;
	bool first = record->sequence == 0;

	g_free(record->made_by);
	record->made_by = g_strdup(change->change.name);
	record->made_at = g_get_real_time() / G_USEC_PER_SEC;
	record->restart = change->restart;
	record->was_healthy = first ? GBE_UNKNOWN : gbe_pki_change_look(change, 0, &why);
	record->was_taken = record->was_healthy == GBE_YES && is_taken(change, &refusal);
	result->restarted = false;
	if (!gbe_pki_put(change->change.app, result->pki, error))
		return false;
	result->done = true;
	/* The first ones are not in use yet, and nothing was there before. */
	change->unproved = !first;
	return true;
}

/* Only etcd can show whether it accepts the new certificates. If it does not run, or was unhealthy before, the old
 * ones are no better. */
bool
gbe_pki_prove(gpointer data, GError **error)
{
	GbePkiChange *change = data;
	GbePkiResult *result = change->result;
	const GbePkiRecord *record;
	g_autoptr(GError) local = NULL;
	g_autofree char *why = NULL;
	gint64 end;

	if (!change->unproved)
		return true;
	record = &result->pki->record;
	if (change->running && record->restart && !restart_etcd(change, &local)) {
		result->healthy = GBE_NO;
		why = g_strdup(local->message);
	} else if (change->running) {
		end = g_get_monotonic_time() + (gint64)change->options->timeout * G_USEC_PER_SEC;
		result->healthy = gbe_pki_change_look(change, change->options->timeout, &why);
		/* The other members are also asked, if most of them accepted the former certificates. */
		while (result->healthy == GBE_YES && record->was_taken && !is_taken(change, &why)) {
			if (g_get_monotonic_time() >= end) {
				result->healthy = GBE_NO;
				break;
			}
			g_clear_pointer(&why, g_free);
			g_usleep(G_USEC_PER_SEC);
		}
	}
	change->unwell =
	    change->running && result->healthy != GBE_YES && record->was_healthy == GBE_YES;
	if (change->unwell)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s",
				 why != NULL ? why : "a member does not take them");
	if (change->running && result->healthy != GBE_YES)
		g_ptr_array_add(
		    result->notes,
		    g_strdup_printf("etcd was not healthy before, and is not now: %s", why));
	else if (result->healthy == GBE_YES && why != NULL)
		g_ptr_array_add(result->notes,
				g_strdup_printf("a member could not be asked, or does not take the "
						"certificates: %s",
						why));
	change->unproved = false;
	return gbe_app_lock(change->change.app, change->change.name, GBE_WAIT_BY_HAND, error) &&
	       gbe_pki_keep(change->change.app, error);
}

bool
gbe_pki_unprove(gpointer data, GError **error)
{
	GbePkiChange *change = data;
	GbeApp *app = change->change.app;
	GbePkiResult *result = change->result;
	g_autoptr(GError) local = NULL;
	bool restarts, started;

	if (!change->unproved)
		return true;
	restarts = result->pki->record.restart || change->failed;
	/* While the lock was free, a restore or `cluster reset` may have moved the live directory. */
	if (!gbe_pki_is_unproved(app, &result->put_back, error) ||
	    (result->put_back && !gbe_pki_put_back(app, error))) {
		result->put_back = false;
		return false;
	}
	gbe_app_unlock(app);
	change->unproved = false;
	result->done = false;
	g_clear_pointer(&result->pki, gbe_pki_free);
	if (!gbe_pki_read(app, &result->pki, NULL))
		g_debug(GBE_PKI_LIVE " is not readable");
	if (!result->put_back) {
		g_ptr_array_add(
		    result->notes,
		    g_strdup("the certificates in " GBE_PKI_LIVE
			     " were replaced meanwhile, so the old ones were not put back"));
		return true;
	}
	started = !restarts || restart_etcd(change, &local);
	result->healthy = gbe_pki_change_look(change, change->options->timeout, &change->with_old);
	if (!started && result->healthy == GBE_YES)
		result->healthy = GBE_UNKNOWN;
	if (!started && change->with_old == NULL)
		change->with_old = g_strdup(local->message);
	return true;
}

/* ---- init, renew ---- */

static bool
make_pki(gpointer data, GError **error)
{
	GbePkiChange *change = data;
	GbeApp *app = change->change.app;
	g_autoptr(GbePki) pki = g_new0(GbePki, 1);

	if (change->result->pki != NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "there are certificates in " GBE_PKI_LIVE
				 " already: `greenboot-etcd certs renew` replaces them, `certs "
				 "rotate-ca` makes a new authority");
	if (change->options->token == NULL) {
		if (!gbe_pki_make_authority(change, &pki->signer, error))
			return false;
	} else if (!gbe_token_read(app, change->options->token, pki, error) ||
		   !gbe_pki_seal(change, &pki->signer, error) ||
		   !gbe_pki_seal(change, &pki->other, error)) {
		return false;
	}
	if (!gbe_pki_issue_leaves(app, pki, error))
		return false;
	change->result->pki = g_steal_pointer(&pki);
	change->result->reason = g_strdup(
	    "an authority, and certificates of a server, a peer and a client, in " GBE_PKI_LIVE);
	return true;
}

/* The condition of the timer was not met when the system booted. */
static bool
start_timer(gpointer data, GError **error)
{
	GbePkiChange *change = data;
	g_autoptr(GError) local = NULL;

	(void)error;
	if (!change->change.app->below_root &&
	    !gbe_unit_start(RENEW_TIMER, TIMER_TIMEOUT_MS, &local))
		g_ptr_array_add(change->result->notes,
				g_strdup_printf("certificates are renewed automatically only after "
						"the next boot: %s",
						local->message));
	return true;
}

static bool
issue_due(gpointer data, GError **error)
{
	GbePkiChange *change = data;
	GbePkiResult *result = change->result;
	char *reason;

	if (result->pki == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, GBE_PKI_MISSING);
	reason = gbe_pki_due(change->change.app, result->pki, NULL);
	if (reason == NULL && !change->options->force) {
		change->change.ended = true;
		return gbe_pki_check_clock(result->pki, error);
	}
	g_free(result->reason);
	result->reason = reason != NULL ? reason : g_strdup("asked for");
	return gbe_pki_issue_leaves(change->change.app, result->pki, error);
}

static const GbeStep init_steps[] = {
    {"pki-looked", gbe_pki_look, NULL, GBE_STEP_LOOK, 0},
    {"pki-earlier-proved", gbe_pki_prove, gbe_pki_unprove, GBE_STEP_UNLOCKED, 0},
    {"pki-made", make_pki, NULL, GBE_STEP_LOOK, 0},
    {"pki-replaced", gbe_pki_replace, NULL, 0, 0},
    {"pki-proved", gbe_pki_prove, gbe_pki_unprove, GBE_STEP_UNLOCKED, 0},
    {"pki-timer-started", start_timer, NULL, 0, 0},
    {NULL, NULL, NULL, 0, 0},
};

static const GbeStep renew_steps[] = {
    {"pki-looked", gbe_pki_look, NULL, GBE_STEP_LOOK, 0},
    {"pki-earlier-proved", gbe_pki_prove, gbe_pki_unprove, GBE_STEP_UNLOCKED, 0},
    {"pki-issued", issue_due, NULL, GBE_STEP_LOOK, 0},
    {"pki-replaced", gbe_pki_replace, NULL, 0, 0},
    {"pki-proved", gbe_pki_prove, gbe_pki_unprove, GBE_STEP_UNLOCKED, 0},
    {NULL, NULL, NULL, 0, 0},
};

/* ---- a change ---- */

static const struct {
	const char *name;
	const GbeStep *steps;
} verbs[] = {
    [GBE_PKI_INIT] = {"certs init", init_steps},
    [GBE_PKI_RENEW] = {"certs renew", renew_steps},
    [GBE_PKI_RENEW_BY_COMMAND] = {"certs renew", gbe_pki_command_steps},
    [GBE_PKI_ROTATE] = {"certs rotate-ca", gbe_pki_rotate_steps},
};

bool
gbe_pki_change(GbeApp *app, GbePkiVerb verb, const GbePkiOptions *options, GbePkiResult *result,
	       GError **error)
{
	const char *name = verbs[verb].name;
	GbePkiChange change = {.change = {.app = app,
					  .name = name,
					  .steps = verbs[verb].steps,
					  .dry_run = options->dry_run,
					  .maintenance_wanted = true},
			       .options = options,
			       .result = result};
	GbeEventFields fields = {.action = name};
	g_autofree char *reason = NULL;
	g_autoptr(GError) local = NULL;
	bool ok = gbe_change_run(&change.change, &local);

	if (result->put_back) {
		g_free(result->reason);
		result->reason = g_strdup(change.change.why->message);
	}
	fields.reason = reason = g_strdup_printf(
	    "%s%s%s%s", name, result->put_back ? ", and the old certificates were put back" : "",
	    result->reason != NULL ? ": " : "", result->reason != NULL ? result->reason : "");
	if (result->done || result->put_back)
		gbe_event_certs_changed(&fields);
	if (result->put_back)
		(void)gbe_certs_throw_put_back(error, result->reason, change.unwell,
					       result->healthy == GBE_YES, change.with_old);
	else if (!ok)
		(void)gbe_pass(error, &local);
	g_free(change.with_old);
	g_strfreev(change.directories);
	gbe_certs_archive_free(change.archive);
	gbe_change_clear(&change.change);
	return ok;
}
