/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/restore.h"

#include "app/backup/backup.h"
#include "app/backup/recover.h"
#include "app/backups/data.h"
#include "app/backups/store.h"
#include "app/backups/verify.h"
#include "app/state/ledger.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "core/space.h"
#include "fs/copy/clone.h"
#include "fs/copy/compare.h"
#include "fs/copy/extents.h"
#include "fs/copy/metadata.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/probe.h"
#include "fs/sync.h"
#include "fs/tree.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* On a full disk, a restore gives these up, one after the other, and tries again. */
typedef enum {
	ROOM_AS_IT_IS,
	ROOM_RESERVE,	/* the reserves */
	ROOM_RETENTION, /* backups that retention removes anyway */
	ROOM_BAD,	/* bad backups, also those that keep-bad keeps */
	ROOM_SOURCE,	/* the copy: the backup's own tree takes the data's place */
	ROOM_DISPLACED, /* the displaced tree, if it would be a bad backup */
} Room;

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	const GbeManifest *backup; /* NULL: an empty directory takes the data's place */
	const GbeTakeOver *take_over;
	const GbeRestoreOptions *options;
	GbeIntent *intent;
	int stage_fd;  /* directory that holds the staging tree */
	char *staged;  /* ".staging-<n>": its name while it is made */
	char *staging; /* ".restore-<n>" */
	int tree_fd;   /* the staging tree */
	Room room;     /* the last stage that was used */
	bool full;     /* a write failed on a full disk, though the file system may report space */
	char *lost;    /* the displaced tree's name, if it was removed */
	GbeTiming timing;
} Restore;

static void
restore_clear(Restore *r)
{
	gbe_intent_free(r->intent);
	gbe_close_fd(&r->stage_fd);
	gbe_close_fd(&r->tree_fd);
	g_free(r->staged);
	g_free(r->staging);
	g_free(r->lost);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Restore, restore_clear)

/* The tree that replaces the data, for messages. */
static const char *
named(const Restore *r)
{
	return r->backup != NULL ? r->backup->name : "an empty directory";
}

/* ---- the staging tree ---- */

/* Opens the directory of the staging tree: next to the data directory, from where a rename reaches it. If the data
 * directory is a mount point, this is the data directory itself. */
static bool
open_stage(Restore *r, GError **error)
{
	GbeData *data = r->observed->data;

	if (data->parent_fd < 0)
		return gbe_throw(
		    error, GBE_ERROR_NOT_FOUND,
		    "the directory that %s would lie in is not there; make it, or mount "
		    "it",
		    data->path);
	if (!data->mount_point) {
		r->stage_fd = fcntl(data->parent_fd, F_DUPFD_CLOEXEC, 3);
		if (r->stage_fd < 0)
			return gbe_throw_errno(error, errno, "open the parent of %s", data->path);
		return true;
	}
	return gbe_own_dir_open_at(data->fd, gbe_data_hidden, true, &r->stage_fd, error) ||
	       gbe_prefix(error, "%s", data->path);
}

/* Would a copy have room? A clone is tried, and so is a copy of which that is not known. The fact `clones` is about the
 * data and the store. On a full disk it is unknown, until the reserve is given back. */
static bool
fits(const Restore *r, int src_fd, guint64 *ret_missing)
{
	GbeSpace space = {0};

	*ret_missing = 0;
	if ((r->observed->facts->clones == GBE_YES && gbe_same_filesystem(src_fd, r->stage_fd)) ||
	    gbe_probe_clone(src_fd, r->stage_fd) == GBE_YES ||
	    !gbe_extents_space(src_fd, r->stage_fd, false, &space, NULL))
		return true;
	*ret_missing = gbe_space_missing(&space);
	return gbe_space_fits(&space);
}

/* Asks retention for one backup after the other, until the copy fits. */
static bool
is_room_needed(gpointer data, const GbeRemoval *next, GbeRetentionAnswer *ret_answer,
	       GError **error)
{
	const Restore *r = data;
	gbe_autofd int src_fd = -1;
	guint64 missing;

	(void)error;
	if (next->backup == r->backup)
		*ret_answer = GBE_RETENTION_LEAVE;
	else if (!r->full && r->backup != NULL &&
		 gbe_store_open_data(r->observed->store, r->backup->name, &src_fd, NULL) &&
		 fits(r, src_fd, &missing))
		*ret_answer = GBE_RETENTION_END;
	return true;
}

