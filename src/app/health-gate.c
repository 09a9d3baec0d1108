/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/health-gate.h"

#include "app/state.h"
#include "app/status.h"
#include "app/supervise.h"
#include "app/use-cases.h"
#include "app/verdict.h"
#include "base/fault.h"
#include "core/record.h"
#include "core/space.h"
#include "fs/open.h"
#include "sys/events.h"
#include "sys/units.h"

#define EXIT_UNHEALTHY 1

#define LOCK_WAIT_MS 5000
#define DONE_MAX (64 * 1024)
/* Between two questions, at first and at most. */
#define PAUSE_MIN_USEC (G_USEC_PER_SEC / 5)
#define PAUSE_MAX_USEC (2 * G_USEC_PER_SEC)
/* A certificate that is not trusted or an endpoint that is not etcd's does not mend itself. */
#define CANNOT_TELL_USEC (30 * G_USEC_PER_SEC)
/* What the supervisor allows beyond the deadline. */
#define GRACE_SECONDS 30

/* greenboot 0.15 shows what is critical, and nothing else, in its status. */
#define PREFIX_SHOWN 2
#define PREFIX_INFO 6

typedef struct {
	GbeApp *app;
	GbeDeployment booted;
	GbeGreenboot *greenboot;
	gboolean on_trial;
	gint64 began; /* monotonic microseconds, as the deadline */
	gint64 deadline;
	GbeHealth health;
	char *reason;
	char *version;
} Gate;

static void
conclude(Gate *gate, GbeHealth health, const char *reason)
{
	gate->health = health;
	g_free(gate->reason);
	gate->reason = g_strdup(reason);
}

/* A database at its quota is no fault of the deployment; the configuration says what it counts as. */
static void
conclude_probe(Gate *gate, const GbeProbe *probe)
{
	GbeHealth health = probe->health;

	if (probe->no_space && gate->app->config->health.on_nospace == GBE_NOSPACE_CANNOT_TELL)
		health = GBE_HEALTH_CANNOT_TELL;
	if (probe->no_space && gate->app->config->health.on_nospace == GBE_NOSPACE_HEALTHY)
		health = GBE_HEALTH_HEALTHY;
	conclude(gate, health, probe->reason);
	if (probe->version != NULL) {
		g_free(gate->version);
		gate->version = g_strdup(probe->version);
	}
}

/* Until etcd is healthy, or the deadline, or until waiting is of no use. Asks once at least. */
static void
wait_until_healthy(Gate *gate)
{
	gint64 request_usec = (gint64)gate->app->config->health.request_timeout * G_USEC_PER_SEC;
	gint64 pause = PAUSE_MIN_USEC;
	gint64 untold_since = 0;

	for (;;) {
		gint64 now = g_get_monotonic_time();
		gint64 left = MAX(gate->deadline - now, G_USEC_PER_SEC);
		GbeProbe probe = {0};
		gboolean no_space;

		gbe_status_probe(gate->app, (guint)(MIN(left, request_usec) / 1000), &probe);
		conclude_probe(gate, &probe);
		no_space = probe.no_space;
		gbe_probe_clear(&probe);
		(void)gbe_app_progress(1, gate->app);
		now = g_get_monotonic_time();
		if (gate->health == GBE_HEALTH_HEALTHY || now + pause >= gate->deadline)
			return;
		if (gate->health != GBE_HEALTH_CANNOT_TELL)
			untold_since = 0;
		else if (no_space)
			return;
		else if (untold_since == 0)
			untold_since = now;
		else if (now - untold_since > CANNOT_TELL_USEC)
			return;
		g_usleep((gulong)pause);
		pause = MIN(pause * 2, PAUSE_MAX_USEC);
	}
}

/* Changes the run's record, if the data is this run's; the reason why not is only worth a note. */
static bool
change_record(Gate *gate, const GbeFacts *facts, gboolean ended, GError **error)
{
	g_autofree char *why = NULL;
	const GbeStamp *own = gbe_verdict_own(facts, &why);
	g_autoptr(GbeRunRecord) after = NULL;

	if (own == NULL) {
		gbe_note("not recorded: %s", why);
		return true;
	}
	after = gbe_verdict_record(facts, own);
	if (after->verdict == GBE_VERDICT_NONE)
		after->verdict = GBE_VERDICT_JUDGING;
	if (ended) {
		after->health = gate->health;
		if (!after->by_hand) {
			g_free(after->reason);
			after->reason = g_strdup(gate->reason);
		}
		if (gate->version != NULL) {
			g_free(after->etcd_version);
			after->etcd_version = g_strdup(gate->version);
		}
	}
	return gbe_state_judge_run(gate->app, gbe_facts_run(facts, own->sequence), after, error);
}

/* At the start that the run is judged, at the end what came of it. Whoever holds the lock for longer is
 * not waited for: the check has its own time, and its answer stands without the record. */
static bool
record(Gate *gate, gboolean ended, GError **error)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GError) busy = NULL;
	bool ok;

	if (!gbe_app_lock(gate->app, "health", LOCK_WAIT_MS, &busy))
		gbe_note("not recorded: %s", busy->message);
	ok = (gate->app->lock == NULL || gbe_verdict_adopt_fresh_stamp(gate->app, error)) &&
	     gbe_verdict_look(gate->app, &gate->booted, &facts, error);
	if (ok && !ended)
		gate->on_trial = gbe_verdict_on_trial(facts);
	if (ok && gate->app->lock != NULL)
		ok = change_record(gate, facts, ended, error);
	gbe_app_unlock(gate->app);
	return ok && !GBE_FAULT("health-recorded", error);
}

