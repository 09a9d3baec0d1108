/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/queue.h"

#include <string.h>

#include "app/device/endpoint.h"
#include "app/state/history.h"
#include "app/state/state.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "etcd/api/client.h"
#include "fs/open.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#define QUEUE_DIR GBE_STATE_DIR "/" GBE_STATE_QUEUE

/* Unfinished ones are nobody's: only a holder of the lock writes to the queue. */
static bool
sweep(const GbeSnapshotStore *queue, GError **error)
{
	for (guint i = 0; i < queue->stored->len; i++) {
		const GbeStored *stored = queue->stored->pdata[i];

		if (stored->state == GBE_STORED_UNFINISHED &&
		    !gbe_depot_remove_entry(queue->depot, stored->name, error))
			return false;
	}
	return true;
}

bool
gbe_queue_open(GbeApp *app, GbeSnapshotStore **ret_queue, GError **error)
{
	gbe_autofd int fd = -1;

	return gbe_make_dirs(app->root_fd, QUEUE_DIR, 0700, &fd, error) &&
	       gbe_snapshot_store_open(app, QUEUE_DIR, ret_queue, error);
}

bool
gbe_queue_remove(const GbeSnapshotStore *queue, const char *name, GError **error)
{
	g_autofree char *meta = g_build_filename(name, GBE_SNAPSHOT_META, NULL);

	return gbe_depot_unpublish(queue->depot, meta, error) &&
	       gbe_depot_remove_entry(queue->depot, name, error);
}

guint
gbe_queue_count(const GbeSnapshotStore *queue)
{
	guint n = 0;

	for (guint i = 0; i < queue->stored->len; i++)
		n += ((GbeStored *)queue->stored->pdata[i])->has_meta;
	return n;
}

/* The sender reads this beside the files. */
static bool
note(int entry_fd, const GbeStorePushed *pushed, GError **error)
{
	const GbeDb *db = &pushed->verification->directory.db;
	g_autoptr(JsonObject) object = json_object_new();
	g_autofree char *text = NULL;

	gbe_json_set_string(object, "sha256", pushed->sha256);
	gbe_json_set_string(object, "stored_sha256", pushed->stored_sha256);
	gbe_json_set_known(object, "revision", db->revision > 0 ? db->revision : -1);
	gbe_json_set_known(object, "hash_kv", db->has_hash_kv ? (gint64)db->hash_kv : -1);
	text = gbe_json_print_object(object);
	return gbe_write_file_at(entry_fd, GBE_QUEUE_RECORD, text, strlen(text), 0600,
				 GBE_WRITE_DURABLE, error);
}

/* The sender holds a lock on its data; what it has sent of it would be lost. */
static bool
is_being_sent(const GbeSnapshotStore *queue, const GbeStored *stored)
{
	gbe_autofd int entry_fd = -1;

	return gbe_open_dir_at(gbe_depot_directory(queue->depot), stored->name, &entry_fd, NULL) &&
	       !gbe_stored_is_free(entry_fd);
}

static bool
drop_oldest(GbeApp *app, GError **error)
{
	g_autoptr(GbeSnapshotStore) queue = NULL;
	guint more;

	if (!gbe_queue_open(app, &queue, error))
		return false;
	more = gbe_queue_count(queue);
	for (guint i = 0; i < queue->stored->len && more > app->config->store.queue_keep; i++) {
		const GbeStored *stored = queue->stored->pdata[i];

		if (!stored->has_meta)
			continue;
		more--;
		if (is_being_sent(queue, stored))
			continue;
		gbe_complain("snapshot %s could not be sent and gives way to newer ones: [store] "
			     "queue-keep is %u",
			     stored->name, app->config->store.queue_keep);
		if (!gbe_queue_remove(queue, stored->name, error))
			return false;
	}
	return true;
}

/* The newest name that was given away: as recorded; where there is no record, as the store says, if it can be asked. */
static char *
newest_known(GbeApp *app, const char *identifier, bool there)
{
	g_autoptr(GbeSnapshotStore) store = NULL;
	g_auto(GbeOffsite) offsite = {0};
	const GbeStored *newest = NULL;

	gbe_history_read(app, identifier, &offsite);
	if (offsite.newest == NULL && there && gbe_snapshot_store_open(app, NULL, &store, NULL) &&
	    gbe_snapshot_store_newest(store, &newest, NULL) && newest != NULL)
		return g_strdup(newest->name);
	return g_steal_pointer(&offsite.newest);
}

