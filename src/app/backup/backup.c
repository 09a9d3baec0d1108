/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/backup.h"

#include "app/backups/verify.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "core/decide/situation.h"
#include "core/space.h"
#include "etcd/directory/member.h"
#include "fs/copy/clone.h"
#include "fs/copy/compare.h"
#include "fs/copy/extents.h"
#include "fs/exchange.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/sync.h"
#include "fs/tree.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* A backup that is taken from under a running etcd. */
#define LIVE_TRIES 3U

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	GbeManifest *manifest;
	const GbeBackupOptions *options;
	GbeTiming timing;
	char *partial; /* ".partial-<name>" */
	int entry_fd;
	int data_fd;   /* the copy */
	bool compared; /* its content, while it was made */
} Backup;

static void
backup_clear(Backup *b)
{
	g_free(b->partial);
	gbe_close_fd(&b->entry_fd);
	gbe_close_fd(&b->data_fd);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Backup, backup_clear)

static bool
measure_space(Backup *b, GbeSpace *space, GError **error)
{
	GbeData *data = b->observed->data;

	return gbe_extents_space(data->fd, b->observed->store->fd,
				 b->observed->facts->clones == GBE_YES, space, error) ||
	       gbe_prefix(error, "measure %s", data->path);
}

/* The bytes that retention's removals would free; only blocks that no other file shares count. */
static guint64
reclaimable(const GbeObserved *observed)
{
	g_autoptr(GArray) removals = gbe_retention_apply(observed->facts);
	guint64 bytes = 0;

	for (guint i = 0; i < removals->len; i++) {
		const GbeRemoval *removal = &g_array_index(removals, GbeRemoval, i);
		gbe_autofd int fd = -1;
		GbeExtents extents = {0};

		if (gbe_store_open_data(observed->store, removal->backup->name, &fd, NULL) &&
		    gbe_extents_of_tree(fd, true, &extents, NULL))
			bytes += extents.exclusive;
	}
	return bytes;
}

bool
gbe_backup_measure(const GbeObserved *observed, GbeSpace *ret_space, GError **error)
{
	const GbeData *data = observed->data;
	int fd = observed->store->fd >= 0 ? observed->store->fd : data->parent_fd;

	if (!gbe_extents_space(data->fd, fd, observed->facts->clones == GBE_YES, ret_space, error))
		return gbe_prefix(error, "measure %s", data->path);
	if (!gbe_space_fits(ret_space))
		ret_space->reclaimable = reclaimable(observed);
	return true;
}

/* XFS may have up to some hundred free inodes more than it says: the copy finds out. */
static bool
check_room(const GbeObserved *observed, const GbeSpace *space, GError **error)
{
	g_autofree char *missing = gbe_size_to_text(gbe_space_missing(space));
	g_autofree char *takes = gbe_size_to_text(space->would_write);
	g_autofree char *is_free = gbe_size_to_text(space->available);

	return gbe_space_missing(space) == 0 ||
	       gbe_throw(error, GBE_ERROR_NO_SPACE,
			 "no room for a backup in %s: %s more are needed (it takes %s, %s are "
			 "free); `greenboot-etcd list --exclusive` shows what could go",
			 observed->store->path, missing, takes, is_free);
}

static bool
check_store_and_data(const GbeObserved *observed, bool made, GError **error)
{
	if (observed->data->fd < 0 || observed->facts->data != GBE_YES)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no etcd data in %s",
				 observed->data->path);
	/* A start makes a store that was never there. */
	if (observed->facts->store == GBE_NO || (observed->store->fd < 0 && !made))
		return gbe_observed_no_store(observed, error);
	return gbe_data_check_whole(observed->data, error);
}

bool
gbe_backup_foresee(GbeObserved *observed, GError **error)
{
	const GbeStore *store = observed->store;
	GbeSpace space = {0};

	gbe_observe_tree(observed);
	if (!check_store_and_data(observed, true, error))
		return false;
	if (store->fd >= 0 && !gbe_is_writable(store->fd, error))
		return gbe_prefix(error, "the store of backups %s", store->path);
	if (observed->tree_why != NULL)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "copy %s: %s",
				 observed->data->path, observed->tree_why);
	return !gbe_backup_measure(observed, &space, NULL) || check_room(observed, &space, error);
}

