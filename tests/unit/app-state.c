/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state directory, with real files below a root of this test. */
#include "app/state/state.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/state/ledger.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "fs/tree.h"
#include "lib/unit.h"
#include "sys/systemd/events.h"

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
	gbe_events_init("test", true, true, 0);
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

static void
take_over(guint64 sequence, const char *deployment)
{
	g_autoptr(GbeTakeOver) t = gbe_take_over_new();

	t->deployment.id = g_strdup(deployment);
	t->run = g_strdup(RUN);
	t->sequence = sequence;
	ck_assert(gbe_state_take_over(app, t, GBE_WRITE_LATER, NULL));
}

static GbeFacts *
observe(void)
{
	GbeFacts *facts = gbe_facts_new();

	gbe_state_observe(app, facts);
	ck_assert_ptr_null(facts->ledger_why);
	return facts;
}

static guint64
next_sequence(void)
{
	g_autoptr(GbeFacts) facts = observe();

	return facts->next_sequence;
}

static void
lock(void)
{
	ck_assert(gbe_app_lock(app, "test", 0, NULL));
}

START_TEST(directory_is_made_private)
{
	g_autofree char *path = in_state(".");
	g_autoptr(GError) error = NULL;
	struct stat st;

	ck_assert(!gbe_app_open_state(app, false, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND));
	ck_assert(gbe_app_open_state(app, true, NULL));
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
	g_autoptr(GbeFacts) facts = observe();
	g_autoptr(GbeIntent) intent = NULL;

	ck_assert_int_eq(facts->ledger, GBE_NO);
	ck_assert_uint_eq(facts->runs->len, 0);
	ck_assert(gbe_state_read_intent(app, &intent, NULL));
	ck_assert_ptr_null(intent);
	ck_assert(!exists(""));
}
END_TEST

START_TEST(sealed_file_round_trip)
{
	g_autoptr(JsonObject) object = json_object_new();
	g_autoptr(JsonObject) again = NULL;

	json_object_set_string_member(object, "word", "bl\xc3\xa4");
	ck_assert(gbe_state_write(app, "thing", object, NULL));
	ck_assert(gbe_state_read(app, "thing", false, &again, NULL));
	ck_assert_str_eq(gbe_json_string(again, "word", NULL), "bl\xc3\xa4");
}
END_TEST

START_TEST(too_large_is_not_written)
{
	g_autoptr(JsonObject) object = json_object_new();
	g_autofree char *large = g_strnfill(GBE_JSON_MAX_SIZE, 'x');
	g_autoptr(GError) error = NULL;

	json_object_set_string_member(object, "text", large);
	ck_assert(!gbe_state_write(app, "thing", object, &error));
	ck_assert_ptr_nonnull(error);
	ck_assert(!exists("thing"));
}
END_TEST

/* The second one: a power cut may leave a name without its content. */
static const char *const broken[] = {"{\"half\": ", ""};

