/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/by-hand/by-hand.h"

#include "app/backup/damage.h"
#include "app/backup/restore.h"
#include "app/backup/settings.h"
#include "app/by-hand/displaced.h"
#include "app/by-hand/source.h"
#include "app/state/ledger.h"
#include "app/state/state.h"
#include "core/backup-name.h"
#include "core/decide/decide.h"
#include "core/space.h"
#include "sys/systemd/events.h"

#include <string.h>

static char *
describe_loss(const GbeFacts *facts, const GbeManifest *source)
{
	g_autofree char *age = NULL;

	if (facts->data == GBE_NO)
		return g_strdup("nothing: there was no data");
	if (facts->linked)
		return g_strdup("the link, and nothing of what it leads to");
	if (facts->data == GBE_UNKNOWN)
		return g_strdup("the present data, which cannot be read");
	if (source->created <= 0 || facts->now < source->created)
		return g_strdup_printf("what etcd has written since backup %s", source->name);
	age = gbe_duration_to_text((guint64)(facts->now - source->created));
	return g_strdup_printf("what etcd has written in the last %s, since backup %s", age,
			       source->name);
}

/* @name NULL: nothing takes the data's place. */
static bool
run(GbeSession *session, const GbePlan *plan, const char *name, const GbeRestoreOptions *how,
    GbeTiming *ret_timing, GError **error)
{
	const GbeAction *displace = gbe_plan_find(plan, GBE_ACTION_DISPLACE);
	bool partial;

	gbe_ledger_reserve(session->app, plan->last_sequence);
	if (gbe_restore_run(session->app, session->observed, name, plan->take_over,
			    plan->take_over->sequence, displace != NULL ? displace->manifest : NULL,
			    how, ret_timing, error)) {
		gbe_session_record(session, "done", "asked for by hand", name);
		return true;
	}
	partial = error != NULL && g_error_matches(*error, GBE_ERROR, GBE_ERROR_PARTIAL);
	gbe_session_record(session, partial ? "partial" : "failed",
			   error != NULL ? (*error)->message : NULL, name);
	return false;
}

static bool
swap(GbeSession *session, const GbeManifest *source, const GbeByHandRestore *options,
     gint64 look_usec, GbeByHandResult *result, GError **error)
{
	GbeFacts *facts = session->observed->facts;
	GbeRestoreOptions how = {.rule = "by-hand",
				 .validated = true,
				 .force = options->force,
				 .keep_existing = options->keep_existing};
	g_autofree char *name = g_strdup(source->name);
	g_autoptr(GbePlan) plan =
	    gbe_decide_by_hand(facts, name, options->force || options->target == GBE_BY_HAND_UNDO);
	const GbeAction *displace = gbe_plan_find(plan, GBE_ACTION_DISPLACE);

	if (plan->take_over == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED, "backup %s cannot be restored: %s", name,
				 plan->request_failed != NULL ? plan->request_failed
							      : plan->reason);
	if (displace != NULL)
		displace->manifest->discard = options->skip_backup;
	result->name = g_strdup(name);
	if (options->keep_existing != NULL)
		result->kept = displace != NULL ? g_strdup(options->keep_existing) : NULL;
	else
		result->displaced = displace != NULL ? g_strdup(displace->name) : NULL;
	result->size = source->size;
	result->grade = source->grade;
	result->method = source->method;
	result->loss = describe_loss(facts, source);
	if (options->dry_run)
		return true;
	if (options->announce != NULL)
		options->announce(result, options->announce_data);
	if (!run(session, plan, name, &how, &result->timing, error))
		return false;
	result->timing.look_usec += session->observed->look_usec + look_usec;
	/* Also files that lay there and are not etcd's data. */
	if (options->keep_existing != NULL && result->kept == NULL &&
	    gbe_displaced_is_at(session->app, options->keep_existing))
		result->kept = g_strdup(options->keep_existing);
	return true;
}

static void
emit(const GbeSession *session, const GbeByHandResult *result)
{
	const GbeFacts *facts = session->observed->facts;
	GbeEventFields fields = {
	    .rule = "by-hand",
	    .action = session->operation,
	    .backup = result->name != NULL ? result->name : result->displaced,
	    .deployment = facts->booted.id,
	    .run = facts->run,
	    .duration_usec = result->timing.total_usec,
	};

	if (result->name == NULL) {
		gbe_event_set_aside(&fields);
		return;
	}
	fields.reason = result->displaced != NULL ? result->displaced : result->kept;
	fields.displaced = result->displaced;
	gbe_event_restored(&fields);
}

