/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/records.h"

#include "app/state/history.h"
#include "app/state/state.h"
#include "core/space.h"
#include "sys/systemd/units.h"

#define TIMER "greenboot-etcd-backup.timer"

static const GbeField periodic_fields[] = {
    GBE_FIELD_SET(GbePeriodicStatus, schedule, "schedule", TEXT),
    GBE_FIELD(GbePeriodicStatus, result, "result", TEXT),
    GBE_FIELD(GbePeriodicStatus, record.reason, "reason", TEXT),
    GBE_FIELD(GbePeriodicStatus, record.attempted, "attempted", KNOWN),
    GBE_FIELD(GbePeriodicStatus, record.succeeded, "succeeded", KNOWN),
    GBE_FIELD(GbePeriodicStatus, age, "age", KNOWN),
    GBE_FIELD(GbePeriodicStatus, record.backup, "backup", TEXT),
    GBE_FIELD(GbePeriodicStatus, record.taken, "taken", KNOWN),
    GBE_FIELD(GbePeriodicStatus, record.member, NULL, TEXT),
    GBE_FIELD(GbePeriodicStatus, overdue, "overdue", FLAG),
    {0},
};
const GbeFieldItems gbe_periodic_items = {periodic_fields, sizeof(GbePeriodicStatus)};

static const GbeField offsite_fields[] = {
    GBE_FIELD_SET(GbeOffsiteStatus, store, "store", TEXT),
    GBE_FIELD(GbeOffsiteStatus, record.proved, "proved", TEXT),
    GBE_FIELD(GbeOffsiteStatus, record.proved_at, "proved_at", KNOWN),
    GBE_FIELD(GbeOffsiteStatus, proved_age, "proved_age", KNOWN),
    GBE_FIELD(GbeOffsiteStatus, record.proved_revision, "proved_revision", KNOWN),
    GBE_FIELD(GbeOffsiteStatus, waiting, "waiting", COUNT),
    GBE_FIELD(GbeOffsiteStatus, waiting_newest, "waiting_newest", TEXT),
    GBE_FIELD(GbeOffsiteStatus, record.failed_at, "failed_at", KNOWN),
    GBE_FIELD(GbeOffsiteStatus, record.failed_why, "failed", TEXT),
    GBE_FIELD(GbeOffsiteStatus, record.pushed, "pushed", TEXT),
    GBE_FIELD(GbeOffsiteStatus, record.pushed_at, "pushed_at", KNOWN),
    GBE_FIELD(GbeOffsiteStatus, record.pushed_revision, "pushed_revision", KNOWN),
    GBE_FIELD(GbeOffsiteStatus, record.looked_at, "looked_at", KNOWN),
    GBE_FIELD(GbeOffsiteStatus, record.size, "size", KNOWN),
    GBE_FIELD(GbeOffsiteStatus, record.sent, "sent", KNOWN),
    GBE_FIELD(GbeOffsiteStatus, record.requests, "requests", KNOWN),
    GBE_FIELD(GbeOffsiteStatus, duration_ms, "duration_ms", KNOWN),
    GBE_FIELD(GbeOffsiteStatus, record.damaged, "damaged", TEXT),
    GBE_FIELD(GbeOffsiteStatus, record.damaged_why, NULL, TEXT),
    GBE_FIELD(GbeOffsiteStatus, record.newest, NULL, TEXT),
    GBE_FIELD(GbeOffsiteStatus, record.bound, NULL, TEXT),
    GBE_FIELD(GbeOffsiteStatus, record.sha256, NULL, TEXT),
    GBE_FIELD(GbeOffsiteStatus, record.stored_sha256, NULL, TEXT),
    GBE_FIELD(GbeOffsiteStatus, trouble, "trouble", FLAG),
    {0},
};
const GbeFieldItems gbe_offsite_items = {offsite_fields, sizeof(GbeOffsiteStatus)};

const GbeField gbe_rehearsal_fields[] = {
    GBE_FIELD_SET(GbeRehearsal, deployment.id, "deployment", TEXT),
    GBE_FIELD(GbeRehearsal, deployment.handle, NULL, TEXT),
    GBE_FIELD_OF(GbeRehearsal, result, "result", WORD, &gbe_rehearsal_words, GBE_FIELD_ALWAYS),
    GBE_FIELD(GbeRehearsal, reason, "reason", TEXT),
    GBE_FIELD(GbeRehearsal, from, "from", TEXT),
    GBE_FIELD(GbeRehearsal, to, "to", TEXT),
    GBE_FIELD(GbeRehearsal, duration_usec, "duration", SECONDS),
    GBE_FIELD(GbeRehearsal, at, "at", KNOWN),
    GBE_FIELD(GbeRehearsal, goes_back, "goes_back", TRI),
    GBE_FIELD(GbeRehearsal, going_back, "goes_back_reason", TEXT),
    GBE_FIELD(GbeRehearsal, locked, "locked", FLAG),
    {0},
};
const GbeFieldItems gbe_rehearsal_items = {gbe_rehearsal_fields, sizeof(GbeRehearsal)};