START_TEST(broken_is_set_aside_by_who_repairs)
{
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GError) error = NULL;

	ck_assert(gbe_app_open_state(app, true, NULL));
	put(GBE_STATE_PERIODIC, broken[_i]);
	ck_assert(!gbe_state_peek(app, GBE_STATE_PERIODIC, &object, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
	ck_assert(gbe_state_read(app, GBE_STATE_PERIODIC, false, &object, NULL));
	ck_assert_ptr_null(object);
	ck_assert(exists(GBE_STATE_PERIODIC));
	ck_assert(gbe_state_read(app, GBE_STATE_PERIODIC, true, &object, NULL));
	ck_assert(!exists(GBE_STATE_PERIODIC));
	ck_assert(exists(GBE_STATE_PERIODIC ".broken-1"));
}
END_TEST

/* Every function's record, read back and compared. */
START_TEST(a_run_from_end_to_end)
{
	g_autoptr(GbeRunRecord) green = gbe_run_record_new();
	g_autoptr(GbeFacts) judged = NULL, closed = NULL, opened = NULL;
	g_autoptr(GbeTakeOver) seen = gbe_take_over_new();
	GbeClosing closing = {.present = true, .used = 60};
	const GbeTakeOver *t;

	lock();
	ck_assert(gbe_state_begin_start(app, A, NULL));
	take_over(3, A);
	seen->sequence = 3;
	seen->tree = g_strdup("f:1");
	seen->nonce = g_strdup("00000000000000aa");
	seen->mount_point = GBE_YES;
	ck_assert(gbe_state_note_tree(app, seen, NULL));
	ck_assert(gbe_state_end_start(app, A, 3, false, false, NULL, NULL));
	green->sequence = 3;
	green->verdict = GBE_VERDICT_GREEN;
	green->health = GBE_HEALTH_HEALTHY;
	ck_assert(gbe_state_judge_run(app, NULL, green, NULL));
	judged = observe();
	ck_assert_uint_eq(judged->runs->len, 1);
	ck_assert_int_eq(gbe_facts_run(judged, 3)->verdict, GBE_VERDICT_GREEN);
	ck_assert(gbe_facts_run(judged, 3)->ended);
	/* A repeated call adds nothing. */
	ck_assert(gbe_state_judge_run(app, gbe_facts_run(judged, 3), green, NULL));
	closing.fingerprint.present = true;
	closing.fingerprint.snaps = g_strdup("");
	closing.fingerprint.others = g_strdup("");
	gbe_backup_ref_set(&closing.backup, (GbeBackupRef){.name = (char *)"x", .sequence = 2});
	ck_assert(gbe_state_note_used(app, 3, NULL));
	ck_assert(gbe_state_close(app, 3, &closing, NULL));
	closed = observe();
	ck_assert_uint_eq(closed->ledger_last, judged->ledger_last + 2);
	t = closed->take_overs->pdata[0];
	ck_assert(t->closing.present && t->used_beyond);
	ck_assert_str_eq(t->tree, "f:1");
	ck_assert_str_eq(t->nonce, "00000000000000aa");
	ck_assert_int_eq(t->mount_point, GBE_YES);
	ck_assert_str_eq(gbe_facts_run(closed, 3)->left.name, "x");
	ck_assert(gbe_state_open(app, 3, NULL));
	opened = observe();
	ck_assert(!((GbeTakeOver *)opened->take_overs->pdata[0])->closing.present);
	gbe_closing_clear(&closing);
}
END_TEST

/* A run that was green stays so, whatever greenboot finds later, until a person says otherwise. Its take-over counts, also
 * where the end of its prerun was not written. */
START_TEST(green_stays_green)
{
	static const struct {
		GbeVerdict verdict;
		bool by_hand, green;
	} steps[] = {
	    {GBE_VERDICT_RED, false, false},	{GBE_VERDICT_GREEN, false, true},
	    {GBE_VERDICT_JUDGING, false, true}, {GBE_VERDICT_RED, false, true},
	    {GBE_VERDICT_RED, true, false},	{GBE_VERDICT_RED, false, false},
	    {GBE_VERDICT_GREEN, true, true},	{GBE_VERDICT_RED, false, true},
	};

	lock();
	take_over(3, A);
	for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
		g_autoptr(GbeRunRecord) record = gbe_run_record_new();
		g_autoptr(GbeFacts) before = observe(), facts = NULL;
		GbeDeployment a = {.id = (char *)A};

		record->sequence = 3;
		record->verdict = steps[i].verdict;
		record->by_hand = steps[i].by_hand;
		record->health = steps[i].green ? GBE_HEALTH_HEALTHY : GBE_HEALTH_NOT_ASKED;
		ck_assert(gbe_state_judge_run(app, gbe_facts_run(before, 3), record, NULL));
		facts = observe();
		ck_assert_msg(gbe_situation_was_green(facts, &a) == steps[i].green, "step %u", i);
		ck_assert_msg(gbe_facts_run(facts, 3)->ended == (i > 0), "step %u", i);
	}
}
END_TEST

START_TEST(starts_are_counted_until_one_ends)
{
	lock();
	for (guint i = 0; i < 3; i++) {
		g_autoptr(GbeFacts) facts = NULL;

		ck_assert(gbe_state_begin_start(app, A, NULL));
		facts = observe();
		ck_assert_uint_eq(GPOINTER_TO_UINT(g_hash_table_lookup(facts->starts, A)), i + 1);
		ck_assert_uint_eq(GPOINTER_TO_UINT(g_hash_table_lookup(facts->starts, B)), 0);
	}
	ck_assert(gbe_state_end_start(app, A, 0, true, false, "held", NULL));
	{
		g_autoptr(GbeFacts) facts = observe();

		ck_assert_uint_eq(g_hash_table_size(facts->starts), 0);
	}
}
END_TEST

