/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Carries a plan out, action by action. It has no policy: each action says what happens when it fails.
 */
#pragma once

#include "app/backup/observe.h"
#include "core/decide/plan.h"

typedef enum {
	GBE_OUTCOME_DONE,
	GBE_OUTCOME_AGAIN, /* observe and decide once more: a request was dropped, or a candidate
			    * did not validate (its name is in *ret_rejected) */
	GBE_OUTCOME_WAIT,  /* try again in a moment: the data is open */
	GBE_OUTCOME_HELD,  /* etcd must not start; *ret_held says why, and how to lift the hold */
} GbeOutcome;

/* *ret_rejected and *ret_held are newly allocated, or NULL when there is nothing to say. */
GbeOutcome gbe_execute(GbeApp *app, GbeObserved *observed, const GbePlan *plan, char **ret_rejected,
		       char **ret_held);
/* Executes only one part of @plan: a request that cannot be carried out is reported and dropped. */
void gbe_execute_failed_request(GbeApp *app, GbeObserved *observed, const GbePlan *plan);
