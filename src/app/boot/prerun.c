/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/backup.h"
#include "app/backup/recover.h"
#include "app/backup/restore.h"
#include "app/backup/settings.h"
#include "app/boot/boot.h"
#include "app/boot/supervise.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "app/state/ledger.h"
#include "app/state/state.h"
#include "base/error.h"
#include "base/fault.h"
#include "core/decide/decide.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <string.h>

/* Candidates that do not validate; then no further one is tried. */
#define REJECTED_MAX 3
/* Two requests, those candidates, and the decision without them; more rounds are a loop. */
#define MAX_ROUNDS (2 + REJECTED_MAX + 1)
/* How long another deployment's process may take to end, or a disk to come; and the first pause. */
#define WAIT_USEC (30 * G_USEC_PER_SEC)
#define PAUSE_USEC (200 * 1000)
#define PAUSE_MOST (2 * G_USEC_PER_SEC)
/* How long a failed restore is tried again, and the first pause. */
#define RETRY_USEC (30 * G_USEC_PER_SEC)
#define RETRY_PAUSE_USEC (100 * 1000)
#define IDLE_SECONDS 60

/* The worker cannot answer: the supervisor asks who owns the data. */
#define EXIT_ASK_SUPERVISOR 1

typedef enum {
	OUTCOME_DONE,
	OUTCOME_AGAIN, /* observe and decide once more: a request was dropped, or a candidate did not validate */
	OUTCOME_WAIT, /* try again in a moment: the data is open */
	OUTCOME_HELD, /* etcd must not start; *held says why, and the way back */
} Outcome;

/* ---- the plan is done action by action: each action defines the result of its failure ---- */

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	const GbePlan *plan;
	GbeTakeOver *take_over; /* the plan's, with the changes from the execution */
	Outcome outcome;
	char *rejected;
	GbeHeld *held;
} Execution;

static GbeEventFields
fields_of(const Execution *e, const GbeAction *action)
{
	const GbeFacts *facts = e->observed->facts;

	return (GbeEventFields){
	    .rule = gbe_rule_to_string(e->plan->rule),
	    .action = action != NULL ? gbe_action_to_string(action->kind) : NULL,
	    .backup = action != NULL ? action->name : NULL,
	    .deployment = facts->booted.id,
	    .from_deployment = facts->owner != NULL ? facts->owner->deployment.id : NULL,
	    .run = facts->run,
	    .reason = action != NULL ? action->reason : e->plan->reason,
	};
}

/* Records the last operation, for status. A failure to write the record does not change the result. */
static void
note_last(Execution *e, const GbeAction *action, const char *result, const char *reason,
	  gint64 duration_usec)
{
	GbeLastOperation last = {
	    .operation = g_strdup(gbe_action_to_string(action->kind)),
	    .result = g_strdup(result),
	    .rule = g_strdup(gbe_rule_to_string(e->plan->rule)),
	    .reason = g_strdup(reason),
	    .backup = g_strdup(action->name),
	    .run = g_strdup(e->observed->facts->run),
	    .started = e->observed->facts->now,
	    .duration_usec = duration_usec,
	};

	gbe_state_write_last(e->app, &last);
	gbe_last_operation_clear(&last);
}

static void
hold_etcd(Execution *e, const GbeAction *action, GbeHold kind, const char *why)
{
	GbeEventFields fields = fields_of(e, action);

	gbe_held_set(e->held, kind, why, gbe_hold_way(e->app, e->observed, kind));
	fields.reason = e->held->text;
	gbe_event_held_back(&fields);
	note_last(e, action, "held", e->held->text, 0);
	e->outcome = OUTCOME_HELD;
}

static void
hold_after(Execution *e, const GbeAction *action, GbeHold kind, const GError *error)
{
	g_autofree char *why = gbe_hold_why(kind, error);

	hold_etcd(e, action, kind, why);
}

/* The action says whether its failure holds etcd back. */
static void
report_failure(Execution *e, const GbeAction *action, const GError *error)
{
	GbeEventFields fields = fields_of(e, action);

	if (action->on_failure == GBE_FAILURE_HOLD) {
		hold_after(e, action, gbe_plan_failed_hold(action->kind, error), error);
		return;
	}
	fields.reason = error->message;
	if (action->kind == GBE_ACTION_RESTORE)
		gbe_event_restore_failed(&fields);
	else
		gbe_event_backup_failed(&fields);
	note_last(e, action, "failed", error->message, 0);
}

