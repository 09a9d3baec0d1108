/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/boot/boot.h"

#include "app/boot/supervise.h"
#include "app/health/look.h"
#include "app/health/verdict.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "sys/child.h"
#include "sys/deployment/greenboot.h"
#include "sys/systemd/events.h"

/* The pause between two questions: the first and the longest. */
#define PAUSE_MIN_USEC (G_USEC_PER_SEC / 5)
#define PAUSE_MAX_USEC (2 * G_USEC_PER_SEC)
/* GBE_PATIENCE_SOME and _MORE. */
#define SOME_USEC (30 * G_USEC_PER_SEC)
#define EXTEND_USEC (30 * G_USEC_PER_SEC)
#define PROGRESS_USEC (30 * G_USEC_PER_SEC)
/* The time that the supervisor allows after the deadline. */
#define GRACE_SECONDS 30

/* greenboot 0.15 shows only critical lines in its status. */
#define PREFIX_SHOWN 2
#define PREFIX_INFO 6

typedef struct {
	GbeApp *app;
	GbeDeployment booted;
	GbeGreenboot *greenboot;
	GbeHealthLook *look;
	gint64 began; /* monotonic microseconds, like the next three */
	gint64 deadline;
	gint64 latest;	     /* the latest possible deadline */
	gint64 untold_since; /* 0: the health can be told */
	gint64 said;	     /* when the journal last said what is waited for */
	const char *cause;   /* the cause that the journal named */
} Gate;

/* True: waiting is over or useless. Extends the deadline while etcd is working and will recover. */
static bool
is_wait_over(Gate *gate, gint64 now, gint64 pause)
{
	const GbeHealthReport *report = gate->look->report;
	gint64 more = MIN(now + EXTEND_USEC, gate->latest);

	if (report->patience == GBE_PATIENCE_NONE)
		return true;
	if (report->patience == GBE_PATIENCE_MORE && more > gate->deadline) {
		gate->deadline = more;
		gbe_supervise_extend(gate->app,
				     (guint)((more - now) / G_USEC_PER_SEC) + GRACE_SECONDS);
	}
	if (report->patience != GBE_PATIENCE_SOME)
		gate->untold_since = 0;
	else if (gate->untold_since == 0)
		gate->untold_since = now;
	return now + pause >= gate->deadline ||
	       (gate->untold_since != 0 && now - gate->untold_since > SOME_USEC);
}

/* Waits until etcd is healthy, until the deadline, or until waiting is useless. Asks once at least. */
static void
wait_until_healthy(Gate *gate)
{
	gint64 request_usec = (gint64)gate->app->config->health.request_timeout * G_USEC_PER_SEC;
	gint64 pause = PAUSE_MIN_USEC;

	for (;;) {
		gint64 now = g_get_monotonic_time();
		gint64 left = MAX(gate->deadline - now, G_USEC_PER_SEC);
		const GbeHealthReport *report;

		gbe_health_look_now(gate->look, (guint)(MIN(left, request_usec) / 1000));
		(void)gbe_app_progress(1, gate->app);
		now = g_get_monotonic_time();
		if (is_wait_over(gate, now, pause))
			return;
		report = gate->look->report;
		/* Readers of the journal learn that the check is waiting, and for what. */
		if (gate->cause != report->cause || now - gate->said >= PROGRESS_USEC) {
			gate->cause = report->cause;
			gate->said = now;
			gbe_note("waiting, for %" G_GINT64_FORMAT " s more at most: %s",
				 MAX(gate->deadline - now, 0) / G_USEC_PER_SEC, report->reason);
		}
		g_usleep((gulong)pause);
		pause = MIN(pause * 2, PAUSE_MAX_USEC);
	}
}

/* Changes the run's record if the data is this run's; otherwise it only notes the reason. */
static bool
change_run_record(Gate *gate, const GbeFacts *facts, bool ended, GError **error)
{
	g_autofree char *why = NULL;
	const GbeTakeOver *own = gbe_situation_own(facts, &why);
	g_autoptr(GbeRunRecord) after = NULL;

	if (own == NULL) {
		gbe_note("not recorded: %s", why);
		return true;
	}
	after = gbe_verdict_record(facts, own);
	if (after->verdict == GBE_VERDICT_NONE)
		after->verdict = GBE_VERDICT_JUDGING;
	if (ended)
		gbe_verdict_note_health(after, gate->look->facts, gate->look->report);
	return gbe_state_judge_run(gate->app, gbe_facts_run(facts, own->sequence), after, error);
}

