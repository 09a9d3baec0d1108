/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * blocklog DIRECTORY SIZE: a block device that records its writes and flushes in their order. The device can be put
 * into any state that a power cut may leave (disk.h).
 *
 * A FUSE file system at DIRECTORY with one file, a loop device on it. The loop device passes its writes to the file one
 * after the other, and a flush as an fsync. The order seen here is therefore the order in which the device was asked.
 * Says "ok /dev/loopN", then answers a line on stdin with a line on stdout, "ok ..." or "error TEXT"; ends with stdin.
 * The device goes with the process.
 *
 *   load IMAGE | save IMAGE       content, from and to a file with holes
 *   record | mark | stop          stop: "ok WRITES FLUSHES"
 *   plan BUDGET SEED              "ok STATES"
 *   state N                       "ok EPOCH KEPT OF before|after KIND"
 *   describe N                    "ok lost|kept|torn:OFFSET+LENGTH..."
 *   reset                         as recorded from, or loaded
 *   savelog FILE | loadlog FILE
 *   fail WRITES | fail off        takes so many writes, then none; or all again
 *
 * No file system may be mounted from it while the content is exchanged.
 *
 * Two processes: the disk (serve.h), and this one, which has the loop device and waits for it. A command that
 * takes longer than a minute ends the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "serve.h"

#define LOOP_TRIES 50
#define PATIENCE_SECONDS 60

static pid_t server;
static gint busy_since; /* seconds of the monotonic clock; 0: no thread waits */

/* A process that waits for a silent disk cannot be woken otherwise. */
static gpointer
watch(gpointer unused)
{
	for (;;) {
		gint since = g_atomic_int_get(&busy_since);

		g_usleep(G_USEC_PER_SEC);
		if (since != 0 &&
		    g_get_monotonic_time() / G_USEC_PER_SEC - since > PATIENCE_SECONDS) {
			fprintf(stderr, "blocklog: the disk does not answer\n");
			(void)kill(server, SIGKILL);
			return NULL;
		}
	}
}

static void
set_busy(bool busy)
{
	g_atomic_int_set(&busy_since, busy ? (gint)(g_get_monotonic_time() / G_USEC_PER_SEC) : 0);
}

/* ---- the device ---- */

/* Other processes on this machine also take loop devices: the free one may be taken by now. */
static int
loop_attach(const char *path, char **ret_device)
{
	struct loop_config config = {.info.lo_flags = LO_FLAGS_AUTOCLEAR};
	gbe_autofd int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	gbe_autofd int file = open(path, O_RDWR | O_CLOEXEC);

	if (file < 0)
		return -1;
	config.fd = (guint32)file;
	for (guint try = 0; control >= 0 && try < LOOP_TRIES; try++) {
		g_autofree char *device =
		    g_strdup_printf("/dev/loop%d", ioctl(control, LOOP_CTL_GET_FREE));
		int fd = open(device, O_RDWR | O_CLOEXEC);

		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
			*ret_device = g_steal_pointer(&device);
			return fd;
		}
		gbe_close_fd(&fd);
		g_usleep(20000);
	}
	return -1;
}

/* ---- the commands ---- */

/* Before and after a command that exchanges the content, the kernel's cache of the device is dropped. All other
 * commands may come while the disk is in use. */
static bool
exchanges_content(const char *line)
{
	return g_str_has_prefix(line, "load") || g_str_has_prefix(line, "plan ") ||
	       g_str_has_prefix(line, "state ") || g_str_has_prefix(line, "reset");
}

static bool
ask(int device, FILE *to, FILE *from, const char *line, char **answer, size_t *room)
{
	bool quiet = exchanges_content(line);

	return (!quiet || ioctl(device, BLKFLSBUF, 0) == 0) && fputs(line, to) >= 0 &&
	       fflush(to) == 0 && getline(answer, room, from) > 0 &&
	       (!quiet || ioctl(device, BLKFLSBUF, 0) == 0);
}

static void
relay(int device, FILE *to, FILE *from)
{
	g_autofree char *line = NULL;
	g_autofree char *answer = NULL;
	size_t room = 0, answer_room = 0;

	while (getline(&line, &room, stdin) > 0) {
		bool ok;

		set_busy(true);
		ok = ask(device, to, from, line, &answer, &answer_room);
		set_busy(false);
		printf("%s", ok ? answer : "error the disk is gone\n");
		(void)fflush(stdout);
		if (!ok)
			return;
	}
}

/* The disk's process must not inherit open files: it might wait for itself. */
static int
become_disk(const char *directory, gsize size, int command_fd)
{
	(void)dup2(command_fd, STDIN_FILENO);
	(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	return serve_disk(directory, size, STDIN_FILENO);
}

int
main(int argc, char **argv)
{
	g_autofree char *path = NULL;
	g_autofree char *device = NULL;
	char hello[4] = "";
	FILE *to, *from;
	int sockets[2];
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: %s DIRECTORY SIZE\n", argv[0]);
		return 2;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		return 1;
	server = fork();
	if (server == 0)
		_exit(become_disk(argv[1], strtoull(argv[2], NULL, 10), sockets[1]));
	(void)close(sockets[1]);
	(void)g_thread_new("watch", watch, NULL);
	set_busy(true);
	path = g_build_filename(argv[1], SERVE_FILE, NULL);
	if (server < 0 || read(sockets[0], hello, sizeof hello) <= 0 ||
	    (fd = loop_attach(path, &device)) < 0) {
		fprintf(stderr, "blocklog: no loop device on FUSE: %s\n", g_strerror(errno));
		return 1;
	}
	set_busy(false);
	printf("ok %s\n", device);
	(void)fflush(stdout);
	to = fdopen(sockets[0], "we");
	from = fdopen(dup(sockets[0]), "re");
	relay(fd, to, from);
	/* End the disk first: no process waits for it then, even if something is still mounted. */
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	gbe_close_fd(&fd);
	return umount2(argv[1], MNT_DETACH) == 0 ? 0 : 1;
}