/* Reads the backup, and grades it bad when it is damaged. *ret_again: --last-good now means another backup. */
static bool
validate(GbeSession *session, const GbeManifest *source, const GbeByHandRestore *options,
	 gint64 *ret_look_usec, bool *ret_again, GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autoptr(GError) why = NULL;

	*ret_again = false;
	if (options->force || gbe_restore_validate(session->app, session->observed->store, source,
						   ret_look_usec, &local))
		return true;
	if (g_error_matches(local, GBE_ERROR, GBE_ERROR_VERIFY_FAILED)) {
		*ret_again = options->target == GBE_BY_HAND_LAST_GOOD;
		if (!gbe_damage_grade(session->app, session->observed, source->name, local->message,
				      &why))
			gbe_note("%s", why->message);
	}
	if (*ret_again)
		gbe_complain("%s", local->message);
	return gbe_pass(error, &local);
}

/* Before the service is stopped: reads the backup and checks that it is sound. */
static bool
choose(GbeSession *session, const GbeByHandRestore *options, gint64 *ret_look_usec, char **ret_name,
       GError **error)
{
	bool again;

	for (;;) {
		const GbeManifest *source;
		g_autoptr(GError) local = NULL;

		if (!gbe_source_resolve(session->observed, options, &source, error) ||
		    !gbe_source_check(session, source, options, error))
			return false;
		if (validate(session, source, options, ret_look_usec, &again, &local)) {
			*ret_name = g_strdup(source->name);
			return true;
		}
		if (!again)
			return gbe_pass(error, &local);
	}
}

/* The settings of a member of a cluster follow its data, before etcd starts with them. */
static bool
follow_settings(GbeSession *session, bool look_again, GError **error)
{
	const GbeObserveOptions again = {.repair = true, .lock_data = true};
	bool any = false, moved = false;

	if (!gbe_settings_aside(session->app, &any, error))
		return false;
	if (!any)
		return true;
	if (look_again && !gbe_observe_again(session->app, &again, session->observed, error))
		return false;
	gbe_observe_inside(session->observed);
	return gbe_settings_follow(session->app, session->observed, &moved, error);
}

static bool
restore(GbeSession *session, const GbeSessionOptions *how, const GbeByHandRestore *options,
	GbeByHandResult *result, GError **error)
{
	const GbeRequest *request = &session->observed->facts->request;
	bool waited = request->kind != GBE_REQUEST_NONE && !request->from_cmdline;
	const GbeManifest *source;
	g_autofree char *name = NULL;
	gint64 look_usec = 0;

	/* The displaced data would lie below the mount point of the store. */
	if (session->observed->facts->store == GBE_NO)
		return gbe_observed_no_store(session->observed, error);
	if (options->keep_existing != NULL &&
	    !gbe_displaced_check_place(session->app, session->observed, options->keep_existing,
				       error))
		return false;
	/* An earlier restore may have been cut before this. */
	if (!options->dry_run && !follow_settings(session, false, error))
		return false;
	/* Without --stop, a running etcd is in the way, whatever the backup is. */
	if ((!options->stop && !options->dry_run && !gbe_session_quiesce(session, how, error)) ||
	    !choose(session, options, &look_usec, &name, error) ||
	    !gbe_session_quiesce(session, how, error))
		return false;
	/* The observation may be a new one by now, and data that etcd had open can be looked into. */
	gbe_observe_inside(session->observed);
	if (!gbe_session_find(session->observed, name, &source, error) ||
	    !gbe_source_check(session, source, options, error) ||
	    !swap(session, source, options, look_usec, result, error))
		return false;
	result->dry_run = options->dry_run;
	if (options->dry_run)
		return true;
	gbe_session_did(session, "backup %s is restored", result->name);
	if (waited)
		gbe_complain("the request for the next boot (restore --next-boot) is cancelled");
	emit(session, result);
	return follow_settings(session, true, error) ||
	       gbe_prefix(error, "its settings are not back");
}

bool
gbe_by_hand_restore(GbeApp *app, const GbeByHandRestore *options, GbeByHandResult *ret_result,
		    GError **error)
{
	GbeSessionOptions how = {.operation =
				     options->target == GBE_BY_HAND_UNDO ? "undo" : "restore",
				 .data = true,
				 .inside = true,
				 .dry_run = options->dry_run,
				 .stop_allowed = options->stop};
	g_auto(GbeByHandResult) result = {0};
	GbeSession session;
	bool ok;

	if (options->target == GBE_BY_HAND_NAMED && !gbe_backup_name_check(options->name, error))
		return false;
	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	ok = restore(&session, &how, options, &result, error);
	result.service_restarted = session.service.unit != NULL;
	if (!gbe_session_finish(&session, ok, error))
		return false;
	*ret_result = result;
	memset(&result, 0, sizeof result);
	return true;
}

