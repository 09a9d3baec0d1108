/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state's record `periodic`: how the last periodic backup ([backup] schedule) went, and what etcd was when
 * the last one was taken, so that the next one is left out where nothing has changed since. Lost, it is made
 * anew: then one backup more is taken. Format as in record.h.
 */
#pragma once

#include <glib.h>
#include <json-glib/json-glib.h>

typedef enum {
	GBE_PERIODIC_NONE, /* not yet */
	GBE_PERIODIC_TAKEN,
	GBE_PERIODIC_UNCHANGED, /* the last one holds all that there is */
	GBE_PERIODIC_SKIPPED,	/* something stood in the way, that passes by itself */
	GBE_PERIODIC_FAILED,
} GbePeriodicResult;

typedef struct {
	GbePeriodicResult result;
	char *reason;	  /* it was skipped, or failed; else NULL */
	gint64 attempted; /* seconds since the epoch; -1: never */
	gint64 succeeded; /* the same: by then all was in a backup */
	char *backup;	  /* the last one that was taken; NULL */
	gint64 taken;	  /* when */
	/* What etcd was before that: the directory of the member, by its handle, the revision, and the entry of the
	 * log that had been applied. NULL, -1: not known. */
	char *member;
	gint64 revision, applied;
} GbePeriodic;

void gbe_periodic_init(GbePeriodic *periodic);
void gbe_periodic_clear(GbePeriodic *periodic);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbePeriodic, gbe_periodic_clear)

/* What it does not know is as in a new one; @object may be NULL. */
void gbe_periodic_read(JsonObject *object, GbePeriodic *ret_periodic);
JsonObject *gbe_periodic_print(const GbePeriodic *periodic);
const char *gbe_periodic_result_to_string(GbePeriodicResult result); /* NULL for NONE */

/* Has the last time that one was due passed without one? Whatever the reason was. */
gboolean gbe_periodic_is_overdue(const GbePeriodic *periodic);
/* Notes how it went at @now: a success forgets the reason, and nothing forgets the last success. */
void gbe_periodic_note(GbePeriodic *periodic, GbePeriodicResult result, const char *reason,
		       gint64 now);
