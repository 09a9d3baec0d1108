/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A worker that crashes, hangs, or ends in any way, below a root of this test. */
#include "app/boot/supervise.h"

#include <signal.h>

#include "app/backups/data.h"
#include "app/state/ledger.h"
#include "app/state/state.h"
#include "core/json/parse.h"
#include "sys-root.h"
#include "sys/systemd/events.h"

#define CHECKSUM_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define CHECKSUM_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define A "test-" CHECKSUM_A ".0"
#define B "test-" CHECKSUM_B ".0"
#define BOOT_ID "01234567-89ab-cdef-0123-456789abcdef"
#define RUN_ID "0123456789abcdef0123456789abcdef"

#define DONE "run/greenboot-etcd/prerun-done"

/* A is booted, with ostree's files on the disk. */
static void
setup(void)
{
	root_setup();
	gbe_events_init("test", true, true, 0);
	root_mkdir("ostree/deploy/test/deploy/" CHECKSUM_A ".0");
	root_mkdir("ostree/deploy/test/deploy/" CHECKSUM_B ".0");
	root_link("ostree/boot.1/test/" CHECKSUM_A "/0",
		  "../../../deploy/test/deploy/" CHECKSUM_A ".0");
	root_write("run/ostree-booted", "");
	root_write("proc/cmdline", "root=/dev/sda1 ostree=/ostree/boot.1/test/" CHECKSUM_A "/0\n");
	root_write("proc/sys/kernel/random/boot_id", BOOT_ID "\n");
	root_mkdir("var/lib/etcd");
}

/* The ledger says that @deployment had the data last. */
static void
owned_by(const char *deployment)
{
	g_autoptr(GbeTakeOver) t = gbe_take_over_new();
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeApp) app = NULL;

	ck_assert(gbe_app_new("test", root, &app, NULL));
	app->configured = true;
	ck_assert(gbe_app_lock(app, "test", 0, NULL));
	ck_assert(gbe_data_open(app, &data, NULL));
	gbe_data_observe_identity(data, facts);
	gbe_state_observe(app, facts);
	t->deployment.id = g_strdup(deployment);
	t->run = g_strdup(RUN_ID);
	t->sequence = facts->next_sequence + 1;
	t->tree = g_strdup(facts->tree);
	ck_assert(gbe_state_take_over(app, t, GBE_WRITE_LATER, NULL));
}

static void
intent_is_open(void)
{
	g_autoptr(GbeApp) app = NULL;

	ck_assert(gbe_app_new("test", root, &app, NULL));
	app->configured = true;
	ck_assert(gbe_app_lock(app, "test", 0, NULL));
	ck_assert(
	    gbe_ledger_append(app, GBE_LEDGER_INTENT, json_object_new(), GBE_WRITE_LATER, NULL));
}

/* The ledger's records so far. */
static GbeFacts *
ledger_says(void)
{
	g_autoptr(GbeApp) app = NULL;
	GbeFacts *facts = gbe_facts_new();

	ck_assert(gbe_app_new("test", root, &app, NULL));
	app->configured = true;
	gbe_state_observe(app, facts);
	return facts;
}

static JsonObject *
read_done(void)
{
	g_autofree char *path = root_path(DONE);
	g_autofree char *bytes = NULL;
	JsonObject *done = NULL;
	gsize size;

	ck_assert(g_file_get_contents(path, &bytes, &size, NULL));
	ck_assert(gbe_json_parse_object(bytes, size, DONE, &done, NULL));
	return done;
}

static int
end_with(GbeApp *app, gpointer data)
{
	return GPOINTER_TO_INT(data);
}

static int
abort_at_once(GbeApp *app, gpointer data)
{
	abort();
	return 0;
}

static int
sleep_for_ever(GbeApp *app, gpointer data)
{
	while (pause() < 0)
		continue;
	return 0;
}

static int
stop_itself(GbeApp *app, gpointer data)
{
	(void)raise(SIGSTOP);
	return 0;
}

/* Works for three seconds, and moves something all the time. */
static int
work_slowly(GbeApp *app, gpointer data)
{
	for (int i = 0; i < 30; i++) {
		g_usleep(G_USEC_PER_SEC / 10);
		(void)gbe_app_progress(4096, app);
	}
	return GPOINTER_TO_INT(data);
}

static int
run_prerun(GbeWork work, int status)
{
	return gbe_supervise_prerun(root, work, GINT_TO_POINTER(status), 1);
}

START_TEST(an_answer_is_an_answer)
{
	owned_by(B);
	ck_assert_int_eq(run_prerun(end_with, 0), 0);
	owned_by(A);
	ck_assert_int_eq(run_prerun(end_with, 5), 5);
}
END_TEST