/* Is the service one that is to run here at all? */
static bool
is_wanted(Gate *gate)
{
	const char *unit = gate->app->config->etcd.service;
	g_autofree char *reason = NULL;
	GbeUnitState state = {NULL};

	if (gate->app->below_root || !gbe_unit_query(unit, &state, NULL))
		return true;
	if (g_strcmp0(state.load_state, "not-found") == 0)
		reason = g_strdup_printf("there is no %s", unit);
	else if (g_strcmp0(state.load_state, "masked") == 0)
		reason = g_strdup_printf("%s is masked", unit);
	else if (g_strcmp0(state.unit_file_state, "disabled") == 0 &&
		 g_strcmp0(state.active_state, "inactive") == 0)
		reason = g_strdup_printf("%s is not enabled", unit);
	gbe_unit_state_clear(&state);
	if (reason != NULL)
		conclude(gate, GBE_HEALTH_CANNOT_TELL, reason);
	return reason == NULL;
}

/* What prerun left: when it ended, and whether it held etcd back. */
static JsonObject *
read_done(GbeApp *app)
{
	g_autofree char *bytes = NULL;
	JsonObject *object = NULL;
	gsize size;

	if (!gbe_read_in_root(app->root_fd, GBE_RUN_DIR "/" GBE_PRERUN_DONE, DONE_MAX, &bytes,
			      &size, NULL) ||
	    !gbe_json_parse_object(bytes, size, GBE_PRERUN_DONE, &object, NULL))
		return NULL;
	return object;
}

/* An OS rollback mends it where the deployment is on trial, and only there. */
static bool
was_held(Gate *gate, JsonObject *done)
{
	const char *reason;

	if (done == NULL || !gbe_json_bool(done, "held", FALSE))
		return false;
	reason = gbe_json_string(done, "reason", NULL);
	conclude(gate, gate->on_trial ? GBE_HEALTH_UNHEALTHY : GBE_HEALTH_CANNOT_TELL,
		 reason != NULL ? reason : "greenboot-etcd holds etcd back");
	return true;
}

static void
set_deadline(Gate *gate, JsonObject *done)
{
	const GbeConfig *config = gate->app->config;
	gint64 now = g_get_monotonic_time();
	gint64 since = done != NULL ? gbe_json_int(done, "monotonic_usec", 0) : 0;
	guint64 seconds = config->health.timeout;

	if (config->health.timeout_scale && gate->greenboot->attempt > 1)
		seconds *= gate->greenboot->attempt;
	/* Another clock's, or from the future: this boot's is not known. */
	if (since <= 0 || since > now)
		since = now;
	gate->deadline = MAX(since + (gint64)seconds * G_USEC_PER_SEC,
			     now + (gint64)config->health.request_timeout * G_USEC_PER_SEC);
	gbe_supervise_extend(gate->app,
			     (guint)((gate->deadline - now) / G_USEC_PER_SEC) + GRACE_SECONDS);
}

static int
say(Gate *gate)
{
	GbeEventFields fields = {.deployment = gate->booted.id, .reason = gate->reason};
	int status = 0;

	fields.duration_usec = g_get_monotonic_time() - gate->began;
	if (gate->greenboot->flavour == GBE_GREENBOOT_SHELL)
		gbe_events_set_prefix(gate->health == GBE_HEALTH_HEALTHY ? PREFIX_INFO
									 : PREFIX_SHOWN);
	switch (gate->health) {
	case GBE_HEALTH_HEALTHY:
		gbe_event_healthy(&fields);
		break;
	case GBE_HEALTH_UNHEALTHY:
		gbe_event_unhealthy(&fields);
		status = EXIT_UNHEALTHY;
		break;
	case GBE_HEALTH_CANNOT_TELL:
	case GBE_HEALTH_NOT_ASKED:
		gbe_event_cannot_tell(&fields);
		break;
	}
	return status;
}

static int
run(Gate *gate)
{
	g_autoptr(JsonObject) done = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_verdict_configure(gate->app, &gate->booted)) {
		gbe_note("off: [etcd] service is empty");
		return 0;
	}
	gate->greenboot = gbe_greenboot_load(gate->app->root_fd);
	/* What cannot be recorded does not make etcd ill. */
	if (!record(gate, FALSE, &error))
		gbe_note("not recorded: %s", error->message);
	g_clear_error(&error);
	done = read_done(gate->app);
	if (is_wanted(gate) && !was_held(gate, done)) {
		set_deadline(gate, done);
		wait_until_healthy(gate);
	}
	if (!record(gate, TRUE, &error))
		gbe_note("not recorded: %s", error->message);
	return say(gate);
}

static void
gate_clear(Gate *gate)
{
	gbe_deployment_clear(&gate->booted);
	gbe_greenboot_free(gate->greenboot);
	g_free(gate->reason);
	g_free(gate->version);
}

int
gbe_health_run(GbeApp *app)
{
	Gate gate = {.app = app, .began = g_get_monotonic_time()};
	int status = run(&gate);

	gate_clear(&gate);
	return status;
}

char *
gbe_health_ask(GbeApp *app, guint seconds)
{
	Gate gate = {.app = app};
	g_autoptr(JsonObject) object = json_object_new();
	char *text;

	(void)gbe_verdict_configure(app, &gate.booted);
	gate.deadline = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
	wait_until_healthy(&gate);
	json_object_set_string_member(object, "health", gbe_health_to_string(gate.health));
	gbe_json_set_string(object, "reason", gate.reason);
	gbe_json_set_string(object, "version", gate.version);
	text = gbe_json_print_object(object);
	gate_clear(&gate);
	return text;
}