/* ---- periodic backups ---- */

bool
gbe_periodic_load(GbeApp *app, GbePeriodic *ret_periodic)
{
	g_autoptr(JsonObject) object = NULL;

	if (app->config->backup.schedule == NULL || app->state_fd < 0 ||
	    !gbe_state_read(app, GBE_STATE_PERIODIC, false, &object, NULL))
		return false;
	gbe_periodic_read(object, ret_periodic);
	return true;
}

/* The timer starts and stops with etcd's service. A timer never elapses if systemd rejected it (an unknown time
 * zone), or if a person stopped it. */
static bool
timer_is_off(const GbeApp *app, const GbeHealthLook *look)
{
	GbeUnitState state = {0};
	bool off;

	if (app->below_root || look == NULL || look->facts->service != GBE_SERVICE_RUNNING ||
	    !gbe_unit_query(TIMER, &state, NULL))
		return false;
	off = g_strcmp0(state.active_state, "active") != 0;
	gbe_unit_state_clear(&state);
	return off;
}

char *
gbe_periodic_trouble(GbeApp *app, const GbeHealthLook *look)
{
	g_auto(GbePeriodic) periodic = {0};
	const char *never;

	if (!gbe_periodic_load(app, &periodic))
		return NULL;
	never = periodic.succeeded < 0 ? ", nor any before" : "";
	if (gbe_periodic_is_overdue(&periodic))
		return g_strdup_printf(
		    "the periodic backup of etcd that was due was not taken%s: %s", never,
		    periodic.reason != NULL ? periodic.reason : "no reason recorded");
	if (timer_is_off(app, look))
		return g_strdup("no periodic backup of etcd is taken: " TIMER
				" does not run (`systemctl status " TIMER
				"`; has [backup] schedule changed since "
				"`systemctl daemon-reload`?)");
	return NULL;
}

GbePeriodicStatus *
gbe_periodic_status(GbeApp *app, const GbeHealthLook *look)
{
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	g_autofree char *trouble = gbe_periodic_trouble(app, look);
	GbePeriodicStatus *status;

	if (app->config->backup.schedule == NULL)
		return NULL;
	status = gbe_fields_new(&gbe_periodic_items);
	if (!gbe_periodic_load(app, &status->record))
		gbe_periodic_read(NULL, &status->record);
	status->schedule = g_strdup(app->config->backup.schedule);
	status->result = g_strdup(gbe_periodic_result_to_string(status->record.result));
	if (status->record.succeeded >= 0 && now >= status->record.succeeded)
		status->age = now - status->record.succeeded;
	status->overdue = trouble != NULL;
	return status;
}

/* ---- the store ---- */

/* A push that came through says nothing of those that wait: the newest of them that failed counts then. */
static void
take_failed(GbeApp *app, GbeOffsite *offsite)
{
	g_autoptr(GPtrArray) all = gbe_history_waiting(app);

	for (guint i = all->len; i > 0 && offsite->failed_why == NULL; i--) {
		const GbeWaiting *waiting = all->pdata[i - 1];

		if (waiting->failed == NULL)
			continue;
		offsite->failed_why = g_strdup(waiting->failed);
		offsite->failed_at = waiting->failed_at;
	}
}

bool
gbe_offsite_load(GbeApp *app, GbeOffsite *ret_offsite)
{
	g_autofree char *store = gbe_history_configured(app);

	if (store == NULL || app->state_fd < 0)
		return false;
	gbe_history_read(app, store, ret_offsite);
	take_failed(app, ret_offsite);
	return true;
}

static char *
how_long(gint64 since, gint64 now)
{
	return now >= since ? gbe_duration_to_text((guint64)(now - since))
			    : g_strdup("a time that is not known (the clock was ahead then)");
}

