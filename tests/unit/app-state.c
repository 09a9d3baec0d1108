/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state directory, with real files below a root of the test's own. */
#include "app/state.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/record.h"
#include "fs/remove.h"
#include "lib/unit.h"
#include "sys/events.h"

#define A "test-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.0"
#define B "test-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.0"
#define RUN "0123456789abcdef0123456789abcdef"

static char *root;
static GbeApp *app;

static char *
in_state(const char *name)
{
	return g_build_filename(root, GBE_STATE_DIR, name, NULL);
}

static bool
exists(const char *name)
{
	g_autofree char *path = in_state(name);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void
put(const char *name, const char *text)
{
	g_autofree char *path = in_state(name);

	ck_assert(g_file_set_contents(path, text, -1, NULL));
}

static void
setup(void)
{
	g_autoptr(GError) error = NULL;

	root = g_dir_make_tmp("gbe-state-XXXXXX", NULL);
	ck_assert_ptr_nonnull(root);
	gbe_events_init("test", TRUE, TRUE, 0);
	ck_assert(gbe_app_new("test", root, &app, &error));
}

static void
teardown(void)
{
	g_autofree char *name = g_path_get_basename(root);
	gbe_autofd int tmp_fd = open(g_get_tmp_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	gbe_app_free(app);
	ck_assert(gbe_remove_tree_at(tmp_fd, name, NULL));
	g_free(root);
}

static GbeRunRecord *
run_record(guint64 sequence, GbeVerdict verdict, const char *deployment)
{
	GbeRunRecord *record = gbe_run_record_new();

	record->sequence = sequence;
	record->verdict = verdict;
	record->deployment.id = g_strdup(deployment);
	record->run = g_strdup(RUN);
	return record;
}

static void
add_run(guint64 sequence, GbeVerdict verdict, const char *deployment)
{
	g_autoptr(GbeRunRecord) begun = run_record(sequence, GBE_VERDICT_NONE, deployment);
	g_autoptr(GbeRunRecord) judged = run_record(sequence, verdict, deployment);

	ck_assert(gbe_state_begin_run(app, begun, GBE_WRITE_LATER, NULL));
	if (verdict != GBE_VERDICT_NONE)
		ck_assert(gbe_state_judge_run(app, begun, judged, NULL));
}

static GbeFacts *
observe(gboolean repair)
{
	GbeFacts *facts = gbe_facts_new();
	g_autoptr(GError) error = NULL;

	ck_assert(gbe_state_observe(app, repair, facts, &error));
	ck_assert_ptr_null(error);
	return facts;
}

START_TEST(directory_is_made_private)
{
	g_autofree char *path = in_state(".");
	g_autoptr(GError) error = NULL;
	struct stat st;

	ck_assert(!gbe_app_open_state(app, FALSE, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND));
	ck_assert(gbe_app_open_state(app, TRUE, NULL));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
}
END_TEST

START_TEST(lock_names_its_holder)
{
	g_autoptr(GbeApp) other = NULL;
	g_autoptr(GError) error = NULL;

	ck_assert(gbe_app_lock(app, "prerun", 0, NULL));
	ck_assert(gbe_app_new("other", root, &other, NULL));
	ck_assert(!gbe_app_lock(other, "backup", 0, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_BUSY));
	ck_assert_ptr_nonnull(strstr(error->message, "prerun"));
	gbe_app_unlock(app);
	ck_assert(gbe_app_lock(other, "backup", 0, NULL));
}
END_TEST

START_TEST(nothing_there_is_no_error)
{
	g_autoptr(GbeFacts) facts = observe(TRUE);
	GbeIntent *intent = NULL;

	ck_assert_uint_eq(facts->runs->len, 0);
	ck_assert_ptr_null(facts->copy);
	ck_assert(gbe_state_read_intent(app, TRUE, &intent, NULL));
	ck_assert_ptr_null(intent);
	ck_assert(!exists(""));
}
END_TEST

START_TEST(record_round_trip)
{
	g_autoptr(JsonObject) object = json_object_new();
	g_autoptr(JsonObject) again = NULL;

	json_object_set_string_member(object, "word", "bl\xc3\xa4");
	ck_assert(gbe_state_write(app, "thing", object, GBE_WRITE_DURABLE, NULL));
	ck_assert(gbe_state_read(app, "thing", FALSE, &again, NULL));
	ck_assert_str_eq(gbe_json_string(again, "word", NULL), "bl\xc3\xa4");
	ck_assert(gbe_state_remove(app, "thing", NULL));
	ck_assert(gbe_state_remove(app, "thing", NULL));
	ck_assert(!exists("thing"));
}
END_TEST

START_TEST(too_large_is_not_written)
{
	g_autoptr(JsonObject) object = json_object_new();
	g_autofree char *large = g_strnfill(GBE_JSON_MAX_SIZE, 'x');
	g_autoptr(GError) error = NULL;

	json_object_set_string_member(object, "text", large);
	ck_assert(!gbe_state_write(app, "thing", object, GBE_WRITE_DURABLE, &error));
	ck_assert_ptr_nonnull(error);
	ck_assert(!exists("thing"));
}
END_TEST

/* The second one: a power cut may leave a name without what was to be in it. */
static const char *const broken[] = {"{\"half\": ", ""};

START_TEST(broken_is_set_aside_by_who_repairs)
{
	static const char *const names[] = {GBE_STATE_COPY, GBE_STATE_REQUEST, "attempts", "gone",
					    "last-operation"};

	ck_assert(gbe_app_open_state(app, TRUE, NULL));
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		put(names[i], broken[_i]);
	gbe_facts_free(observe(FALSE));
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		ck_assert_msg(exists(names[i]), "%s was moved by a reader", names[i]);
	gbe_facts_free(observe(TRUE));
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *kept = g_strconcat(names[i], ".broken-1", NULL);

		ck_assert_msg(!exists(names[i]) && exists(kept), "%s was not set aside", names[i]);
	}
}
END_TEST

START_TEST(whole_but_wrong_is_broken)
{
	g_autofree char *no_intent = gbe_record_seal("{\"operation\": 7}\n");
	g_autofree char *no_stamp = gbe_record_seal("{\"run\": \"" RUN "\"}\n");
	g_autoptr(GbeFacts) facts = NULL;
	GbeIntent *intent = NULL;

	ck_assert(gbe_app_open_state(app, TRUE, NULL));
	put(GBE_STATE_INTENT, no_intent);
	put(GBE_STATE_COPY, no_stamp);
	ck_assert(gbe_state_read_intent(app, TRUE, &intent, NULL));
	ck_assert_ptr_null(intent);
	ck_assert(exists("intent.broken-1"));
	facts = observe(TRUE);
	ck_assert_ptr_null(facts->copy);
	ck_assert(exists("owner.broken-1"));
}
END_TEST

START_TEST(copy_of_the_stamp)
{
	g_autoptr(GbeStamp) stamp = gbe_stamp_new();
	g_autoptr(GbeFacts) facts = NULL;

	stamp->deployment.id = g_strdup(A);
	stamp->run = g_strdup(RUN);
	stamp->sequence = 7;
	stamp->data_handle = g_strdup("1:abcd");
	ck_assert(gbe_state_write_copy(app, stamp, GBE_WRITE_LATER, NULL));
	ck_assert(gbe_state_sync(app, NULL));
	facts = observe(TRUE);
	ck_assert_ptr_nonnull(facts->copy);
	ck_assert_str_eq(facts->copy->deployment.id, A);
	ck_assert_str_eq(facts->copy->data_handle, "1:abcd");
	ck_assert_uint_eq(gbe_state_largest_sequence(facts), 7);
}
END_TEST

START_TEST(verdict_is_the_name)
{
	g_autoptr(GbeRunRecord) begun = run_record(42, GBE_VERDICT_NONE, A);
	g_autoptr(GbeRunRecord) judging = run_record(42, GBE_VERDICT_JUDGING, A);
	g_autoptr(GbeRunRecord) green = run_record(42, GBE_VERDICT_GREEN, A);
	g_autoptr(GbeFacts) facts = NULL;
	const GbeRunRecord *seen;

	ck_assert(gbe_state_begin_run(app, begun, GBE_WRITE_DURABLE, NULL));
	ck_assert(exists("runs/00000000000000000042.none"));
	ck_assert(gbe_state_judge_run(app, begun, judging, NULL));
	ck_assert(exists("runs/00000000000000000042.judging"));
	ck_assert(!exists("runs/00000000000000000042.none"));
	green->health = GBE_HEALTH_HEALTHY;
	green->etcd_version = g_strdup("3.5.16");
	ck_assert(gbe_state_judge_run(app, judging, green, NULL));
	/* Once more changes nothing. */
	ck_assert(gbe_state_judge_run(app, green, green, NULL));
	facts = observe(TRUE);
	ck_assert_uint_eq(facts->runs->len, 1);
	seen = facts->runs->pdata[0];
	ck_assert_uint_eq(seen->sequence, 42);
	ck_assert_int_eq(seen->verdict, GBE_VERDICT_GREEN);
	ck_assert_int_eq(seen->health, GBE_HEALTH_HEALTHY);
	ck_assert_str_eq(seen->etcd_version, "3.5.16");
	ck_assert_str_eq(seen->deployment.id, A);
}
END_TEST

START_TEST(verdict_of_a_lost_record)
{
	g_autoptr(GbeRunRecord) red = run_record(3, GBE_VERDICT_RED, B);
	g_autoptr(GbeFacts) facts = NULL;

	ck_assert(gbe_state_judge_run(app, NULL, red, NULL));
	facts = observe(TRUE);
	ck_assert_uint_eq(facts->runs->len, 1);
	ck_assert_int_eq(((GbeRunRecord *)facts->runs->pdata[0])->verdict, GBE_VERDICT_RED);
	ck_assert_str_eq(((GbeRunRecord *)facts->runs->pdata[0])->deployment.id, B);
}
END_TEST

START_TEST(begin_run_replaces_an_old_verdict)
{
	g_autoptr(GbeRunRecord) again = run_record(5, GBE_VERDICT_NONE, B);
	g_autoptr(GbeFacts) facts = NULL;

	add_run(5, GBE_VERDICT_GREEN, A);
	ck_assert(gbe_state_begin_run(app, again, GBE_WRITE_LATER, NULL));
	facts = observe(TRUE);
	ck_assert_uint_eq(facts->runs->len, 1);
	ck_assert_int_eq(((GbeRunRecord *)facts->runs->pdata[0])->verdict, GBE_VERDICT_NONE);
	ck_assert_str_eq(((GbeRunRecord *)facts->runs->pdata[0])->deployment.id, B);
}
END_TEST

START_TEST(two_of_one_sequence_and_foreign_files)
{
	g_autofree char *copy = NULL;
	g_autofree char *from = in_state("runs/00000000000000000009.green");
	g_autoptr(GbeFacts) facts = NULL;
	gsize size;

	add_run(9, GBE_VERDICT_GREEN, A);
	ck_assert(g_file_get_contents(from, &copy, &size, NULL));
	put("runs/00000000000000000009.none", copy);
	put("runs/00000000000000000010.purple", copy);
	put("runs/.gbe-tmp.00000000000000000011.none", copy);
	put("runs/00000000000000000012.red", "torn");
	facts = observe(TRUE);
	ck_assert_uint_eq(facts->runs->len, 1);
	ck_assert_int_eq(((GbeRunRecord *)facts->runs->pdata[0])->verdict, GBE_VERDICT_GREEN);
	ck_assert(exists("runs/00000000000000000012.red.broken-1"));
	ck_assert(exists("runs/00000000000000000010.purple"));
}
END_TEST

static GbeListed *
listed_new(const char *id)
{
	GbeListed *listed = g_new0(GbeListed, 1);

	listed->ref.id = g_strdup(id);
	return listed;
}

static void
list(GbeFacts *facts, const char *one, const char *two)
{
	g_clear_pointer(&facts->listed, g_ptr_array_unref);
	facts->listed = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_listed_free);
	g_ptr_array_add(facts->listed, listed_new(one));
	if (two != NULL)
		g_ptr_array_add(facts->listed, listed_new(two));
}

