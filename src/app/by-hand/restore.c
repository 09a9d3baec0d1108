/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/by-hand/by-hand.h"

#include "app/backup/backup.h"
#include "app/backup/restore.h"
#include "app/backup/settings.h"
#include "app/backups/store.h"
#include "app/by-hand/session.h"
#include "app/state/ledger.h"
#include "app/state/state.h"
#include "core/backup-name.h"
#include "core/decide/decide.h"
#include "core/decide/situation.h"
#include "core/space.h"
#include "fs/exchange.h"
#include "fs/open.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
	GbeSession session;
	const GbeByHandRestore *options;
	GbePlan *plan;
	gint64 look_usec; /* what validation took */
	bool waited;	  /* a request was there, which the restore ends */
	GbeByHandResult result;
} Restore;

/* ---- the backup that a person means, and the reasons not to restore it; its data is not read ---- */

static bool
find_displaced(const GbeObserved *observed, const GbeManifest **ret_source, GError **error)
{
	const GbeFacts *facts = observed->facts;
	bool failed;

	*ret_source = gbe_situation_undo(facts, &failed);
	if (*ret_source != NULL)
		return true;
	if (facts->unread != NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot determine the data that the last restore set aside (%s); "
				 "`greenboot-etcd list` shows the backups",
				 facts->unread);
	if (facts->undo.name == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "nothing to undo: no restore has set data aside; "
				 "`greenboot-etcd log` shows what was done");
	if (facts->store == GBE_NO)
		return gbe_observed_no_store(observed, error);
	return gbe_throw(error, GBE_ERROR_NOT_FOUND,
			 "nothing to undo: the last restore set the data aside as %s, and that "
			 "backup was deleted; `greenboot-etcd log` shows what was done",
			 facts->undo.name);
}

/* Finds the backup that @options mean now. The backup belongs to @observed. */
static bool
find_source(const GbeObserved *observed, const GbeByHandRestore *options,
	    const GbeManifest **ret_source, GError **error)
{
	const GbeFacts *facts = observed->facts;
	const GbeManifest *source;

	if (options->target == GBE_BY_HAND_NAMED)
		return gbe_session_find(observed, options->name, ret_source, error);
	if (options->target == GBE_BY_HAND_UNDO)
		return find_displaced(observed, ret_source, error);
	source = gbe_situation_last_good(facts);
	if (source != NULL) {
		*ret_source = source;
		return true;
	}
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->grade == GBE_GRADE_GOOD && backup->voters > 1)
			return gbe_throw(
			    error, GBE_ERROR_REFUSED,
			    "backup %s is good, but of a cluster of %u voters; remove this member "
			    "from the cluster and add it again, or name the backup, with --force",
			    backup->name, backup->voters);
	}
	return gbe_throw(error, GBE_ERROR_NOT_FOUND,
			 "no good backup in %s; `greenboot-etcd list` shows what there is",
			 observed->store->path);
}

/* Refuses for reasons in the backup: it has no data, is bad, is a cluster's, or is of another directory. */
static bool
check_source(GbeApp *app, const GbeFacts *facts, const GbeManifest *source,
	     const GbeByHandRestore *options, GError **error)
{
	bool failed;

	if (source->consumed)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s has no data of its own any more: a restore without "
				 "room took it; restore another one",
				 source->name);
	if (options->force)
		return true;
	if (options->target == GBE_BY_HAND_UNDO && gbe_situation_undo(facts, &failed) != NULL &&
	    failed)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s is graded bad (%s): `undo` would bring back what a "
				 "failed update wrote; look with `greenboot-etcd show %s`, or "
				 "add --force",
				 source->name,
				 source->grade_reason != NULL ? source->grade_reason
							      : "no reason recorded",
				 source->name);
	/* A person asked for the restore, whatever the grade of the data that it set aside. */
	if (source->grade == GBE_GRADE_BAD && options->target != GBE_BY_HAND_UNDO)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "backup %s is graded bad (%s); take another one, or --force", source->name,
		    source->grade_reason != NULL ? source->grade_reason : "no reason recorded");
	if (source->voters > 1)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s is of a cluster of %u voters; remove this member from "
				 "the cluster and add it again, or --force",
				 source->name, source->voters);
	if (source->data_dir != NULL && facts->data_dir != NULL &&
	    !g_str_equal(source->data_dir, facts->data_dir))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s is of %s, not of %s; take another one, or --force",
				 source->name, source->data_dir, facts->data_dir);
	return gbe_keys_check_backup(app, source, true, error);
}

