/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One forked worker, its pipe and its limits. Internal to supervise*.c. The parent only waits, reads and kills:
 * everything that could hang is in the worker.
 */
#pragma once

#include "app/boot/supervise.h"

/* The exit status of a worker that ended before its work began. */
#define GBE_EXIT_NO_APP 125

typedef struct {
	const char *program;
	const char *root;
	GbeWork work;
	gpointer data;
	guint idle_seconds;  /* 0: none */
	guint total_seconds; /* 0: none */
	bool notify;	     /* tell systemd that the program makes progress */
} GbeJob;

typedef struct {
	bool ended; /* false: it had to be killed */
	int status; /* as of waitpid() */
	char *what; /* what happened, for people: "was killed by signal 6 (Aborted)" */
} GbeJobEnd;

/* Returns when the worker has ended, or was left behind. @outcome: zeroed by the caller, who frees ->what. */
void gbe_job_run(const GbeJob *job, GbeJobEnd *outcome);
