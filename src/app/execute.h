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
	GBE_OUTCOME_AGAIN, /* observe and decide once more: a request that was dropped, or a candidate that
			    * did not validate (its name is in *ret_rejected) */
	GBE_OUTCOME_WAIT, /* the same in a moment: somebody has the data open */
	GBE_OUTCOME_HELD, /* etcd must not start; *ret_held says why, and what lifts it */
} GbeOutcome;

/* *ret_rejected and *ret_held are newly allocated, or NULL where there is nothing to say. */
GbeOutcome gbe_execute(GbeApp *app, GbeObserved *observed, const GbePlan *plan, char **ret_rejected,
		       char **ret_held);
/* Of @plan, which is not executed, this alone: a request that cannot be carried out is said and dropped. */
void gbe_execute_failed_request(GbeApp *app, GbeObserved *observed, const GbePlan *plan);
/* Retention now: removes what gbe_retention_apply() names. Failures are reported, never fatal. */
void gbe_execute_retention(GbeApp *app, GbeObserved *observed);