static bool
is_room_needed(gpointer data, const GbeRemoval *next, GbeRetentionAnswer *ret_answer,
	       GError **error)
{
	GbeSpace space = {0};

	(void)next;
	if (!measure_space(data, &space, error))
		return false;
	*ret_answer = gbe_space_fits(&space) ? GBE_RETENTION_END : GBE_RETENTION_REMOVE;
	return true;
}

/* While etcd writes, the source no longer equals the copy; the copy's own content proves it. */
static bool
wants_comparison(const Backup *b)
{
	return b->manifest->verified != GBE_VERIFIED_NO && !b->options->live;
}

static bool
clone_data(Backup *b, GError **error)
{
	GbeData *data = b->observed->data;
	g_autofree char *snaps = NULL;
	g_autofree char *db = NULL;
	const char *order[3] = {NULL};
	g_auto(GbeCloneResult) result = {0};
	GbeCloneOptions options = {
	    .allowed = GBE_METHOD_SNAPSHOT,
	    .cow_only = b->options->cow_only || b->options->live,
	    .read_only = true,
	    .atomic = b->options->live,
	    .compare = wants_comparison(b),
	    .cold = GBE_COLD_COPY,
	    .exclude = gbe_data_exclude,
	    .progress = gbe_app_progress,
	    .progress_data = b->app,
	};
	gint64 begin = g_get_monotonic_time();

	if (b->options->live) {
		/* In the order .snap, db, WAL the rules between these files hold (etcd.md, 9). The names of .snap
		 * files are hex numbers of 16 digits with leading zeros. */
		const char *at = data->member_path != NULL ? data->member_path : "";
		const char *slash = *at != '\0' ? "/" : "";

		snaps = g_strconcat(at, slash, "member/snap/0", NULL);
		db = g_strconcat(at, slash, "member/snap/db", NULL);
		order[0] = snaps;
		order[1] = db;
		options.first = order;
	}
	if (!gbe_clone_tree_at(data->parent_fd, data->name, b->entry_fd, GBE_STORE_DATA, &options,
			       &result, error))
		return gbe_prefix(error, "copy %s", data->path);
	b->manifest->method = result.method;
	b->manifest->size = result.info.bytes;
	b->timing.bytes_written = result.bytes_written;
	b->compared = result.compared;
	if (result.info.left_out != NULL && result.info.left_out->len > 0) {
		g_autoptr(GStrvBuilder) names = g_strv_builder_new();

		for (guint i = 0; i < result.info.left_out->len; i++)
			g_strv_builder_add(names, result.info.left_out->pdata[i]);
		g_strfreev(b->manifest->left_out);
		b->manifest->left_out = g_strv_builder_end(names);
	}
	b->timing.clone_usec = g_get_monotonic_time() - begin;
	return gbe_open_dir_at(b->entry_fd, GBE_STORE_DATA, &b->data_fd, error);
}

static bool
write_manifest(Backup *b, GError **error)
{
	/* The source was examined under etcd's lock, and the copy is compared with the source, so all is known. */
	bool known = !b->options->live && b->observed->looked &&
		     b->app->config->backup.verify != GBE_BACKUP_VERIFY_FULL;
	gint64 begin = g_get_monotonic_time();

	if (b->options->live) {
		b->manifest->live = true;
		b->manifest->fingerprint.present = false;
	}
	if (!known) {
		if (!gbe_inside_copy(b->app, b->data_fd, b->manifest, error))
			return false;
		b->timing.look_usec += g_get_monotonic_time() - begin;
	}
	if (!gbe_compare_record(b->data_fd, gbe_data_exclude, b->options->digests, NULL,
				b->manifest, error))
		return gbe_prefix(error, "backup %s", b->manifest->name);
	g_free(b->manifest->written_by);
	b->manifest->written_by = g_strdup(GBE_VERSION);
	return gbe_store_write_manifest_at(b->observed->store, b->entry_fd, b->manifest,
					   GBE_WRITE_LATER, error);
}

static bool
compare_with_source(Backup *b, GError **error)
{
	gint64 begin = g_get_monotonic_time();
	GbeCompare how = GBE_COMPARE_NAMES;

	if (!wants_comparison(b))
		return true;
	if (b->manifest->method == GBE_METHOD_REFLINK)
		how = GBE_COMPARE_CLONES;
	else if (b->manifest->method == GBE_METHOD_COPY && !b->compared)
		how = GBE_COMPARE_BYTES;
	if (!gbe_compare_trees(b->observed->data->fd, b->data_fd, how, gbe_data_exclude,
			       gbe_app_progress, b->app, error))
		return gbe_prefix(error, "backup %s", b->manifest->name);
	b->timing.verify_usec = g_get_monotonic_time() - begin;
	return true;
}

