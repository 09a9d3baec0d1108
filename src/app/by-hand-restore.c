/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/by-hand.h"

#include "app/by-hand-displaced.h"
#include "app/by-hand-session.h"
#include "app/keys.h"
#include "app/ledger.h"
#include "app/restore.h"
#include "app/state.h"
#include "core/backup-name.h"
#include "core/decide.h"
#include "core/space.h"
#include "sys/events.h"

#include <string.h>

static bool
no_last_good(const GbeObserved *observed, GError **error)
{
	const GPtrArray *backups = observed->facts->backups;

	for (guint i = 0; i < backups->len; i++) {
		const GbeManifest *backup = backups->pdata[i];

		if (backup->grade == GBE_GRADE_GOOD && backup->voters > 1)
			return gbe_throw(error, GBE_ERROR_REFUSED,
					 "backup %s is good, and of a cluster of %u voters: remove "
					 "this member from the cluster and add it again, or name "
					 "the backup, with --force",
					 backup->name, backup->voters);
	}
	return gbe_throw(error, GBE_ERROR_NOT_FOUND,
			 "no good backup in %s; `greenboot-etcd list` shows what there is",
			 observed->store->path);
}

/* What a request or a restore means now. */
static bool
resolve(GbeObserved *observed, const GbeByHandRestore *options, const GbeManifest **ret_source,
	GError **error)
{
	GbeFacts *facts = observed->facts;
	GbeRequest pending = facts->request;
	const GbeManifest *source;

	if (options->target == GBE_BY_HAND_NAMED)
		return gbe_session_find(observed, options->name, ret_source, error);
	if (options->target == GBE_BY_HAND_UNDO) {
		if (facts->undo.name == NULL && facts->unread != NULL)
			return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
					 "what the last restore displaced cannot be told: %s",
					 facts->unread);
		if (facts->undo.name == NULL)
			return gbe_throw(error, GBE_ERROR_NOT_FOUND,
					 "nothing to undo: no restore has displaced anything");
		*ret_source = gbe_facts_backup_of(facts, &facts->undo);
		if (*ret_source == NULL && gbe_facts_backup(facts, facts->undo.name) != NULL)
			return gbe_throw(error, GBE_ERROR_NOT_FOUND,
					 "what the last restore displaced was deleted; %s is "
					 "another backup of that name",
					 facts->undo.name);
		return *ret_source != NULL ||
		       gbe_session_find(observed, facts->undo.name, ret_source, error);
	}
	memset(&facts->request, 0, sizeof facts->request);
	facts->request.kind = GBE_REQUEST_LAST_GOOD;
	source = gbe_situation_request(facts);
	facts->request = pending;
	if (source == NULL)
		return no_last_good(observed, error);
	*ret_source = source;
	return true;
}

/* What the backup itself is, wherever it goes. */
static bool
check_source(GbeApp *app, const GbeFacts *facts, const GbeManifest *source,
	     const GbeByHandRestore *options, GError **error)
{
	if (source->consumed)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s has no data of its own any more: a restore without "
				 "room took it; restore another one",
				 source->name);
	if (options->force)
		return true;
	/* An undo takes the data displaced last, even if it was graded bad. */
	if (source->grade == GBE_GRADE_BAD && options->target != GBE_BY_HAND_UNDO)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "backup %s is graded bad (%s): take another one, or --force", source->name,
		    source->grade_reason != NULL ? source->grade_reason : "no reason recorded");
	if (source->voters > 1)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s is of a cluster of %u voters: remove this member from "
				 "the cluster and add it again, or --force",
				 source->name, source->voters);
	if (source->data_dir != NULL && facts->data_dir != NULL &&
	    !g_str_equal(source->data_dir, facts->data_dir))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s is of %s, not of %s: take another one, or --force",
				 source->name, source->data_dir, facts->data_dir);
	return gbe_keys_check_backup(app, source, TRUE, error);
}

