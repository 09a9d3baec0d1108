/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Journal events: one function per MESSAGE_ID, each with an entry in data/greenboot-etcd.catalog that says what
 * happened, what it means and what to do (lint compares). Where stderr is not the journal and no journal socket
 * exists, the line goes to stderr without its "<N>" priority. Below --root lines only go to stderr, never to the
 * machine's journal.
 */
#pragma once

#include "base/auto.h"

#include <glib.h>

/* Fields of every event. NULL and 0 leave a field out. */
typedef struct {
	const char *rule, *action, *backup;
	const char *deployment, *from_deployment, *run;
	const char *revision, *reason;
	const char *
	    displaced; /* no field of its own: the backup that `undo` puts back after this restore */
	gint64 duration_usec;
} GbeEventFields;

/* @program: "prerun"; SYSLOG_IDENTIFIER becomes greenboot-etcd-prerun. @quiet: errors only. */
void gbe_events_init(const char *program, bool below_root, bool quiet, int verbosity);
/* From now on every line also goes to stderr with "<@level>" (1 to 7) before it: shell greenboot shows a hook's
 * lines by that level. Any other @level means no prefix, the default. */
void gbe_events_set_prefix(int level);

void gbe_event_decided(const GbeEventFields *fields); /* the rule and its consequence */
void gbe_event_backed_up(const GbeEventFields *fields);
void gbe_event_backup_skipped(const GbeEventFields *fields); /* unchanged, or not cheap here */
void gbe_event_backup_failed(const GbeEventFields *fields);
void gbe_event_start_failed(const GbeEventFields *fields); /* prerun reached no decision */
void
gbe_event_restored(const GbeEventFields *fields); /* names the displaced and the undo command */
void gbe_event_set_aside(const GbeEventFields *fields); /* names the backup that the data is now */
void gbe_event_restore_failed(const GbeEventFields *fields);
void gbe_event_candidate_bad(const GbeEventFields *fields);
void
gbe_event_recovered(const GbeEventFields *fields); /* an interrupted operation finished or undone */
void
gbe_event_held_back(const GbeEventFields *fields); /* etcd is not started; reason has the command */
void gbe_event_took_over(const GbeEventFields *fields); /* take-over recorded */
void gbe_event_verdict(const GbeEventFields *fields);	/* action = green | red */
void gbe_event_graded(const GbeEventFields *fields);
void gbe_event_deleted(const GbeEventFields *fields);
void gbe_event_request_failed(const GbeEventFields *fields);
void gbe_event_state_broken(const GbeEventFields *fields); /* a record was set aside */
void gbe_event_config_bad(const GbeEventFields *fields);
void gbe_event_unhealthy(const GbeEventFields *fields);
void gbe_event_healthy(const GbeEventFields *fields);
void gbe_event_cannot_tell(const GbeEventFields *fields);
void gbe_event_preflight(const GbeEventFields *fields); /* an upgrade would fail */
void gbe_event_carried(const GbeEventFields *fields);	/* a failure at the last shutdown */
void gbe_event_closed(const GbeEventFields *fields);	/* closing record written */
void gbe_event_fresh(const GbeEventFields *fields);	/* no data: etcd starts anew */
void gbe_event_rotted(const GbeEventFields *fields);	/* a backup is no longer what it was */
void gbe_event_defragmented(const GbeEventFields *fields);
void gbe_event_defrag_failed(const GbeEventFields *fields);
void gbe_event_alarm_cleared(const GbeEventFields *fields);    /* NOSPACE */
void gbe_event_certs_changed(const GbeEventFields *fields);    /* by a verb of certs */
void gbe_event_rehearsed(const GbeEventFields *fields);	       /* an update's etcd passed */
void gbe_event_rehearsal_failed(const GbeEventFields *fields); /* it did not */
void gbe_event_not_rehearsed(const GbeEventFields *fields);    /* cannot tell; reason says why */
void gbe_event_rejoined(const GbeEventFields *fields);	       /* ->reason: why it had to */
void gbe_event_update_locked(const GbeEventFields *fields);    /* or released: reason says which */
void gbe_event_update_failed(const GbeEventFields *fields);    /* the others do not update */
/* For people who watch: not an event, no MESSAGE_ID. */
void gbe_note(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Always printed. For a failure that is no event but sets the exit status, and for a wait that people do not
 * expect. */
void gbe_complain(const char *format, ...) G_GNUC_PRINTF(1, 2);
