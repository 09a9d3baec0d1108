/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A user for a program that must reach no process, and the time that processes wait for a processor. */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/unit.h"

#include "sys/process.h"

/* Starts a process of that user. */
static pid_t
start_as(uid_t uid)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (setresuid(uid, uid, uid) == 0 && write(ready[1], &byte, 1) == 1)
			(void)pause();
		_exit(1);
	}
	(void)close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

START_TEST(unused_user)
{
	uid_t uid = gbe_process_unused_uid(0);
	uid_t other = gbe_process_unused_uid(uid);
	pid_t pid;

	ck_assert_uint_ge(uid, 65520);
	ck_assert_uint_lt(uid, 65534);
	ck_assert_uint_gt(other, uid);
	if (geteuid() != 0)
		return;
	pid = start_as(uid);
	ck_assert_uint_eq(gbe_process_unused_uid(0), other);
	ck_assert_uint_gt(gbe_process_unused_uid(other), other);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_uint_eq(gbe_process_unused_uid(0), uid);
}
END_TEST

/* Two processes that never rest share one processor, below a parent that only waits. */
START_TEST(children_wait)
{
	cpu_set_t set;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		CPU_ZERO(&set);
		CPU_SET(sched_getcpu(), &set);
		if (sched_setaffinity(0, sizeof set, &set) == 0 &&
		    prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
			for (int i = 0; i < 2; i++)
				if (fork() == 0) {
					(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
					for (;;)
						;
				}
		for (;;)
			(void)pause();
	}
	while (gbe_process_waited(pid) < 50000)
		g_usleep(10000);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_uint_eq(gbe_process_waited(pid), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-process");
	TCase *cases = tcase_create("unit");

	tcase_add_test(cases, unused_user);
	tcase_add_test(cases, children_wait);
	suite_add_tcase(suite, cases);
	return gbe_unit_main(suite);
}