START_TEST(prune_keeps_32_and_the_first_green)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbeFacts) after = NULL;

	for (guint64 i = 1; i <= 40; i++)
		add_run(i, i == 3 || i == 5 ? GBE_VERDICT_GREEN : GBE_VERDICT_NONE,
			i == 2 || i == 4 ? B : A);
	facts = observe(TRUE);
	/* The list is not known: nothing goes. */
	ck_assert(gbe_state_prune_runs(app, facts, NULL));
	ck_assert(exists("runs/00000000000000000001.none"));
	list(facts, A, NULL);
	ck_assert(gbe_state_prune_runs(app, facts, NULL));
	after = observe(TRUE);
	ck_assert_uint_eq(after->runs->len, 33);
	ck_assert(exists("runs/00000000000000000003.green"));
	ck_assert(!exists("runs/00000000000000000005.green"));
	ck_assert(!exists("runs/00000000000000000008.none"));
	ck_assert(exists("runs/00000000000000000009.none"));
}
END_TEST

START_TEST(gone_is_noted_once)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbeFacts) again = NULL;
	g_autofree char *path = in_state("gone");
	struct stat before, after;

	add_run(1, GBE_VERDICT_GREEN, A);
	add_run(2, GBE_VERDICT_RED, B);
	facts = observe(TRUE);
	facts->next_sequence = 3;
	/* Not known what is there: nothing is gone. */
	ck_assert(gbe_state_note_gone(app, facts, NULL));
	ck_assert(!exists("gone"));
	list(facts, A, NULL);
	ck_assert(gbe_state_note_gone(app, facts, NULL));
	ck_assert_uint_eq(facts->gone->len, 1);
	again = observe(TRUE);
	ck_assert_uint_eq(again->gone->len, 1);
	ck_assert_str_eq(((GbeGone *)again->gone->pdata[0])->id, B);
	ck_assert_uint_eq(((GbeGone *)again->gone->pdata[0])->sequence, 2);
	ck_assert_uint_eq(gbe_state_largest_sequence(again), 2);
	again->next_sequence = 9;
	list(again, A, NULL);
	ck_assert_int_eq(stat(path, &before), 0);
	ck_assert(gbe_state_note_gone(app, again, NULL));
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert_uint_eq(((GbeGone *)again->gone->pdata[0])->sequence, 2);
}
END_TEST