/* Does the take-over name @backup as a state to return to? A backup that a person chose for the next attempts does not count. */
static bool
is_base(const Restore *r, const char *backup)
{
	const GbeTakeOver *to = r->take_over;

	for (guint i = 0; to != NULL && i < to->chain->len; i++) {
		const GbeLink *link = to->chain->pdata[i];

		if (g_strcmp0(link->backup.name, backup) == 0 &&
		    !(to->asked && gbe_deployment_same(&link->owner, &to->deployment)))
			return true;
	}
	return false;
}

/* A bad backup may go, unless the take-over has it as the base of a trial. */
static bool
may_lose(const Restore *r, const GbeManifest *displaced)
{
	return displaced != NULL && displaced->grade == GBE_GRADE_BAD && !displaced->set_aside &&
	       !is_base(r, displaced->name);
}

/* Takes the next step to more room. False: the last one was taken. */
static bool
give_up_more(Restore *r)
{
	if (r->room == ROOM_DISPLACED)
		return false;
	r->room++;
	if (r->room == ROOM_RESERVE)
		gbe_store_reserve(r->app, r->observed->store, GBE_RESERVE_GIVE_UP);
	if (r->room == ROOM_BAD)
		r->observed->facts->cramped = GBE_YES;
	/* A backup that cannot be removed makes no room, and is noted. */
	if (r->room == ROOM_RETENTION || r->room == ROOM_BAD)
		(void)gbe_retention_run(r->app, r->observed, is_room_needed, r, NULL);
	(void)gbe_app_progress(1, r->app);
	return true;
}

/* Makes room for the staged copy. Without it, the backup's own tree is moved by rename. */
static bool
make_room(Restore *r, int src_fd, GError **error)
{
	GbeStore *own = r->observed->store;
	const GbeStore *store;
	g_autofree char *text = NULL;
	guint64 missing;
	bool fit = fits(r, src_fd, &missing);

	while (!fit && r->room < ROOM_SOURCE) {
		(void)give_up_more(r);
		fit = fits(r, src_fd, &missing);
	}
	/* The base of a trial must stay as it is. Recovery knows the configured store alone. */
	if (r->room >= ROOM_SOURCE && !is_base(r, r->backup->name)) {
		store = gbe_store_at(own, r->backup->name);
		r->intent->consume =
		    (store == own || store == own->near) && gbe_same_mount(store->fd, r->stage_fd);
	}
	/* XFS may have up to some hundred free inodes more than it says: the copy finds out. */
	if (fit || r->intent->consume || missing == 0)
		return true;
	text = gbe_size_to_text(missing);
	return gbe_throw(error, GBE_ERROR_NO_SPACE,
			 "no room to restore %s next to %s: %s more are needed", r->backup->name,
			 r->observed->data->path, text);
}

static bool
write_nonce(Restore *r, GError **error)
{
	/* A backup has the nonce of the take-over under which it was taken. */
	g_autoptr(GError) local = NULL;

	if (r->intent->take_over == NULL)
		return gbe_unlink_durable_at(r->tree_fd, GBE_NONCE_NAME, error);
	if (gbe_data_write_nonce_at(r->app, r->tree_fd, r->intent->take_over, &local))
		return true;
	if (!r->intent->consume || !g_error_matches(local, GBE_ERROR, GBE_ERROR_NO_SPACE))
		return gbe_pass(error, &local);
	/* The nonce only helps when root moves the data; the one of an earlier take-over must not stay. */
	gbe_note("%s", local->message);
	return gbe_unlink_durable_at(r->tree_fd, GBE_NONCE_NAME, error);
}

/* The tree must be whole, and durable under its name, before the ledger says so: the ledger may lie on another disk. */
static bool
settle(Restore *r, GError **error)
{
	bool elsewhere = !gbe_same_filesystem(r->app->state_fd, r->stage_fd);

	return gbe_sync_content(r->stage_fd, r->timing.bytes_written > 0 || elsewhere,
				r->observed->data->path, &r->timing.flushes, error);
}

static char *
member_entry(const GbeData *data)
{
	if (data->member_path == NULL || *data->member_path == '\0')
		return g_strdup("member");
	return g_strndup(data->member_path, strcspn(data->member_path, "/"));
}

