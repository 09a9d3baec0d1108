/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/process.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <systemd/sd-login.h>

#include "fs/open.h"

/* Unused in systemd's list of uids (UIDS-GIDS.md), and mapped in a container that has 65536 of them. */
#define UNUSED_FIRST 65520
#define UNUSED_LAST 65533

char *
gbe_process_unit(pid_t pid)
{
	char *unit = NULL;
	char *copy;

	if (pid == 0 || sd_pid_get_unit(pid, &unit) < 0)
		return NULL;
	copy = g_strdup(unit);
	free(unit);
	return copy;
}

char *
gbe_process_describe(pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/comm", (int)pid);
	g_autofree char *comm = NULL;
	g_autofree char *name = NULL;
	g_autofree char *unit = NULL;

	if (pid == 0)
		return g_strdup("a process that cannot be seen from here");
	if (!g_file_get_contents(path, &comm, NULL, NULL))
		comm = g_strdup("a process");
	/* A process chooses its own name, which may have any bytes. */
	name = gbe_path_to_text(g_strchomp(comm));
	unit = gbe_process_unit(pid);
	return g_strdup_printf("%s (pid %d%s%s)", name, (int)pid, unit != NULL ? ", " : "",
			       unit != NULL ? unit : "");
}

/* proc(5): /proc/PID/task/TID/children has the process ids, each followed by a blank. */
static guint64
children_waited(const char *tasks, const char *thread)
{
	g_autofree char *path = g_build_filename(tasks, thread, "children", NULL);
	g_autofree char *text = NULL;
	g_auto(GStrv) pids = NULL;
	guint64 sum = 0;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return 0;
	pids = g_strsplit(g_strchomp(text), " ", -1);
	for (guint i = 0; pids[i] != NULL; i++)
		sum += gbe_process_waited((pid_t)g_ascii_strtoull(pids[i], NULL, 10));
	return sum;
}

/* proc(5): /proc/PID/schedstat has the time on a processor, that in the queue for one, and the number of turns. */
guint64
gbe_process_waited(pid_t pid)
{
	g_autofree char *tasks = g_strdup_printf("/proc/%d/task", (int)pid);
	g_autoptr(GDir) dir = g_dir_open(tasks, 0, NULL);
	const char *name;
	guint64 sum = 0;

	while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
		g_autofree char *path = g_build_filename(tasks, name, "schedstat", NULL);
		g_autofree char *text = NULL;
		unsigned long long waited;

		if (g_file_get_contents(path, &text, NULL, NULL) &&
		    sscanf(text, "%*u %llu", &waited) == 1)
			sum += waited / 1000;
		sum += children_waited(tasks, name);
	}
	return sum;
}

/* proc(5): "Uid:" has the real, effective, saved and file system uid. A process that has ended has none. */
static bool
has_uid(const char *pid, uid_t uid)
{
	g_autofree char *path = g_build_filename("/proc", pid, "status", NULL);
	g_autofree char *text = NULL;
	const char *line = NULL;
	unsigned int uids[4];

	if (g_file_get_contents(path, &text, NULL, NULL))
		line = strstr(text, "\nUid:");
	if (line == NULL ||
	    sscanf(line, "\nUid: %u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) != 4)
		return false;
	return uids[0] == uid || uids[1] == uid || uids[2] == uid || uids[3] == uid;
}

static bool
has_process(uid_t uid)
{
	g_autoptr(GDir) dir = g_dir_open("/proc", 0, NULL);
	const char *name;

	while (dir != NULL && (name = g_dir_read_name(dir)) != NULL)
		if (g_ascii_isdigit(*name) && has_uid(name, uid))
			return true;
	return dir == NULL;
}

uid_t
gbe_process_unused_uid(uid_t taken)
{
	for (uid_t uid = UNUSED_FIRST; uid <= UNUSED_LAST; uid++)
		if (uid != taken && getpwuid(uid) == NULL && getgrgid(uid) == NULL &&
		    !has_process(uid))
			return uid;
	return 0;
}

/* "1: FLOCK  ADVISORY  WRITE 812 fd:01:1234 0 EOF"; a waiter's line has "->" after the number. The kernel names the
 * file system's device, but btrfs shows another device to stat(): both have no major number. */
static pid_t
parse_lock(const char *line, const struct stat *st)
{
	unsigned int dev_major, dev_minor;
	unsigned long long inode;
	int pid;

	if (sscanf(line, "%*d: %*[A-Z] %*[A-Z] %*[A-Z] %d %x:%x:%llu", &pid, &dev_major, &dev_minor,
		   &inode) != 4 ||
	    inode != st->st_ino || dev_major != major(st->st_dev) ||
	    (dev_minor != minor(st->st_dev) && dev_major != 0))
		return 0;
	return MAX(pid, 0);
}

pid_t
gbe_process_with_lock(int fd)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	struct stat st;
	pid_t pid = 0;

	if (fstat(fd, &st) < 0 || !g_file_get_contents("/proc/locks", &text, NULL, NULL))
		return 0;
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; pid == 0 && lines[i] != NULL; i++)
		pid = parse_lock(lines[i], &st);
	return pid;
}