/* B was gone, came back, ran again, and is gone once more: its second life counts no more, too. */
START_TEST(gone_twice_and_forgotten)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbeFacts) again = NULL;
	g_autoptr(GbeFacts) third = NULL;

	add_run(2, GBE_VERDICT_RED, B);
	facts = observe(TRUE);
	facts->next_sequence = 3;
	list(facts, A, NULL);
	ck_assert(gbe_state_note_gone(app, facts, NULL));
	add_run(5, GBE_VERDICT_GREEN, B);
	again = observe(TRUE);
	again->next_sequence = 7;
	list(again, A, B);
	ck_assert(gbe_state_note_gone(app, again, NULL));
	ck_assert_uint_eq(((GbeGone *)again->gone->pdata[0])->sequence, 2);
	list(again, A, NULL);
	ck_assert(gbe_state_note_gone(app, again, NULL));
	ck_assert_uint_eq(((GbeGone *)again->gone->pdata[0])->sequence, 6);
	/* Nobody names it any more; but a store that is away may. */
	g_ptr_array_set_size(again->runs, 0);
	again->store = GBE_NO;
	ck_assert(gbe_state_note_gone(app, again, NULL));
	ck_assert_uint_eq(again->gone->len, 1);
	again->store = GBE_YES;
	ck_assert(gbe_state_note_gone(app, again, NULL));
	third = observe(TRUE);
	ck_assert_uint_eq(third->gone->len, 0);
}
END_TEST