/* Writes the intent, with the known facts about both trees. */
static bool
write_intent(Restore *r, GError **error)
{
	GbeData *data = r->observed->data;
	g_autofree char *last = member_entry(data);
	GbeIntent *intent = r->intent;

	if (data->mount_point && !gbe_entries_plan(r->tree_fd, last, &intent->entries, error))
		return gbe_prefix(error, "%s", data->path);
	intent->tree_new = gbe_tree_identity(r->tree_fd);
	intent->tree_old = data->fd >= 0 ? gbe_tree_identity(data->fd) : NULL;
	/* The file system may have failed to answer once. */
	if (intent->tree_new == NULL || (data->fd >= 0 && intent->tree_old == NULL))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot identify directories on the file system of %s",
				 data->path);
	/* At a mount point, the directory itself stays. */
	if (intent->take_over != NULL) {
		g_free(intent->take_over->tree);
		intent->take_over->tree =
		    g_strdup(data->mount_point ? intent->tree_old : intent->tree_new);
	}
	r->timing.flushes++;
	return gbe_state_write_intent(r->app, intent, GBE_WRITE_DURABLE, error) &&
	       !GBE_FAULT("restore-intended", error);
}

/* Opens the staging tree, which the data's project gets. A restore does not fail over who is charged for it. */
static bool
open_tree(Restore *r, int dir_fd, const char *name, GError **error)
{
	const GbeData *data = r->observed->data;
	g_autoptr(GError) local = NULL;

	if (!gbe_open_dir_at(dir_fd, name, &r->tree_fd, error))
		return false;
	if (data->fd >= 0 && !gbe_project_give(r->tree_fd, data->fd, &local))
		gbe_note("%s", local->message);
	return true;
}

/* Makes the staging tree: a clone of the backup, or an empty directory that etcd can use as it used the one that it
 * replaces. */
static bool
make_tree(Restore *r, GError **error)
{
	const GbeData *data = r->observed->data;
	/* rename(2) does not leave a subvolume: where entries are exchanged, the tree is in the data's own. */
	GbeCloneOptions options = {
	    .allowed = data->mount_point ? GBE_METHOD_REFLINK : GBE_METHOD_SNAPSHOT,
	    .cold = GBE_COLD_SOURCE,
	    .progress = gbe_app_progress,
	    .progress_data = r->app,
	};
	g_autofree char *last = member_entry(data);
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int fd = -1;

	if (!gbe_remove_tree_at(r->stage_fd, r->staged, error))
		return false;
	if (r->backup != NULL) {
		GbeStore *store = gbe_store_at(r->observed->store, r->backup->name);

		if (!gbe_open_dir_at(store->fd, r->backup->name, &fd, error) ||
		    !gbe_clone_tree_at(fd, GBE_STORE_DATA, r->stage_fd, r->staged, &options,
				       &result, error))
			return false;
		r->timing.bytes_written = result.bytes_written;
		return true;
	}
	if (data->fd < 0)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no %s", data->path);
	if (!gbe_clone_top_at(data->fd, r->stage_fd, r->staged, !data->mount_point, error))
		return false;
	/* At a mount point, entries are exchanged, and member/ always is one of them. */
	return !data->mount_point || (gbe_open_dir_at(r->stage_fd, r->staged, &fd, error) &&
				      gbe_clone_top_at(data->fd, fd, last, false, error));
}

/* Both put the staging tree under its name, with the nonce. The tree is a clone of the backup, an empty directory, or
 * the backup's own tree, and not durable. Afterwards the intent is in the ledger. */
static bool
stage_clone(Restore *r, GError **error)
{
	if (!make_tree(r, error))
		return gbe_prefix(error, "stage %s", named(r));
	if (!open_tree(r, r->stage_fd, r->staged, error) || !write_nonce(r, error) ||
	    GBE_FAULT("restore-staged", error))
		return false;
	/* Recovery may keep a tree of that name. A clone is durable no later than the rename. */
	if (r->timing.bytes_written > 0 && !settle(r, error))
		return false;
	if (!gbe_rename_new_at(r->stage_fd, r->staged, r->stage_fd, r->staging, error) ||
	    GBE_FAULT("restore-named", error))
		return false;
	return settle(r, error) && write_intent(r, error);
}

static bool
stage_backup_itself(Restore *r, GError **error)
{
	GbeStore *store = gbe_store_at(r->observed->store, r->backup->name);
	gbe_autofd int entry_fd = -1;

	if (!gbe_open_dir_at(store->fd, r->backup->name, &entry_fd, error) ||
	    !open_tree(r, entry_fd, GBE_STORE_DATA, error) || !write_intent(r, error) ||
	    !write_nonce(r, error) || !gbe_sync_fs(r->tree_fd, store->path, error) ||
	    !gbe_rename_new_at(entry_fd, GBE_STORE_DATA, r->stage_fd, r->staging, error))
		return gbe_prefix(error, "take %s out of the store", r->backup->name);
	return gbe_sync_dir(entry_fd, r->backup->name, error);
}

