/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/push.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "app/backups/store.h"
#include "app/device/change.h"
#include "app/device/endpoint.h"
#include "app/snapshot/export.h"
#include "app/state/history.h"
#include "base/fault.h"
#include "base/sha256.h"
#include "etcd/api/client.h"
#include "fs/lock.h"
#include "fs/open.h"
#include "fs/part.h"
#include "fs/reserve.h"
#include "fs/sync.h"
#include "fs/tree.h"
#include "store/queue.h"
#include "sys/child.h"

#define LOCK "store"
/* A snapshot of etcd or of a backup is first saved in the state directory, so that a hanging share does not keep
 * etcd waiting. */
#define TEMPORARY "store-push.db"
#define NAMES_TRIED 100

void
gbe_store_pushed_clear(GbeStorePushed *pushed)
{
	g_clear_pointer(&pushed->name, g_free);
	g_clear_pointer(&pushed->sha256, g_free);
	g_clear_pointer(&pushed->stored_sha256, g_free);
	gbe_snapshot_meta_clear(&pushed->meta);
	g_clear_pointer(&pushed->verification, gbe_verification_free);
}

/* ---- an entry ---- */

typedef struct {
	GbeChange change;
	const GbeStorePush *options;
	GbeSnapshotStore *store;
	const char *known; /* the newest name that was given away; NULL */
	GbeStoreNote note; /* NULL: no record */
	const char *what;  /* the source, for messages */
	int source_fd;
	guint64 total;
	int entry_fd;
	GbePart data, meta, seal, device;
	GbeRoom room; /* of the device's own disk; without an fd where the store is elsewhere */
	const GbeKeys *keys; /* borrowed; NULL: the push is not signed */
	int lock_fd;	     /* keeps the lock after the data has its name */
	GbeStorePushed pushed;
} Push;

static void
push_clear(Push *push)
{
	g_autoptr(GError) ignored = NULL;

	gbe_change_clear(&push->change);
	gbe_part_clear(&push->data);
	gbe_part_clear(&push->meta);
	gbe_part_clear(&push->seal);
	gbe_part_clear(&push->device);
	/* Removes an unpublished entry; if that fails now, the next push or prune sweeps it. */
	if (push->entry_fd >= 0 && !gbe_remove_tree_at(gbe_depot_directory(push->store->depot),
						       push->pushed.name, &ignored))
		g_debug("%s", ignored->message);
	gbe_close_fd(&push->entry_fd);
	gbe_close_fd(&push->lock_fd);
	gbe_close_fd(&push->source_fd);
	gbe_store_pushed_clear(&push->pushed);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Push, push_clear)

/* ---- the source ---- */

static bool
make_temporary(Push *push, GError **error)
{
	const GbeStorePush *options = push->options;
	const char *path = GBE_STATE_DIR "/" TEMPORARY;
	g_auto(GbeAppEndpoint) at = {{0}};
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GbeClient) client = NULL;
	GbeEtcdStatus status = {0};
	bool ok;

	if (options->source == NULL) {
		const GbeSnapshotSave save = {.path = path,
					      .timeout = options->timeout,
					      .replace = true,
					      .leave_room = true,
					      .progress = options->progress,
					      .progress_data = options->progress_data};

		gbe_app_endpoint(push->change.app, &at);
		if (gbe_client_open(&at.endpoint, &client, &failure) &&
		    gbe_client_status(client, gbe_app_deadline(push->change.app), &status,
				      &failure)) {
			push->pushed.meta.etcd_version = g_strdup(status.version);
			gbe_message_clear(GBE_MESSAGE_STATUS, &status);
		}
		ok = gbe_snapshot_save(push->change.app, &save, &push->pushed.verification, error);
	} else {
		const GbeExport export = {.name = options->source,
					  .path = path,
					  .timeout = options->timeout,
					  .replace = true,
					  .progress = options->progress,
					  .progress_data = options->progress_data};
		GbeExported exported = {0};

		ok = gbe_export(push->change.app, &export, &exported, error);
		push->pushed.verification = exported.verification;
	}
	if (!ok || !gbe_snapshot_open(push->change.app, path, &push->source_fd, error))
		return false;
	return unlinkat(push->change.app->state_fd, TEMPORARY, 0) == 0 ||
	       gbe_throw_errno(error, errno, "cannot remove %s", path);
}

