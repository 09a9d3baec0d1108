/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/execute.h"

#include "app/backup.h"
#include "app/restore.h"
#include "app/state.h"
#include "base/fault.h"
#include "core/retention.h"
#include "fs/probe.h"
#include "fs/write.h"
#include "sys/events.h"

#include <string.h>

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	const GbePlan *plan;
	GbeStamp *stamp; /* the plan's, with what turned out different */
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
	    .from_deployment = facts->stamp != NULL ? facts->stamp->deployment.id : NULL,
	    .run = facts->run,
	    .reason = action != NULL ? action->reason : e->plan->reason,
	};
}

/* What was done last, for status. A record that cannot be written changes nothing about what was done. */
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
	    .undo = g_strdup(e->observed->facts->undo),
	};
	const GbeAction *displace = gbe_plan_find(e->plan, GBE_ACTION_DISPLACE);
	g_autoptr(GError) error = NULL;

	if (action->kind == GBE_ACTION_RESTORE && g_str_equal(result, "done")) {
		g_free(last.undo);
		last.undo = g_strdup(displace != NULL ? displace->name : NULL);
	}
	if (!gbe_state_write_last(e->app, &last, GBE_WRITE_LATER, &error))
		gbe_note("last operation: %s", error->message);
	gbe_last_operation_clear(&last);
}

static void
hold(Execution *e, const GbeAction *action, const char *reason)
{
	GbeEventFields fields = fields_of(e, action);

	fields.reason = reason;
	gbe_event_held_back(&fields);
	note_last(e, action, "held", reason, 0);
	g_free(e->held);
	e->held = g_strdup(reason);
	e->outcome = GBE_OUTCOME_HELD;
}

/* Whether a failure holds etcd back stands in the action. */
static void
failed(Execution *e, const GbeAction *action, const GError *error)
{
	GbeEventFields fields = fields_of(e, action);
	g_autofree char *reason = NULL;

	if (action->on_failure == GBE_FAILURE_HOLD) {
		reason = g_strdup_printf(
		    "%s; the upgrade does not get the data without it: mend that and `systemctl "
		    "restart` the service, or set [backup] on-upgrade-failure=continue",
		    error->message);
		hold(e, action, reason);
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
		note_last(e, action, "done", action->reason, timing.total_usec);
		return true;
	}
	/* A stamp must not name what is not there. */
	if (e->stamp != NULL && g_strcmp0(e->stamp->previous, action->name) == 0)
		g_clear_pointer(&e->stamp->previous, g_free);
	if (action->cow_only && g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSUPPORTED)) {
		fields.reason = error->message;
		gbe_event_backup_skipped(&fields);
		return true;
	}
	failed(e, action, error);
	return e->outcome != GBE_OUTCOME_HELD;
}

static void
grade_bad(Execution *e, const char *name, const char *reason)
{
	const GbeManifest *backup = gbe_facts_backup(e->observed->facts, name);
	g_autoptr(GbeManifest) manifest = NULL;
	g_autoptr(GError) error = NULL;

	if (backup == NULL)
		return;
	manifest = gbe_manifest_copy(backup);
	manifest->grade = GBE_GRADE_BAD;
	g_free(manifest->grade_reason);
	manifest->grade_reason = g_strdup(reason);
	if (!gbe_store_write_manifest(e->observed->store, manifest, &error))
		gbe_note("grade of %s: %s", name, error->message);
}

/* The decision is taken again without it. Only what was seen to be damaged is so at the next start, too. */
static void
reject(Execution *e, const char *name, const GError *why)
{
	GbeEventFields fields = fields_of(e, NULL);

	fields.backup = name;
	fields.reason = why->message;
	gbe_event_candidate_bad(&fields);
	if (g_error_matches(why, GBE_ERROR, GBE_ERROR_VERIFY_FAILED))
		grade_bad(e, name, why->message);
	e->rejected = g_strdup(name);
	e->outcome = GBE_OUTCOME_AGAIN;
}