/* ---- the restore ---- */

/* GBE_ERROR_VERIFY_FAILED names the damaged part; an unknown format passes. */
static bool
verify_within_budget(GbeApp *app, GbeStore *store, const GbeManifest *manifest,
		     gint64 *ret_look_usec, GError **error)
{
	const GbeVerifyOptions sanity = {.level = GBE_VERIFY_SANITY};
	guint64 seconds = app->config->restore.verify_budget;
	const GbeVerifyOptions full = {
	    .level = GBE_VERIFY_FULL,
	    .deadline = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC,
	};
	g_autoptr(GbeVerification) verification = NULL;
	g_autoptr(GError) local = NULL;
	const GbeFinding *worst;
	g_autofree char *why = NULL;

	if (seconds > 0) {
		bool ok = gbe_verify_backup(app, store, manifest, &full, &verification, &local);
		bool unread =
		    ok ? gbe_findings_worst(&verification->findings) == GBE_FINDING_UNKNOWN
		       : g_error_matches(local, GBE_ERROR, GBE_ERROR_FAILED);

		/* The time ran out before all was read, and no damage was seen until then. */
		if (unread && g_get_monotonic_time() >= full.deadline) {
			gbe_complain("backup %s is not read in full within the %" G_GUINT64_FORMAT
				     " s of [restore] verify-budget; what a starting etcd reads "
				     "first is checked instead",
				     manifest->name, seconds);
			g_clear_pointer(&verification, gbe_verification_free);
		} else if (!ok) {
			return gbe_pass(error, &local);
		}
	}
	if (verification == NULL &&
	    !gbe_verify_backup(app, store, manifest, &sanity, &verification, error))
		return false;
	if (ret_look_usec != NULL)
		*ret_look_usec = verification->look_usec;
	worst = gbe_findings_first(&verification->findings);
	if (worst == NULL || worst->severity != GBE_FINDING_DAMAGE)
		return true;
	why = gbe_finding_to_text(worst);
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s", why);
}

bool
gbe_restore_validate(GbeApp *app, GbeStore *store, const GbeManifest *manifest,
		     gint64 *ret_look_usec, GError **error)
{
	g_autoptr(GError) local = NULL;

	if (manifest->consumed)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "backup %s is a name only: its data was restored without a copy",
				 manifest->name);
	if (verify_within_budget(app, store, manifest, ret_look_usec, &local))
		return true;
	/* A disk that does not answer, or a process without descriptors or memory, says nothing about the backup. */
	if (g_error_matches(local, GBE_ERROR, GBE_ERROR_FAILED) ||
	    g_error_matches(local, GBE_ERROR, GBE_ERROR_UNREADABLE))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "cannot validate the backup: %s",
				 local->message);
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "backup %s does not validate: %s",
			 manifest->name, local->message);
}

/* Without a name, the displaced tree is removed after the exchange. */
static void
lose_displaced(Restore *r, const GbeManifest *displaced)
{
	g_free(r->lost);
	r->lost = g_strdup(displaced->name);
	g_clear_pointer(&r->intent->displaced, gbe_manifest_free);
	if (r->intent->take_over != NULL)
		gbe_backup_ref_clear(&r->intent->take_over->found);
}

/* Makes the displaced tree's place in the store early, while there is room for the names. */
static bool
prepare_displaced(Restore *r, const GbeManifest *displaced, GError **error)
{
	GbeData *data = r->observed->data;
	GbeStore *place = NULL;
	GbeManifest *manifest;

	if (data->fd < 0)
		return true;
	if (displaced == NULL && !data->mount_point) {
		g_auto(GbeList) list = gbe_list_open_at(data->fd, data->path);
		const char *name;
		bool nothing = true;

		while (nothing && (name = gbe_list_next(&list)) != NULL)
			nothing = g_str_equal(name, GBE_NONCE_NAME) ||
				  g_strv_contains(gbe_data_exclude, name);
		/* If data was set aside before, only the nonce is left. */
		if (nothing)
			return gbe_list_end(&list, error);
	}
	if (r->room == ROOM_DISPLACED && may_lose(r, displaced)) {
		lose_displaced(r, displaced);
		return true;
	}
	manifest = displaced != NULL ? gbe_manifest_copy(displaced) : gbe_manifest_new();
	/* Files in the data directory that are not etcd's data are also kept. */
	if (displaced == NULL) {
		manifest->sequence = r->intent->sequence;
		manifest->name = gbe_backup_name_adopted(manifest->sequence);
		manifest->origin = GBE_ORIGIN_DISPLACED;
		manifest->method = GBE_METHOD_RENAME;
		manifest->grade = GBE_GRADE_BAD;
		manifest->grade_reason =
		    g_strdup("what lay in the data directory had no etcd data");
		manifest->created = r->observed->facts->now;
		manifest->data_dir = g_strdup(data->path);
	}
	g_free(manifest->written_by);
	manifest->written_by = g_strdup(GBE_VERSION);
	r->intent->displaced = manifest;
	if (r->intent->keep_existing != NULL)
		return true;
	return gbe_store_for_rename(r->app, r->observed->store, r->stage_fd, &place, error) &&
	       gbe_store_prepare(place, r->intent->displaced, error);
}

