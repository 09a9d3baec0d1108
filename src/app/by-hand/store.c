/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes the store by hand: pin, unpin, delete, prune. */
#include "app/by-hand/by-hand.h"

#include "app/backup/backup.h"
#include "app/by-hand/session.h"
#include "app/report/status.h"
#include "core/backup-name.h"
#include "core/decide/retention.h"
#include "core/decide/situation.h"
#include "sys/systemd/events.h"

static bool
check_names(char *const *names, GError **error)
{
	for (guint i = 0; names[i] != NULL; i++)
		if (!gbe_backup_name_check(names[i], error))
			return false;
	return true;
}

static bool
pin_backups(GbeSession *session, char *const *names, bool pinned, bool dry_run, GError **error)
{
	const GbeManifest *manifest;

	for (guint i = 0; names[i] != NULL; i++)
		if (!gbe_session_find(session->observed, names[i], &manifest, error))
			return false;
	for (guint i = 0; names[i] != NULL && !dry_run; i++) {
		g_autoptr(GbeManifest) changed = NULL;

		manifest = gbe_facts_backup(session->observed->facts, names[i]);
		if (manifest->pinned == pinned)
			continue;
		changed = gbe_manifest_copy(manifest);
		changed->pinned = pinned;
		if (!gbe_store_write_manifest(session->observed->store, changed, error))
			return false;
		gbe_session_did(session, "backup %s%s is %s", names[0], i > 0 ? " and more" : "",
				pinned ? "pinned" : "no longer pinned");
	}
	return true;
}

bool
gbe_by_hand_pin(GbeApp *app, char *const *names, bool pinned, bool dry_run, GError **error)
{
	GbeSessionOptions how = {.operation = pinned ? "pin" : "unpin", .dry_run = dry_run};
	GbeSession session;

	return check_names(names, error) && gbe_session_begin(app, &how, &session, error) &&
	       gbe_session_finish(&session, pin_backups(&session, names, pinned, dry_run, error),
				  error);
}

/* True: an update on trial would have nothing to go back to. */
static bool
is_trials_base(const GbeFacts *facts, const char *name)
{
	const GbeTakeOver *owner = facts->owner;
	GbeView view;

	gbe_view_live(facts, &view);
	for (guint i = 0; owner != NULL && view.trial.on == GBE_YES && i < owner->chain->len; i++) {
		const GbeManifest *backup = gbe_chain_backup(facts, &view, (int)i);
		const GbeLink *link = owner->chain->pdata[i];

		/* A backup of the deployment's own, restored by hand, is only where a retry starts: it is not
		 * protected. */
		if (backup != NULL && g_str_equal(backup->name, name) &&
		    !gbe_deployment_same(&link->owner, &owner->deployment))
			return true;
	}
	return false;
}

static bool
check_removal(const GbeObserved *observed, const char *name, bool force, GError **error)
{
	const GbeManifest *manifest;
	const char *of = NULL;

	if (force && gbe_status_is_damaged(observed, name))
		return true;
	if (!gbe_session_find(observed, name, &manifest, error))
		return false;
	if (force)
		return true;
	if (manifest->pinned)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s is pinned; `greenboot-etcd unpin %s` first, or --force",
				 name, name);
	if (gbe_retention_is_last_valid(observed->facts, name, &of)) {
		/* Backups that may be as valid, but could not be read. */
		const char *unread = observed->damaged != NULL && observed->damaged->len > 0
					 ? observed->damaged->pdata[0]
					 : NULL;

		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s is the last valid one %s%s%s%s; make another one "
				 "first, or --force",
				 name, of, unread != NULL ? " (the manifest of " : "",
				 unread != NULL ? unread : "",
				 unread != NULL ? " cannot be read)" : "");
	}
	if (is_trials_base(observed->facts, name))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s is what an update on trial goes back to; wait until it "
				 "is green, or --force",
				 name);
	return true;
}

static bool
remove_one(GbeSession *session, const char *name, const char *reason, GError **error)
{
	const GbeManifest *manifest = gbe_facts_backup(session->observed->facts, name);
	GbeEventFields fields = {.action = "delete", .backup = name, .reason = reason};

	if (manifest != NULL)
		return gbe_retention_remove(session->app, session->observed, manifest, reason, NULL,
					    error);
	if (!gbe_store_remove(session->observed->store, name, NULL, error))
		return false;
	gbe_event_deleted(&fields);
	return true;
}

static bool
check_removals(GbeSession *session, char *const *names, bool force, GError **error)
{
	GbeFacts *facts = session->observed->facts;
	g_autoptr(GPtrArray) all = g_ptr_array_copy(facts->backups, NULL, NULL);
	GPtrArray *own = facts->backups;
	bool fine = true;

	/* A copy of the store's list without what was checked, so that two names together are not the last two valid
	 * backups. */
	g_ptr_array_set_free_func(all, NULL);
	facts->backups = all;
	for (guint i = 0; names[i] != NULL && fine; i++) {
		fine = check_removal(session->observed, names[i], force, error);
		if (fine)
			g_ptr_array_remove(all, (gpointer)gbe_facts_backup(facts, names[i]));
	}
	facts->backups = own;
	return fine;
}