static bool
do_backup(Execution *e, const GbeAction *action)
{
	g_autoptr(GbeManifest) manifest = gbe_manifest_copy(action->manifest);
	GbeBackupOptions options = {.cow_only = action->cow_only};
	GbeEventFields fields = fields_of(e, action);
	g_autoptr(GError) error = NULL;
	GbeTiming timing = {0};

	if (gbe_backup_take(e->app, e->observed, manifest, &options, &timing, &error)) {
		fields.duration_usec = timing.total_usec;
		gbe_event_backed_up(&fields);
		gbe_state_note_entry(e->app, GBE_LEDGER_BACKUP, manifest, action->reason);
		note_last(e, action, "done", action->reason, timing.total_usec);
		return true;
	}
	/* A take-over must not name a backup that does not exist. */
	if (e->take_over != NULL)
		gbe_take_over_drop(e->take_over, action->name);
	if (action->cow_only && g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSUPPORTED)) {
		fields.reason = error->message;
		gbe_event_backup_skipped(&fields);
		return true;
	}
	report_failure(e, action, error);
	return e->outcome != OUTCOME_HELD;
}

/* The record is first, and durable: the nonce only helps when root moves the data. */
static bool
record_take_over(Execution *e, const GbeTakeOver *plan, GError **error)
{
	g_autoptr(GbeTakeOver) to = gbe_take_over_copy(plan);
	GbeData *data = e->observed->data;
	g_autoptr(GError) local = NULL;

	g_free(to->nonce);
	to->nonce = data->fd >= 0 ? gbe_ledger_nonce() : NULL;
	if (!gbe_state_take_over(e->app, to, GBE_WRITE_DURABLE, error) ||
	    GBE_FAULT("execute-taken-over", error))
		return false;
	if (data->fd >= 0 && !gbe_data_write_nonce_at(e->app, data->fd, to, &local))
		gbe_note("%s", local->message);
	return !GBE_FAULT("execute-nonce-written", error);
}

/* A busy disk or a process without resources may succeed in a moment; damage that was seen stays. */
static bool
try_restore(Execution *e, const GbeAction *action, GbeTiming *timing, bool *ret_half,
	    GError **error)
{
	const GbeAction *displace = gbe_plan_find(e->plan, GBE_ACTION_DISPLACE);
	GbeRestoreOptions options = {.rule = gbe_rule_to_string(e->plan->rule),
				     .force = e->plan->force,
				     .ret_half = ret_half};
	gint64 deadline = g_get_monotonic_time() + RETRY_USEC;

	for (gint64 pause = RETRY_PAUSE_USEC;; pause *= 2) {
		g_autoptr(GError) local = NULL;

		if (gbe_restore_run(
			e->app, e->observed, action->name, e->take_over, e->take_over->sequence,
			displace != NULL ? displace->manifest : NULL, &options, timing, &local))
			return true;
		if (g_get_monotonic_time() + pause > deadline ||
		    (!g_error_matches(local, GBE_ERROR, GBE_ERROR_CANNOT_TELL) &&
		     !g_error_matches(local, GBE_ERROR, GBE_ERROR_UNREADABLE) &&
		     !g_error_matches(local, GBE_ERROR, GBE_ERROR_NO_SPACE) &&
		     !g_error_matches(local, GBE_ERROR, GBE_ERROR_FAILED)))
			return gbe_pass(error, &local);
		g_debug("%s; tried again", local->message);
		g_usleep((gulong)pause);
		(void)gbe_app_progress(1, e->app);
	}
}

/* If etcd must have a record, it does not get the data. Else etcd writes to the data from here on, and the nonce of the
 * data's last owner must no longer name the data. */
static void
cannot_record(Execution *e, const GbeAction *action, const GError *error)
{
	GbeAction record = {.kind = GBE_ACTION_TAKE_OVER,
			    .reason = action->reason,
			    .on_failure =
				e->plan->must_record ? GBE_FAILURE_HOLD : GBE_FAILURE_REPORT};
	g_autoptr(GError) why = NULL;

	report_failure(e, &record, error);
	if (e->outcome != OUTCOME_HELD && !gbe_data_remove_nonce(e->observed->data, &why))
		gbe_note("%s", why->message);
}

