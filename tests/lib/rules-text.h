/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of a plan, for a test to compare. */
#pragma once

#include "core/decide/decide.h"

/* "10a, then 6". Newly allocated. */
static inline char *
plan_rules_to_text(const GbePlan *plan)
{
	GString *text = g_string_new(NULL);

	g_string_append(text, gbe_rule_to_string(plan->rule));
	for (guint i = 0; i < plan->also->len; i++)
		g_string_append_printf(text, ", then %s",
				       gbe_rule_to_string(g_array_index(plan->also, GbeRule, i)));
	return g_string_free(text, false);
}
