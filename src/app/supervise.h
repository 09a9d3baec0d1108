/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who works is watched by who doesn't. The parent forks the worker and reads its progress from a pipe;
 * it opens no file that could hang it. A worker that crashes, makes no progress for @idle_seconds or
 * exits with anything but 0 and 5 is mapped: to 0 when the booted deployment is the recorded owner's
 * and no intent is open, else to 5. That question is asked by a second, short-lived child.
 *
 * A worker that a SIGKILL does not end (it waits for a disk) is left behind after 5 s.
 */
#pragma once

#include "app/context.h"

typedef int (*GbeWork)(GbeApp *app, gpointer data);

/* For prerun. Returns its exit status: 0 or 5. */
int gbe_supervise_prerun(const char *root, GbeWork work, gpointer data, guint idle_seconds);
/* For the other hooks: whatever happens to the worker, @on_failure is returned in the end; @seconds is
 * the limit for everything, unless the worker asks for another with gbe_supervise_extend(). What a worker
 * returns that comes to its end is returned. */
int gbe_supervise_bounded(const char *program, const char *root, GbeWork work, gpointer data,
			  guint seconds, int on_failure);
/* For finalize: a limit for what makes no progress, as prerun has it, and one for all of it. 1 where the
 * worker does not come to its end; the next boot is told then. */
int gbe_supervise_finalize(const char *root, GbeWork work, gpointer data, guint idle_seconds,
			   guint total_seconds);
/* In the worker of gbe_supervise_bounded(): @seconds from now instead. Elsewhere nothing. */
void gbe_supervise_extend(GbeApp *app, guint seconds);

/* The question (src/app/supervise-ask.c): 0 or 5, and says in the journal what @happened and what follows.
 * What cannot be told is 5. @data: "what happened", const char *. */
int gbe_supervise_ask(GbeApp *app, gpointer data);
/* After it, with @data where it was answered: the last operation, status.json and the MOTD, which need all
 * that the question does without, a disk that can be written among it. Always 0. */
int gbe_supervise_show(GbeApp *app, gpointer data);