static bool
do_restore(Execution *e, const GbeAction *action)
{
	const GbeAction *displace = gbe_plan_find(e->plan, GBE_ACTION_DISPLACE);
	GbeEventFields fields = fields_of(e, action);
	GbeEventFields decided = fields_of(e, NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) why = NULL;
	GbeTiming timing = {0};
	bool half = false;

	if (try_restore(e, action, &timing, &half, &error)) {
		fields.duration_usec = timing.total_usec;
		if (displace != NULL && displace->manifest->grade != GBE_GRADE_BAD)
			fields.displaced = displace->manifest->name;
		gbe_event_restored(&fields);
		note_last(e, action, "done", action->reason, timing.total_usec);
		return true;
	}
	/* The next decision is taken without this candidate. Only damage that was seen lasts until the next start. */
	if (g_error_matches(error, GBE_ERROR, GBE_ERROR_VERIFY_FAILED)) {
		decided.backup = action->name;
		decided.reason = error->message;
		gbe_event_candidate_bad(&decided);
		if (!gbe_damage_grade(e->app, e->observed, action->name, error->message, &why))
			gbe_note("%s", why->message);
		e->rejected = g_strdup(action->name);
		e->outcome = OUTCOME_AGAIN;
		return false;
	}
	if (half) {
		hold_after(e, action, GBE_HOLD_HALF, error);
		return false;
	}
	report_failure(e, action, error);
	/* After the exchange, the next start does the rest. */
	if (g_error_matches(error, GBE_ERROR, GBE_ERROR_PARTIAL) || e->outcome == OUTCOME_HELD)
		return false;
	/* The deployment keeps the present data: no later start restores the backup that was due now. */
	if (e->plan->instead == NULL)
		hold_after(e, action, GBE_HOLD_RESTORE, error);
	else if (record_take_over(e, e->plan->instead, &why))
		gbe_event_took_over(&decided);
	else
		cannot_record(e, action, why);
	return false;
}

/* True: continue with the next action. */
static bool
do_action(Execution *e, const GbeAction *action)
{
	GbeEventFields fields = fields_of(e, action);
	g_autoptr(GError) error = NULL;
	g_autofree char *same = NULL;

	switch (action->kind) {
	case GBE_ACTION_BACKUP:
		return do_backup(e, action);
	case GBE_ACTION_RESTORE:
		return do_restore(e, action);
	case GBE_ACTION_FRESH:
	case GBE_ACTION_TAKE_OVER:
		if (!record_take_over(e, e->take_over, &error)) {
			cannot_record(e, action, error);
			return e->outcome != OUTCOME_HELD;
		}
		if (action->kind == GBE_ACTION_FRESH)
			gbe_event_fresh(&fields);
		else
			gbe_event_took_over(&fields);
		return true;
	case GBE_ACTION_HOLD:
		hold_etcd(e, action, e->plan->hold_kind, action->reason);
		return false;
	case GBE_ACTION_GRADE:
		if (!gbe_store_write_manifest(e->observed->store, action->manifest, &error)) {
			gbe_note("grade of %s: %s", action->name, error->message);
			return true;
		}
		gbe_state_note_entry(e->app, GBE_LEDGER_GRADED, action->manifest, action->reason);
		gbe_event_graded(&fields);
		return true;
	case GBE_ACTION_KEEP:
		if (action->name != NULL)
			fields.reason = same =
			    g_strdup_printf("%s, %s", action->reason, action->name);
		gbe_event_backup_skipped(&fields);
		return true;
	case GBE_ACTION_DISPLACE: /* part of the restore */
	case GBE_ACTION_DELETE:	  /* app/backup/backup.h */
	default:
		return true;
	}
}

