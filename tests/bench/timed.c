/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * timed [-o FILE] COMMAND [ARG...] [+ COMMAND [ARG...]]...: runs the commands one after the other. Prints the
 * microseconds from the first start to the last end, and those of CPU time. No shell runs in between: it would be
 * charged to one side of a comparison. The commands' output goes to FILE, or is discarded.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int64_t
now(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_MONOTONIC, &time) < 0)
		abort();
	return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static int64_t
cpu_of_children(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
		abort();
	return ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
	       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static bool
run(char **command, const posix_spawn_file_actions_t *actions)
{
	pid_t pid;
	int status;
	int r = posix_spawnp(&pid, command[0], actions, NULL, command, environ);

	if (r != 0) {
		fprintf(stderr, "timed: %s: %s\n", command[0], strerror(r));
		return false;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			abort();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	fprintf(stderr, "timed: %s: %s %d\n", command[0],
		WIFEXITED(status) ? "exit status" : "signal",
		WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return false;
}

/* @commands ends with NULL; the separators also become ends. */
static bool
run_all(char **commands, const posix_spawn_file_actions_t *actions)
{
	while (*commands != NULL) {
		char **end = commands;
		bool more;

		while (*end != NULL && strcmp(*end, "+") != 0)
			end++;
		more = *end != NULL;
		*end = NULL;
		if (!run(commands, actions))
			return false;
		commands = more ? end + 1 : end;
	}
	return true;
}

int
main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	const char *output = "/dev/null";
	char **commands = argv + 1;
	int64_t began;

	if (argc > 3 && strcmp(argv[1], "-o") == 0) {
		output = argv[2];
		commands = argv + 3;
	}
	if (*commands == NULL) {
		fprintf(stderr, "usage: %s [-o FILE] COMMAND [ARG...] [+ COMMAND...]\n", argv[0]);
		return 2;
	}
	if (posix_spawn_file_actions_init(&actions) != 0 ||
	    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output,
					     O_WRONLY | O_CREAT | O_TRUNC, 0600) != 0)
		abort();
	began = now();
	if (!run_all(commands, &actions))
		return 1;
	began = now() - began;
	printf("%" PRId64 " %" PRId64 "\n", began, cpu_of_children());
	return 0;
}
