/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * health waits until etcd is healthy, or until the deadline, or until waiting is useless.
 *
 * green and red first write the verdict durably, since a reboot may follow at once. Then they do the work that follows
 * from it, as far as possible.
 *
 * used records once, during a run, that the run has used the data for longer than [restore] trial-limit. After a power
 * cut there is no closing record, but this record still ends the trial of a system without a judge.
 */
#include "app/boot/boot.h"

#include <time.h>

#include "app/backup/backup.h"
#include "app/boot/supervise.h"
#include "app/health/look.h"
#include "app/health/verdict.h"
#include "app/report/status.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "sys/child.h"
#include "sys/deployment/greenboot.h"
#include "sys/systemd/events.h"

#define ASK_SECONDS 10

/* greenboot 0.15 shows these lines of green.d in its status. */
#define PREFIX_SHOWN 5

/* The pause between two questions: the first and the longest. */
#define PAUSE_MIN_USEC (G_USEC_PER_SEC / 5)
#define PAUSE_MAX_USEC (2 * G_USEC_PER_SEC)
/* GBE_PATIENCE_SOME and _MORE. */
#define SOME_USEC (30 * G_USEC_PER_SEC)
#define EXTEND_USEC (30 * G_USEC_PER_SEC)
#define PROGRESS_USEC (30 * G_USEC_PER_SEC)
/* The time that the supervisor allows after the deadline. */
#define GRACE_SECONDS 30
/* greenboot 0.15 shows only critical lines of a check in its status. */
#define HEALTH_PREFIX_SHOWN 2
#define HEALTH_PREFIX_INFO 6

/* ---- health ---- */

typedef struct {
	GbeApp *app;
	GbeDeployment booted;
	GbeGreenboot *greenboot;
	GbeHealthLook *look;
	gint64 began; /* monotonic microseconds, like the next three */
	gint64 deadline;
	gint64 latest;	      /* the latest possible deadline */
	gint64 unknown_since; /* 0: the health is known */
	gint64 said;	      /* when the journal last named the cause of the wait */
	const char *cause;    /* the cause that the journal named */
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
		gate->unknown_since = 0;
	else if (gate->unknown_since == 0)
		gate->unknown_since = now;
	return now + pause >= gate->deadline ||
	       (gate->unknown_since != 0 && now - gate->unknown_since > SOME_USEC);
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
		gbe_events_set_prefix(report->health == GBE_HEALTH_HEALTHY ? HEALTH_PREFIX_INFO
									   : HEALTH_PREFIX_SHOWN);
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

/* ---- green, red, used ---- */

typedef struct Judge {
	GbeApp *app;
	GbeVerdict verdict;
	GbeDeployment booted;
	GbeRunRecord *record; /* the record as it was written; NULL: the data is not this run's */
	bool (*complete)(struct Judge *judge, GError **error); /* asks etcd; NULL: not asked */
} Judge;

static void
say_verdict(const Judge *judge, const char *reason)
{
	GbeEventFields fields = {.action = gbe_verdict_to_string(judge->verdict),
				 .deployment = judge->booted.id,
				 .reason = reason};

	if (judge->record != NULL)
		fields.run = judge->record->run;
	gbe_event_verdict(&fields);
}

/* Writes the verdict for the run that has the data. */
static bool
write_verdict(Judge *judge, GError **error)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbeRunRecord) record = NULL;
	g_autofree char *why = NULL;
	g_autofree char *reason = NULL;
	const GbeTakeOver *own;

	gbe_verdict_finish_restore(judge->app);
	if (!gbe_verdict_note_use(judge->app, error) ||
	    !gbe_verdict_look(judge->app, &judge->booted, &facts, error))
		return false;
	own = gbe_situation_own(facts, &why);
	if (own == NULL) {
		reason = g_strdup_printf("kept as evidence only: %s", why);
		say_verdict(judge, reason);
		return true;
	}
	record = gbe_verdict_record(facts, own);
	record->verdict = judge->verdict;
	record->by_hand = false;
	if (!gbe_state_judge_run(judge->app, gbe_facts_run(facts, own->sequence), record, error))
		return false;
	judge->record = g_steal_pointer(&record);
	return !GBE_FAULT("verdict-judged", error);
}

