/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An update's etcd that attacks the system next to which it is rehearsed. It tries each attack on every other process.
 * Its last line has the names of those that succeeded, which the reason of a rehearsal shows. Signal 0 and empty reads
 * ask the kernel for the same permission as a real attack. VERSION is that of the etcd it stands for.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define PIDS 20000
#define DATABASE "var/lib/etcd/default/member/snap/db"

static char got[4096];

static void
note(bool succeeded, const char *attack, int pid)
{
	char text[256];

	(void)snprintf(text, sizeof text, " %s(%d)", attack, pid);
	if (succeeded && strlen(got) + strlen(text) < sizeof got)
		(void)strcat(got, text);
}

static bool
opens(int pid, const char *below, int flags)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", pid, below);
	fd = open(path, flags, 0600);
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

static void
signals(int pid)
{
	siginfo_t info = {.si_code = SI_QUEUE};
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	note(kill(pid, 0) == 0, "kill", pid);
	note(syscall(SYS_tkill, pid, 0) == 0, "tkill", pid);
	note(syscall(SYS_tgkill, pid, pid, 0) == 0, "tgkill", pid);
	note(syscall(SYS_rt_sigqueueinfo, pid, 0, &info) == 0, "sigqueue", pid);
	note(syscall(SYS_rt_tgsigqueueinfo, pid, pid, 0, &info) == 0, "tgsigqueue", pid);
	if (pidfd < 0)
		return;
	note(syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0, "pidfd-signal", pid);
	note(syscall(SYS_pidfd_getfd, pidfd, 2, 0) >= 0, "pidfd-getfd", pid);
	(void)close(pidfd);
}

/* EFAULT and ESRCH of these come after the check of permission, which has passed, or before any process was found. */
static void
memory(int pid)
{
	char byte = 0;
	struct iovec local = {&byte, 1}, remote = {NULL, 1};

	note(process_vm_readv(pid, &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT, "read-memory",
	     pid);
	note(process_vm_writev(pid, &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT,
	     "write-memory", pid);
	note(opens(pid, "mem", O_RDWR), "proc-mem", pid);
	note(opens(pid, "maps", O_RDONLY), "proc-maps", pid);
	note(opens(pid, "environ", O_RDONLY), "proc-environ", pid);
	note(syscall(SYS_kcmp, pid, pid, KCMP_FILES, 0, 0) == 0, "kcmp", pid);
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0)
		return;
	note(true, "ptrace", pid);
	(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static void
files(int pid)
{
	note(opens(pid, "root", O_RDONLY | O_DIRECTORY), "root", pid);
	note(opens(pid, "cwd", O_RDONLY | O_DIRECTORY), "cwd", pid);
	note(opens(pid, "root/" DATABASE, O_RDONLY), "read-database", pid);
	note(opens(pid, "root/" DATABASE, O_RDWR), "open-database", pid);
	note(opens(pid, "root/var/lib/etcd/hostile", O_RDWR | O_CREAT), "write-data", pid);
	for (int fd = 3; fd < 32; fd++) {
		char path[32];

		(void)snprintf(path, sizeof path, "fd/%d", fd);
		note(opens(pid, path, O_RDONLY), path, pid);
	}
}

static void
settings(int pid)
{
	struct rlimit limit;
	cpu_set_t set;

	note(prlimit(pid, RLIMIT_NOFILE, NULL, &limit) == 0, "prlimit", pid);
	errno = 0;
	note(sched_getaffinity(pid, sizeof set, &set) == 0 &&
		 sched_setaffinity(pid, sizeof set, &set) == 0,
	     "affinity", pid);
}

static void
sockets(void)
{
	static const char *const paths[] = {
	    "/run/systemd/journal/socket", "/run/systemd/journal/stdout", "/run/systemd/private",
	    "/run/systemd/notify",	   "/run/dbus/system_bus_socket", "/dev/log"};

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct sockaddr_un to = {.sun_family = AF_UNIX};

		(void)strcpy(to.sun_path, paths[i]);
		for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
			int fd = socket(AF_UNIX, type, 0);

			note(connect(fd, (struct sockaddr *)&to, sizeof to) == 0, paths[i], type);
			(void)close(fd);
		}
	}
}

/* The own process in /proc, which may count in another namespace of process ids. */
static int
shown_pid(void)
{
	char text[32] = {0};

	return readlink("/proc/self", text, sizeof text - 1) > 0 ? atoi(text) : 0;
}

int
main(int argc, char **argv)
{
	int shown = shown_pid();

	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return puts("etcd Version: " VERSION) < 0;
	for (int pid = 1; pid < PIDS; pid++) {
		if (pid == getpid() || pid == shown)
			continue;
		signals(pid);
		memory(pid);
		files(pid);
		settings(pid);
	}
	note(open("hostile", O_RDWR | O_CREAT, 0600) < 0, "no-place", 0);
	sockets();
	(void)printf("uid %d, pid %s, got:%.300s\n", (int)getuid(),
		     getpid() == 1 ? "1" : "of the system", got);
	return 1;
}
