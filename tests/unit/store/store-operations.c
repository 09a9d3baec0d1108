/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations of a store that is a directory: push, prune, and the queue with its sender. lib/operations.h has the cases that
 * each of them gets. A new operation is a line in the table.
 */
#include "lib/operations.h"

#include "app/state/history.h"
#include "store/prove.h"
#include "store/queue.h"
#include "store/requests.h"

#define STORE "srv/store"

/* ---- the operations ---- */

static bool
push(GbeApp *app, GError **error)
{
	const GbeStorePush options = {.source = "kept", .timeout = 60};
	g_auto(GbeStorePushed) pushed = {0};

	return gbe_store_push(app, &options, &pushed, error);
}

static bool
prune(GbeApp *app, GError **error)
{
	g_autoptr(GPtrArray) removed = NULL;

	return gbe_store_prune(app, NULL, dry, &removed, error);
}

static bool
put_into_queue(GbeApp *app, GError **error)
{
	const GbeStorePush options = {.source = "kept", .timeout = 60, .queue = true};
	g_auto(GbeStorePushed) pushed = {0};

	return gbe_store_push(app, &options, &pushed, error);
}

static void
ignore_sent(const char *name, gpointer data)
{
	(void)name;
	(void)data;
}

static bool
send_queue(GbeApp *app, GError **error)
{
	g_autoptr(GbeDepot) depot = NULL;

	return gbe_depot_open(app, NULL, &depot, error) &&
	       gbe_queue_send_all(app, depot, ignore_sent, NULL, error);
}

/* ---- the devices ---- */

/* A prune keeps the newest snapshot, and those of the hour before it. */
static void
empty_store(void)
{
	device_used();
	root_mkdir(STORE);
	root_write(DEVICE_CONF, DEVICE_CONF_TEXT "[store]\ndirectory=/" STORE "\nhourly=1\n");
}

/* The first of two snapshots is years older. A prune that is cut between two removals has done one of them. */
static void
full_store(void)
{
	g_autofree char *store = NULL, *now = NULL, *then = NULL;
	g_autoptr(GDir) dir = NULL;

	empty_store();
	device_does(push);
	store = root_path(STORE);
	dir = g_dir_open(store, 0, NULL);
	now = g_build_filename(store, g_dir_read_name(dir), NULL);
	then = g_build_filename(store, "2020-01-01T00:00:00Z-000001", NULL);
	ck_assert_int_eq(rename(now, then), 0);
	device_does(push);
}

static void
waiting_snapshot(void)
{
	empty_store();
	device_does(put_into_queue);
}

/* Adds the number of complete snapshots in the store @path, NULL: the configured one. */
static void
count_snapshots(GbeApp *app, const char *path, const char *label, GString *text)
{
	g_autoptr(GbeSnapshotStore) store = NULL;
	g_autoptr(GError) error = NULL;
	guint complete = 0;

	if (!gbe_snapshot_store_open(app, path, &store, &error) ||
	    !gbe_snapshot_store_look(store, &error)) {
		ck_assert_msg(g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND), "%s",
			      error->message);
		return;
	}
	for (guint i = 0; i < store->stored->len; i++) {
		const GbeStored *stored = store->stored->pdata[i];
		g_autofree char *sha256 = NULL;

		if (stored->state != GBE_STORED_COMPLETE)
			continue;
		/* Complete ones are also sound. */
		ck_assert_msg(gbe_snapshot_store_read(store, stored, NULL, NULL, &sha256, &error),
			      "%s: %s", stored->name, error != NULL ? error->message : "");
		complete++;
	}
	if (complete > 0)
		g_string_append_printf(text, "; %s %u", label, complete);
}

/* The sender comes again, and removes what the store has from the queue. The next prune removes the rest of an entry. */
static bool
finish(GbeApp *app, GError **error)
{
	g_autoptr(GbeSnapshotStore) store = NULL;
	g_autoptr(GString) stored = g_string_new(NULL);

	if (!device_recovers(app, error) || !gbe_snapshot_store_open(app, NULL, &store, error) ||
	    !gbe_snapshot_store_sweep(store, error))
		return false;
	count_snapshots(app, NULL, "stored", stored);
	return stored->len == 0 || send_queue(app, error);
}

/* The data, the backups, and how many snapshots are in the store and in the queue. */
static char *
store_tells(void)
{
	g_autofree char *device = device_tells();
	GString *text = g_string_new(device);
	GbeApp *app = device_app();

	count_snapshots(app, NULL, "stored", text);
	count_snapshots(app, "/" DEVICE_STATE "/queue", "waiting", text);
	gbe_app_free(app);
	return g_string_free(text, false);
}

/* ---- the table ---- */

#define USED "data c; backups a unproven, b unproven"

static const Operation operations[] = {
    {"store push", empty_store, push, 0, USED, USED "; stored 1"},
    {"store push --queue", empty_store, put_into_queue, 0, USED, USED "; waiting 1"},
    {"store send", waiting_snapshot, send_queue, 0, USED "; waiting 1", USED "; stored 1"},
    {"store prune", full_store, prune, OPERATION_DRY_RUN, USED "; stored 2", USED "; stored 1"},
};