/* Every way to fail, with the lock on the data and no open operation: etcd starts. */
START_TEST(unchanged_lets_etcd_start)
{
	g_autoptr(JsonObject) done = NULL;

	owned_by(A);
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 0);
	done = read_done();
	ck_assert(!gbe_json_bool(done, "held", true));
	ck_assert_ptr_nonnull(strstr(gbe_json_string(done, "reason", ""), "signal 6"));
	ck_assert_int_eq(run_prerun(sleep_for_ever, 0), 0);
	ck_assert_int_eq(run_prerun(stop_itself, 0), 0);
	ck_assert_int_eq(run_prerun(end_with, 3), 0);
}
END_TEST

START_TEST(changed_holds_etcd_back)
{
	g_autofree char *motd = NULL;
	g_autofree char *text = NULL;
	g_autoptr(JsonObject) done = NULL;
	g_autoptr(GbeFacts) facts = NULL;

	owned_by(B);
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 5);
	ck_assert_int_eq(run_prerun(sleep_for_ever, 0), 5);
	ck_assert_int_eq(run_prerun(end_with, 1), 5);
	done = read_done();
	ck_assert(gbe_json_bool(done, "held", false));
	ck_assert_ptr_nonnull(strstr(gbe_json_string(done, "reason", ""), "systemctl"));
	facts = ledger_says();
	ck_assert_str_eq(facts->last.result, "held");
	/* People are told, whether or not anything judges boots here. */
	motd = root_path("run/motd.d/greenboot-etcd");
	ck_assert(g_file_get_contents(motd, &text, NULL, NULL));
	ck_assert_ptr_nonnull(strstr(text, "held back"));
}
END_TEST

START_TEST(an_open_intent_holds_etcd_back)
{
	owned_by(A);
	intent_is_open();
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 5);
	/* The worker's own exit status counts. */
	ck_assert_int_eq(run_prerun(end_with, 0), 0);
}
END_TEST

START_TEST(nothing_recorded_holds_etcd_back)
{
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 5);
}
END_TEST

/* Files in the data decide nothing; data that the ledger does not know has no owner. */
START_TEST(the_ledger_counts)
{
	owned_by(A);
	root_write("var/lib/etcd/" GBE_NONCE_NAME, "{");
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 0);
	root_remove("var/lib/etcd");
	root_mkdir("var/lib/etcd.new");
	root_mkdir("var/lib/etcd");
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 5);
}
END_TEST

/* etcd writes without the prerun that would have recorded it: the closing record is void. */
START_TEST(a_start_without_prerun_is_recorded)
{
	g_autoptr(GbeFacts) facts = NULL;

	owned_by(A);
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 0);
	facts = ledger_says();
	ck_assert(((GbeRunRecord *)facts->runs->pdata[0])->ended);
	ck_assert_str_eq(facts->last.result, "failed");
}
END_TEST

/* ... also where another program has the lock, so that it cannot be recorded: the nonce goes, which it is about. */
START_TEST(a_start_while_locked_is_seen)
{
	g_autofree char *nonce = root_path("var/lib/etcd/" GBE_NONCE_NAME);
	g_autoptr(GbeApp) other = NULL;

	owned_by(A);
	root_write("var/lib/etcd/" GBE_NONCE_NAME, "0123456789abcdef");
	ck_assert(gbe_app_new("test", root, &other, NULL));
	ck_assert(gbe_app_lock(other, "test", 0, NULL));
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 0);
	ck_assert(!g_file_test(nonce, G_FILE_TEST_EXISTS));
}
END_TEST

START_TEST(a_serial_is_compared_whole)
{
	owned_by("test-" CHECKSUM_A ".01");
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 5);
	owned_by("test-" CHECKSUM_A ".1");
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 5);
}
END_TEST

START_TEST(booted_unknown_holds_etcd_back)
{
	owned_by(A);
	root_write("proc/cmdline", "root=/dev/sda1\n");
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 5);
}
END_TEST

START_TEST(without_ostree_nothing_is_held)
{
	owned_by(B);
	root_remove("run/ostree-booted");
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 0);
	intent_is_open();
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 5);
}
END_TEST

START_TEST(switched_off_holds_nothing)
{
	owned_by(B);
	root_write("etc/greenboot-etcd/greenboot-etcd.conf", "[etcd]\nservice=\n");
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 0);
	root_remove("etc");
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 5);
	root_write("proc/cmdline",
		   "ostree=/ostree/boot.1/test/" CHECKSUM_A "/0 greenboot-etcd.skip\n");
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 0);
}
END_TEST

START_TEST(a_typo_in_the_configuration)
{
	owned_by(A);
	root_write("etc/greenboot-etcd/greenboot-etcd.conf", "[etcd\ndata-dir=nowhere\n");
	ck_assert_int_eq(run_prerun(abort_at_once, 0), 0);
}
END_TEST

START_TEST(progress_keeps_it_alive)
{
	owned_by(B);
	ck_assert_int_eq(run_prerun(work_slowly, 0), 0);
	ck_assert_int_eq(gbe_supervise_finalize(root, work_slowly, GINT_TO_POINTER(7), 1, 0), 7);
}
END_TEST

static char *
carried(void)
{
	g_autoptr(GbeFacts) facts = ledger_says();

	return g_steal_pointer(&facts->failure_why);
}

