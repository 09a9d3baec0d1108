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

typedef struct {
	GbeSession session;
	char *const *names;
	bool pinned, force;
	const char *restored; /* discard: in whose place the backup is */
	GPtrArray *removed;   /* prune: of GbeByHandRemoval */
} StoreChange;

static bool
check_names(char *const *names, GError **error)
{
	for (guint i = 0; names[i] != NULL; i++)
		if (!gbe_backup_name_check(names[i], error))
			return false;
	return true;
}

static bool
pin_backups(gpointer change, GError **error)
{
	StoreChange *store = change;
	GbeSession *session = &store->session;
	char *const *names = store->names;
	const GbeManifest *manifest;

	for (guint i = 0; names[i] != NULL; i++)
		if (!gbe_session_find(session->observed, names[i], &manifest, error))
			return false;
	for (guint i = 0; names[i] != NULL && !session->how.dry_run; i++) {
		g_autoptr(GbeManifest) changed = NULL;

		manifest = gbe_facts_backup(session->observed->facts, names[i]);
		if (manifest->pinned == store->pinned)
			continue;
		changed = gbe_manifest_copy(manifest);
		changed->pinned = store->pinned;
		if (!gbe_store_write_manifest(session->observed->store, changed, error))
			return false;
		gbe_session_did(session, "backup %s%s is %s", names[0], i > 0 ? " and more" : "",
				store->pinned ? "pinned" : "no longer pinned");
	}
	return true;
}