/* An impossible request is reported and dropped. */
static void
fail_request(GbeApp *app, GbeObserved *observed, const GbePlan *plan)
{
	Execution e = {.app = app, .observed = observed, .plan = plan};
	const GbeRequest *request = &observed->facts->request;
	const GbeAction asked = {.kind = GBE_ACTION_RESTORE, .name = request->name};
	GbeEventFields fields = fields_of(&e, NULL);
	g_autoptr(GError) error = NULL;

	if (!plan->drop_request)
		return;
	fields.backup = request->name;
	fields.reason = plan->request_failed;
	gbe_event_request_failed(&fields);
	note_last(&e, &asked, "failed", plan->request_failed, 0);
	/* The record of its end keeps the request from returning. */
	if (!(request->from_cmdline
		  ? gbe_state_note_cmdline(app, app->cmdline.restore, app->cmdline.rd_restore,
					   &error)
		  : gbe_state_end_request(app, "failed", plan->request_failed, &error)))
		gbe_note("request: %s", error->message);
}

/* *ret_rejected is newly allocated, or NULL when there is nothing to say. */
static Outcome
execute_plan(GbeApp *app, GbeObserved *observed, const GbePlan *plan, char **ret_rejected,
	     GbeHeld *ret_held)
{
	Execution e = {.app = app, .observed = observed, .plan = plan, .held = ret_held};
	GbeEventFields decided = fields_of(&e, NULL);
	g_autoptr(GError) error = NULL;

	e.take_over = plan->take_over != NULL ? gbe_take_over_copy(plan->take_over) : NULL;
	gbe_ledger_reserve(app, plan->last_sequence);
	gbe_event_decided(&decided);
	/* An impossible request is dropped first: it must not return. */
	fail_request(app, observed, plan);
	for (guint i = 0; i < plan->actions->len && !plan->again; i++)
		if (!do_action(&e, plan->actions->pdata[i]))
			break;
	if (plan->opened && !gbe_state_open(app, observed->facts->owner->sequence, &error)) {
		gbe_note("%s", error->message);
		g_clear_error(&error);
		if (!gbe_data_remove_nonce(observed->data, &error))
			gbe_note("%s", error->message);
	}
	if (plan->again && e.outcome == OUTCOME_DONE)
		e.outcome = OUTCOME_AGAIN;
	gbe_take_over_free(e.take_over);
	*ret_rejected = e.rejected;
	return e.outcome;
}

/* ---- the start ---- */

typedef struct {
	GbeApp *app;
	/* As the recovery opened them, if it changed nothing: the first observation takes them over. NULL: opened then. */
	GbeData *data;
	GbeStore *store;
	GbeObserved *observed; /* set once it could be observed */
	GHashTable *rejected;
	GbeHeld held;
	bool cannot_tell;  /* the work of this start is unknown */
	gint64 wait_since; /* monotonic; 0: nothing was waited for */
	gint64 pause;
	bool fell_back; /* the boot loader's default is another deployment */
	GbeDeployment booted;
	char *reason;
} Prerun;

/* The facts are unknown. Always false. */
static bool
give_up_start(Prerun *p, const char *action, const GError *error)
{
	gbe_event_start_failed(&(GbeEventFields){.action = action, .reason = error->message});
	p->cannot_tell = true;
	p->reason = g_strdup(error->message);
	return false;
}

/* The facts could not be observed. */
static void
hold_half_done(Prerun *p, const GError *error)
{
	const GbeHoldFacts facts = {.service = p->app->config->etcd.service};
	g_autofree char *why = gbe_hold_why(GBE_HOLD_HALF, error);

	gbe_held_set(&p->held, GBE_HOLD_HALF, why, gbe_hold_steps(GBE_HOLD_HALF, &facts));
	p->reason = g_strdup(p->held.text);
}

/* Finishes or undoes an interrupted operation. True: the decision may be made. */
static bool
recover_first(Prerun *p)
{
	g_auto(GbeRecovery) recovery = {0};
	g_autoptr(GError) error = NULL;
	GbeEventFields fields = {.action = "recover"};

	if (!gbe_data_open_any(p->app, &p->data, &error) ||
	    !gbe_store_open(p->app, p->data, false, &p->store, &error))
		return give_up_start(p, "recover", error);
	if (!gbe_recover(p->app, p->data, p->store, &recovery, &error)) {
		fields.reason = error->message;
		/* Holds etcd back from data that is half exchanged. Else the supervisor answers, and records its
		 * answer. */
		p->cannot_tell = !recovery.exchange_open;
		if (p->cannot_tell) {
			gbe_event_restore_failed(&fields);
			p->reason = g_strdup(error->message);
			return false;
		}
		hold_half_done(p, error);
		fields.reason = p->reason;
		gbe_event_held_back(&fields);
		gbe_state_note_undecided(p->app, "restore", true, p->reason);
		return false;
	}
	if (recovery.recovered || recovery.left_alone) {
		fields.reason = recovery.what;
		gbe_event_recovered(&fields);
	}
	if (recovery.left_alone)
		p->reason = g_strdup(recovery.what);
	if (recovery.recovered) {
		g_clear_pointer(&p->data, gbe_data_free);
		g_clear_pointer(&p->store, gbe_store_free);
	}
	return !recovery.left_alone;
}