START_TEST(intent_and_its_end)
{
	g_autoptr(GbeIntent) intent = gbe_intent_new(), read = NULL, none = NULL, unknown = NULL;
	g_autoptr(GError) error = NULL;
	JsonObject *object = json_object_new();

	lock();
	intent->operation = GBE_OPERATION_RESTORE;
	intent->sequence = 2;
	intent->backup = g_strdup("adopted-7");
	intent->entries = NULL;
	ck_assert(gbe_state_write_intent(app, intent, GBE_WRITE_DURABLE, NULL));
	ck_assert(gbe_state_read_intent(app, &read, NULL));
	ck_assert_str_eq(read->backup, "adopted-7");
	ck_assert(gbe_state_end_intent(app, 2, "undone", NULL));
	ck_assert(gbe_state_read_intent(app, &none, NULL));
	ck_assert_ptr_null(none);
	ck_assert(gbe_ledger_append(app, GBE_LEDGER_INTENT, object, GBE_WRITE_LATER, NULL));
	ck_assert(!gbe_state_read_intent(app, &unknown, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CANNOT_TELL));
}
END_TEST

START_TEST(request_and_its_end)
{
	GbeRequest request = {.kind = GBE_REQUEST_RESTORE};
	g_autoptr(GbeFacts) asked = NULL, ended = NULL;

	lock();
	request.name = g_strdup("before-the-move");
	request.run = g_strdup(RUN);
	ck_assert(gbe_state_write_request(app, &request, NULL));
	asked = observe();
	ck_assert_int_eq(asked->request.kind, GBE_REQUEST_RESTORE);
	ck_assert_str_eq(asked->request.name, "before-the-move");
	ck_assert_str_eq(asked->request.run, RUN);
	ck_assert(gbe_state_end_request(app, "cancelled", NULL, NULL));
	ended = observe();
	ck_assert_int_eq(ended->request.kind, GBE_REQUEST_NONE);
	gbe_request_clear(&request);
}
END_TEST

