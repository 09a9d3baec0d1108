/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/device.h"
#include "store/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "app/state/history.h"
#include "base/fault.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "fs/open.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#define LOCK "store-send"
#define SEAL_MAX 256

typedef struct {
	GbeApp *app;
	GbeDepot *depot;
	GbeSnapshotStore *queue;
	const GbeStored *stored; /* borrowed of ->queue */
	int entry_fd;
	int data_fd;
	JsonObject *record;
	guint64 requests, sent; /* of the depot, before */
	gint64 began;
} Send;

static void
send_clear(Send *send)
{
	g_clear_pointer(&send->queue, gbe_snapshot_store_free);
	gbe_close_fd(&send->entry_fd);
	gbe_close_fd(&send->data_fd);
	g_clear_pointer(&send->record, json_object_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Send, send_clear)

/* ---- how far it was sent ---- */

static bool
save_record(gpointer data, GError **error)
{
	const Send *send = data;
	g_autofree char *text = gbe_json_print_object(send->record);

	return gbe_write_file_at(send->entry_fd, GBE_QUEUE_RECORD, text, strlen(text), 0600,
				 GBE_WRITE_DURABLE, error);
}

/* A record that cannot be read is an empty one: then all is sent. One of another store does not count. */
static void
read_record(Send *send)
{
	g_autofree char *bytes = NULL;
	gsize size = 0;

	if (!gbe_read_file_at(send->entry_fd, GBE_QUEUE_RECORD, GBE_JSON_MAX_SIZE, &bytes, &size,
			      NULL) ||
	    !gbe_json_parse_object(bytes, size, GBE_QUEUE_RECORD, &send->record, NULL))
		send->record = json_object_new();
	if (g_strcmp0(gbe_json_string(send->record, "store", NULL), send->depot->identifier) == 0)
		return;
	gbe_json_set_string(send->record, "store", send->depot->identifier);
	json_object_remove_member(send->record, "upload");
	json_object_remove_member(send->record, "parts");
}

/* ---- one file after the other ---- */

static bool
send_data(Send *send, const char *file, GError **error)
{
	g_autofree char *path = g_build_filename(send->stored->name, file, NULL);
	const GbeDepotResume resume = {send->record, save_record, send};

	send->data_fd = openat(send->entry_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (send->data_fd < 0)
		return gbe_throw_errno(error, errno, "cannot open %s in the queue", path);
	/* So that it does not give way to newer ones meanwhile. */
	(void)flock(send->data_fd, LOCK_SH | LOCK_NB);
	return gbe_depot_put(send->depot, path, send->data_fd, send->stored->size, &resume,
			     error) &&
	       !GBE_FAULT("store-data-sent", error);
}

static bool
send_text(const Send *send, const char *file, gsize max, bool needed, GError **error)
{
	g_autofree char *path = g_build_filename(send->stored->name, file, NULL);
	g_autoptr(GError) local = NULL;
	g_autofree char *text = NULL;
	gsize size = 0;

	if (gbe_read_file_at(send->entry_fd, file, max, &text, &size, &local))
		return gbe_depot_put_text(send->depot, path, text, error);
	if (!needed && g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		return true;
	return gbe_pass(error, &local);
}

static const char *
data_file(const Send *send)
{
	return send->stored->encrypted ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA;
}

/* *ret_there: the store has this snapshot already, after a power cut. Two devices of one image that share a prefix may have
 * equal meta files, so the size of the data has to be the same, too. */
static bool
look_there(const Send *send, bool *ret_there, GError **error)
{
	g_autofree char *data = g_build_filename(send->stored->name, data_file(send), NULL);
	g_autofree char *path = g_build_filename(send->stored->name, GBE_SNAPSHOT_META, NULL);
	g_autofree char *here = NULL, *there = NULL;
	g_autoptr(GError) local = NULL;
	gsize size = 0, there_size = 0;
	guint64 data_size = 0;
	bool same;

	*ret_there = false;
	if (!gbe_depot_read(send->depot, path, GBE_SNAPSHOT_META_MAX, &there, &there_size, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	if (there[0] == '<')
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "%s: the answer is not that of an object store: it is XML or HTML",
				 path);
	if (!gbe_read_file_at(send->entry_fd, GBE_SNAPSHOT_META, GBE_SNAPSHOT_META_MAX, &here,
			      &size, error))
		return false;
	same = size == there_size && memcmp(here, there, size) == 0;
	if (same && !gbe_depot_size(send->depot, data, &data_size, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	*ret_there = same && data_size == send->stored->size;
	return *ret_there ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "another snapshot %s is there: give each device a prefix of its own",
			 send->stored->name);
}

static void
note_sent(const Send *send)
{
	GbeHistoryPush push = {
	    .name = send->stored->name,
	    .sha256 = gbe_json_string(send->record, "sha256", NULL),
	    .stored_sha256 = gbe_json_string(send->record, "stored_sha256", NULL),
	    .revision = gbe_json_int(send->record, "revision", -1),
	    .hash_kv = gbe_json_int(send->record, "hash_kv", -1),
	    .size = (gint64)send->stored->size,
	    .sent = (gint64)(send->depot->sent - send->sent),
	    .requests = (gint64)(send->depot->requests - send->requests),
	    .usec = g_get_monotonic_time() - send->began,
	    .elsewhere = gbe_depot_is_elsewhere(send->depot),
	    .bound = send->stored->has_device,
	};

	gbe_history_change(send->app, send->depot->identifier, gbe_history_note_pushed, &push);
}

static void
note_failed(GbeOffsite *offsite, gpointer data)
{
	const GError *error = data;

	offsite->failed_at = g_get_real_time() / G_USEC_PER_SEC;
	g_free(offsite->failed_why);
	offsite->failed_why = g_strdup(error->message);
}

/* The store is not to get what no reader of it would take for a snapshot. */
static bool
check_entry(const Send *send, GError **error)
{
	g_auto(GbeSnapshotMeta) meta = {0};
	g_autofree char *text = NULL;
	gsize size = 0;

	if (send->stored->why != NULL)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s", send->stored->why);
	return gbe_read_file_at(send->entry_fd, GBE_SNAPSHOT_META, GBE_SNAPSHOT_META_MAX, &text,
				&size, error) &&
	       gbe_snapshot_meta_parse(text, size, &meta, error);
}

static bool
send_entry(Send *send, GError **error)
{
	bool there = false;

	if (!gbe_open_dir_at(gbe_depot_directory(send->queue->depot), send->stored->name,
			     &send->entry_fd, error))
		return false;
	read_record(send);
	if (!check_entry(send, error))
		return gbe_prefix(error, "%s is damaged in the queue", send->stored->name);
	if (!look_there(send, &there, error))
		return false;
	if (!there && (!send_data(send, data_file(send), error) ||
		       !send_text(send, GBE_SNAPSHOT_SEAL, SEAL_MAX, false, error) ||
		       GBE_FAULT("store-hmac-sent", error) ||
		       !send_text(send, GBE_SNAPSHOT_DEVICE, GBE_DEVICE_MAX, false, error) ||
		       !send_text(send, GBE_SNAPSHOT_META, GBE_SNAPSHOT_META_MAX, true, error) ||
		       GBE_FAULT("store-meta-sent", error)))
		return false;
	note_sent(send);
	return !GBE_FAULT("store-sent-noted", error) &&
	       gbe_queue_remove(send->queue, send->stored->name, error);
}

/* Has a part of it been sent to this store? */
static bool
has_begun(const GbeSnapshotStore *queue, const GbeStored *stored, const GbeDepot *depot)
{
	g_autofree char *path = g_build_filename(stored->name, GBE_QUEUE_RECORD, NULL);
	g_autoptr(JsonObject) record = NULL;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	return gbe_depot_read(queue->depot, path, GBE_JSON_MAX_SIZE, &bytes, &size, NULL) &&
	       gbe_json_parse_object(bytes, size, path, &record, NULL) &&
	       gbe_json_string(record, "upload", NULL) != NULL &&
	       g_strcmp0(gbe_json_string(record, "store", NULL), depot->identifier) == 0;
}

/* The one that was begun, so that on a link that breaks one comes to its end; else the newest. @done: those that were tried
 * already, or NULL. */
static const GbeStored *
choose(const GbeSnapshotStore *queue, const char *name, GHashTable *done, const GbeDepot *depot)
{
	const GbeStored *newest = NULL;

	for (guint i = queue->stored->len; i > 0; i--) {
		const GbeStored *stored = queue->stored->pdata[i - 1];

		if (!stored->has_meta || (name != NULL && !g_str_equal(stored->name, name)) ||
		    (done != NULL && g_hash_table_contains(done, stored->name)))
			continue;
		if (has_begun(queue, stored, depot))
			return stored;
		if (newest == NULL)
			newest = stored;
	}
	return newest;
}

/* The store answers, and takes this snapshot not: it may well take another one. */
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

/* With the reason in the record of the store, and in that of the snapshot, which stays until it is sent. */
static void
keep_reason(Send *send, GError *failure)
{
	g_autoptr(GError) local = NULL;

	gbe_history_change(send->app, send->depot->identifier, note_failed, failure);
	if (send->record == NULL)
		return;
	gbe_json_set_string(send->record, GBE_QUEUE_FAILED, failure->message);
	json_object_set_int_member(send->record, GBE_QUEUE_FAILED_AT,
				   g_get_real_time() / G_USEC_PER_SEC);
	json_object_set_boolean_member(send->record, GBE_QUEUE_REFUSED,
				       is_of_the_snapshot(failure));
	if (!save_record(send, &local))
		gbe_complain("the record of the waiting snapshot %s could not be written: %s",
			     send->stored->name, local->message);
}

/* *ret_name: of the one that was sent, or that failed; NULL: none waits that is not among @done. */
static bool
send_next(GbeApp *app, GbeDepot *depot, const char *name, GHashTable *done, char **ret_name,
	  GError **error)
{
	g_auto(Send) send = {.app = app,
			     .depot = depot,
			     .entry_fd = -1,
			     .data_fd = -1,
			     .requests = depot->requests,
			     .sent = depot->sent,
			     .began = g_get_monotonic_time()};
	g_autoptr(GbeLock) lock = NULL;
	g_autoptr(GError) local = NULL;

	*ret_name = NULL;
	if (!gbe_app_open_state(app, true, error) ||
	    !gbe_lock_acquire_at(app->state_fd, LOCK, "store send", 0, &lock, error) ||
	    !gbe_queue_open(app, &send.queue, error))
		return false;
	send.stored = choose(send.queue, name, done, depot);
	if (send.stored == NULL)
		return true;
	*ret_name = g_strdup(send.stored->name);
	if (send_entry(&send, &local))
		return true;
	keep_reason(&send, local);
	g_propagate_prefixed_error(error, g_steal_pointer(&local), "%s: ", depot->shown);
	return false;
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