bool
gbe_by_hand_pin(GbeApp *app, char *const *names, bool pinned, bool dry_run, GError **error)
{
	StoreChange store = {
	    .session.how = {.operation = pinned ? "pin" : "unpin", .dry_run = dry_run},
	    .names = names,
	    .pinned = pinned};

	return check_names(names, error) &&
	       gbe_session_do(&store, app, "pin-written", pin_backups, error);
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

/* Is @manifest good, and no good backup left without it? */
static bool
is_last_good(const GbeFacts *facts, const GbeManifest *manifest)
{
	g_autoptr(GPtrArray) others = g_ptr_array_new();
	GbeFacts without = *facts;

	GBE_EACH(GbeManifest *, backup, facts->backups)
		if (backup != manifest)
			g_ptr_array_add(others, backup);
	without.backups = others;
	return manifest->grade == GBE_GRADE_GOOD && gbe_situation_last_good(&without) == NULL &&
	       gbe_situation_last_good(facts) != NULL;
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

/* An unproven backup may be left, but none that is known to be good. */
static bool
check_last_good(const StoreChange *store, const char *name, GError **error)
{
	const GbeFacts *facts = store->session.observed->facts;
	const GbeManifest *manifest = gbe_facts_backup(facts, name);

	if (manifest == NULL || !is_last_good(facts, manifest))
		return true;
	if (!store->force)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s is the last good one: without it, the data is not "
				 "protected; make another one first, or --force",
				 name);
	gbe_complain("backup %s is the last good one: until there is another, the data is not "
		     "protected",
		     name);
	return true;
}

static bool
remove_one(GbeSession *session, const char *name, const char *reason, GError **error)
{
	const GbeManifest *manifest = gbe_facts_backup(session->observed->facts, name);
	GbeEventFields fields = {.action = "delete", .backup = name, .reason = reason};

	if (manifest != NULL)
		return gbe_retention_remove(session->change.app, session->observed, manifest,
					    reason, NULL, error);
	if (!gbe_store_remove(session->observed->store, name, NULL, error))
		return false;
	gbe_event_deleted(&fields);
	return true;
}

static bool
check_removals(const StoreChange *store, GError **error)
{
	GbeFacts *facts = store->session.observed->facts;
	g_autoptr(GPtrArray) all = g_ptr_array_copy(facts->backups, NULL, NULL);
	GPtrArray *own = facts->backups;
	/* A restore that discards the displaced data has restored a backup instead. */
	bool by_name = store->restored == NULL, fine = true;

	/* A copy of the store's list without what was checked, so that two names together are not the last two valid
	 * backups. */
	g_ptr_array_set_free_func(all, NULL);
	facts->backups = all;
	for (guint i = 0; store->names[i] != NULL && fine; i++) {
		const char *name = store->names[i];

		fine = check_removal(store->session.observed, name, store->force, error) &&
		       (!by_name || check_last_good(store, name, error));
		if (fine)
			g_ptr_array_remove(all, (gpointer)gbe_facts_backup(facts, name));
	}
	facts->backups = own;
	return fine;
}

static bool
delete_backups(gpointer change, GError **error)
{
	StoreChange *store = change;
	GbeSession *session = &store->session;
	char *const *names = store->names;

	if (!check_removals(store, error))
		return false;
	if (session->how.dry_run)
		return true;
	for (guint i = 0; names[i] != NULL; i++) {
		if (!remove_one(session, names[i], "by hand", error)) {
			gbe_session_record(session, "failed", "removal failed", names[i]);
			return false;
		}
		gbe_session_did(session, "backup %s%s is deleted", names[0],
				i > 0 ? " and more" : "");
	}
	gbe_session_record(session, "done", "by hand", names[0]);
	return true;
}

bool
gbe_by_hand_delete(GbeApp *app, char *const *names, bool force, bool dry_run, GError **error)
{
	StoreChange store = {.session.how = {.operation = "delete", .dry_run = dry_run},
			     .names = names,
			     .force = force};

	return check_names(names, error) &&
	       gbe_session_do(&store, app, "delete-done", delete_backups, error);
}

static bool
discard_backup(gpointer change, GError **error)
{
	StoreChange *store = change;
	GbeSession *session = &store->session;
	const char *name = store->names[0];
	const GbeManifest *manifest;

	if (!gbe_session_find(session->observed, name, &manifest, error))
		return false;
	/* A person has removed the mark meanwhile. */
	if (!manifest->discard)
		return gbe_throw(error, GBE_ERROR_REFUSED, "backup %s is to stay", name);
	if (!check_removals(store, error) ||
	    !remove_one(session, name, "etcd is healthy on the restored data", error))
		return false;
	gbe_session_record(session, "done", "asked for by hand", store->restored);
	return true;
}

bool
gbe_by_hand_discard(GbeApp *app, const char *name, const char *restored, GError **error)
{
	char *const names[] = {(char *)name, NULL};
	StoreChange store = {.session.how.operation = "restore",
			     .names = names,
			     .restored = restored};

	return gbe_session_do(&store, app, "discard-done", discard_backup, error);
}

void
gbe_by_hand_removal_free(gpointer data)
{
	GbeByHandRemoval *removal = data;

	g_free(removal->name);
	g_free(removal->reason);
	g_free(removal);
}

static bool
note_removal(gpointer data, const GbeRemoval *next, GbeRetentionAnswer *ret_answer, GError **error)
{
	StoreChange *store = data;
	GbeByHandRemoval *removal = g_new0(GbeByHandRemoval, 1);

	(void)error;
	removal->name = g_strdup(next->backup->name);
	removal->reason = g_strdup(next->reason);
	g_ptr_array_add(store->removed, removal);
	if (store->session.how.dry_run)
		*ret_answer = GBE_RETENTION_LEAVE;
	return true;
}

static bool
prune_backups(gpointer change, GError **error)
{
	StoreChange *store = change;
	GbeSession *session = &store->session;
	const GbeFacts *facts = session->observed->facts;

	if (!gbe_facts_know_listed(facts)) {
		const char *why = "not an ostree system";

		if (facts->ostree == GBE_YES)
			why = session->observed->deployments->list_why != NULL
				  ? session->observed->deployments->list_why
			      : facts->booted_why != NULL
				  ? facts->booted_why
				  : "the booted one is not in ostree's list: is /boot mounted?";
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "ostree's deployments are unknown (%s), so nothing was pruned; "
				 "`greenboot-etcd delete NAME` removes one backup",
				 why);
	}
	if (facts->store == GBE_NO)
		return gbe_observed_no_store(session->observed, error);
	if (facts->unread != NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "nothing is pruned while something cannot be read: %s",
				 facts->unread);
	if (!gbe_retention_run(session->change.app, session->observed, note_removal, store,
			       error)) {
		if (store->removed->len > 1)
			gbe_session_did(session, "%u of the backups are deleted",
					store->removed->len - 1);
		return false;
	}
	if (!session->how.dry_run && store->removed->len > 0)
		gbe_session_record(session, "done", "by hand", NULL);
	return true;
}

bool
gbe_by_hand_prune(GbeApp *app, bool dry_run, GPtrArray **ret_removed, GError **error)
{
	g_autoptr(GPtrArray) removed = g_ptr_array_new_with_free_func(gbe_by_hand_removal_free);
	StoreChange store = {.session.how = {.operation = "prune", .dry_run = dry_run},
			     .removed = removed};

	if (!gbe_session_do(&store, app, "prune-done", prune_backups, error))
		return false;
	*ret_removed = g_steal_pointer(&removed);
	return true;
}