/* Removes a staged tree, or finishes an exchange. */
static void
recover_attempt(Restore *r, bool exchanging)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) error = NULL;
	GbeRecovery recovery = {0};
	bool half = false;

	if (!gbe_data_open_any(r->app, &data, &error) ||
	    !gbe_recover(r->app, data, r->observed->store, &recovery, &error)) {
		g_debug("undo of the staging: %s", error->message);
		/* One entry after the other. */
		half = exchanging && r->intent->entries != NULL;
	}
	if (r->options->ret_half != NULL)
		*r->options->ret_half = half || recovery.exchange_open;
	gbe_recovery_clear(&recovery);
}

static bool
stage_tree(Restore *r, const GbeManifest *displaced, GError **error)
{
	gbe_autofd int src_fd = -1;
	gint64 begin = g_get_monotonic_time();
	bool ok;

	gbe_store_reserve(r->app, r->observed->store, GBE_RESERVE_RELEASE);
	if (!open_stage(r, error))
		return false;
	if (r->backup != NULL &&
	    (!gbe_store_open_data(r->observed->store, r->backup->name, &src_fd, error) ||
	     !make_room(r, src_fd, error)))
		return false;
	if (!prepare_displaced(r, displaced, error))
		return false;
	ok = r->intent->consume ? stage_backup_itself(r, error) : stage_clone(r, error);
	r->timing.clone_usec = g_get_monotonic_time() - begin;
	return ok && !GBE_FAULT("restore-cloned", error);
}

static void
begin_intent(Restore *r, guint64 sequence)
{
	GbeIntent *intent = gbe_intent_new();
	GbeData *data = r->observed->data;
	g_autofree char *parent = g_path_get_dirname(data->path);

	intent->operation = GBE_OPERATION_RESTORE;
	intent->sequence = sequence;
	intent->backup = r->backup != NULL ? g_strdup(r->backup->name) : NULL;
	intent->rule = g_strdup(r->options->rule);
	intent->keep_existing = g_strdup(r->options->keep_existing);
	intent->staging = data->mount_point
			      ? g_build_filename(data->path, GBE_HIDDEN_DIR, r->staging, NULL)
			      : g_build_filename(parent, r->staging, NULL);
	if (r->take_over != NULL) {
		intent->take_over = gbe_take_over_copy(r->take_over);
		g_free(intent->take_over->nonce);
		intent->take_over->nonce = gbe_ledger_nonce();
		if (r->options->keep_existing != NULL)
			gbe_backup_ref_clear(&intent->take_over->found);
	}
	gbe_intent_free(r->intent);
	r->intent = intent;
}

/* Stages and exchanges. On failure, nothing was changed, or, with GBE_ERROR_PARTIAL, the exchange was done. */
static bool
attempt_restore(Restore *r, const GbeManifest *displaced, guint64 sequence, GError **error)
{
	GbeData *data = r->observed->data;
	g_autofree char *live = NULL;
	gbe_autofd int fd = -1;
	bool ok;

	gbe_close_fd(&r->stage_fd);
	gbe_close_fd(&r->tree_fd);
	begin_intent(r, sequence);
	if (!stage_tree(r, displaced, error)) {
		recover_attempt(r, false);
		return false;
	}
	if (data->mount_point)
		ok = gbe_entries_exchange(data->fd, r->tree_fd, r->intent->entries, error);
	else if (data->fd < 0 && data->unsafe == NULL)
		ok = gbe_rename_new_at(r->stage_fd, r->staging, data->parent_fd, data->name,
				       error) ||
		     gbe_prefix(error, "put %s in the place of %s", named(r), data->path);
	else
		ok = gbe_exchange_at(r->stage_fd, r->staging, data->parent_fd, data->name, error) ||
		     gbe_prefix(error, "put %s in the place of %s", named(r), data->path);
	if (ok && (data->mount_point || !GBE_FAULT("restore-exchanged", error)))
		return true;
	/* Recovery looks at the disk, not at this process's view. */
	recover_attempt(r, true);
	/* The new tree may be in place, even if the exchange reported an error. */
	if (!data->mount_point && gbe_open_dir_at(data->parent_fd, data->name, &fd, NULL))
		live = gbe_tree_identity(fd);
	if (data->mount_point || g_strcmp0(live, r->intent->tree_new) == 0)
		gbe_rethrow(error, GBE_ERROR_PARTIAL);
	return false;
}