/* From the first one on, somebody misses a proof, also where none ever gets off the device. */
static void
note_first(GbeApp *app, const char *identifier)
{
	g_auto(GbeOffsite) offsite = {0};

	gbe_history_read(app, identifier, &offsite);
	if (offsite.first_pushed_at < 0)
		gbe_history_change(app, identifier, gbe_history_note_queued, NULL);
}

bool
gbe_queue_add(GbeApp *app, const char *identifier, bool there, const GbeStorePush *options,
	      GbeStorePushed *ret_pushed, GError **error)
{
	g_autofree char *known = newest_known(app, identifier, there);
	g_autoptr(GbeSnapshotStore) queue = NULL;
	g_auto(GbeStorePushed) pushed = {0};

	if (!gbe_queue_open(app, &queue, error) || !sweep(queue, error) ||
	    !gbe_store_write_entry(app, queue, options, known, note, &pushed, error))
		return false;
	note_first(app, identifier);
	if (!drop_oldest(app, error))
		return false;
	*ret_pushed = pushed;
	pushed = (GbeStorePushed){0};
	return true;
}

/* ---- has anything changed? ---- */

/* The revision and the hash of the last snapshot that was pushed, or waits; -1: not known. */
typedef struct {
	gint64 revision, hash;
} Known;

/* After a rollback, other keys may have the same revision: then their hash tells, for which etcd reads all of them. */
static bool
etcd_has(GbeApp *app, const Known *known)
{
	gint64 deadline =
	    g_get_monotonic_time() + (gint64)app->config->health.timeout * G_USEC_PER_SEC;
	g_auto(GbeAppEndpoint) at = {{0}};
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GbeClient) client = NULL;
	GbeEtcdStatus status = {0};
	GbeEtcdHashKv hash = {0};
	gint64 revision;

	gbe_app_endpoint(app, &at);
	if (known->revision < 0 || known->hash < 0 ||
	    !gbe_client_open(&at.endpoint, &client, &failure) ||
	    !gbe_client_status(client, deadline, &status, &failure))
		return false;
	revision = status.header.revision;
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return revision == known->revision &&
	       gbe_client_hash_kv(client, 0, deadline, &hash, &failure) &&
	       hash.header.revision == known->revision && (gint64)hash.hash == known->hash;
}

/* False: it was refused, and may never get into the store. */
static bool
read_record(const GbeSnapshotStore *queue, const GbeStored *stored, Known *ret_known)
{
	g_autofree char *path = g_build_filename(stored->name, GBE_QUEUE_RECORD, NULL);
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	*ret_known = (Known){-1, -1};
	if (!gbe_depot_read(queue->depot, path, GBE_JSON_MAX_SIZE, &bytes, &size, NULL) ||
	    !gbe_json_parse_object(bytes, size, path, &object, NULL))
		return true;
	*ret_known =
	    (Known){gbe_json_int(object, "revision", -1), gbe_json_int(object, "hash_kv", -1)};
	return !gbe_json_bool(object, GBE_QUEUE_REFUSED, false);
}

/* Of the newest that waits for the store. False: none does. */
static bool
read_waiting(GbeApp *app, Known *ret_known)
{
	g_autoptr(GbeSnapshotStore) queue = NULL;

	if (!gbe_queue_open(app, &queue, NULL))
		return false;
	for (guint i = queue->stored->len; i > 0; i--) {
		const GbeStored *stored = queue->stored->pdata[i - 1];

		if (stored->state == GBE_STORED_COMPLETE && read_record(queue, stored, ret_known))
			return true;
	}
	return false;
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
	g_auto(GbeOffsite) offsite = {0};
	Known known;

	if (read_waiting(app, &known))
		return etcd_has(app, &known);
	if (depot == NULL)
		return false;
	gbe_history_read(app, depot->identifier, &offsite);
	known = (Known){offsite.pushed_revision, offsite.hash_kv};
	if (offsite.pushed == NULL || g_strcmp0(offsite.pushed, offsite.damaged) == 0 ||
	    !etcd_has(app, &known) || !has_file(depot, offsite.pushed, GBE_SNAPSHOT_META) ||
	    !has_file(depot, offsite.pushed,
		      offsite.stored_sha256 != NULL ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA))
		return false;
	gbe_history_change(app, depot->identifier, note_looked, NULL);
	return true;
}
