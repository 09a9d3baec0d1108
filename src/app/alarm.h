/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * etcd's alarm NOSPACE cleared: history compacted, the database defragmented, the alarm taken back, and a write
 * tried. etcd is well after each of them, whenever the power goes: the next call goes on from there. The alarm
 * goes last, and only where etcd would not raise it again at the next write.
 *
 * CORRUPT is never cleared: the data is at fault, and the way back is a backup.
 */
#pragma once

#include "app/context.h"

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
	gboolean no_backup, dry_run;
	guint64 timeout; /* seconds, for etcd's work in each step */
	/* After each step; may be NULL. */
	void (*stepped)(const GbeAlarmStep *step, gpointer data);
	gpointer data;
} GbeAlarmClear;

typedef struct {
	gboolean was_up;  /* NOSPACE */
	gboolean cleared; /* of no member it is up any more, and a write went through */
	char *reason;	  /* why it is not cleared; NULL */
	char *backup;	  /* as by gbe_live_etcd_back_up(); NULL */
	GPtrArray *steps; /* of GbeAlarmStep */
} GbeAlarmCleared;

void gbe_alarm_cleared_free(GbeAlarmCleared *cleared);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeAlarmCleared, gbe_alarm_cleared_free)

/* *ret_cleared is set on failure, too, once there was a step. GBE_ERROR_REFUSED: CORRUPT, with the last good
 * backup; _PARTIAL: a step failed after another had been done. */
bool gbe_alarm_clear(GbeApp *app, const GbeAlarmClear *options, GbeAlarmCleared **ret_cleared,
		     GError **error) GBE_CHECKED;
const char *gbe_step_result_to_string(GbeStepResult result); /* done skipped would failed */