static bool
may_wait(Prerun *p, const GbePlan *plan)
{
	gint64 now = g_get_monotonic_time();

	if (!plan->wait)
		return false;
	if (p->wait_since == 0) {
		p->wait_since = now;
		p->pause = PAUSE_USEC;
		gbe_note("waiting for at most %d s, as this may change: %s",
			 (int)(WAIT_USEC / G_USEC_PER_SEC), plan->reason);
	}
	if (now - p->wait_since > WAIT_USEC)
		return false;
	g_usleep((gulong)p->pause);
	p->pause = MIN(2 * p->pause, PAUSE_MOST);
	(void)gbe_app_progress(1, p->app);
	return true;
}

/* False: nothing can be decided on this. */
static bool
observe_system(Prerun *p)
{
	GbeObserveOptions options = {.repair = true,
				     .lock_data = true,
				     .decides = true,
				     .data = &p->data,
				     .store = &p->store};
	g_autoptr(GError) error = NULL;

	/* If the booted system is unknown, the system is also observed again, and not only the records. */
	if (p->observed != NULL && p->observed->facts->ostree != GBE_NO &&
	    p->observed->facts->booted.id == NULL)
		g_clear_pointer(&p->observed, gbe_observed_free);
	/* ostree's list was read before, for the configuration. The wait for the lock and the recovery may have taken a
	 * minute since, and /boot may have come. So the decision has a list of its own. */
	if ((p->observed == NULL ? !gbe_observe(p->app, &options, &p->observed, &error)
				 : !gbe_observe_again(p->app, &options, p->observed, &error)) ||
	    GBE_FAULT("prerun-observed", &error))
		return give_up_start(p, "observe", error);
	if (p->booted.id == NULL)
		gbe_deployment_copy(&p->booted, &p->observed->facts->booted);
	p->fell_back = p->observed->facts->booted_is_default == GBE_NO;
	return true;
}

static Outcome
decide_once(Prerun *p)
{
	GbeObserved *observed;
	g_autoptr(GbePlan) plan = NULL;
	g_autofree char *rejected = NULL;
	Outcome outcome;

	if (!observe_system(p))
		return OUTCOME_DONE;
	observed = p->observed;
	if (gbe_decide_needs_inside(observed->facts))
		gbe_observe_inside(observed);
	if (observed->facts->rejected == NULL)
		observed->facts->rejected = g_hash_table_ref(p->rejected);
	/* A backup records the version of its system. */
	gbe_deployments_read_versions(observed->deployments);
	plan = gbe_decide(observed->facts);
	/* The initramfs lacks ostree's list and all mounts but the root's, so it decides nothing else. */
	if (p->app->initramfs && !plan->asked) {
		fail_request(p->app, observed, plan);
		return OUTCOME_DONE;
	}
	if (may_wait(p, plan))
		return OUTCOME_WAIT;
	if (plan->unfinished && !plan->hold) {
		gbe_event_restore_failed(&(GbeEventFields){.rule = gbe_rule_to_string(plan->rule),
							   .reason = plan->reason});
		p->reason = g_strdup(plan->reason);
	}
	outcome = execute_plan(p->app, observed, plan, &rejected, &p->held);
	if (rejected != NULL)
		g_hash_table_add(p->rejected, g_steal_pointer(&rejected));
	if (outcome == OUTCOME_HELD) {
		g_free(p->reason);
		p->reason = g_strdup(p->held.text);
	}
	return outcome;
}

