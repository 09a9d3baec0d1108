/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs a program, such as etcd or its tools, that never outlives us: the kernel kills it when we are gone. The program
 * has a process group of its own, a clean environment, and none of our files open. Its output goes into a file; the end
 * of that is kept for an error.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <sys/types.h>

typedef struct {
	pid_t pid; /* 0: no child, or it has ended */
	int out_fd;
	char *name; /* for messages */
} GbeChild;

typedef struct {
	uid_t uid;
	gid_t gid;
} GbeChildUser;
/* @program_fd is the open executable; @cwd_fd its working directory; argv[0] names it. Call this from the main
 * thread, which has to outlive the child. With @user, which only root can set: as that user, in that group and in no
 * other, so that its files belong to that user. */
bool gbe_child_start_as(const GbeChildUser *user, int program_fd, const char *const *argv,
			int cwd_fd, GbeChild *ret_child, GError **error) GBE_CHECKED;
/* A filter: it reads @in_fd, writes @out_fd, and has @file_fd as /proc/self/fd/4. Its stderr is kept like the
 * output of other children. The fds are borrowed. */
typedef struct {
	int in_fd, out_fd, file_fd;
} GbeChildStreams;
bool gbe_child_start_filter(int program_fd, const char *const *argv, const GbeChildStreams *streams,
			    GbeChild *ret_child, GError **error) GBE_CHECKED;
/* Does the child still run? False without error: it ended with status 0. GBE_ERROR_FAILED: it failed; the message
 * has its last line. */
bool gbe_child_poll(GbeChild *child, bool *ret_running, GError **error) GBE_CHECKED;
/* Waits until the child has ended. GBE_ERROR_FAILED after @seconds; the caller then ends the child. */
bool gbe_child_wait(GbeChild *child, guint64 seconds, GError **error) GBE_CHECKED;
/* The end of the last line of its output, or the beginning of the line in which a program in Go says why it panics. "":
 * the output is empty. Newly allocated. */
char *gbe_child_last_line(const GbeChild *child);
/* Sends SIGTERM, waits for at most @timeout_ms, then kills the child with its whole group. */
void gbe_child_end(GbeChild *child, guint timeout_ms);
/* Kills a child that still runs. */
void gbe_child_clear(GbeChild *child);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeChild, gbe_child_clear)

/*
 * A sandbox for a program that greenboot starts, so that no sandbox of systemd applies to it. The program cannot start
 * another program, and writes only below some directories (landlock(7)). As root it keeps only the capabilities for
 * access to another user's files.
 */
/* Confines the calling thread and the threads that it makes later, until they end. @directories, NULL-terminated,
 * lie below @root_fd; for a missing directory its nearest existing parent counts. A kernel without Landlock only
 * drops the capabilities. */
bool gbe_confine(int root_fd, const char *const *directories, GError **error) GBE_CHECKED;

/* `etcd --version`. */

/* Long enough for a busy machine's first look at the program; a program that takes longer has no version. */
#define GBE_ETCD_VERSION_MS 5000

/* @binary: an absolute path below @root_fd. "3.5.16", newly allocated. NULL: not installed, no answer within @timeout_ms,
 * or no version in it. */
char *gbe_etcd_version_of_binary(int root_fd, const char *binary, guint timeout_ms);
/* The same, asked once in a boot: /run/greenboot-etcd/etcd-version keeps the answer with the program's device, inode,
 * size and time of change. A script is asked each time, since it may start another program. A power cut removes the
 * file. */
char *gbe_etcd_version_in_boot(int root_fd, const char *binary, guint timeout_ms);
