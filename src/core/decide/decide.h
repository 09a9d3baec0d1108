/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts in, plan out. The decision reads no clock, file or environment: the same facts give the same plan in prerun, in
 * explain, in --dry-run and in the tests. Candidates for a restore look whole before they are read. If a candidate does not
 * validate, its name goes into facts->rejected and the decision is taken again (at most three candidates in one start).
 * Implemented in decide.c, new-manifest.c, new-take-over.c.
 */
#pragma once

#include "core/decide/plan.h"

/* If gbe_decide_gives_up(), the plan is ->unfinished: it backs up and restores nothing. */
GbePlan *gbe_decide(const GbeFacts *facts);
/* Is this the third start of D, or a later one, since a start ended? */
bool gbe_decide_gives_up(const GbeFacts *facts);
/* Changes @facts to those after the plan, for retention. */
void gbe_decide_after(GbeFacts *facts, const GbePlan *plan);
/* Changes @facts into those after recovery of the open intent (app/backup/recover.h). */
void gbe_decide_recovered(GbeFacts *facts);
/* Can the contents of the data change the decision? False: an update failed (9, 10a), or nothing is decided. */
bool gbe_decide_needs_inside(const GbeFacts *facts);
/* May etcd start although this start did not end? NULL: etcd may start, else why not, newly allocated. Reads only these
 * facts: the ledger's, the owner, the booted deployment, ->ostree, ->skip and the configuration. */
char *gbe_decide_fallback(const GbeFacts *facts);

/* The record of a run in which etcd has the data although its start took nothing over: an error, or prerun was masked.
 * No backup was made before it, so no later start takes its writes back without a person. After another deployment,
 * "unknown before here" begins; the same one continues its trial, whose use is unknown. NULL: ->data_open,
 * ->fingerprint and ->last_write show no such run. */
GbeTakeOver *gbe_decide_late(const GbeFacts *facts);
/* The manifest of a backup of the live data, for prerun, finalize and the verb backup. @name NULL: an automatic name.
 * @adopt: no deployment owns the backup. @sequence is the backup's own. */
GbeManifest *gbe_decide_manifest(const GbeFacts *facts, const GbeView *view, const char *name,
				 bool adopt, guint64 sequence);
/* The manifest of data that a restore displaces. @bad: the reason for the grade bad; NULL: graded like any other. The
 * data is set aside instead if a person displaced it (@by_hand), or if an unknown program may have put it there. */
GbeManifest *gbe_decide_displaced(const GbeFacts *facts, const GbeView *view, bool adopt,
				  const char *bad, bool by_hand, guint64 sequence);
/* Records for people when @manifest is made: at the change to deployment @next, or @plain ("boot", "shutdown") if @next
 * is NULL or has the data. */
void gbe_decide_note_occasion(const GbeFacts *facts, GbeManifest *manifest, const char *next,
			      const char *plain);
/* Makes @manifest one of [backup] schedule. An automatic name becomes one that is never given out again. */
void gbe_decide_make_periodic(const GbeFacts *facts, GbeManifest *manifest);
/* The plan for restoring @name by hand, now. NULL: the data is set aside, and none is restored. Changes @facts'
 * request. */
GbePlan *gbe_decide_by_hand(GbeFacts *facts, const char *name, bool force);
/* The grade that follows from verdict, health and verification. */
GbeGrade gbe_decide_grade(GbeVerdict verdict, GbeHealth health, GbeVerified verified);
/* Why @backup, which is unproven, is not good, for people. Static. */
const char *gbe_decide_why_unproven(const GbeManifest *backup);
/* Gives @backup the verdict and health of its run. false: @backup is another run's, or has them already. */
bool gbe_decide_regrade(const GbeRunRecord *run, GbeManifest *backup);