/* The data of a member was restored. Its settings follow before etcd reads them. */
static void
follow_settings(Prerun *p)
{
	g_autoptr(GError) error = NULL;
	bool any = false, moved = false;

	if (!gbe_settings_aside(p->app, &any, &error) ||
	    (any && !gbe_settings_follow(p->app, p->observed, &moved, &error)))
		gbe_note(
		    "the settings and certificates of this data were not brought back: %s; the "
		    "next start tries again",
		    error->message);
	if (moved)
		gbe_note("the settings and certificates of this data are also back");
}

/* Removes old backups and records, and writes status.json and the MOTD. A failure here must not fail a boot. */
static void
tidy_up(Prerun *p)
{
	GbeObserveOptions options = {.repair = true};
	GbeObserved *observed = p->observed;
	g_autoptr(GError) error = NULL;

	/* The plan has changed data, store and ledger since. */
	if (observed == NULL || !gbe_observe_again(p->app, &options, observed, &error)) {
		gbe_note("%s", error != NULL ? error->message : p->reason);
		return;
	}
	/* The trees of an open operation would look like leftovers. */
	if (p->held.kind == GBE_HOLD_NO && !gbe_decide_gives_up(observed->facts) &&
	    observed->facts->intent == NULL && observed->facts->intent_why == NULL) {
		if (!gbe_state_note_gone(p->app, observed->facts, &error) ||
		    !gbe_ledger_compact(p->app, observed->facts, &error))
			gbe_note("%s", error->message);
		(void)gbe_retention_run(p->app, observed, NULL, NULL, NULL);
		gbe_store_reserve(p->app, observed->store, GBE_RESERVE_KEEP);
		follow_settings(p);
	}
	/* etcd starts now, so the data that the next start finds is unknown. */
	observed->starts = p->held.kind == GBE_HOLD_NO;
	gbe_status_write(p->app, observed, NULL, NULL);
}

static Outcome
decide_and_execute(Prerun *p)
{
	Outcome outcome = OUTCOME_AGAIN;

	for (guint round = 0;
	     outcome == OUTCOME_WAIT || (outcome == OUTCOME_AGAIN && round < MAX_ROUNDS);
	     round += outcome == OUTCOME_AGAIN) {
		const GPtrArray *backups;

		outcome = decide_once(p);
		backups = p->observed != NULL ? p->observed->facts->backups : NULL;
		/* The next decision is made without any backup. */
		if (backups == NULL || g_hash_table_size(p->rejected) < REJECTED_MAX)
			continue;
		for (guint i = 0; i < backups->len; i++) {
			const GbeManifest *backup = backups->pdata[i];

			g_hash_table_add(p->rejected, g_strdup(backup->name));
		}
	}
	if (outcome == OUTCOME_AGAIN) {
		p->cannot_tell = true;
		g_free(p->reason);
		p->reason = g_strdup("the decision does not come to an end");
	}
	return outcome;
}

/* Counts this start until its end is recorded. Reports a failure of the last shutdown. */
static void
begin_start(Prerun *p)
{
	const GbeCmdline *cmdline = &p->app->cmdline;
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	const char *restore, *rd_restore;
	g_autoptr(GError) error = NULL;

	gbe_state_observe_ledger(p->app, facts);
	if (facts->failure != NULL)
		gbe_event_carried(
		    &(GbeEventFields){.action = facts->failure, .reason = facts->failure_why});
	/* After a boot without the request on its command line, the request counts again. */
	restore = cmdline->restore != NULL ? facts->cmdline_done : NULL;
	rd_restore = cmdline->rd_restore != NULL ? facts->rd_cmdline_done : NULL;
	if ((g_strcmp0(restore, facts->cmdline_done) != 0 ||
	     g_strcmp0(rd_restore, facts->rd_cmdline_done) != 0) &&
	    !gbe_state_note_cmdline(p->app, restore, rd_restore, &error)) {
		gbe_note("%s", error->message);
		g_clear_error(&error);
	}
	if (!gbe_state_begin_start(p->app, p->booted.id != NULL ? p->booted.id : "", &error))
		gbe_note("%s", error->message);
}

/* Records the end of the start, with any result; a crash or a hang does not reach this. The record is on the disk before
 * etcd starts. So if the start of a take-over has no end, its etcd never ran. */
