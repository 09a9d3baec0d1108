/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

#include "app/device/change.h"
#include "app/device/endpoint.h"
#include "app/state/history.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "core/json/parse.h"
#include "etcd/api/client.h"
#include "fs/open.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#define QUEUE_DIR GBE_STATE_DIR "/" GBE_STATE_QUEUE
#define LOCK "store-send"
#define PAUSE_FIRST 60
#define PAUSE_MOST (6 * 3600)

static bool
open_queue(GbeApp *app, GbeSnapshotStore **ret_queue, GError **error)
{
	gbe_autofd int fd = -1;

	return gbe_make_dirs(app->root_fd, QUEUE_DIR, 0700, &fd, error) &&
	       gbe_snapshot_store_open(app, QUEUE_DIR, ret_queue, error);
}

/* Damaged snapshots also count, until a person repairs them or newer ones replace them. */
static guint
count_waiting(const GbeSnapshotStore *queue)
{
	guint n = 0;

	for (guint i = 0; i < queue->stored->len; i++)
		n += ((GbeStored *)queue->stored->pdata[i])->has_meta;
	return n;
}

/* A power cut leaves the entry, or an unfinished one, which is swept. */
static bool
remove_waiting(const GbeSnapshotStore *queue, const char *name, GError **error)
{
	g_autofree char *meta = g_build_filename(name, GBE_SNAPSHOT_META, NULL);

	return gbe_depot_unpublish(queue->depot, meta, error) &&
	       gbe_depot_remove_entry(queue->depot, name, error);
}

/* A record that cannot be read is an empty one: then all is sent. */
static void
read_transfer(const GbeSnapshotStore *queue, const char *name, GbeTransfer *ret_transfer)
{
	g_autofree char *path = g_build_filename(name, GBE_QUEUE_RECORD, NULL);
	g_autofree char *bytes = NULL;
	gsize size = 0;

	if (gbe_depot_read(queue->depot, path, GBE_JSON_MAX_SIZE, &bytes, &size, NULL))
		gbe_transfer_read(bytes, size, ret_transfer);
	else
		gbe_transfer_init(ret_transfer);
}

static bool
write_transfer(int entry_fd, const GbeTransfer *transfer, GError **error)
{
	g_autofree char *text = gbe_transfer_print(transfer);

	return gbe_write_file_at(entry_fd, GBE_QUEUE_RECORD, text, strlen(text), 0600,
				 GBE_WRITE_DURABLE, error);
}

/* ---- into the queue ---- */

/* The sender reads this next to the files. */
static bool
note_pushed(int entry_fd, const GbeStorePushed *pushed, GError **error)
{
	const GbeDb *db = &pushed->verification->directory.db;
	g_auto(GbeTransfer) transfer = {0};

	gbe_transfer_init(&transfer);
	transfer.sha256 = g_strdup(pushed->sha256);
	transfer.stored_sha256 = g_strdup(pushed->stored_sha256);
	transfer.revision = db->revision > 0 ? db->revision : -1;
	transfer.hash_kv = db->has_hash_kv ? (gint64)db->hash_kv : -1;
	return write_transfer(entry_fd, &transfer, error);
}

static bool
drop_oldest(GbeApp *app, GError **error)
{
	g_autoptr(GbeSnapshotStore) queue = NULL;
	guint more;

	if (!open_queue(app, &queue, error))
		return false;
	more = count_waiting(queue);
	for (guint i = 0; i < queue->stored->len && more > app->config->store.queue_keep; i++) {
		const GbeStored *stored = queue->stored->pdata[i];
		gbe_autofd int entry_fd = -1;

		if (!stored->has_meta)
			continue;
		more--;
		/* Its sender holds a lock on the data. Removing the entry would waste the parts that were already
		 * sent. */
		if (gbe_open_dir_at(gbe_depot_directory(queue->depot), stored->name, &entry_fd,
				    NULL) &&
		    !gbe_stored_is_free(entry_fd))
			continue;
		gbe_complain("snapshot %s could not be sent and gives way to newer ones: [store] "
			     "queue-keep is %u",
			     stored->name, app->config->store.queue_keep);
		if (!remove_waiting(queue, stored->name, error))
			return false;
	}
	return true;
}

