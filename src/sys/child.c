/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/open.h"
#include "fs/write.h"

#define POLL_USEC 5000
#define WAIT_USEC 10000
#define LINE_MOST ((gsize)400)
/* Bytes of the output. The trace of a program in Go that panics is longer than a line, and shorter than this. */
#define LOOK_BACK 16384

/* Runs between fork and exec, so it allocates nothing. fd 3 is free for the program; @streams are all above 4. */
static void
become_program(const GbeChildUser *user, int program_fd, const char *const *argv, int cwd_fd,
	       int out_fd, const GbeChildStreams *streams, pid_t parent)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C", NULL};
	sigset_t none;
	int null = open("/dev/null", O_RDONLY);

	/* Our handling of signals is not for the child. */
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (null < 0 || fchdir(cwd_fd) < 0)
		_exit(126);
	/* Before the kernel is asked to kill us with the parent: a change of the user clears that setting. */
	if (user != NULL &&
	    (setgroups(0, NULL) < 0 || setresgid(user->gid, user->gid, user->gid) < 0 ||
	     setresuid(user->uid, user->uid, user->uid) < 0))
		_exit(126);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || setpgid(0, 0) < 0)
		_exit(126);
	if (dup2(streams != NULL ? streams->in_fd : null, 0) < 0 || dup2(out_fd, 2) < 0 ||
	    dup2(streams != NULL ? streams->out_fd : out_fd, 1) < 0)
		_exit(126);
	if ((program_fd != 3 && dup2(program_fd, 3) < 0) || fcntl(3, F_SETFD, 0) < 0)
		_exit(126);
	if ((streams != NULL && dup2(streams->file_fd, 4) < 0) ||
	    close_range(streams != NULL ? 5 : 4, ~0U, 0) < 0)
		_exit(126);
	(void)fexecve(3, (char *const *)argv, (char *const *)env);
	_exit(127);
}

