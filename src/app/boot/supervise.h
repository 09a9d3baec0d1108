/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parent forks a worker, watches its progress over a pipe, and opens no file that could hang the parent. A crash, a
 * hung disk or a deadline of the worker cannot hang a boot. A worker that SIGKILL does not end (it waits for a disk) is
 * given up after 5 s.
 */
#pragma once

#include "app/device/context.h"

typedef int (*GbeWork)(GbeApp *app, gpointer data);

/* For prerun. Returns its exit status: 0 or 5. A worker that crashes, makes no progress for @idle_seconds or exits with
 * another status is mapped. 0: the booted deployment is the recorded owner's and no intent is open. Else 5. A second,
 * short-lived child finds that out (gbe_supervise_ask()). */
int gbe_supervise_prerun(const char *root, GbeWork work, gpointer data, guint idle_seconds);
/* For the other hooks: returns the worker's exit status, or @on_failure if the worker does not finish. @seconds
 * limits the whole run, unless the worker asks for another limit with gbe_supervise_extend(). */
int gbe_supervise_bounded(const char *program, const char *root, GbeWork work, gpointer data,
			  guint seconds, int on_failure);
/* For finalize: @idle_seconds without progress, as in prerun, and a limit for the whole run. Returns 1 if the
 * worker does not finish; the next boot then learns of that. */
int gbe_supervise_finalize(const char *root, GbeWork work, gpointer data, guint idle_seconds,
			   guint total_seconds);
/* In the worker of gbe_supervise_bounded(): sets the limit to @seconds from now. Does nothing elsewhere. */
void gbe_supervise_extend(GbeApp *app, guint seconds);

/* Returns 0 or 5 for a failed worker, and writes to the journal what @happened and what follows. An unknown answer is
 * 5. @data: what happened, const char *. */
int gbe_supervise_ask(GbeApp *app, gpointer data);
/* Runs after gbe_supervise_ask(), with @data when that answered: writes the last operation, status.json and the MOTD.
 * These need everything that the question avoids, for example a writable disk. Always 0. */
int gbe_supervise_show(GbeApp *app, gpointer data);

/* A program in hooks/: its main reads --root=DIR, --config=FILE, -v and --help, and runs the work in a worker. */
typedef struct {
	const char *program, *summary; /* "green"; the text of --help */
	int on_usage;		       /* the exit status for wrong options */
	int (*work)(GbeApp *app);      /* in the worker; returns the exit status */
	guint seconds;		       /* as in gbe_supervise_bounded() */
	int on_failure;
	guint idle_seconds;	     /* not 0: as gbe_supervise_finalize() */
	const GOptionEntry *options; /* more options; NULL */
	/* Takes the place of ->work; NULL. @root, @config: may be NULL. */
	int (*run)(const char *root, const char *config);
} GbeHook;

/* Runs ->work. Returns the exit status. */
int gbe_hook_run(const GbeHook *hook, const char *root, const char *config);
int gbe_hook_main(const GbeHook *hook, int argc, char **argv);
#define GBE_HOOK(...)                                                                              \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		static const GbeHook hook = {__VA_ARGS__};                                         \
                                                                                                   \
		return gbe_hook_main(&hook, argc, argv);                                           \
	}