/* Where it goes. */
static bool
check_place(const GbeObserved *observed, const GbeSituation *live, const GbeView *view,
	    gboolean force, GError **error)
{
	const GbeFacts *facts = observed->facts;

	if (facts->data == GBE_UNKNOWN)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED, "what is in %s cannot be read (%s): look at it first",
		    observed->data->path, facts->data_why != NULL ? facts->data_why : "unknown");
	if (observed->data->parent_fd < 0)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "the directory that is to hold %s is not there: make it, or mount "
				 "it",
				 observed->data->path);
	if (force)
		return true;
	if (facts->ostree == GBE_YES && facts->booted.id == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the booted deployment cannot be told (%s), so nobody would own "
				 "the data: --force restores all the same",
				 facts->booted_why != NULL ? facts->booted_why : "unknown");
	if (live->mount_lost)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s was a mount point and is none now: mount it, or --force to "
				 "have the data in the bare directory",
				 observed->data->path);
	if (view->voters > 1)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the data in %s is a member's of a cluster with more than one "
				 "voter: remove the member from the cluster and add it again, or "
				 "--force",
				 observed->data->path);
	return true;
}

/* By the etcd of the deployment that is booted. */
static bool
check_usable(const GbeFacts *facts, const GbeManifest *source, gboolean force, GError **error)
{
	GbeSituation situation;
	GbeView view;

	gbe_view_backup(facts, source, &view);
	gbe_situation_derive(facts, &view, TRUE, &situation);
	if (situation.usable == GBE_NO && !force)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s was written for %s %s, and this deployment's is older: "
				 "boot a deployment that reads it, or --force",
				 source->name, source->data_version != NULL ? "version" : "etcd",
				 source->data_version != NULL	      ? source->data_version
				 : gbe_manifest_needs(source) != NULL ? gbe_manifest_needs(source)
								      : "(unknown)");
	return true;
}

static bool
check_all(GbeSession *session, const GbeManifest *source, const GbeByHandRestore *options,
	  GError **error)
{
	const GbeObserved *observed = session->observed;
	const GbeFacts *facts = observed->facts;
	GbeSituation situation;
	GbeView view;

	gbe_view_live(facts, &view);
	gbe_situation_derive(facts, &view, TRUE, &situation);
	return check_source(session->app, facts, source, options, error) &&
	       check_place(observed, &situation, &view, options->force, error) &&
	       check_usable(facts, source, options->force, error);
}

static char *
describe_loss(const GbeFacts *facts, const GbeManifest *source)
{
	g_autofree char *age = NULL;

	if (facts->data != GBE_YES)
		return g_strdup("nothing: there is no data now");
	if (source->created <= 0 || facts->now < source->created)
		return g_strdup_printf("what etcd has written since backup %s", source->name);
	age = gbe_duration_to_text((guint64)(facts->now - source->created));
	return g_strdup_printf("what etcd has written in the last %s, since backup %s", age,
			       source->name);
}

static bool
swap(GbeSession *session, const GbeManifest *source, const GbeByHandRestore *options,
     GbeByHandResult *result, GError **error)
{
	GbeFacts *facts = session->observed->facts;
	GbeRestoreOptions how = {.rule = "by-hand",
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
	gbe_ledger_reserve(session->app, plan->last_sequence);
	if (!gbe_restore_run(
		session->app, session->observed, name, plan->take_over, plan->take_over->sequence,
		displace != NULL ? displace->manifest : NULL, &how, &result->timing, error)) {
		gboolean partial =
		    error != NULL && g_error_matches(*error, GBE_ERROR, GBE_ERROR_PARTIAL);

		gbe_session_record(session, partial ? "partial" : "failed",
				   error != NULL ? (*error)->message : NULL, name);
		return false;
	}
	result->timing.look_usec += session->observed->look_usec;
	gbe_session_record(session, "done", "asked for by hand", name);
	/* Also what lay there without being etcd's data. */
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
	    .backup = result->name,
	    .deployment = facts->booted.id,
	    .run = facts->run,
	    .reason = result->displaced != NULL ? result->displaced : result->kept,
	    .duration_usec = result->timing.total_usec,
	};

	gbe_event_restored(&fields);
}