bool
gbe_queue_add(GbeApp *app, const char *identifier, bool there, const GbeStorePush *options,
	      GbeStorePushed *ret_pushed, GError **error)
{
	g_autoptr(GbeSnapshotStore) store = NULL, queue = NULL;
	g_auto(GbeStorePushed) pushed = {0};
	g_auto(GbeOffsite) offsite = {0};
	const GbeStored *newest = NULL;

	/* The newest name that was given away: as recorded, else as the store says, if it can be asked. */
	gbe_history_read(app, identifier, &offsite);
	if (offsite.newest == NULL && there && gbe_snapshot_store_open(app, NULL, &store, NULL) &&
	    gbe_snapshot_store_newest(store, &newest, NULL) && newest != NULL)
		offsite.newest = g_strdup(newest->name);
	if (!open_queue(app, &queue, error))
		return false;
	/* We hold the lock, so an unfinished entry has no writer. */
	for (guint i = 0; i < queue->stored->len; i++) {
		const GbeStored *stored = queue->stored->pdata[i];

		if (stored->state == GBE_STORED_UNFINISHED &&
		    !gbe_depot_remove_entry(queue->depot, stored->name, error))
			return false;
	}
	if (!gbe_store_write_entry(app, queue, options, offsite.newest, note_pushed, &pushed,
				   error))
		return false;
	/* From the first snapshot on, the lack of a proof is reported, even if no snapshot gets off the device. */
	if (offsite.first_pushed_at < 0)
		gbe_history_change(app, identifier, gbe_history_note_queued, NULL);
	if (!drop_oldest(app, error))
		return false;
	*ret_pushed = pushed;
	pushed = (GbeStorePushed){0};
	return true;
}

/* ---- has anything changed? ---- */

/* @revision, @hash: of the last snapshot that was pushed, or waits; -1: not known. After a rollback, other keys may have
 * the same revision: then their hash tells, for which etcd reads all of them. */
static bool
etcd_has(GbeApp *app, gint64 revision, gint64 hash)
{
	gint64 deadline =
	    g_get_monotonic_time() + (gint64)app->config->health.timeout * G_USEC_PER_SEC;
	g_auto(GbeAppEndpoint) at = {{0}};
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GbeClient) client = NULL;
	GbeEtcdStatus status = {0};
	GbeEtcdHashKv found = {0};
	gint64 now;

	gbe_app_endpoint(app, &at);
	if (revision < 0 || hash < 0 || !gbe_client_open(&at.endpoint, &client, &failure) ||
	    !gbe_client_status(client, deadline, &status, &failure))
		return false;
	now = status.header.revision;
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return now == revision && gbe_client_hash_kv(client, 0, deadline, &found, &failure) &&
	       found.header.revision == revision && (gint64)found.hash == hash;
}

static void
note_looked(GbeOffsite *offsite, gpointer data G_GNUC_UNUSED)
{
	offsite->looked_at = g_get_real_time() / G_USEC_PER_SEC;
}

static bool
has_file(GbeDepot *depot, const char *entry, const char *file)
{
	g_autofree char *path = g_build_filename(entry, file, NULL);
	guint64 size = 0;

	return gbe_depot_size(depot, path, &size, NULL) && size > 0;
}

bool
gbe_queue_is_unchanged(GbeApp *app, GbeDepot *depot)
{
	g_autoptr(GbeSnapshotStore) queue = NULL;
	g_auto(GbeOffsite) offsite = {0};

	/* The newest that waits; a refused one may never get into the store. */
	for (guint i = open_queue(app, &queue, NULL) ? queue->stored->len : 0; i > 0; i--) {
		const GbeStored *stored = queue->stored->pdata[i - 1];
		g_auto(GbeTransfer) transfer = {0};

		if (stored->state != GBE_STORED_COMPLETE)
			continue;
		read_transfer(queue, stored->name, &transfer);
		if (!transfer.refused)
			return etcd_has(app, transfer.revision, transfer.hash_kv);
	}
	if (depot == NULL)
		return false;
	gbe_history_read(app, depot->identifier, &offsite);
	if (offsite.pushed == NULL || g_strcmp0(offsite.pushed, offsite.damaged) == 0 ||
	    !etcd_has(app, offsite.pushed_revision, offsite.hash_kv) ||
	    !has_file(depot, offsite.pushed, GBE_SNAPSHOT_META) ||
	    !has_file(depot, offsite.pushed,
		      offsite.stored_sha256 != NULL ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA))
		return false;
	gbe_history_change(app, depot->identifier, note_looked, NULL);
	return true;
}