/* Records at the start that the run is judged, and at the end the result. Does not wait long for another holder
 * of the lock: the check has its own time limit, and its answer is valid without the record. A failed record does not
 * make etcd unhealthy. */
static void
record_in_ledger(Gate *gate, bool ended)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GError) busy = NULL;
	g_autoptr(GError) error = NULL;
	bool ok;

	if (!gbe_app_lock(gate->app, "health", GBE_WAIT_GATE, &busy))
		gbe_note("not recorded: %s", busy->message);
	ok = (gate->app->lock == NULL || gbe_verdict_note_use(gate->app, &error)) &&
	     gbe_verdict_look(gate->app, &gate->booted, &facts, &error);
	if (ok && !ended)
		gbe_health_look_expect(gate->look, facts);
	if (ok && gate->app->lock != NULL)
		ok = change_run_record(gate, facts, ended, &error);
	gbe_app_unlock(gate->app);
	if (!ok || GBE_FAULT("health-recorded", &error))
		gbe_note("not recorded: %s", error->message);
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
	/* The time is of another clock, or in the future: this boot's is not known. */
	if (since <= 0 || since > now)
		since = now;
	gate->deadline = MAX(since + (gint64)seconds * G_USEC_PER_SEC,
			     now + (gint64)config->health.request_timeout * G_USEC_PER_SEC);
	gate->latest = gate->deadline + (gint64)seconds * G_USEC_PER_SEC;
	gbe_supervise_extend(gate->app,
			     (guint)((gate->deadline - now) / G_USEC_PER_SEC) + GRACE_SECONDS);
}

static int
run_check(Gate *gate)
{
	const char *writable[] = {GBE_STATE_DIR, GBE_RUN_DIR, "/run/motd.d", NULL, NULL};
	g_autoptr(JsonObject) done = NULL;
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {0};
	const GbeHealthReport *report;

	if (!gbe_verdict_configure(gate->app, &gate->booted)) {
		gbe_note("off: [etcd] service is empty");
		return 0;
	}
	/* Greenboot's service has no sandbox. The nonce is written into the data directory if prerun found no
	 * directory. */
	writable[3] = gate->app->config->etcd.data_dir;
	if (!gbe_confine(gate->app->root_fd, writable, &error))
		gbe_note("not confined: %s", error->message);
	gate->greenboot = gbe_greenboot_load(gate->app->root_fd);
	gate->look = gbe_health_look_new(gate->app);
	record_in_ledger(gate, false);
	done = gbe_prerun_done_read(gate->app);
	set_deadline(gate, done);
	wait_until_healthy(gate);
	record_in_ledger(gate, true);
	report = gate->look->report;
	fields.deployment = gate->booted.id;
	fields.reason = report->reason;
	fields.duration_usec = g_get_monotonic_time() - gate->began;
	if (gate->greenboot->flavour == GBE_GREENBOOT_SHELL)
		gbe_events_set_prefix(report->health == GBE_HEALTH_HEALTHY ? PREFIX_INFO
									   : PREFIX_SHOWN);
	gbe_verdict_say_health(report, &fields);
	return report->health == GBE_HEALTH_UNHEALTHY ? 1 : 0;
}

static void
gate_clear(Gate *gate)
{
	gbe_deployment_clear(&gate->booted);
	gbe_greenboot_free(gate->greenboot);
	gbe_health_look_free(gate->look);
}

int
gbe_health_run(GbeApp *app)
{
	Gate gate = {.app = app, .began = g_get_monotonic_time()};
	int status = run_check(&gate);

	gate_clear(&gate);
	return status;
}

void
gbe_health_ask(GbeApp *app, guint seconds, GbeRunRecord *record)
{
	Gate gate = {.app = app, .look = gbe_health_look_new(app)};

	gbe_health_look_expect_own(gate.look);
	gate.deadline = gate.latest = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
	wait_until_healthy(&gate);
	gbe_verdict_note_health(record, gate.look->facts, gate.look->report);
	gate_clear(&gate);
}