/* Refuses for reasons in the data directory. */
static bool
check_place(const GbeObserved *observed, const GbeSituation *live, const GbeView *view, bool force,
	    GError **error)
{
	const GbeFacts *facts = observed->facts;

	if (facts->data == GBE_UNKNOWN && !(force && facts->deformed))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "what is in %s cannot be read (%s); look at it first%s",
				 observed->data->path,
				 facts->data_why != NULL ? facts->data_why : "unknown",
				 facts->deformed ? ", or --force sets it aside as it is" : "");
	if (observed->data->parent_fd < 0)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "the directory that is to hold %s is not there; make it, or mount "
				 "it",
				 observed->data->path);
	if (force)
		return true;
	if (facts->ostree == GBE_YES && facts->booted.id == NULL)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "cannot identify the booted deployment (%s), so the data would have "
		    "no owner; add --force to restore anyway",
		    facts->booted_why != NULL ? facts->booted_why : "unknown");
	if (live->mount_lost)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "nothing is mounted at %s, which used to be a mount point; mount "
				 "it, or use --force to restore into the directory itself",
				 observed->data->path);
	if (view->voters > 1)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "the data in %s belongs to a member of a cluster with more than one voter; "
		    "remove the member from the cluster and add it again, or use --force",
		    observed->data->path);
	return true;
}

/* Refuses a backup that is unfit wherever it goes, or that this deployment's etcd cannot read. @now: also a data
 * directory that nothing can be restored into. */
static bool
check_restore(const Restore *restore, const GbeManifest *source, bool now, GError **error)
{
	const GbeSession *session = &restore->session;
	const GbeByHandRestore *options = restore->options;
	const GbeFacts *facts = session->observed->facts;
	GbeSituation situation;
	GbeView view;

	if (!check_source(session->change.app, facts, source, options, error))
		return false;
	if (now) {
		gbe_view_live(facts, &view);
		gbe_situation_derive(facts, &view, true, &situation);
		if (!check_place(session->observed, &situation, &view, options->force, error))
			return false;
	}
	gbe_view_backup(facts, source, &view);
	gbe_situation_derive(facts, &view, true, &situation);
	if (situation.usable == GBE_NO && !options->force)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s was written for %s %s, and this deployment's is older: "
				 "boot a deployment that reads it, or --force",
				 source->name, source->data_version != NULL ? "version" : "etcd",
				 source->data_version != NULL	      ? source->data_version
				 : gbe_manifest_needs(source) != NULL ? gbe_manifest_needs(source)
								      : "(unknown)");
	return true;
}

/* ---- --keep-existing: the displaced data becomes a directory of the caller's choice, by one rename ---- */

/* Walks up from @fd to the root: a path may lead through links and mounts, so paths are not compared. */
static bool
lies_below(int fd, int above_fd, bool *ret_below, GError **error)
{
	struct stat above, here, before = {0};
	gbe_autofd int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	*ret_below = false;
	if (above_fd < 0)
		return true;
	if (at < 0 || fstat(above_fd, &above) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the directory");
	for (;;) {
		int parent;

		if (fstat(at, &here) < 0)
			return gbe_throw_errno(error, errno, "cannot look at the directory");
		if (here.st_dev == above.st_dev && here.st_ino == above.st_ino)
			*ret_below = true;
		if (*ret_below || (here.st_dev == before.st_dev && here.st_ino == before.st_ino))
			return true;
		before = here;
		parent = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (parent < 0)
			return gbe_throw_errno(error, errno, "cannot look above the directory");
		gbe_close_fd(&at);
		at = parent;
	}
}

/* Can the data become @path, absolute without --root? GBE_ERROR_NOT_FOUND: the parent directory does not exist;
 * _FAILED: @path exists; _REFUSED: a rename cannot reach it. */
static bool
check_kept_place(GbeApp *app, const GbeObserved *observed, const char *path, GError **error)
{
	const GbeData *data = observed->data;
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	bool in_data = false, in_store = false;
	struct stat st;

	if (!gbe_open_parent_in_root(app->root_fd, path, &dir_fd, &name, error))
		return gbe_prefix(error, "--keep-existing=%s", path);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "%s is there already; take another name for --keep-existing",
				 path);
	if (errno != ENOENT)
		return gbe_throw_errno(error, errno, "cannot look at %s", path);
	if (!lies_below(dir_fd, data->fd, &in_data, error) ||
	    !lies_below(dir_fd, observed->store->fd, &in_store, error))
		return gbe_prefix(error, "%s", path);
	if (in_data || in_store)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s lies in %s itself; choose a place next to it", path,
				 in_data ? data->path : observed->store->path);
	if (data->mount_point || !gbe_probe_rename(data->parent_fd, dir_fd))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s cannot become %s by one rename: that takes a place on its "
				 "file system; or leave --keep-existing out, and copy the backup "
				 "that it becomes",
				 data->path, path);
	return true;
}