/* ---- out of the queue: one snapshot ---- */

typedef struct {
	GbeChange change;
	GbeDepot *depot;
	const char *name;	 /* the only one to send; NULL: the best one */
	const GHashTable *tried; /* names to leave out; NULL */
	GbeSnapshotStore *queue;
	const GbeStored *stored; /* borrowed from ->queue */
	char *data;		 /* the path of its data in the store */
	bool there;		 /* the store has the snapshot already, after a power cut */
	int entry_fd;
	int data_fd;
	GbeTransfer record;	/* valid as soon as ->entry_fd is open */
	guint64 requests, sent; /* of the depot, before */
	gint64 began;
} Send;

static void
send_clear(Send *send)
{
	gbe_change_clear(&send->change);
	g_clear_pointer(&send->queue, gbe_snapshot_store_free);
	g_clear_pointer(&send->data, g_free);
	gbe_close_fd(&send->entry_fd);
	gbe_close_fd(&send->data_fd);
	gbe_transfer_clear(&send->record);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Send, send_clear)

static bool
save_record(gpointer data, GError **error)
{
	const Send *send = data;

	return write_transfer(send->entry_fd, &send->record, error);
}

/* Does the store have this snapshot already? Two devices of one image that share a prefix may have equal meta files. So
 * the size of the data also has to be the same. */