static bool
restore(GbeSession *session, const GbeSessionOptions *how, const GbeByHandRestore *options,
	GbeByHandResult *result, GError **error)
{
	const GbeManifest *source;
	gboolean open = session->observed->facts->data_open == GBE_YES;

	if (!resolve(session->observed, options, &source, error) ||
	    !check_all(session, source, options, error))
		return false;
	if (options->keep_existing != NULL &&
	    !gbe_displaced_check_place(session->app, session->observed, options->keep_existing,
				       error))
		return false;
	/* Nobody's service is stopped for a backup that is not sound. */
	if ((options->dry_run || (open && options->stop)) && !options->force &&
	    !gbe_restore_validate(session->app, session->observed->store, source, NULL, error))
		return false;
	if (!gbe_session_quiesce(session, how, error))
		return false;
	/* What was observed may be another observation by now, and what etcd had open tells more. */
	gbe_observe_inside(session->observed);
	if (!resolve(session->observed, options, &source, error) ||
	    !check_all(session, source, options, error) ||
	    !swap(session, source, options, result, error))
		return false;
	result->dry_run = options->dry_run;
	if (!options->dry_run)
		emit(session, result);
	return true;
}

bool
gbe_by_hand_restore(GbeApp *app, const GbeByHandRestore *options, GbeByHandResult *ret_result,
		    GError **error)
{
	GbeSessionOptions how = {.operation =
				     options->target == GBE_BY_HAND_UNDO ? "undo" : "restore",
				 .data = TRUE,
				 .inside = TRUE,
				 .dry_run = options->dry_run,
				 .stop_allowed = options->stop};
	g_auto(GbeByHandResult) result = {0};
	GbeSession session;

	if (options->target == GBE_BY_HAND_NAMED &&
	    gbe_backup_name_parse(options->name, NULL, NULL, NULL) == GBE_NAME_INVALID)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "not a name that a backup can have; `greenboot-etcd list` shows "
				 "them");
	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	if (!restore(&session, &how, options, &result, error)) {
		gbe_session_abandon(&session);
		return false;
	}
	result.service_restarted = session.service.unit != NULL;
	if (!gbe_session_end(&session, error)) {
		(void)gbe_prefix(error, "%s is restored, but", result.name);
		return gbe_session_half(error);
	}
	*ret_result = result;
	memset(&result, 0, sizeof result);
	return true;
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
	if (!resolve(session->observed, options, &source, error) ||
	    !check_source(session->app, facts, source, options, error) ||
	    !check_usable(facts, source, options->force, error))
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

	if (options->target == GBE_BY_HAND_NAMED &&
	    gbe_backup_name_parse(options->name, NULL, NULL, NULL) == GBE_NAME_INVALID)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "not a name that a backup can have; `greenboot-etcd list` shows "
				 "them");
	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	if (!request(&session, options, ret_name, error)) {
		gbe_session_abandon(&session);
		return false;
	}
	return gbe_session_end(&session, error);
}

bool
gbe_by_hand_cancel(GbeApp *app, gboolean dry_run, gboolean *ret_had, GError **error)
{
	GbeSessionOptions how = {.operation = "restore", .dry_run = dry_run};
	GbeSession session;
	gboolean had;

	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	/* What the kernel command line asks is not in the state, and not ours to take back. */
	had = session.observed->facts->request.kind != GBE_REQUEST_NONE &&
	      !session.observed->facts->request.from_cmdline;
	if (!dry_run && had && !gbe_state_end_request(app, "cancelled", NULL, error)) {
		gbe_session_abandon(&session);
		return false;
	}
	if (!gbe_session_end(&session, error))
		return false;
	*ret_had = had;
	return true;
}