static bool
do_restore(Execution *e, const GbeAction *action)
{
	const GbeAction *displace = gbe_plan_find(e->plan, GBE_ACTION_DISPLACE);
	GbeRestoreOptions options = {.rule = gbe_rule_to_string(e->plan->rule),
				     .keep_source = action->keep_source};
	GbeEventFields fields = fields_of(e, action);
	g_autoptr(GError) error = NULL;
	GbeTiming timing = {0};

	options.force = e->plan->rule == GBE_RULE_2 && e->observed->facts->request.force;
	/* Counted before it is tried, so that a restore that panics the kernel is tried three times. */
	if (e->plan->rule != GBE_RULE_2 &&
	    !gbe_state_count_attempt(e->app, action->name, e->observed->facts->booted.id, &error)) {
		failed(e, action, error);
		return false;
	}
	if (gbe_restore_run(e->app, e->observed, action->name, e->stamp,
			    displace != NULL ? displace->manifest : NULL, &options, &timing,
			    &error)) {
		fields.duration_usec = timing.total_usec;
		gbe_event_restored(&fields);
		note_last(e, action, "done", action->reason, timing.total_usec);
		return true;
	}
	if (g_error_matches(error, GBE_ERROR, GBE_ERROR_VERIFY_FAILED) ||
	    g_error_matches(error, GBE_ERROR, GBE_ERROR_CANNOT_TELL)) {
		reject(e, action->name, error);
		return false;
	}
	failed(e, action, error);
	/* An attempt without its fresh start goes on with what is there, as its own. */
	if (action->keep_source && !g_error_matches(error, GBE_ERROR, GBE_ERROR_PARTIAL)) {
		e->rejected = g_strdup(action->name);
		e->outcome = GBE_OUTCOME_AGAIN;
	}
	return false;
}

static bool
forget(Execution *e, const GbeAction *action)
{
	g_autoptr(GError) error = NULL;

	if (gbe_data_forget_stamp(e->app, e->observed->data, &error) &&
	    gbe_state_remove(e->app, GBE_STATE_COPY, &error))
		return true;
	failed(e, action, error);
	return e->outcome != GBE_OUTCOME_HELD;
}

/* The record of the run first: a stamp without one would be a run whose verdict is unknown. */
static bool
begin_run(Execution *e, GError **error)
{
	g_autoptr(GbeStamp) copy = gbe_stamp_copy(e->stamp);

	g_free(copy->data_handle);
	copy->data_handle =
	    e->observed->data->fd >= 0 ? gbe_file_handle(e->observed->data->fd) : NULL;
	return gbe_state_begin_run(e->app, e->plan->run, GBE_WRITE_LATER, error) &&
	       !GBE_FAULT("execute-run-begun", error) &&
	       gbe_state_write_copy(e->app, copy, GBE_WRITE_LATER, error) &&
	       gbe_state_sync(e->app, error);
}

static bool
do_stamp(Execution *e, const GbeAction *action)
{
	GbeEventFields fields = fields_of(e, action);
	g_autoptr(GError) error = NULL;

	if (action->forget)
		return forget(e, action);
	if (begin_run(e, &error) && !GBE_FAULT("execute-run-durable", &error) &&
	    gbe_data_write_stamp(e->observed->data, e->stamp, &error) &&
	    !GBE_FAULT("execute-stamped", &error)) {
		gbe_event_took_over(&fields);
		return true;
	}
	failed(e, action, error);
	return e->outcome != GBE_OUTCOME_HELD;
}

static bool
do_fresh(Execution *e, const GbeAction *action)
{
	GbeEventFields fields = fields_of(e, action);
	g_autoptr(GbeStamp) copy = gbe_stamp_copy(e->stamp);
	g_autoptr(GError) error = NULL;

	g_clear_pointer(&copy->data_handle, g_free);
	gbe_event_fresh(&fields);
	if (!gbe_state_begin_run(e->app, e->plan->run, GBE_WRITE_LATER, &error) ||
	    !gbe_state_write_copy(e->app, copy, GBE_WRITE_LATER, &error) ||
	    !gbe_state_sync(e->app, &error))
		gbe_note("fresh start: %s", error->message);
	return true;
}

static bool
do_grade(Execution *e, const GbeAction *action)
{
	GbeEventFields fields = fields_of(e, action);
	g_autoptr(GError) error = NULL;

	if (gbe_store_write_manifest(e->observed->store, action->manifest, &error))
		gbe_event_graded(&fields);
	else
		gbe_note("grade of %s: %s", action->name, error->message);
	return true;
}

/* True: go on with the next action. */
static bool
act(Execution *e, const GbeAction *action)
{
	GbeEventFields fields = fields_of(e, action);

	switch (action->kind) {
	case GBE_ACTION_BACKUP:
		return do_backup(e, action);
	case GBE_ACTION_RESTORE:
		return do_restore(e, action);
	case GBE_ACTION_FRESH:
		return do_fresh(e, action);
	case GBE_ACTION_HOLD:
		hold(e, action, action->reason);
		return false;
	case GBE_ACTION_GRADE:
		return do_grade(e, action);
	case GBE_ACTION_STAMP:
		return do_stamp(e, action);
	case GBE_ACTION_KEEP:
		gbe_event_backup_skipped(&fields);
		return true;
	case GBE_ACTION_DISPLACE: /* part of the restore */
	case GBE_ACTION_DELETE:	  /* gbe_execute_retention() */
	default:
		return true;
	}
}