/* The next boot reports any failure of the shutdown. */
START_TEST(finalize_tells_the_next_boot)
{
	g_autofree char *none = NULL;
	g_autofree char *idle = NULL;
	g_autofree char *slow = NULL;
	g_autofree char *dead = NULL;

	ck_assert_int_eq(gbe_supervise_finalize(root, work_slowly, GINT_TO_POINTER(0), 1, 0), 0);
	none = carried();
	ck_assert_ptr_null(none);
	ck_assert_int_eq(gbe_supervise_finalize(root, sleep_for_ever, NULL, 1, 60), 1);
	idle = carried();
	ck_assert_str_eq(idle, "the worker made no progress for 1 s and was killed");
	ck_assert_int_eq(gbe_supervise_finalize(root, work_slowly, GINT_TO_POINTER(0), 60, 1), 1);
	slow = carried();
	ck_assert_str_eq(slow, "the worker did not end in time and was killed");
	ck_assert_int_eq(gbe_supervise_finalize(root, abort_at_once, NULL, 60, 60), 1);
	dead = carried();
	ck_assert_str_eq(dead, "the worker was killed by signal 6 (Aborted)");
}
END_TEST

START_TEST(bounded)
{
	gint64 began = g_get_monotonic_time();

	ck_assert_int_eq(gbe_supervise_bounded("green", root, end_with, GINT_TO_POINTER(1), 5, 9),
			 1);
	ck_assert_int_eq(gbe_supervise_bounded("green", root, end_with, NULL, 5, 9), 0);
	ck_assert_int_eq(gbe_supervise_bounded("green", root, abort_at_once, NULL, 5, 9), 9);
	ck_assert_int_eq(gbe_supervise_bounded("green", root, sleep_for_ever, NULL, 1, 9), 9);
	/* Moving bytes does not extend this time. */
	ck_assert_int_eq(gbe_supervise_bounded("green", root, work_slowly, NULL, 1, 9), 9);
	ck_assert_int_eq(gbe_supervise_bounded("green", "/nonexistent", end_with, NULL, 5, 9), 9);
	ck_assert_int_lt(g_get_monotonic_time() - began, 20 * G_USEC_PER_SEC);
}
END_TEST

static int
extend_and_work(GbeApp *app, gpointer data)
{
	gbe_supervise_extend(app, 20);
	return work_slowly(app, data);
}

START_TEST(extended)
{
	ck_assert_int_eq(gbe_supervise_bounded("health", root, extend_and_work, NULL, 1, 9), 0);
}
END_TEST

/* Processes that the worker started end together with the worker. */
static int
leave_a_child(GbeApp *app, gpointer data)
{
	int *ends = data;

	if (fork() == 0)
		(void)sleep_for_ever(app, NULL);
	(void)close(ends[1]);
	return sleep_for_ever(app, NULL);
}

START_TEST(nothing_is_left_running)
{
	char byte;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(gbe_supervise_bounded("green", root, leave_a_child, ends, 1, 9), 9);
	(void)close(ends[1]);
	/* End of file: no process holds the writing end any more. */
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	(void)close(ends[0]);
}
END_TEST

static int
kill_the_parent_softly(GbeApp *app, gpointer data)
{
	(void)kill(getppid(), SIGTERM);
	return sleep_for_ever(app, data);
}

START_TEST(a_stop_is_heard)
{
	gint64 began = g_get_monotonic_time();

	owned_by(A);
	ck_assert_int_eq(gbe_supervise_prerun(root, kill_the_parent_softly, NULL, 60), 0);
	ck_assert_int_lt(g_get_monotonic_time() - began, 10 * G_USEC_PER_SEC);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("app-supervise");
	TCase *tcase = tcase_create("supervise");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, root_teardown);
	tcase_add_test(tcase, an_answer_is_an_answer);
	tcase_add_test(tcase, unchanged_lets_etcd_start);
	tcase_add_test(tcase, changed_holds_etcd_back);
	tcase_add_test(tcase, an_open_intent_holds_etcd_back);
	tcase_add_test(tcase, nothing_recorded_holds_etcd_back);
	tcase_add_test(tcase, the_ledger_counts);
	tcase_add_test(tcase, a_start_without_prerun_is_recorded);
	tcase_add_test(tcase, a_start_while_locked_is_seen);
	tcase_add_test(tcase, a_serial_is_compared_whole);
	tcase_add_test(tcase, booted_unknown_holds_etcd_back);
	tcase_add_test(tcase, without_ostree_nothing_is_held);
	tcase_add_test(tcase, switched_off_holds_nothing);
	tcase_add_test(tcase, a_typo_in_the_configuration);
	tcase_add_test(tcase, progress_keeps_it_alive);
	tcase_add_test(tcase, finalize_tells_the_next_boot);
	tcase_add_test(tcase, bounded);
	tcase_add_test(tcase, extended);
	tcase_add_test(tcase, nothing_is_left_running);
	tcase_add_test(tcase, a_stop_is_heard);
	suite_add_tcase(suite, tcase);
	return scratch_main(suite);
}