START_TEST(what_is_said_later)
{
	GbeLastOperation last = {0};
	g_autoptr(GbeFacts) facts = NULL;

	lock();
	last.operation = g_strdup("restore");
	last.result = g_strdup("done");
	take_over(2, A);
	gbe_state_write_last(app, &last);
	ck_assert(gbe_state_note_cmdline(app, "x", NULL, NULL));
	ck_assert(gbe_state_carry_failure(app, "backup", "no space", NULL));
	ck_assert(gbe_state_hand_back(app, 2, NULL));
	facts = observe();
	ck_assert_str_eq(facts->last.operation, "restore");
	ck_assert_str_eq(facts->cmdline_done, "x");
	ck_assert_str_eq(facts->failure_why, "no space");
	ck_assert(facts->handed_back);
	gbe_last_operation_clear(&last);
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

START_TEST(gone_is_noted_once)
{
	g_autoptr(GbeFacts) facts = NULL, again = NULL, third = NULL;

	lock();
	take_over(2, A);
	take_over(3, B);
	facts = observe();
	facts->booted.id = g_strdup(A);
	/* The list is unknown, so nothing is recorded as gone. */
	ck_assert(gbe_state_note_gone(app, facts, NULL));
	ck_assert_uint_eq(facts->gone->len, 0);
	/* A list without the running deployment also counts as unknown: an unmounted /boot empties it. */
	list(facts, "test-x", NULL);
	ck_assert(gbe_state_note_gone(app, facts, NULL));
	ck_assert_uint_eq(facts->gone->len, 0);
	list(facts, A, NULL);
	ck_assert(gbe_state_note_gone(app, facts, NULL));
	again = observe();
	ck_assert_uint_eq(again->gone->len, 1);
	ck_assert_str_eq(((GbeGone *)again->gone->pdata[0])->id, B);
	ck_assert_uint_eq(((GbeGone *)again->gone->pdata[0])->sequence, 3);
	again->booted.id = g_strdup(A);
	list(again, A, NULL);
	ck_assert(gbe_state_note_gone(app, again, NULL));
	third = observe();
	ck_assert_uint_eq(third->ledger_last, again->ledger_last);
}
END_TEST

/* B was gone, came back, ran again, and is gone once more: its second life does not count any more either. */
START_TEST(gone_twice)
{
	g_autoptr(GbeFacts) facts = NULL, again = NULL;

	lock();
	take_over(2, B);
	facts = observe();
	facts->booted.id = g_strdup(A);
	list(facts, A, NULL);
	ck_assert(gbe_state_note_gone(app, facts, NULL));
	take_over(facts->ledger_last + 2, B);
	again = observe();
	again->booted.id = g_strdup(A);
	list(again, A, NULL);
	ck_assert(gbe_state_note_gone(app, again, NULL));
	ck_assert_uint_eq(again->gone->len, 2);
	ck_assert_uint_eq(((GbeGone *)again->gone->pdata[1])->sequence, again->next_sequence - 1);
}
END_TEST

/* After many boots the file is rewritten with the same content, and the next record is appended. */
START_TEST(rewritten_after_many_boots)
{
	g_autoptr(GbeFacts) before = NULL, after = NULL, last = NULL;
	g_autofree char *path = in_state(GBE_LEDGER_NAME);
	struct stat large, small;

	lock();
	for (guint i = 0; i < 500; i++) {
		guint64 sequence;

		ck_assert(gbe_ledger_append(app, GBE_LEDGER_OPERATION, json_object_new(),
					    GBE_WRITE_LATER, NULL));
		sequence = next_sequence() + 1;
		ck_assert(gbe_state_begin_start(app, A, NULL));
		take_over(sequence, A);
		ck_assert(gbe_state_end_start(app, A, sequence, false, false, NULL, NULL));
	}
	before = observe();
	ck_assert_int_eq(stat(path, &large), 0);
	/* Without ostree's list, nothing tells which records are needed. */
	ck_assert(gbe_ledger_compact(app, before, NULL));
	ck_assert_int_eq(stat(path, &small), 0);
	ck_assert_int_eq(small.st_size, large.st_size);
	/* Nor with a list that lacks the booted deployment. */
	before->booted.id = g_strdup(A);
	list(before, B, NULL);
	ck_assert(gbe_ledger_compact(app, before, NULL));
	ck_assert_int_eq(stat(path, &small), 0);
	ck_assert_int_eq(small.st_size, large.st_size);
	list(before, A, NULL);
	ck_assert(gbe_ledger_compact(app, before, NULL));
	ck_assert_int_eq(stat(path, &small), 0);
	ck_assert_int_lt(small.st_size, large.st_size / 2);
	after = observe();
	ck_assert_str_eq(after->ledger_id, before->ledger_id);
	ck_assert_uint_eq(after->ledger_last, before->ledger_last);
	ck_assert(!after->holes);
	ck_assert_uint_eq(after->runs->len, 32);
	take_over(after->next_sequence, B);
	last = observe();
	ck_assert_uint_eq(last->take_overs->len, 33);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("app-state");
	TCase *tcase = tcase_create("state");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, directory_is_made_private);
	tcase_add_test(tcase, lock_names_its_holder);
	tcase_add_test(tcase, nothing_there_is_no_error);
	tcase_add_test(tcase, sealed_file_round_trip);
	tcase_add_test(tcase, too_large_is_not_written);
	tcase_add_loop_test(tcase, broken_is_set_aside_by_who_repairs, 0,
			    (int)G_N_ELEMENTS(broken));
	tcase_add_test(tcase, a_run_from_end_to_end);
	tcase_add_test(tcase, green_stays_green);
	tcase_add_test(tcase, starts_are_counted_until_one_ends);
	tcase_add_test(tcase, intent_and_its_end);
	tcase_add_test(tcase, request_and_its_end);
	tcase_add_test(tcase, what_is_said_later);
	tcase_add_test(tcase, gone_is_noted_once);
	tcase_add_test(tcase, gone_twice);
	tcase_add_test(tcase, rewritten_after_many_boots);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