START_TEST(attempts_are_counted_and_cleared)
{
	g_autoptr(GbeFacts) facts = NULL;

	ck_assert(gbe_state_count_attempt(app, "one", A, NULL));
	ck_assert(gbe_state_count_attempt(app, "one", A, NULL));
	ck_assert(gbe_state_count_attempt(app, "one", B, NULL));
	facts = observe(TRUE);
	ck_assert_uint_eq(facts->attempts->len, 2);
	ck_assert_uint_eq(((GbeAttempt *)facts->attempts->pdata[0])->count, 2);
	ck_assert(gbe_state_clear_attempts(app, A, NULL));
	g_clear_pointer(&facts, gbe_facts_free);
	facts = observe(TRUE);
	ck_assert_uint_eq(facts->attempts->len, 1);
	ck_assert_str_eq(((GbeAttempt *)facts->attempts->pdata[0])->deployment, B);
	ck_assert(gbe_state_clear_attempts(app, B, NULL));
	ck_assert(!exists("attempts"));
}
END_TEST

START_TEST(request_and_last_operation)
{
	GbeRequest request = {.kind = GBE_REQUEST_RESTORE};
	GbeLastOperation last = {0};
	GbeLastOperation read = {0};
	g_autoptr(GbeFacts) facts = NULL;

	request.name = g_strdup("before-the-move");
	request.run = g_strdup(RUN);
	last.operation = g_strdup("restore");
	last.undo = g_strdup("displaced");
	ck_assert(gbe_state_write_request(app, &request, NULL));
	ck_assert(gbe_state_write_last(app, &last, GBE_WRITE_DURABLE, NULL));
	facts = observe(TRUE);
	ck_assert_int_eq(facts->request.kind, GBE_REQUEST_RESTORE);
	ck_assert_str_eq(facts->request.name, "before-the-move");
	ck_assert_str_eq(facts->undo, "displaced");
	ck_assert(gbe_state_read_last(app, &read, NULL));
	ck_assert_str_eq(read.operation, "restore");
	gbe_request_clear(&request);
	ck_assert(gbe_state_write_request(app, &request, NULL));
	ck_assert(!exists(GBE_STATE_REQUEST));
	gbe_last_operation_clear(&last);
	gbe_last_operation_clear(&read);
}
END_TEST

