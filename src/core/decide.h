/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts in, plan out. No clock, no file, no environment: the same facts give the same plan in prerun,
 * in explain, in --dry-run and in the tests.
 *
 * A restore plans with candidates that look whole from outside; where one does not validate, its name goes
 * into facts->rejected and the decision is taken again (at most three in one start).
 */
#pragma once

#include "core/plan.h"

GbePlan *gbe_decide(const GbeFacts *facts);

/* The manifest of a backup of the live data, named @name or, where that is NULL, as an automatic one:
 * what prerun, finalize and the backup verb have in common. @adopt: under nobody's name. @sequence is
 * the backup's own. */
GbeManifest *gbe_decide_manifest(const GbeFacts *facts, const GbeView *view, const char *name,
				 gboolean adopt, guint64 sequence);
/* Of one that is named by itself, as the clock asked for it; never another's name again. */
void gbe_decide_make_periodic(const GbeFacts *facts, GbeManifest *manifest);
/* What a restore of @name by hand does, now. Changes @facts' request. */
GbePlan *gbe_decide_by_hand(GbeFacts *facts, const char *name, gboolean force);
/* The grade that verdict, health and verification give. */
GbeGrade gbe_decide_grade(GbeVerdict verdict, GbeHealth health, GbeVerified verified);