/* Another push has the lock of the store. */
START_TEST(lock_is_held)
{
	static const DeviceOperation pushes[] = {push, put_into_queue};

	empty_store();
	(void)device_locks(DEVICE_STATE "/store");
	for (guint i = 0; i < G_N_ELEMENTS(pushes); i++) {
		DeviceEnd end = device_plays(pushes[i], NULL);

		ck_assert_msg(end.code == GBE_ERROR_BUSY &&
				  strstr(end.message, "holds the lock") != NULL,
			      "push %u: %d %s", i, end.code, end.message);
	}
	operations_require("a held lock", USED);
}
END_TEST

/* ---- limits of what others write into the store ---- */

#define SEALED "2026-01-01T00:00:00Z-000001"
#define SEALED_SIZE 100000

/* An encrypted snapshot, of which this device has the record of its push and no identity. */
static bool
note_push(GbeApp *app, GError **error)
{
	g_autofree char *bytes = g_strnfill(SEALED_SIZE, 'x');
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, bytes, SEALED_SIZE);
	g_autofree char *identifier = gbe_history_configured(app);
	g_autofree char *meta = gbe_snapshot_meta_print(
	    &(GbeSnapshotMeta){.etcd_version = (char *)"3.5.0", .timestamp = 1, .members = 1});
	GbeHistoryPush pushed = {.name = SEALED,
				 .sha256 = sum,
				 .stored_sha256 = sum,
				 .revision = 3,
				 .hash_kv = -1,
				 .size = SEALED_SIZE};

	root_write(STORE "/" SEALED "/" GBE_SNAPSHOT_AGE, bytes);
	root_write(STORE "/" SEALED "/" GBE_SNAPSHOT_META, meta);
	if (!gbe_app_lock(app, "test", GBE_WAIT_BY_HAND, error))
		return false;
	gbe_app_unlock(app);
	gbe_history_change(app, identifier, gbe_history_note_pushed, &pushed);
	return true;
}

/* The file grows whenever a piece of it was read. It ends some time, so that a test without the limit also ends. */
static bool
grow(guint64 done, guint64 total, gpointer data)
{
	g_autofree char *path = root_path(STORE "/" SEALED "/" GBE_SNAPSHOT_AGE);
	g_autofree char *more = g_strnfill(SEALED_SIZE, 'x');
	FILE *file = done < 20 * SEALED_SIZE ? fopen(path, "a") : NULL;

	(void)total;
	(void)data;
	if (file != NULL) {
		(void)fwrite(more, 1, SEALED_SIZE, file);
		(void)fclose(file);
	}
	return true;
}

static bool growing;

static bool
prove(GbeApp *app, GError **error)
{
	const GbeStorePull options = {.name = SEALED, .progress = growing ? grow : NULL};
	g_auto(GbeStoreProved) proved = {0};

	return gbe_store_prove(app, &options, &proved, error) &&
	       (proved.compared || gbe_throw(error, GBE_ERROR_FAILED, "nothing was compared"));
}

/* A proof reads no more bytes than the store lists. */
START_TEST(proof_has_limit)
{
	DeviceEnd end;

	empty_store();
	device_does(note_push);
	device_does(prove);
	growing = true;
	end = device_plays(prove, NULL);
	ck_assert_msg(end.code == GBE_ERROR_VERIFY_FAILED &&
			  strstr(end.message, "the file is longer") != NULL,
		      "%d %s", end.code, end.message);
}
END_TEST

/* The longest request is accepted, and one with a byte more is not a request. */
static bool
list_requests(GbeApp *app, GError **error)
{
	g_autoptr(GPtrArray) requests = NULL;
	const GbeStoredRequest *longest, *longer;

	if (!gbe_store_requests_list(app, NULL, &requests, error))
		return false;
	ck_assert_uint_eq(requests->len, 2);
	longest = requests->pdata[0];
	longer = requests->pdata[1];
	if (longest->is_bad || longest->why != NULL)
		return gbe_throw(error, GBE_ERROR_FAILED, "the longest one: %s", longest->why);
	return (longer->is_bad && strstr(longer->why, "too long") != NULL) ||
	       gbe_throw(error, GBE_ERROR_FAILED, "the longer one: %s", longer->why);
}

START_TEST(request_has_limit)
{
	static const char request[] = "{\"request\": \"backup\"}";
	g_autofree char *spaces = g_strnfill(GBE_STORE_REQUEST_MAX + 1 - strlen(request), ' ');
	g_autofree char *longer = g_strconcat(request, spaces, NULL);

	empty_store();
	root_write(STORE "/requests/b.json", longer);
	longer[GBE_STORE_REQUEST_MAX] = '\0';
	root_write(STORE "/requests/a.json", longer);
	device_does(list_requests);
}
END_TEST

static const char *const elsewhere[] = {NULL};
static const char *const sources[] = {"store", NULL};

int
main(void)
{
	Suite *suite = suite_create("store-operations");

	operations_add(suite, &(Operations){.all = operations,
					    .n = G_N_ELEMENTS(operations),
					    .tells = store_tells,
					    .mends = finish,
					    .sources = sources,
					    .elsewhere = elsewhere,
					    .steps = 12});
	operations_add_case(suite, "lock is held", lock_is_held, 1);
	operations_add_case(suite, "proof has a limit", proof_has_limit, 1);
	operations_add_case(suite, "request has a limit", request_has_limit, 1);
	return device_main(suite);
}
