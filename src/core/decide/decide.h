/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts in, plan out. The decision reads no clock, file or environment: the same facts give the same plan in
 * prerun, in explain, in --dry-run and in the tests. Candidates for a restore look whole from outside. Where
 * one does not validate, its name goes into facts->rejected and the decision is taken again (at most three
 * candidates in one start). Implemented in decide.c, new-manifest.c, unfinished.c.
 */
#pragma once

#include "core/decide/plan.h"

GbePlan *gbe_decide(const GbeFacts *facts);
/* Can the contents of the data change the decision? false where etcd is started again in the same run and had not
 * failed (rule 5), where an update failed (9, 10a), and where nothing is decided at all. */
bool gbe_decide_needs_inside(const GbeFacts *facts);
/* The plan in place of @plan after two starts in a row that did not end: nothing is backed up or restored, so that this
 * start ends. The data goes on as it is, unless the deployment must not have the data without @plan: then etcd is held
 * back. */
GbePlan *gbe_decide_unfinished(const GbePlan *plan);
/* May etcd start although this start did not end? NULL: etcd may start, else why not, newly allocated. Reads only these
 * facts: the ledger's, the owner, the booted deployment, ->ostree, ->skip and the configuration. */
char *gbe_decide_fallback(const GbeFacts *facts);

/* The manifest of a backup of the live data, for prerun, finalize and the verb backup. @name NULL: an automatic name.
 * @adopt: no deployment owns the backup. @sequence is the backup's own. */
GbeManifest *gbe_decide_manifest(const GbeFacts *facts, const GbeView *view, const char *name,
				 bool adopt, guint64 sequence);
/* The manifest of data that a restore displaces. @bad: the reason for the grade bad; NULL: graded like any other.
 * Where a person displaced the data (@by_hand), or a stranger may have put it there, it is set aside instead. */
GbeManifest *gbe_decide_displaced(const GbeFacts *facts, const GbeView *view, bool adopt,
				  const char *bad, bool by_hand, guint64 sequence);
/* Makes @manifest one of [backup] schedule. An automatic name becomes one that is never given out again. */
void gbe_decide_make_periodic(const GbeFacts *facts, GbeManifest *manifest);
/* The plan for restoring @name by hand, now; NULL: the data is set aside, and there is none. Changes @facts'
 * request. */
GbePlan *gbe_decide_by_hand(GbeFacts *facts, const char *name, bool force);
/* The grade that follows from verdict, health and verification. */
GbeGrade gbe_decide_grade(GbeVerdict verdict, GbeHealth health, GbeVerified verified);
/* Gives @backup the verdict and health of its run. false: @backup is another run's, or has them already. */
bool gbe_decide_regrade(const GbeRunRecord *run, GbeManifest *backup);