static void
end_start(Prerun *p)
{
	const char *id = p->booted.id != NULL ? p->booted.id : "";
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	const GbeTakeOver *last;
	guint64 of = 0;
	g_autoptr(GError) error = NULL;

	gbe_state_observe_ledger(p->app, facts);
	last = facts->take_overs->len > 0 ? facts->take_overs->pdata[facts->take_overs->len - 1]
					  : NULL;
	if (last != NULL && p->held.kind == GBE_HOLD_NO &&
	    g_strcmp0(last->deployment.id, p->booted.id) == 0)
		of = last->sequence;
	if (!gbe_state_end_start(p->app, id, of, p->held.kind != GBE_HOLD_NO, p->fell_back,
				 p->reason, &error))
		gbe_note("%s", error->message);
}

static int
run_locked(Prerun *p)
{
	begin_start(p);
	if (recover_first(p))
		(void)decide_and_execute(p);
	if (p->cannot_tell)
		return 0;
	/* First, and on a tmpfs: the MOTD takes the reason for the hold from this file, even on a full disk. */
	gbe_prerun_done_write(p->app, &p->held, p->reason);
	tidy_up(p);
	end_start(p);
	return p->held.kind != GBE_HOLD_NO ? GBE_EXIT_HELD : 0;
}

/* Takes the lock. False: this program is switched off, or *ret_status is its exit status. */
static bool
begin_prerun(Prerun *p, GbeApp *app, int *ret_status)
{
	g_autoptr(GbeDeployments) deployments = NULL;
	g_autofree char *complaint = NULL;
	g_autoptr(GError) error = NULL;

	*p = (Prerun){.app = app};
	p->rejected = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	deployments = gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	gbe_deployment_copy(&p->booted, &deployments->booted);
	gbe_configuration_load_for_boot(app, p->booted.id, &complaint);
	if (complaint != NULL)
		gbe_event_config_bad(&(GbeEventFields){.reason = complaint});
	*ret_status = 0;
	if (gbe_config_is_off(app->config)) {
		gbe_note("off: [etcd] service is empty");
		return false;
	}
	if (gbe_app_lock(app, "prerun", GBE_WAIT_PRERUN, &error))
		return true;
	gbe_event_start_failed(&(GbeEventFields){.reason = error->message});
	*ret_status = EXIT_ASK_SUPERVISOR;
	return false;
}

static void
end_prerun(Prerun *p)
{
	gbe_data_free(p->data);
	gbe_store_free(p->store);
	gbe_observed_free(p->observed);
	gbe_deployment_clear(&p->booted);
	g_hash_table_unref(p->rejected);
	g_free(p->reason);
	gbe_held_clear(&p->held);
	gbe_app_unlock(p->app);
}

/* @data: the configuration file, or NULL. */
static int
work_as_prerun(GbeApp *app, gpointer data)
{
	Prerun p;
	g_autofree char *reason = NULL;
	g_autofree char *happened = NULL;
	g_autoptr(GError) error = NULL;
	int status;

	g_free(app->config_file);
	app->config_file = g_strdup(data);
	if (GBE_FAULT("prerun-started", &error))
		return 1;
	if (begin_prerun(&p, app, &status))
		status = GBE_FAULT("prerun-locked", &error) ? EXIT_ASK_SUPERVISOR : run_locked(&p);
	if (p.cannot_tell)
		reason = g_steal_pointer(&p.reason);
	end_prerun(&p);
	if (reason == NULL)
		return status;
	/* The facts are unknown, so nothing is done. etcd starts, unless it must not start without a backup: the
	 * supervisor's question decides that, with far fewer facts. */
	happened = g_strdup_printf("cannot determine what must be done (%s)", reason);
	status = gbe_supervise_ask(app, happened);
	(void)gbe_supervise_show(app, happened);
	return status;
}

int
gbe_prerun_start(const char *root, const char *config_file)
{
	return gbe_supervise_prerun(root, work_as_prerun, (gpointer)config_file, IDLE_SECONDS);
}

bool
gbe_prerun_requested(GbeApp *app)
{
	Prerun p;
	int status;

	app->initramfs = true;
	if (app->cmdline.skip || gbe_observe_cmdline(app, NULL) == NULL)
		return false;
	if (begin_prerun(&p, app, &status)) {
		begin_start(&p);
		if (recover_first(&p))
			(void)decide_and_execute(&p);
		end_start(&p);
	}
	end_prerun(&p);
	return true;
}
