/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_USEC 5000
#define LINE_MOST ((gsize)400)
/* Bytes of the output. The trace of a program in Go that panics is longer than a line, and shorter than this. */
#define LOOK_BACK 16384

/* Call this before the kernel is asked to kill us with the parent: a change of the user clears that setting. */
static bool
change_user(const GbeChildUser *user)
{
	return user == NULL ||
	       (setgroups(0, NULL) == 0 && setresgid(user->gid, user->gid, user->gid) == 0 &&
		setresuid(user->uid, user->uid, user->uid) == 0);
}

/* Runs between fork and exec, so it allocates nothing. fd 3 is free for the program; @streams are all above 4. */
static void
become(const GbeChildUser *user, int program_fd, const char *const *argv, int cwd_fd, int out_fd,
       const GbeChildStreams *streams, pid_t parent)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C", NULL};
	sigset_t none;
	int null = open("/dev/null", O_RDONLY);

	/* Our handling of signals is not for the child. */
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (fchdir(cwd_fd) < 0 || !change_user(user) || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    getppid() != parent || setpgid(0, 0) < 0 || null < 0 ||
	    dup2(streams != NULL ? streams->in_fd : null, 0) < 0 || dup2(out_fd, 2) < 0 ||
	    dup2(streams != NULL ? streams->out_fd : out_fd, 1) < 0 ||
	    (program_fd != 3 && dup2(program_fd, 3) < 0) || fcntl(3, F_SETFD, 0) < 0 ||
	    (streams != NULL && dup2(streams->file_fd, 4) < 0) ||
	    close_range(streams != NULL ? 5 : 4, ~0U, 0) < 0)
		_exit(126);
	(void)fexecve(3, (char *const *)argv, (char *const *)env);
	_exit(127);
}

static bool
start(const GbeChildUser *user, int program_fd, const char *const *argv, int cwd_fd,
      const GbeChildStreams *streams, GbeChild *ret_child, GError **error)
{
	gbe_autofd int out_fd = memfd_create("output", MFD_CLOEXEC);
	/* Above the fd numbers that the child assigns. */
	gbe_autofd int program = fcntl(program_fd, F_DUPFD_CLOEXEC, 10);
	pid_t parent = getpid();
	sigset_t all, before;
	pid_t pid;

	if (out_fd < 0 || program < 0)
		return gbe_throw_errno(error, errno, "cannot start %s", argv[0]);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		become(user, program, argv, cwd_fd, out_fd, streams, parent);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return gbe_throw_errno(error, EAGAIN, "cannot start %s", argv[0]);
	/* Parent and child both call this, so that the group exists before anybody kills it. */
	(void)setpgid(pid, pid);
	*ret_child =
	    (GbeChild){.pid = pid, .out_fd = gbe_steal_fd(&out_fd), .name = g_strdup(argv[0])};
	return true;
}

bool
gbe_child_start_as(const GbeChildUser *user, int program_fd, const char *const *argv, int cwd_fd,
		   GbeChild *ret_child, GError **error)
{
	return start(user, program_fd, argv, cwd_fd, NULL, ret_child, error);
}

bool
gbe_child_start_filter(int program_fd, const char *const *argv, const GbeChildStreams *streams,
		       GbeChild *ret_child, GError **error)
{
	gbe_autofd int cwd_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	gbe_autofd int in_fd = fcntl(streams->in_fd, F_DUPFD_CLOEXEC, 10);
	gbe_autofd int out_fd = fcntl(streams->out_fd, F_DUPFD_CLOEXEC, 10);
	gbe_autofd int file_fd = fcntl(streams->file_fd, F_DUPFD_CLOEXEC, 10);
	const GbeChildStreams above = {in_fd, out_fd, file_fd};

	if (cwd_fd < 0 || in_fd < 0 || out_fd < 0 || file_fd < 0)
		return gbe_throw_errno(error, errno, "cannot start %s", argv[0]);
	return start(NULL, program_fd, argv, cwd_fd, &above, ret_child, error);
}

bool
gbe_child_start(int program_fd, const char *const *argv, int cwd_fd, GbeChild *ret_child,
		GError **error)
{
	return gbe_child_start_as(NULL, program_fd, argv, cwd_fd, ret_child, error);
}

char *
gbe_child_last_line(const GbeChild *child)
{
	char buffer[LOOK_BACK + 2] = "\n";
	off_t size = lseek(child->out_fd, 0, SEEK_END);
	off_t from = MAX(size - LOOK_BACK, 0);
	ssize_t got = pread(child->out_fd, buffer + 1, LOOK_BACK, from);
	const char *line;
	gsize len;

	buffer[1 + MAX(got, 0)] = '\0';
	(void)g_strchomp(buffer + 1);
	line = g_strrstr(buffer, "\npanic: ");
	if (line != NULL)
		return g_utf8_make_valid(line + 1, (gssize)MIN(strcspn(line + 1, "\n"), LINE_MOST));
	line = strrchr(buffer, '\n') + 1;
	len = strlen(line);
	return g_utf8_make_valid(line + len - MIN(len, LINE_MOST), -1);
}

bool
gbe_child_poll(GbeChild *child, bool *ret_running, GError **error)
{
	g_autofree char *said = NULL;
	int status = 0;
	pid_t ended;

	do
		ended = waitpid(child->pid, &status, WNOHANG);
	while (ended < 0 && errno == EINTR);
	if (ended == 0) {
		*ret_running = true;
		return true;
	}
	/* Processes that the child started may still run. */
	(void)kill(-child->pid, SIGKILL);
	child->pid = 0;
	*ret_running = false;
	if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	said = gbe_child_last_line(child);
	if (ended > 0 && WIFEXITED(status))
		return gbe_throw(error, GBE_ERROR_FAILED, "%s ended with status %d%s%s",
				 child->name, WEXITSTATUS(status), *said != '\0' ? ": " : "", said);
	return gbe_throw(error, GBE_ERROR_FAILED, "%s was killed%s%s", child->name,
			 *said != '\0' ? ": " : "", said);
}

void
gbe_child_end(GbeChild *child, guint timeout_ms)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;
	bool running = child->pid > 0;

	if (!running)
		return;
	(void)kill(child->pid, SIGTERM);
	while (running && g_get_monotonic_time() < deadline) {
		g_usleep(POLL_USEC);
		if (!gbe_child_poll(child, &running, NULL))
			running = false;
	}
	if (child->pid <= 0)
		return;
	(void)kill(child->pid, SIGKILL);
	(void)kill(-child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
}

void
gbe_child_clear(GbeChild *child)
{
	gbe_child_end(child, 0);
	/* A zeroed child has out_fd 0, which must not be closed. */
	if (child->name != NULL)
		gbe_close_fd(&child->out_fd);
	g_clear_pointer(&child->name, g_free);
}
