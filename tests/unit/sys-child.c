/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/unit.h"

#include "sys/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static void
start_as(const GbeChildUser *user, const char *script, GbeChild *child)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	gbe_autofd int cwd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	if (!gbe_child_start_as(user, fd, argv, cwd, child, &error))
		ck_abort_msg("%s", error->message);
}

static void
start(const char *script, GbeChild *child)
{
	start_as(NULL, script, child);
}

/* NULL: it ended with status 0. */
static char *
outcome(GbeChild *child)
{
	g_autoptr(GError) error = NULL;

	for (bool running = true; running; g_usleep(1000))
		if (!gbe_child_poll(child, &running, &error))
			return g_strdup(error->message);
	return NULL;
}

START_TEST(says_how_it_ended)
{
	static const struct {
		const char *script, *why;
	} cases[] = {
	    {"exit 0", NULL},
	    {"echo first; echo last word >&2; exit 3", "sh ended with status 3: last word"},
	    {"echo x; kill -9 $$", "sh was killed: x"},
	    /* As a program in Go ends: the trace says nothing to a person. */
	    {"echo; echo 'panic: no such user'; echo; seq 2000; exit 2",
	     "sh ended with status 2: panic: no such user"},
	    {"echo 'panic: at once'; echo main.go:31; exit 2",
	     "sh ended with status 2: panic: at once"},
	    {"echo 'no panic: really'; echo the end; exit 1", "sh ended with status 1: the end"},
	    /* The child has none of our files and none of our environment. */
	    {"[ \"$(ls /proc/self/fd | wc -l)\" -le 5 ] && [ -z \"$GBE_TEST_DATA\" ]", NULL},
	    {"[ \"$(pwd)\" = / ] && [ -z \"$ETCDCTL_API\" ]", NULL},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GbeChild) child = {0};
		g_autofree char *why = NULL;

		start(cases[i].script, &child);
		why = outcome(&child);
		ck_assert_msg(g_strcmp0(why, cases[i].why) == 0, "%s: %s", cases[i].script, why);
	}
}
END_TEST

START_TEST(as_another_user)
{
	const GbeChildUser user = {12345, 23456};
	g_auto(GbeChild) child = {0};
	g_autofree char *why = NULL;

	if (geteuid() != 0) {
		gbe_unit_skip("as-another-user", "needs root");
		return;
	}
	start_as(&user, "[ \"$(id -u) $(id -G)\" = '12345 23456' ]", &child);
	why = outcome(&child);
	ck_assert_msg(why == NULL, "%s", why);
}
END_TEST

/* Also right after the start, and with the processes that it started. */
START_TEST(is_ended)
{
	static const char *const scripts[] = {"sleep 100", "trap '' TERM; sleep 100 & wait; wait",
					      "exec sleep 100"};

	for (gsize i = 0; i < G_N_ELEMENTS(scripts) * 20; i++) {
		GbeChild child = {0};
		pid_t pid;

		start(scripts[i % G_N_ELEMENTS(scripts)], &child);
		pid = child.pid;
		if (i % 2 == 1)
			g_usleep(3000);
		gbe_child_end(&child, i % 4 == 3 ? 20 : 0);
		ck_assert_int_eq(child.pid, 0);
		ck_assert_int_lt(kill(pid, 0), 0);
		ck_assert_int_eq(errno, ESRCH);
		gbe_child_clear(&child);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-child");
	TCase *tcase = tcase_create("child");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, says_how_it_ended);
	tcase_add_test(tcase, as_another_user);
	tcase_add_test(tcase, is_ended);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
