/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verdict of a run, for health, green, red and finalize. A verdict belongs to the data that it judged. Therefore
 * everything here concerns the take-over by this run of this deployment; when the data belongs to another take-over,
 * nothing is written.
 */
#pragma once

#include "app/backup/observe.h"
#include "core/health/health.h"
#include "sys/systemd/events.h"

/* A fresh start is recorded before its directory exists. The first caller that finds this run's data records
 * which directory it is. A known directory is not an error. The caller holds the lock. */
bool gbe_verdict_note_tree(GbeApp *app, GError **error) GBE_CHECKED;
/* The same, and where etcd has the data although this run's start took nothing over, the ledger gets that take-over
 * now (gbe_decide_late()). A power cut before that leaves the run unknown, until the next caller. */
bool gbe_verdict_note_use(GbeApp *app, GError **error) GBE_CHECKED;
/* Records the late take-over of @facts, if there is one. *ret_recorded (may be NULL): there was. */
bool gbe_verdict_record_late(GbeApp *app, const GbeData *data, const GbeFacts *facts,
			     bool *ret_recorded, GError **error) GBE_CHECKED;
/* Finishes a restore whose exchange was done in this run and whose record failed. A failure is noted. */
void gbe_verdict_finish_restore(GbeApp *app);

/* Loads the configuration as the programs of the boot read it. False: this program is off ([etcd] service is
 * empty). *ret_booted (to be cleared): the booted deployment; its id is NULL when it is unknown. */
bool gbe_verdict_configure(GbeApp *app, GbeDeployment *ret_booted);
/* The facts that a verdict needs: the booted deployment, the run, and what the ledger says of the data. Cheap: does not
 * look into the store or etcd's files. @booted NULL: this finds it, and asks ostree only when this run's prerun has not
 * recorded it. */
bool gbe_verdict_look(GbeApp *app, const GbeDeployment *booted, GbeFacts **ret_facts,
		      GError **error) GBE_CHECKED;
/* A copy of the run's record, to be changed and passed to gbe_state_judge_run(). */
GbeRunRecord *gbe_verdict_record(const GbeFacts *facts, const GbeTakeOver *own);
/* Adds to the run's record what was seen of etcd; fields for what was not seen stay. */
void gbe_verdict_note_health(GbeRunRecord *record, const GbeHealthFacts *facts,
			     const GbeHealthReport *report);
/* Emits the event, with @report's reason in @fields. */
void gbe_verdict_say_health(const GbeHealthReport *report, GbeEventFields *fields);
/* Updates the backups of @record's run with what is now known of the run, and reports that. */
void gbe_verdict_regrade(GbeObserved *observed, const GbeRunRecord *record);