/* The steps of gbe_backup_take(), and what a power cut leaves: backup.h. */
static bool
make_entry(Backup *b, GError **error)
{
	GbeStore *store = b->observed->store;
	gint64 begin;

	if (!gbe_store_make_partial(store, b->partial, &b->entry_fd, error) ||
	    GBE_FAULT("backup-made", error))
		return false;
	if (!clone_data(b, error) || GBE_FAULT("backup-cloned", error))
		return false;
	if (!write_manifest(b, error) || GBE_FAULT("backup-described", error))
		return false;
	begin = g_get_monotonic_time();
	if (!gbe_sync_content(store->fd, b->timing.bytes_written > 0, store->path,
			      &b->timing.flushes, error) ||
	    GBE_FAULT("backup-synced", error))
		return false;
	b->timing.sync_usec = g_get_monotonic_time() - begin;
	if (!compare_with_source(b, error))
		return false;
	begin = g_get_monotonic_time();
	if (GBE_FAULT("backup-verified", error))
		return false;
	if (!gbe_rename_new_at(store->fd, b->partial, store->fd, b->manifest->name, error) ||
	    GBE_FAULT("backup-renamed", error))
		return false;
	if (!gbe_sync_dir(store->fd, store->path, error) || GBE_FAULT("backup-durable", error))
		return false;
	b->timing.flushes++;
	b->timing.publish_usec = g_get_monotonic_time() - begin;
	return true;
}

bool
gbe_backup_take(GbeApp *app, GbeObserved *observed, GbeManifest *manifest,
		const GbeBackupOptions *options, GbeTiming *ret_timing, GError **error)
{
	g_auto(Backup) b = {.app = app,
			    .observed = observed,
			    .manifest = manifest,
			    .options = options,
			    .entry_fd = -1,
			    .data_fd = -1};
	gint64 begin = g_get_monotonic_time();
	GbeSpace space = {0};

	if (!check_store_and_data(observed, false, error))
		return false;
	/* Short of space, removes what retention would remove anyway. A backup that cannot be removed makes no room,
	 * and is noted. */
	(void)gbe_retention_run(app, observed, is_room_needed, &b, NULL);
	if (!measure_space(&b, &space, error) || !check_room(observed, &space, error))
		return false;
	b.partial = g_strconcat(GBE_RUNG_PARTIAL, manifest->name, NULL);
	for (guint try = 1;; try++) {
		g_autoptr(GError) local = NULL;

		if (make_entry(&b, &local))
			break;
		gbe_close_fd(&b.entry_fd);
		gbe_close_fd(&b.data_fd);
		/* Clones of files that are being written may come from between two writes. */
		if (options->live && try < LIVE_TRIES &&
		    g_error_matches(local, GBE_ERROR, GBE_ERROR_VERIFY_FAILED)) {
			g_debug("try %u: %s", try, local->message);
			continue;
		}
		gbe_store_drop_partial(observed->store, b.partial);
		return gbe_pass(error, &local);
	}
	b.timing.total_usec = g_get_monotonic_time() - begin - b.timing.look_usec;
	*ret_timing = b.timing;
	return true;
}

/* ---- made otherwise ---- */

void
gbe_partial_clear(GbePartial *partial)
{
	if (partial->fd >= 0)
		gbe_store_drop_partial(partial->store, partial->partial);
	gbe_close_fd(&partial->fd);
	g_clear_pointer(&partial->name, g_free);
	g_clear_pointer(&partial->partial, g_free);
}

bool
gbe_partial_make(const GbeObserved *observed, const char *name, GbePartial *ret_partial,
		 GError **error)
{
	const GbeFacts *facts = observed->facts;
	const GbeStore *store = observed->store;
	g_autofree char *at = g_strconcat(GBE_RUNG_PARTIAL, name, NULL);
	int fd = -1;

	if (facts->store == GBE_NO || store->fd < 0)
		return gbe_observed_no_store(observed, error);
	if (gbe_facts_backup(facts, name) != NULL ||
	    (facts->taken != NULL && g_hash_table_contains(facts->taken, name)))
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "%s is there already in %s; take another name", name, store->path);
	if (!gbe_store_make_partial(store, at, &fd, error))
		return false;
	*ret_partial = (GbePartial){.store = store,
				    .name = g_strdup(name),
				    .partial = g_steal_pointer(&at),
				    .fd = fd};
	return true;
}

