/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One forked worker, its pipe and its limits. Internal to supervise*.c.
 *
 * The parent waits, reads and kills, and does nothing else: whatever could hang is the worker's.
 */
#pragma once

#include "app/supervise.h"

/* What a worker ends with that did not get as far as its work. */
#define GBE_EXIT_NO_APP 125

typedef struct {
	const char *program;
	const char *root;
	GbeWork work;
	gpointer data;
	guint idle_seconds;  /* 0: none */
	guint total_seconds; /* 0: none */
	bool notify;	     /* tell systemd that it goes on */
} GbeJob;

typedef struct {
	bool ended; /* false: it had to be killed */
	int status; /* as of waitpid() */
	char *what; /* happened, for people: "was killed by signal 6 (Aborted)" */
} GbeJobEnd;

/* Returns when the worker is gone, or left behind. @outcome: zeroes; ->what to be freed. */
void gbe_job_run(const GbeJob *job, GbeJobEnd *outcome);
