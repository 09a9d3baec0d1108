/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rss-at-exit COMMAND [ARG...]: runs it and prints how many KiB of private memory (RssAnon) it had when
 * it ended. Of several processes of the same program (a supervising parent and its worker) the largest
 * counts; what it starts besides is not its memory. As a debugger: also a process that ends with _exit()
 * is seen, and nothing is loaded into it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |     \
	 PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

static char program[PATH_MAX];
static long largest = -1;

static bool
is_program(pid_t pid)
{
	char link[64], exe[PATH_MAX] = "";

	(void)snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	return readlink(link, exe, sizeof exe - 1) > 0 && strcmp(exe, program) == 0;
}

static void
look(pid_t pid)
{
	char path[64], line[256];
	FILE *status;

	if (!is_program(pid))
		return;
	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	status = fopen(path, "re");
	if (status == NULL)
		return;
	while (fgets(line, sizeof line, status) != NULL) {
		long kib;

		if (sscanf(line, "RssAnon: %ld kB", &kib) == 1 && kib > largest)
			largest = kib;
	}
	(void)fclose(status);
}

/* The signal to deliver when a stopped process continues. */
static int
handle_stop(pid_t pid, int status)
{
	int event = status >> 16;

	if (event == PTRACE_EVENT_EXIT)
		look(pid);
	if (event != 0)
		return 0;
	/* A new process begins with SIGSTOP, an exec with SIGTRAP: both are the tracer's. */
	if (WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGTRAP)
		return 0;
	return WSTOPSIG(status);
}

static int
trace(pid_t child)
{
	int result = 1, status;
	pid_t pid;

	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, child, NULL, OPTIONS) < 0 ||
	    ptrace(PTRACE_CONT, child, NULL, NULL) < 0) {
		perror("rss-at-exit");
		return 1;
	}
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (pid < 0)
			continue;
		if (WIFSTOPPED(status))
			(void)ptrace(PTRACE_CONT, pid, NULL, (long)handle_stop(pid, status));
		else if (pid == child)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return result;
}

int
main(int argc, char **argv)
{
	pid_t child;
	int result;

	if (argc < 2 || realpath(argv[1], program) == NULL) {
		fprintf(stderr, "usage: %s PROGRAM [ARG...]\n", argv[0]);
		return 2;
	}
	child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		if (null < 0 || dup2(null, STDOUT_FILENO) < 0 ||
		    ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(127);
		(void)execv(program, argv + 1);
		_exit(127);
	}
	if (child < 0) {
		perror("rss-at-exit: fork");
		return 1;
	}
	result = trace(child);
	if (largest < 0) {
		fprintf(stderr, "rss-at-exit: %s: never seen to end\n", program);
		return 1;
	}
	printf("%ld\n", largest);
	return result;
}