static bool
look_there(Send *send, GError **error)
{
	g_autofree char *path = g_build_filename(send->stored->name, GBE_SNAPSHOT_META, NULL);
	g_autofree char *here = NULL, *there = NULL;
	g_autoptr(GError) local = NULL;
	gsize size = 0, there_size = 0;
	guint64 data_size = 0;
	bool same;

	if (!gbe_depot_read(send->depot, path, GBE_SNAPSHOT_META_MAX, &there, &there_size, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	if (there[0] == '<')
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "%s: the answer is XML or HTML, which no object store sends",
				 path);
	if (!gbe_read_file_at(send->entry_fd, GBE_SNAPSHOT_META, GBE_SNAPSHOT_META_MAX, &here,
			      &size, error))
		return false;
	same = size == there_size && memcmp(here, there, size) == 0;
	if (same && !gbe_depot_size(send->depot, send->data, &data_size, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	send->there = same && data_size == send->stored->size;
	return send->there ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "another snapshot %s is there: give each device a prefix of its own",
			 send->stored->name);
}

/* The entry that was begun comes first, so that a weak link completes one. Then the newest. */
static const GbeStored *
choose_next(const Send *send)
{
	const GPtrArray *all = send->queue->stored;
	const GbeStored *newest = NULL;

	for (guint i = all->len; i > 0; i--) {
		const GbeStored *stored = all->pdata[i - 1];
		g_auto(GbeTransfer) record = {0};

		if (!stored->has_meta ||
		    (send->name != NULL && !g_str_equal(stored->name, send->name)) ||
		    (send->tried != NULL &&
		     g_hash_table_contains((GHashTable *)send->tried, stored->name)))
			continue;
		/* Has a part of it been sent to this store? */
		read_transfer(send->queue, stored->name, &record);
		if (record.upload != NULL && g_strcmp0(record.store, send->depot->identifier) == 0)
			return stored;
		if (newest == NULL)
			newest = stored;
	}
	return newest;
}

static bool
choose_entry(gpointer change, GError **error)
{
	Send *send = change;
	g_auto(GbeSnapshotMeta) meta = {0};
	g_autofree char *text = NULL;
	gsize size = 0;

	if (!open_queue(send->change.app, &send->queue, error))
		return false;
	send->stored = choose_next(send);
	send->change.ended = send->stored == NULL;
	if (send->stored == NULL)
		return true;
	if (!gbe_open_dir_at(gbe_depot_directory(send->queue->depot), send->stored->name,
			     &send->entry_fd, error))
		return false;
	read_transfer(send->queue, send->stored->name, &send->record);
	gbe_transfer_begin(&send->record, send->depot->identifier);
	/* Do not send an entry that no reader of the store would accept as a snapshot. */
	if (send->stored->why != NULL)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s is damaged in the queue: %s",
				 send->stored->name, send->stored->why);
	if (!gbe_read_file_at(send->entry_fd, GBE_SNAPSHOT_META, GBE_SNAPSHOT_META_MAX, &text,
			      &size, error) ||
	    !gbe_snapshot_meta_parse(text, size, &meta, error))
		return gbe_prefix(error, "%s is damaged in the queue", send->stored->name);
	send->data =
	    g_build_filename(send->stored->name,
			     send->stored->encrypted ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA, NULL);
	return look_there(send, error);
}

static bool
send_data(gpointer change, GError **error)
{
	Send *send = change;
	const GbeDepotResume resume = {&send->record, save_record, send};

	if (send->there)
		return true;
	send->data_fd =
	    openat(send->entry_fd, strrchr(send->data, '/') + 1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (send->data_fd < 0)
		return gbe_throw_errno(error, errno, "cannot open %s in the queue", send->data);
	/* Keeps drop_oldest() from removing the entry meanwhile. */
	(void)flock(send->data_fd, LOCK_SH | LOCK_NB);
	return gbe_depot_put(send->depot, send->data, send->data_fd, send->stored->size, &resume,
			     error);
}

/* @needed: its lack is an error. */
static bool
send_text(const Send *send, const char *file, gsize max, bool needed, GError **error)
{
	g_autofree char *path = g_build_filename(send->stored->name, file, NULL);
	g_autoptr(GError) local = NULL;
	g_autofree char *text = NULL;
	gsize size = 0;

	if (send->there)
		return true;
	if (gbe_read_file_at(send->entry_fd, file, max, &text, &size, &local))
		return gbe_depot_put_text(send->depot, path, text, error);
	if (!needed && g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		return true;
	return gbe_pass(error, &local);
}

static bool
send_seal(gpointer change, GError **error)
{
	return send_text(change, GBE_SNAPSHOT_SEAL, GBE_SEAL_MAX, false, error);
}

static bool
send_device(gpointer change, GError **error)
{
	return send_text(change, GBE_SNAPSHOT_DEVICE, GBE_DEVICE_MAX, false, error);
}

static bool
send_meta(gpointer change, GError **error)
{
	return send_text(change, GBE_SNAPSHOT_META, GBE_SNAPSHOT_META_MAX, true, error);
}

static bool
note_sent(gpointer change, GError **error G_GNUC_UNUSED)
{
	Send *send = change;
	GbeHistoryPush push;

	gbe_depot_count(send->depot);
	push = (GbeHistoryPush){.name = send->stored->name,
				.sha256 = send->record.sha256,
				.stored_sha256 = send->record.stored_sha256,
				.revision = send->record.revision,
				.hash_kv = send->record.hash_kv,
				.size = (gint64)send->stored->size,
				.sent = (gint64)(send->depot->sent - send->sent),
				.requests = (gint64)(send->depot->requests - send->requests),
				.usec = g_get_monotonic_time() - send->began,
				.elsewhere = gbe_depot_is_elsewhere(send->depot),
				.bound = send->stored->has_device};
	gbe_history_change(send->change.app, send->depot->identifier, gbe_history_note_pushed,
			   &push);
	return true;
}

static bool
leave_queue(gpointer change, GError **error)
{
	const Send *send = change;

	return remove_waiting(send->queue, send->stored->name, error);
}

/* Under the sender's own lock, because greenboot waits for the program's. queue.h describes the state after a power
 * cut. */
static const GbeStep send_steps[] = {
    {"store-entry-chosen", choose_entry, NULL, GBE_STEP_UNLOCKED, 0},
    {"store-data-sent", send_data, NULL, GBE_STEP_UNLOCKED, 0},
    {"store-hmac-sent", send_seal, NULL, GBE_STEP_UNLOCKED, 0},
    {"store-device-sent", send_device, NULL, GBE_STEP_UNLOCKED, 0},
    {"store-meta-sent", send_meta, NULL, GBE_STEP_UNLOCKED, 0},
    {"store-sent-noted", note_sent, NULL, GBE_STEP_UNLOCKED, 0},
    {"store-queue-left", leave_queue, NULL, GBE_STEP_UNLOCKED, 0},
    {NULL, NULL, NULL, 0, 0},
};

/* Does the store answer, but refuse this snapshot? Then another snapshot may succeed. */
static bool
is_of_the_snapshot(const GError *error)
{
	static const GbeErrorCode codes[] = {GBE_ERROR_REFUSED, GBE_ERROR_NOT_FOUND,
					     GBE_ERROR_CORRUPT, GBE_ERROR_UNREADABLE,
					     GBE_ERROR_VERIFY_FAILED};

	for (gsize i = 0; i < G_N_ELEMENTS(codes); i++)
		if (g_error_matches(error, GBE_ERROR, (gint)codes[i]))
			return true;
	return false;
}

static void
note_failed(GbeOffsite *offsite, gpointer data)
{
	const GError *error = data;

	offsite->failed_at = g_get_real_time() / G_USEC_PER_SEC;
	g_free(offsite->failed_why);
	offsite->failed_why = g_strdup(error->message);
}

/* The reason of a failure stays in the record of the store, and in that of the snapshot until it is sent. */
static void
note_why(gpointer change)
{
	Send *send = change;
	const GError *why = send->change.why;
	g_autoptr(GError) unsaved = NULL;

	if (why == NULL || send->stored == NULL)
		return;
	gbe_history_change(send->change.app, send->depot->identifier, note_failed, (gpointer)why);
	if (send->entry_fd < 0)
		return;
	g_free(send->record.failed);
	send->record.failed = g_strdup(why->message);
	send->record.failed_at = g_get_real_time() / G_USEC_PER_SEC;
	send->record.refused = is_of_the_snapshot(why);
	if (!save_record(send, &unsaved))
		gbe_complain("cannot write the record of the queued snapshot %s: %s",
			     send->stored->name, unsaved->message);
}

/* *ret_name: the snapshot that was sent, or that failed; NULL: all that wait are in @tried. */
static bool
send_next(GbeApp *app, GbeDepot *depot, const char *name, const GHashTable *tried, char **ret_name,
	  GError **error)
{
	g_auto(Send) send = {.change = {.app = app,
					.name = "store send",
					.steps = send_steps,
					.by_any_user = true,
					.end = note_why},
			     .depot = depot,
			     .name = name,
			     .tried = tried,
			     .entry_fd = -1,
			     .data_fd = -1,
			     .began = g_get_monotonic_time()};
	g_autoptr(GbeLock) lock = NULL;
	bool ok;

	*ret_name = NULL;
	gbe_depot_count(depot);
	send.requests = depot->requests;
	send.sent = depot->sent;
	if (!gbe_app_open_state(app, true, error) ||
	    !gbe_lock_acquire_at(app->state_fd, LOCK, "store send", GBE_WAIT_NOT, &lock, error))
		return false;
	ok = gbe_change_run(&send.change, error);
	if (send.stored != NULL)
		*ret_name = g_strdup(send.stored->name);
	return ok || send.stored == NULL || gbe_prefix(error, "%s", depot->shown);
}

bool
gbe_queue_send(GbeApp *app, GbeDepot *depot, const char *name, GError **error)
{
	g_autofree char *sent = NULL;

	return send_next(app, depot, name, NULL, &sent, error);
}

bool
gbe_queue_send_all(GbeApp *app, GbeDepot *depot, GbeQueueSent sent, gpointer data, GError **error)
{
	g_autoptr(GHashTable) refused =
	    g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GError) first = NULL;

	for (;;) {
		g_autofree char *name = NULL;
		g_autoptr(GError) local = NULL;

		if (send_next(app, depot, NULL, refused, &name, &local)) {
			if (name == NULL)
				break;
			sent(name, data);
			continue;
		}
		if (name == NULL || !is_of_the_snapshot(local))
			return gbe_pass(error, &local);
		g_hash_table_add(refused, g_steal_pointer(&name));
		if (first == NULL)
			first = g_steal_pointer(&local);
	}
	return first == NULL || gbe_pass(error, &first);
}

/* ---- all of them, with pauses ---- */

/* Wakes a sender: its pause is over, the network has changed, or something came into the queue. */
typedef struct {
	int timer_fd, network_fd, queue_fd;
} Wake;

static void
wake_clear(Wake *wake)
{
	gbe_close_fd(&wake->timer_fd);
	gbe_close_fd(&wake->network_fd);
	gbe_close_fd(&wake->queue_fd);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Wake, wake_clear)

/* Without the network's news or the queue's, the pause alone wakes. */
static bool
open_wake(const GbeSnapshotStore *queue, Wake *wake, GError **error)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK,
					    .nl_groups = RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE |
							 RTMGRP_LINK};
	g_autofree char *path =
	    g_strdup_printf("/proc/self/fd/%d", gbe_depot_directory(queue->depot));

	wake->network_fd =
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (wake->network_fd >= 0 &&
	    bind(wake->network_fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		gbe_close_fd(&wake->network_fd);
	wake->queue_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (wake->queue_fd >= 0)
		(void)inotify_add_watch(wake->queue_fd, path, IN_CREATE | IN_MOVED_TO);
	/* Suspended time counts, and a clock that is set does not. */
	wake->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	return wake->timer_fd >= 0 || gbe_throw_errno(error, errno, "cannot make a timer");
}

static void
forget_news(int fd)
{
	char bytes[4096];

	while (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
		;
}

/* *ret_early (NULL: news do not wake): something has happened before the time was over. */
static bool
wait_for_news(const Wake *wake, guint seconds, bool *ret_early, GError **error)
{
	const struct itimerspec when = {.it_value = {.tv_sec = seconds}};
	struct pollfd fds[] = {{wake->timer_fd, POLLIN, 0},
			       {wake->network_fd, POLLIN, 0},
			       {wake->queue_fd, POLLIN, 0}};
	int n;

	if (timerfd_settime(wake->timer_fd, 0, &when, NULL) < 0)
		return gbe_throw_errno(error, errno, "cannot set a timer");
	do
		n = poll(fds, ret_early != NULL ? G_N_ELEMENTS(fds) : 1, -1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return gbe_throw_errno(error, errno, "cannot wait");
	if (ret_early != NULL)
		*ret_early = (fds[0].revents & POLLIN) == 0;
	return true;
}

static void
say_sent(const char *name, gpointer data)
{
	guint *seconds = data;

	gbe_note("snapshot %s was sent", name);
	*seconds = PAUSE_FIRST;
}

bool
gbe_queue_drain(GbeApp *app, guint64 seconds_each, GError **error)
{
	g_auto(Wake) wake = {-1, -1, -1};
	g_autoptr(GbeSnapshotStore) queue = NULL;
	g_autofree char *store = gbe_history_configured(app);
	g_autofree char *said = NULL;
	guint seconds = PAUSE_FIRST;

	if (store == NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "no store is set: [store] directory= or url=");
	if (!open_queue(app, &queue, error) || !open_wake(queue, &wake, error))
		return false;
	for (;;) {
		g_autoptr(GbeSnapshotStore) waiting = NULL;
		g_autoptr(GbeDepot) depot = NULL;
		g_autoptr(GError) local = NULL;
		bool early = false, ok;

		app->store_deadline =
		    g_get_monotonic_time() + (gint64)seconds_each * G_USEC_PER_SEC;
		ok = open_queue(app, &waiting, &local);
		/* The depot is needed only if a snapshot waits. */
		if (ok && count_waiting(waiting) == 0)
			return true;
		/* Each try opens the depot again: a disk may be mounted by then, or a key exchanged. */
		if (ok && gbe_depot_open(app, NULL, &depot, &local) &&
		    gbe_queue_send_all(app, depot, say_sent, &seconds, &local))
			return true;
		/* The same reason is said once. */
		if (g_strcmp0(said, local->message) != 0)
			gbe_complain("%s; it is tried again", local->message);
		g_free(said);
		said = g_strdup(local->message);
		/* News wait for the first pause to end: containers that come and go change the network all the time. */
		if (!wait_for_news(&wake, PAUSE_FIRST, NULL, error) ||
		    (seconds > PAUSE_FIRST &&
		     !wait_for_news(&wake, seconds - PAUSE_FIRST, &early, error)))
			return false;
		forget_news(wake.network_fd);
		forget_news(wake.queue_fd);
		/* News shorten this pause, and not the following ones. */
		seconds = MIN(seconds * 2, PAUSE_MOST);
		if (early)
			seconds = MAX(seconds / 2, PAUSE_FIRST);
	}
}
