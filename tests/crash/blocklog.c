/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * blocklog DIRECTORY SIZE: a block device whose writes and flushes are recorded in their order, and
 * that can be put into any state that a power cut may have left (disk.h).
 *
 * A FUSE file system at DIRECTORY with one file, a loop device on it. The loop device hands its writes
 * on one after the other and turns a flush into an fsync of its file, so that the order seen here is
 * the order in which the device was asked. Says "ok /dev/loopN", then answers a line on stdin with a line
 * on stdout, "ok ..." or "error TEXT"; ends with stdin. The device goes with the process.
 *
 *   load IMAGE | save IMAGE       content, from and to a file with holes
 *   record | mark | stop          stop: "ok WRITES FLUSHES"
 *   plan BUDGET SEED              "ok STATES"
 *   state N                       "ok EPOCH KEPT OF before|after KIND"
 *   describe N                    "ok lost|kept|torn:OFFSET+LENGTH..."
 *   reset                         as recorded from, or loaded
 *   savelog FILE | loadlog FILE
 *
 * Nothing may be mounted from it while the content is exchanged.
 */
#define FUSE_USE_VERSION 314

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "disk.h"

#define FILE_NAME "disk"
#define FILE_INODE 2
#define LARGEST_WRITE (1024 * 1024)
#define LOOP_TRIES 50

static Disk *disk;
static GMutex lock; /* of the disk */

/* ---- the file system ---- */

static void
fill_stat(fuse_ino_t inode, struct stat *st)
{
	*st = (struct stat){.st_ino = inode, .st_nlink = 1};
	st->st_mode = inode == FILE_INODE ? S_IFREG | 0600 : S_IFDIR | 0700;
	st->st_size = inode == FILE_INODE ? (off_t)disk_size(disk) : 0;
	st->st_blksize = DISK_BLOCK;
}

static void
on_init(void *data, struct fuse_conn_info *connection)
{
	connection->max_write = LARGEST_WRITE;
}

static void
on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = {.ino = FILE_INODE};

	if (!g_str_equal(name, FILE_NAME)) {
		(void)fuse_reply_err(request, ENOENT);
		return;
	}
	fill_stat(FILE_INODE, &entry.attr);
	(void)fuse_reply_entry(request, &entry);
}

static void
on_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
	struct stat st;

	fill_stat(inode, &st);
	(void)fuse_reply_attr(request, &st, 1.0);
}

/* Past the page cache: each write and each flush comes here, in the order of the loop device. */
static void
on_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
	info->direct_io = 1;
	(void)fuse_reply_open(request, info);
}

static void
on_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
	struct fuse_file_info *info)
{
	gsize length = MIN(size, disk_size(disk) - MIN((gsize)offset, disk_size(disk)));
	g_autofree char *buffer = g_malloc(length);

	g_mutex_lock(&lock);
	disk_read(disk, buffer, (gsize)offset, length);
	g_mutex_unlock(&lock);
	(void)fuse_reply_buf(request, buffer, length);
}

static gboolean
inside(off_t offset, gsize length)
{
	return (gsize)offset <= disk_size(disk) && length <= disk_size(disk) - (gsize)offset;
}

static void
on_write(fuse_req_t request, fuse_ino_t inode, const char *bytes, size_t size, off_t offset,
	 struct fuse_file_info *info)
{
	if (!inside(offset, size)) {
		(void)fuse_reply_err(request, EFBIG);
		return;
	}
	g_mutex_lock(&lock);
	disk_write(disk, bytes, (gsize)offset, size);
	g_mutex_unlock(&lock);
	(void)fuse_reply_write(request, size);
}

static void
on_fsync(fuse_req_t request, fuse_ino_t inode, int data_only, struct fuse_file_info *info)
{
	g_mutex_lock(&lock);
	disk_flush(disk);
	g_mutex_unlock(&lock);
	(void)fuse_reply_err(request, 0);
}

/* Discards and zeroes. */
static void
on_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length,
	     struct fuse_file_info *info)
{
	if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) == 0 ||
	    !inside(offset, (gsize)length)) {
		(void)fuse_reply_err(request, EOPNOTSUPP);
		return;
	}
	g_mutex_lock(&lock);
	disk_zero(disk, (gsize)offset, (gsize)length);
	g_mutex_unlock(&lock);
	(void)fuse_reply_err(request, 0);
}

static const struct fuse_lowlevel_ops operations = {
    .init = on_init,
    .lookup = on_lookup,
    .getattr = on_getattr,
    .open = on_open,
    .read = on_read,
    .write = on_write,
    .fsync = on_fsync,
    .fallocate = on_fallocate,
};

static gpointer
serve(gpointer session)
{
	(void)fuse_session_loop(session);
	return NULL;
}

/* ---- the device ---- */

/* Others on this machine take loop devices, too: the one that was free may be taken by now. */
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