/* ---- the restore ---- */

static char *
describe_loss(const GbeFacts *facts, const GbeManifest *source)
{
	g_autofree char *age = NULL;
	GbeView live;

	gbe_view_live(facts, &live);
	if (facts->data == GBE_NO)
		return g_strdup("nothing: there was no data");
	if (facts->linked)
		return g_strdup("the link, and nothing of what it leads to");
	if (facts->data == GBE_UNKNOWN)
		return g_strdup("the present data, which cannot be read");
	/* On one line, a revision has one content. */
	if (facts->revision >= 0 && facts->revision == source->revision && live.lineage != NULL &&
	    gbe_lineage_contains(live.lineage, facts->next_sequence, source->lineage.line,
				 gbe_manifest_place(source)) == GBE_YES)
		return g_strdup("nothing: the data has the revision of the backup");
	if (source->created <= 0 || facts->now < source->created)
		return g_strdup_printf("what etcd has written since backup %s", source->name);
	age = gbe_duration_to_text((guint64)(facts->now - source->created));
	return g_strdup_printf("what etcd has written in the last %s, since backup %s", age,
			       source->name);
}

/* @name NULL: nothing takes the data's place. */
static bool
run_restore(GbeSession *session, const GbePlan *plan, const char *name,
	    const GbeRestoreOptions *how, GbeTiming *ret_timing, GError **error)
{
	const GbeAction *displace = gbe_plan_find(plan, GBE_ACTION_DISPLACE);
	bool partial;

	gbe_ledger_reserve(session->change.app, plan->last_sequence);
	if (gbe_restore_run(session->change.app, session->observed, name, plan->take_over,
			    plan->take_over->sequence, displace != NULL ? displace->manifest : NULL,
			    how, ret_timing, error)) {
		gbe_session_record(session, "done", "asked for by hand", name);
		return true;
	}
	partial = g_error_matches(*error, GBE_ERROR, GBE_ERROR_PARTIAL);
	gbe_session_record(session, partial ? "partial" : "failed", (*error)->message, name);
	return false;
}

static void
emit_event(const GbeSession *session, const GbeByHandResult *result)
{
	const GbeFacts *facts = session->observed->facts;
	GbeEventFields fields = {
	    .rule = "by-hand",
	    .action = session->how.operation,
	    .backup = result->name != NULL ? result->name : result->displaced,
	    .deployment = facts->booted.id,
	    .run = facts->run,
	    .duration_usec = result->timing.total_usec,
	};
	const char *kept = result->displaced != NULL ? result->displaced : result->kept;
	g_autofree char *reason = NULL;

	if (result->name == NULL) {
		gbe_event_set_aside(&fields);
		return;
	}
	fields.reason = reason = g_strdup_printf(
	    "a person asked for it%s%s", kept != NULL ? "; the replaced data is kept as " : "",
	    kept != NULL ? kept : "");
	fields.displaced = result->displaced;
	gbe_event_restored(&fields);
}