static void
drop_request(Execution *e)
{
	const GbeRequest *request = &e->observed->facts->request;
	const GbeAction asked = {.kind = GBE_ACTION_RESTORE, .name = request->name};
	GbeEventFields fields = fields_of(e, NULL);
	g_autoptr(GError) error = NULL;
	bool ok = true;

	if (e->plan->request_failed != NULL) {
		fields.backup = request->name;
		fields.reason = e->plan->request_failed;
		gbe_event_request_failed(&fields);
		note_last(e, &asked, "failed", e->plan->request_failed, 0);
	}
	if (request->from_cmdline) {
		g_autoptr(JsonObject) seen = json_object_new();
		const char *record;
		const char *argument = gbe_state_cmdline(e->app, &record);

		json_object_set_string_member(seen, "argument", argument);
		ok = gbe_state_write(e->app, record, seen, GBE_WRITE_DURABLE, &error);
	} else {
		ok = gbe_state_remove(e->app, GBE_STATE_REQUEST, &error);
	}
	if (!ok)
		gbe_note("request: %s", error->message);
}

/* What the rule says, and where it says that something cannot be told, what is in the way. */
static void
say_decided(const Execution *e)
{
	const GbeFacts *facts = e->observed->facts;
	GbeEventFields fields = fields_of(e, NULL);
	g_autofree char *reason = NULL;
	const char *why = NULL;

	if (e->plan->rule == GBE_RULE_0)
		why = facts->data_why != NULL ? facts->data_why : facts->data_open_why;
	else if (e->plan->rule == GBE_RULE_5A)
		why = facts->sound_why;
	if (why != NULL)
		fields.reason = reason = g_strdup_printf("%s: %s", e->plan->reason, why);
	gbe_event_decided(&fields);
}

GbeOutcome
gbe_execute(GbeApp *app, GbeObserved *observed, const GbePlan *plan, char **ret_rejected,
	    char **ret_held)
{
	Execution e = {.app = app, .observed = observed, .plan = plan};

	e.stamp = plan->stamp != NULL ? gbe_stamp_copy(plan->stamp) : NULL;
	say_decided(&e);
	/* A request that cannot be carried out is dropped first: it must not come up again. */
	if (plan->drop_request && plan->request_failed != NULL)
		drop_request(&e);
	for (guint i = 0; i < plan->actions->len; i++)
		if (!act(&e, plan->actions->pdata[i]))
			break;
	if (plan->clear_closing) {
		g_autoptr(GError) error = NULL;

		if (!gbe_data_clear_closing(observed->data, &error))
			gbe_note("closing record: %s", error->message);
	}
	/* A request that was carried out: its restore names it, so that a cut before this repeats the
	 * same restore and nothing else. */
	if (plan->drop_request && plan->request_failed == NULL && e.rejected == NULL)
		drop_request(&e);
	if (plan->again && e.outcome == GBE_OUTCOME_DONE)
		e.outcome = GBE_OUTCOME_AGAIN;
	gbe_stamp_free(e.stamp);
	*ret_rejected = e.rejected;
	*ret_held = e.held;
	return e.outcome;
}

void
gbe_execute_failed_request(GbeApp *app, GbeObserved *observed, const GbePlan *plan)
{
	Execution e = {.app = app, .observed = observed, .plan = plan};

	if (plan->drop_request && plan->request_failed != NULL)
		drop_request(&e);
}

void
gbe_execute_retention(GbeApp *app, GbeObserved *observed)
{
	g_autoptr(GArray) removals = gbe_retention_apply(observed->facts);

	for (guint i = 0; i < removals->len; i++) {
		const GbeRemoval *removal = &g_array_index(removals, GbeRemoval, i);
		GbeEventFields fields = {.action = "delete",
					 .backup = removal->backup->name,
					 .deployment = removal->backup->deployment.id,
					 .reason = removal->reason};
		g_autoptr(GError) error = NULL;

		if (gbe_store_remove(observed->store, removal->backup->name, &error))
			gbe_event_deleted(&fields);
		else
			gbe_note("retention: %s", error->message);
	}
}