/* What the kernel still has of the device must not come back over what it is now. */
static bool
quiet(int device, GError **error)
{
	return ioctl(device, BLKFLSBUF, 0) == 0 ||
	       gbe_throw_errno(error, errno, "drop the device's cache");
}

static bool
change(char **words, char **ret_answer, GError **error)
{
	guint count = g_strv_length(words);

	if (count == 2 && g_str_equal(*words, "load"))
		return disk_load(disk, words[1], error);
	if (count == 2 && g_str_equal(*words, "loadlog"))
		return disk_load_log(disk, words[1], error);
	if (count == 3 && g_str_equal(*words, "plan")) {
		*ret_answer =
		    g_strdup_printf("%u", disk_plan(disk, (guint)strtoul(words[1], NULL, 10),
						    strtoull(words[2], NULL, 10)));
		return true;
	}
	if (count == 2 && g_str_equal(*words, "state")) {
		DiskState state;

		if (!disk_state(disk, (guint)strtoul(words[1], NULL, 10), &state))
			return gbe_throw(error, GBE_ERROR_NOT_FOUND, "no state %s", words[1]);
		*ret_answer = g_strdup_printf("%u %u %u %s %s", state.epoch, state.kept, state.of,
					      state.after ? "after" : "before", state.kind);
		return true;
	}
	if (count == 1 && g_str_equal(*words, "reset")) {
		disk_reset(disk);
		return true;
	}
	return gbe_throw(error, GBE_ERROR_USAGE, "unknown: %s", *words);
}

/* What may be done while it is in use. True and no answer: not one of those. */
static bool
look(char **words, gboolean *ret_done, char **ret_answer, GError **error)
{
	guint count = g_strv_length(words);
	guint writes, flushes;

	*ret_done = TRUE;
	if (count == 1 && g_str_equal(*words, "record")) {
		disk_record(disk);
	} else if (count == 1 && g_str_equal(*words, "mark")) {
		disk_mark(disk);
	} else if (count == 1 && g_str_equal(*words, "stop")) {
		disk_stop(disk, &writes, &flushes);
		*ret_answer = g_strdup_printf("%u %u", writes, flushes);
	} else if (count == 2 && g_str_equal(*words, "describe")) {
		*ret_answer = disk_describe(disk, (guint)strtoul(words[1], NULL, 10));
	} else if (count == 2 && g_str_equal(*words, "save")) {
		return disk_save(disk, words[1], error);
	} else if (count == 2 && g_str_equal(*words, "savelog")) {
		return disk_save_log(disk, words[1], error);
	} else {
		*ret_done = FALSE;
	}
	return true;
}

static bool
command(int device, const char *line, char **ret_answer, GError **error)
{
	g_auto(GStrv) words = g_strsplit(line, " ", 3);
	gboolean done;
	bool ok;

	if (*words == NULL)
		return true;
	g_mutex_lock(&lock);
	ok = look(words, &done, ret_answer, error);
	g_mutex_unlock(&lock);
	if (done || !ok)
		return ok;
	/* Not under the lock: the kernel writes. */
	if (!quiet(device, error))
		return false;
	g_mutex_lock(&lock);
	ok = change(words, ret_answer, error);
	g_mutex_unlock(&lock);
	return ok && quiet(device, error);
}

static void
obey(int device)
{
	g_autofree char *line = NULL;
	size_t room = 0;
	ssize_t got;

	while ((got = getline(&line, &room, stdin)) > 0) {
		g_autofree char *answer = NULL;
		g_autoptr(GError) error = NULL;

		if (line[got - 1] == '\n')
			line[got - 1] = '\0';
		if (command(device, line, &answer, &error))
			printf("ok %s\n", answer != NULL ? answer : "");
		else
			printf("error %s\n", error->message);
		(void)fflush(stdout);
	}
}

int
main(int argc, char **argv)
{
	char *fuse_argv[] = {argv[0], (char *)"-ofsname=blocklog", NULL};
	struct fuse_args args = FUSE_ARGS_INIT(2, fuse_argv);
	g_autofree char *path = NULL;
	g_autofree char *device = NULL;
	struct fuse_session *session;
	GThread *thread;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: %s DIRECTORY SIZE\n", argv[0]);
		return 2;
	}
	disk = disk_new(strtoull(argv[2], NULL, 10));
	session = fuse_session_new(&args, &operations, sizeof operations, NULL);
	if (session == NULL || fuse_session_mount(session, argv[1]) != 0)
		return 1;
	thread = g_thread_new("fuse", serve, session);
	path = g_build_filename(argv[1], FILE_NAME, NULL);
	fd = loop_attach(path, &device);
	if (fd < 0) {
		perror("loop device");
		fuse_session_unmount(session);
		return 1;
	}
	printf("ok %s\n", device);
	(void)fflush(stdout);
	obey(fd);
	/* The last user of the device; it lets the file go, which ends the session. */
	gbe_close_fd(&fd);
	fuse_session_exit(session);
	fuse_session_unmount(session);
	g_thread_join(thread);
	fuse_session_destroy(session);
	return 0;
}
