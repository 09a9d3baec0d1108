/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/history.h"

#include <string.h>
#include <unistd.h>

#include "app/state/state.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/record/fields.h"
#include "core/snapshot/name.h"
#include "fs/list.h"
#include "fs/open.h"
#include "sys/systemd/events.h"

#define STORES "stores"
/* The same names as in the records, as version 0.2 reads and writes them. */
#define NEWEST "newest"

bool
gbe_history_is_newer(const char *name, const char *known)
{
	GbeSnapshotName a, b;

	return name != NULL && gbe_snapshot_name_parse(name, &a) &&
	       (known == NULL || !gbe_snapshot_name_parse(known, &b) ||
		gbe_snapshot_name_compare(&a, &b) > 0);
}

/* @object: the whole file, or NULL. After a rollback, version 0.2 may have pushed. */
static void
read_record(JsonObject *object, const char *store, GbeOffsite *ret_offsite)
{
	JsonObject *stores = object != NULL ? gbe_json_object(object, STORES) : NULL;
	JsonObject *newest = object != NULL ? gbe_json_object(object, NEWEST) : NULL;

	gbe_offsite_read(stores != NULL ? gbe_json_object(stores, store) : NULL, ret_offsite);
	if (newest != NULL)
		gbe_history_note_newest(ret_offsite,
					(gpointer)gbe_json_string(newest, store, NULL));
}

bool
gbe_history_load(GbeApp *app, const char *store, GbeOffsite *ret_offsite, GError **error)
{
	g_autoptr(JsonObject) object = NULL;

	if (!gbe_state_read(app, GBE_STATE_STORES, false, &object, error))
		return false;
	read_record(object, store, ret_offsite);
	return true;
}

void
gbe_history_read(GbeApp *app, const char *store, GbeOffsite *ret_offsite)
{
	g_autoptr(GError) local = NULL;

	gbe_offsite_init(ret_offsite);
	if (!gbe_history_load(app, store, ret_offsite, &local))
		gbe_note("%s", local->message);
}

/* The record is written under the lock: the next holder of the lock sweeps a half-written file. */
void
gbe_history_change(GbeApp *app, const char *store, GbeHistoryChange change, gpointer data)
{
	g_autoptr(JsonObject) object = NULL;
	g_auto(GbeOffsite) offsite = {0};
	g_autoptr(GError) error = NULL;
	JsonObject *stores;

	if (gbe_app_lock(app, "store", GBE_WAIT_UNIT, &error)) {
		if (gbe_state_read(app, GBE_STATE_STORES, true, &object, &error)) {
			if (object == NULL)
				object = json_object_new();
			read_record(object, store, &offsite);
			change(&offsite, data);
			stores = gbe_json_open_object(object, STORES);
			gbe_offsite_print(&offsite, gbe_json_open_object(stores, store));
			if (offsite.newest != NULL)
				gbe_json_set_string(gbe_json_open_object(object, NEWEST), store,
						    offsite.newest);
			(void)!gbe_state_write(app, GBE_STATE_STORES, object, &error);
		}
		gbe_app_unlock(app);
	}
	if (error != NULL)
		gbe_complain("the record of the store %s could not be written: %s", store,
			     error->message);
}

void
gbe_history_note_newest(GbeOffsite *offsite, gpointer data)
{
	if (!gbe_history_is_newer(data, offsite->newest))
		return;
	g_free(offsite->newest);
	offsite->newest = g_strdup(data);
}

void
gbe_history_note_queued(GbeOffsite *offsite, gpointer data G_GNUC_UNUSED)
{
	if (offsite->first_pushed_at < 0)
		offsite->first_pushed_at = g_get_real_time() / G_USEC_PER_SEC;
}

