/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A change of the device as a table of steps. The runner takes and releases the locks, and goes through the steps in
 * order. If a step fails, the runner takes it back, and after it those before it. A fault point follows each step, so
 * that the crash suite finds every step of every operation in the table (GREENBOOT_ETCD_FAULT=steps prints them).
 *
 * A kill or a power cut ends an operation between any two instructions. An operation that must be finished afterwards
 * keeps an intent. A step that has `noted` sets that flag when it is done, and `note` writes the flags. The next call
 * reads them in its first step, and the runner leaves out the steps that are noted.
 */
#pragma once

#include "app/device/context.h"

typedef struct GbeChange GbeChange;

typedef enum {
	GBE_STEP_LOOK = 1,     /* a dry run also takes this step, which then changes nothing */
	GBE_STEP_UNLOCKED = 2, /* without the program's lock, which prerun needs meanwhile */
	/* From this step on, the change has the lock of maintenance (context.h). */
	GBE_STEP_MAINTENANCE = 4,
} GbeStepFlags;

typedef struct {
	const char *name; /* of its fault point: what has just been done, "certs-archived" */
	/* @change: the structure whose first member is the GbeChange. @error is never NULL. */
	bool (*run)(gpointer change, GError **error);
	/* Takes back the step, also when `run` has failed in the middle of it. The program's lock is held at the
	 * beginning, and may be released. NULL: nothing to take back. */
	bool (*undo)(gpointer change, GError **error);
	GbeStepFlags flags;
	gsize noted; /* offset of a bool in the structure: is it done? 0: not noted */
} GbeStep;

/* The structure of an operation begins with this one. */
struct GbeChange {
	GbeApp *app;
	const char *name;	 /* "certs reset": of the locks, and in messages */
	const GbeStep *steps;	 /* ends with a NULL name */
	bool dry_run;		 /* takes the steps that look, and no others */
	bool by_any_user;	 /* the rights of files decide, and not the user */
	bool maintenance_wanted; /* also takes the lock of maintenance (context.h) */
	/* Writes the intent, durably and under the program's lock; NULL: no step is noted. */
	bool (*note)(gpointer change, GError **error);
	/* Called in every case once a step was tried, before the locks are released; NULL. */
	void (*end)(gpointer change);

	/* Set by the runner. */
	GbeLock *maintenance;
	const GbeStep *failed; /* the step that failed; NULL: none did */
	GError *why;	       /* its error, which `undo` may read */
	bool taken_back;       /* all that was done was taken back */
	bool ended;	       /* set by a step: the steps after it are not needed */
};

/* For root, unless ->by_any_user: otherwise GBE_ERROR_FAILED. Other errors are those of the step that failed. If the way
 * back fails, its error follows, and both are GBE_ERROR_PARTIAL. All locks are released when this returns. */
bool gbe_change_run(GbeChange *change, GError **error) GBE_CHECKED;
void gbe_change_clear(GbeChange *change);
