/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verdict of a run, and whose it is: what health, green, red and finalize have in common. A verdict
 * belongs to the data that it judged, so that all of it is about the take-over that this very run of this
 * very deployment has; where the data is another's, nothing is written.
 */
#pragma once

#include "app/observe.h"
#include "core/health.h"
#include "sys/events.h"

/* A fresh start is recorded before there is a directory. The first who finds this run's data records which
 * one it is. Nothing to do is no error. The caller holds the lock. */
bool gbe_verdict_note_tree(GbeApp *app, GError **error) GBE_CHECKED;

/* The configuration, as what runs at boot reads it. False: the program is off ([etcd] service is empty).
 * *ret_booted (to be cleared): the booted deployment, id NULL where it cannot be told. */
bool gbe_verdict_configure(GbeApp *app, GbeDeployment *ret_booted);
/* What of the facts a verdict needs: the booted deployment, the run, and what the ledger says of the data. Cheap: neither the store nor etcd's files are looked into. @booted NULL: it is found out, and ostree
 * asked only where this run's prerun has not written down which one it is. */
bool gbe_verdict_look(GbeApp *app, const GbeDeployment *booted, GbeFacts **ret_facts,
		      GError **error) GBE_CHECKED;
/* The take-over of this run, borrowed; NULL with *ret_why (newly allocated): it is another's. */
const GbeTakeOver *gbe_verdict_own(const GbeFacts *facts, char **ret_why);
/* A copy of the run's record, to be changed and given to gbe_state_judge_run(). */
GbeRunRecord *gbe_verdict_record(const GbeFacts *facts, const GbeTakeOver *own);
/* What was seen of etcd goes into the run's record; what was not stays. */
void gbe_verdict_note_health(GbeRunRecord *record, const GbeHealthFacts *facts,
			     const GbeHealthReport *report);
/* The same between two programs: what has been noted in a new record, as JSON, and into another record. */
void gbe_verdict_print_health(const GbeRunRecord *record, JsonObject *object);
void gbe_verdict_read_health(JsonObject *object, GbeRunRecord *record);
/* The event, with @report's reason in @fields. */
void gbe_verdict_say_health(const GbeHealthReport *report, GbeEventFields *fields);
/* Is the booted deployment one that an OS rollback would replace by one that was green? */
gboolean gbe_verdict_on_trial(const GbeFacts *facts);
/* Gives the backups of @record's run what has become known of it, and says so. */
void gbe_verdict_regrade(GbeObserved *observed, const GbeRunRecord *record);