/* Of snapshots that waited, older ones are sent later: the newest is the one that a proof is of. */
void
gbe_history_note_pushed(GbeOffsite *offsite, gpointer data)
{
	const GbeHistoryPush *push = data;

	gbe_history_note_newest(offsite, (gpointer)push->name);
	if (push->bound && offsite->bound == NULL)
		offsite->bound = g_strdup(push->name);
	g_clear_pointer(&offsite->failed_why, g_free);
	offsite->failed_at = -1;
	gbe_history_note_queued(offsite, NULL);
	/* A newer one takes the place of the damaged one. */
	if (offsite->damaged != NULL && gbe_history_is_newer(push->name, offsite->damaged)) {
		g_clear_pointer(&offsite->damaged, g_free);
		g_clear_pointer(&offsite->damaged_why, g_free);
	}
	if (offsite->pushed != NULL && g_strcmp0(offsite->newest, push->name) != 0)
		return;
	g_free(offsite->pushed);
	g_free(offsite->sha256);
	g_free(offsite->stored_sha256);
	offsite->pushed = g_strdup(push->name);
	offsite->elsewhere = push->elsewhere;
	offsite->sha256 = g_strdup(push->sha256);
	offsite->stored_sha256 = g_strdup(push->stored_sha256);
	offsite->pushed_at = g_get_real_time() / G_USEC_PER_SEC;
	offsite->looked_at = offsite->pushed_at;
	offsite->pushed_revision = push->revision;
	offsite->hash_kv = push->hash_kv;
	offsite->size = push->size;
	offsite->sent = push->sent;
	offsite->requests = push->requests;
	offsite->usec = push->usec;
}

char *
gbe_history_configured(const GbeApp *app)
{
	return app->config->store.directory != NULL ? gbe_path_to_text(app->config->store.directory)
						    : g_strdup(app->config->store.url);
}

static const GbeField waiting_fields[] = {
    GBE_FIELD(GbeWaiting, name, NULL, TEXT),
    GBE_FIELD(GbeWaiting, failed, GBE_QUEUE_FAILED, TEXT),
    GBE_FIELD(GbeWaiting, failed_at, GBE_QUEUE_FAILED_AT, KNOWN),
    {0},
};

static void
waiting_free(gpointer waiting)
{
	gbe_fields_clear(waiting_fields, waiting);
	g_free(waiting);
}

static int
compare_waiting(gconstpointer a, gconstpointer b)
{
	return strcmp((*(GbeWaiting *const *)a)->name, (*(GbeWaiting *const *)b)->name);
}

GPtrArray *
gbe_history_waiting(GbeApp *app)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(waiting_free);
	gbe_autofd int fd = -1;
	g_auto(GbeList) list = {NULL};
	const char *name;

	if (!gbe_app_open_state(app, false, NULL) ||
	    !gbe_open_dir_at(app->state_fd, GBE_STATE_QUEUE, &fd, NULL))
		return all;
	list = gbe_list_open_at(fd, GBE_STATE_QUEUE);
	while ((name = gbe_list_next(&list)) != NULL) {
		g_autofree char *meta = g_build_filename(name, GBE_SNAPSHOT_META, NULL);
		g_autofree char *path = g_build_filename(name, GBE_QUEUE_RECORD, NULL);
		g_autoptr(JsonObject) record = NULL;
		g_autofree char *bytes = NULL;
		GbeWaiting *waiting;
		gsize size = 0;

		if (!gbe_snapshot_name_parse(name, NULL) || faccessat(fd, meta, F_OK, 0) != 0)
			continue;
		waiting = g_new0(GbeWaiting, 1);
		gbe_fields_init(waiting_fields, waiting);
		waiting->name = g_strdup(name);
		/* An unreadable record is ignored. */
		if (gbe_read_file_at(fd, path, GBE_JSON_MAX_SIZE, &bytes, &size, NULL) &&
		    gbe_json_parse_object(bytes, size, path, &record, NULL))
			gbe_fields_read_known(waiting_fields, record, waiting);
		g_ptr_array_add(all, waiting);
	}
	g_ptr_array_sort(all, compare_waiting);
	return all;
}
