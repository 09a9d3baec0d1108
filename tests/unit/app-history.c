/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The records of the stores of snapshots, with real files below a root of this test. */
#include "app/state/history.h"

#include <fcntl.h>
#include <glib/gstdio.h>

#include "app/state/state.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "lib/app-root.h"

#define A "2026-01-02T03:04:05Z-000001"
#define B "2026-01-02T03:04:05Z-000002"
#define C "2026-02-02T03:04:05Z-000003"
#define STORE "https://h/b"
#define OTHER "/srv/store"

static void
push(const char *name, gint64 revision)
{
	GbeHistoryPush data = {.name = name,
			       .sha256 = "s",
			       .stored_sha256 = "t",
			       .revision = revision,
			       .hash_kv = revision * 2,
			       .size = 3,
			       .sent = 4,
			       .requests = 5,
			       .usec = 6};

	gbe_history_change(app, STORE, gbe_history_note_pushed, &data);
}

static void
note_failure(GbeOffsite *offsite, gpointer data)
{
	offsite->failed_at = 77;
	offsite->failed_why = g_strdup(data);
}

typedef struct {
	gint64 now, before;
} First;

static void
change_first(GbeOffsite *offsite, gpointer data)
{
	First *first = data;

	first->before = offsite->first_pushed_at;
	offsite->first_pushed_at = first->now;
}

/* Returns the time before. */
static gint64
set_first(gint64 seconds)
{
	First first = {.now = seconds};

	gbe_history_change(app, STORE, change_first, &first);
	return first.before;
}

static void
nothing(GbeOffsite *offsite G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
}

START_TEST(an_unknown_store)
{
	g_auto(GbeOffsite) offsite = {0};
	g_autofree char *path = g_build_filename(root, GBE_STATE_DIR, GBE_STATE_STORES, NULL);

	ck_assert(gbe_app_open_state(app, true, NULL));
	ck_assert(gbe_history_load(app, STORE, &offsite, NULL));
	ck_assert_ptr_null(offsite.newest);
	ck_assert_int_eq(offsite.pushed_at, -1);
	ck_assert(!g_file_test(path, G_FILE_TEST_EXISTS));
	push(A, 1);
	gbe_offsite_clear(&offsite);
	gbe_history_read(app, OTHER, &offsite);
	ck_assert_ptr_null(offsite.newest);
	ck_assert_int_eq(offsite.pushed_at, -1);
}
END_TEST

START_TEST(pushes)
{
	g_auto(GbeOffsite) offsite = {0};
	gint64 before = g_get_real_time() / G_USEC_PER_SEC, first;

	push(A, 10);
	gbe_history_change(app, STORE, note_failure, (gpointer) "away");
	gbe_history_read(app, STORE, &offsite);
	ck_assert_str_eq(offsite.failed_why, "away");
	ck_assert_int_eq(offsite.failed_at, 77);
	ck_assert_str_eq(offsite.pushed, A);
	gbe_offsite_clear(&offsite);
	push(C, 30);
	first = set_first(100);
	/* Of what waited, an older one: it says that the store can be reached, and nothing else. */
	gbe_history_change(app, STORE, note_failure, (gpointer) "away again");
	push(B, 20);
	gbe_history_read(app, STORE, &offsite);
	ck_assert_ptr_null(offsite.failed_why);
	ck_assert_int_eq(offsite.failed_at, -1);
	ck_assert_str_eq(offsite.newest, C);
	ck_assert_str_eq(offsite.pushed, C);
	ck_assert_int_eq(offsite.pushed_revision, 30);
	ck_assert_int_eq(offsite.hash_kv, 60);
	ck_assert_int_eq(offsite.size, 3);
	ck_assert_int_eq(offsite.sent, 4);
	ck_assert_int_eq(offsite.requests, 5);
	ck_assert_int_eq(offsite.usec, 6);
	ck_assert_str_eq(offsite.sha256, "s");
	ck_assert_str_eq(offsite.stored_sha256, "t");
	ck_assert_int_ge(first, before);
	ck_assert_int_eq(offsite.first_pushed_at, 100);
	ck_assert_int_ge(offsite.pushed_at, before);
	ck_assert_int_eq(offsite.looked_at, offsite.pushed_at);
}
END_TEST

static void
note_damage(GbeOffsite *offsite, gpointer data)
{
	g_free(offsite->damaged);
	offsite->damaged = g_strdup(data);
}