/* When health did not run, or did not finish, etcd is looked at once, now. */
static bool
complete_health(Judge *judge, GError **error)
{
	g_autoptr(GbeRunRecord) before = gbe_run_record_copy(judge->record);
	Gate gate = {.app = judge->app, .look = gbe_health_look_new(judge->app)};

	gbe_health_look_expect_own(gate.look);
	gate.deadline = gate.latest = g_get_monotonic_time() + ASK_SECONDS * G_USEC_PER_SEC;
	wait_until_healthy(&gate);
	gbe_verdict_note_health(judge->record, gate.look->facts, gate.look->report);
	gate_clear(&gate);
	return gbe_state_judge_run(judge->app, before, judge->record, error);
}

static bool
judge_run(Judge *judge, GError **error)
{
	GbeObserveOptions options = {.repair = true};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GError) later = NULL;

	if (!write_verdict(judge, error))
		return false;
	if (judge->record == NULL)
		return true;
	if (judge->complete != NULL && judge->record->health == GBE_HEALTH_NOT_ASKED &&
	    !judge->complete(judge, &later)) {
		gbe_note("etcd's health is not known: %s", later->message);
		g_clear_error(&later);
	}
	say_verdict(judge,
		    judge->record->health == GBE_HEALTH_HEALTHY ? NULL : judge->record->reason);
	/* Grades, retention, status.json. The verdict stands; the next start repeats the rest. */
	if (!gbe_observe(judge->app, &options, &observed, &later)) {
		gbe_note("%s", later->message);
		return true;
	}
	gbe_verdict_regrade(observed, judge->record);
	/* Retention waits while an operation is open: its trees would look like leftovers. */
	if (judge->verdict == GBE_VERDICT_GREEN && observed->facts->intent == NULL &&
	    observed->facts->intent_why == NULL)
		(void)gbe_retention_run(judge->app, observed, NULL, NULL, NULL);
	gbe_status_write(judge->app, observed, NULL, NULL);
	return true;
}

static int
run_judge(Judge judge, const char *operation)
{
	GbeApp *app = judge.app;
	g_autoptr(GError) error = NULL;
	bool ok = true;

	if (gbe_verdict_configure(app, &judge.booted)) {
		g_autoptr(GbeGreenboot) greenboot = gbe_greenboot_load(app->root_fd);

		if (judge.verdict == GBE_VERDICT_GREEN && greenboot->flavour == GBE_GREENBOOT_SHELL)
			gbe_events_set_prefix(PREFIX_SHOWN);
		ok = gbe_app_lock(app, operation, GBE_WAIT_VERDICT, &error) &&
		     judge_run(&judge, &error);
		gbe_app_unlock(app);
	}
	if (!ok) {
		g_autofree char *reason = g_strdup_printf("not recorded: %s", error->message);

		say_verdict(&judge, reason);
	}
	gbe_run_record_free(judge.record);
	gbe_deployment_clear(&judge.booted);
	return ok ? 0 : 1;
}

int
gbe_green_run(GbeApp *app)
{
	return run_judge(
	    (Judge){.app = app, .verdict = GBE_VERDICT_GREEN, .complete = complete_health},
	    "green");
}

int
gbe_red_run(GbeApp *app)
{
	return run_judge((Judge){.app = app, .verdict = GBE_VERDICT_RED}, "red");
}

static bool
note_used(GbeApp *app, const GbeDeployment *booted, GError **error)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autofree char *why = NULL;
	const GbeTakeOver *own;
	struct timespec uptime;

	gbe_verdict_finish_restore(app);
	if (!gbe_verdict_note_use(app, error) || !gbe_verdict_look(app, booted, &facts, error))
		return false;
	own = gbe_situation_own(facts, &why);
	if (own == NULL) {
		gbe_note("the use of the data is not recorded: %s", why);
		return true;
	}
	/* A restore during the run restarts the time: the timer comes again. The clock counts suspended time, as the
	 * take-over does. */
	if (own->used_beyond || own->uptime < 0 || clock_gettime(CLOCK_BOOTTIME, &uptime) < 0 ||
	    uptime.tv_sec - own->uptime < (gint64)app->config->restore.trial_limit)
		return true;
	return gbe_state_note_used(app, own->sequence, error);
}

int
gbe_used_run(GbeApp *app)
{
	GbeDeployment booted = {0};
	g_autoptr(GError) error = NULL;
	bool ok = true;

	if (gbe_verdict_configure(app, &booted)) {
		ok = gbe_app_lock(app, "used", GBE_WAIT_UNIT, &error) &&
		     note_used(app, &booted, &error);
		gbe_app_unlock(app);
	}
	if (!ok)
		gbe_complain("the use of the data is not recorded: %s", error->message);
	gbe_deployment_clear(&booted);
	return ok ? 0 : 1;
}