static bool
start_child(const GbeChildUser *user, int program_fd, const char *const *argv, int cwd_fd,
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
		become_program(user, program, argv, cwd_fd, out_fd, streams, parent);
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
	return start_child(user, program_fd, argv, cwd_fd, NULL, ret_child, error);
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
	return start_child(NULL, program_fd, argv, cwd_fd, &above, ret_child, error);
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

bool
gbe_child_wait(GbeChild *child, guint64 seconds, GError **error)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;

	for (bool running = true;;) {
		if (!gbe_child_poll(child, &running, error))
			return false;
		if (!running)
			return true;
		if (g_get_monotonic_time() >= deadline)
			return gbe_throw(error, GBE_ERROR_FAILED,
					 "%s has not ended within %" G_GUINT64_FORMAT
					 " s (--timeout)",
					 child->name, seconds);
		g_usleep(WAIT_USEC);
	}
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

/* ---- a sandbox ---- */

/* The capabilities for reading the files of etcd's user and writing the nonce among them. */
#define KEPT_CAPABILITIES (1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER)
#define READING ((guint64)LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

static bool
throw_confine(const char *what, GError **error)
{
	return gbe_throw_errno(error, errno, "cannot give up privileges: %s", what);
}

static bool
allow_below(int rules_fd, guint64 what, int root_fd, const char *directory, GError **error)
{
	struct landlock_path_beneath_attr rule = {.allowed_access =
						      what & ~(guint64)LANDLOCK_ACCESS_FS_EXECUTE};
	g_autofree char *path = g_strdup(directory);
	gbe_autofd int fd = -1;

	while (!gbe_open_in_root(root_fd, path, O_PATH | O_DIRECTORY, &fd, NULL)) {
		g_autofree char *below = g_steal_pointer(&path);

		if (g_str_equal(below, "/"))
			return gbe_throw(error, GBE_ERROR_FAILED, "cannot open the root");
		path = g_path_get_dirname(below);
	}
	rule.parent_fd = fd;
	return syscall(SYS_landlock_add_rule, rules_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ==
		   0 ||
	       throw_confine(path, error);
}

/* Forbids to execute and to write as far as this kernel can; without Landlock, nothing. */
static bool
forbid_elsewhere(int root_fd, const char *const *directories, GError **error)
{
	long version =
	    syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	/* Landlock's first version has 13 rights; the second and the third add one each. */
	guint rights = version <= 0 ? 0 : 12 + (guint)MIN(version, 3);
	struct landlock_ruleset_attr rules = {
	    .handled_access_fs = ((G_GUINT64_CONSTANT(1) << rights) - 1) & ~READING};
	gbe_autofd int fd = -1;

	if (rules.handled_access_fs == 0)
		return true;
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
	if (fd < 0)
		return throw_confine("landlock", error);
	for (guint i = 0; directories[i] != NULL; i++)
		if (!allow_below(fd, rules.handled_access_fs, root_fd, directories[i], error))
			return false;
	return syscall(SYS_landlock_restrict_self, fd, 0) == 0 || throw_confine("landlock", error);
}

bool
gbe_confine(int root_fd, const char *const *directories, GError **error)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return throw_confine("no new privileges", error);
	if (!forbid_elsewhere(root_fd, directories, error))
		return false;
	if (syscall(SYS_capget, &header, caps) < 0)
		return throw_confine("capget", error);
	for (guint i = 0; i < G_N_ELEMENTS(caps); i++) {
		caps[i].permitted &= i == 0 ? KEPT_CAPABILITIES : 0;
		caps[i].effective &= caps[i].permitted;
		caps[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, caps) == 0 || throw_confine("capset", error);
}

/* ---- etcd --version ---- */

/* The child's descriptor of the program. A script's interpreter opens this path again. The parent's descriptors are hidden
 * from the child after the parent has read a key (PR_SET_DUMPABLE). */
#define PROGRAM_FD 3
#define PROGRAM_PATH "/proc/self/fd/3"
#define RUN_DIR "/run/greenboot-etcd"
#define KEPT "etcd-version"
#define KEPT_MAX 4096

static bool
start_version(int fd, const char *binary, int *ret_out, pid_t *ret_pid)
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

static char *
ask_program(int fd, const char *binary, guint timeout_ms)
{
	static const char label[] = "etcd Version: ";
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;
	gbe_autofd int out = -1;
	char buffer[1024];
	gsize used = 0;
	const char *at;
	pid_t pid;

	if (!start_version(fd, binary, &out, &pid))
		return NULL;
	/* Reads until the end of the output, a full buffer, or the deadline. */
	while (used + 1 < sizeof buffer) {
		gint64 left = (deadline - g_get_monotonic_time()) / 1000;
		struct pollfd poll_fd = {.fd = out, .events = POLLIN};
		ssize_t n;

		if (left <= 0 || poll(&poll_fd, 1, (int)left) == 0)
			break;
		n = read(out, buffer + used, sizeof buffer - 1 - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (gsize)n;
	}
	buffer[used] = '\0';
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
identify_program(int fd)
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
	id = identify_program(fd);
	if (id != NULL &&
	    gbe_read_in_root(root_fd, RUN_DIR "/" KEPT, KEPT_MAX, &kept, &size, NULL) &&
	    g_str_has_prefix(kept, id))
		return g_strdup(kept + strlen(id));
	version = ask_program(fd, binary, timeout_ms);
	if (id == NULL || version == NULL)
		return g_steal_pointer(&version);
	line = g_strconcat(id, version, NULL);
	/* If the answer cannot be kept, the next start asks again. */
	if (gbe_make_dirs(root_fd, RUN_DIR, 0755, &run_fd, NULL))
		(void)!gbe_write_file_at(run_fd, KEPT, line, strlen(line), 0644, GBE_WRITE_LATER,
					 NULL);
	return g_steal_pointer(&version);
}