/* A newer push takes the place of the damaged one, an older or the same one does not. */
START_TEST(damage_and_pushes)
{
	g_auto(GbeOffsite) offsite = {0};

	push(B, 10);
	gbe_history_change(app, STORE, note_damage, (gpointer)B);
	push(A, 5);
	push(B, 10);
	gbe_history_read(app, STORE, &offsite);
	ck_assert_str_eq(offsite.damaged, B);
	gbe_offsite_clear(&offsite);
	push(C, 20);
	gbe_history_read(app, STORE, &offsite);
	ck_assert_ptr_null(offsite.damaged);
}
END_TEST

/* A queued backup is also reported as missing. */
START_TEST(the_first_that_waits)
{
	gint64 before = g_get_real_time() / G_USEC_PER_SEC;
	g_auto(GbeOffsite) offsite = {0};

	gbe_history_change(app, STORE, gbe_history_note_queued, NULL);
	gbe_history_read(app, STORE, &offsite);
	ck_assert_int_ge(offsite.first_pushed_at, before);
	ck_assert_ptr_null(offsite.pushed);
	gbe_offsite_clear(&offsite);
	(void)set_first(100);
	gbe_history_change(app, STORE, gbe_history_note_queued, NULL);
	push(A, 10);
	gbe_history_read(app, STORE, &offsite);
	ck_assert_int_eq(offsite.first_pushed_at, 100);
}
END_TEST

/* The first push of this device, where the newest was pulled and is another's: its proof is of this push. */
START_TEST(the_first_push)
{
	g_auto(GbeOffsite) offsite = {0};

	gbe_history_change(app, STORE, gbe_history_note_newest, (gpointer)C);
	push(B, 20);
	gbe_history_read(app, STORE, &offsite);
	ck_assert_str_eq(offsite.newest, C);
	ck_assert_str_eq(offsite.pushed, B);
}
END_TEST

START_TEST(newer)
{
	ck_assert(gbe_history_is_newer(B, A));
	ck_assert(gbe_history_is_newer(C, B));
	ck_assert(!gbe_history_is_newer(A, A));
	ck_assert(!gbe_history_is_newer(A, C));
	ck_assert(gbe_history_is_newer(A, NULL));
	ck_assert(gbe_history_is_newer(A, "no name"));
	ck_assert(!gbe_history_is_newer("no name", A));
	ck_assert(!gbe_history_is_newer("no name", NULL));
	ck_assert(!gbe_history_is_newer(NULL, NULL));
}
END_TEST

/* A push or a pull never replaces the newest name by an older one. A text that is not a name is refused. */
START_TEST(the_newest_stays)
{
	static const char *const names[] = {B, A, "nonsense", B};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_auto(GbeOffsite) offsite = {0};

		gbe_history_change(app, STORE, gbe_history_note_newest, (gpointer)names[i]);
		gbe_history_read(app, STORE, &offsite);
		ck_assert_str_eq(offsite.newest, B);
	}
}
END_TEST

static JsonObject *
whole_file(void)
{
	JsonObject *object = NULL;

	ck_assert(gbe_state_read(app, GBE_STATE_STORES, false, &object, NULL));
	ck_assert_ptr_nonnull(object);
	return object;
}

/* Version 0.2 knows the newest name alone: read, and written for it. */
START_TEST(yesterdays_file)
{
	g_autoptr(JsonObject) old = json_object_new();
	g_autoptr(JsonObject) again = NULL;
	JsonObject *newest = gbe_json_open_object(old, "newest");
	g_auto(GbeOffsite) offsite = {0};

	gbe_json_set_string(newest, STORE, B);
	gbe_json_set_string(newest, OTHER, A);
	ck_assert(gbe_app_open_state(app, true, NULL));
	ck_assert(gbe_state_write(app, GBE_STATE_STORES, old, NULL));
	gbe_history_read(app, STORE, &offsite);
	ck_assert_str_eq(offsite.newest, B);
	ck_assert_int_eq(offsite.pushed_at, -1);
	push(C, 30);
	again = whole_file();
	newest = gbe_json_object(again, "newest");
	ck_assert_str_eq(gbe_json_string(newest, STORE, NULL), C);
	ck_assert_str_eq(gbe_json_string(newest, OTHER, NULL), A);
	/* Rolled back, version 0.2 pushes to the other store, of which there is a record by now. */
	gbe_history_change(app, OTHER, nothing, NULL);
	g_clear_pointer(&again, json_object_unref);
	again = whole_file();
	gbe_json_set_string(gbe_json_object(again, "newest"), OTHER, C);
	ck_assert(gbe_state_write(app, GBE_STATE_STORES, again, NULL));
	gbe_offsite_clear(&offsite);
	gbe_history_read(app, OTHER, &offsite);
	ck_assert_str_eq(offsite.newest, C);
}
END_TEST