START_TEST(starts_are_counted_until_one_ends)
{
	ck_assert_uint_eq(gbe_state_begin_start(app), 0);
	ck_assert_uint_eq(gbe_state_begin_start(app), 1);
	ck_assert_uint_eq(gbe_state_begin_start(app), 2);
	gbe_state_end_start(app);
	ck_assert_uint_eq(gbe_state_begin_start(app), 0);
	put("starts", "torn");
	ck_assert_uint_eq(gbe_state_begin_start(app), 0);
	ck_assert_uint_eq(gbe_state_begin_start(app), 1);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("app-state");
	TCase *tcase = tcase_create("state");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, directory_is_made_private);
	tcase_add_test(tcase, lock_names_its_holder);
	tcase_add_test(tcase, nothing_there_is_no_error);
	tcase_add_test(tcase, record_round_trip);
	tcase_add_test(tcase, too_large_is_not_written);
	tcase_add_loop_test(tcase, broken_is_set_aside_by_who_repairs, 0,
			    (int)G_N_ELEMENTS(broken));
	tcase_add_test(tcase, whole_but_wrong_is_broken);
	tcase_add_test(tcase, copy_of_the_stamp);
	tcase_add_test(tcase, verdict_is_the_name);
	tcase_add_test(tcase, verdict_of_a_lost_record);
	tcase_add_test(tcase, begin_run_replaces_an_old_verdict);
	tcase_add_test(tcase, two_of_one_sequence_and_foreign_files);
	tcase_add_test(tcase, prune_keeps_32_and_the_first_green);
	tcase_add_test(tcase, gone_is_noted_once);
	tcase_add_test(tcase, gone_twice_and_forgotten);
	tcase_add_test(tcase, attempts_are_counted_and_cleared);
	tcase_add_test(tcase, request_and_last_operation);
	tcase_add_test(tcase, starts_are_counted_until_one_ends);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
