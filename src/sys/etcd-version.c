/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/etcd-version.h"

#include "base/auto.h"
#include "fs/open.h"
#include "fs/write.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's descriptor of the program. A script's interpreter opens this path again. The parent's descriptors are hidden
 * from the child after the parent has read a key (PR_SET_DUMPABLE). */
#define PROGRAM_FD 3
#define PROGRAM_PATH "/proc/self/fd/3"
#define RUN_DIR "/run/greenboot-etcd"
#define KEPT "etcd-version"
#define KEPT_MAX 4096

static bool
start(int fd, const char *binary, int *ret_out, pid_t *ret_pid)
{
	const char *const argv[] = {binary, "--version", NULL};
	const char *const envp[] = {"PATH=/usr/bin:/bin", NULL};
	posix_spawn_file_actions_t actions;
	int pipe_fds[2];
	int r;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return false;
	r = posix_spawn_file_actions_init(&actions);
	if (r == 0) {
		r = posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
		if (r == 0)
			r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
							     O_WRONLY, 0);
		if (r == 0)
			r = posix_spawn_file_actions_adddup2(&actions, fd, PROGRAM_FD);
		if (r == 0)
			r = posix_spawn(ret_pid, PROGRAM_PATH, &actions, NULL, (char *const *)argv,
					(char *const *)envp);
		(void)posix_spawn_file_actions_destroy(&actions);
	}
	(void)close(pipe_fds[1]);
	if (r != 0) {
		(void)close(pipe_fds[0]);
		return false;
	}
	*ret_out = pipe_fds[0];
	return true;
}

/* Reads until the end of the output, a full buffer, or the deadline. */
static void
read_until(int fd, char *buffer, gsize size, guint timeout_ms)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;
	gsize used = 0;

	while (used + 1 < size) {
		gint64 left = (deadline - g_get_monotonic_time()) / 1000;
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (left <= 0 || poll(&poll_fd, 1, (int)left) == 0)
			break;
		n = read(fd, buffer + used, size - 1 - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (gsize)n;
	}
	buffer[used] = '\0';
}

static char *
ask_program(int fd, const char *binary, guint timeout_ms)
{
	static const char label[] = "etcd Version: ";
	gbe_autofd int out = -1;
	char buffer[1024];
	const char *at;
	pid_t pid;

	if (!start(fd, binary, &out, &pid))
		return NULL;
	read_until(out, buffer, sizeof buffer, timeout_ms);
	/* etcd has answered or never will, and --version has nothing to lose. */
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	at = strstr(buffer, label);
	if (at == NULL)
		return NULL;
	at += strlen(label);
	return g_strndup(at, strcspn(at, " \n\r\t"));
}

static bool
open_program(int root_fd, const char *binary, int *ret_fd)
{
	return binary != NULL && g_path_is_absolute(binary) &&
	       gbe_open_in_root(root_fd, binary, O_RDONLY | O_NONBLOCK, ret_fd, NULL);
}

char *
gbe_etcd_version_of_binary(int root_fd, const char *binary, guint timeout_ms)
{
	gbe_autofd int fd = -1;

	return open_program(root_fd, binary, &fd) ? ask_program(fd, binary, timeout_ms) : NULL;
}

/* Names these bytes of the program as long as the machine runs. NULL for a script, which may start another program. */
static char *
identify(int fd)
{
	struct stat st;
	char magic[4];

	if (pread(fd, magic, sizeof magic, 0) != sizeof magic ||
	    memcmp(magic, "\177ELF", sizeof magic) != 0 || fstat(fd, &st) < 0)
		return NULL;
	return g_strdup_printf("%ju:%ju %jd %jd.%09ld ", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
			       (intmax_t)st.st_size, (intmax_t)st.st_ctim.tv_sec,
			       st.st_ctim.tv_nsec);
}

char *
gbe_etcd_version_in_boot(int root_fd, const char *binary, guint timeout_ms)
{
	g_autofree char *id = NULL, *kept = NULL, *version = NULL, *line = NULL;
	gbe_autofd int fd = -1, run_fd = -1;
	gsize size;

	if (!open_program(root_fd, binary, &fd))
		return NULL;
	id = identify(fd);
	if (id != NULL &&
	    gbe_read_in_root(root_fd, RUN_DIR "/" KEPT, KEPT_MAX, &kept, &size, NULL) &&
	    g_str_has_prefix(kept, id))
		return g_strdup(kept + strlen(id));
	version = ask_program(fd, binary, timeout_ms);
	if (id == NULL || version == NULL)
		return g_steal_pointer(&version);
	line = g_strconcat(id, version, NULL);
	if (gbe_make_dirs(root_fd, RUN_DIR, 0755, &run_fd, NULL) &&
	    gbe_write_file_at(run_fd, KEPT, line, strlen(line), 0644, GBE_WRITE_LATER, NULL))
		return g_steal_pointer(&version);
	/* The next start asks again. */
	return g_steal_pointer(&version);
}