/* The settings of a member of a cluster follow its data, before etcd starts with them. After a restore, by a new look. */
static bool
follow_settings(gpointer change, GError **error)
{
	const GbeObserveOptions again = {.repair = true, .lock_data = true};
	GbeSession *session = change;
	GbeApp *app = session->change.app;
	bool any = false, moved = false, restored = session->done != NULL, ok;

	ok = gbe_settings_aside(app, &any, error);
	if (ok && any && restored)
		ok = gbe_observe_again(app, &again, session->observed, error);
	if (ok && any) {
		gbe_observe_inside(session->observed);
		ok = gbe_settings_follow(app, session->observed, &moved, error);
	}
	return ok || (restored ? gbe_prefix(error, "its settings are not back") : false);
}

/* Before the service is stopped: reads the backup and checks that it is sound. Grades it bad when it is damaged;
 * --last-good then means another backup. */
static bool
choose_source(gpointer change, GError **error)
{
	Restore *restore = change;
	const GbeByHandRestore *options = restore->options;
	const char *keep = options->keep_existing;
	GbeObserved *observed = restore->session.observed;
	GbeApp *app = restore->session.change.app;

	/* The displaced data would lie below the mount point of the store. */
	if (observed->facts->store == GBE_NO)
		return gbe_observed_no_store(observed, error);
	if (keep != NULL && !check_kept_place(app, observed, keep, error))
		return false;
	/* An earlier restore may have been cut before this. */
	if (!options->dry_run && !follow_settings(restore, error))
		return false;
	for (;;) {
		const GbeManifest *source;
		g_autoptr(GError) local = NULL;
		g_autoptr(GError) why = NULL;
		bool damaged;

		if (!find_source(observed, options, &source, error))
			return false;
		/* Before the backup is read: without --stop, a running etcd is in the way. */
		if (!options->stop && !gbe_session_quiesce(restore, error))
			return false;
		if (!check_restore(restore, source, true, error))
			return false;
		if (options->force || gbe_restore_validate(app, observed->store, source,
							   &restore->look_usec, &local)) {
			restore->result.name = g_strdup(source->name);
			return true;
		}
		damaged = g_error_matches(local, GBE_ERROR, GBE_ERROR_VERIFY_FAILED);
		if (damaged && !gbe_damage_grade(app, observed, source->name, local->message, &why))
			gbe_note("%s", why->message);
		if (!damaged || options->target != GBE_BY_HAND_LAST_GOOD)
			return gbe_pass(error, &local);
		gbe_complain("%s", local->message);
	}
}

/* The observation may be a new one by now, and data that etcd had open can be looked into. */
static bool
plan_restore(gpointer change, GError **error)
{
	Restore *restore = change;
	const GbeByHandRestore *options = restore->options;
	GbeByHandResult *result = &restore->result;
	GbeObserved *observed = restore->session.observed;
	const GbeRequest *request = &observed->facts->request;
	const GbeManifest *source = NULL;
	const GbeAction *displace;
	GbePlan *plan;

	restore->waited = request->kind != GBE_REQUEST_NONE && !request->from_cmdline;
	gbe_observe_inside(observed);
	if (!gbe_session_find(observed, result->name, &source, error) ||
	    !check_restore(restore, source, true, error))
		return false;
	restore->plan = plan = gbe_decide_by_hand(
	    observed->facts, result->name, options->force || options->target == GBE_BY_HAND_UNDO);
	if (plan->take_over == NULL)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED, "backup %s cannot be restored: %s", result->name,
		    plan->request_failed != NULL ? plan->request_failed : plan->reason);
	displace = gbe_plan_find(plan, GBE_ACTION_DISPLACE);
	if (displace != NULL)
		displace->manifest->discard = options->skip_backup;
	if (options->keep_existing != NULL)
		result->kept = displace != NULL ? g_strdup(options->keep_existing) : NULL;
	else
		result->displaced = displace != NULL ? g_strdup(displace->name) : NULL;
	result->size = source->size;
	result->grade = source->grade;
	result->method = source->method;
	result->loss = describe_loss(observed->facts, source);
	result->dry_run = options->dry_run;
	return true;
}