static bool
delete_backups(GbeSession *session, char *const *names, bool force, bool dry_run, GError **error)
{
	if (!check_removals(session, names, force, error))
		return false;
	for (guint i = 0; names[i] != NULL && !dry_run; i++) {
		if (!remove_one(session, names[i], "by hand", error)) {
			gbe_session_record(session, "failed", "removal failed", names[i]);
			return false;
		}
		gbe_session_did(session, "backup %s%s is deleted", names[0],
				i > 0 ? " and more" : "");
	}
	if (!dry_run)
		gbe_session_record(session, "done", "by hand", names[0]);
	return true;
}

bool
gbe_by_hand_delete(GbeApp *app, char *const *names, bool force, bool dry_run, GError **error)
{
	GbeSessionOptions how = {.operation = "delete", .dry_run = dry_run};
	GbeSession session;

	return check_names(names, error) && gbe_session_begin(app, &how, &session, error) &&
	       gbe_session_finish(&session, delete_backups(&session, names, force, dry_run, error),
				  error);
}

static bool
discard_backup(GbeSession *session, const char *name, const char *restored, GError **error)
{
	char *names[] = {(char *)name, NULL};
	const GbeManifest *manifest;

	if (!gbe_session_find(session->observed, name, &manifest, error))
		return false;
	/* A person has removed the mark meanwhile. */
	if (!manifest->discard)
		return gbe_throw(error, GBE_ERROR_REFUSED, "backup %s is to stay", name);
	if (!check_removals(session, names, false, error) ||
	    !remove_one(session, name, "etcd is healthy on what was restored in its place", error))
		return false;
	gbe_session_record(session, "done", "asked for by hand", restored);
	return true;
}

bool
gbe_by_hand_discard(GbeApp *app, const char *name, const char *restored, GError **error)
{
	GbeSessionOptions how = {.operation = "restore"};
	GbeSession session;

	return gbe_session_begin(app, &how, &session, error) &&
	       gbe_session_finish(&session, discard_backup(&session, name, restored, error), error);
}

void
gbe_by_hand_removal_free(gpointer data)
{
	GbeByHandRemoval *removal = data;

	g_free(removal->name);
	g_free(removal->reason);
	g_free(removal);
}

typedef struct {
	bool dry_run;
	GPtrArray *removed; /* of GbeByHandRemoval */
} Prune;

static bool
note_removal(gpointer data, const GbeRemoval *next, GbeRetentionAnswer *ret_answer, GError **error)
{
	Prune *prune = data;
	GbeByHandRemoval *removal = g_new0(GbeByHandRemoval, 1);

	(void)error;
	removal->name = g_strdup(next->backup->name);
	removal->reason = g_strdup(next->reason);
	g_ptr_array_add(prune->removed, removal);
	if (prune->dry_run)
		*ret_answer = GBE_RETENTION_LEAVE;
	return true;
}

static bool
prune_backups(GbeSession *session, bool dry_run, GPtrArray *removed, GError **error)
{
	const GbeFacts *facts = session->observed->facts;
	Prune how = {dry_run, removed};

	if (!gbe_facts_know_listed(facts)) {
		const char *why = "not an ostree system";

		if (facts->ostree == GBE_YES)
			why = session->observed->deployments->list_why != NULL
				  ? session->observed->deployments->list_why
			      : facts->booted_why != NULL
				  ? facts->booted_why
				  : "the booted one is not in ostree's list: is /boot mounted?";
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "ostree's deployments are not known (%s), so nothing is pruned; "
				 "`greenboot-etcd delete` removes by name",
				 why);
	}
	if (facts->store == GBE_NO)
		return gbe_observed_no_store(session->observed, error);
	if (facts->unread != NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "nothing is pruned while something cannot be read: %s",
				 facts->unread);
	if (!gbe_retention_run(session->app, session->observed, note_removal, &how, error)) {
		if (removed->len > 1)
			gbe_session_did(session, "%u of the backups are deleted", removed->len - 1);
		return false;
	}
	if (!dry_run && removed->len > 0)
		gbe_session_record(session, "done", "by hand", NULL);
	return true;
}

bool
gbe_by_hand_prune(GbeApp *app, bool dry_run, GPtrArray **ret_removed, GError **error)
{
	GbeSessionOptions how = {.operation = "prune", .dry_run = dry_run};
	g_autoptr(GPtrArray) removed = g_ptr_array_new_with_free_func(gbe_by_hand_removal_free);
	GbeSession session;

	if (!gbe_session_begin(app, &how, &session, error) ||
	    !gbe_session_finish(&session, prune_backups(&session, dry_run, removed, error), error))
		return false;
	*ret_removed = g_steal_pointer(&removed);
	return true;
}
