/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Clears etcd's alarm NOSPACE: compacts the history, defragments the database, disarms the alarm, and tries a write.
 * After a power cut at any step, etcd works and the next call resumes. The alarm is disarmed last, and only if etcd
 * would not raise it again at the next write. CORRUPT is never cleared: the data is damaged, and a backup must be
 * restored.
 */
#pragma once

#include "app/device/context.h"

typedef enum {
	GBE_STEP_DONE,
	GBE_STEP_SKIPPED, /* not needed, or not possible; the detail says why */
	GBE_STEP_WOULD,	  /* with dry_run */
	GBE_STEP_FAILED,
} GbeStepResult;

typedef struct {
	const char *step; /* backup compact defrag disarm prove; static */
	GbeStepResult result;
	char *detail;
} GbeAlarmStep;

typedef struct {
	bool no_backup, dry_run;
	guint64 timeout; /* seconds, for etcd's work in each step */
	/* After each step; may be NULL. */
	void (*stepped)(const GbeAlarmStep *step, gpointer data);
	gpointer data;
} GbeAlarmClear;

typedef struct {
	bool was_up;	  /* NOSPACE was raised */
	bool cleared;	  /* every member is without it, and a write succeeded */
	char *reason;	  /* why it was not cleared; NULL */
	char *backup;	  /* as from gbe_live_etcd_back_up(); NULL */
	GPtrArray *steps; /* of GbeAlarmStep */
} GbeAlarmCleared;

void gbe_alarm_cleared_free(GbeAlarmCleared *cleared);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeAlarmCleared, gbe_alarm_cleared_free)

/* *ret_cleared is also set on failure, once there was a step. GBE_ERROR_REFUSED: CORRUPT, with the last good
 * backup; _PARTIAL: a step failed after another had been done. */
bool gbe_alarm_clear(GbeApp *app, const GbeAlarmClear *options, GbeAlarmCleared **ret_cleared,
		     GError **error) GBE_CHECKED;
const char *gbe_step_result_to_string(GbeStepResult result); /* done skipped would failed */
