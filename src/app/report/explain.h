/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decision that the next start would take, and what leads to it: the same decision function, given the facts of
 * the next boot. Changes nothing.
 */
#pragma once

#include "app/backup/observe.h"

#include <json-glib/json-glib.h>

typedef struct {
	const char *booted;	    /* NULL: what boots next; id, "rollback", "staged", index */
	const char *verdict;	    /* NULL: as it is; "green", "red", "none" */
	GbeTri deliberate;	    /* --return; unknown: as it is */
	const GbeHealthFacts *live; /* of the running etcd; NULL: not asked */
} GbeExplainOptions;

/* {schema, deployment, rule, also[], reason, facts{}, actions[], branches[]}. A branch, {if, rule, reason,
 * actions[]}, is a decision that only verification can settle. Uses @observed up. */
bool gbe_explain(GbeApp *app, GbeObserved *observed, const GbeExplainOptions *options,
		 JsonObject **ret_object, GError **error) GBE_CHECKED;
