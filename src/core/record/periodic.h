/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state's record `periodic`: the result of the last periodic backup ([backup] schedule), and etcd's state when the
 * last one was taken. The next one is skipped if nothing has changed since. If the record is lost, one backup more is
 * taken, which writes the record again. A sealed file (core/json/parse.h).
 */
#pragma once

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>

typedef enum {
	GBE_PERIODIC_NONE, /* not yet */
	GBE_PERIODIC_TAKEN,
	GBE_PERIODIC_UNCHANGED, /* the last backup holds the present state */
	GBE_PERIODIC_SKIPPED,	/* an obstacle that passes without a person */
	GBE_PERIODIC_FAILED,
} GbePeriodicResult;

typedef struct {
	GbePeriodicResult result;
	char *reason;	  /* why it was skipped or failed; else NULL */
	gint64 attempted; /* seconds since the epoch; -1: never */
	gint64 succeeded; /* the same: everything was in a backup then */
	char *backup;	  /* the last backup that was taken; NULL */
	gint64 taken;	  /* when it was taken */
	/* etcd's state before that backup: the handle of the member's directory, the revision, and the raft entry that
	 * had been applied. NULL, -1: not known. */
	char *member;
	gint64 revision, applied;
} GbePeriodic;

void gbe_periodic_clear(GbePeriodic *periodic);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbePeriodic, gbe_periodic_clear)

/* Unknown members read as in a new record, which @object NULL gives. */
void gbe_periodic_read(JsonObject *object, GbePeriodic *ret_periodic);
JsonObject *gbe_periodic_print(const GbePeriodic *periodic);
const char *gbe_periodic_result_to_string(GbePeriodicResult result); /* NULL for NONE */

/* true where the last due time passed without a backup, whatever the reason. */
bool gbe_periodic_is_overdue(const GbePeriodic *periodic);
/* Records the result at @now. A success clears the reason; every other result keeps the last success. */
void gbe_periodic_note(GbePeriodic *periodic, GbePeriodicResult result, const char *reason,
		       gint64 now);