/* Members of a later version stay, in the file and in the record. */
START_TEST(tomorrows_file)
{
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(JsonObject) again = NULL;
	JsonObject *record;

	push(A, 1);
	object = whole_file();
	gbe_json_set_string(object, "colour", "blue");
	record = gbe_json_object(gbe_json_object(object, "stores"), STORE);
	gbe_json_set_string(record, "shape", "round");
	ck_assert(gbe_state_write(app, GBE_STATE_STORES, object, NULL));
	push(B, 2);
	again = whole_file();
	record = gbe_json_object(gbe_json_object(again, "stores"), STORE);
	ck_assert_str_eq(gbe_json_string(again, "colour", NULL), "blue");
	ck_assert_str_eq(gbe_json_string(record, "shape", NULL), "round");
	ck_assert_str_eq(gbe_json_string(record, "pushed", NULL), B);
}
END_TEST

/* A broken file is reported, and an empty record. The next push writes a new file. */
START_TEST(a_broken_file)
{
	g_autofree char *path = g_build_filename(root, GBE_STATE_DIR, GBE_STATE_STORES, NULL);
	g_auto(GbeOffsite) offsite = {0};

	push(A, 1);
	ck_assert(g_file_set_contents(path, "{\"stores\": {", -1, NULL));
	gbe_history_read(app, STORE, &offsite);
	ck_assert_ptr_null(offsite.newest);
	push(B, 2);
	gbe_offsite_clear(&offsite);
	gbe_history_read(app, STORE, &offsite);
	ck_assert_str_eq(offsite.pushed, B);
}
END_TEST

START_TEST(the_configured_store)
{
	g_autofree char *none = gbe_history_configured(app);
	g_autofree char *bucket = NULL, *directory = NULL;

	ck_assert_ptr_null(none);
	app->config->store.url = g_strdup(STORE);
	bucket = gbe_history_configured(app);
	ck_assert_str_eq(bucket, STORE);
	g_clear_pointer(&app->config->store.url, g_free);
	app->config->store.directory = g_strdup(OTHER);
	directory = gbe_history_configured(app);
	ck_assert_str_eq(directory, OTHER);
}
END_TEST

static void
put(const char *path)
{
	g_autofree char *full = g_build_filename(root, GBE_STATE_DIR, GBE_STATE_QUEUE, path, NULL);
	g_autofree char *directory = g_path_get_dirname(full);

	ck_assert_int_eq(g_mkdir_with_parents(directory, 0700), 0);
	ck_assert(g_file_set_contents(full, "x", -1, NULL));
}

/* Complete ones alone, the oldest first. */
START_TEST(the_queue)
{
	g_autoptr(GPtrArray) before = gbe_history_waiting(app);
	g_autoptr(GPtrArray) none = NULL, waiting = NULL;

	ck_assert_uint_eq(before->len, 0);
	ck_assert(gbe_app_open_state(app, true, NULL));
	none = gbe_history_waiting(app);
	ck_assert_uint_eq(none->len, 0);
	put(C "/_etcd_backup.meta");
	put(A "/_etcd_backup.meta");
	put(B "/etcd.backup.gz");
	put("foreign/_etcd_backup.meta");
	put("file");
	waiting = gbe_history_waiting(app);
	ck_assert_uint_eq(waiting->len, 2);
	ck_assert_str_eq(((GbeWaiting *)waiting->pdata[0])->name, A);
	ck_assert_str_eq(((GbeWaiting *)waiting->pdata[1])->name, C);
	ck_assert_ptr_null(((GbeWaiting *)waiting->pdata[1])->failed);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("app-history");
	TCase *tcase = tcase_create("history");

	tcase_add_checked_fixture(tcase, app_setup, app_teardown);
	tcase_add_test(tcase, an_unknown_store);
	tcase_add_test(tcase, pushes);
	tcase_add_test(tcase, damage_and_pushes);
	tcase_add_test(tcase, the_first_that_waits);
	tcase_add_test(tcase, the_first_push);
	tcase_add_test(tcase, newer);
	tcase_add_test(tcase, the_newest_stays);
	tcase_add_test(tcase, yesterdays_file);
	tcase_add_test(tcase, tomorrows_file);
	tcase_add_test(tcase, a_broken_file);
	tcase_add_test(tcase, the_configured_store);
	tcase_add_test(tcase, the_queue);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
