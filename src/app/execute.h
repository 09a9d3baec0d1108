/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Carrying a plan out, action by action. There is no policy here: what happens on a failure stands in
 * the action.
 */
#pragma once

#include "app/observe.h"
#include "core/plan.h"

typedef enum {
	GBE_OUTCOME_DONE,
	GBE_OUTCOME_AGAIN, /* observe and decide once more: rule 2, or a candidate that did not validate
			    * (its name is in *ret_rejected) */
	GBE_OUTCOME_HELD, /* etcd must not start; the reason is recorded */
} GbeOutcome;

GbeOutcome gbe_execute(GbeApp *app, GbeObserved *observed, const GbePlan *plan,
		       char **ret_rejected);
/* Retention now: removes what gbe_retention_apply() names. Failures are reported, never fatal. */
void gbe_execute_retention(GbeApp *app, GbeObserved *observed);
