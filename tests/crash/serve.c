/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define FUSE_USE_VERSION 314

#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/falloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "disk.h"

#define FILE_INODE 2
#define LARGEST_WRITE (1024 * 1024)

static Disk *disk;
static GMutex lock; /* of the disk, and of what follows */
static bool failing;
static gulong writes_left; /* when it is: until nothing is taken any more */

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

	if (!g_str_equal(name, SERVE_FILE)) {
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

static bool
inside(off_t offset, gsize length)
{
	return (gsize)offset <= disk_size(disk) && length <= disk_size(disk) - (gsize)offset;
}

static bool
takes_one_more(void)
{
	if (!failing)
		return true;
	return writes_left > 0 && writes_left-- > 0;
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
	if (takes_one_more()) {
		disk_write(disk, bytes, (gsize)offset, size);
		(void)fuse_reply_write(request, size);
	} else {
		(void)fuse_reply_err(request, EIO);
	}
	g_mutex_unlock(&lock);
}

static void
on_fsync(fuse_req_t request, fuse_ino_t inode, int data_only, struct fuse_file_info *info)
{
	g_mutex_lock(&lock);
	disk_flush(disk);
	(void)fuse_reply_err(request, failing && writes_left == 0 ? EIO : 0);
	g_mutex_unlock(&lock);
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

/* ---- the commands ---- */

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

static bool
look(char **words, bool *ret_done, char **ret_answer, GError **error)
{
	guint count = g_strv_length(words);
	guint writes, flushes;

	*ret_done = true;
	if (count == 1 && g_str_equal(*words, "record")) {
		disk_record(disk);
	} else if (count == 1 && g_str_equal(*words, "mark")) {
		disk_mark(disk);
	} else if (count == 2 && g_str_equal(*words, "fail")) {
		failing = !g_str_equal(words[1], "off");
		writes_left = strtoul(words[1], NULL, 10);
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
		*ret_done = false;
	}
	return true;
}

static bool
command(const char *line, char **ret_answer, GError **error)
{
	g_auto(GStrv) words = g_strsplit(line, " ", 3);
	bool done;
	bool ok;

	if (*words == NULL)
		return true;
	g_mutex_lock(&lock);
	ok = look(words, &done, ret_answer, error) && (done || change(words, ret_answer, error));
	g_mutex_unlock(&lock);
	return ok;
}

static void
obey(FILE *from, FILE *to)
{
	g_autofree char *line = NULL;
	size_t room = 0;
	ssize_t got;

	while ((got = getline(&line, &room, from)) > 0) {
		g_autofree char *answer = NULL;
		g_autoptr(GError) error = NULL;

		if (line[got - 1] == '\n')
			line[got - 1] = '\0';
		if (command(line, &answer, &error))
			fprintf(to, "ok %s\n", answer != NULL ? answer : "");
		else
			fprintf(to, "error %s\n", error->message);
		(void)fflush(to);
	}
}

/* Freeing memory must not require a write through this process. The last process of a mount namespace unmounts what is
 * left there before its descriptors are closed. This process would then wait for itself, so it unshares the namespace
 * and unmounts the disk in it. */
static bool
stand_apart(const char *directory)
{
	(void)prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
	(void)mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
	return chdir("/") == 0 && unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       umount2(directory, MNT_DETACH) == 0;
}

int
serve_disk(const char *directory, gsize size, int command_fd)
{
	char *argv[] = {(char *)"blocklog", (char *)"-ofsname=blocklog", NULL};
	struct fuse_args args = FUSE_ARGS_INIT(2, argv);
	struct fuse_session *session =
	    fuse_session_new(&args, &operations, sizeof operations, NULL);
	FILE *from = fdopen(command_fd, "re");
	FILE *to = fdopen(dup(command_fd), "we");

	fuse_opt_free_args(&args);
	disk = disk_new(size);
	if (from == NULL || to == NULL || session == NULL ||
	    fuse_session_mount(session, directory) != 0 || !stand_apart(directory))
		return 1;
	(void)g_thread_new("fuse", serve, session);
	fprintf(to, "ok\n");
	(void)fflush(to);
	obey(from, to);
	/* No goodbye: with the descriptor of the session, the connection goes. */
	return 0;
}