static bool
set_aside(GbeSession *session, bool discard, GbeBackupRef *ret_backup, GError **error)
{
	const GbeRestoreOptions how = {.rule = "by-hand", .force = true};
	const GbeTakeOver *owner = session->observed->facts->owner;
	g_autoptr(GbePlan) plan = gbe_decide_by_hand(session->observed->facts, NULL, true);
	const GbeAction *displace = gbe_plan_find(plan, GBE_ACTION_DISPLACE);
	GbeByHandResult result = {0};

	if (plan->take_over == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED, "the data cannot be set aside: %s",
				 plan->reason);
	if (displace == NULL) {
		/* An earlier call was cut after its exchange. A caller that discards must not get its data. */
		if (!discard && owner != NULL && gbe_take_over_empties(owner))
			gbe_backup_ref_set(ret_backup, owner->found);
		return true;
	}
	displace->manifest->discard = discard;
	gbe_backup_ref_set(ret_backup, plan->take_over->found);
	result.displaced = displace->name;
	if (!run(session, plan, NULL, &how, &result.timing, error))
		return false;
	emit(session, &result);
	return true;
}

bool
gbe_by_hand_set_aside(GbeApp *app, const char *operation, bool discard, GbeBackupRef *ret_backup,
		      GError **error)
{
	const GbeSessionOptions how = {.operation = operation, .data = true, .inside = true};
	GbeSession session;

	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	return gbe_session_finish(&session,
				  gbe_session_quiesce(&session, &how, error) &&
				      set_aside(&session, discard, ret_backup, error),
				  error);
}

bool
gbe_by_hand_set_settings_aside(GbeApp *app, const char *operation, guint64 number, GError **error)
{
	const GbeSessionOptions how = {.operation = operation};
	GbeSession session;

	return gbe_session_begin(app, &how, &session, error) &&
	       gbe_session_finish(
		   &session, gbe_settings_set_aside(app, session.observed, number, error), error);
}

bool
gbe_by_hand_follow_settings(GbeApp *app, GError **error)
{
	const GbeSessionOptions how = {.operation = "restore", .inside = true};
	GbeSession session;
	bool any = false;

	/* Without a state directory nothing is set aside, and the operation itself says why it cannot open it. */
	if (!gbe_app_open_state(app, false, NULL))
		return true;
	if (!gbe_settings_aside(app, &any, error))
		return false;
	return !any ||
	       (gbe_session_begin(app, &how, &session, error) &&
		gbe_session_finish(&session, follow_settings(&session, false, error), error));
}

static bool
request(GbeSession *session, const GbeByHandRestore *options, char **ret_name, GError **error)
{
	static const GbeRequestKind kinds[] = {
	    [GBE_BY_HAND_NAMED] = GBE_REQUEST_RESTORE,
	    [GBE_BY_HAND_LAST_GOOD] = GBE_REQUEST_LAST_GOOD,
	    [GBE_BY_HAND_UNDO] = GBE_REQUEST_UNDO,
	};
	GbeFacts *facts = session->observed->facts;
	GbeRequest wanted = {.kind = kinds[options->target], .force = options->force};
	const GbeManifest *source;
	GbeView view;
	bool written = true;

	if (facts->run == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "which run this is cannot be told (%s), so neither when the next "
				 "one begins",
				 facts->run_why != NULL ? facts->run_why : "unknown");
	if (!gbe_source_resolve(session->observed, options, &source, error) ||
	    !gbe_source_check_itself(session, source, options, error))
		return false;
	gbe_view_live(facts, &view);
	if (view.voters > 1 && !options->force)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the data is a member's of a cluster with more than one voter: "
				 "remove the member and add it again, or --force");
	wanted.name = options->target == GBE_BY_HAND_NAMED ? g_strdup(options->name) : NULL;
	wanted.run = g_strdup(facts->run);
	if (!options->dry_run)
		written = gbe_state_write_request(session->app, &wanted, error);
	gbe_request_clear(&wanted);
	if (written)
		*ret_name = g_strdup(source->name);
	return written;
}

bool
gbe_by_hand_request(GbeApp *app, const GbeByHandRestore *options, char **ret_name, GError **error)
{
	GbeSessionOptions how = {.operation = "restore", .dry_run = options->dry_run};
	GbeSession session;

	if (options->target == GBE_BY_HAND_NAMED && !gbe_backup_name_check(options->name, error))
		return false;
	return gbe_session_begin(app, &how, &session, error) &&
	       gbe_session_finish(&session, request(&session, options, ret_name, error), error);
}

bool
gbe_by_hand_cancel(GbeApp *app, bool dry_run, bool *ret_had, GError **error)
{
	GbeSessionOptions how = {.operation = "restore", .dry_run = dry_run};
	GbeSession session;
	bool had;

	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	/* A request of the kernel command line is not in the state; this program cannot cancel it. */
	had = session.observed->facts->request.kind != GBE_REQUEST_NONE &&
	      !session.observed->facts->request.from_cmdline;
	if (!gbe_session_finish(
		&session, dry_run || !had || gbe_state_end_request(app, "cancelled", NULL, error),
		error))
		return false;
	*ret_had = had;
	return true;
}