GbeManifest *
gbe_partial_manifest(const GbePartial *partial, const GbeObserved *observed,
		     const GbeDirectory *directory, const char *description)
{
	const GbeFacts *facts = observed->facts;
	GbeManifest *manifest = gbe_manifest_new();

	manifest->written_by = g_strdup(GBE_VERSION);
	manifest->name = g_strdup(partial->name);
	manifest->origin = GBE_ORIGIN_MANUAL;
	manifest->sequence = facts->next_sequence;
	manifest->lineage.line = manifest->sequence;
	manifest->trial.used = -1;
	manifest->grade = GBE_GRADE_UNPROVEN;
	manifest->method = GBE_METHOD_COPY;
	manifest->created = facts->now;
	manifest->data_dir = g_strdup(facts->data_dir);
	manifest->description = g_strdup(description);
	gbe_inside_record(directory, GBE_VERIFY_FULL, manifest);
	return manifest;
}

bool
gbe_partial_describe(const GbeApp *app, const GbePartial *partial, int data_fd,
		     const char *member_path, GbeManifest *manifest, GError **error)
{
	gbe_autofd int wal_fd = gbe_data_open_wal_of_copy(app, manifest->data_dir, data_fd);

	if (!gbe_member_fingerprint(data_fd, member_path, wal_fd, &manifest->fingerprint, error) ||
	    !gbe_compare_record(data_fd, gbe_data_exclude, true, NULL, manifest, error))
		return false;
	return gbe_store_write_manifest_at(partial->store, partial->fd, manifest, GBE_WRITE_LATER,
					   error) &&
	       !GBE_FAULT("partial-described", error);
}

bool
gbe_partial_publish(GbePartial *partial, GError **error)
{
	const GbeStore *store = partial->store;

	if (!gbe_sync_fs(store->fd, store->path, error) || GBE_FAULT("partial-synced", error) ||
	    !gbe_rename_new_at(store->fd, partial->partial, store->fd, partial->name, error))
		return false;
	gbe_close_fd(&partial->fd);
	return !GBE_FAULT("partial-renamed", error) && gbe_sync_dir(store->fd, store->path, error);
}

/* ---- removed ---- */

bool
gbe_retention_remove(GbeApp *app, GbeObserved *observed, const GbeManifest *backup,
		     const char *reason, gint64 *patience, GError **error)
{
	GbeEventFields fields = {.action = "delete",
				 .backup = backup->name,
				 .deployment = backup->deployment.id,
				 .reason = reason};
	g_autoptr(GError) local = NULL;
	bool ok = gbe_store_remove(observed->store, backup->name, patience, &local);

	/* Partly removed, it is no backup any more. */
	if (!ok && !g_error_matches(local, GBE_ERROR, GBE_ERROR_PARTIAL))
		return gbe_pass(error, &local);
	gbe_event_deleted(&fields);
	gbe_state_note_entry(app, GBE_LEDGER_REMOVED, backup, reason);
	g_ptr_array_remove(observed->facts->backups, (gpointer)backup);
	return ok || gbe_pass(error, &local);
}

bool
gbe_retention_run(GbeApp *app, GbeObserved *observed, GbeRetentionAsk ask, gpointer data,
		  GError **error)
{
	g_autoptr(GArray) removals = gbe_retention_apply(observed->facts);
	int data_fd = observed->data->fd >= 0 ? observed->data->fd : observed->data->parent_fd;
	/* The caller needs the space now. */
	gint64 *patience = ask != NULL ? NULL : app->patience;

	for (guint i = 0; i < removals->len; i++) {
		const GbeRemoval *removal = &g_array_index(removals, GbeRemoval, i);
		GbeRetentionAnswer answer = GBE_RETENTION_REMOVE;
		g_autoptr(GError) failure = NULL;

		/* A backup that etcd's room depends on goes only if that makes room: it lies with the data, and etcd
		 * still lacks room. */
		if (removal->for_room &&
		    (!gbe_same_filesystem(gbe_store_at(observed->store, removal->backup->name)->fd,
					  data_fd) ||
		     (ask == NULL && gbe_observe_cramped(observed) != GBE_YES)))
			continue;
		if (ask != NULL && !ask(data, removal, &answer, error))
			return false;
		if (answer == GBE_RETENTION_END)
			return true;
		if (answer == GBE_RETENTION_LEAVE ||
		    gbe_retention_remove(app, observed, removal->backup, removal->reason, patience,
					 &failure))
			continue;
		if (error != NULL)
			return gbe_pass(error, &failure);
		gbe_note("retention: %s", failure->message);
	}
	return true;
}