static bool
open_source(gpointer change, GError **error)
{
	Push *push = change;
	/* The checksum of a file is compared when it is read back. */
	const GbeVerifyOptions pages = {.level = GBE_VERIFY_FULL, .summed = true};
	const char *source = push->options->source;
	GbeSnapshotMeta *meta = &push->pushed.meta;
	GbeApp *app = push->change.app;
	const GbeDb *db;
	struct stat st;

	if (!gbe_app_keys(app, &push->keys, error) || !gbe_snapshot_store_sweep(push->store, error))
		return false;
	push->what = source != NULL ? source : "etcd's snapshot";
	if (source == NULL || strchr(source, '/') == NULL) {
		if (!make_temporary(push, error))
			return false;
	} else if (!gbe_snapshot_open(app, push->what, &push->source_fd, error) ||
		   !gbe_verify_snapshot(app, push->source_fd, push->what, &pages,
					&push->pushed.verification, error) ||
		   !gbe_snapshot_check(push->pushed.verification,
				       "`etcdctl snapshot save` makes one with a checksum",
				       error)) {
		return false;
	}
	if (fstat(push->source_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", push->what);
	push->total = (guint64)st.st_size;
	/* A file or a backup tells the minor version; a reader looks for a program of that version. */
	db = &push->pushed.verification->directory.db;
	if (meta->etcd_version == NULL)
		meta->etcd_version = g_strdup(db->cluster_version);
	if (meta->etcd_version == NULL && !app->below_root)
		meta->etcd_version = gbe_etcd_version_of_binary(
		    app->root_fd, app->config->etcd.binary, GBE_ETCD_VERSION_MS);
	if (meta->etcd_version == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "%s: no etcd has written yet which version it is", push->what);
	meta->members = MAX(db->members, 0);
	meta->timestamp = g_get_real_time() / G_USEC_PER_SEC;
	return true;
}

/* ---- the steps of an entry ---- */

static bool
make_entry(gpointer change, GError **error)
{
	Push *push = change;
	const GPtrArray *all = push->store->stored;
	const GbeStored *last = all->len > 0 ? all->pdata[all->len - 1] : NULL;
	const GbeSnapshotName *newest =
	    last != NULL && last->state != GBE_STORED_FOREIGN ? &last->when : NULL;
	gint64 now = push->pushed.meta.timestamp;
	GbeSnapshotName known_name, name;

	if (push->known != NULL && gbe_snapshot_name_parse(push->known, &known_name) &&
	    (newest == NULL || gbe_snapshot_name_compare(newest, &known_name) < 0))
		newest = &known_name;
	name = gbe_snapshot_name_next(newest, now);
	for (guint i = 0; i < NAMES_TRIED; i++) {
		g_autofree char *text = gbe_snapshot_name_print(&name);

		if (mkdirat(gbe_depot_directory(push->store->depot), text, 0700) == 0) {
			push->pushed.name = g_steal_pointer(&text);
			return gbe_open_dir_at(gbe_depot_directory(push->store->depot),
					       push->pushed.name, &push->entry_fd, error) &&
			       gbe_sync_dir(gbe_depot_directory(push->store->depot),
					    push->store->depot->shown, error);
		}
		if (errno != EEXIST)
			return gbe_throw_errno(error, errno, "make %s", text);
		name = gbe_snapshot_name_next(&name, now);
	}
	return gbe_throw(error, GBE_ERROR_BUSY, "no free name in %s after %d tries",
			 push->store->depot->shown, NAMES_TRIED);
}

/* In a directory of our own, no other process has the name, and the owner that a share reports does not matter. */
static bool
new_part(int entry_fd, const char *name, GbePart *part, GError **error)
{
	g_autofree char *path = g_strconcat(name, GBE_PART_SUFFIX, NULL);
	int fd = openat(entry_fd, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot create %s", path);
	*part = (GbePart){.dir_fd = entry_fd,
			  .fd = fd,
			  .name = g_strdup(name),
			  .part = g_steal_pointer(&path),
			  .replace = true};
	return true;
}

/* Before each piece: there is room for it, and the caller continues. */
static bool
watch_piece(const void *bytes G_GNUC_UNUSED, gsize size, gpointer data, GError **error)
{
	Push *push = data;
	const GbeStorePush *options = push->options;
	off_t done = lseek(push->source_fd, 0, SEEK_CUR);

	if (push->room.fd >= 0 && !gbe_room_check(&push->room, size, push->what, error))
		return false;
	return options->progress == NULL ||
	       options->progress((guint64)MAX(done, 0), push->total, options->progress_data) ||
	       gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
}

static bool
put_piece(const void *bytes, gsize size, gpointer data, GError **error)
{
	Push *push = data;

	if (!watch_piece(bytes, size, push, error) ||
	    !gbe_part_write(&push->data, bytes, size, error))
		return false;
	push->pushed.size += size;
	return true;
}

/* The digest of the file as it is now. */
static bool
sum_up(const Push *push, char **ret_sha256, GError **error)
{
	g_auto(GbeSha256) sum = {0};
	guint8 bytes[65536], digest[GBE_SHA256_SIZE];
	gsize got = sizeof(bytes);

	gbe_sha256_init(&sum);
	for (guint64 at = 0; got == sizeof(bytes); at += got) {
		if (!gbe_read_at(push->data.fd, bytes, sizeof(bytes), at, &got, push->data.part,
				 error))
			return false;
		gbe_sha256_push(&sum, bytes, got);
	}
	if (!gbe_sha256_end(&sum, digest, error))
		return false;
	*ret_sha256 = gbe_sha256_text(digest);
	return true;
}

static bool
rewind_file(int fd, const char *what, GError **error)
{
	return lseek(fd, 0, SEEK_SET) == 0 || gbe_throw_errno(error, errno, "read %s again", what);
}

/* Without an identity, this cannot decrypt the result: it checks that the disk has, byte for byte, what age wrote. */
static bool
encrypt_data(Push *push, GError **error)
{
	const char *recipients = push->change.app->config->store.encrypt_to;
	g_autofree char *written = NULL, *on_disk = NULL;
	struct stat st;

	if (!rewind_file(push->source_fd, push->what, error) ||
	    !gbe_snapshot_unpack(push->source_fd, push->what, NULL, NULL, &push->pushed.sha256,
				 error))
		return false;
	if (!rewind_file(push->source_fd, push->what, error) ||
	    !gbe_age_encrypt_gzip(push->change.app, recipients, push->source_fd, push->what,
				  push->data.fd, watch_piece, push, error))
		return false;
	if (!sum_up(push, &written, error) || !gbe_sync_file(push->data.fd, push->data.part, error))
		return false;
	(void)posix_fadvise(push->data.fd, 0, 0, POSIX_FADV_DONTNEED);
	if (!sum_up(push, &on_disk, error))
		return false;
	if (fstat(push->data.fd, &st) < 0)
		return gbe_throw_errno(error, errno, "look at %s", push->data.part);
	push->pushed.size = (guint64)st.st_size;
	push->data.written = st.st_size;
	push->pushed.stored_sha256 = g_strdup(written);
	return g_str_equal(written, on_disk) ||
	       gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "the bytes that were read back differ from those written");
}

static bool
write_data(gpointer change, GError **error)
{
	Push *push = change;
	bool encrypted = push->change.app->config->store.encrypt_to != NULL;

	if (!new_part(push->entry_fd, encrypted ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA, &push->data,
		      error))
		return false;
	/* The lock is for programs that sweep; a share without locks is not swept. */
	(void)flock(push->data.fd, LOCK_EX | LOCK_NB);
	push->lock_fd = fcntl(push->data.fd, F_DUPFD_CLOEXEC, 0);
	if (!gbe_depot_is_elsewhere(push->store->depot) &&
	    !gbe_room_begin(push->data.fd, &push->room, error))
		return false;
	if (encrypted)
		return encrypt_data(push, error);
	if (!rewind_file(push->source_fd, push->what, error) ||
	    !gbe_archive_gzip(push->source_fd, push->what, put_piece, push, error) ||
	    !gbe_sync_file(push->data.fd, push->data.part, error))
		return false;
	/* Reads from the disk, and not from the kernel's cache. */
	(void)posix_fadvise(push->data.fd, 0, 0, POSIX_FADV_DONTNEED);
	if (!rewind_file(push->data.fd, push->data.part, error))
		return false;
	return gbe_snapshot_unpack(push->data.fd, push->what, NULL, NULL, &push->pushed.sha256,
				   error) ||
	       gbe_prefix(error, "reading back");
}

static bool
write_text(Push *push, const char *name, GbePart *part, const char *text, GError **error)
{
	return new_part(push->entry_fd, name, part, error) &&
	       gbe_part_write(part, text, strlen(text), error);
}

/* With [store] key. With a note, the record of the entry comes first. */
static bool
sign_entry(gpointer change, GError **error)
{
	Push *push = change;
	g_autofree char *meta = gbe_snapshot_meta_print(&push->pushed.meta);
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, meta, -1);
	g_autofree char *text = gbe_keyed_stored_text(push->pushed.name, sum, push->pushed.sha256);
	g_autofree char *digest = NULL, *line = NULL, *id = NULL, *device = NULL;

	if (push->note != NULL && !push->note(push->entry_fd, &push->pushed, error))
		return false;
	if (push->keys == NULL)
		return true;
	if (!gbe_device_id(push->change.app, true, &id, error))
		return false;
	digest = gbe_keys_sign(push->keys, GBE_KEYED_STORED, text);
	line = g_strconcat(digest, "\n", NULL);
	device = gbe_device_sign(push->keys, text, id);
	push->pushed.bound = true;
	if (!write_text(push, GBE_SNAPSHOT_SEAL, &push->seal, line, error) ||
	    !gbe_part_publish(&push->seal, error))
		return false;
	return write_text(push, GBE_SNAPSHOT_DEVICE, &push->device, device, error) &&
	       gbe_part_publish(&push->device, error);
}

static bool
publish_entry(gpointer change, GError **error)
{
	Push *push = change;
	g_autofree char *meta = gbe_snapshot_meta_print(&push->pushed.meta);

	if (!write_text(push, GBE_SNAPSHOT_META, &push->meta, meta, error))
		return false;
	return gbe_part_publish(&push->data, error) && gbe_part_publish(&push->meta, error);
}

/* The caller holds the lock of the store. push_clear() removes an entry that was not published. */
static const GbeStep push_steps[] = {
    {"store-source-opened", open_source, NULL, GBE_STEP_UNLOCKED, 0},
    {"store-entry-made", make_entry, NULL, GBE_STEP_UNLOCKED, 0},
    {"store-data-written", write_data, NULL, GBE_STEP_UNLOCKED, 0},
    {"store-signed", sign_entry, NULL, GBE_STEP_UNLOCKED, 0},
    {"store-published", publish_entry, NULL, GBE_STEP_UNLOCKED, 0},
    {NULL, NULL, NULL, 0, 0},
};

bool
gbe_store_write_entry(GbeApp *app, GbeSnapshotStore *store, const GbeStorePush *options,
		      const char *known, GbeStoreNote note, GbeStorePushed *ret_pushed,
		      GError **error)
{
	g_auto(Push) push = {
	    .change = {.app = app, .name = "store push", .steps = push_steps, .by_any_user = true},
	    .options = options,
	    .store = store,
	    .known = known,
	    .note = note,
	    .source_fd = -1,
	    .entry_fd = -1,
	    .lock_fd = -1,
	    .room = {.fd = -1},
	    .data = {.fd = -1},
	    .meta = {.fd = -1},
	    .seal = {.fd = -1},
	    .device = {.fd = -1}};

	if (!gbe_change_run(&push.change, error))
		return push.change.failed > push_steps &&
		       gbe_prefix(error, "%s", store->depot->shown);
	gbe_close_fd(&push.entry_fd);
	g_free(push.pushed.verification->name);
	push.pushed.verification->name = g_build_filename(
	    store->depot->shown, push.pushed.name,
	    app->config->store.encrypt_to != NULL ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA, NULL);
	*ret_pushed = push.pushed;
	push.pushed = (GbeStorePushed){0};
	return true;
}

/* ---- a push ---- */

typedef struct {
	const GbeStorePush *options;
	guint64 done, total;
} Progress;

static bool
pass_progress(gsize size, gpointer data)
{
	Progress *progress = data;

	progress->done += size;
	return progress->options->progress == NULL ||
	       progress->options->progress(progress->done, progress->total,
					   progress->options->progress_data);
}

/* From the queue to the bucket. */
static bool
send_now(GbeApp *app, GbeDepot *depot, const GbeStorePush *options, GbeStorePushed *pushed,
	 GError **error)
{
	bool encrypted = app->config->store.encrypt_to != NULL;
	Progress progress = {.options = options, .total = pushed->size};
	g_autoptr(GError) local = NULL;
	bool ok;

	depot->progress = pass_progress;
	depot->progress_data = &progress;
	ok = gbe_queue_send(app, depot, pushed->name, &local) ||
	     (options->sent_later && g_error_matches(local, GBE_ERROR, GBE_ERROR_BUSY));
	depot->progress = NULL;
	if (!ok) {
		g_propagate_prefixed_error(
		    error, g_steal_pointer(&local),
		    "snapshot %s waits in the queue (`greenboot-etcd store send` tries again): ",
		    pushed->name);
		return false;
	}
	g_free(pushed->verification->name);
	pushed->verification->name = g_build_filename(
	    depot->shown, pushed->name, encrypted ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA, NULL);
	return true;
}

static bool
push_directly(GbeApp *app, const GbeStorePush *options, GbeStorePushed *pushed, GError **error)
{
	g_autoptr(GbeSnapshotStore) store = NULL;
	g_auto(GbeOffsite) offsite = {0};
	gint64 began = g_get_monotonic_time();
	GbeHistoryPush push;
	const GbeDb *db;

	if (!gbe_snapshot_store_open(app, options->store, &store, error))
		return false;
	gbe_history_read(app, store->depot->identifier, &offsite);
	if (!gbe_store_write_entry(app, store, options, offsite.newest, NULL, pushed, error))
		return false;
	db = &pushed->verification->directory.db;
	push = (GbeHistoryPush){.name = pushed->name,
				.sha256 = pushed->sha256,
				.stored_sha256 = pushed->stored_sha256,
				.revision = db->revision > 0 ? db->revision : -1,
				.hash_kv = db->has_hash_kv ? (gint64)db->hash_kv : -1,
				.size = (gint64)pushed->size,
				.sent = (gint64)pushed->size,
				.usec = g_get_monotonic_time() - began,
				.elsewhere = gbe_depot_is_elsewhere(store->depot),
				.bound = pushed->bound};
	gbe_history_change(app, store->depot->identifier, gbe_history_note_pushed, &push);
	return true;
}

bool
gbe_store_push(GbeApp *app, const GbeStorePush *options, GbeStorePushed *ret_pushed, GError **error)
{
	g_auto(GbeStorePushed) pushed = {0};
	g_autoptr(GbeDepot) depot = NULL;
	g_autoptr(GbeLock) lock = NULL;
	g_autoptr(GError) local = NULL;
	bool ok;

	/* A snapshot that a timer asks for only goes into the queue, also where the store is missing. */
	if (!gbe_depot_open(app, options->store, &depot, &local) &&
	    (!options->queue || !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)))
		return gbe_pass(error, &local);
	if (!gbe_app_open_state(app, true, error) ||
	    !gbe_lock_acquire_at(app->state_fd, LOCK, "store push", 0, &lock, error))
		return false;
	if (options->queue) {
		g_autofree char *identifier = gbe_history_configured(app);

		ok = gbe_queue_is_unchanged(app, depot) ||
		     gbe_queue_add(app, identifier, depot != NULL, options, &pushed, error);
	} else if (gbe_depot_directory(depot) >= 0) {
		ok = push_directly(app, options, &pushed, error);
	} else {
		ok = gbe_queue_add(app, depot->identifier, true, options, &pushed, error);
		/* Sending may take hours. */
		g_clear_pointer(&lock, gbe_lock_release);
		ok = ok && send_now(app, depot, options, &pushed, error);
	}
	if (!ok)
		return false;
	*ret_pushed = pushed;
	pushed = (GbeStorePushed){0};
	return true;
}