static bool
put_in_place(gpointer change, GError **error)
{
	Restore *restore = change;
	const GbeByHandRestore *options = restore->options;
	GbeSession *session = &restore->session;
	GbeByHandResult *result = &restore->result;
	const GbeRestoreOptions how = {.rule = "by-hand",
				       .validated = true,
				       .force = options->force,
				       .keep_existing = options->keep_existing};
	gbe_autofd int kept_fd = -1;

	if (options->announce != NULL)
		options->announce(result, options->announce_data);
	if (!run_restore(session, restore->plan, result->name, &how, &result->timing, error))
		return false;
	result->timing.look_usec += session->observed->look_usec + restore->look_usec;
	/* Also files that lay there and are not etcd's data. */
	if (options->keep_existing != NULL && result->kept == NULL &&
	    gbe_open_in_root(session->change.app->root_fd, options->keep_existing,
			     O_PATH | O_DIRECTORY, &kept_fd, NULL))
		result->kept = g_strdup(options->keep_existing);
	gbe_session_did(session, "backup %s is restored", result->name);
	if (restore->waited)
		gbe_complain("the request for the next boot (restore --next-boot) is cancelled");
	emit_event(session, result);
	return true;
}

static const GbeStep restore_steps[] = {
    GBE_SESSION_LOOK,
    {"restore-source-chosen", choose_source, NULL, GBE_STEP_LOOK, 0},
    {"restore-quiesced", gbe_session_quiesce, NULL, GBE_STEP_LOOK, 0},
    {"restore-planned", plan_restore, NULL, GBE_STEP_LOOK, 0},
    {"restore-in-place", put_in_place, NULL, 0, 0},
    {"restore-settings-after", follow_settings, NULL, 0, 0},
    {NULL, NULL, NULL, 0, 0},
};

bool
gbe_by_hand_restore(GbeApp *app, const GbeByHandRestore *options, GbeByHandResult *ret_result,
		    GError **error)
{
	const char *operation = options->target == GBE_BY_HAND_UNDO ? "undo" : "restore";
	Restore restore = {.session.how = {.operation = operation,
					   .data = true,
					   .inside = true,
					   .dry_run = options->dry_run,
					   .stop_allowed = options->stop},
			   .options = options};
	bool ok =
	    (options->target != GBE_BY_HAND_NAMED || gbe_backup_name_check(options->name, error)) &&
	    gbe_session_run(&restore, app, restore_steps, error);

	gbe_plan_free(restore.plan);
	restore.result.service_restarted = restore.session.restarted;
	if (ok)
		*ret_result = restore.result;
	else
		gbe_by_hand_result_clear(&restore.result);
	return ok;
}

/* ---- the data, and the settings, are set aside; nothing takes their place ---- */

typedef struct {
	GbeSession session;
	bool discard;
	GbeBackupRef *ret_backup;
	guint64 number; /* of the settings */
} Aside;

static bool
set_data_aside(gpointer change, GError **error)
{
	const GbeRestoreOptions how = {.rule = "by-hand", .force = true};
	Aside *aside = change;
	GbeFacts *facts = aside->session.observed->facts;
	g_autoptr(GbePlan) plan = gbe_decide_by_hand(facts, NULL, true);
	const GbeAction *displace = gbe_plan_find(plan, GBE_ACTION_DISPLACE);
	GbeByHandResult result = {0};

	if (plan->take_over == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED, "the data cannot be set aside: %s",
				 plan->reason);
	if (displace == NULL) {
		/* An earlier call was cut after its exchange. A caller that discards must not get its data. */
		if (!aside->discard && facts->owner != NULL && gbe_take_over_empties(facts->owner))
			gbe_backup_ref_set(aside->ret_backup, facts->owner->found);
		return true;
	}
	displace->manifest->discard = aside->discard;
	gbe_backup_ref_set(aside->ret_backup, plan->take_over->found);
	result.displaced = displace->name;
	if (!run_restore(&aside->session, plan, NULL, &how, &result.timing, error))
		return false;
	emit_event(&aside->session, &result);
	return true;
}

bool
gbe_by_hand_set_aside(GbeApp *app, const char *operation, bool discard, GbeBackupRef *ret_backup,
		      GError **error)
{
	static const GbeStep steps[] = {
	    GBE_SESSION_LOOK,
	    {"aside-quiesced", gbe_session_quiesce, NULL, GBE_STEP_LOOK, 0},
	    {"aside-set", set_data_aside, NULL, 0, 0},
	    {NULL, NULL, NULL, 0, 0},
	};
	Aside aside = {.session.how = {.operation = operation, .data = true, .inside = true},
		       .discard = discard,
		       .ret_backup = ret_backup};

	return gbe_session_run(&aside, app, steps, error);
}