/* ---- found damaged ---- */

bool
gbe_damage_read_again(GbeApp *app, GbeObserved *observed, const GbeManifest *was,
		      GbeManifest **ret_now, GError **error)
{
	GbeStore *store = gbe_store_at(observed->store, was->name);
	g_autoptr(GbeIntent) intent = NULL;
	g_autoptr(GbeManifest) now = NULL;
	g_autoptr(GError) local = NULL;
	gbe_autofd int entry_fd = -1;

	if (!gbe_state_read_intent(app, &intent, error))
		return false;
	if (intent != NULL)
		return gbe_throw(error, GBE_ERROR_BUSY, "an interrupted operation comes first");
	if (!gbe_open_dir_at(store->fd, was->name, &entry_fd, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	if (!gbe_store_read_manifest(store, entry_fd, was->name, &now, error))
		return false;
	if (now->sequence == was->sequence && !now->consumed)
		*ret_now = g_steal_pointer(&now);
	return true;
}

static void
set_bad(GbeManifest *manifest, const char *why)
{
	manifest->grade = GBE_GRADE_BAD;
	g_free(manifest->grade_reason);
	manifest->grade_reason = g_strdup(why);
}

bool
gbe_damage_grade(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		 GError **error)
{
	GbeManifest *was = (GbeManifest *)gbe_facts_backup(observed->facts, name);
	g_autoptr(GbeManifest) now = NULL;

	if (was == NULL)
		return true;
	set_bad(was, why);
	if (app->lock == NULL)
		return true;
	if (!gbe_damage_read_again(app, observed, was, &now, error))
		return gbe_prefix(error, "grade of %s", name);
	/* The first reason for a bad grade stays. */
	if (now == NULL || now->grade == GBE_GRADE_BAD)
		return true;
	set_bad(now, why);
	if (!gbe_store_write_manifest(observed->store, now, error))
		return false;
	gbe_state_note_entry(app, GBE_LEDGER_GRADED, now, why);
	return true;
}

/* For the MOTD, which shows the last operation when it failed. @what: "has rotted". */
static void
tell_person(GbeApp *app, const GbeObserved *observed, const char *name, const char *what,
	    const char *why, const char *operation)
{
	GbeLastOperation last = {
	    .operation = g_strdup(operation),
	    .result = g_strdup("failed"),
	    .reason = g_strdup_printf("the last good backup %s (%s): `greenboot-etcd backup "
				      "--stop` makes a new one; look at the disk",
				      what, why),
	    .backup = g_strdup(name),
	    .run = g_strdup(observed->facts->run),
	    .started = g_get_real_time() / G_USEC_PER_SEC,
	};

	gbe_state_write_last(app, &last);
	gbe_last_operation_clear(&last);
}

bool
gbe_damage_record(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		  const char *operation, GError **error)
{
	GbeManifest *was = (GbeManifest *)gbe_facts_backup(observed->facts, name);
	bool last = gbe_situation_last_good(observed->facts) == was;
	GbeEventFields fields = {.action = operation, .backup = name, .reason = why};
	bool ok;

	if (was == NULL || was->grade == GBE_GRADE_BAD)
		return true;
	set_bad(was, why);
	if (!gbe_app_lock(app, operation, GBE_WAIT_RESULT, error))
		return false;
	fields.deployment = was->deployment.id;
	fields.run = was->run;
	gbe_event_rotted(&fields);
	ok = gbe_damage_grade(app, observed, name, why, error);
	if (ok && last)
		tell_person(app, observed, name, "has rotted", why, operation);
	gbe_app_unlock(app);
	return ok;
}

bool
gbe_damage_unreadable(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		      const char *operation, GError **error)
{
	const GbeManifest *last = gbe_situation_last_good(observed->facts);

	if (last == NULL || !g_str_equal(last->name, name))
		return true;
	if (!gbe_app_lock(app, operation, GBE_WAIT_RESULT, error))
		return false;
	tell_person(app, observed, name, "cannot be read", why, operation);
	gbe_app_unlock(app);
	return true;
}
