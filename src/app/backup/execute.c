/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/execute.h"

#include "app/backup/backup.h"
#include "app/backup/damage.h"
#include "app/backup/restore.h"
#include "app/state/ledger.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <string.h>

/* How long a failed restore is tried again, and the first pause. */
#define RETRY_USEC (30 * G_USEC_PER_SEC)
#define PAUSE_USEC (100 * 1000)

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	const GbePlan *plan;
	GbeTakeOver *take_over; /* the plan's, with the changes from the execution */
	GbeOutcome outcome;
	char *rejected;
	char *held;
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

/* Records the last operation, for status. A record that cannot be written changes nothing about what was done. */
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
hold_etcd(Execution *e, const GbeAction *action, const char *reason)
{
	GbeEventFields fields = fields_of(e, action);

	fields.reason = reason;
	gbe_event_held_back(&fields);
	note_last(e, action, "held", reason, 0);
	g_free(e->held);
	e->held = g_strdup(reason);
	e->outcome = GBE_OUTCOME_HELD;
}

/* The action says whether its failure holds etcd back. */
static void
report_failure(Execution *e, const GbeAction *action, const GError *error)
{
	GbeEventFields fields = fields_of(e, action);
	g_autofree char *reason = NULL;

	if (action->on_failure == GBE_FAILURE_HOLD) {
		reason = g_strdup_printf(
		    "%s; this deployment does not get the data without it: mend that and "
		    "`systemctl restart` the service, or set [backup] "
		    "on-upgrade-failure=continue",
		    error->message);
		hold_etcd(e, action, reason);
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
	if (e->take_over != NULL && g_strcmp0(e->take_over->found.name, action->name) == 0) {
		gbe_backup_ref_clear(&e->take_over->found);
		for (guint i = 0; i < e->take_over->chain->len; i++) {
			GbeLink *link = e->take_over->chain->pdata[i];

			if (g_strcmp0(link->backup.name, action->name) == 0)
				gbe_backup_ref_clear(&link->backup);
		}
	}
	if (action->cow_only && g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSUPPORTED)) {
		fields.reason = error->message;
		gbe_event_backup_skipped(&fields);
		return true;
	}
	report_failure(e, action, error);
	return e->outcome != GBE_OUTCOME_HELD;
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

	for (gint64 pause = PAUSE_USEC;; pause *= 2) {
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

/* etcd does not get the data where it must have a record; else it writes to the data from here on, and the nonce of the
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
	if (e->outcome != GBE_OUTCOME_HELD && !gbe_data_remove_nonce(e->observed->data, &why))
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
		fields.displaced = displace != NULL ? displace->manifest->name : NULL;
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
		e->outcome = GBE_OUTCOME_AGAIN;
		return false;
	}
	if (half) {
		(void)gbe_prefix(&error, "a restore is half done, and could not be finished "
					 "(`systemctl restart` the service tries again)");
		hold_etcd(e, action, error->message);
		return false;
	}
	report_failure(e, action, error);
	/* After the exchange, the next start does the rest. */
	if (g_error_matches(error, GBE_ERROR, GBE_ERROR_PARTIAL) || e->outcome == GBE_OUTCOME_HELD)
		return false;
	/* The deployment continues with the present data, for good: no later start restores what was due now. */
	if (e->plan->instead == NULL)
		hold_etcd(e, action, error->message);
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
			return e->outcome != GBE_OUTCOME_HELD;
		}
		if (action->kind == GBE_ACTION_FRESH)
			gbe_event_fresh(&fields);
		else
			gbe_event_took_over(&fields);
		return true;
	case GBE_ACTION_HOLD:
		hold_etcd(e, action, action->reason);
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
	case GBE_ACTION_DELETE:	  /* app/backup/retention.h */
	default:
		return true;
	}
}

void
gbe_execute_failed_request(GbeApp *app, GbeObserved *observed, const GbePlan *plan)
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

GbeOutcome
gbe_execute(GbeApp *app, GbeObserved *observed, const GbePlan *plan, char **ret_rejected,
	    char **ret_held)
{
	Execution e = {.app = app, .observed = observed, .plan = plan};
	GbeEventFields decided = fields_of(&e, NULL);
	g_autoptr(GError) error = NULL;

	e.take_over = plan->take_over != NULL ? gbe_take_over_copy(plan->take_over) : NULL;
	gbe_ledger_reserve(app, plan->last_sequence);
	gbe_event_decided(&decided);
	/* A request that cannot be carried out is dropped first: it must not return. */
	gbe_execute_failed_request(app, observed, plan);
	for (guint i = 0; i < plan->actions->len && !plan->again; i++)
		if (!do_action(&e, plan->actions->pdata[i]))
			break;
	if (plan->opened && !gbe_state_open(app, observed->facts->owner->sequence, &error)) {
		gbe_note("%s", error->message);
		g_clear_error(&error);
		if (!gbe_data_remove_nonce(observed->data, &error))
			gbe_note("%s", error->message);
	}
	if (plan->again && e.outcome == GBE_OUTCOME_DONE)
		e.outcome = GBE_OUTCOME_AGAIN;
	gbe_take_over_free(e.take_over);
	*ret_rejected = e.rejected;
	*ret_held = e.held;
	return e.outcome;
}