/* After the exchange, the next holder of the lock finishes the steps that fail here. */
static bool
finish_restore(Restore *r, const GbeManifest *displaced, GError **error)
{
	static const char lost_why[] = "a bad one, and there was no room to keep it";
	GbeEventFields lost = {.action = "delete", .reason = lost_why};
	g_autoptr(GError) swept = NULL;

	for (;;) {
		g_autoptr(GError) why = NULL;

		if (gbe_recover_finish(r->app, r->observed->store, r->stage_fd, r->intent,
				       &r->timing.flushes, &why))
			break;
		if (!g_error_matches(why, GBE_ERROR, GBE_ERROR_NO_SPACE) || !give_up_more(r))
			return gbe_throw(error, GBE_ERROR_PARTIAL,
					 "%s is in place, but tidying up failed (the next start "
					 "finishes it): %s",
					 named(r), why->message);
		r->full = true;
		if (r->room == ROOM_DISPLACED && may_lose(r, displaced))
			lose_displaced(r, displaced);
	}
	/* A try that failed may have moved the displaced tree before it could name it. */
	if (r->full && !gbe_store_sweep(r->observed->store, r->app->patience, &swept))
		gbe_note("%s", swept->message);
	/* The displaced tree had no room for a name. */
	if (r->lost != NULL) {
		lost.backup = displaced->name;
		gbe_event_deleted(&lost);
		gbe_state_note_entry(r->app, GBE_LEDGER_REMOVED, displaced, lost_why);
	}
	return true;
}

bool
gbe_restore_run(GbeApp *app, GbeObserved *observed, const char *name, const GbeTakeOver *take_over,
		guint64 sequence, GbeManifest *displaced, const GbeRestoreOptions *options,
		GbeTiming *ret_timing, GError **error)
{
	g_auto(Restore) r = {.app = app,
			     .observed = observed,
			     .backup =
				 name != NULL ? gbe_facts_backup(observed->facts, name) : NULL,
			     .take_over = take_over,
			     .options = options,
			     .stage_fd = -1,
			     .tree_fd = -1};
	gint64 begin = g_get_monotonic_time();

	if (r.backup == NULL && name != NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no backup %s", name);
	if (r.backup != NULL && !options->force &&
	    !gbe_keys_check_backup(app, r.backup, false, error))
		return false;
	/* The etcd that gets this data has its WAL elsewhere, and the backup lacks that WAL. */
	if (observed->data->wal_dir != NULL && !observed->facts->deformed &&
	    !gbe_data_check_whole(observed->data, error))
		return false;
	if (r.backup != NULL && (r.backup->consumed || (!options->force && !options->validated)) &&
	    !gbe_restore_validate(app, observed->store, r.backup, &r.timing.look_usec, error))
		return false;
	begin += r.timing.look_usec;
	r.timing.verify_usec = g_get_monotonic_time() - begin;
	r.staging = g_strdup_printf(GBE_RUNG_RESTORE "%" G_GUINT64_FORMAT, sequence);
	r.staged = g_strdup_printf(GBE_RUNG_STAGING "%" G_GUINT64_FORMAT, sequence);
	/* Tries again with more room until no reserve is left. */
	for (;;) {
		g_autoptr(GError) local = NULL;

		if (attempt_restore(&r, displaced, sequence, &local))
			break;
		if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_NO_SPACE) || !give_up_more(&r))
			return gbe_pass(error, &local);
		g_debug("%s; tried again with more room", local->message);
		r.full = true;
	}
	if (!finish_restore(&r, displaced, error))
		return false;
	r.timing.total_usec = g_get_monotonic_time() - begin;
	if (ret_timing != NULL)
		*ret_timing = r.timing;
	return true;
}