static bool
set_settings_aside(gpointer change, GError **error)
{
	Aside *aside = change;

	return gbe_settings_set_aside(aside->session.change.app, aside->session.observed,
				      aside->number, error);
}

bool
gbe_by_hand_set_settings_aside(GbeApp *app, const char *operation, guint64 number, GError **error)
{
	Aside aside = {.session.how = {.operation = operation}, .number = number};

	return gbe_session_do(&aside, app, "settings-aside", set_settings_aside, error);
}

bool
gbe_by_hand_follow_settings(GbeApp *app, GError **error)
{
	GbeSession session = {.how = {.operation = "restore", .inside = true}};
	bool any = false;

	/* Without a state directory nothing is set aside, and the operation itself says why it cannot open it. */
	if (!gbe_app_open_state(app, false, NULL))
		return true;
	return gbe_settings_aside(app, &any, error) &&
	       (!any || gbe_session_do(&session, app, "settings-followed", follow_settings, error));
}

/* ---- a restore at the next boot ---- */

static bool
request_restore(gpointer change, GError **error)
{
	static const GbeRequestKind kinds[] = {
	    [GBE_BY_HAND_NAMED] = GBE_REQUEST_RESTORE,
	    [GBE_BY_HAND_LAST_GOOD] = GBE_REQUEST_LAST_GOOD,
	    [GBE_BY_HAND_UNDO] = GBE_REQUEST_UNDO,
	};
	Restore *restore = change;
	const GbeByHandRestore *options = restore->options;
	const GbeFacts *facts = restore->session.observed->facts;
	GbeRequest wanted = {.kind = kinds[options->target], .force = options->force};
	const GbeManifest *source;
	GbeView view;
	bool written = true;

	if (facts->run == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "%s, so a restore cannot be scheduled for the next one",
				 facts->run_why);
	if (!find_source(restore->session.observed, options, &source, error) ||
	    !check_restore(restore, source, false, error))
		return false;
	gbe_view_live(facts, &view);
	if (view.voters > 1 && !options->force)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the data belongs to a member of a cluster with more than one "
				 "voter; remove the member and add it again, or use --force");
	wanted.name = options->target == GBE_BY_HAND_NAMED ? g_strdup(options->name) : NULL;
	wanted.run = g_strdup(facts->run);
	if (!options->dry_run)
		written = gbe_state_write_request(restore->session.change.app, &wanted, error);
	gbe_request_clear(&wanted);
	restore->result.name = g_strdup(source->name);
	return written;
}

bool
gbe_by_hand_request(GbeApp *app, const GbeByHandRestore *options, char **ret_name, GError **error)
{
	Restore restore = {.session.how = {.operation = "restore", .dry_run = options->dry_run},
			   .options = options};

	if ((options->target == GBE_BY_HAND_NAMED &&
	     !gbe_backup_name_check(options->name, error)) ||
	    !gbe_session_do(&restore, app, "request-written", request_restore, error)) {
		g_free(restore.result.name);
		return false;
	}
	*ret_name = restore.result.name;
	return true;
}

/* A request of the kernel command line is not in the state; this program cannot cancel it. */
static bool
end_request(gpointer change, GError **error)
{
	GbeSession *session = change;
	const GbeRequest *request = &session->observed->facts->request;

	session->change.ended = request->kind == GBE_REQUEST_NONE || request->from_cmdline;
	return session->change.ended || session->how.dry_run ||
	       gbe_state_end_request(session->change.app, "cancelled", NULL, error);
}

bool
gbe_by_hand_cancel(GbeApp *app, bool dry_run, bool *ret_had, GError **error)
{
	GbeSession session = {.how = {.operation = "restore", .dry_run = dry_run}};

	if (!gbe_session_do(&session, app, "request-cancelled", end_request, error))
		return false;
	*ret_had = !session.change.ended;
	return true;
}
