/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one place that starts a program, such as etcd or its tools, on a copy of data. Under systemd it is a transient
 * unit that is walled off from this system (core/units/walled-unit.h). Below --root and without systemd it is a child
 * of this process, with no more than the rights of the data's owner. A power cut leaves only the copy, which the caller
 * has under a name that is swept. A kill of this process leaves the unit until its limit, or until the next one starts.
 */
#pragma once

#include <sys/stat.h>

#include "app/device/context.h"
#include "sys/child.h"
#include "sys/systemd/units.h"

typedef struct {
	const char *tree;    /* a deployment's directory, as an absolute path; NULL: this system */
	int tree_fd;	     /* the same, open; not used for this system */
	const char *program; /* its path in there */
	const char *const *argv; /* argv[0] names it in messages */
	int work_fd;		 /* the working directory, of gbe_walled_user() */
	guint64 seconds;	 /* for the whole run */
	guint64 size;		 /* bytes of the data: limits memory and files */
} GbeWalled;

typedef struct {
	GbeChild child;		 /* its output is in ->child.out_fd in both cases */
	GbeJobs *jobs;		 /* NULL: a child */
	int work_fd;		 /* borrowed */
	guint64 available, size; /* bytes of the file system, and of ->work_fd, at the start */
} GbeWalledRun;

/* The program's user. In a unit: another user than @owner of the data, so that the kernel keeps the program from the
 * processes and files of all others. GBE_ERROR_CANNOT_TELL: no user id is free. As a child: @owner. */
bool gbe_walled_user(const GbeApp *app, const struct stat *owner, GbeChildUser *ret_user,
		     GError **error) GBE_CHECKED;
/* Gives the directory and everything below it to @user. Without root's rights everything keeps its owner. */
bool gbe_walled_give(int dir_fd, const GbeChildUser *user, GError **error) GBE_CHECKED;

/* GBE_ERROR_NOT_FOUND: there is no such program. _REFUSED: it is no regular file. _VERIFY_FAILED: it ended at once, as
 * does a program of another machine. _CANNOT_TELL: systemd is too busy. */
bool gbe_walled_start(GbeApp *app, const GbeWalled *walled, GbeWalledRun *ret_run,
		      GError **error) GBE_CHECKED;

typedef struct {
	guint64 seconds;	      /* GBE_ERROR_VERIFY_FAILED afterwards */
	bool (*ready)(gpointer data); /* NULL: the program has to end alone, with success */
	gpointer ready_data;
	/* As in gbe_snapshot_save(); may be NULL. */
	bool (*progress)(guint64 done, guint64 total, gpointer data);
	gpointer progress_data;
} GbeWalledWait;

/* Waits until ->ready. GBE_ERROR_VERIFY_FAILED: the program ended, hangs, or fills the disk; the message has its last
 * line. _CANNOT_TELL: it needs more memory than it gets, or other programs left it no processor or no disk. _FAILED: it was
 * interrupted, or systemd is gone. */
bool gbe_walled_wait(GbeWalledRun *run, const GbeWalledWait *wait, GError **error) GBE_CHECKED;
/* Has it waited for a processor for more than half of @seconds? It has the lowest priority. */
bool gbe_walled_is_starved(const GbeWalledRun *run, guint64 seconds);
/* Ends the program, with all that it started. */
void gbe_walled_end(GbeWalledRun *run);
void gbe_walled_clear(GbeWalledRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeWalledRun, gbe_walled_clear)
