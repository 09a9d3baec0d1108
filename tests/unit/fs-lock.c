/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/lock.h"
#include "unit/fs-place.h"

#include <signal.h>

/* A process that holds the lock until it is killed. Returns when it has the lock. */
static pid_t
start_holder(const char *operation)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		GbeLock *lock = NULL;

		if (gbe_lock_acquire_at(place, "lock", operation, 0, &lock, NULL))
			(void)!write(ready[1], "y", 1);
		for (;;)
			pause();
	}
	(void)close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static void
stop_holder(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(one_at_a_time)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GbeLock) lock = NULL;
	g_autofree char *wanted = NULL;
	pid_t pid = start_holder("restore x\ny");

	wanted = g_strdup_printf("another operation (restore x\\x0ay, pid %d) holds the lock /",
				 (int)pid);
	assert_fails(gbe_lock_acquire_at(place, "lock", "backup", 0, &lock, &error), error,
		     GBE_ERROR_BUSY, wanted);
	ck_assert_ptr_null(lock);
	stop_holder(pid);
	/* The holder was killed, so the kernel released the lock. */
	assert_ok(gbe_lock_acquire_at(place, "lock", "backup", 0, &lock, &error), error);
}
END_TEST

START_TEST(waiting_ends_in_time)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GbeLock) lock = NULL;
	pid_t pid = start_holder("backup");
	gint64 before = g_get_monotonic_time();
	gint64 took;

	assert_fails(gbe_lock_acquire_at(place, "lock", "prerun", 300, &lock, &error), error,
		     GBE_ERROR_BUSY, "(backup, pid");
	took = g_get_monotonic_time() - before;
	ck_assert_int_ge(took, 300000);
	ck_assert_int_lt(took, 10000000);
	stop_holder(pid);
}
END_TEST

START_TEST(waiting_gets_it)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GbeLock) lock = NULL;
	pid_t pid = start_holder("backup");
	pid_t killer = fork();

	if (killer == 0) {
		g_usleep(200000);
		(void)kill(pid, SIGKILL);
		_exit(0);
	}
	assert_ok(gbe_lock_acquire_at(place, "lock", "prerun", 20000, &lock, &error), error);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(waitpid(killer, NULL, 0), killer);
}
END_TEST

START_TEST(released_and_taken_again)
{
	for (guint i = 0; i < 3; i++) {
		g_autoptr(GError) error = NULL;
		g_autofree char *text = NULL;
		g_autofree char *wanted = g_strdup_printf("%d backup\n", (int)getpid());
		GbeLock *lock = NULL;

		assert_ok(gbe_lock_acquire_at(place, "lock", "backup", 0, &lock, &error), error);
		text = content_of("lock");
		ck_assert_str_eq(text, wanted);
		gbe_lock_release(lock);
		ck_assert_int_eq(stat_of("lock").st_size, 0);
	}
	gbe_lock_release(NULL);
}
END_TEST

START_TEST(a_child_that_execs_does_not_hold_it)
{
	g_autoptr(GError) error = NULL;
	GbeLock *lock = NULL;
	pid_t pid;

	assert_ok(gbe_lock_acquire_at(place, "lock", "backup", 0, &lock, &error), error);
	pid = fork();
	if (pid == 0) {
		(void)execlp("sleep", "sleep", "60", NULL);
		_exit(127);
	}
	g_usleep(200000);
	gbe_lock_release(lock);
	lock = NULL;
	assert_ok(gbe_lock_acquire_at(place, "lock", "restore", 5000, &lock, &error), error);
	stop_holder(pid);
	gbe_lock_release(lock);
}
END_TEST

/* A person removes the file while one process holds the lock and we wait; a second process locks a new file. */
START_TEST(a_lock_without_a_name_blocks_no_process)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GbeLock) lock = NULL;
	pid_t pid = start_holder("the first");
	pid_t meddler = fork();

	if (meddler == 0) {
		/* The second process is killed with this process group, at the end of the test. */
		g_usleep(200000);
		if (unlinkat(place, "lock", 0) < 0 || start_holder("the second") < 0 ||
		    kill(pid, SIGKILL) < 0)
			_exit(1);
		_exit(0);
	}
	assert_fails(gbe_lock_acquire_at(place, "lock", "third", 5000, &lock, &error), error,
		     GBE_ERROR_BUSY, "the second");
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(waitpid(meddler, NULL, 0), meddler);
}
END_TEST

START_TEST(what_is_no_file_is_no_lock)
{
	g_autoptr(GError) error = NULL;
	GbeLock *lock = NULL;

	ck_assert_int_eq(mkfifoat(place, "lock", 0600), 0);
	assert_fails(gbe_lock_acquire_at(place, "lock", "backup", 0, &lock, &error), error,
		     GBE_ERROR_CORRUPT, "not a regular file");
	ck_assert_int_eq(unlinkat(place, "lock", 0), 0);
	ck_assert_int_eq(symlinkat("elsewhere", place, "lock"), 0);
	assert_fails(gbe_lock_acquire_at(place, "lock", "backup", 0, &lock, &error), error,
		     GBE_ERROR_FAILED, "lock");
	ck_assert(!is_there("elsewhere"));
}
END_TEST

START_TEST(odd_text_in_the_file_is_only_text)
{
	g_autoptr(GError) error = NULL;
	GbeLock *lock = NULL;
	g_autofree char *long_text = g_strnfill(5000, 'x');
	pid_t pid = start_holder("backup");

	put("lock", _i == 0 ? "" : _i == 1 ? "no pid" : long_text);
	assert_fails(gbe_lock_acquire_at(place, "lock", "x", 0, &lock, &error), error,
		     GBE_ERROR_BUSY, "another operation");
	stop_holder(pid);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-lock");
	TCase *tcase = place_case(suite, "lock");

	tcase_add_test(tcase, one_at_a_time);
	tcase_add_test(tcase, waiting_ends_in_time);
	tcase_add_test(tcase, waiting_gets_it);
	tcase_add_test(tcase, released_and_taken_again);
	tcase_add_test(tcase, a_child_that_execs_does_not_hold_it);
	tcase_add_test(tcase, a_lock_without_a_name_blocks_no_process);
	tcase_add_test(tcase, what_is_no_file_is_no_lock);
	tcase_add_loop_test(tcase, odd_text_in_the_file_is_only_text, 0, 3);
	return gbe_unit_main(suite);
}