/* An older push may be proved again and again, while nothing newer gets off the device. */
static char *
waits_too_long(GbeApp *app, const GbeOffsite *offsite, gint64 now)
{
	g_autoptr(GPtrArray) waiting = gbe_history_waiting(app);
	guint64 warn = app->config->store.prove_warn;
	g_autofree char *age = NULL;

	if (waiting->len == 0 || !gbe_offsite_is_too_old(offsite->pushed_at, warn, now))
		return NULL;
	age = how_long(offsite->pushed_at, now);
	return g_strdup_printf("no snapshot got off the device for %s%s%s; `greenboot-etcd store "
			       "send` tries again",
			       age, offsite->failed_why != NULL ? ": " : "",
			       offsite->failed_why != NULL ? offsite->failed_why : "");
}

/* Proofs are expected from the first push on, if they are made automatically. */
char *
gbe_offsite_trouble(GbeApp *app)
{
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	g_auto(GbeOffsite) offsite = {0};
	g_autofree char *age = NULL;
	char *waits;

	if (!gbe_offsite_load(app, &offsite))
		return NULL;
	if (offsite.damaged != NULL)
		return g_strdup_printf("snapshot %s off the device is damaged: %s; `greenboot-etcd "
				       "store push` makes a new one",
				       offsite.damaged, offsite.damaged_why);
	waits = waits_too_long(app, &offsite, now);
	if (waits != NULL)
		return waits;
	if ((app->config->store.schedule == NULL && app->config->store.url == NULL) ||
	    app->config->store.prove == NULL ||
	    !gbe_offsite_is_overdue(&offsite, app->config->store.prove_warn, now))
		return NULL;
	age = how_long(gbe_offsite_since(&offsite), now);
	return g_strdup_printf("no snapshot off the device was proved for %s%s%s; `greenboot-etcd "
			       "store verify` does it",
			       age, offsite.failed_why != NULL ? ": " : "",
			       offsite.failed_why != NULL ? offsite.failed_why : "");
}

GbeOffsiteStatus *
gbe_offsite_status(GbeApp *app)
{
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	g_autoptr(GPtrArray) waiting = gbe_history_waiting(app);
	g_autofree char *trouble = gbe_offsite_trouble(app);
	GbeOffsiteStatus *status = gbe_fields_new(&gbe_offsite_items);
	GbeOffsite *record = &status->record;

	if (!gbe_offsite_load(app, record)) {
		gbe_fields_free(&gbe_offsite_items, status);
		return NULL;
	}
	status->store = gbe_history_configured(app);
	if (record->proved_at >= 0 && now >= record->proved_at)
		status->proved_age = now - record->proved_at;
	status->waiting = waiting->len;
	if (waiting->len > 0)
		status->waiting_newest =
		    g_strdup(((const GbeWaiting *)waiting->pdata[waiting->len - 1])->name);
	if (record->usec >= 0)
		status->duration_ms = record->usec / 1000;
	status->trouble = trouble != NULL;
	return status;
}

/* ---- rehearsals ---- */

bool
gbe_rehearsal_load(GbeApp *app, const GbeDeployments *deployments, GbeRehearsal *ret_rehearsal)
{
	g_autoptr(JsonObject) object = NULL;
	g_auto(GbeRehearsal) rehearsal = {{0}};
	const GbeListed *listed;

	if (app->state_fd < 0 || !gbe_state_read(app, GBE_STATE_REHEARSAL, false, &object, NULL) ||
	    object == NULL)
		return false;
	gbe_rehearsal_read(object, &rehearsal);
	listed = gbe_deployments_find(deployments, &rehearsal.deployment);
	if (listed == NULL || listed->booted || rehearsal.result == GBE_REHEARSAL_NONE)
		return false;
	*ret_rehearsal = rehearsal;
	rehearsal = (GbeRehearsal){{0}};
	return true;
}

GbeRehearsal *
gbe_rehearsal_status(GbeApp *app, const GbeDeployments *deployments)
{
	GbeRehearsal *rehearsal = gbe_fields_new(&gbe_rehearsal_items);

	if (gbe_rehearsal_load(app, deployments, rehearsal))
		return rehearsal;
	gbe_fields_free(&gbe_rehearsal_items, rehearsal);
	return NULL;
}

char *
gbe_rehearsal_trouble(const GbeRehearsal *rehearsal)
{
	if (rehearsal->result != GBE_REHEARSAL_FAILED)
		return NULL;
	return g_strdup_printf("the etcd of the update %s does not work on today's data: %s%s",
			       rehearsal->deployment.id, rehearsal->reason,
			       rehearsal->locked
				   ? "; a reboot does not take it, `rm "
				     "/run/ostree/staged-deployment-locked` lifts that"
				   : "");
}
